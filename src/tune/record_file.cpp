#include "tune/record_file.h"

#include "cache/file.h"
#include "cache/link_chain.h"
#include "cache/settings.h"
#include "cache/temporary.h"
#include "cache/trust.h"
#include "log/log.h"
#include "log/printable.h"
#include "tune/folder_lock.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <filesystem>
#include <map>
#include <utility>

namespace convt_jit {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kLargest = std::size_t{64} << 20;  // some 50,000 findings
constexpr mode_t kMode = 0644;
constexpr std::chrono::seconds kWait{30};

[[noreturn]] void fail(const std::string& path, const std::error_code& error) {
    throw TuningError(path, error.message());
}

FileDescriptor open_folder(const std::string& path) {
    std::error_code error;
    FileDescriptor folder = make_directory(path, 0755, error);
    if (!folder) fail(path, error);
    return folder;
}

bool is_folder(const std::string& path) {
    std::error_code ignored;
    if (fs::is_directory(path, ignored)) return true;
    return !fs::exists(path, ignored) && fs::path(path).extension() != ".json";
}

// A name beside the file that nothing has yet.
std::string aside(const std::string& name, int number) {
    return number == 0 ? name + ".aside" : name + ".aside" + std::to_string(number);
}

// One file and its folder.
class Place {
public:
    explicit Place(const std::string& path) : path_(resolved(path)) {
        folder_ = open_folder(fs::path(path_).parent_path().string());
        name_ = fs::path(path_).filename().string();
        if (::faccessat(folder_.get(), ".", W_OK | X_OK, AT_EACCESS) != 0) fail(path_, last_error());
        std::error_code error;
        if (fs::exists(path_, error) && !fs::is_regular_file(path_, error))
            throw TuningError(path_, "it is no regular file");
    }

    void update(const std::vector<TuningRecord>& records) const {
        const FolderLock lock(folder_, kWait);
        if (!lock) throw TuningError(path_, "another process holds the lock of its folder");
        sweep_orphans(folder_);
        const std::vector<TuningRecord> before = read_old();
        const std::string text = to_json(merge_records(before, records));
        // What is written can be read, whoever made the records.
        if (const RecordText again = parse_records(text, path_); !again.skipped.empty())
            throw TuningError(again.skipped.front().where, again.skipped.front().why);
        if (const auto error = publish(folder_, name_, text, kMode)) fail(path_, error);
    }

    // Throws where an update would, and changes nothing.
    void expect_readable() const try {
        if (exists()) static_cast<void>(load_records(path_, Belief::any));
    } catch (const DamagedRecords&) {
        // An update keeps it aside.
    }

private:
    [[nodiscard]] bool exists() const { return ::faccessat(folder_.get(), name_.c_str(), F_OK, 0) == 0; }

    // What cannot be read is not written over: of a newer format nobody writes over anything.
    [[nodiscard]] std::vector<TuningRecord> read_old() const try {
        if (!exists()) return {};
        RecordText old = load_records(path_, Belief::any);
        if (!old.skipped.empty()) keep_aside(old.skipped.front().where + ": " + old.skipped.front().why);
        return std::move(old.records);
    } catch (const DamagedRecords& error) {
        keep_aside(error.what());
        return {};
    }

    // A link to a file is followed: it is its user's choice.
    static std::string resolved(const std::string& path) {
        std::error_code error;
        fs::path whole = fs::absolute(path, error);
        if (!error) whole = end_of_links(whole, error);
        if (error) fail(path, error);
        return whole.string();
    }

    void keep_aside(const std::string& why) const {
        for (int number = 0;; ++number) {
            const std::string other = aside(name_, number);
            if (::faccessat(folder_.get(), other.c_str(), F_OK, AT_SYMLINK_NOFOLLOW) == 0) continue;
            // A rename where the file system has no hard links.
            if (::linkat(folder_.get(), name_.c_str(), folder_.get(), other.c_str(), 0) != 0 &&
                ::renameat(folder_.get(), name_.c_str(), folder_.get(), other.c_str()) != 0)
                fail(path_, last_error());
            log::warning("{}; the old file is kept as {}", why, other);
            return;
        }
    }

    std::string path_, name_;
    FileDescriptor folder_;
};

std::string file_for(const std::string& path, const GpuModel& gpu) {
    return is_folder(path) ? (fs::path(path) / record_file_name(gpu)).string() : path;
}

}  // namespace

RecordText load_records(const std::string& file, Belief belief) {
    std::error_code error;
    // A pipe of that name is no reason to wait.
    const FileDescriptor opened = open_at(AT_FDCWD, file.c_str(), O_RDONLY | O_NONBLOCK | O_NOCTTY, 0, error);
    if (!opened) fail(file, error);
    if (belief == Belief::trusted_only) {
        struct stat status {};
        error = status_of(opened, status);
        if (!error) error = distrust(status, ::geteuid(), is_declared_trusted(file, cache_settings().trusted));
        if (error) fail(file, error);
    }
    const auto text = read_whole(opened, kLargest, error);
    if (!text) fail(file, error);
    return parse_records(*text, file);
}

std::vector<std::string> record_files(const std::string& path) {
    std::error_code error;
    const fs::file_status status = fs::status(path, error);
    if (status.type() == fs::file_type::not_found) return {};
    if (!fs::exists(status)) fail(path, error);
    if (!fs::is_directory(status)) return {path};
    const FileDescriptor folder = open_at(AT_FDCWD, path.c_str(), O_RDONLY | O_DIRECTORY, 0, error);
    if (!folder) fail(path, error);
    std::vector<std::string> files;
    error = for_each_name(folder, [&](const std::string& name) {
        if (name.ends_with(".json") && name.front() != '.') files.push_back((fs::path(path) / name).string());
    });
    if (error) fail(path, error);
    std::sort(files.begin(), files.end());
    return files;
}

std::string record_file_name(const GpuModel& gpu) {
    std::string name;
    for (const char c : gpu.name.substr(0, 100)) {
        const auto letter = static_cast<unsigned char>(c);
        if (std::isalnum(letter) != 0)
            name += static_cast<char>(std::tolower(letter));
        else if (!name.empty() && name.back() != '_')
            name += '_';
    }
    return name + "-" + std::to_string(gpu.multiprocessors) + ".json";
}

std::vector<TuningRecord> read_records(const std::string& path, std::vector<TuningSkipped>* skipped) {
    const std::vector<std::string> files = record_files(path);
    std::error_code ignored;
    if (files.empty() && !fs::is_directory(path, ignored))
        throw TuningError(path, "there is no such file or directory");
    std::vector<TuningRecord> all;
    for (const std::string& file : files) {
        RecordText text = load_records(file, Belief::any);
        all.insert(all.end(), std::make_move_iterator(text.records.begin()),
                   std::make_move_iterator(text.records.end()));
        if (skipped != nullptr) skipped->insert(skipped->end(), text.skipped.begin(), text.skipped.end());
    }
    return merge_records(all, {});
}

std::vector<std::string> update_records(const std::string& path, const std::vector<TuningRecord>& records) {
    std::map<std::string, std::vector<TuningRecord>> by_file;
    for (const TuningRecord& record : records) by_file[file_for(path, record.gpu)].push_back(record);
    std::vector<std::string> files;
    for (const auto& [file, of_file] : by_file) {
        Place(file).update(of_file);
        files.push_back(file);
    }
    return files;
}

void expect_updatable(const std::string& path) {
    if (!is_folder(path)) {
        Place(path).expect_readable();
        return;
    }
    const FileDescriptor folder = open_folder(path);
    if (::faccessat(folder.get(), ".", W_OK | X_OK, AT_EACCESS) != 0) fail(path, last_error());
}

}  // namespace convt_jit

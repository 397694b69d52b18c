#include "cache/verify.h"

#include "cache/compilers.h"
#include "cache/entry_file.h"
#include "cache/holders.h"
#include "cache/inventory.h"
#include "cache/layout.h"
#include "cache/link.h"
#include "cache/producers.h"
#include "cache/quarantine.h"
#include "cache/temporary.h"
#include "cache/trust.h"
#include "cache/usage.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <set>
#include <string_view>
#include <utility>

namespace convt_jit {
namespace {

class Verifier {
public:
    Verifier(const Root& root, bool repair) : root_(root), repair_(repair) {}

    CacheVerification run() {
        own(layout::kQuarantine);  // first: the others are moved there
        static_cast<void>(for_each_name(root_.directory(), [&](const std::string& name) {
            if (name == layout::kQuarantine) return;
            if (layout::is_fan_out(name))
                folder(name);
            else if (layout::is_own(name))
                own(name);
            else if (!parse_temporary_name(name))
                add(CacheFindingKind::stray, name, "it is no file of the cache");
        }));
        std::error_code failure;
        result_.orphans = sweep_all(root_, !repair_, &failure);
        if (failure)
            result_.findings.push_back({CacheFindingKind::stray, ".", "a process that died left a temporary file",
                                        false, "it could not be removed: " + failure.message()});
        if (repair_) rebuild();
        unlisted();
        std::sort(result_.findings.begin(), result_.findings.end(),
                  [](const CacheFinding& a, const CacheFinding& b) { return a.path < b.path; });
        return std::move(result_);
    }

private:
    // What is in a folder, if it is still there.
    static bool look(const FileDescriptor& folder, const std::string& name, struct stat& status) {
        return ::fstatat(folder.get(), name.c_str(), &status, AT_SYMLINK_NOFOLLOW) == 0;
    }

    // What it should be is made anew once nothing is in its place.
    void own(const std::string& name) {
        struct stat status {};
        if (!look(root_.directory(), name, status)) return;
        const bool folder = layout::is_own_folder(name);
        if (folder ? S_ISDIR(status.st_mode) : S_ISREG(status.st_mode)) return usable(name, folder);
        const std::string why = S_ISLNK(status.st_mode) ? link_error().message()
                                : folder                ? "it is no folder"
                                                        : "it is no regular file";
        add_bad(CacheFindingKind::unreadable, name, why, [&] {
            return name == layout::kQuarantine ? make_way_for_quarantine(root_)
                                               : set_aside(root_, root_.directory(), name, status);
        });
    }

    // What a lookup would not use: a list of producers, or a lock that nobody waits for.
    void usable(const std::string& name, bool folder) {
        std::error_code error;
        const auto opened = folder ? root_.folder(name, error) : root_.file(root_.directory(), name, error);
        if (!error && name == layout::kHolders) error = records(opened, name, is_holder, no_damage);
        if (!error && name == layout::kCompilers) error = records(opened, name, is_digest, damage_of_compiler);
        if (error && !is(error, ENOENT)) add(kind_of(error), name, error.message());
    }

    static bool is_holder(std::string_view name) { return parse_writer(name).has_value(); }
    static std::string no_damage(const std::string&, const FileDescriptor&) { return {}; }
    static std::string damage_of_compiler(const std::string& name, const FileDescriptor& file) {
        std::error_code error;
        const auto text = read_whole(file, kMaxCompilerRecord, error);
        if (error && error != std::errc::file_too_large) return error.message();
        return text && parse_compiler_record(name, *text) ? "" : "its checksum differs: it is taken for no record";
    }

    // The small files in a folder of the cache's own; `damage` says what is wrong with the content of one.
    std::error_code records(const FileDescriptor& folder, const std::string& folder_name,
                            bool (*is_one)(std::string_view name),
                            std::string (*damage)(const std::string& name, const FileDescriptor& file)) {
        return for_each_name(folder, [&](const std::string& name) {
            struct stat status {};
            if (!is_one(name) || !look(folder, name, status)) return;
            const std::string path = folder_name + "/" + name;
            const auto aside = [&] { return set_aside(root_, folder, name, status); };
            if (!S_ISREG(status.st_mode))
                return add_bad(CacheFindingKind::unreadable, path, "it is no regular file", aside);
            std::error_code error;
            const auto file = root_.file(folder, name, error);
            if (is(error, ENOENT)) return;
            if (error) return add(kind_of(error), path, error.message());
            if (const std::string why = damage(name, file); !why.empty())
                add_bad(CacheFindingKind::damaged, path, why, aside);
        });
    }

    void add(CacheFindingKind kind, const std::string& path, const std::string& why) {
        std::string failure;
        if (repair_ && kind == CacheFindingKind::unreadable) failure = "what cannot be read cannot be mended";
        if (repair_ && kind == CacheFindingKind::unlisted) failure = "it could not be added";
        if (repair_ && kind == CacheFindingKind::untrusted)
            failure = "its owner or its permissions must be changed, which is left to people";
        result_.findings.push_back({kind, path, why, false, std::move(failure)});
    }

    // Something that belongs in quarantine; `set_aside` takes it there.
    template <class SetAside>
    void add_bad(CacheFindingKind kind, const std::string& path, const std::string& why, SetAside set_aside) {
        Aside aside;
        if (repair_) aside = set_aside();
        std::string failure;
        if (aside.error)
            failure = "it could not be moved to quarantine: " + aside.error.message();
        else if (repair_ && !aside.moved)
            failure = "another process has moved or replaced it meanwhile";
        result_.findings.push_back({kind, path, why, aside.moved, std::move(failure)});
    }

    static CacheFindingKind kind_of(const std::error_code& error) {
        return is_distrust(error) ? CacheFindingKind::untrusted : CacheFindingKind::unreadable;
    }

    void folder(const std::string& folder_name) {
        std::error_code error;
        const auto opened = root_.folder(folder_name, error);
        // Nothing can be kept in what is no folder, until it is out of the way.
        struct stat status {};
        if ((is(error, ENOTDIR) || is_link(error)) && look(root_.directory(), folder_name, status))
            return add_bad(CacheFindingKind::unreadable, folder_name, error.message(),
                           [&] { return set_aside(root_, root_.directory(), folder_name, status); });
        if (error) return add(kind_of(error), folder_name, error.message());
        error = for_each_name(opened, [&](const std::string& name) {
            const std::string path = folder_name + "/" + name, key = layout::key_of(name);
            if (key.empty()) {
                if (!parse_temporary_name(name)) add(CacheFindingKind::stray, path, "it is no file of the cache");
            } else if (layout::fan_out(key) != folder_name) {
                if (struct stat seen{}; look(opened, name, seen))
                    add_bad(CacheFindingKind::misplaced, path, "it lies in the folder of other keys",
                            [&] { return set_aside(root_, opened, name, seen); });
            } else {
                entry(path, key);
            }
        });
        if (error) add(kind_of(error), folder_name, error.message());
    }

    void entry(const std::string& path, const std::string& key) {
        const Read read = read_entry(root_, key);
        if (read.entry) {
            ++result_.sound;
            result_.bytes += read.bytes.size();
            producers_.insert(read.entry->key.producer);
        } else if (read.damage.empty()) {
            if (!is(read.error, ENOENT)) add(kind_of(read.error), path, read.error.message());
        } else if (const auto format = sound_format(read.bytes); format && *format != kCacheFormat) {
            add(CacheFindingKind::other_format, path, read.damage);
        } else {
            const std::string name = layout::entry_name(key);
            add_bad(format ? CacheFindingKind::misplaced : CacheFindingKind::damaged, path, read.damage,
                    [&] { return set_aside(root_, read.folder, name, read.seen); });
        }
    }

    // Who knows of no compiler does not find their entries. Where there is no list at all, lookups make one.
    void unlisted() {
        std::error_code error;
        auto listed = listed_producers(root_, &error);
        if (error || listed.empty()) return;
        std::sort(listed.begin(), listed.end());
        for (const auto& producer : producers_)
            if (!std::binary_search(listed.begin(), listed.end(), producer))
                add(CacheFindingKind::unlisted, layout::kProducers, producer + " made entries and is not in it");
    }

    // All that can be derived from the entries.
    void rebuild() {
        for (const auto& producer : producers_) register_producer(root_, producer);
        set_usage(root_, total_bytes(list_items(root_)));
        sweep_holders(root_);
    }

    const Root& root_;
    const bool repair_;
    CacheVerification result_;
    std::set<std::string> producers_;
};

}  // namespace

const char* to_string(CacheFindingKind kind) noexcept {
    switch (kind) {
        case CacheFindingKind::damaged:
            return "damaged";
        case CacheFindingKind::misplaced:
            return "misplaced";
        case CacheFindingKind::unreadable:
            return "unreadable";
        case CacheFindingKind::untrusted:
            return "untrusted";
        case CacheFindingKind::other_format:
            return "other format";
        case CacheFindingKind::unlisted:
            return "unlisted";
        case CacheFindingKind::stray:
            return "stray";
    }
    return "";
}

bool CacheVerification::damaged() const noexcept {
    return std::any_of(findings.begin(), findings.end(), [](const CacheFinding& finding) {
        return finding.kind == CacheFindingKind::damaged || finding.kind == CacheFindingKind::misplaced ||
               finding.kind == CacheFindingKind::unreadable || finding.kind == CacheFindingKind::unlisted;
    });
}

std::size_t CacheVerification::untrusted() const noexcept {
    return static_cast<std::size_t>(std::count_if(findings.begin(), findings.end(), [](const CacheFinding& finding) {
        return finding.kind == CacheFindingKind::untrusted;
    }));
}

CacheVerification verify(const Root& root, bool repair) { return Verifier(root, repair).run(); }

}  // namespace convt_jit

#include "cache/archive.h"

#include "cache/entry_file.h"
#include "cache/inventory.h"
#include "cache/layout.h"
#include "cache/producers.h"
#include "cache/temporary.h"
#include "cache/usage.h"
#include "cache/ustar.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <filesystem>
#include <functional>
#include <map>
#include <set>
#include <utility>

namespace convt_jit {
namespace {

using nlohmann::json;

constexpr int kArchiveFormat = 1;

// What the manifest says of an entry.
struct Listing {
    std::size_t bytes = 0;
    std::string digest;
    friend bool operator==(const Listing&, const Listing&) = default;
};
using Manifest = std::map<std::string, Listing>;  // by key

std::string to_text(const Manifest& manifest) {
    json entries = json::array();
    for (const auto& [key, listing] : manifest)
        entries.push_back({{"key", key}, {"bytes", listing.bytes}, {"digest", listing.digest}});
    return json{{"format", kArchiveFormat}, {"entries", std::move(entries)}}.dump(1) + "\n";
}

Manifest parse_manifest(const std::string& text, const std::string& file) {
    Manifest manifest;
    try {
        const json parsed = json::parse(text);
        if (parsed.at("format").get<int>() != kArchiveFormat)
            throw CacheError(file, fmt::format("its format is {}, this library reads {}", parsed.at("format").dump(),
                                               kArchiveFormat));
        for (const auto& item : parsed.at("entries"))
            if (!manifest
                     .emplace(item.at("key").get<std::string>(),
                              Listing{item.at("bytes").get<std::size_t>(), item.at("digest").get<std::string>()})
                     .second)
                throw CacheError(file, "its manifest names an entry twice");
    } catch (const json::exception& error) {
        throw CacheError(file, std::string("its manifest cannot be read: ") + error.what());
    }
    return manifest;
}

std::string member_name(const std::string& key) { return layout::fan_out(key) + "/" + layout::entry_name(key); }

// The key of a member; empty where the name is not exactly that of an entry, so that none leads out of the cache.
std::string key_of_member(const std::string& name) {
    const auto slash = name.rfind('/');
    std::string key = layout::key_of(std::string_view(name).substr(slash == std::string::npos ? 0 : slash + 1));
    return !key.empty() && member_name(key) == name ? key : std::string();
}

std::string producer_member(const std::string& producer) {
    return std::string(layout::kProducers) + "/" + producer_file_name(producer);
}

// An empty file that names a producer. It carries nothing that the entries do not say.
bool is_producer(const TarMember& member) {
    const std::string folder = std::string(layout::kProducers) + "/";
    return member.bytes.empty() && member.name.starts_with(folder) &&
           producer_of_file_name(std::string_view(member.name).substr(folder.size()));
}

// Calls `use` for each entry, all of them sound; returns the manifest.
Manifest read_archive(const FileDescriptor& opened, const std::string& file,
                      const std::function<void(const std::string& key, const Entry&, const std::string& bytes)>& use) {
    Manifest seen;
    std::optional<Manifest> manifest;
    TarReader reader(opened);
    std::string why;
    while (const auto member = reader.next(kMaxEntryBytes, why)) {
        if (manifest) throw CacheError(file, "something follows its manifest");
        if (member->name == layout::kManifest) {
            manifest = parse_manifest(member->bytes, file);
            continue;
        }
        if (is_producer(*member)) continue;
        const std::string key = key_of_member(member->name);
        if (key.empty()) throw CacheError(file, fmt::format("its member {} is no entry of a cache", member->name));
        const auto entry = decode(member->bytes, &why);
        if (!entry) throw CacheError(file, fmt::format("its entry {} is damaged: {}", key, why));
        if (digest(entry->key) != key) throw CacheError(file, fmt::format("its entry {} belongs to another key", key));
        if (!seen.emplace(key, Listing{member->bytes.size(), digest(member->bytes)}).second)
            throw CacheError(file, fmt::format("it holds the entry {} twice", key));
        use(key, *entry, member->bytes);
    }
    if (!why.empty()) throw CacheError(file, why);
    if (!manifest) throw CacheError(file, "it has no manifest");
    if (*manifest != seen) throw CacheError(file, "its entries are not those of its manifest");
    return seen;
}

[[noreturn]] void refuse(const std::string& subject, const std::error_code& error) {
    throw CacheError(subject, error.message());
}

}  // namespace

CacheTransfer export_archive(const Root& root, const std::string& file, const std::vector<std::string>& archs) {
    const std::filesystem::path path(file);
    if (!path.has_filename()) throw CacheError(file, "it is no name of a file");
    std::error_code error;
    // The archive takes the place of what has that name, and a device or a pipe is nothing to be replaced.
    const auto there = std::filesystem::status(path, error);
    if (std::filesystem::exists(there) && !std::filesystem::is_regular_file(there))
        throw CacheError(file, "it is no regular file");
    error.clear();
    const auto folder =
        open_at(AT_FDCWD, path.has_parent_path() ? path.parent_path().c_str() : ".", O_RDONLY | O_DIRECTORY, 0, error);
    if (error) refuse(file, error);
    Publication archive(folder, path.filename().string());
    if (error = archive.begin(0666); error) refuse(file, error);

    CacheTransfer transfer;
    Manifest manifest;
    std::set<std::string> producers;
    auto items = list_items(root);
    std::sort(items.begin(), items.end(), [](const Item& a, const Item& b) { return a.key < b.key; });
    for (const auto& item : items) {
        const Read read = read_entry(root, item.key);
        if (read.entry && !archs.empty() && std::find(archs.begin(), archs.end(), read.entry->key.arch) == archs.end())
            continue;
        if (!read.entry) {
            ++transfer.skipped;
            continue;
        }
        if (error = archive.write(tar_member(member_name(item.key), read.bytes)); error) refuse(file, error);
        manifest.emplace(item.key, Listing{read.bytes.size(), digest(read.bytes)});
        producers.insert(read.entry->key.producer);
        ++transfer.entries;
        transfer.bytes += read.bytes.size();
    }
    for (const auto& producer : producers) {
        if (producer_member(producer).size() > kMaxTarName) continue;  // an import needs it not
        if (error = archive.write(tar_member(producer_member(producer), "")); error) refuse(file, error);
    }
    if (error = archive.write(tar_member(layout::kManifest, to_text(manifest)) + tar_end()); error) refuse(file, error);
    if (error = archive.commit(); error) refuse(file, error);
    return transfer;
}

CheckedArchive check_archive(const std::string& file) {
    std::error_code error;
    auto opened = open_at(AT_FDCWD, file.c_str(), O_RDONLY | O_NONBLOCK, 0, error);
    struct stat status {};
    if (!error) error = status_of(opened, status);
    if (error) refuse(file, error);
    if (!S_ISREG(status.st_mode)) throw CacheError(file, "it is no regular file");
    read_archive(opened, file, [](const std::string&, const Entry&, const std::string&) {});
    return {std::move(opened), file};
}

CacheTransfer import_archive(const Root& root, const CheckedArchive& archive) {
    CacheTransfer transfer;
    read_archive(archive.opened, archive.file,
                 [&](const std::string& key, const Entry& entry, const std::string& bytes) {
                     if (read_entry(root, key).entry) {
                         ++transfer.skipped;
                         return;
                     }
                     std::error_code failure;
                     const auto folder = root.make_folder(layout::fan_out(key), failure);
                     if (!failure) failure = write_entry(root, folder, key, entry.key.producer, bytes);
                     if (failure) refuse(key, failure);
                     ++transfer.entries;
                     transfer.bytes += bytes.size();
                 });
    set_usage(root, total_bytes(list_items(root)));
    return transfer;
}

}  // namespace convt_jit

#include "cache/archive.h"

#include "cache/arch_filter.h"
#include "cache/destination.h"
#include "cache/entry_file.h"
#include "cache/intake.h"
#include "cache/inventory.h"
#include "cache/layout.h"
#include "cache/producers.h"
#include "cache/temporary.h"
#include "cache/usage.h"
#include "cache/ustar.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
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
struct Manifest {
    std::map<std::string, Listing> entries;  // by key
    std::set<std::string> producers;         // of the entries
};

std::string to_text(const Manifest& manifest) {
    json entries = json::array();
    for (const auto& [key, listing] : manifest.entries)
        entries.push_back({{"key", key}, {"bytes", listing.bytes}, {"digest", listing.digest}});
    const json all{
        {"format", kArchiveFormat}, {"entries", std::move(entries)}, {"producers", json(manifest.producers)}};
    return all.dump(1) + "\n";
}

constexpr const char* kNoManifest =
    "its manifest cannot be read; allowed: a JSON object with format, entries (each with key, bytes and digest) and "
    "producers";

// Numbers and lists would be converted from what is none: 1.5 to 1, {} to no entry.
bool is_manifest(const json& parsed) {
    return parsed.at("format").is_number_integer() && parsed.at("entries").is_array() &&
           (!parsed.contains("producers") || parsed.at("producers").is_array()) &&
           std::all_of(parsed.at("entries").begin(), parsed.at("entries").end(),
                       [](const json& item) { return item.at("bytes").is_number_unsigned(); });
}

Manifest parse_manifest(const std::string& text, const std::string& file) {
    Manifest manifest;
    try {
        const json parsed = json::parse(text);
        if (!is_manifest(parsed)) throw CacheError(file, kNoManifest);
        if (parsed.at("format").get<std::int64_t>() != kArchiveFormat)
            throw CacheError(file, fmt::format("its format is {}, this library reads {}", parsed.at("format").dump(),
                                               kArchiveFormat));
        for (const auto& item : parsed.at("entries"))
            if (!manifest.entries
                     .emplace(item.at("key").get<std::string>(),
                              Listing{item.at("bytes").get<std::size_t>(), item.at("digest").get<std::string>()})
                     .second)
                throw CacheError(file, "its manifest names an entry twice");
        if (!parsed.contains("producers")) throw CacheError(file, "its manifest does not name the producers");
        for (const auto& item : parsed.at("producers"))
            if (!manifest.producers.insert(item.get<std::string>()).second)
                throw CacheError(file, "its manifest names a producer twice");
    } catch (const json::exception&) {
        throw CacheError(file, kNoManifest);
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

// A longer name does not fit; an import writes it from the entry.
bool has_member(const std::string& producer) {
    return !producer.empty() && producer_member(producer).size() <= kMaxTarName;
}

// The producer that an empty file names.
std::optional<std::string> producer_of(const TarMember& member) {
    const std::string folder = std::string(layout::kProducers) + "/";
    if (!member.bytes.empty() || !member.name.starts_with(folder)) return std::nullopt;
    return producer_of_file_name(std::string_view(member.name).substr(folder.size()));
}

// What was read must be what the manifest says, and the producers those of the entries: a cache without their names
// does not find its entries.
void compare(const Manifest& seen, const Manifest& manifest, const std::set<std::string>& members,
             const std::string& file) {
    if (manifest.entries != seen.entries) throw CacheError(file, "its entries are not those of its manifest");
    if (manifest.producers != seen.producers)
        throw CacheError(file, "the producers of its entries are not those of its manifest");
    for (const auto& producer : seen.producers)
        if (has_member(producer) && !members.contains(producer))
            throw CacheError(file, fmt::format("it lacks {}", producer_member(producer)));
    for (const auto& producer : members)
        if (!seen.producers.contains(producer))
            throw CacheError(
                file, fmt::format("its member {} names who made none of its entries", producer_member(producer)));
}

// Calls `use` for each entry, all of them sound; returns the manifest.
Manifest read_archive(const FileDescriptor& opened, const std::string& file,
                      const std::function<void(const std::string& key, const Entry&, const std::string& bytes)>& use) {
    Manifest seen;
    std::set<std::string> members;  // that name a producer
    std::optional<Manifest> manifest;
    TarReader reader(opened);
    std::string why;
    while (const auto member = reader.next(kMaxEntryBytes, why)) {
        if (manifest) throw CacheError(file, "something follows its manifest");
        if (member->name == layout::kManifest) {
            manifest = parse_manifest(member->bytes, file);
            continue;
        }
        if (auto producer = producer_of(*member)) {
            if (!members.insert(*std::move(producer)).second)
                throw CacheError(file, fmt::format("it holds {} twice", member->name));
            continue;
        }
        const std::string key = key_of_member(member->name);
        if (key.empty()) throw CacheError(file, fmt::format("its member {} is no entry of a cache", member->name));
        const auto entry = decode(member->bytes, &why);
        if (!entry) throw CacheError(file, fmt::format("its entry {} is damaged: {}", key, why));
        if (digest(entry->key) != key) throw CacheError(file, fmt::format("its entry {} belongs to another key", key));
        if (!seen.entries.emplace(key, Listing{member->bytes.size(), digest(member->bytes)}).second)
            throw CacheError(file, fmt::format("it holds the entry {} twice", key));
        seen.producers.insert(entry->key.producer);
        use(key, *entry, member->bytes);
    }
    if (!why.empty()) throw CacheError(file, why);
    if (!manifest) throw CacheError(file, "it has no manifest");
    compare(seen, *manifest, members, file);
    if (seen.entries.empty()) throw CacheError(file, "it holds no entry");
    return seen;
}

[[noreturn]] void refuse(const std::string& subject, const std::error_code& error) {
    throw CacheError(subject, error.message());
}

// Whether an entry that cannot be read is none of those archs all the same, as its header tells.
bool is_of_others(const Root& root, const std::string& key, const std::vector<std::string>& archs) {
    if (archs.empty()) return false;
    const auto listed = read_header(root, key);
    return listed && !means(archs, listed->entry.key.arch);
}

}  // namespace

CacheTransfer export_archive(const Root& root, const std::string& file, const std::vector<std::string>& archs) {
    const Destination destination = destination_of(file);
    sweep_orphans(destination.folder);  // an export that was killed here has left what it had written
    Publication archive(destination.folder, destination.name);
    auto error = archive.begin(0666);
    if (error) refuse(file, error);
    // Some file systems refuse it, and the usual permissions are then good enough.
    if (destination.mode) static_cast<void>(::fchmod(archive.file().get(), *destination.mode));

    CacheTransfer transfer;
    Manifest manifest;
    std::vector<LeftOut> left_out;
    auto items = list_items(root, &left_out);
    if (!left_out.empty())
        throw CacheError(
            root.path() + "/" + left_out.front().folder,
            fmt::format("{}; nothing was exported, as its entries would be missing", left_out.front().error.message()));
    std::sort(items.begin(), items.end(), [](const Item& a, const Item& b) { return a.key < b.key; });
    for (const auto& item : items) {
        const Read read = read_entry(root, item.key);
        if (read.entry && !means(archs, read.entry->key.arch)) continue;
        if (!read.entry) {
            if (is(read.error, ENOENT) || is_of_others(root, item.key, archs))
                continue;  // evicted meanwhile, or not asked for
            ++transfer.skipped;
            transfer.left_out.push_back(
                {member_name(item.key), read.damage.empty() ? read.error.message() : read.damage});
            continue;
        }
        if (error = archive.write(tar_member(member_name(item.key), read.bytes)); error) refuse(file, error);
        manifest.entries.emplace(item.key, Listing{read.bytes.size(), digest(read.bytes)});
        manifest.producers.insert(read.entry->key.producer);
        ++transfer.entries;
        transfer.bytes += read.bytes.size();
    }
    if (manifest.entries.empty()) return transfer;  // a file of nothing would be taken for an export
    for (const auto& producer : manifest.producers) {
        if (!has_member(producer)) continue;
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
    CheckedArchive archive{std::move(opened), file, {}};
    const Manifest manifest =
        read_archive(archive.opened, file, [](const std::string&, const Entry&, const std::string&) {});
    for (const auto& [key, listing] : manifest.entries) archive.keys.push_back(key);
    return archive;
}

CacheTransfer import_archive(const Root& root, const CheckedArchive& archive, std::chrono::milliseconds wait) {
    CacheTransfer transfer;
    expect_room(root, archive.keys);
    Intake intake(root, wait);
    read_archive(archive.opened, archive.file,
                 [&](const std::string& key, const Entry& entry, const std::string& bytes) {
                     if (!intake.take(key, entry, bytes)) {
                         ++transfer.skipped;
                         return;
                     }
                     ++transfer.entries;
                     transfer.bytes += bytes.size();
                 });
    intake.commit();
    set_usage(root, total_bytes(list_items(root)));
    return transfer;
}

}  // namespace convt_jit

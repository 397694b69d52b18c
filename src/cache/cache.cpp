#include "convt_jit/cache.h"

#include "cache/archive.h"
#include "cache/directory.h"
#include "cache/entry_file.h"
#include "cache/explanation.h"
#include "cache/holders.h"
#include "cache/inventory.h"
#include "cache/layout.h"
#include "cache/producers.h"
#include "cache/recognition.h"
#include "cache/settings.h"
#include "cache/temporary.h"
#include "cache/trim.h"
#include "cache/trust.h"
#include "cache/verify.h"
#include "log/log.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <map>
#include <utility>

namespace convt_jit {
namespace {

double seconds(Stamp stamp) { return static_cast<double>(stamp) / 1e9; }

// To look at it, and to clean it up: whoever may do that by the file system's rules may do it here.
Root open_any(const std::string& directory, std::error_code* distrusted = nullptr) {
    std::error_code error;
    auto root = Root::open(directory, is_declared_trusted(directory, cache_settings().trusted), error);
    if (is_distrust(error)) {
        if (distrusted != nullptr) *distrusted = error;
        root = Root::open(directory, true, error);
    }
    if (!root) throw CacheError(directory, error.message());
    return *std::move(root);
}

// Where code comes from or goes to.
Root open_trusted(const std::string& directory, bool make) {
    const bool declared = is_declared_trusted(directory, cache_settings().trusted);
    std::error_code error;
    auto root = make ? Root::make(directory, declared, error) : Root::open(directory, declared, error);
    if (!root) throw CacheError(directory, error.message());
    return *std::move(root);
}

std::string path_of(const std::string& key) { return layout::fan_out(key) + "/" + layout::entry_name(key); }

CacheEntry describe(const std::string& directory, const Root& root, const Item& item, bool in_use) {
    CacheEntry entry;
    entry.key = item.key;
    entry.path = directory + "/" + path_of(item.key);
    entry.bytes = item.bytes;
    entry.last_used = seconds(item.used);
    entry.in_use = in_use;
    auto listed = read_header(root, item.key);
    if (!listed) return entry;
    auto& [key, from, cubin] = listed->entry;
    entry.readable = true;
    entry.fields = {std::move(key.source_digest), std::move(key.options), std::move(key.arch), std::move(key.producer),
                    key.format};
    entry.library = std::move(from.library);
    entry.host = std::move(from.host);
    entry.date = std::move(from.date);
    entry.layer = std::move(from.layer);
    entry.family = std::move(from.family);
    entry.plan = std::move(from.plan);
    entry.entry_point = std::move(from.entry_point);
    entry.registers = from.registers;
    entry.spill_bytes = from.spill_bytes;
    entry.shared_bytes = from.shared_bytes;
    entry.cubin_bytes = listed->cubin_bytes;
    return entry;
}

std::vector<CacheSkipped> to_public(const std::vector<LeftOut>& left_out) {
    std::vector<CacheSkipped> skipped;
    for (const auto& [folder, error] : left_out) skipped.push_back({folder, error.message()});
    return skipped;
}

// Who lists entries is told where it is not known which are in use.
void warn_of_unknown_holders(const Root& root, const std::string& unknown) {
    if (!unknown.empty())
        log::warning("{}/{}; so all entries may be in use, and none is removed (`convt cache verify` tells more)",
                     root.path(), unknown);
}

Holdings known_holdings(const Root& root) {
    auto held = holdings(root);
    warn_of_unknown_holders(root, held.unknown);
    return held;
}

std::vector<CacheEntry> list_all(const std::string& directory, const Root& root, const Holdings& held,
                                 std::vector<CacheSkipped>& skipped) {
    std::vector<CacheEntry> entries;
    std::vector<LeftOut> left_out;
    const auto items = list_items(root, &left_out);
    skipped = to_public(left_out);
    for (const auto& item : items) entries.push_back(describe(directory, root, item, held.may_hold(item.key)));
    std::sort(entries.begin(), entries.end(), [](const CacheEntry& a, const CacheEntry& b) {
        return std::pair(-a.last_used, a.key) < std::pair(-b.last_used, b.key);
    });
    return entries;
}

// The item whose key is, or alone begins with, `key`.
Item select(const Root& root, const std::string& key) {
    std::vector<Item> matching;
    std::vector<LeftOut> left_out;
    for (auto& item : list_items(root, &left_out))
        if (!key.empty() && item.key.starts_with(key)) matching.push_back(std::move(item));
    if (matching.empty())
        throw CacheError(key, left_out.empty()
                                  ? std::string("no entry has that key")
                                  : fmt::format("no entry that can be read has that key ({}: {})",
                                                left_out.front().folder, left_out.front().error.message()));
    if (matching.size() > 1) throw CacheError(key, fmt::format("{} entries have keys that begin so", matching.size()));
    return std::move(matching.front());
}

std::size_t count_names(const Root& root, const char* folder) {
    std::error_code error;
    std::size_t count = 0;
    const auto opened = root.folder(folder, error);
    if (!error) static_cast<void>(for_each_name(opened, [&](const std::string&) { ++count; }));
    return count;
}

const char* reason_of(const std::error_code& error) { return is_distrust(error) ? "untrusted" : "unreadable"; }

// Nothing where nothing is there.
std::optional<CacheUnused> unused_entry(const std::string& key, const Read& read) {
    if (!read.damage.empty()) return CacheUnused{path_of(key), "damaged", read.damage};
    if (!read.error || is(read.error, ENOENT)) return std::nullopt;
    // It may be the folder that refuses: then nobody knows what is in it.
    return CacheUnused{read.folder ? path_of(key) : layout::fan_out(key), reason_of(read.error), read.error.message()};
}

CacheTrim to_public(const Root& root, TrimReport report) {
    warn_of_unknown_holders(root, report.holders_unknown);
    CacheTrim result;
    result.holders_unknown = std::move(report.holders_unknown);
    result.evicted = report.evicted;
    result.orphans = report.orphans;
    result.bytes_before = report.bytes_before;
    result.bytes_after = report.bytes_after;
    result.busy = report.busy;
    result.no_cache = report.no_cache;
    result.skipped = to_public(report.left_out);
    for (auto& [candidate, verdict, gone, failure] : report.judged)
        result.verdicts.push_back({std::move(candidate.key), std::move(candidate.arch), std::string(to_string(verdict)),
                                   gone, candidate.bytes, seconds(candidate.used), std::move(failure)});
    return result;
}

}  // namespace

std::vector<std::string> cache_directories() {
    const CacheSettings settings = cache_settings();
    check_layers(settings.layers);
    return directories(settings);
}

bool looks_like_cache(const std::string& directory) {
    std::error_code error;
    const auto opened = open_at(AT_FDCWD, directory.c_str(), O_RDONLY | O_DIRECTORY, 0, error);
    return !error && looks_like_cache(opened);
}

std::uint64_t cache_max_bytes() { return cache_settings().max_bytes; }

Cache::Cache(std::optional<std::string> directory) {
    if (!directory) directory = default_cache_directory();
    if (!directory || directory->empty())
        throw CacheError("cache", "there is no directory for it: CONVT_JIT_CACHE_DIR names one");
    directory_ = *std::move(directory);
}

bool Cache::exists() const noexcept {
    struct stat status {};
    return ::stat(directory_.c_str(), &status) == 0 && S_ISDIR(status.st_mode);
}

std::string Cache::trouble() const {
    std::error_code error;
    const auto root = Root::make(directory_, is_declared_trusted(directory_, cache_settings().trusted), error);
    if (!root) return error.message();
    // As an entry is written, but for its name: a file system says only then that it is full or read-only.
    Publication probe(root->directory(), "probe");
    error = probe.begin(0600);
    if (!error) error = probe.write(std::string(4096, '\0'));
    return error ? error.message() : std::string();
}

std::vector<CacheEntry> Cache::list(std::vector<CacheSkipped>* skipped) const {
    std::vector<CacheSkipped> all;
    const Root root = open_any(directory_);
    auto entries = list_all(directory_, root, known_holdings(root), all);
    if (skipped == nullptr)
        for (const auto& [path, why] : all) log::warning("{}/{}: its entries are left out: {}", directory_, path, why);
    else
        *skipped = std::move(all);
    return entries;
}

CacheEntry Cache::show(const std::string& key) const {
    const Root root = open_any(directory_);
    const Item item = select(root, key);
    return describe(directory_, root, item, known_holdings(root).may_hold(item.key));
}

std::string Cache::cubin(const std::string& key) const {
    const Root root = open_any(directory_);
    const Item item = select(root, key);
    Read read = read_entry(root, item.key);
    if (!read.damage.empty()) throw CacheError(item.key, "it is damaged: " + read.damage);
    if (!read.entry) throw CacheError(item.key, read.error.message());
    return std::move(read.entry->cubin);
}

CacheStat Cache::stat() const {
    const Root root = open_any(directory_);
    CacheStat stat;
    std::map<std::string, CacheStat::PerArch> archs;
    auto held = known_holdings(root);
    stat.processes = held.processes;
    for (const auto& entry : list_all(directory_, root, held, stat.skipped)) {
        ++stat.entries;
        stat.in_use += entry.in_use ? 1 : 0;
        stat.bytes += entry.bytes;
        auto& per_arch = archs[entry.fields.arch];
        per_arch.arch = entry.fields.arch;
        ++per_arch.entries;
        per_arch.bytes += entry.bytes;
        stat.newest_use = std::max(stat.newest_use, entry.last_used);
        stat.oldest_use = stat.entries == 1 ? entry.last_used : std::min(stat.oldest_use, entry.last_used);
    }
    for (auto& [arch, per_arch] : archs) stat.archs.push_back(std::move(per_arch));
    stat.max_bytes = cache_settings().max_bytes;
    stat.producers = known_producers(root);
    std::sort(stat.producers.begin(), stat.producers.end());
    stat.quarantined = count_names(root, layout::kQuarantine);
    stat.orphans = sweep_all(root, true);
    stat.holders_unknown = std::move(held.unknown);
    return stat;
}

CacheVerification Cache::verify(bool repair) const {
    std::error_code distrusted;
    const Root root = open_any(directory_, &distrusted);
    auto result = convt_jit::verify(root, repair);
    if (distrusted)
        result.findings.insert(result.findings.begin(),
                               {CacheFindingKind::untrusted, ".", distrusted.message(), false, {}});
    return result;
}

CacheTrim Cache::trim(std::optional<std::uint64_t> max_bytes, bool dry_run) const {
    if (!max_bytes) {
        max_bytes = cache_settings().max_bytes;
        if (*max_bytes == 0) max_bytes = UINT64_MAX;  // there zero means that there is no cap
    }
    const Root root = open_any(directory_);
    return to_public(root, convt_jit::trim(root, *max_bytes, *max_bytes, dry_run));
}

CacheTrim Cache::prune(const std::vector<std::string>& archs, double older_than_seconds, bool dry_run) const {
    constexpr double kLongest = 1e9;  // some thirty years
    if (!(older_than_seconds >= 0 && older_than_seconds <= kLongest))
        throw CacheError("older_than",
                         fmt::format("{} is no number of seconds from 0 to {}", older_than_seconds, kLongest));
    PruneRule rule;
    rule.archs = archs;
    rule.older_than = std::chrono::seconds(static_cast<std::int64_t>(older_than_seconds));
    const Root root = open_any(directory_);
    return to_public(root, convt_jit::prune(root, std::move(rule), dry_run));
}

CacheTransfer Cache::export_to(const std::string& file, const std::vector<std::string>& archs) const {
    return export_archive(open_trusted(directory_, false), file, archs);
}

CacheTransfer Cache::import_from(const std::string& file) const {
    // Checked before the directory is made: a bad file leaves nothing behind.
    const CheckedArchive archive = check_archive(file);
    return import_archive(open_trusted(directory_, true), archive, cache_settings().wait);
}

CacheExplanation Cache::explain(const CacheWanted& wanted) const {
    const Root root = open_trusted(directory_, false);
    CacheExplanation explanation;
    KeyFields fields{wanted.fields.source, wanted.fields.options, wanted.fields.arch, wanted.fields.producer,
                     wanted.fields.format};
    if (!fields.producer.empty()) explanation.key = digest(fields);
    std::error_code failure;
    const auto known = known_producers(root, &failure);
    if (failure) explanation.unused.push_back({layout::kProducers, reason_of(failure), failure.message()});
    const auto acceptable = acceptable_producers(cache_settings().producer, wanted.fields.producer, known);
    for (const auto& producer : acceptable) {
        fields.producer = producer;
        const std::string key = digest(fields);
        const Read read = read_entry(root, key);
        struct stat status {};
        if (!read.entry || status_of(read.file, status)) {
            if (auto unused = unused_entry(key, read)) explanation.unused.push_back(*std::move(unused));
            continue;
        }
        explanation.hit =
            describe(directory_, root, {key, read.bytes.size(), stamp_of(status)}, known_holdings(root).may_hold(key));
        return explanation;
    }
    for (const auto& producer : known) {
        if (std::find(acceptable.begin(), acceptable.end(), producer) != acceptable.end()) continue;
        fields.producer = producer;
        const std::string key = digest(fields);
        if (read_entry(root, key).entry)
            explanation.unused.push_back(
                {path_of(key), "other producer",
                 fmt::format("{} made it, and {} is wanted (CONVT_JIT_CACHE_PRODUCER accepts others)", producer,
                             wanted.fields.producer)});
    }
    std::vector<CacheSkipped> skipped;
    auto entries = list_all(directory_, root, known_holdings(root), skipped);
    const std::size_t index = nearest(wanted, entries);
    if (index == entries.size()) return explanation;
    explanation.nearest = std::move(entries[index]);
    explanation.differing = differences(wanted, *explanation.nearest);
    return explanation;
}

}  // namespace convt_jit

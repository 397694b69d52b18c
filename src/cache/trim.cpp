#include "cache/trim.h"

#include "cache/entry_file.h"
#include "cache/holders.h"
#include "cache/key_lock.h"
#include "cache/layout.h"
#include "cache/recognition.h"
#include "cache/usage.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <functional>
#include <optional>
#include <string>
#include <system_error>
#include <utility>

namespace convt_jit {
namespace {

// What came of an eviction: neither where the entry was used since it was judged, or is gone already.
struct Eviction {
    bool gone = false;
    std::string failure;
};

Eviction evict(const Root& root, const Candidate& victim) {
    std::error_code error;
    const auto folder = root.folder(layout::fan_out(victim.key), error);
    const std::string name = layout::entry_name(victim.key);
    struct stat status {};
    if (error) return {false, error.message()};
    if (::fstatat(folder.get(), name.c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0 || stamp_of(status) != victim.used)
        return {};
    if (::unlinkat(folder.get(), name.c_str(), 0) == 0) return {true, {}};
    return {false, errno == ENOENT ? std::string() : std::generic_category().message(errno)};
}

std::vector<Candidate> candidates_of(const Root& root, bool with_arch, const Holdings& held,
                                     std::vector<LeftOut>& left_out) {
    std::vector<Candidate> candidates;
    for (auto& item : list_items(root, &left_out)) {
        if (!item.is_file) continue;  // no entry that could be used or evicted; verify moves it out of the way
        Candidate candidate{std::move(item.key), {}, item.bytes, item.used, false};
        candidate.in_use = held.keys.contains(candidate.key);
        if (with_arch)
            if (const auto listed = read_header(root, candidate.key)) candidate.arch = listed->entry.key.arch;
        candidates.push_back(std::move(candidate));
    }
    return candidates;
}

// The highest stamp may be known from an entry alone, where the clock's own file was lost.
CacheTime time_among(const Root& root, const std::vector<Candidate>& candidates) {
    CacheTime time = cache_time(root);
    for (const auto& candidate : candidates) time.highest = std::max(time.highest, candidate.used);
    return time;
}

struct Circumstances {
    CacheTime time;
    bool holders_known = true;
};
using Policy = std::function<std::vector<Verdict>(const std::vector<Candidate>&, const Circumstances&)>;

TrimReport carry_out(const Root& root, const Policy& policy, bool with_arch, bool dry_run) {
    TrimReport report;
    report.no_cache = !may_be_cache(root.directory());
    if (report.no_cache) return report;
    std::optional<KeyLock> lock;  // makes its file where there is none
    if (!dry_run && lock.emplace(root).try_lock_trim() == LockState::busy) {
        report.busy = true;
        return report;
    }
    report.orphans = sweep_all(root, dry_run);
    if (!dry_run) sweep_holders(root);
    auto held = holdings(root);
    auto candidates = candidates_of(root, with_arch, held, report.left_out);
    const auto verdicts = policy(candidates, {time_among(root, candidates), held.unknown.empty()});
    report.holders_unknown = std::move(held.unknown);
    for (std::size_t i = 0; i < candidates.size(); ++i) {
        const std::uint64_t bytes = candidates[i].bytes;
        report.bytes_before += bytes;
        Eviction eviction;
        if (evicts(verdicts[i])) eviction = dry_run ? Eviction{true, {}} : evict(root, candidates[i]);
        report.evicted += eviction.gone ? 1 : 0;
        report.bytes_after += eviction.gone ? 0 : bytes;
        report.judged.push_back({std::move(candidates[i]), verdicts[i], eviction.gone, std::move(eviction.failure)});
    }
    if (!dry_run) set_usage(root, report.bytes_after);
    return report;
}

}  // namespace

TrimReport trim(const Root& root, std::uint64_t max_bytes, std::uint64_t target_bytes, bool dry_run,
                std::chrono::seconds recent) {
    return carry_out(
        root,
        [&](const std::vector<Candidate>& candidates, const Circumstances& now) {
            return trim_verdicts(candidates, {max_bytes, target_bytes, recent, now.time, now.holders_known});
        },
        false, dry_run);
}

TrimReport prune(const Root& root, PruneRule rule, bool dry_run) {
    const bool with_arch = !rule.archs.empty();
    return carry_out(
        root,
        [&](const std::vector<Candidate>& candidates, const Circumstances& now) {
            rule.wall = now.time.wall;
            rule.holders_known = now.holders_known;
            return prune_verdicts(candidates, rule);
        },
        with_arch, dry_run);
}

}  // namespace convt_jit

#include "cache/eviction.h"

#include "cache/arch_filter.h"

#include <algorithm>
#include <numeric>
#include <tuple>

namespace convt_jit {
namespace {

bool younger(Stamp used, std::chrono::seconds age, Stamp now) {
    return now - used < std::chrono::nanoseconds(age).count();
}

}  // namespace

std::string_view to_string(Verdict verdict) noexcept {
    switch (verdict) {
        case Verdict::keep_fits:
            return "fits";
        case Verdict::keep_in_use:
            return "in use";
        case Verdict::keep_unknown:
            return "holders unknown";
        case Verdict::keep_recent:
            return "recent";
        case Verdict::keep_other_arch:
            return "other arch";
        case Verdict::keep_young:
            return "young";
        case Verdict::evict_over_cap:
            return "over the cap";
        case Verdict::evict_pruned:
            return "pruned";
    }
    return "";
}

bool evicts(Verdict verdict) noexcept { return verdict == Verdict::evict_over_cap || verdict == Verdict::evict_pruned; }

std::vector<Verdict> trim_verdicts(const std::vector<Candidate>& candidates, const TrimRule& rule) {
    std::vector<Verdict> verdicts(candidates.size(), Verdict::keep_fits);
    std::uint64_t total = 0;
    for (const auto& candidate : candidates) total += candidate.bytes;
    if (total <= rule.max_bytes) return verdicts;

    std::vector<std::size_t> order(candidates.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
        return std::tie(candidates[a].used, candidates[a].key) < std::tie(candidates[b].used, candidates[b].key);
    });
    const auto exceeds = [&](std::size_t i) { return candidates[i].bytes > rule.max_bytes; };
    // What fits beside nothing goes first, and makes nothing else go where it has to stay.
    std::stable_partition(order.begin(), order.end(), exceeds);
    for (const std::size_t i : order)
        if (exceeds(i)) total -= candidates[i].bytes;
    for (const std::size_t i : order) {
        const auto& candidate = candidates[i];
        if (!exceeds(i) && total <= rule.target_bytes) break;
        if (candidate.in_use) {
            verdicts[i] = Verdict::keep_in_use;
        } else if (!rule.time.set_back() && younger(candidate.used, rule.recent, rule.time.wall)) {
            // After the clock was set back every age is a guess; the order of use is all that counts then.
            verdicts[i] = Verdict::keep_recent;
        } else if (!rule.holders_known) {
            verdicts[i] = Verdict::keep_unknown;
        } else {
            verdicts[i] = Verdict::evict_over_cap;
            if (!exceeds(i)) total -= candidate.bytes;
        }
    }
    return verdicts;
}

std::vector<Verdict> prune_verdicts(const std::vector<Candidate>& candidates, const PruneRule& rule) {
    std::vector<Verdict> verdicts;
    verdicts.reserve(candidates.size());
    for (const auto& candidate : candidates) {
        if (!means(rule.archs, candidate.arch))
            verdicts.push_back(Verdict::keep_other_arch);
        else if (rule.older_than.count() > 0 && younger(candidate.used, rule.older_than, rule.wall))
            verdicts.push_back(Verdict::keep_young);
        else if (candidate.in_use)
            verdicts.push_back(Verdict::keep_in_use);
        else if (!rule.holders_known)
            verdicts.push_back(Verdict::keep_unknown);
        else
            verdicts.push_back(Verdict::evict_pruned);
    }
    return verdicts;
}

}  // namespace convt_jit

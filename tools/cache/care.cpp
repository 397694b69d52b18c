#include "cache/care.h"

#include "cache/listing.h"
#include "subject/arch.h"
#include "subject/message.h"
#include "subject/quantity.h"
#include "subject/usage_error.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstdio>
#include <optional>

namespace convt_jit::tools {
namespace {

int tell(const Place& place, const CacheTrim& t, bool dry_run) {
    if (place.json) {
        nlohmann::json verdicts = nlohmann::json::array();
        for (const CacheVerdict& v : t.verdicts)
            verdicts.push_back({{"key", v.key},
                                {"arch", v.arch.empty() ? nlohmann::json() : nlohmann::json(v.arch)},
                                {"failure", v.failure},
                                {"verdict", v.verdict},
                                {"evicted", v.evicted},
                                {"bytes", v.bytes},
                                {"last_used", v.last_used}});
        print({{"dry_run", dry_run},
               {"busy", t.busy},
               {"no_cache", t.no_cache},
               {"evicted", t.evicted},
               {"orphans", t.orphans},
               {"bytes_before", t.bytes_before},
               {"bytes_after", t.bytes_after},
               {"skipped", to_json(t.skipped)},
               {"verdicts", verdicts}});
    } else if (!t.busy) {
        for (const CacheVerdict& v : t.verdicts)
            fmt::print("{}  {:>10}  {}  {}{}\n", v.key, format_bytes(v.bytes), format_date(v.last_used), v.verdict,
                       v.evicted           ? (dry_run ? ": would go" : ": gone")
                       : v.failure.empty() ? std::string()
                                           : fmt::format(": could not be removed: {}", v.failure));
        fmt::print("{} {} of {} and {}; {} before, {} after\n", dry_run ? "would remove" : "removed", t.evicted,
                   counted(t.verdicts.size(), "entry", "entries"), counted(t.orphans, "orphan", "orphans"),
                   format_bytes(t.bytes_before), format_bytes(t.bytes_after));
    }
    complain_of(t.skipped);
    if (t.no_cache)
        complain(shown_in_line(
            fmt::format("{}: nothing in it is of a cache, and nothing was done", Cache(place.directory).directory())));
    if (t.busy) complain("another process is trimming that cache; nothing was done");
    const auto failed = static_cast<std::size_t>(
        std::count_if(t.verdicts.begin(), t.verdicts.end(), [](const CacheVerdict& v) { return !v.failure.empty(); }));
    if (failed > 0) complain(fmt::format("{} could not be removed", counted(failed, "entry", "entries")));
    return t.busy || failed > 0 ? 1 : 0;
}

}  // namespace

int verify(const Place& place, bool repair) {
    const CacheVerification v = place.existing().verify(repair);
    if (place.json) {
        nlohmann::json findings = nlohmann::json::array();
        for (const CacheFinding& f : v.findings)
            findings.push_back({{"kind", to_string(f.kind)},
                                {"path", f.path},
                                {"why", f.why},
                                {"mended", f.mended},
                                {"failure", f.failure}});
        print({{"damaged", v.damaged()},
               {"untrusted", v.untrusted()},
               {"sound", v.sound},
               {"bytes", v.bytes},
               {"orphans", v.orphans},
               {"repair", repair},
               {"findings", findings}});
    } else {
        for (const CacheFinding& f : v.findings)
            fmt::print("{}: {}: {}{}\n", to_string(f.kind), shown_in_line(f.path), shown_in_line(f.why),
                       f.mended            ? " (moved to quarantine: it will be made anew)"
                       : f.failure.empty() ? std::string()
                                           : fmt::format(" (not repaired: {})", shown_in_line(f.failure)));
        if (v.untrusted() > 0)
            fmt::print("{} not trusted: what somebody else could have written is not loaded from there\n",
                       counted(v.untrusted(), "finding is", "findings are"));
        fmt::print("{}, {}; {}; {}{}\n", counted(v.sound, "sound entry", "sound entries"), format_bytes(v.bytes),
                   counted(v.findings.size(), "finding", "findings"), counted(v.orphans, "orphan", "orphans"),
                   repair && v.orphans > 0 ? " (removed)" : "");
    }
    const bool failed =
        std::any_of(v.findings.begin(), v.findings.end(), [](const CacheFinding& f) { return !f.failure.empty(); });
    return v.damaged() || v.untrusted() > 0 || failed ? 1 : 0;
}

int trim(const Place& place, const TrimOptions& options) {
    std::optional<std::uint64_t> max_bytes;
    if (!options.max_bytes.empty()) {
        max_bytes = parse_bytes(options.max_bytes);
        if (!max_bytes)
            throw UsageError(
                fmt::format("--max-bytes: \"{}\" is no size; allowed: such as 512M, 2G or bytes", options.max_bytes));
    }
    return tell(place, place.existing().trim(max_bytes, options.dry_run), options.dry_run);
}

int prune(const Place& place, const PruneOptions& options) {
    const auto archs = parse_archs(options.archs);
    if (archs.empty() && options.older_than.empty())
        throw UsageError("prune: neither --arch nor --older-than says what is to go");
    double older_than = 0;
    if (!options.older_than.empty()) {
        constexpr double kLongest = 1e9;  // more than thirty years, which is what the library takes
        const auto seconds = parse_duration(options.older_than);
        if (!seconds || *seconds > kLongest)
            throw UsageError(
                fmt::format("--older-than: \"{}\" is no duration; allowed: such as 30d, 12h, 90m, 45s or 2w, up to "
                            "thirty years",
                            options.older_than));
        older_than = *seconds;
    }
    return tell(place, place.existing().prune(archs, older_than, options.dry_run), options.dry_run);
}

}  // namespace convt_jit::tools

#include "cache/care.h"

#include "cache/listing.h"
#include "subject/answer.h"
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

// Why a trim did not do all that was asked; empty: it did.
std::string trouble_of(const CacheTrim& t) {
    const auto number = [&](auto is_one) {
        return counted(static_cast<std::size_t>(std::count_if(t.verdicts.begin(), t.verdicts.end(), is_one)), "entry",
                       "entries");
    };
    const auto failed = [](const CacheVerdict& v) { return !v.failure.empty(); };
    const auto unknown = [](const CacheVerdict& v) { return v.verdict == "holders unknown"; };
    std::vector<std::string> troubles;
    if (t.busy) troubles.emplace_back("another process is trimming that cache; nothing was done");
    if (std::any_of(t.verdicts.begin(), t.verdicts.end(), failed))
        troubles.push_back(number(failed) + " could not be removed");
    if (std::any_of(t.verdicts.begin(), t.verdicts.end(), unknown))
        troubles.push_back(number(unknown) + " not removed, as nobody can tell what is in use");
    return joined(troubles);
}

// Why `verify` is not content; empty: it is.
std::string trouble_of(const CacheVerification& v) {
    std::vector<std::string> troubles;
    if (v.damaged()) troubles.emplace_back("something was damaged or cannot be read");
    if (v.untrusted() > 0) troubles.emplace_back("something is not trusted");
    if (std::any_of(v.findings.begin(), v.findings.end(), [](const CacheFinding& f) { return !f.failure.empty(); }))
        troubles.emplace_back("something could not be repaired");
    return joined(troubles);
}

int tell(const Place& place, const CacheTrim& t, bool dry_run) {
    const std::string error = trouble_of(t);
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
        nlohmann::json answer = {{"dry_run", dry_run},
                                 {"busy", t.busy},
                                 {"no_cache", t.no_cache},
                                 {"evicted", t.evicted},
                                 {"orphans", t.orphans},
                                 {"bytes_before", t.bytes_before},
                                 {"bytes_after", t.bytes_after},
                                 {"holders_unknown", t.holders_unknown},
                                 {"skipped", to_json(t.skipped)},
                                 {"verdicts", verdicts}};
        add_error(answer, error);
        print(answer);
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
    if (!error.empty()) complain(error);
    return error.empty() ? 0 : 1;
}

}  // namespace

int verify(const Place& place, bool repair) {
    const CacheVerification v = place.existing().verify(repair);
    const std::string error = trouble_of(v);
    if (place.json) {
        nlohmann::json findings = nlohmann::json::array();
        for (const CacheFinding& f : v.findings)
            findings.push_back({{"kind", to_string(f.kind)},
                                {"path", f.path},
                                {"why", f.why},
                                {"mended", f.mended},
                                {"failure", f.failure}});
        nlohmann::json answer = {{"damaged", v.damaged()}, {"untrusted", v.untrusted()}, {"sound", v.sound},
                                 {"bytes", v.bytes},       {"orphans", v.orphans},       {"repair", repair},
                                 {"findings", findings}};
        add_error(answer, error);
        print(answer);
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
    return error.empty() ? 0 : 1;
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

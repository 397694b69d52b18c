#include "cache/transfer.h"

#include "cache/listing.h"
#include "subject/answer.h"
#include "subject/apart.h"
#include "subject/arch.h"
#include "subject/capacity.h"
#include "subject/message.h"
#include "subject/output_file.h"
#include "subject/quantity.h"
#include "subject/usage_error.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

namespace convt_jit::tools {
namespace {

nlohmann::json answer(const Cache& cache, const std::string& file, const CacheTransfer& t) {
    return {{"directory", cache.directory()},
            {"file", file},
            {"entries", t.entries},
            {"skipped", t.skipped},
            {"bytes", t.bytes}};
}

std::string why_nothing(const Cache& cache, const std::vector<std::string>& archs) {
    std::vector<std::string> there;
    for (const auto& per_arch : cache.stat().archs)
        if (!per_arch.arch.empty()) there.push_back(per_arch.arch);
    return fmt::format("{}: there is no entry {}to be exported, so nothing was written; {}", cache.directory(),
                       archs.empty() ? "" : fmt::format("of {} ", fmt::join(archs, ", ")),
                       there.empty() ? "it holds none" : fmt::format("it holds those of {}", fmt::join(there, ", ")));
}

}  // namespace

int export_to(const Place& place, const std::string& file, const std::vector<std::string>& texts) {
    const auto archs = parse_archs(texts);
    const Cache cache = place.existing();
    if (written_file(file).empty())
        throw UsageError(fmt::format(
            "FILE: \"{}\" is no regular file; allowed: one, or a new one, as an export takes its place as a whole",
            file));
    expect_apart({"FILE", file}, {});
    const CacheTransfer transfer = cache.export_to(file, archs);
    std::vector<std::string> troubles;
    if (transfer.skipped > 0) troubles.push_back(counted(transfer.skipped, "entry", "entries") + " left out");
    if (transfer.entries == 0) troubles.push_back(why_nothing(cache, archs));
    const std::string error = joined(troubles);
    if (place.json) {
        auto json = answer(cache, file, transfer);
        json["left_out"] = to_json(transfer.left_out);
        add_error(json, error);
        print(json);
    } else if (transfer.entries > 0) {
        fmt::print("wrote {}, {}; left out {}\n", counted(transfer.entries, "entry", "entries"),
                   format_bytes(transfer.bytes), transfer.skipped);
    }
    for (const auto& [path, why] : transfer.left_out)
        complain(shown_in_line(fmt::format("left out: {}: {}", path, why)));
    if (transfer.entries == 0) complain(shown_in_line(error));
    return error.empty() ? 0 : 1;
}

int import_from(const Place& place, const std::string& file) {
    const Cache cache = place.any();
    // The directory is only made for a file that can be read; what is in it is checked before any of it is kept.
    CacheTransfer transfer;
    try {
        transfer = cache.import_from(file);
    } catch (const CacheError& error) {
        if (error.subject() == file && file != cache.directory()) throw UsageError(error.what());
        if (error.subject() == cache.directory() && place.mistyped(cache)) throw UsageError(error.what());
        throw;
    }
    const Capacity capacity{cache.stat().bytes, cache_max_bytes()};
    const std::string told = warning(capacity, cache.directory(), "it now holds");
    if (place.json) {
        auto json = answer(cache, file, transfer);
        json["over_cap"] = capacity.exceeded();
        if (capacity.exceeded()) add_error(json, told);
        print(json);
    } else {
        fmt::print("kept {}, {}; skipped {}{}\n", counted(transfer.entries, "entry", "entries"),
                   format_bytes(transfer.bytes), transfer.skipped, transfer.skipped == 0 ? "" : " (there already)");
    }
    if (!told.empty()) complain(shown_in_line(told));
    return capacity.exceeded() ? 1 : 0;
}

}  // namespace convt_jit::tools

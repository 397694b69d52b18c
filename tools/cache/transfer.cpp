#include "cache/transfer.h"

#include "subject/arch.h"
#include "subject/quantity.h"
#include "subject/usage_error.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace convt_jit::tools {
namespace {

void tell(const Place& place, const Cache& cache, const std::string& file, const CacheTransfer& t, const char* verb,
          const char* skipped) {
    if (place.json)
        print({{"directory", cache.directory()},
               {"file", file},
               {"entries", t.entries},
               {"skipped", t.skipped},
               {"bytes", t.bytes}});
    else
        fmt::print("{} {} entries, {}; skipped {}{}\n", verb, t.entries, format_bytes(t.bytes), t.skipped,
                   t.skipped == 0 ? "" : skipped);
}

}  // namespace

int export_to(const Place& place, const std::string& file, const std::vector<std::string>& texts) {
    const auto archs = parse_archs(texts);
    const Cache cache = place.existing();
    const CacheTransfer transfer = cache.export_to(file, archs);
    tell(place, cache, file, transfer, "wrote", " (damaged, not trusted, or of another version; verify tells which)");
    return 0;
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
    tell(place, cache, file, transfer, "kept", " (there already)");
    return 0;
}

}  // namespace convt_jit::tools

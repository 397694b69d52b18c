#include "cache/listing.h"

#include "subject/answer.h"
#include "subject/apart.h"
#include "subject/message.h"
#include "subject/output_file.h"
#include "subject/quantity.h"
#include "subject/usage_error.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include <algorithm>

namespace convt_jit::tools {
namespace {

// Asked for by its name: that there is no such entry is the question's fault, what else goes wrong is not.
CacheEntry named_entry(const Cache& cache, const std::string& key) {
    try {
        return cache.show(key);
    } catch (const CacheError& error) {
        if (error.subject() == key) throw UsageError(error.what());
        throw;
    }
}

}  // namespace

nlohmann::json to_json_object(const CacheEntry& e) {
    nlohmann::json j = {{"key", e.key},     {"path", e.path},           {"readable", e.readable},
                        {"bytes", e.bytes}, {"last_used", e.last_used}, {"in_use", e.in_use}};
    if (!e.readable) return j;
    j.update({{"source", e.fields.source},
              {"options", e.fields.options},
              {"arch", e.fields.arch},
              {"producer", e.fields.producer},
              {"format", e.fields.format},
              {"library", e.library},
              {"host", e.host},
              {"date", e.date},
              {"layer", e.layer},
              {"family", e.family},
              {"plan", e.plan},
              {"entry_point", e.entry_point},
              {"registers", e.registers},
              {"spill_bytes", e.spill_bytes},
              {"shared_bytes", e.shared_bytes},
              {"cubin_bytes", e.cubin_bytes}});
    return j;
}

void print(const CacheEntry& e) {
    const auto clean = [](const std::string& text) { return shown_in_line(text); };  // it may have been imported
    fmt::print("key          {}\npath         {}\nsize         {}\nlast used    {}{}\n", e.key, clean(e.path),
               format_bytes(e.bytes), format_date(e.last_used), e.in_use ? ", in use now" : "");
    if (!e.readable) {
        fmt::print("not readable: damaged, of another version of this library, or not trusted; verify tells which\n");
        return;
    }
    fmt::print("layer        {}\nplan         {}\narch         {}\nproducer     {}\noptions      {}\n", clean(e.layer),
               clean(e.plan), clean(e.fields.arch), clean(e.fields.producer), clean(e.fields.options));
    fmt::print("source       {}\nformat       {}\nmade         {}, on {}, by convt_jit {}\n", clean(e.fields.source),
               e.fields.format, clean(e.date), clean(e.host), clean(e.library));
    fmt::print("kernel       {}, {} registers, {} bytes spilled, {} bytes shared, {} of machine code\n",
               clean(e.entry_point), e.registers, e.spill_bytes, e.shared_bytes, format_bytes(e.cubin_bytes));
}

nlohmann::json to_json(const std::vector<CacheSkipped>& skipped) {
    nlohmann::json all = nlohmann::json::array();
    for (const CacheSkipped& s : skipped) all.push_back({{"path", s.path}, {"why", s.why}});
    return all;
}

void complain_of(const std::vector<CacheSkipped>& skipped) {
    for (const CacheSkipped& s : skipped)
        complain(shown_in_line(fmt::format("warning: folder {} is skipped, with all its entries: {}", s.path, s.why)));
}

int ls(const Place& place) {
    const Cache cache = place.existing();
    std::vector<CacheSkipped> skipped;
    const auto entries = cache.list(&skipped);
    complain_of(skipped);
    if (place.json) {
        nlohmann::json all = nlohmann::json::array();
        for (const CacheEntry& entry : entries) all.push_back(to_json_object(entry));
        print(all);
        return 0;
    }
    for (const CacheEntry& e : entries)
        fmt::print("{}  {:8} {:>10}  {} {} {}\n", e.key, e.readable ? shown_in_line(e.fields.arch) : "?",
                   format_bytes(e.bytes), format_date(e.last_used), e.in_use ? "*" : " ",
                   e.readable ? shown_in_line(e.layer) : "(not readable: see verify)");
    return 0;
}

int show(const Place& place, const ShowOptions& options) {
    const Cache cache = place.existing();
    const CacheEntry entry = named_entry(cache, options.key);
    if (!options.cubin.empty()) {
        if (options.cubin == "-" && place.json) throw UsageError("--cubin -: --json prints to standard output, too");
        expect_apart({"--cubin", options.cubin}, {});
        write_file(options.cubin, cache.cubin(entry.key));
        if (options.cubin == "-") return 0;
    }
    if (place.json)
        print(to_json_object(entry));
    else
        print(entry);
    return 0;
}

int stat(const Place& place) {
    const Cache cache = place.existing();
    const CacheStat s = cache.stat();
    complain_of(s.skipped);
    if (place.json) {
        nlohmann::json archs = nlohmann::json::array();
        for (const auto& a : s.archs)
            archs.push_back({{"arch", a.arch.empty() ? nlohmann::json() : nlohmann::json(a.arch)},
                             {"entries", a.entries},
                             {"bytes", a.bytes}});
        print({{"directory", cache.directory()},
               {"entries", s.entries},
               {"in_use", s.in_use},
               {"bytes", s.bytes},
               {"max_bytes", s.max_bytes},
               {"archs", archs},
               {"producers", s.producers},
               {"quarantined", s.quarantined},
               {"orphans", s.orphans},
               {"processes", s.processes},
               {"holders_unknown", s.holders_unknown},
               {"oldest_use", s.oldest_use},
               {"newest_use", s.newest_use},
               {"skipped", to_json(s.skipped)}});
        return 0;
    }
    fmt::print("directory    {}\nentries      {}, {} of them in use by {}\n", shown_in_line(cache.directory()),
               s.entries, s.in_use, counted(s.processes, "live process", "live processes"));
    fmt::print("size         {}, cap {}\n", format_bytes(s.bytes),
               s.max_bytes == 0 ? "none" : format_bytes(s.max_bytes));
    for (const auto& a : s.archs)
        fmt::print("  {:10} {}, {}\n", a.arch.empty() ? "unreadable" : shown_in_line(a.arch),
                   counted(a.entries, "entry", "entries"), format_bytes(a.bytes));
    fmt::print("producers    {}\nlast used    {} to {}\n",
               shown_in_line(fmt::format("{}", fmt::join(s.producers, ", "))), format_date(s.oldest_use),
               format_date(s.newest_use));
    fmt::print("quarantined  {}\norphans      {} (temporary files of processes that died)\n", s.quarantined, s.orphans);
    if (!s.holders_unknown.empty())
        fmt::print("holders      unknown, so all entries may be in use: {}\n", shown_in_line(s.holders_unknown));
    if (!s.skipped.empty())
        fmt::print("skipped      {} that cannot be read\n", counted(s.skipped.size(), "folder", "folders"));
    return 0;
}

}  // namespace convt_jit::tools

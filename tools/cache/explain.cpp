#include "cache/explain.h"

#include "cache/listing.h"
#include "cache/lookup.h"
#include "convt_jit/engine.h"
#include "subject/answer.h"
#include "subject/arch.h"
#include "subject/message.h"
#include "subject/usage_error.h"
#include "warmup/job.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <filesystem>
#include <utility>
#include <vector>

namespace convt_jit::tools {
namespace {

// One for each plan that prepare may take on GPUs of the arch.
std::vector<CacheWanted> all_wanted(const ExplainOptions& options) {
    const auto archs = parse_archs({options.arch});
    if (archs.size() != 1) throw UsageError("--arch: allowed: a single arch, such as sm_90a");
    PrepareOptions prepare;
    prepare.plan = options.plan;
    prepare.exact_nonfinite = options.exact_nonfinite;
    const Layer layer = parse_layer(options.layer);
    if (!layer.input.empty()) validate(layer, known_shape(layer));
    std::vector<CacheWanted> all;
    for (const std::string& plan : plans_of(layer, archs.front(), prepare, TuningRecords::standard())) {
        prepare.plan = plan;
        all.push_back(Engine::wanted(layer, archs.front(), prepare));
    }
    return all;
}

nlohmann::json answer(const CacheWanted& wanted, const Lookup& lookup) {
    const CacheExplanation& e = lookup.explanation;
    const auto entry = [](const std::optional<CacheEntry>& found) {
        return found ? to_json_object(*found) : nlohmann::json();
    };
    nlohmann::json differing = nlohmann::json::array();
    for (const CacheDifference& d : e.differing)
        differing.push_back({{"field", d.field}, {"wanted", d.wanted}, {"nearest", d.nearest}});
    nlohmann::json all = {{"wanted",
                           {{"source", wanted.fields.source},
                            {"options", wanted.fields.options},
                            {"arch", wanted.fields.arch},
                            {"producer", wanted.fields.producer},
                            {"format", wanted.fields.format},
                            {"layer", wanted.layer},
                            {"plan", wanted.plan},
                            {"library", wanted.library}}},
                          {"key", e.key},
                          {"directory", lookup.directory},
                          {"hit", entry(e.hit)},
                          {"nearest", entry(e.nearest)},
                          {"differing", differing},
                          {"passed_over", lookup.passed_over},
                          {"directories", to_json(lookup.reasons)}};
    if (!e.hit) add_error(all, "no entry serves");
    return all;
}

void tell(const CacheWanted& wanted, const Lookup& lookup) {
    const CacheExplanation& e = lookup.explanation;
    const std::string producer = wanted.fields.producer.empty()
                                     ? "not known here; the newest that filled the cache serves"
                                     : wanted.fields.producer;
    const auto clean = [](const std::string& text) { return shown_in_line(text); };  // a producer is read from the disk
    fmt::print("wanted\n  layer      {}\n  plan       {}\n", clean(wanted.layer), clean(wanted.plan));
    fmt::print("  source     {}\n  options    {}\n  arch       {}\n  producer   {}\n  format     {}\n",
               clean(wanted.fields.source), clean(wanted.fields.options), clean(wanted.fields.arch), clean(producer),
               wanted.fields.format);
    if (!e.key.empty()) fmt::print("  key        {}\n", e.key);
    for (const std::string& why : lookup.passed_over) fmt::print("passed over: {}\n", shown_in_line(why));
    for (const NotServed& reason : lookup.reasons)
        if (!reason.path.empty()) fmt::print("not used: {}\n", to_string(reason));
    if (e.hit) {
        fmt::print("hit: {}\n", shown_in_line(e.hit->path));
        return;
    }
    if (!e.nearest) {
        fmt::print("miss: there is no entry to compare with\n");
        return;
    }
    fmt::print("miss; nearest: {}\n", shown_in_line(e.nearest->path));
    for (const CacheDifference& d : e.differing)
        fmt::print("  {}\n    wanted   {}\n    nearest  {}\n", d.field, shown_in_line(d.wanted),
                   shown_in_line(d.nearest));
    // All alike and yet a miss: then the entry itself is not sound.
    if (e.differing.empty()) fmt::print("  no field differs: it is there and cannot be used\n");
}

}  // namespace

int explain(const Place& place, const ExplainOptions& options) {
    place.settle();
    const auto directories = cache_directories();
    // One of several may be missing while another holds what is wanted.
    if (directories.size() <= 1) (void)place.existing();
    CacheWanted want;
    Lookup lookup;
    for (CacheWanted& each : all_wanted(options)) {  // the first that is missing tells most
        want = std::move(each);
        lookup = look_up(directories, want);
        if (!lookup.explanation.hit) break;
    }
    if (lookup.explanation.key.empty() && lookup.passed_over.size() == directories.size())
        throw Error(fmt::format("no cache directory can be asked: {}", lookup.passed_over.front()));
    if (place.json)
        print(answer(want, lookup));
    else
        tell(want, lookup);
    return lookup.explanation.hit ? 0 : 1;
}

}  // namespace convt_jit::tools

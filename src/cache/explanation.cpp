#include "cache/explanation.h"

#include <string>
#include <tuple>

namespace convt_jit {
namespace {

bool same_source(const CacheWanted& wanted, const CacheEntry& entry) {
    return wanted.fields.source == entry.fields.source;
}

}  // namespace

std::vector<CacheDifference> differences(const CacheWanted& wanted, const CacheEntry& entry) {
    std::vector<CacheDifference> all;
    const auto compare = [&](const char* field, const std::string& a, const std::string& b) {
        if (a != b) all.push_back({field, a, b});
    };
    const auto hint = [&](const char* field, const std::string& a, const std::string& b) {
        if (!a.empty() && !same_source(wanted, entry)) compare(field, a, b);
    };
    compare("source", wanted.fields.source, entry.fields.source);
    hint("layer", wanted.layer, entry.layer);
    hint("plan", wanted.plan, entry.plan);
    hint("library", wanted.library, entry.library);
    compare("options", wanted.fields.options, entry.fields.options);
    compare("arch", wanted.fields.arch, entry.fields.arch);
    if (!wanted.fields.producer.empty()) compare("producer", wanted.fields.producer, entry.fields.producer);
    if (wanted.fields.format != entry.fields.format)
        compare("format", std::to_string(wanted.fields.format), std::to_string(entry.fields.format));
    return all;
}

std::size_t nearest(const CacheWanted& wanted, const std::vector<CacheEntry>& entries) {
    const auto distance = [&](const CacheEntry& entry) {
        const bool other_layer = !wanted.layer.empty() && wanted.layer != entry.layer;
        return std::tuple(!same_source(wanted, entry) && other_layer, differences(wanted, entry).size(),
                          -entry.last_used);
    };
    std::size_t best = entries.size();
    for (std::size_t i = 0; i < entries.size(); ++i)
        if (entries[i].readable && (best == entries.size() || distance(entries[i]) < distance(entries[best]))) best = i;
    return best;
}

}  // namespace convt_jit

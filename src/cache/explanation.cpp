#include "cache/explanation.h"

#include <algorithm>
#include <iterator>
#include <sstream>
#include <string>
#include <tuple>

namespace convt_jit {
namespace {

bool same_source(const CacheWanted& wanted, const CacheEntry& entry) {
    return wanted.fields.source == entry.fields.source;
}

std::vector<std::string> words(const std::string& text) {
    std::istringstream stream(text);
    std::vector<std::string> all{std::istream_iterator<std::string>(stream), {}};
    std::sort(all.begin(), all.end());
    return all;
}

// Fields of layers and plans are words: how many of them must be added, removed or replaced.
std::size_t differing_words(const std::string& a, const std::string& b) {
    const auto of_a = words(a), of_b = words(b);
    std::vector<std::string> common;
    std::set_intersection(of_a.begin(), of_a.end(), of_b.begin(), of_b.end(), std::back_inserter(common));
    return std::max(of_a.size(), of_b.size()) - common.size();
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

bool is_nearer(const CacheWanted& wanted, const CacheEntry& a, const CacheEntry& b) {
    const auto distance = [&](const CacheEntry& entry) {
        // The same source is the same kernel, whatever layer it was first made for.
        const auto words_of = [&](const std::string& asked, const std::string& there) {
            return asked.empty() || same_source(wanted, entry) ? 0 : differing_words(asked, there);
        };
        return std::tuple(words_of(wanted.layer, entry.layer), differences(wanted, entry).size(),
                          words_of(wanted.plan, entry.plan), -entry.last_used);
    };
    return distance(a) < distance(b);
}

std::size_t nearest(const CacheWanted& wanted, const std::vector<CacheEntry>& entries) {
    std::size_t best = entries.size();
    for (std::size_t i = 0; i < entries.size(); ++i)
        if (entries[i].readable && (best == entries.size() || is_nearer(wanted, entries[i], entries[best]))) best = i;
    return best;
}

}  // namespace convt_jit

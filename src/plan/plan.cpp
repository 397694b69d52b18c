#include "plan/plan.h"

#include "convt_jit/error.h"
#include "plan/words.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <sstream>
#include <utility>

namespace convt_jit {
namespace {

std::string family_names() {
    return []<std::size_t... I>(std::index_sequence<I...>) {
        return fmt::format("{}", fmt::join({std::variant_alternative_t<I, Tile>::kFamily...}, ", "));
    }
    (std::make_index_sequence<std::variant_size_v<Tile>>());
}

// Tries the families one after the other; true when one of them has that name.
template <std::size_t I = 0>
bool read_family(std::string_view family, Words& words, const Layer& layer, const Arch& arch, Tile& tile) {
    if constexpr (I < std::variant_size_v<Tile>) {
        using Candidate = std::variant_alternative_t<I, Tile>;
        if (family != Candidate::kFamily) return read_family<I + 1>(family, words, layer, arch, tile);
        tile = read_tile(words, Candidate::standard(layer, arch));
        return true;
    }
    return false;
}

}  // namespace

std::string_view family_name(const Plan& plan) {
    return std::visit([](const auto& tile) { return std::decay_t<decltype(tile)>::kFamily; }, plan.tile);
}

std::string to_string(const Plan& plan) {
    return std::visit([](const auto& tile) { return tile_text(tile); }, plan.tile) +
           fmt::format(" index={} exact_nonfinite={:d}", plan.index64 ? 64 : 32, plan.exact_nonfinite);
}

Plan parse_plan(std::string_view text, const Layer& layer, const Arch& arch) {
    std::istringstream in{std::string(text)};
    std::string family;
    in >> family;
    Words words;
    for (std::string word; in >> word;) {
        const std::size_t equals = word.find('=');
        if (equals == std::string::npos)
            throw LayerError("plan", "\"" + word + "\"", "words of the form key=value after the family");
        if (!words.emplace(word.substr(0, equals), word.substr(equals + 1)).second)
            throw LayerError("plan." + word.substr(0, equals), "given twice", "each key once");
    }
    Plan plan;
    if (!read_family(family, words, layer, arch, plan.tile))
        throw LayerError("plan", "\"" + family + "\"", "a family: " + family_names());
    int index = 32;
    if (const auto found = words.extract("index")) words::read("index", found.mapped(), index);
    if (index != 32 && index != 64) throw LayerError("plan.index", std::to_string(index), "32 or 64");
    plan.index64 = index == 64;
    if (const auto found = words.extract("exact_nonfinite"))
        words::read("exact_nonfinite", found.mapped(), plan.exact_nonfinite);
    if (!words.empty())
        throw LayerError("plan", "\"" + words.begin()->first + "\"", "a key of the family (docs/plan.md)");
    return plan;
}

}  // namespace convt_jit

#include "plan/plan.h"

#include "convt_jit/error.h"

#include <fmt/format.h>

#include <charconv>
#include <map>
#include <sstream>

namespace convt_jit {
namespace {

using Words = std::map<std::string, std::string>;

int take_int(Words& words, const std::string& key, int fallback) {
    const auto found = words.find(key);
    if (found == words.end()) return fallback;
    const std::string text = found->second;
    words.erase(found);
    int value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc() || end != text.data() + text.size() || value < 0)
        throw LayerError("plan." + key, "\"" + text + "\"", "a non-negative integer");
    return value;
}

std::array<int, 3> take_positions(Words& words, const std::array<int, 3>& fallback) {
    const auto found = words.find("positions");
    if (found == words.end()) return fallback;
    const std::string text = found->second;
    words.erase(found);
    std::array<int, 3> values{};
    const char* at = text.data();
    const char* const end = at + text.size();
    for (std::size_t i = 0; i < 3; ++i) {
        const auto [next, error] = std::from_chars(at, end, values[i]);
        const bool last = i == 2;
        if (error != std::errc() || values[i] < 1 || (last ? next != end : next == end || *next != 'x'))
            throw LayerError("plan.positions", "\"" + text + "\"", "three positive integers as 1x4x32");
        at = next + (last ? 0 : 1);
    }
    return values;
}

bool take_flag(Words& words, const std::string& key, bool fallback) {
    const int value = take_int(words, key, fallback ? 1 : 0);
    if (value > 1) throw LayerError("plan." + key, std::to_string(value), "0 or 1");
    return value == 1;
}

DirectTile take_direct(Words& words, const DirectTile& standard) {
    DirectTile tile;
    tile.positions = take_positions(words, standard.positions);
    tile.positions_per_thread = take_int(words, "per_thread", standard.positions_per_thread);
    tile.channels_per_thread = take_int(words, "channels", standard.channels_per_thread);
    tile.channel_vectors = take_int(words, "vectors", standard.channel_vectors);
    tile.row_phases = take_int(words, "row_phases", standard.row_phases);
    tile.column_phases = take_int(words, "column_phases", standard.column_phases);
    tile.channel_chunk = take_int(words, "chunk", standard.channel_chunk);
    tile.stage_input = take_flag(words, "stage_input", standard.stage_input);
    tile.stage_weights = take_flag(words, "stage_weights", standard.stage_weights);
    tile.partial_sum = take_int(words, "partial", standard.partial_sum);
    tile.unroll = take_int(words, "unroll", standard.unroll);
    return tile;
}

std::string text(const DirectTile& t) {
    return fmt::format(
        "direct positions={}x{}x{} per_thread={} channels={} vectors={} row_phases={} column_phases={} chunk={} "
        "stage_input={:d} stage_weights={:d} partial={} unroll={}",
        t.positions[0], t.positions[1], t.positions[2], t.positions_per_thread, t.channels_per_thread,
        t.channel_vectors, t.row_phases, t.column_phases, t.channel_chunk, t.stage_input, t.stage_weights,
        t.partial_sum, t.unroll);
}
std::string text(const ReferenceTile& t) { return fmt::format("reference threads={}", t.threads); }

}  // namespace

std::string_view family_name(const Plan& plan) {
    return std::holds_alternative<DirectTile>(plan.tile) ? "direct" : "reference";
}

std::string to_string(const Plan& plan) {
    return std::visit([](const auto& tile) { return text(tile); }, plan.tile) +
           fmt::format(" index={} exact_nonfinite={:d}", plan.index64 ? 64 : 32, plan.exact_nonfinite);
}

Plan parse_plan(std::string_view line, const DirectTile& standard) {
    std::istringstream in{std::string(line)};
    std::string family;
    in >> family;
    Words words;
    for (std::string word; in >> word;) {
        const std::size_t equals = word.find('=');
        if (equals == std::string::npos) throw LayerError("plan", "\"" + word + "\"", "words of the form key=value after the family");
        if (!words.emplace(word.substr(0, equals), word.substr(equals + 1)).second)
            throw LayerError("plan." + word.substr(0, equals), "given twice", "each key once");
    }
    Plan plan;
    if (family == "direct")
        plan.tile = take_direct(words, standard);
    else if (family == "reference")
        plan.tile = ReferenceTile{take_int(words, "threads", ReferenceTile{}.threads)};
    else
        throw LayerError("plan", "\"" + family + "\"", "a family: direct, reference");
    const int index = take_int(words, "index", 32);
    if (index != 32 && index != 64) throw LayerError("plan.index", std::to_string(index), "32 or 64");
    plan.index64 = index == 64;
    plan.exact_nonfinite = take_flag(words, "exact_nonfinite", false);
    if (!words.empty()) throw LayerError("plan", "\"" + words.begin()->first + "\"", "a key of the family (docs/plan.md)");
    return plan;
}

}  // namespace convt_jit

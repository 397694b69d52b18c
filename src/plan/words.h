// Words: the key=value words of a plan string, and the one place that knows how the fields of a tile are written.
//
// A tile lists its fields once, in `fields(tile, visit)`, as (key, constant, member); text, parsing and the constants
// of the rendered source follow from that list.
#pragma once

#include "convt_jit/error.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <array>
#include <charconv>
#include <limits>
#include <map>
#include <string>
#include <string_view>

namespace convt_jit {

// key -> value, taken out as it is read, so that what remains is unknown.
using Words = std::map<std::string, std::string>;

namespace words {

// Moves `text` behind a non-negative integer. Throws LayerError that names the key.
inline int read_integer(const std::string& key, const std::string& whole, std::string_view& text) {
    int value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc() || value < 0)
        throw LayerError("plan." + key, "\"" + whole + "\"",
                         fmt::format("integers from 0 to {}", std::numeric_limits<int>::max()));
    text.remove_prefix(static_cast<std::size_t>(end - text.data()));
    return value;
}

inline void read(const std::string& key, const std::string& whole, int& value) {
    std::string_view text = whole;
    value = read_integer(key, whole, text);
    if (!text.empty()) throw LayerError("plan." + key, "\"" + whole + "\"", "a non-negative integer");
}
inline void read(const std::string& key, const std::string& whole, bool& value) {
    if (whole != "0" && whole != "1") throw LayerError("plan." + key, whole, "0 or 1");
    value = whole == "1";
}
template <std::size_t N>
void read(const std::string& key, const std::string& whole, std::array<int, N>& values) {
    std::string_view text = whole;
    for (std::size_t i = 0; i < N; ++i) {
        values[i] = read_integer(key, whole, text);
        const bool last = i + 1 == N;
        if (last ? !text.empty() : text.empty() || text.front() != 'x')
            throw LayerError("plan." + key, "\"" + whole + "\"", fmt::format("{} integers with an x between them", N));
        if (!last) text.remove_prefix(1);
    }
}

// For the values of a tile that are integers. Throws LayerError that names the key.
inline void expect_range(std::string_view key, int value, int low, int high) {
    if (value < low || value > high)
        throw LayerError(fmt::format("plan.{}", key), std::to_string(value), fmt::format("{} to {}", low, high));
}
inline void expect_range(std::string_view, bool, int, int) {}
template <std::size_t N>
void expect_range(std::string_view key, const std::array<int, N>& values, int low, int high) {
    for (const int value : values) expect_range(key, value, low, high);
}

inline std::string show(int value) { return std::to_string(value); }
inline std::string show(bool value) { return value ? "1" : "0"; }
template <std::size_t N>
std::string show(const std::array<int, N>& values) {
    return fmt::format("{}", fmt::join(values, "x"));
}

inline std::string constant(std::string_view name, int value) {
    return fmt::format("constexpr int {} = {};\n", name, value);
}
inline std::string constant(std::string_view name, bool value) {
    return fmt::format("constexpr bool {} = {};\n", name, value);
}
template <std::size_t N>
std::string constant(std::string_view name, const std::array<int, N>& values) {
    constexpr std::string_view kAxes = "DHW";  // the last N axes
    std::string text;
    for (std::size_t i = 0; i < N; ++i)
        text += fmt::format("constexpr int {}_{} = {};\n", name, kAxes[kAxes.size() - N + i], values[i]);
    return text;
}

}  // namespace words

template <class Tile>
[[nodiscard]] std::string tile_text(const Tile& tile) {
    std::string text{Tile::kFamily};
    Tile::fields(tile, [&](std::string_view key, std::string_view, const auto& value) {
        text += fmt::format(" {}={}", key, words::show(value));
    });
    return text;
}

// The tile with every field that `given` names replaced.
template <class Tile>
[[nodiscard]] Tile read_tile(Words& given, Tile tile) {
    Tile::fields(tile, [&](std::string_view key, std::string_view, auto& value) {
        const auto found = given.find(std::string(key));
        if (found == given.end()) return;
        words::read(found->first, found->second, value);
        given.erase(found);
    });
    return tile;
}

// C++ text of the constants that a family's body refers to.
template <class Tile>
[[nodiscard]] std::string tile_constants(const Tile& tile) {
    std::string text;
    Tile::fields(tile, [&](std::string_view, std::string_view name, const auto& value) {
        text += words::constant(name, value);
    });
    return text;
}

}  // namespace convt_jit

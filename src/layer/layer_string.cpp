// The layer string: reading and printing. docs/layer.md has the grammar.
#include "convt_jit/error.h"
#include "convt_jit/layer.h"
#include "layer/axis_numbers.h"
#include "layer/epilogue_words.h"
#include "layer/tokens.h"
#include "log/printable.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

namespace convt_jit {
namespace {

constexpr std::string_view kKnownTokens =
    "n16, c32, o64, in128x256, k3x5, s2x3, p1x2 or p1x2:0x3, op1, d2x1, g4, bias, f32, f16, bf16, tf32, nchw, nhwc, ";

// Runs `action`; an error in it is told with the column of the token.
template <class Action>
auto at(const Token& token, Action action) {
    try {
        return action();
    } catch (const LayerError& error) {
        throw LayerError(fmt::format("layer string, column {}", token.column), error);
    }
}

AxisNumbers read_axes(std::string_view token, std::string_view text, const std::string& allowed) {
    const auto bad = [&](const char* value) { return LayerError(printable(token), value, allowed); };
    std::vector<std::int64_t> values;
    for (std::size_t begin = 0; begin <= text.size();) {
        const std::size_t end = std::min(text.find('x', begin), text.size());
        const auto value = read_integer(text.substr(begin, end - begin));
        if (!value) throw bad("not a key with whole numbers that fit in 64 bits");
        values.push_back(*value);
        begin = end + 1;
    }
    if (values.size() > Dims::kMax) throw bad("a key with more than 3 numbers");
    AxisNumbers numbers{Dims::filled(static_cast<int>(values.size()), 0), values.size() == 1, printable(token)};
    std::copy(values.begin(), values.end(), &numbers.values[0]);
    return numbers;
}

class LayerString {
public:
    explicit LayerString(std::string_view text) {
        for (const Token& token : split(text)) at(token, [&] { read(token); });
    }

    [[nodiscard]] Layer layer() const {
        Layer layer = layer_;
        const auto kernel = axes("k"), input = axes("in"), stride = axes("s"), begin = axes("p"), end = axes("p:"),
                   output_padding = axes("op"), dilation = axes("d");
        layer.in_channels = required("c");
        layer.out_channels = required("o");
        if (!kernel) throw LayerError("k", "missing", "a kernel size such as k3x5");
        const int rank = told_rank({&kernel, &input, &stride, &begin, &end, &output_padding, &dilation}).value_or(1);
        const auto spread_at = [&](const char* key, const auto& numbers, std::int64_t otherwise) {
            return numbers ? at(tokens_.at(key), [&] { return spread(numbers, rank, otherwise); })
                           : Dims::filled(rank, otherwise);
        };
        layer.kernel = spread_at("k", kernel, 0);
        layer.stride = spread_at("s", stride, 1);
        layer.dilation = spread_at("d", dilation, 1);
        layer.pad_begin = spread_at("p", begin, 0);
        layer.pad_end = end ? spread_at("p", end, 0) : layer.pad_begin;
        layer.output_padding = spread_at("op", output_padding, 0);
        if (input) layer.input = spread_at("in", input, 0);
        if (const auto groups = axes("g")) layer.groups = groups->values[0];
        if (const auto batch = axes("n")) layer.batch = batch->values[0];
        validate(layer);
        return layer;
    }

private:
    void read(const Token& token) {
        if (read_word(token)) return;
        if (const auto set = read_epilogue_word(token.text, layer_.epilogue)) return once(*set, token);
        const std::size_t digits = std::min(token.text.find_first_of("-0123456789"), token.text.size());
        const std::string key(token.text.substr(0, digits));
        const std::string_view value = token.text.substr(digits);
        if (key == "p")
            read_padding(token, value);
        else if (key == "in" || key == "k" || key == "s" || key == "op" || key == "d")
            numbers_[key] = read_axes(token.text, value, fmt::format("such as {0}3 or {0}3x5x7", key));
        else if (key == "n" || key == "c" || key == "o" || key == "g")
            read_count(key, token, value);
        else
            throw LayerError(printable(token.text), "unknown", std::string(kKnownTokens).append(kEpilogueWords));
        once(key, token);
    }

    bool read_word(const Token& token) {
        const auto is = [&](std::string_view word) { return token.text == word; };
        if (is("bias")) return layer_.bias = true, once("bias", token), true;
        if (is("nchw") || is("nhwc")) {
            layer_.layout = is("nhwc") ? Layout::channels_last : Layout::channels_first;
            return once("layout", token), true;
        }
        if (is("tf32")) return layer_.precision = Precision::tf32, once("dtype", token), true;
        for (const DType dtype : {DType::f32, DType::f16, DType::bf16})
            if (is(to_string(dtype))) return layer_.dtype = dtype, once("dtype", token), true;
        return false;
    }

    void read_padding(const Token& token, std::string_view value) {
        const std::size_t colon = value.find(':');
        const char* const allowed = "such as p1, p1x2, p1:2 or p1x2:0x3";
        numbers_["p"] = read_axes(token.text, value.substr(0, colon), allowed);
        if (colon != std::string_view::npos) numbers_["p:"] = read_axes(token.text, value.substr(colon + 1), allowed);
    }

    void read_count(const std::string& key, const Token& token, std::string_view value) {
        const std::string allowed = fmt::format("{} and one number", key);
        AxisNumbers numbers = read_axes(token.text, value, allowed);
        if (!numbers.for_all_axes) throw LayerError(numbers.written, "a key with several numbers", allowed);
        numbers_[key] = std::move(numbers);
    }

    void once(std::string_view set, const Token& token) {
        const auto [first, fresh] = tokens_.emplace(set, token);
        if (!fresh)
            throw LayerError(printable(token.text),
                             fmt::format("a second word for the same as {} in column {}", printable(first->second.text),
                                         first->second.column),
                             "one of them");
    }

    [[nodiscard]] std::optional<AxisNumbers> axes(const std::string& key) const {
        const auto found = numbers_.find(key);
        return found == numbers_.end() ? std::nullopt : std::optional(found->second);
    }

    [[nodiscard]] std::int64_t required(const std::string& key) const {
        if (const auto numbers = axes(key)) return numbers->values[0];
        throw LayerError(key, "missing", fmt::format("a channel count such as {}32", key));
    }

    Layer layer_;
    std::map<std::string, AxisNumbers> numbers_;
    std::map<std::string, Token, std::less<>> tokens_;  // by what they set
};

// One number where all axes have the same.
std::string shortest(const Dims& dims) {
    const bool same = std::all_of(dims.begin(), dims.end(), [&](std::int64_t value) { return value == dims[0]; });
    return same && !dims.empty() ? std::to_string(dims[0]) : to_string(dims);
}

}  // namespace

Layer parse_layer(std::string_view text) { return LayerString(text).layer(); }

std::string to_string(const Layer& layer) {
    const int rank = layer.spatial_dims();
    const Dims zeros = Dims::filled(rank, 0), ones = Dims::filled(rank, 1);
    std::string text;
    const auto add = [&](std::string_view key, std::string_view value) {
        text.append(text.empty() ? "" : " ").append(key).append(value);
    };
    if (layer.batch) add("n", std::to_string(*layer.batch));
    add("c", std::to_string(layer.in_channels));
    add("o", std::to_string(layer.out_channels));
    if (!layer.input.empty()) add("in", to_string(layer.input));
    add("k", to_string(layer.kernel));  // always with all its axes: it tells how many there are
    if (layer.stride != ones) add("s", shortest(layer.stride));
    if (layer.pad_end != layer.pad_begin)
        add("p", shortest(layer.pad_begin) + ":" + shortest(layer.pad_end));
    else if (layer.pad_begin != zeros)
        add("p", shortest(layer.pad_begin));
    if (layer.output_padding != zeros) add("op", shortest(layer.output_padding));
    if (layer.dilation != ones) add("d", shortest(layer.dilation));
    if (layer.groups != 1) add("g", std::to_string(layer.groups));
    if (layer.bias) add("bias", "");
    add(layer.precision == Precision::tf32 ? to_string(layer.precision) : to_string(layer.dtype), "");
    if (layer.layout != Layout::channels_first) add(to_string(layer.layout), "");
    if (const std::string words = epilogue_words(layer.epilogue); !words.empty()) add(words, "");
    return text;
}

}  // namespace convt_jit

// The layers file: JSON lines with PyTorch's argument names. docs/layer.md has the keys.
#include "convt_jit/error.h"
#include "convt_jit/layer.h"
#include "layer/axis_numbers.h"
#include "layer/epilogue_words.h"
#include "layer/tokens.h"
#include "log/printable.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <array>
#include <cerrno>
#include <fstream>
#include <limits>
#include <set>
#include <system_error>

namespace convt_jit {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::array kKeys = {"name",        "in_channels",    "out_channels", "kernel_size", "stride", "padding",
                              "padding_end", "output_padding", "dilation",     "groups",      "bias",   "dtype",
                              "precision",   "layout",         "epilogue",     "input"};

std::string printed(const Json& value) { return printable(value.dump(-1, ' ', false, Json::error_handler_t::replace)); }

std::string known_keys() { return fmt::format("{}", fmt::join(kKeys, ", ")); }

// Like Json::parse, but a key given twice is an error and not the last one's win.
Json parse_object(std::string_view line) {
    std::set<std::string> keys;
    const auto watch = [&](int depth, Json::parse_event_t event, Json& value) {
        if (event == Json::parse_event_t::key && depth == 1 && !keys.insert(value.get<std::string>()).second)
            throw LayerError(printable(value.get<std::string>()), "given twice", "each key once");
        return true;
    };
    Json object;
    const auto broken = [](std::size_t column) {
        return LayerError("JSON", fmt::format("broken at column {}", column), "one JSON object per line, in UTF-8");
    };
    const std::size_t end = line.find('\0');  // where the parser would stop reading and be content
    try {
        object = Json::parse(line.begin(), line.end(), watch);
        if (end != std::string_view::npos) throw broken(end + 1);
    } catch (const Json::parse_error& error) {
        throw broken(std::min(error.byte, end == std::string_view::npos ? error.byte : end + 1));
    } catch (const Json::exception&) {
        throw LayerError("JSON", "a number out of range", "whole numbers that fit in 64 bits");
    }
    if (!object.is_object()) throw LayerError("JSON", printed(object), "one JSON object per line");
    for (const auto& [key, value] : object.items())
        if (std::find(kKeys.begin(), kKeys.end(), key) == kKeys.end())
            throw LayerError(printable(key), "an unknown key", known_keys());
    return object;
}

std::int64_t integer(const std::string& field, const Json& value) {
    const bool too_large = value.is_number_unsigned() &&
                           value.get<std::uint64_t>() > std::uint64_t{std::numeric_limits<std::int64_t>::max()};
    if (!value.is_number_integer() || too_large)
        throw LayerError(field, printed(value), "a whole number that fits in 64 bits");
    return value.get<std::int64_t>();
}

// The values of one object by key; null stands for an absent key.
class LayerObject {
public:
    explicit LayerObject(std::string_view line) : object_(parse_object(line)) {}

    [[nodiscard]] const Json* find(const char* key) const {
        const auto found = object_.find(key);
        return found == object_.end() || found->is_null() ? nullptr : &*found;
    }

    [[nodiscard]] std::int64_t required_integer(const char* key) const {
        if (const Json* value = find(key)) return integer(key, *value);
        throw LayerError(key, "missing", "a whole number");
    }

    [[nodiscard]] std::optional<std::string> text(const char* key) const {
        const Json* value = find(key);
        if (value == nullptr) return std::nullopt;
        if (!value->is_string()) throw LayerError(key, printed(*value), "a string");
        return value->get<std::string>();
    }

    [[nodiscard]] std::optional<bool> flag(const char* key) const {
        const Json* value = find(key);
        if (value == nullptr) return std::nullopt;
        if (!value->is_boolean()) throw LayerError(key, printed(*value), "true or false");
        return value->get<bool>();
    }

    // A number for all axes or a list with one per axis.
    [[nodiscard]] std::optional<AxisNumbers> axes(const char* key) const {
        const Json* value = find(key);
        if (value == nullptr) return std::nullopt;
        if (!value->is_array()) return AxisNumbers{{integer(key, *value)}, true, key};
        if (value->empty() || value->size() > Dims::kMax)
            throw LayerError(key, printed(*value), "a whole number or a list of 1, 2 or 3");
        AxisNumbers numbers{Dims::filled(static_cast<int>(value->size()), 0), false, key};
        for (int axis = 0; axis < numbers.values.rank(); ++axis)
            numbers.values[axis] = integer(fmt::format("{}[{}]", key, axis), (*value)[static_cast<std::size_t>(axis)]);
        return numbers;
    }

private:
    Json object_;
};

// "input": [N, C, *spatial], where null stands for what is not known.
struct InputShape {
    std::optional<std::int64_t> batch;
    int rank = 0;
    Dims spatial;  // empty where not known
};

std::optional<InputShape> read_input(const LayerObject& object, std::int64_t in_channels) {
    const Json* value = object.find("input");
    if (value == nullptr) return std::nullopt;
    const char* const allowed = "the full shape [N, C, *spatial], with null for an N or for spatial sizes not known";
    if (!value->is_array() || value->size() < 3 || value->size() > 2 + Dims::kMax)
        throw LayerError("input", printed(*value), allowed);
    const auto known = [&](std::size_t i) { return !(*value)[i].is_null(); };
    if (!known(1) || integer("input", (*value)[1]) != in_channels)
        throw LayerError("input", printed(*value),
                         fmt::format("a shape [N, {}, ...], as in_channels says", in_channels));
    InputShape shape;
    if (known(0)) shape.batch = integer("batch", (*value)[0]);
    shape.rank = static_cast<int>(value->size()) - 2;
    Dims spatial = Dims::filled(shape.rank, 0);
    int sizes_known = 0;
    for (int axis = 0; axis < shape.rank; ++axis) {
        const auto i = static_cast<std::size_t>(axis) + 2;
        if (!known(i)) continue;
        spatial[axis] = integer(fmt::format("input[{}]", axis), (*value)[i]);
        ++sizes_known;
    }
    if (sizes_known == shape.rank) shape.spatial = spatial;
    if (sizes_known != 0 && sizes_known != shape.rank) throw LayerError("input", printed(*value), allowed);
    return shape;
}

template <class Value>
Value choose(const char* field, const std::string& text, std::initializer_list<std::pair<const char*, Value>> choices) {
    std::string allowed;
    for (const auto& [name, value] : choices) {
        if (text == name) return value;
        allowed.append(allowed.empty() ? "" : ", ").append(name);
    }
    throw LayerError(field, printable(text), allowed);
}

DType read_dtype(const std::string& text) {
    constexpr std::string_view torch = "torch.";
    const std::string name = text.rfind(torch, 0) == 0 ? text.substr(torch.size()) : text;
    return choose<DType>("dtype", name,
                         {{"f32", DType::f32},
                          {"float32", DType::f32},
                          {"float", DType::f32},
                          {"f16", DType::f16},
                          {"float16", DType::f16},
                          {"half", DType::f16},
                          {"bf16", DType::bf16},
                          {"bfloat16", DType::bf16}});
}

Epilogue read_epilogue(const std::string& words) {
    Epilogue epilogue;
    std::set<std::string_view> done;
    for (const Token& token : split(words)) {
        const auto set = read_epilogue_word(token.text, epilogue);
        if (!set) throw LayerError("epilogue", printable(token.text), std::string(kEpilogueWords));
        if (!done.insert(*set).second)
            throw LayerError("epilogue", printable(words), fmt::format("one word for the {}", *set));
    }
    return epilogue;
}

void read_geometry(const LayerObject& object, const std::optional<InputShape>& input, Layer& layer) {
    const auto kernel = object.axes("kernel_size"), stride = object.axes("stride"), padding = object.axes("padding"),
               padding_end = object.axes("padding_end"), output_padding = object.axes("output_padding"),
               dilation = object.axes("dilation");
    if (!kernel) throw LayerError("kernel_size", "missing", "a whole number or a list of 1, 2 or 3");
    std::optional<AxisNumbers> shape;
    if (input) shape = AxisNumbers{Dims::filled(input->rank, 0), false, "input"};
    const auto rank = told_rank({&kernel, &shape, &stride, &padding, &padding_end, &output_padding, &dilation});
    if (!rank)  // to PyTorch's users a bare 3 means 3x3 as often as 3
        throw LayerError(
            "kernel_size", std::to_string(kernel->values[0]),
            "a list with one number per spatial dimension, as no list and no input tells how many there are");
    (void)spread(shape, *rank, 0);
    layer.kernel = spread(kernel, *rank, 0);
    layer.stride = spread(stride, *rank, 1);
    layer.dilation = spread(dilation, *rank, 1);
    layer.pad_begin = spread(padding, *rank, 0);
    layer.pad_end = padding_end ? spread(padding_end, *rank, 0) : layer.pad_begin;
    layer.output_padding = spread(output_padding, *rank, 0);
}

Json list(const Dims& dims) { return std::vector<std::int64_t>(dims.begin(), dims.end()); }

Json input_shape(const Layer& layer) {
    Json shape = {nullptr, layer.in_channels};
    if (layer.batch) shape[0] = *layer.batch;
    for (int axis = 0; axis < layer.spatial_dims(); ++axis)
        shape.push_back(layer.input.empty() ? Json() : Json(layer.input[axis]));
    return shape;
}

std::string_view trimmed(std::string_view line) {
    constexpr std::string_view blanks = " \t\r";
    const std::size_t begin = line.find_first_not_of(blanks);
    if (begin == std::string_view::npos) return {};
    return line.substr(begin, line.find_last_not_of(blanks) - begin + 1);
}

}  // namespace

NamedLayer parse_layer_json(std::string_view line) {
    const LayerObject object(line);
    NamedLayer named;
    Layer& layer = named.layer;
    named.name = object.text("name").value_or("");
    layer.in_channels = object.required_integer("in_channels");
    layer.out_channels = object.required_integer("out_channels");
    if (object.find("groups") != nullptr) layer.groups = object.required_integer("groups");
    const auto input = read_input(object, layer.in_channels);
    read_geometry(object, input, layer);
    if (input) {
        layer.batch = input->batch;
        layer.input = input->spatial;
    }
    layer.bias = object.flag("bias").value_or(false);
    if (const auto dtype = object.text("dtype")) layer.dtype = read_dtype(*dtype);
    if (const auto precision = object.text("precision"))
        layer.precision =
            choose<Precision>("precision", *precision, {{"ieee", Precision::ieee}, {"tf32", Precision::tf32}});
    if (const auto layout = object.text("layout"))
        layer.layout = choose<Layout>("layout", *layout,
                                      {{"nchw", Layout::channels_first},
                                       {"channels_first", Layout::channels_first},
                                       {"nhwc", Layout::channels_last},
                                       {"channels_last", Layout::channels_last}});
    if (const auto epilogue = object.text("epilogue")) layer.epilogue = read_epilogue(*epilogue);
    validate(layer);
    return named;
}

std::string to_json(const NamedLayer& named) {
    const Layer& layer = named.layer;
    Json object;
    if (!named.name.empty()) object["name"] = named.name;
    object["in_channels"] = layer.in_channels;
    object["out_channels"] = layer.out_channels;
    object["kernel_size"] = list(layer.kernel);
    object["stride"] = list(layer.stride);
    object["padding"] = list(layer.pad_begin);
    if (layer.pad_end != layer.pad_begin) object["padding_end"] = list(layer.pad_end);
    object["output_padding"] = list(layer.output_padding);
    object["dilation"] = list(layer.dilation);
    object["groups"] = layer.groups;
    object["bias"] = layer.bias;
    object["dtype"] = to_string(layer.dtype);
    if (layer.precision != Precision::ieee) object["precision"] = to_string(layer.precision);
    if (layer.layout != Layout::channels_first) object["layout"] = to_string(layer.layout);
    if (const std::string words = epilogue_words(layer.epilogue); !words.empty()) object["epilogue"] = words;
    if (layer.batch || !layer.input.empty()) object["input"] = input_shape(layer);
    try {
        return object.dump();
    } catch (const Json::exception&) {
        throw LayerError("name", printable(named.name), "UTF-8");
    }
}

std::vector<NamedLayer> read_layers_file(const std::string& path) {
    const auto unreadable = [&] {
        return LayerError(path, fmt::format("not readable ({})", std::generic_category().message(errno)),
                          "a file of JSON lines");
    };
    errno = 0;
    std::ifstream file(path);
    if (!file) throw unreadable();
    std::vector<NamedLayer> layers;
    std::string line;
    for (std::int64_t number = 1; std::getline(file, line); ++number) {
        const std::string_view text = trimmed(line);
        if (text.empty() || text.front() == '#') continue;
        const std::string where = fmt::format("{}:{}", path, number);
        try {
            layers.push_back(parse_layer_json(line));
            layers.back().where = where;
        } catch (const LayerError& error) {
            throw LayerError(where, error);
        }
    }
    if (file.bad()) throw unreadable();
    return layers;
}

}  // namespace convt_jit

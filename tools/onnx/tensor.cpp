#include "onnx/tensor.h"

#include "convt_jit/error.h"
#include "convt_jit/reference.h"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <cstring>
#include <limits>

namespace convt_jit::onnx_import {
namespace {

using ::onnx::TensorProto;

constexpr std::int64_t kMostElements = std::int64_t{1} << 60;

// Bytes of an element; 0: a type whose numbers are not read here.
std::size_t element_bytes(int type) {
    switch (type) {
        case TensorProto::BOOL:
        case TensorProto::INT8:
        case TensorProto::UINT8:
            return 1;
        case TensorProto::FLOAT16:
        case TensorProto::BFLOAT16:
        case TensorProto::INT16:
        case TensorProto::UINT16:
            return 2;
        case TensorProto::FLOAT:
        case TensorProto::INT32:
        case TensorProto::UINT32:
            return 4;
        case TensorProto::DOUBLE:
        case TensorProto::INT64:
            return 8;
        default:
            return 0;
    }
}

template <class T>
T element(const std::string& bytes, std::size_t index) {
    T value;
    std::memcpy(&value, bytes.data() + index * sizeof value, sizeof value);
    return value;
}

std::vector<double> decode_16(DType dtype, const std::string& bytes) {
    return decode(dtype, std::vector<unsigned char>(bytes.begin(), bytes.end()));
}

std::uint64_t number(const std::string& key, const std::string& text) {
    std::uint64_t value = 0;
    const char* const end = text.data() + text.size();
    const auto [stop, error] = std::from_chars(text.data(), end, value);
    if (error != std::errc() || stop != end)
        throw LayerError("external_data." + key, fmt::format("\"{}\"", text.substr(0, 60)), "a whole number of bytes");
    return value;
}

std::size_t count_of(const TensorProto& tensor) {
    return static_cast<std::size_t>(elements(shape_of(tensor)).value());  // shape_of has looked
}

void expect_count(const char* field, std::size_t got, std::size_t want) {
    if (got != want)
        throw LayerError(field, fmt::format("{} long", got), fmt::format("{}, as its dims and data_type say", want));
}

// The bytes of its elements, where they are kept as bytes; unset: they are in a typed field.
std::optional<std::string> bytes_of(const TensorProto& tensor, const ReadExternal& read) {
    const std::size_t element = element_bytes(tensor.data_type());
    if (element == 0)
        throw LayerError("data_type", type_name(tensor.data_type()),
                         "FLOAT, FLOAT16, BFLOAT16, DOUBLE, BOOL or whole numbers of up to 64 bits");
    const std::size_t bytes = count_of(tensor) * element;
    if (tensor.has_segment()) throw LayerError("segment", "there", "a tensor that is stored in one piece");
    if (is_external(tensor)) {
        if (!read) throw LayerError("data_location", "EXTERNAL", "data in the model itself");
        const ExternalPlace place = place_of(tensor);
        if (place.length && *place.length != bytes)
            throw LayerError("external_data.length", std::to_string(*place.length),
                             fmt::format("{}, as its dims and data_type say", bytes));
        std::string got = read(place.location, place.offset, bytes);
        expect_count("external data", got.size(), bytes);
        return got;
    }
    if (!tensor.has_raw_data()) return std::nullopt;
    expect_count("raw_data", tensor.raw_data().size(), bytes);
    return tensor.raw_data();
}

template <class List>
auto typed(const char* field, const List& list, const TensorProto& tensor) {
    expect_count(field, static_cast<std::size_t>(list.size()), count_of(tensor));
    return list;
}

// 16-bit types travel as bit patterns in int32_data.
std::string patterns(const TensorProto& tensor) {
    std::string bytes;
    for (const std::int32_t pattern : typed("int32_data", tensor.int32_data(), tensor)) {
        const auto bits = static_cast<std::uint16_t>(pattern);
        bytes.append(reinterpret_cast<const char*>(&bits), sizeof bits);
    }
    return bytes;
}

template <class T, class Out>
std::vector<Out> widened(const std::string& bytes) {
    std::vector<Out> values(bytes.size() / sizeof(T));
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<Out>(element<T>(bytes, i));
    return values;
}

}  // namespace

std::string type_name(int type) {
    constexpr std::array<const char*, 17> kNames = {
        "UNDEFINED", "FLOAT",   "UINT8",  "INT8",   "UINT16", "INT16",     "INT32",      "INT64",   "STRING",
        "BOOL",      "FLOAT16", "DOUBLE", "UINT32", "UINT64", "COMPLEX64", "COMPLEX128", "BFLOAT16"};
    const auto index = static_cast<std::size_t>(type);
    return type >= 0 && index < kNames.size() ? kNames[index] : fmt::format("type {}", type);
}

bool is_floating(int type) {
    return type == TensorProto::FLOAT || type == TensorProto::FLOAT16 || type == TensorProto::BFLOAT16 ||
           type == TensorProto::DOUBLE;
}

bool is_whole(int type) { return element_bytes(type) != 0 && !is_floating(type); }

Shape shape_of(const TensorProto& tensor) {
    if (static_cast<std::size_t>(tensor.dims_size()) > kMaxRank)
        throw LayerError("dims", fmt::format("{} long", tensor.dims_size()), fmt::format("up to {} axes", kMaxRank));
    Shape shape;
    std::int64_t product = 1;
    for (const std::int64_t dim : tensor.dims()) {
        if (dim < 0 || dim > kMostElements || __builtin_mul_overflow(product, dim, &product) || product > kMostElements)
            throw LayerError(fmt::format("dims[{}]", shape.size()), std::to_string(dim),
                             fmt::format("0 or more, and up to {} elements in all", kMostElements));
        shape.push_back(known(dim));
    }
    return shape;
}

bool is_external(const TensorProto& tensor) { return tensor.data_location() == TensorProto::EXTERNAL; }

ExternalPlace place_of(const TensorProto& tensor) {
    ExternalPlace place;
    for (const auto& entry : tensor.external_data()) {
        if (entry.key() == "location")
            place.location = entry.value();
        else if (entry.key() == "offset")
            place.offset = number("offset", entry.value());
        else if (entry.key() == "length")
            place.length = number("length", entry.value());
    }
    if (place.location.empty()) throw LayerError("external_data.location", "missing", "a file beside the model");
    return place;
}

std::vector<double> reals_of(const TensorProto& tensor, const ReadExternal& read) {
    if (!is_floating(tensor.data_type())) {
        const std::vector<std::int64_t> whole = ints_of(tensor, read);
        return {whole.begin(), whole.end()};
    }
    const std::optional<std::string> bytes = bytes_of(tensor, read);
    switch (tensor.data_type()) {
        case TensorProto::FLOAT16:
            return decode_16(DType::f16, bytes ? *bytes : patterns(tensor));
        case TensorProto::BFLOAT16:
            return decode_16(DType::bf16, bytes ? *bytes : patterns(tensor));
        case TensorProto::DOUBLE: {
            if (bytes) return widened<double, double>(*bytes);
            const auto list = typed("double_data", tensor.double_data(), tensor);
            return {list.begin(), list.end()};
        }
        default: {
            if (bytes) return widened<float, double>(*bytes);
            const auto list = typed("float_data", tensor.float_data(), tensor);
            return {list.begin(), list.end()};
        }
    }
}

std::vector<std::int64_t> ints_of(const TensorProto& tensor, const ReadExternal& read) {
    if (!is_whole(tensor.data_type()))
        throw LayerError("data_type", type_name(tensor.data_type()), "BOOL or whole numbers of up to 64 bits");
    const std::optional<std::string> bytes = bytes_of(tensor, read);
    if (!bytes) {
        if (tensor.data_type() == TensorProto::INT64) {
            const auto list = typed("int64_data", tensor.int64_data(), tensor);
            return {list.begin(), list.end()};
        }
        if (tensor.data_type() == TensorProto::UINT32) {
            const auto list = typed("uint64_data", tensor.uint64_data(), tensor);
            std::vector<std::int64_t> values;
            for (const std::uint64_t value : list) values.push_back(static_cast<std::int64_t>(value & 0xffffffffU));
            return values;
        }
        const auto list = typed("int32_data", tensor.int32_data(), tensor);
        return {list.begin(), list.end()};
    }
    switch (tensor.data_type()) {
        case TensorProto::INT8:
            return widened<std::int8_t, std::int64_t>(*bytes);
        case TensorProto::INT16:
            return widened<std::int16_t, std::int64_t>(*bytes);
        case TensorProto::UINT16:
            return widened<std::uint16_t, std::int64_t>(*bytes);
        case TensorProto::INT32:
            return widened<std::int32_t, std::int64_t>(*bytes);
        case TensorProto::UINT32:
            return widened<std::uint32_t, std::int64_t>(*bytes);
        case TensorProto::INT64:
            return widened<std::int64_t, std::int64_t>(*bytes);
        default:
            return widened<std::uint8_t, std::int64_t>(*bytes);
    }
}

Fact fact_of(const TensorProto& tensor, const ReadExternal& read) {
    Fact fact;
    fact.type = tensor.data_type();
    fact.shape = shape_of(tensor);
    fact.constant = &tensor;
    if (static_cast<std::size_t>(elements(*fact.shape).value()) > kMaxContents) return fact;
    try {
        if (is_floating(fact.type)) {
            const std::vector<double> values = reals_of(tensor, read);
            fact.reals = std::make_shared<const std::vector<std::optional<double>>>(values.begin(), values.end());
        } else if (is_whole(fact.type)) {
            std::vector<Dim> values;
            for (const std::int64_t value : ints_of(tensor, read)) values.push_back(known(value));
            fact.ints = std::make_shared<const std::vector<Dim>>(std::move(values));
        }
    } catch (const Error&) {
        // Whoever needs them reads them once more, and is told.
    }
    return fact;
}

}  // namespace convt_jit::onnx_import

// Trial: one case of the files under tests/data as a layer, with its tensors.
#pragma once

#include "convt_jit/reference.h"

#include <nlohmann/json.hpp>

#include <cstdint>
#include <fstream>
#include <stdexcept>
#include <string>
#include <vector>

namespace convt_jit {

using Json = nlohmann::json;

inline std::vector<Json> read_lines(const std::string& name) {
    std::ifstream file(std::string(CONVT_TEST_DATA) + "/" + name);
    if (!file) throw std::runtime_error("cannot read " + name);
    std::vector<Json> objects;
    for (std::string line; std::getline(file, line);) objects.push_back(Json::parse(line));
    return objects;
}

inline Dims dims(const Json& list) {
    Dims values = Dims::filled(static_cast<int>(list.size()), 0);
    for (int i = 0; i < values.rank(); ++i) values[i] = list[static_cast<std::size_t>(i)].get<std::int64_t>();
    return values;
}

// Without bias, in f32 and NC*, whatever the case says of them.
inline Layer layer_of(const Json& c) {
    Layer layer = Layer::make(c["Cin"], c["Cout"], dims(c["kernel"]));
    layer.groups = c["groups"];
    layer.stride = dims(c["stride"]);
    layer.dilation = dims(c["dilation"]);
    layer.pad_begin = dims(c["pad_begin"]);
    layer.pad_end = dims(c["pad_end"]);
    layer.output_padding = dims(c["output_padding"]);
    layer.batch = c["N"].get<std::int64_t>();
    layer.input = dims(c["in_spatial"]);
    return layer;
}

// The bug trials' fill: small integers from a hash of the index, so that every sum is exact.
inline std::int64_t hashfill(std::uint32_t index, std::uint32_t salt) {
    std::uint32_t z = index + salt * 0x9E3779B9U;
    z = (z ^ z >> 16) * 0x85ebca6bU;
    z = (z ^ z >> 13) * 0xc2b2ae35U;
    z ^= z >> 16;
    return salt == 1 ? static_cast<std::int64_t>(z % 11) - 5 : static_cast<std::int64_t>(z % 7) - 3;
}

inline std::vector<double> hashfilled(std::int64_t elements, std::uint32_t salt) {
    std::vector<double> values;
    for (std::int64_t i = 0; i < elements; ++i)
        values.push_back(static_cast<double>(hashfill(static_cast<std::uint32_t>(i), salt)));
    return values;
}

}  // namespace convt_jit

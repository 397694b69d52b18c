#include "conformance/trials.h"

#include "conformance/case_json.h"
#include "conformance/subject.h"
#include "sha256.h"

#include <cctype>
#include <cstdint>
#include <fstream>
#include <set>
#include <stdexcept>

namespace convt_jit::test {
namespace {

using nlohmann::json;

std::vector<double> hashed(std::int64_t count, std::uint32_t salt, std::uint32_t modulus, double shift) {
    std::vector<double> values(static_cast<std::size_t>(count));
    for (std::size_t i = 0; i < values.size(); ++i) {
        std::uint32_t z = static_cast<std::uint32_t>(i) + salt * 0x9E3779B9U;
        z = (z ^ z >> 16) * 0x85ebca6bU;
        z = (z ^ z >> 13) * 0xc2b2ae35U;
        z ^= z >> 16;
        values[i] = static_cast<double>(z % modulus) - shift;
    }
    return values;
}

std::string label_of(const json& object) { return object.value("label", ""); }

std::string gtest_name(const std::string& text) {
    std::string name;
    for (const char c : text) {
        const bool plain = std::isalnum(static_cast<unsigned char>(c)) != 0;
        if (plain || (!name.empty() && name.back() != '_')) name += plain ? c : '_';
    }
    while (!name.empty() && name.back() == '_') name.pop_back();
    return name;
}

Layer layer_of(const json& item) {
    Layer layer = layer_from(item);
    layer.bias = item.at("bias") == "ramp";
    // The importer derives these pads from auto_pad; here they are given.
    if (item.contains("auto_pad")) layer.pad_begin = layer.pad_end = Dims::filled(layer.spatial_dims(), 1);
    return layer;
}

}  // namespace

std::vector<json> read_trials() {
    const std::string path = data_path("bug_trials.jsonl");
    std::ifstream file(path);
    if (!file) throw std::runtime_error(path + ": cannot be read");
    std::vector<json> trials;
    for (std::string line; std::getline(file, line);) trials.push_back(json::parse(line));
    return trials;
}

json trial(const std::string& id) {
    for (const json& item : read_trials()) {
        if (item.at("id") == id) return item;
    }
    throw std::runtime_error("no trial " + id);
}

std::vector<HashTrial> hash_trials() {
    std::vector<HashTrial> result;
    std::set<std::string> seen;
    for (const json& item : read_trials()) {
        for (const json& value : item.at("expect").value("values", json::array())) {
            if (!value.contains("sha16")) continue;
            for (const json& one : item.at("cases")) {
                if (label_of(one) != label_of(value) || one.at("fill") != "hashfill") continue;
                const Layer layer = layer_of(one);
                if (!seen.insert(to_string(layer)).second) continue;
                const std::string name = item.at("id").get<std::string>() + " " + label_of(one);
                result.push_back({gtest_name(name), layer, value.at("sha16")});
            }
        }
    }
    return result;
}

HostTensors hash_fill(const Layer& layer, const Shape& shape) {
    const Sizes count = sizes(layer, shape);
    HostTensors tensors;
    tensors.x = hashed(count.x, 1, 11, 5);
    tensors.w = hashed(count.w, 2, 7, 3);
    for (std::int64_t c = 0; layer.bias && c < count.channels; ++c) tensors.bias.push_back(static_cast<double>(c + 1));
    return tensors;
}

std::string sha16(const std::vector<double>& values) {
    std::string bytes;
    bytes.reserve(values.size() * 4);
    for (const double value : values) {
        const auto bits = static_cast<std::uint32_t>(static_cast<std::int32_t>(value));
        for (int shift = 0; shift < 32; shift += 8) bytes.push_back(static_cast<char>(bits >> shift));
    }
    return sha256(std::move(bytes)).substr(0, 16);
}

}  // namespace convt_jit::test

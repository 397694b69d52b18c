#include "conformance/cases.h"

#include "conformance/case_json.h"
#include "conformance/subject.h"

#include <algorithm>
#include <cctype>
#include <fstream>
#include <set>
#include <stdexcept>

namespace convt_jit::test {
namespace {

using nlohmann::json;

std::string lower(std::string text) {
    std::transform(text.begin(), text.end(), text.begin(),
                   [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    return text;
}

// "qs8,qu8,qc8,f16,f32" and "fp16/fp32" name f16 and f32; "u8:s8:s8" and "f64" name none that we have.
std::vector<DType> dtypes_from(const std::string& text) {
    std::set<std::string> words;
    std::string word;
    for (const char c : lower(text) + ",") {
        if (std::isalnum(static_cast<unsigned char>(c))) {
            word += c;
        } else if (!word.empty()) {
            words.insert(std::exchange(word, ""));
        }
    }
    std::vector<DType> dtypes;
    for (const DType dtype : {DType::f32, DType::f16, DType::bf16}) {
        const std::string word_of(to_string(dtype));
        if (words.count(word_of) || words.count("fp" + word_of.substr(1))) dtypes.push_back(dtype);
    }
    return dtypes.empty() ? std::vector<DType>{DType::f32} : dtypes;
}

std::vector<Layout> layouts_from(const std::string& text) {
    const std::string plain = lower(text);
    for (const char* word : {"nhwc", "channels last", "channels_last"}) {
        if (plain.find(word) != std::string::npos) return {Layout::channels_last, Layout::channels_first};
    }
    return {Layout::channels_first};
}

std::vector<double> doubles_from(const json& data, const char* name) {
    const auto found = data.find(name);
    return found == data.end() || found->is_null() ? std::vector<double>() : found->get<std::vector<double>>();
}

Numbers numbers_from(const json& line, const Layer& layer, const Shape& shape) {
    const json& data = line.at("data");
    Numbers numbers;
    numbers.tensors.x = to_layout(doubles_from(data, "input"), shape.batch, layer.in_channels, layer.layout);
    numbers.tensors.w = doubles_from(data, "weight");
    numbers.tensors.bias = doubles_from(data, "bias");
    numbers.expected = to_layout(doubles_from(data, "expected"), shape.batch, layer.out_channels, layer.layout);
    numbers.abs = line.at("tol").at("abs");
    numbers.rel = line.at("tol").at("rel");
    return numbers;
}

void append(std::vector<Case>& cases, const json& line) {
    Layer layer = layer_from(line);
    layer.bias = line.at("bias");
    int variant = 0;
    for (const DType dtype : dtypes_from(line.at("dtype"))) {
        for (const Layout layout : layouts_from(line.at("layout"))) {
            layer.dtype = dtype;
            layer.layout = layout;
            Case item{line.at("id"), layer, {*layer.batch, layer.input}, {}, variant++};
            if (line.contains("out_spatial") && output_size(layer, layer.input) != dims_from(line.at("out_spatial"))) {
                throw std::runtime_error("output size is " + to_string(output_size(layer, layer.input)));
            }
            // The numbers of the source hold for 32 bits.
            if (line.contains("data") && dtype == DType::f32) item.numbers = numbers_from(line, layer, item.shape);
            cases.push_back(std::move(item));
        }
    }
}

}  // namespace

std::string name_of(const Case& item) {
    return item.id + " " + std::string(to_string(item.layer.dtype)) +
           (item.layer.layout == Layout::channels_last ? " nhwc" : "");
}

std::vector<Case> read_cases(const std::string& path) {
    std::ifstream file(path);
    if (!file) throw std::runtime_error(path + ": cannot be read");
    std::vector<Case> cases;
    std::string text;
    for (int number = 1; std::getline(file, text); ++number) {
        try {
            append(cases, json::parse(text));
        } catch (const std::exception& error) {
            throw std::runtime_error(path + ":" + std::to_string(number) + ": " + error.what());
        }
    }
    return cases;
}

std::vector<Case> read_real_layers(const std::string& path) {
    std::ifstream file(path);
    if (!file) throw std::runtime_error(path + ": cannot be read");
    std::vector<Case> cases;
    for (json item : json::parse(file)) {
        item["id"] = "real/" + item.at("name").get<std::string>();
        item["pad_begin"] = item["pad_end"] = item.at("padding");
        item["dtype"] = item.at("dtype_usual");
        item["layout"] = "NC*";
        item["bias"] = item.value("bias", true);
        append(cases, item);
    }
    return cases;
}

std::vector<Case> read_benchmark_layers(const std::string& path) {
    std::ifstream file(path);
    if (!file) throw std::runtime_error(path + ": cannot be read");
    std::vector<Case> cases;
    for (const json& item : json::parse(file)) {
        json line = {{"id", "perf/" + item.at("id").get<std::string>()},
                     {"dtype", "f32,f16"},
                     {"layout", "NC*"},
                     {"bias", true},
                     {"pad_begin", item.at("p")},
                     {"pad_end", item.at("p")}};
        for (const auto& [to, from] : {std::pair("in_spatial", "in"),
                                       {"kernel", "k"},
                                       {"stride", "s"},
                                       {"output_padding", "op"},
                                       {"dilation", "d"},
                                       {"groups", "g"},
                                       {"N", "N"},
                                       {"Cin", "Cin"},
                                       {"Cout", "Cout"}}) {
            line[to] = item.at(from);
        }
        append(cases, line);
    }
    return cases;
}

std::vector<Case> all_cases() {
    std::vector<Case> all;
    for (const char* file : {"onnx", "burn", "pytorch", "onednn", "xnnpack"}) {
        auto cases = read_cases(data_path("peers/" + std::string(file) + ".jsonl"));
        std::move(cases.begin(), cases.end(), std::back_inserter(all));
    }
    for (auto& cases :
         {read_real_layers(data_path("real_layers.json")), read_benchmark_layers(data_path("perf.json"))}) {
        all.insert(all.end(), cases.begin(), cases.end());
    }
    std::set<std::string> seen;
    std::vector<Case> result;
    for (Case& item : all) {
        if (item.numbers || seen.insert(to_string(item.layer)).second) result.push_back(std::move(item));
    }
    return result;
}

namespace {

// Of each sample, a matrix of rows x columns, the transpose.
std::vector<double> transposed(const std::vector<double>& values, std::size_t rows, std::size_t columns) {
    std::vector<double> result(values.size());
    for (std::size_t i = 0; i < values.size(); ++i) {
        const std::size_t column = i % columns, row = i / columns % rows, sample = i / columns / rows;
        result[(sample * columns + column) * rows + row] = values[i];
    }
    return result;
}

std::size_t pixels(const std::vector<double>& values, std::int64_t batch, std::int64_t channels) {
    return values.size() / static_cast<std::size_t>(batch * channels);
}

}  // namespace

std::vector<double> to_layout(const std::vector<double>& values, std::int64_t batch, std::int64_t channels,
                              Layout layout) {
    if (layout == Layout::channels_first || values.empty()) return values;
    return transposed(values, static_cast<std::size_t>(channels), pixels(values, batch, channels));
}

std::vector<double> from_layout(const std::vector<double>& values, std::int64_t batch, std::int64_t channels,
                                Layout layout) {
    if (layout == Layout::channels_first || values.empty()) return values;
    return transposed(values, pixels(values, batch, channels), static_cast<std::size_t>(channels));
}

}  // namespace convt_jit::test

// ONNX: the onnx project's own node tests and three of its exported models, and what users reported of other importers,
// as model files; each is imported, run with the model's weights, and compared with the numbers of its source.

#include "conformance/cases.h"
#include "conformance/check.h"
#include "conformance/subject.h"
#include "conformance/trials.h"
#include "onnx/import.h"
#include "onnx_model.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <regex>

namespace convt_jit::test {
namespace {

using onnx_import::ImportedLayer;
using onnx_import::Model;
using Json = nlohmann::json;

class Directory {
public:
    Directory() {
        std::string pattern = (std::filesystem::temp_directory_path() / "convt_onnx_XXXXXX").string();
        if (mkdtemp(pattern.data()) == nullptr) throw std::runtime_error("no temporary directory");
        path_ = pattern;
    }
    ~Directory() { std::filesystem::remove_all(path_); }
    Directory(const Directory&) = delete;
    Directory& operator=(const Directory&) = delete;
    [[nodiscard]] std::string write(const std::string& name, const std::string& bytes) const {
        std::filesystem::create_directories((path_ / name).parent_path());
        std::ofstream file(path_ / name, std::ios::binary);
        file << bytes;
        if (!file.flush()) throw std::runtime_error("cannot write " + name);
        return (path_ / name).string();
    }

private:
    std::filesystem::path path_;
};

std::vector<std::int64_t> list(const Json& values) { return values.get<std::vector<std::int64_t>>(); }

std::vector<std::int64_t> joined(std::vector<std::int64_t> front, const std::vector<std::int64_t>& back) {
    front.insert(front.end(), back.begin(), back.end());
    return front;
}

std::vector<float> floats(const std::vector<double>& values) { return {values.begin(), values.end()}; }

struct Tensors {
    std::vector<double> x, w, bias;
};

// A case's model but for its attributes.
ModelProto model_of(const Json& item, const Tensors& tensors, std::int64_t opset, std::int64_t ir) {
    ModelProto model = make_model(opset, ir);
    GraphProto& graph = *model.mutable_graph();
    add_input(graph, "X", joined({item.at("N"), item.at("Cin")}, list(item.at("in_spatial"))));
    const std::int64_t out = item.at("Cout").get<std::int64_t>() / item.at("groups").get<std::int64_t>();
    const auto weights = joined({item.at("Cin"), out}, list(item.at("kernel")));
    *graph.add_initializer() = tensor_of("W", weights, floats(tensors.w));
    std::vector<std::string> inputs = {"X", "W"};
    if (!tensors.bias.empty()) {
        *graph.add_initializer() = tensor_of("B", {item.at("Cout").get<std::int64_t>()}, floats(tensors.bias));
        inputs.emplace_back("B");
    }
    if (ir < 4) {  // there, weights are inputs, too
        add_input(graph, "W", weights);
        if (!tensors.bias.empty()) add_input(graph, "B", {item.at("Cout").get<std::int64_t>()});
    }
    add_node(graph, "ConvTranspose", inputs, {"Y"}, "up");
    add_output(graph, "Y");
    return model;
}

// What the importer makes of it, run with the weights of the file.
std::vector<double> outputs(const Device& device, const Model& model, const std::vector<double>& x) {
    const ImportedLayer& node = model.imported().layers.at(0);
    if (!node.failure.empty()) throw std::runtime_error(node.failure);
    const onnx_import::Weights weights = model.weights(node);
    HostTensors tensors;
    tensors.x = x;
    tensors.w = weights.w.value();
    if (weights.bias) tensors.bias = *weights.bias;
    return run(engine(), device, node.named.layer, known_shape(node.named.layer), tensors);
}

std::vector<double> doubles(const Json& values) {
    return values.is_null() ? std::vector<double>{} : values.get<std::vector<double>>();
}

// The notes of a case hold its node's attributes as Python prints them.
void set_attributes(NodeProto& node, const std::string& notes) {
    const std::string text = notes.substr(notes.find("attrs: ") + 7);
    const std::regex entry(R"('(\w+)': (\[[^\]]*\]|b?'[^']*'|-?\d+))");
    for (auto match = std::sregex_iterator(text.begin(), text.end(), entry); match != std::sregex_iterator(); ++match) {
        const std::string name = (*match)[1], value = (*match)[2];
        if (value.front() == '[')
            set(node, name, list(Json::parse(value)));
        else if (value.find('\'') != std::string::npos)
            set(node, name, value.substr(value.find('\'') + 1, value.rfind('\'') - value.find('\'') - 1));
        else
            set(node, name, static_cast<std::int64_t>(std::stoll(value)));
    }
}

std::vector<Json> node_tests() {
    std::vector<Json> items;
    std::ifstream file(data_path("peers/onnx.jsonl"));
    for (std::string line; std::getline(file, line);) items.push_back(Json::parse(line));
    return items;
}

std::string name_of_test(const Json& item) {
    return std::regex_replace(item.at("id").get<std::string>(), std::regex("\\W"), "_");
}

class OnnxNodeTests : public testing::TestWithParam<Json> {};

TEST_P(OnnxNodeTests, GiveTheExpectedOutputs) {
    CONVT_SUBJECT(device);
    const Json& item = GetParam();
    const Json& data = item.at("data");
    const Tensors tensors{doubles(data.at("input")), doubles(data.at("weight")), doubles(data.at("bias"))};
    // The exported models are of IR 3 and opset 6, the node tests of their operator's newest version.
    const bool exported = item.at("id").get<std::string>().find("test_convtranspose") == std::string::npos;
    ModelProto model = model_of(item, tensors, exported ? 6 : 22, exported ? 3 : 10);
    set_attributes(*model.mutable_graph()->mutable_node(0), item.at("notes"));
    const Directory directory;
    const Model read(directory.write("model.onnx", model.SerializeAsString()), {});
    ASSERT_EQ(read.imported().layers.size(), 1U);
    const Layer& layer = read.imported().layers[0].named.layer;
    EXPECT_EQ(list(item.at("pad_begin")), std::vector<std::int64_t>(layer.pad_begin.begin(), layer.pad_begin.end()));
    EXPECT_EQ(list(item.at("pad_end")), std::vector<std::int64_t>(layer.pad_end.begin(), layer.pad_end.end()));
    const Dims size = output_size(layer, layer.input);
    EXPECT_EQ(list(item.at("out_spatial")), std::vector<std::int64_t>(size.begin(), size.end()));
    const std::vector<double> got = outputs(device, read, tensors.x), want = doubles(data.at("expected"));
    ASSERT_EQ(got.size(), want.size());
    const double abs = item.at("tol").at("abs"), rel = item.at("tol").at("rel");
    for (std::size_t i = 0; i < want.size(); ++i)
        EXPECT_LE(std::abs(got[i] - want[i]), abs + rel * std::abs(want[i])) << "y[" << i << "]";
}

INSTANTIATE_TEST_SUITE_P(Onnx, OnnxNodeTests, testing::ValuesIn(node_tests()),
                         [](const auto& item) { return name_of_test(item.param); });

TEST(OnnxNodeTests, AreAll) { EXPECT_EQ(node_tests().size(), 14U); }

struct Trial {
    const char* id;
    std::size_t number;
    std::int64_t opset, ir;
    bool defaults;  // no attribute but those that differ from their defaults
};

class OnnxTrials : public testing::TestWithParam<Trial> {};

bool all(const Json& values, std::int64_t value) {
    for (const Json& one : values)
        if (one != value) return false;
    return true;
}

ModelProto trial_model(const Trial& subject, const Json& item, const Tensors& tensors) {
    ModelProto model = model_of(item, tensors, subject.opset, subject.ir);
    NodeProto& node = *model.mutable_graph()->mutable_node(0);
    const auto put = [&](const char* name, const Json& values, std::int64_t otherwise) {
        if (!subject.defaults || !all(values, otherwise)) set(node, name, list(values));
    };
    if (!subject.defaults || item.at("groups") != 1) set(node, "group", item.at("groups").get<std::int64_t>());
    put("strides", item.at("stride"), 1);
    put("dilations", item.at("dilation"), 1);
    put("output_padding", item.at("output_padding"), 0);
    if (item.contains("auto_pad"))
        set(node, "auto_pad", item.at("auto_pad").get<std::string>());
    else
        put("pads", joined(list(item.at("pad_begin")), list(item.at("pad_end"))), 0);
    return model;
}

TEST_P(OnnxTrials, GiveTheKnownOutputs) {
    CONVT_SUBJECT(device);
    const Trial subject = GetParam();
    const Json report = trial(subject.id);
    const Json& item = report.at("cases").at(subject.number);
    const Json& want = report.at("expect").at("values").at(subject.number);
    Layer plain =
        Layer::make(item.at("Cin"), item.at("Cout"), Dims::filled(static_cast<int>(item.at("kernel").size()), 1));
    Shape shape{item.at("N"), Dims::filled(plain.spatial_dims(), 1)};
    for (int axis = 0; axis < plain.spatial_dims(); ++axis) {
        plain.kernel[axis] = item.at("kernel").at(static_cast<std::size_t>(axis));
        shape.input[axis] = item.at("in_spatial").at(static_cast<std::size_t>(axis));
    }
    plain.groups = item.at("groups");
    HostTensors filled = hash_fill(plain, shape);
    if (item.at("fill") == "x=2..5, w=2..10") {
        for (std::size_t i = 0; i < filled.x.size(); ++i) filled.x[i] = 2 + static_cast<double>(i);
        for (std::size_t i = 0; i < filled.w.size(); ++i) filled.w[i] = 2 + static_cast<double>(i);
    }
    const Directory directory;
    const ModelProto model = trial_model(subject, item, {filled.x, filled.w, {}});
    const Model read(directory.write("model.onnx", model.SerializeAsString()), {});
    ASSERT_EQ(read.imported().layers.size(), 1U);
    ASSERT_EQ(read.imported().layers[0].failure, "");
    const std::vector<double> got = outputs(device, read, filled.x);
    if (want.contains("sha16"))
        EXPECT_EQ(sha16(got), want.at("sha16"));
    else
        EXPECT_EQ(got, (std::vector<double>{49, 63, 91, 105}));
}

INSTANTIATE_TEST_SUITE_P(Onnx, OnnxTrials,
                         testing::Values(Trial{"BR-06", 0, 11, 6, false}, Trial{"BR-06", 1, 22, 10, false},
                                         Trial{"BR-07", 0, 13, 7, true}, Trial{"BR-08", 0, 9, 4, false},
                                         Trial{"BR-08", 2, 28, 14, true}, Trial{"BR-28", 0, 11, 6, true},
                                         Trial{"BR-28", 1, 11, 6, true}, Trial{"BR-31", 0, 11, 6, true},
                                         Trial{"BR-31", 1, 1, 3, true}, Trial{"BR-31", 1, 11, 6, true},
                                         Trial{"BR-33", 0, 11, 6, false}, Trial{"BR-33", 1, 11, 6, false}),
                         [](const auto& item) {
                             return std::regex_replace(std::string(item.param.id), std::regex("\\W"), "_") + "_" +
                                    std::to_string(item.param.number) + "_opset" + std::to_string(item.param.opset);
                         });

// What a user cannot have is told by its name.
TEST(OnnxTrials, BR10IllegalParametersAreNamed) {
    const Json report = trial("BR-10");
    const std::vector<std::pair<std::size_t, std::string>> wrong = {
        {0, "output_padding"}, {1, "output_padding"}, {2, "output_padding"}, {3, "group"}, {5, "pads[0]"}};
    const Directory directory;
    for (const auto& [number, field] : wrong) {
        Json item = report.at("cases").at(number);
        const Json groups = item.at("groups");
        if (number == 3) item["groups"] = 1;  // as many weights as fit; the attribute is what is wrong
        const std::int64_t count = count_of(joined({item.at("Cin"), item.at("Cout")}, list(item.at("kernel"))));
        ModelProto model = trial_model({"BR-10", number, 11, 6, true}, item,
                                       {{}, std::vector<double>(static_cast<std::size_t>(count), 1), {}});
        if (number == 3) set(*model.mutable_graph()->mutable_node(0), "group", std::int64_t{3});
        const Model read(directory.write("model.onnx", model.SerializeAsString()), {});
        const std::string& failure = read.imported().layers.at(0).failure;
        EXPECT_EQ(failure.rfind(field, 0), 0U) << number << ": " << failure;
        EXPECT_NE(failure.find("allowed: "), std::string::npos) << failure;
    }
    Json item = report.at("cases").at(4);
    ModelProto bias =
        trial_model({"BR-10", 4, 11, 6, true}, item, {{}, std::vector<double>(108, 1), std::vector<double>(6, 1)});
    bias.mutable_graph()->mutable_initializer(1)->set_dims(0, 6);
    const Model read(directory.write("model.onnx", bias.SerializeAsString()), {});
    EXPECT_EQ(read.imported().layers.at(0).failure.rfind("the shape of B", 0), 0U)
        << read.imported().layers.at(0).failure;
}

// Weights in a side file, from another working directory.
TEST(OnnxTrials, BR35ExternalData) {
    CONVT_SUBJECT(device);
    const Json report = trial("BR-35");
    const Json& item = report.at("cases").at(0);
    Layer plain = Layer::make(4, 4, {4, 4});
    const HostTensors filled = hash_fill(plain, {1, {8, 8}});
    const auto model_at = [&](const std::string& location, const std::string& offset, const std::string& length) {
        ModelProto model = trial_model({"BR-35", 0, 11, 6, false}, item, {filled.x, filled.w, {}});
        TensorProto& weights = *model.mutable_graph()->mutable_initializer(0);
        weights.clear_raw_data();
        weights.set_data_location(TensorProto::EXTERNAL);
        for (const auto& [key, value] : {std::pair("location", location), {"offset", offset}, {"length", length}}) {
            auto* const entry = weights.add_external_data();
            entry->set_key(key);
            entry->set_value(value);
        }
        return model.SerializeAsString();
    };
    const Directory directory;
    const std::vector<float> values = floats(filled.w);
    const std::string bytes(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(float));
    (void)directory.write("models/a/w.bin", std::string(16, 'x') + bytes);
    (void)directory.write("models/w.bin", bytes);
    const auto path = [&](const std::string& name, const std::string& location, const std::string& offset,
                          const std::string& length) {
        return directory.write("models/a/" + name, model_at(location, offset, length));
    };
    const Model good(path("m.onnx", "w.bin", "16", "1024"), {});
    EXPECT_EQ(sha16(outputs(device, good, filled.x)), report.at("expect").at("values").at(0).at("sha16"));
    EXPECT_EQ(good.external_trouble(good.imported().layers.at(0)), "");

    const auto refused = [&](const std::string& location, const std::string& offset, const std::string& told) {
        const Model model(path("bad.onnx", location, offset, "1024"), {});
        const ImportedLayer& node = model.imported().layers.at(0);
        EXPECT_EQ(node.failure, "") << "shapes are enough for a layer";
        EXPECT_NE(model.external_trouble(node), "");
        try {
            (void)model.weights(node);
            ADD_FAILURE() << location << " was read";
        } catch (const LayerError& error) {
            EXPECT_NE(std::string(error.what()).find(told), std::string::npos) << error.what();
        }
    };
    refused("gone.bin", "0", "a/gone.bin (offset 0, length 1024)");
    refused("w.bin", "32", "a/w.bin (offset 32, length 1024) is 1040 bytes long");
    refused("../w.bin", "0", "without \"..\"");
    refused(directory.write("models/w.bin", bytes), "0", "a relative path");
}

}  // namespace
}  // namespace convt_jit::test

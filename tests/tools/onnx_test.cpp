// ONNX models on the command line.

#include "onnx_model.h"
#include "program.h"

#include <gmock/gmock.h>
#include <nlohmann/json.hpp>

namespace convt_jit::tools::test {
namespace {

using namespace convt_jit::test;
using ::testing::HasSubstr;

class Onnx : public ProgramTest {
protected:
    [[nodiscard]] std::string write(const ModelProto& model) const {
        const auto path = directory_ / "m.onnx";
        write_text(path, model.SerializeAsString());
        return path.string();
    }
    void expect_usage(const std::string& arguments, const std::string& message) const {
        const Outcome outcome = convt(arguments);
        EXPECT_EQ(outcome.code, 2) << arguments;
        EXPECT_THAT(outcome.err, HasSubstr(message)) << arguments;
    }
};

// A node that follows its batch and height, with a normalisation and an activation behind it.
ModelProto followed() {
    ModelProto model = one_node({-1, 3, -2, 5}, {3, 4, 2, 2});
    GraphProto& graph = *model.mutable_graph();
    graph.clear_output();
    for (const char* name : {"scale", "shift", "mean", "var"}) add_weights(graph, name, {4}, 2);
    add_node(graph, "BatchNormalization", {"y", "scale", "shift", "mean", "var"}, {"n"}, "bn");
    add_node(graph, "Relu", {"n"}, {"z"}, "act");
    add_output(graph, "z");
    return model;
}

TEST_F(Onnx, RunChecksNodesWithTheirWeights) {
    const std::string path = write(followed());
    const Outcome outcome = convt(fmt::format("run --onnx {} --shape x=2x3x4x5 --backend sim", path));
    EXPECT_EQ(outcome.code, 0) << outcome.out << outcome.err;
    EXPECT_THAT(outcome.out, HasSubstr("up: n2 c3 o4 in4x5 k2x2 f32"));
    EXPECT_THAT(outcome.out, HasSubstr("right    relative L2"));
    const Outcome fused = convt(fmt::format("run --onnx {} --shape N=2 --shape H=4 --fuse --backend sim --json", path));
    EXPECT_EQ(fused.code, 0) << fused.out << fused.err;
    const auto json = nlohmann::json::parse(fused.out);
    EXPECT_EQ(json[0]["layer"], "n2 c3 o4 in4x5 k2x2 f32 affine relu");
    EXPECT_EQ(json[0]["onnx"]["fused"][1], "node \"act\" (Relu)");
    EXPECT_EQ(json[0]["ok"], true);
    EXPECT_LE(json[0]["rel_l2"], json[0]["allowed_rel_l2"]);
}

TEST_F(Onnx, WhatCannotBeRunIsTold) {
    ModelProto model = followed();
    set(add_node(*model.mutable_graph(), "ConvTranspose", {"x", "w"}, {"other"}, "bad"), "group", std::int64_t{2});
    const Outcome outcome = convt(fmt::format("run --onnx {} --shape N=2 --backend sim", write(model)));
    EXPECT_EQ(outcome.code, 1);
    EXPECT_THAT(outcome.out, HasSubstr("the sizes of X are not known: axis 2 (H)"));
    EXPECT_THAT(outcome.out, HasSubstr("bad: no layer\n  FAILED   group is 2; allowed: a divisor of the 3 channels"));
}

TEST_F(Onnx, WarmupNeedsNoSizes) {
    ModelProto model = followed();
    set(*model.mutable_graph()->mutable_node(0), "auto_pad", std::string("SAME_UPPER"));
    const std::string path = write(model);
    const Outcome outcome = convt(fmt::format("warmup --onnx {} --arch sm_80 --check --json", path));
    EXPECT_EQ(outcome.code, 1) << "nothing is there yet";
    const auto json = nlohmann::json::parse(outcome.out);
    EXPECT_EQ(json["missing"], 1);
    EXPECT_EQ(json["onnx"][0]["layer"], "c3 o4 k2x2 p0:1 f32");
    EXPECT_EQ(json["onnx"][0]["padding_by"], "ConvTranspose-22");
    EXPECT_EQ(json["onnx"][0]["unknown_sizes"], "axis 0 (N), axis 2 (H)");
}

TEST_F(Onnx, WarmupTellsNodesThatAreNoLayers) {
    ModelProto model = followed();
    set(add_node(*model.mutable_graph(), "ConvTranspose", {"x", "w"}, {"other"}, "bad"), "group", std::int64_t{2});
    const Outcome outcome = convt(fmt::format("warmup --onnx {} --arch sm_80 --check", write(model)));
    EXPECT_EQ(outcome.code, 1);
    EXPECT_THAT(outcome.out, HasSubstr("up: c3 o4 k2x2 f32 (sizes not known: axis 0 (N), axis 2 (H))"));
    EXPECT_THAT(outcome.out, HasSubstr("FAILED   bad for sm_80\n  group is 2"));
}

TEST_F(Onnx, BadUsage) {
    const std::string path = write(followed());
    expect_usage("run --onnx " + (directory_ / "none.onnx").string(), "none.onnx is not readable");
    expect_usage("run --onnx " + path + " --shape y=1x2", "--shape is for \"y\"; allowed: ");
    expect_usage("run --onnx " + path + " --shape x=1x2", "--shape x is [1, 2]; allowed: 4 sizes");
    expect_usage("run --shape x=1 'c1 o1 in4 k3'", "--onnx");
    expect_usage("run --fuse 'c1 o1 in4 k3'", "--onnx");
    expect_usage("warmup --arch sm_80 --onnx ''", "is empty");
    ModelProto none = make_model();
    expect_usage("run --onnx " + write(none), "a model without a ConvTranspose node");
    write_text(directory_ / "m.onnx", "no model");
    expect_usage("warmup --arch sm_80 --onnx " + path, "no protobuf message of a model, or cut off");
}

}  // namespace
}  // namespace convt_jit::tools::test

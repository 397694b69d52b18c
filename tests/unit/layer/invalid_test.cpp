// What peers refuse is refused here too, by the field that is wrong; and the bug trials on bad arguments.
#include "convt_jit/error.h"
#include "convt_jit/layer.h"
#include "trial.h"

#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <set>

namespace convt_jit {
namespace {

std::string refused_field(const std::function<void()>& action) {
    try {
        action();
    } catch (const LayerError& error) {
        return error.field();
    }
    return "accepted";
}

std::string string_refused(const std::string& text) {
    return refused_field([&] { (void)parse_layer(text); });
}
std::string json_refused(const std::string& line) {
    return refused_field([&] { (void)parse_layer_json(line); });
}
std::string output_size_refused(const std::string& text, const Dims& wanted) {
    const Layer layer = parse_layer(text);
    return refused_field([&] { (void)output_padding_for(layer, layer.input, wanted); });
}
std::string shape_refused(const std::string& text, const Shape& shape) {
    const Layer layer = parse_layer(text);
    return refused_field([&] { validate(layer, shape); });
}
std::string layer_refused(const std::function<void(Layer&)>& spoil) {
    Layer layer = Layer::make(8, 8, {3, 3});
    spoil(layer);
    return refused_field([&] { validate(layer); });
}

struct Case {
    std::string refused, field;
};

// The peers' cases as layers, and the field that must be named.
std::map<std::string, Case> expressible() {
    const auto epilogue = [](float low, float high) {
        return layer_refused([=](Layer& l) { l.epilogue.clamp = {low, high}; });
    };
    constexpr float nan = std::numeric_limits<float>::quiet_NaN();
    const std::string input_of_4_for_5 =
        R"({"in_channels": 5, "out_channels": 3, "kernel_size": 3, "input": [1, 4, 10)";
    return {
        {"paddle/data_format_0",
         {json_refused(R"({"in_channels":1,"out_channels":1,"kernel_size":[3,3],"layout":"NCDHW"})"), "layout"}},
        {"paddle/groups_4", {string_refused("c4 o4 k3x3 g0"), "groups"}},
        {"onednn/dilation_<_0_(oneDNN_dilation_is_0-based)", {string_refused("c4 o4 k3x3 d0"), "dilation[0]"}},
        {"onednn/pad_r_+_stride_<=_0", {output_size_refused("c4 o4 in5 k3 s2", {13}), "output_size[0]"}},
        {"onednn/src_channels_!=_groups_*_weights_input_channels",
         {json_refused(R"({"in_channels":6,"out_channels":4,"kernel_size":3,"groups":2,"input":[1,4,8]})"), "input"}},
        {"onednn/ndims_not_3..5",
         {json_refused(R"({"in_channels":4,"out_channels":4,"kernel_size":3,"input":[1,4,2,2,2,2]})"), "input"}},
        {"miopen/trans_channels", {string_refused("c5 o4 k3x3 g2"), "groups"}},
        {"miopen/negative_output",
         {string_refused("c1 o1 in2x2 k2x2 p2"), "output[0]"}},  // refused here: PyTorch's rule
        {"tvm/ct1d_groups_nonpositive", {string_refused("c4 o4 k3 g-2"), "groups"}},
        {"tvm/ct1d_output_padding", {string_refused("c4 o4 k3 s2 op2"), "output_padding[0]"}},
        {"tvm/ct2d_groups_not_dividing", {string_refused("c128 o120 k3x3 g6"), "groups"}},
        {"tvm/ct2d_cin_mismatch",
         {json_refused(R"({"in_channels":4,"out_channels":4,"kernel_size":[3,3],"input":[1,3,8,8]})"), "input"}},
        {"tvm/ct2d_attr_length",
         {layer_refused([](Layer& l) {
              l.pad_begin = {1, 1, 1};
          }),
          "padding"}},
        {"tvm/ct2d_rank", {shape_refused("c4 o4 k3x3", {1, {8, 8, 8}}), "input"}},
        {"tvm/ct3d_cin_mismatch",
         {json_refused(R"({"in_channels":4,"out_channels":4,"kernel_size":[3,3,3],"input":[1,3,8,8,8]})"), "input"}},
        {"burn/input_channels_mismatch_1d", {json_refused(input_of_4_for_5 + "]}"), "input"}},
        {"burn/input_channels_mismatch_3d", {json_refused(input_of_4_for_5 + ",10,10]}"), "input"}},
        {"pytorch/ct2d_output_size_17x18", {output_size_refused("n2 c3 o4 in6x6 k3x3 s3", {17, 18}), "output_size[0]"}},
        {"pytorch/ct2d_output_size_20x21", {output_size_refused("n2 c3 o4 in6x6 k3x3 s3", {20, 21}), "output_size[1]"}},
        {"pytorch/ct2d_output_size_21x21", {output_size_refused("n2 c3 o4 in6x6 k3x3 s3", {21, 21}), "output_size[0]"}},
        {"pytorch/ct2d_wrong_rank", {shape_refused("c3 o8 k3x3", {1, {4}}), "input"}},
        {"pytorch/padding_mode",
         {json_refused(R"({"in_channels":3,"out_channels":3,"kernel_size":[3,3],"padding_mode":"reflect"})"),
          "padding_mode"}},
        {"pytorch/stride_nonpositive", {string_refused("c3 o3 k3x3 s1x-1"), "stride[1]"}},
        {"pytorch/obs_op_eq_stride_d1", {string_refused("c3 o3 k3x3 s2 op2"), "output_padding[0]"}},
        {"pytorch/obs_op1_s1_d1", {string_refused("c3 o3 k3x3 op1"), "output_padding[0]"}},
        {"pytorch/obs_op_mixed_axes", {string_refused("c4 o3 k3x3 s3x1 d1x2 op2x1"), "accepted"}},
        {"pytorch/obs_channel_mismatch",
         {json_refused(R"({"in_channels":4,"out_channels":3,"kernel_size":[3,3],"input":[1,5,5,5]})"), "input"}},
        {"pytorch/obs_groups_zero", {string_refused("c4 o3 k3x3 g0"), "groups"}},
        {"pytorch/obs_neg_output", {string_refused("c4 o3 in5x5 k1x1 p4"), "output[0]"}},
        {"pytorch/obs_one_output_cropped", {string_refused("c4 o3 in5x5 k3x3 p3"), "accepted"}},
        {"pytorch/obs_zero_stride", {string_refused("c4 o3 k3x3 s0"), "stride[0]"}},
        {"pytorch/obs_neg_dilation", {string_refused("c4 o3 k3x3 d-1"), "dilation[0]"}},
        {"pytorch/obs_zero_spatial", {string_refused("n1 c4 o3 in0x5 k3x3"), "input[0]"}},
        {"pytorch/obs_zero_cin", {string_refused("c0 o3 k3x3"), "in_channels"}},
        {"pytorch/obs_stride_list_len",
         {json_refused(R"({"in_channels":4,"out_channels":3,"kernel_size":[3,3],"stride":[1,1,1]})"), "stride"}},
        {"xnnpack/reject_scale_buffer_size_overflow", {string_refused("c4 o4611686018427387904 k3x3"), "out_channels"}},
        {"xnnpack/check_kernel_height_3", {string_refused("c4 o4 k0x3"), "kernel_size[0]"}},
        {"xnnpack/check_dilation_5", {string_refused("c4 o4 k3x3 d1x0"), "dilation[1]"}},
        {"xnnpack/check_group_input_channels_7", {string_refused("c0 o4 k3x3"), "in_channels"}},
        {"xnnpack/check_output_min_11",
         {epilogue(nan, 1) == epilogue(0, nan) ? epilogue(1, 0) : "one of them accepted", "epilogue.clamp"}},
        {"conflict/98", {string_refused("c1 o1 in4 k3 p2 op1"), "output_padding[0]"}},  // decided: PyTorch's rule
        {"conflict/102",
         {json_refused(R"({"in_channels":4,"out_channels":4,"kernel_size":[3,3],"input":[4,8,8]})"),
          "input"}},  // decided: the full shape
    };
}

// Cases that no layer, shape or output size can state, and why.
const std::map<std::string, std::string> kNotExpressible = {
    {"paddle/non-zero_2", "padding has no batch and no channel axis"},
    {"paddle/weight_6", "a weight's shape follows from the layer, tensors are pointers"},
    {"pytorch/obs_weight_rank", "a weight's shape follows from the layer, tensors are pointers"},
    {"ort/DynamicPads_InvalidWeightRank0", "a weight's shape follows from the layer, tensors are pointers"},
    {"onednn/bias_length_!=_dst_channels_or_bias_rank_!=_1", "a bias has out_channels elements, tensors are pointers"},
    {"pytorch/obs_bias_size_groups", "a bias has out_channels elements, tensors are pointers"},
    {"tvm/ct1d_dtype_mismatch", "a layer has one dtype for all its tensors"},
    {"cutlass/rigorous_124x224_inconsistent", "a slip in the source's own statement, nothing to refuse"},
    {"xnnpack/check_input_pixel_stride_9", "tensors are contiguous, there are no strides"},
    {"conflict/100", "auto_pad belongs to importers"},
};

TEST(Invalid, PeersCasesAreRefusedByTheFieldThatIsWrong) {
    const auto cases = expressible();
    std::set<std::string> seen;
    for (const Json& c : read_lines("peers/invalid.jsonl")) {
        const std::string id = c["id"];
        SCOPED_TRACE(id + ": " + c["what"].get<std::string>());
        seen.insert(id);
        if (kNotExpressible.count(id) != 0) continue;
        const auto found = cases.find(id);
        ASSERT_NE(found, cases.end()) << "neither tested nor said to be not expressible";
        EXPECT_EQ(found->second.refused, found->second.field);
    }
    EXPECT_EQ(seen.size(), cases.size() + kNotExpressible.size());
}

TEST(Invalid, MixedAxesHaveTheOutputThatPyTorchGives) {
    EXPECT_EQ(output_size(parse_layer("c4 o3 k3x3 s3x1 d1x2 op2x1"), {5, 5}), (Dims{17, 10}));
}

std::vector<Json> trial_cases(const std::string& id) {
    for (const Json& trial : read_lines("bug_trials.jsonl"))
        if (trial["id"] == id) return trial["cases"].get<std::vector<Json>>();
    throw std::runtime_error(id + " is not there");
}

TEST(Invalid, Br10BadArguments) {
    const auto cases = trial_cases("BR-10");
    // What is wrong with each case in turn; the bias of the fifth is a pointer here, whose length nobody can see.
    const std::vector<std::string> fields = {"output_padding[0]", "output_padding[0]", "output_padding[0]", "groups",
                                             "accepted",          "padding[0]",        "accepted"};
    ASSERT_EQ(cases.size(), fields.size());
    for (std::size_t i = 0; i < cases.size(); ++i) {
        SCOPED_TRACE(cases[i]["label"].get<std::string>());
        EXPECT_EQ(refused_field([&] { validate(layer_of(cases[i])); }), fields[i]);
    }
    // The last one asks for an output of two axes from a layer of one, and far too large on either.
    const Layer layer = layer_of(cases.back());
    const Dims wanted = dims(cases.back()["requested_output"]);
    EXPECT_EQ(refused_field([&] { (void)output_padding_for(layer, layer.input, wanted); }), "output_size");
    EXPECT_EQ(refused_field([&] { (void)output_padding_for(layer, layer.input, {wanted[0]}); }), "output_size[0]");
}

TEST(Invalid, Br16OutputsBelowOne) {
    const auto cases = trial_cases("BR-16");
    const std::vector<std::pair<std::string, std::string>> wrong = {
        {"output[0]", "0"}, {"output[0]", "0"}, {"output[0]", "0"}, {"output[0]", "-2"}, {"accepted", ""}};
    ASSERT_EQ(cases.size(), wrong.size());
    for (std::size_t i = 0; i < cases.size(); ++i) {
        SCOPED_TRACE(cases[i]["label"].get<std::string>());
        try {
            validate(layer_of(cases[i]));
            EXPECT_EQ("accepted", wrong[i].first);
        } catch (const LayerError& error) {
            EXPECT_EQ(error.field(), wrong[i].first);
            EXPECT_EQ(error.value(), wrong[i].second);
        }
    }
}

}  // namespace
}  // namespace convt_jit

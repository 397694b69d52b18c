#include "onnx/auto_pad.h"

#include "convt_jit/error.h"

#include <gtest/gtest.h>

namespace convt_jit::onnx_import {
namespace {

Axis axis(std::int64_t kernel, std::int64_t stride, std::int64_t output_padding = 0, std::int64_t dilation = 1) {
    Axis made;
    made.kernel = kernel;
    made.stride = stride;
    made.dilation = dilation;
    made.output_padding = output_padding;
    return made;
}

std::string text(const Padding& padding) {
    return std::to_string(padding.begin) + ":" + std::to_string(padding.end) + " op" +
           std::to_string(padding.output_padding);
}

TEST(AutoPad, Names) {
    EXPECT_EQ(parse_auto_pad("NOTSET"), AutoPad::notset);
    EXPECT_EQ(parse_auto_pad(""), AutoPad::notset);
    EXPECT_EQ(parse_auto_pad("VALID"), AutoPad::valid);
    EXPECT_EQ(parse_auto_pad("SAME_UPPER"), AutoPad::same_upper);
    EXPECT_EQ(parse_auto_pad("SAME_LOWER"), AutoPad::same_lower);
    for (const char* wrong : {"SAME", "same_upper", "SAME_UPPER ", "0"})
        EXPECT_THROW((void)parse_auto_pad(wrong), LayerError);
}

TEST(AutoPad, GivenPadsCountWhereNothingElseDoes) {
    Axis given = axis(4, 2, 1);
    given.pad_begin = 1;
    given.pad_end = 2;
    EXPECT_EQ(text(resolve(AutoPad::notset, given)), "1:2 op1");
    EXPECT_EQ(text(resolve(AutoPad::valid, given)), "0:0 op1");
}

TEST(AutoPad, SameMakesStrideTimesTheInput) {
    // An odd crop is larger at the end for SAME_UPPER, at the beginning for SAME_LOWER.
    EXPECT_EQ(text(resolve(AutoPad::same_upper, axis(3, 2))), "0:1 op0");
    EXPECT_EQ(text(resolve(AutoPad::same_lower, axis(3, 2))), "1:0 op0");
    EXPECT_EQ(text(resolve(AutoPad::same_upper, axis(3, 1))), "1:1 op0");
    EXPECT_EQ(text(resolve(AutoPad::same_upper, axis(3, 2, 1))), "1:1 op1");
    EXPECT_EQ(text(resolve(AutoPad::same_lower, axis(3, 1, 0, 2))), "2:2 op0");
    // A kernel below the stride: nothing to crop, the output grows.
    EXPECT_EQ(text(resolve(AutoPad::same_upper, axis(1, 3))), "0:0 op2");
    EXPECT_EQ(text(resolve(AutoPad::same_lower, axis(1, 3))), "0:0 op2");
}

TEST(AutoPad, OutputShapeDecides) {
    Axis given = axis(3, 3);
    given.pad_begin = given.pad_end = 7;  // no meaning beside it
    EXPECT_EQ(text(resolve(AutoPad::notset, given, 3, 10)), "0:0 op1");
    EXPECT_EQ(text(resolve(AutoPad::notset, given, 3, 9)), "0:0 op0");
    EXPECT_EQ(text(resolve(AutoPad::notset, given, 3, 8)), "1:0 op0");
    EXPECT_EQ(text(resolve(AutoPad::same_lower, given, 3, 8)), "1:0 op0");
    EXPECT_EQ(text(resolve(AutoPad::valid, given, 3, 8)), "1:0 op0");
    EXPECT_EQ(text(resolve(AutoPad::same_upper, given, 3, 8)), "0:1 op0");
    EXPECT_EQ(text(resolve(AutoPad::same_upper, given, 3, 6)), "1:2 op0");
}

// A crop at the end takes away what output_padding adds there: less of both is the same, and a layer may have it.
TEST(AutoPad, OutputPaddingBeyondTheLimitIsTakenFromTheCrop) {
    Axis given = axis(4, 2, 3);
    given.pad_end = 5;
    EXPECT_EQ(text(resolve(AutoPad::notset, given)), "0:3 op1");
    given.pad_end = 1;
    EXPECT_EQ(text(resolve(AutoPad::notset, given)), "0:0 op2") << "too much all the same; the layer is refused later";
}

TEST(AutoPad, LargestSizesDoNotOverflow) {
    constexpr std::int64_t kMost = 2147483647;
    const Axis given = axis(kMost, 65536, kMost, kMost);
    EXPECT_GT(resolve(AutoPad::same_lower, given).begin, 0);
    EXPECT_GT(resolve(AutoPad::same_upper, given, 1, 1).end, 0);
    EXPECT_GT(resolve(AutoPad::notset, axis(1, 1), 1, std::int64_t{1} << 60).output_padding, 0);
}

}  // namespace
}  // namespace convt_jit::onnx_import

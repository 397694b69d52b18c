// SpecialValues: what every family on tensor cores makes of numbers that are not finite, and of outputs that nothing
// reaches.
#pragma once

#include "convt_jit/convt_jit.h"

#include <string>
#include <vector>

namespace convt_jit::test {

// Numbers that are not finite, or overflow when they are split, come out as plain arithmetic has them: what is wrong
// with a factor must not make a NaN of an infinity, nor of a large number. `type`: " f16", "". `kernel`: of the layer,
// with its stride and padding.
void expect_all_numbers(const Device& device, const std::string& type, const std::string& plan,
                        const std::string& kernel = "k3x3 p1");

// What no tap reaches is the bias bit by bit, also where that is a negative zero; without a bias it is a positive one.
void expect_unreached_outputs_are_the_bias(const Device& device, const std::string& plan,
                                           const std::vector<std::string>& layers = {
                                               "n1 c32 o16 in4x5 k1x2 s3x4", "n1 c32 o16 in4x5 k1x2 s3x4 bias",
                                               "n1 c32 o16 in4x5 k3x3 s2 op1", "n1 c32 o16 in4x5 k3x3 s2 op1 bias"});

}  // namespace convt_jit::test

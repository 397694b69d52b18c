// SpecialValues: what every family on tensor cores makes of numbers that are not finite, and of outputs that nothing
// reaches.
#pragma once

#include "convt_jit/convt_jit.h"

#include <string>

namespace convt_jit::test {

// Numbers that are not finite, or overflow when they are split, come out as plain arithmetic has them: what is wrong
// with a factor must not make a NaN of an infinity, nor of a large number. `type`: " f16", "".
void expect_all_numbers(const Device& device, const std::string& type, const std::string& plan);

// What no tap reaches is the bias bit by bit, also where that is a negative zero; without a bias it is a positive one.
void expect_unreached_outputs_are_the_bias(const Device& device, const std::string& plan);

}  // namespace convt_jit::test

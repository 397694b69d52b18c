// Divisibility: what a plan says where numbers of a tile do not divide each other. Pure functions.
#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <string>

namespace convt_jit {

// Empty where `value` of the key is a multiple of `unit`.
[[nodiscard]] inline std::string multiple_refusal(const char* key, std::int64_t value, std::int64_t unit) {
    return value % unit == 0 ? std::string() : fmt::format("{} is {}, allowed: multiples of {}", key, value, unit);
}
// Empty where `value` of the key divides `whole`, which is so many of `what`.
[[nodiscard]] inline std::string divisor_refusal(const char* key, std::int64_t value, std::int64_t whole,
                                                 const char* what) {
    return whole % value == 0 ? std::string()
                              : fmt::format("{} is {}, allowed: divisors of the {} {}", key, value, whole, what);
}

}  // namespace convt_jit

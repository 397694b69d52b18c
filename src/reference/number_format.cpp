#include "reference/number_format.h"

#include "convt_jit/error.h"
#include "convt_jit/reference.h"

#include <bit>
#include <cstring>
#include <limits>
#include <string>

namespace convt_jit {
namespace {

static_assert(std::numeric_limits<double>::is_iec559 && std::numeric_limits<float>::is_iec559);

// By integers, since by way of f32 a number would be rounded twice.
template <int kExponentBits, int kMantissaBits>
std::uint16_t narrow(double value) noexcept {
    constexpr int kBias = (1 << (kExponentBits - 1)) - 1;
    constexpr std::int64_t kInf = ((1 << kExponentBits) - 1) << kMantissaBits;
    constexpr std::uint64_t kHidden = std::uint64_t{1} << 52;
    const auto bits = std::bit_cast<std::uint64_t>(value);
    const auto sign = static_cast<std::uint16_t>(bits >> 48 & 0x8000);
    const int exponent = static_cast<int>(bits >> 52 & 0x7ff) - 1023;
    const std::uint64_t fraction = bits & (kHidden - 1);
    const auto with_sign = [&](std::int64_t magnitude) { return static_cast<std::uint16_t>(sign | magnitude); };
    if (exponent == 1024) return with_sign(fraction == 0 ? kInf : kInf | 1 << (kMantissaBits - 1));
    if (exponent > kBias) return with_sign(kInf);

    const int lowest = 1 - kBias;  // exponent of the smallest normal number and of all subnormals
    const int lost = 52 - kMantissaBits + (exponent < lowest ? lowest - exponent : 0);  // bits to round away
    if (lost > 53) return with_sign(0);  // below half the smallest number
    const std::uint64_t significand = kHidden | fraction;
    const std::uint64_t odd = significand >> lost & 1;
    const std::uint64_t kept = (significand + (std::uint64_t{1} << (lost - 1)) - 1 + odd) >> lost;
    // The hidden bit of a normal number, or a carry, adds one to the exponent field; Inf follows the largest number.
    const std::int64_t field = exponent < lowest ? 0 : exponent + kBias - 1;
    return with_sign((field << kMantissaBits) + static_cast<std::int64_t>(kept));
}

template <class Element, class Convert>
std::vector<unsigned char> encode_as(const std::vector<double>& values, Convert convert) {
    std::vector<unsigned char> bytes(values.size() * sizeof(Element));
    for (std::size_t i = 0; i < values.size(); ++i) {
        const Element element = convert(values[i]);
        std::memcpy(bytes.data() + i * sizeof(Element), &element, sizeof(Element));
    }
    return bytes;
}

template <class Element, class Convert>
std::vector<double> decode_as(const std::vector<unsigned char>& bytes, Convert convert) {
    if (bytes.size() % sizeof(Element) != 0)
        throw LayerError("bytes", std::to_string(bytes.size()), "a multiple of " + std::to_string(sizeof(Element)));
    std::vector<double> values(bytes.size() / sizeof(Element));
    for (std::size_t i = 0; i < values.size(); ++i) {
        Element element;
        std::memcpy(&element, bytes.data() + i * sizeof(Element), sizeof(Element));
        values[i] = convert(element);
    }
    return values;
}

float to_f32(double value) noexcept { return static_cast<float>(value); }
double from_f32(float value) noexcept { return value; }

}  // namespace

std::uint16_t to_f16(double value) noexcept { return narrow<5, 10>(value); }
std::uint16_t to_bf16(double value) noexcept { return narrow<8, 7>(value); }

double from_f16(std::uint16_t bits) noexcept {
    const bool negative = (bits & 0x8000) != 0;
    const std::uint64_t exponent = bits >> 10 & 0x1f, fraction = bits & 0x3ff;
    double magnitude = static_cast<double>(fraction) * 0x1p-24;
    if (exponent == 31)
        magnitude = fraction == 0 ? std::numeric_limits<double>::infinity() : std::numeric_limits<double>::quiet_NaN();
    else if (exponent != 0)
        magnitude = std::bit_cast<double>((exponent + 1023 - 15) << 52 | fraction << 42);
    return negative ? -magnitude : magnitude;
}

double from_bf16(std::uint16_t bits) noexcept { return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16); }

double rounded(DType dtype, double value) noexcept {
    switch (dtype) {
        case DType::f32:
            return to_f32(value);
        case DType::f16:
            return from_f16(to_f16(value));
        case DType::bf16:
            return from_bf16(to_bf16(value));
    }
    return value;
}

std::vector<unsigned char> encode(DType dtype, const std::vector<double>& values) {
    switch (dtype) {
        case DType::f16:
            return encode_as<std::uint16_t>(values, to_f16);
        case DType::bf16:
            return encode_as<std::uint16_t>(values, to_bf16);
        case DType::f32:
            break;
    }
    return encode_as<float>(values, to_f32);
}

std::vector<double> decode(DType dtype, const std::vector<unsigned char>& bytes) {
    switch (dtype) {
        case DType::f16:
            return decode_as<std::uint16_t>(bytes, from_f16);
        case DType::bf16:
            return decode_as<std::uint16_t>(bytes, from_bf16);
        case DType::f32:
            break;
    }
    return decode_as<float>(bytes, from_f32);
}

}  // namespace convt_jit

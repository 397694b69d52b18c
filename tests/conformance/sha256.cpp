#include "conformance/sha256.h"

#include <array>
#include <bit>
#include <cmath>
#include <cstdint>

namespace convt_jit::test {
namespace {

// The first 32 bits of the fractional parts of the square (power 2) or cube (power 3) roots of the first primes.
template <std::size_t N>
std::array<std::uint32_t, N> roots_of_primes(int power) {
    std::array<std::uint32_t, N> result{};
    std::size_t count = 0;
    for (int candidate = 2; count < N; ++candidate) {
        bool prime = true;
        for (int d = 2; d * d <= candidate; ++d) prime = prime && candidate % d != 0;
        if (!prime) continue;
        const long double root = power == 2 ? std::sqrt(static_cast<long double>(candidate))
                                            : std::cbrt(static_cast<long double>(candidate));
        result[count++] = static_cast<std::uint32_t>((root - std::floor(root)) * 4294967296.0L);
    }
    return result;
}

void compress(std::array<std::uint32_t, 8>& state, const unsigned char* block) {
    static const auto constants = roots_of_primes<64>(3);
    std::array<std::uint32_t, 64> w{};
    for (std::size_t i = 0; i < 16; ++i) {
        for (std::size_t b = 0; b < 4; ++b) w[i] = w[i] << 8 | block[4 * i + b];
    }
    for (std::size_t i = 16; i < 64; ++i) {
        const std::uint32_t a = w[i - 15], b = w[i - 2];
        w[i] = w[i - 16] + w[i - 7] + (std::rotr(a, 7) ^ std::rotr(a, 18) ^ a >> 3) +
               (std::rotr(b, 17) ^ std::rotr(b, 19) ^ b >> 10);
    }
    auto [a, b, c, d, e, f, g, h] = state;
    for (std::size_t i = 0; i < 64; ++i) {
        const std::uint32_t t1 =
            h + (std::rotr(e, 6) ^ std::rotr(e, 11) ^ std::rotr(e, 25)) + ((e & f) ^ (~e & g)) + constants[i] + w[i];
        const std::uint32_t t2 =
            (std::rotr(a, 2) ^ std::rotr(a, 13) ^ std::rotr(a, 22)) + ((a & b) ^ (a & c) ^ (b & c));
        h = g, g = f, f = e, e = d + t1, d = c, c = b, b = a, a = t1 + t2;
    }
    const std::array<std::uint32_t, 8> added = {a, b, c, d, e, f, g, h};
    for (std::size_t i = 0; i < 8; ++i) state[i] += added[i];
}

}  // namespace

std::string sha256(std::vector<unsigned char> bytes) {
    const std::uint64_t bits = bytes.size() * 8;
    bytes.push_back(0x80);
    while (bytes.size() % 64 != 56) bytes.push_back(0);
    for (int shift = 56; shift >= 0; shift -= 8) bytes.push_back(static_cast<unsigned char>(bits >> shift));
    std::array<std::uint32_t, 8> state = roots_of_primes<8>(2);
    for (std::size_t at = 0; at < bytes.size(); at += 64) compress(state, bytes.data() + at);
    std::string hex;
    for (const std::uint32_t word : state) {
        for (int shift = 28; shift >= 0; shift -= 4) hex += "0123456789abcdef"[word >> shift & 15];
    }
    return hex;
}

}  // namespace convt_jit::test

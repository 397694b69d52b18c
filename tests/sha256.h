// SHA-256 (FIPS 180-4), by which the bug trials state outputs too long to print.
#pragma once

#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <string>

namespace convt_jit {

// The first 32 fractional bits of a root of the n-th prime.
inline std::uint32_t prime_root_bits(int n, bool cube) {
    int prime = 2;
    for (int found = 0;; ++prime) {
        bool is_prime = true;
        for (int divisor = 2; divisor * divisor <= prime; ++divisor) is_prime = is_prime && prime % divisor != 0;
        if (is_prime && found++ == n) break;
    }
    const long double root =
        cube ? std::cbrt(static_cast<long double>(prime)) : std::sqrt(static_cast<long double>(prime));
    return static_cast<std::uint32_t>((root - std::floor(root)) * 4294967296.0L);
}

inline std::string sha256(std::string message) {
    std::array<std::uint32_t, 8> state{};
    std::array<std::uint32_t, 64> constants{};
    for (int i = 0; i < 8; ++i) state[static_cast<std::size_t>(i)] = prime_root_bits(i, false);
    for (int i = 0; i < 64; ++i) constants[static_cast<std::size_t>(i)] = prime_root_bits(i, true);

    const std::uint64_t bits = message.size() * 8;
    message += '\x80';
    while (message.size() % 64 != 56) message += '\0';
    for (int shift = 56; shift >= 0; shift -= 8) message += static_cast<char>(bits >> shift & 0xff);

    for (std::size_t block = 0; block < message.size(); block += 64) {
        std::array<std::uint32_t, 64> w{};
        for (std::size_t i = 0; i < 64; ++i) w[i / 4] = w[i / 4] << 8 | static_cast<unsigned char>(message[block + i]);
        for (std::size_t i = 16; i < 64; ++i) {
            const std::uint32_t a = w[i - 15], b = w[i - 2];
            w[i] = w[i - 16] + w[i - 7] + (std::rotr(a, 7) ^ std::rotr(a, 18) ^ a >> 3) +
                   (std::rotr(b, 17) ^ std::rotr(b, 19) ^ b >> 10);
        }
        auto [a, b, c, d, e, f, g, h] = state;
        for (std::size_t i = 0; i < 64; ++i) {
            const std::uint32_t t1 = h + (std::rotr(e, 6) ^ std::rotr(e, 11) ^ std::rotr(e, 25)) +
                                     ((e & f) ^ (~e & g)) + constants[i] + w[i];
            const std::uint32_t t2 =
                (std::rotr(a, 2) ^ std::rotr(a, 13) ^ std::rotr(a, 22)) + ((a & b) ^ (a & c) ^ (b & c));
            h = g, g = f, f = e, e = d + t1, d = c, c = b, b = a, a = t1 + t2;
        }
        const std::array<std::uint32_t, 8> mixed = {a, b, c, d, e, f, g, h};
        for (std::size_t i = 0; i < 8; ++i) state[i] += mixed[i];
    }
    std::string hex;
    for (const std::uint32_t word : state)
        for (int shift = 28; shift >= 0; shift -= 4) hex += "0123456789abcdef"[word >> shift & 0xf];
    return hex;
}

}  // namespace convt_jit

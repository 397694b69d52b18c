// Sha256 (FIPS 180-4), for expected outputs that the trials give as a digest.
#pragma once

#include <string>
#include <vector>

namespace convt_jit::test {

// 64 hex digits.
[[nodiscard]] std::string sha256(std::vector<unsigned char> bytes);

}  // namespace convt_jit::test

#include "cache/key.h"

#include <xxhash.h>

#include <initializer_list>

namespace convt_jit {
namespace {

std::string hex(const XXH128_hash_t& hash) {
    XXH128_canonical_t canonical;
    XXH128_canonicalFromHash(&canonical, hash);
    constexpr char digits[] = "0123456789abcdef";
    std::string text;
    text.reserve(2 * sizeof canonical.digest);
    for (const unsigned char byte : canonical.digest) {
        text += digits[byte >> 4];
        text += digits[byte & 15];
    }
    return text;
}

}  // namespace

std::string digest(std::string_view bytes) { return hex(XXH3_128bits(bytes.data(), bytes.size())); }

std::string digest(const KeyFields& fields) {
    std::string text;
    for (const std::string_view field : {std::string_view(fields.source_digest), std::string_view(fields.options),
                                         std::string_view(fields.arch), std::string_view(fields.producer)}) {
        text += std::to_string(field.size());
        text += ':';
        text += field;
    }
    text += std::to_string(fields.format);
    return digest(text);
}

bool is_digest(std::string_view text) noexcept {
    return text.size() == kDigestLength && text.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

}  // namespace convt_jit

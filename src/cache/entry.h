// Entry: one cubin with everything that is known of it, as one self-describing, checksummed file.
#pragma once

#include "cache/key.h"

#include <optional>
#include <string>
#include <string_view>

namespace convt_jit {

struct Provenance {
    std::string library;  // version of this library
    std::string host, date;
    std::string layer;  // layer string without sizes
    std::string family, plan;
    std::string entry_point;
    int registers = 0;
    int spill_bytes = 0;
    std::uint64_t shared_bytes = 0;
    friend bool operator==(const Provenance&, const Provenance&) = default;
};

struct Entry {
    KeyFields key;
    Provenance provenance;
    std::string cubin;
    friend bool operator==(const Entry&, const Entry&) = default;
};

// Magic, format, header length, JSON header, cubin, checksum over all that stands before it.
[[nodiscard]] std::string encode(const Entry& entry);
// Nothing where any byte is wrong; `why` then says what.
[[nodiscard]] std::optional<Entry> decode(std::string_view bytes, std::string* why = nullptr);

// Key and provenance alone, from the first bytes of an entry and without its checksum: for listings of many entries,
// never for loading. `header_bytes` is then how much stands before the cubin.
[[nodiscard]] std::optional<Entry> decode_header(std::string_view first_bytes, std::size_t* header_bytes = nullptr);
inline constexpr std::size_t kChecksumBytes = 16;

// The format number of something that at least begins and ends as an entry does: one of another version of this library
// is not damaged, only not for us.
[[nodiscard]] std::optional<std::uint32_t> sound_format(std::string_view bytes) noexcept;

}  // namespace convt_jit

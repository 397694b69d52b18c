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

}  // namespace convt_jit

#include "cache/entry.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <xxhash.h>

#include <array>
#include <cstring>
#include <exception>
#include <limits>
#include <stdexcept>

namespace convt_jit {
namespace {

using nlohmann::json;

constexpr std::string_view kMagic(
    "\x89"
    "cvtjit\n",
    8);
constexpr std::size_t kPreamble = 16;  // magic, format, length of the header: the last two are little-endian u32
constexpr std::size_t kMaxHeader = std::size_t{1} << 20;
constexpr int kMaxDepth = 4;

// A header that is well-formed JSON but not ours.
struct Malformed : std::runtime_error {
    using std::runtime_error::runtime_error;
};

void append_u32(std::string& bytes, std::uint32_t value) {
    for (int shift = 0; shift < 32; shift += 8) bytes += static_cast<char>((value >> shift) & 0xff);
}

std::uint32_t read_u32(std::string_view bytes) {
    std::uint32_t value = 0;
    for (int i = 3; i >= 0; --i) value = value << 8 | static_cast<unsigned char>(bytes[static_cast<std::size_t>(i)]);
    return value;
}

std::array<char, kChecksumBytes> checksum(std::string_view bytes) {
    XXH128_canonical_t canonical;
    XXH128_canonicalFromHash(&canonical, XXH3_128bits(bytes.data(), bytes.size()));
    std::array<char, kChecksumBytes> result{};
    std::memcpy(result.data(), canonical.digest, kChecksumBytes);
    return result;
}

bool is_json_text(const std::string& text) {
    try {
        static_cast<void>(json(text).dump());
        return true;
    } catch (const json::exception&) {
        return false;  // not UTF-8
    }
}

// JSON knows only UTF-8; a host name or a path in an option may be anything. {"hex": ...} keeps such bytes.
json to_json(const std::string& text) {
    if (is_json_text(text)) return text;
    std::string hex;
    for (const char byte : text) hex += fmt::format("{:02x}", static_cast<unsigned char>(byte));
    return json{{"hex", hex}};
}

unsigned nibble(char digit) {
    if (digit >= '0' && digit <= '9') return static_cast<unsigned>(digit - '0');
    if (digit >= 'a' && digit <= 'f') return static_cast<unsigned>(digit - 'a') + 10;
    throw Malformed("a hex text holds something else");
}

const json& member(const json& object, const char* name) {
    const auto found = object.is_object() ? object.find(name) : object.end();
    if (found == object.end()) throw Malformed(fmt::format("its header has no {}", name));
    return *found;
}

std::string text(const json& object, const char* name) {
    const json& value = member(object, name);
    if (value.is_string()) return value.get<std::string>();
    const json& encoded = member(value, "hex");
    if (!encoded.is_string()) throw Malformed(fmt::format("{} is no text", name));
    const auto& hex = encoded.get_ref<const std::string&>();
    if (hex.size() % 2 != 0) throw Malformed(fmt::format("{} is cut", name));
    std::string bytes;
    for (std::size_t i = 0; i < hex.size(); i += 2)
        bytes += static_cast<char>(nibble(hex[i]) << 4 | nibble(hex[i + 1]));
    return bytes;
}

template <class Integer>
Integer number(const json& object, const char* name) {
    const json& value = member(object, name);
    // Read as unsigned: every number here is, and a larger one would wrap silently.
    if (!value.is_number_unsigned()) throw Malformed(fmt::format("{} is no natural number", name));
    const auto wide = value.get<std::uint64_t>();
    if (wide > static_cast<std::uint64_t>(std::numeric_limits<Integer>::max()))
        throw Malformed(fmt::format("{} is too large", name));
    return static_cast<Integer>(wide);
}

json header_of(const Entry& entry) {
    const auto& key = entry.key;
    const auto& from = entry.provenance;
    return {{"key",
             {{"source", to_json(key.source_digest)},
              {"options", to_json(key.options)},
              {"arch", to_json(key.arch)},
              {"producer", to_json(key.producer)},
              {"format", std::max(key.format, 0)}}},
            {"provenance",
             {{"library", to_json(from.library)},
              {"host", to_json(from.host)},
              {"date", to_json(from.date)},
              {"layer", to_json(from.layer)},
              {"family", to_json(from.family)},
              {"plan", to_json(from.plan)},
              {"entry_point", to_json(from.entry_point)},
              {"registers", std::max(from.registers, 0)},
              {"spill_bytes", std::max(from.spill_bytes, 0)},
              {"shared_bytes", from.shared_bytes}}}};
}

Entry entry_of(const json& header) {
    Entry entry;
    const json& key = member(header, "key");
    entry.key.source_digest = text(key, "source");
    entry.key.options = text(key, "options");
    entry.key.arch = text(key, "arch");
    entry.key.producer = text(key, "producer");
    entry.key.format = number<int>(key, "format");
    const json& from = member(header, "provenance");
    entry.provenance.library = text(from, "library");
    entry.provenance.host = text(from, "host");
    entry.provenance.date = text(from, "date");
    entry.provenance.layer = text(from, "layer");
    entry.provenance.family = text(from, "family");
    entry.provenance.plan = text(from, "plan");
    entry.provenance.entry_point = text(from, "entry_point");
    entry.provenance.registers = number<int>(from, "registers");
    entry.provenance.spill_bytes = number<int>(from, "spill_bytes");
    entry.provenance.shared_bytes = number<std::uint64_t>(from, "shared_bytes");
    return entry;
}

// A right checksum proves no good will: whoever wrote the header could compute it.
Entry parse_header(std::string_view bytes) {
    const auto header = json::parse(
        bytes, [](int depth, json::parse_event_t, json&) { return depth <= kMaxDepth; }, false);
    if (header.is_discarded()) throw Malformed("its header is no JSON");
    return entry_of(header);
}

bool ends_with_checksum(std::string_view bytes) {
    const auto body = bytes.substr(0, bytes.size() - kChecksumBytes);
    const auto expected = checksum(body);
    return bytes.substr(body.size()) == std::string_view(expected.data(), expected.size());
}

Entry decode_or_throw(std::string_view bytes) {
    if (bytes.size() < kPreamble + kChecksumBytes) throw Malformed("it is cut");
    if (bytes.substr(0, kMagic.size()) != kMagic) throw Malformed("it does not begin as an entry does");
    const auto format = read_u32(bytes.substr(8));
    if (format != static_cast<std::uint32_t>(kCacheFormat))
        throw Malformed(fmt::format("its format is {}, this library reads {}", format, kCacheFormat));
    const auto body = bytes.substr(0, bytes.size() - kChecksumBytes);
    const std::size_t length = read_u32(bytes.substr(12));
    if (length > kMaxHeader || length > body.size() - kPreamble) throw Malformed("its header is longer than allowed");
    if (!ends_with_checksum(bytes)) throw Malformed("its checksum does not match");
    Entry entry = parse_header(body.substr(kPreamble, length));
    entry.cubin = body.substr(kPreamble + length);
    return entry;
}

}  // namespace

std::string encode(const Entry& entry) {
    const std::string header = header_of(entry).dump();
    std::string bytes;
    bytes.reserve(kPreamble + header.size() + entry.cubin.size() + kChecksumBytes);
    bytes += kMagic;
    append_u32(bytes, static_cast<std::uint32_t>(kCacheFormat));
    append_u32(bytes, static_cast<std::uint32_t>(header.size()));
    bytes += header;
    bytes += entry.cubin;
    const auto sum = checksum(bytes);
    bytes.append(sum.data(), sum.size());
    return bytes;
}

std::optional<Entry> decode(std::string_view bytes, std::string* why) {
    try {
        return decode_or_throw(bytes);
    } catch (const std::exception& error) {
        if (why != nullptr) *why = error.what();
        return std::nullopt;
    }
}

std::optional<Entry> decode_header(std::string_view first_bytes, std::size_t* header_bytes) try {
    if (first_bytes.size() < kPreamble || !first_bytes.starts_with(kMagic)) return std::nullopt;
    if (read_u32(first_bytes.substr(8)) != static_cast<std::uint32_t>(kCacheFormat)) return std::nullopt;
    const std::size_t length = read_u32(first_bytes.substr(12));
    if (length > kMaxHeader) return std::nullopt;
    if (header_bytes != nullptr) *header_bytes = kPreamble + length;
    if (length > first_bytes.size() - kPreamble) return std::nullopt;
    return parse_header(first_bytes.substr(kPreamble, length));
} catch (const std::exception&) {
    return std::nullopt;
}

std::optional<std::uint32_t> sound_format(std::string_view bytes) noexcept {
    if (bytes.size() < kPreamble + kChecksumBytes || !bytes.starts_with(kMagic) || !ends_with_checksum(bytes))
        return std::nullopt;
    return read_u32(bytes.substr(8));
}

}  // namespace convt_jit

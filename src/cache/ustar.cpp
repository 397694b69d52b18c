#include "cache/ustar.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <numeric>

namespace convt_jit {
namespace {

constexpr std::size_t kBlock = 512;

struct Field {
    std::size_t offset, size;
};
constexpr Field kName{0, kMaxTarName}, kMode{100, 8}, kOwner{108, 8}, kGroup{116, 8}, kSize{124, 12}, kTime{136, 12},
    kSum{148, 8}, kType{156, 1}, kMagic{257, 8}, kPrefix{345, 155};
constexpr std::string_view kUstar("ustar\00000", 8);

using Block = std::array<char, kBlock>;

void set(Block& block, Field field, std::string_view text) {
    std::memcpy(block.data() + field.offset, text.data(), std::min(field.size, text.size()));
}

std::string_view get(std::string_view block, Field field) {
    const auto text = block.substr(field.offset, field.size);
    return text.substr(0, text.find('\0'));
}

// Sum of all bytes, those of the sum itself taken as blanks.
unsigned checksum(std::string_view block) {
    unsigned sum = 0;
    for (std::size_t i = 0; i < block.size(); ++i)
        sum += i >= kSum.offset && i < kSum.offset + kSum.size ? unsigned{' '} : static_cast<unsigned char>(block[i]);
    return sum;
}

std::string sum_field(std::uint64_t sum) { return fmt::format("{:06o}", sum) + '\0' + ' '; }

std::optional<std::uint64_t> octal(std::string_view text) {
    while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
    while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
    std::uint64_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, 8);
    return error == std::errc() && end == text.data() + text.size() ? std::optional(value) : std::nullopt;
}

std::size_t padded(std::size_t size) { return (size + kBlock - 1) / kBlock * kBlock; }

}  // namespace

std::string tar_member(const std::string& name, std::string_view bytes) {
    Block block{};
    set(block, kName, name);
    set(block, kMode, "0000644");
    set(block, kOwner, "0000000");
    set(block, kGroup, "0000000");
    set(block, kSize, fmt::format("{:011o}", bytes.size()));
    set(block, kTime, "00000000000");
    set(block, kType, "0");
    set(block, kMagic, kUstar);
    set(block, kSum, sum_field(checksum({block.data(), block.size()})));
    std::string text(block.data(), block.size());
    text += bytes;
    text.resize(padded(text.size()));
    return text;
}

std::string tar_end() { return std::string(2 * kBlock, '\0'); }

std::string TarReader::read(std::size_t count) {
    std::string bytes(count, '\0');
    std::size_t done = 0;
    while (done < count) {
        const auto got = ::pread(file_.get(), bytes.data() + done, count - done, offset_ + static_cast<off_t>(done));
        if (got < 0 && errno == EINTR) continue;
        if (got <= 0) break;
        done += static_cast<std::size_t>(got);
    }
    bytes.resize(done);
    offset_ += static_cast<std::int64_t>(done);
    return bytes;
}

std::optional<TarMember> TarReader::next(std::size_t limit, std::string& why) {
    const auto refuse = [&](std::string reason) {
        why = std::move(reason);
        return std::nullopt;
    };
    const std::string header = read(kBlock);
    if (header.size() != kBlock) return refuse("it is cut");
    if (header == std::string(kBlock, '\0')) {
        if (read(kBlock) != header) return refuse("it is cut");
        for (std::string more = read(kBlock); !more.empty(); more = read(kBlock))
            if (more != header) return refuse("something follows its end");
        return std::nullopt;
    }
    const auto sum = octal(get(header, kSum));
    if (!sum || header.substr(kSum.offset, kSum.size) != sum_field(*sum) || *sum != checksum(header) ||
        header.substr(kMagic.offset, kMagic.size) != kUstar)
        return refuse("it is no plain tar file, or damaged");
    const std::string name(get(header, kName));
    if (header[kType.offset] != '0' || !get(header, kPrefix).empty())
        return refuse(fmt::format("its member {} is no plain file", name));
    const auto size = octal(get(header, kSize));
    if (!size || *size > limit) return refuse(fmt::format("its member {} is larger than allowed", name));
    TarMember member{name, read(padded(*size))};
    if (member.bytes.size() != padded(*size)) return refuse("it is cut");
    if (member.bytes.find_first_not_of('\0', *size) != std::string::npos)
        return refuse(fmt::format("what pads its member {} is not empty", name));
    member.bytes.resize(*size);
    return member;
}

}  // namespace convt_jit

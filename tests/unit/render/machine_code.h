// MachineCode: what a cubin says of a kernel, read from its ELF sections without a GPU and without the toolkit's tools.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <map>
#include <stdexcept>
#include <string>
#include <string_view>

namespace convt_jit::test {

struct MachineCode {
    int registers = 0;
    int frame_bytes = 0;              // of local memory: what has no place in registers
    std::map<int, int> instructions;  // by the low 12 bits of their first word, which tell the operation

    // As nvdisasm of CUDA 13 names them.
    static constexpr int kHmma = 0x23c, kHgmma = 0x9f0, kFfma = 0x223, kBulkCopy = 0x3ba, kLoadLocal = 0x983;

    [[nodiscard]] int count(int operation) const {
        const auto found = instructions.find(operation);
        return found == instructions.end() ? 0 : found->second;
    }
};

namespace elf {

struct Header {
    unsigned char ident[16];
    std::uint16_t type, machine;
    std::uint32_t version;
    std::uint64_t entry, program_headers, sections;
    std::uint32_t flags;
    std::uint16_t header_bytes, program_header_bytes, program_header_count, section_bytes, section_count, names;
};
struct Section {
    std::uint32_t name, type;
    std::uint64_t flags, address, offset, bytes;
    std::uint32_t link, info;
    std::uint64_t alignment, entry_bytes;
};
struct Symbol {
    std::uint32_t name;
    unsigned char info, other;
    std::uint16_t section;
    std::uint64_t value, bytes;
};

template <class T>
T read(std::string_view file, std::uint64_t at) {
    T value;
    if (at > file.size() || file.size() - at < sizeof value) throw std::runtime_error("a cubin ends too early");
    std::memcpy(&value, file.data() + at, sizeof value);
    return value;
}

}  // namespace elf

// Throws std::runtime_error where `cubin` is no cubin that has the kernel.
inline MachineCode machine_code(std::string_view cubin, const std::string& kernel) {
    const auto header = elf::read<elf::Header>(cubin, 0);
    const auto section = [&](std::uint64_t i) {
        return elf::read<elf::Section>(cubin, header.sections + i * header.section_bytes);
    };
    const auto text = [&](const elf::Section& names, std::uint32_t at) {
        return std::string(cubin.data() + names.offset + at);
    };
    const elf::Section section_names = section(header.names);
    const auto find = [&](const std::string& name) {
        for (std::uint64_t i = 0; i < header.section_count; ++i)
            if (text(section_names, section(i).name) == name) return section(i);
        throw std::runtime_error("a cubin has no section " + name);
    };
    const elf::Section symbols = find(".symtab"), strings = section(symbols.link), facts = find(".nv.info");
    const auto symbol_name = [&](std::uint32_t i) {
        return text(strings, elf::read<elf::Symbol>(cubin, symbols.offset + i * sizeof(elf::Symbol)).name);
    };

    MachineCode code;
    // Attributes: a format, which attribute, and a number of bytes that follow or a value.
    constexpr unsigned char kHasBytes = 4, kRegisters = 0x2f, kFrameBytes = 0x11;
    for (std::uint64_t at = facts.offset; at + 4 <= facts.offset + facts.bytes;) {
        const auto format = elf::read<unsigned char>(cubin, at), attribute = elf::read<unsigned char>(cubin, at + 1);
        const auto bytes = elf::read<std::uint16_t>(cubin, at + 2);
        at += 4;
        if (format != kHasBytes) continue;
        if (bytes == 8 && symbol_name(elf::read<std::uint32_t>(cubin, at)) == kernel) {
            const auto value = static_cast<int>(elf::read<std::uint32_t>(cubin, at + 4));
            if (attribute == kRegisters) code.registers = value;
            if (attribute == kFrameBytes) code.frame_bytes = value;
        }
        at += bytes;
    }
    const elf::Section machine = find(".text." + kernel);
    constexpr std::uint64_t kInstructionBytes = 16;
    for (std::uint64_t at = machine.offset; at < machine.offset + machine.bytes; at += kInstructionBytes)
        ++code.instructions[static_cast<int>(elf::read<std::uint64_t>(cubin, at) & 0xfff)];
    return code;
}

}  // namespace convt_jit::test

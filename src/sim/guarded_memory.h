// GuardedMemory: bytes between wide ranges that fault. For the shared memory of a block, and for the tensors of a
// launch: with plain allocations an index past the end of one tensor may land in the next, which the launch may touch.
#pragma once

#include <cstddef>

namespace convt_jit::sim {

class GuardedMemory {
public:
    explicit GuardedMemory(std::size_t bytes);
    ~GuardedMemory();
    GuardedMemory(const GuardedMemory&) = delete;
    GuardedMemory& operator=(const GuardedMemory&) = delete;

    [[nodiscard]] char* begin() const noexcept { return begin_; }
    [[nodiscard]] std::size_t bytes() const noexcept { return bytes_; }
    // Fills it with 0xff: NaN in every element type.
    void poison() noexcept;
    // True for the memory itself and for the guards around it.
    [[nodiscard]] bool surrounds(const void* address) const noexcept;
    [[nodiscard]] bool contains(const void* address, std::size_t bytes) const noexcept;
    // The memory starts at a multiple of 16 and ends, but for that, at the end of a page, so some bytes around it do
    // not fault. The first of those that was written since poison(), or null.
    [[nodiscard]] const char* written_margin() const noexcept;

private:
    void* mapping_ = nullptr;
    std::size_t mapped_ = 0;
    char* usable_ = nullptr;
    std::size_t usable_bytes_ = 0;
    char* begin_ = nullptr;
    std::size_t bytes_ = 0;
};

}  // namespace convt_jit::sim

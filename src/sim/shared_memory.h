// SharedMemory: the shared memory of a block, between ranges that fault.
#pragma once

#include <cstddef>

namespace convt_jit::sim {

class SharedMemory {
public:
    explicit SharedMemory(std::size_t bytes);
    ~SharedMemory();
    SharedMemory(const SharedMemory&) = delete;
    SharedMemory& operator=(const SharedMemory&) = delete;

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

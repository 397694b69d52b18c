// Memory: device buffers, and streams and events for tools and tests.
#pragma once

#include "driver/capture.h"
#include "driver/context.h"

#include <cstddef>

using CUevent = struct CUevent_st*;

namespace convt_jit::driver {

// Each copy or fill waits for everything that the device was given before, and is complete when it returns.
class DeviceMemory {
public:
    DeviceMemory(int ordinal, std::size_t bytes);
    DeviceMemory(const Context& context, std::size_t bytes);
    ~DeviceMemory();
    DeviceMemory(const DeviceMemory&) = delete;
    DeviceMemory& operator=(const DeviceMemory&) = delete;
    [[nodiscard]] void* data() const noexcept { return data_; }
    void upload(const void* host, std::size_t bytes) const;
    void download(void* host, std::size_t bytes) const;
    // Copies of the pattern up to so many bytes.
    void repeat(const void* pattern, std::size_t pattern_bytes, std::size_t bytes) const;
    void fill(unsigned char value, std::size_t bytes) const;
    void fill(unsigned char value, std::size_t bytes, CUstream stream) const;
    void copy_from(const DeviceMemory& source, std::size_t bytes, CUstream stream) const;

private:
    Context context_;
    void* data_ = nullptr;
};

class OwnStream {
public:
    explicit OwnStream(int ordinal);
    ~OwnStream();
    OwnStream(const OwnStream&) = delete;
    OwnStream& operator=(const OwnStream&) = delete;
    [[nodiscard]] CUstream handle() const noexcept { return stream_; }
    [[nodiscard]] const Context& context() const noexcept { return context_; }
    void synchronize() const;

private:
    Context context_;
    CUstream stream_ = nullptr;
};

class EventPair {
public:
    explicit EventPair(int ordinal);
    ~EventPair();
    EventPair(const EventPair&) = delete;
    EventPair& operator=(const EventPair&) = delete;
    void start(CUstream stream);
    void stop(CUstream stream);
    [[nodiscard]] double milliseconds() const;

private:
    Context context_;
    CUevent start_ = nullptr, stop_ = nullptr;
};

}  // namespace convt_jit::driver

#include "convt_jit/device.h"

#include "convt_jit/error.h"
#include "convt_jit/tuning.h"
#include "driver/graph.h"
#include "driver/memory.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <memory>
#include <new>
#include <optional>
#include <utility>

namespace convt_jit {
namespace {

// As cuMemAlloc aligns, so that the simulator takes the same paths.
constexpr std::align_val_t kAlignment{256};

void require_size(std::size_t given, std::size_t buffer) {
    if (given != buffer) throw LayerError("bytes", std::to_string(given), fmt::format("the buffer's {}", buffer));
}

class HostMemory {
public:
    explicit HostMemory(std::size_t bytes) : data_(::operator new(bytes, kAlignment)) {}
    ~HostMemory() { ::operator delete(data_, kAlignment); }
    HostMemory(const HostMemory&) = delete;
    HostMemory& operator=(const HostMemory&) = delete;
    [[nodiscard]] void* data() const noexcept { return data_; }
    void upload(const void* host, std::size_t bytes) const { std::memcpy(data_, host, bytes); }
    void download(void* host, std::size_t bytes) const { std::memcpy(host, data_, bytes); }
    void repeat(const void* pattern, std::size_t pattern_bytes, std::size_t bytes) const {
        for (std::size_t at = 0; at < bytes; at += pattern_bytes)
            std::memcpy(static_cast<char*>(data_) + at, pattern, std::min(pattern_bytes, bytes - at));
    }
    void fill(unsigned char value, std::size_t bytes) const { std::memset(data_, value, bytes); }

private:
    void* data_;
};

}  // namespace

Device Device::cuda(int ordinal) {
    (void)driver::device_facts(ordinal);  // throws where there is no such device
    return Device(ordinal);
}
Device Device::simulator() { return Device(-1); }
Device Device::best() {
    if (const int current = driver::current_device(); current >= 0) return Device(current);
    return Device(driver::device_count(nullptr) > 0 ? 0 : -1);
}
int Device::cuda_count(std::string* why) noexcept { return driver::device_count(why); }

std::string Device::name() const { return is_cuda() ? driver::device_facts(ordinal_).name : "simulator"; }
std::string Device::arch() const {
    return is_cuda() ? fmt::format("sm_{}", driver::device_facts(ordinal_).arch) : "sim";
}
std::string Device::driver_version() const { return is_cuda() ? driver::driver_version() : ""; }
int Device::multiprocessors() const { return is_cuda() ? driver::device_facts(ordinal_).multiprocessors : 1; }
std::size_t Device::l2_bytes() const { return is_cuda() ? driver::device_facts(ordinal_).l2_bytes : 0; }

GpuModel gpu_model(const Device& device) { return {device.name(), device.multiprocessors(), device.arch()}; }

struct Buffer::Impl {
    std::size_t bytes;
    std::optional<driver::DeviceMemory> device;
    std::optional<HostMemory> host;

    // Runs `use` on whichever memory it is.
    template <class Use>
    void with(const Use& use) const {
        if (device)
            use(*device);
        else
            use(*host);
    }
};

Buffer::Buffer(const Device& device, std::size_t bytes) : impl_(std::make_shared<Impl>()) {
    impl_->bytes = bytes;
    if (device.is_cuda())
        impl_->device.emplace(device.ordinal(), bytes);
    else
        impl_->host.emplace(bytes);
}
void* Buffer::data() const noexcept {
    if (!impl_) return nullptr;
    return impl_->device ? impl_->device->data() : impl_->host->data();
}
std::size_t Buffer::bytes() const noexcept { return impl_ ? impl_->bytes : 0; }
void Buffer::upload(const void* host, std::size_t bytes) const {
    require_size(bytes, this->bytes());
    if (bytes == 0) return;
    impl_->with([&](const auto& memory) { memory.upload(host, bytes); });
}
void Buffer::download(void* host, std::size_t bytes) const {
    require_size(bytes, this->bytes());
    if (bytes == 0) return;
    impl_->with([&](const auto& memory) { memory.download(host, bytes); });
}
void Buffer::copy_from(const Buffer& source, StreamHandle stream) const {
    if (source.bytes() != bytes() || source.impl_->device.has_value() != impl_->device.has_value())
        throw LayerError("source", std::to_string(source.bytes()), "a buffer of the same device and size");
    if (impl_->device)
        impl_->device->copy_from(*source.impl_->device, bytes(), static_cast<CUstream>(stream));
    else
        std::memcpy(data(), source.data(), bytes());
}
void Buffer::repeat(const void* pattern, std::size_t pattern_bytes) const {
    if (bytes() == 0) return;
    if (pattern_bytes == 0) throw LayerError("pattern_bytes", "0", "1 and more");
    impl_->with([&](const auto& memory) { memory.repeat(pattern, pattern_bytes, impl_->bytes); });
}
void Buffer::fill(unsigned char value) const {
    if (bytes() == 0) return;
    impl_->with([&](const auto& memory) { memory.fill(value, impl_->bytes); });
}
void Buffer::fill(unsigned char value, StreamHandle stream) const {
    if (bytes() == 0) return;
    if (impl_->device)
        impl_->device->fill(value, bytes(), static_cast<CUstream>(stream));
    else
        impl_->host->fill(value, bytes());
}

struct Stream::Impl {
    std::optional<driver::OwnStream> stream;
};
Stream::Stream(const Device& device) : impl_(std::make_shared<Impl>()) {
    if (device.is_cuda()) impl_->stream.emplace(device.ordinal());
}
StreamHandle Stream::handle() const noexcept { return impl_->stream ? impl_->stream->handle() : nullptr; }
void Stream::synchronize() const {
    if (impl_->stream) impl_->stream->synchronize();
}

struct Recording::Impl {
    std::optional<Stream> stream;
    std::function<void()> enqueue;  // on the simulator
    std::optional<driver::Graph> graph;
};
Recording::Recording(const Stream& stream, const std::function<void()>& enqueue) {
    auto impl = std::make_shared<Impl>();
    impl->stream = stream;
    if (stream.impl_->stream)
        impl->graph.emplace(stream.impl_->stream->context(), stream.impl_->stream->handle(), enqueue);
    else
        impl->enqueue = enqueue;
    impl_ = std::move(impl);
}
void Recording::replay() const {
    if (impl_->graph)
        impl_->graph->launch(impl_->stream->impl_->stream->handle());
    else
        impl_->enqueue();
}

struct Timer::Impl {
    std::optional<driver::EventPair> events;
    std::chrono::steady_clock::time_point start, stop;
};
Timer::Timer(const Device& device) : impl_(std::make_shared<Impl>()) {
    if (device.is_cuda()) impl_->events.emplace(device.ordinal());
}
void Timer::start(StreamHandle stream) {
    if (impl_->events)
        impl_->events->start(static_cast<CUstream>(stream));
    else
        impl_->start = std::chrono::steady_clock::now();
}
void Timer::stop(StreamHandle stream) {
    if (impl_->events)
        impl_->events->stop(static_cast<CUstream>(stream));
    else
        impl_->stop = std::chrono::steady_clock::now();
}
double Timer::milliseconds() const {
    if (impl_->events) return impl_->events->milliseconds();
    return std::chrono::duration<double, std::milli>(impl_->stop - impl_->start).count();
}

}  // namespace convt_jit

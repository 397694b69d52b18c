// Recordings and comparisons on a GPU: what a tuner measures with.

#include "gpu/gpu.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <stdexcept>

namespace convt_jit::test {
namespace {

bool is_poisoned(const OnDevice& data) {
    const std::vector<double> y = data.y();
    return std::all_of(y.begin(), y.end(), [](double value) { return std::isnan(value); });
}

TEST(Recording, RunsAndIsTimedWithEachReplay) {
    CONVT_NEEDS_GPUS(1);
    const Device device = Device::cuda(0);
    Engine engine = fresh_engine();
    const Kernel kernel = engine.prepare(k0(), on(device));
    const OnDevice data(device, k0());
    const auto want = reference(data.layer, data.shape, data.host);
    const Stream stream(device);
    const Buffer flush(device, std::size_t{64} << 20);
    Timer timer(device);

    const Recording recording(stream, [&] {
        flush.fill(1, stream.handle());
        timer.start(stream.handle());
        kernel.launch(data.tensors(), data.shape, stream.handle());
        timer.stop(stream.handle());
    });
    stream.synchronize();
    EXPECT_TRUE(is_poisoned(data)) << "it ran while it was recorded";
    for (int i = 0; i < 3; ++i) {
        data.poison();
        recording.replay();
        stream.synchronize();
        EXPECT_EQ(data.y(), want);
        const double ms = timer.milliseconds();
        EXPECT_GT(ms, 0);
        EXPECT_LT(ms, 100);
    }
}

TEST(Recording, TimesWhatStandsBetweenItsEventsAlone) {
    CONVT_NEEDS_GPUS(1);
    const Device device = Device::cuda(0);
    const Stream stream(device);
    const Buffer small(device, 1), large(device, std::size_t{1} << 30);
    Timer inside(device), outside(device);
    const Recording recording(stream, [&] {
        outside.start(stream.handle());
        large.fill(1, stream.handle());
        inside.start(stream.handle());
        small.fill(1, stream.handle());
        inside.stop(stream.handle());
        outside.stop(stream.handle());
    });
    for (int i = 0; i < 3; ++i) {
        recording.replay();
        stream.synchronize();
    }
    EXPECT_LT(inside.milliseconds(), outside.milliseconds() / 2);
}

TEST(Recording, AnErrorLeavesTheStreamAsItWas) {
    CONVT_NEEDS_GPUS(1);
    const Device device = Device::cuda(0);
    const Stream stream(device);
    const Buffer buffer(device, 4);
    buffer.fill(0);
    const auto fails = [&] {
        buffer.fill(1, stream.handle());
        throw std::runtime_error("not today");
    };
    EXPECT_THROW(Recording(stream, fails), std::runtime_error);
    buffer.fill(2, stream.handle());
    stream.synchronize();
    unsigned char bytes[4] = {};
    buffer.download(bytes, sizeof bytes);
    EXPECT_EQ(bytes[0], 2);
}

TEST(Recording, ABufferRepeatsAPattern) {
    CONVT_NEEDS_GPUS(1);
    const Buffer buffer(Device::cuda(0), 1000);
    buffer.repeat("0123456", 7);
    std::string bytes(buffer.bytes(), ' ');
    buffer.download(bytes.data(), bytes.size());
    for (std::size_t i = 0; i < bytes.size(); ++i) ASSERT_EQ(bytes[i], static_cast<char>('0' + i % 7)) << i;
}

void expect_as_the_host(const DeviceComparison& comparison, const std::vector<double>& numbers,
                        const std::vector<double>& want, DType dtype) {
    const Device device = Device::cuda(0);
    const std::vector<unsigned char> got = encode(dtype, numbers);
    const Buffer a(device, got.size()), b(device, want.size() * sizeof(double));
    a.upload(got.data(), got.size());
    b.upload(want.data(), b.bytes());
    const Errors host = compare(decode(dtype, got), want, dtype);
    const Errors ours = comparison.compare(a.data(), b.data(), static_cast<std::int64_t>(want.size()), dtype);
    EXPECT_EQ(ours.wrong_nonfinite, host.wrong_nonfinite) << to_string(dtype);
    EXPECT_EQ(ours.worst, host.worst) << to_string(dtype);
    EXPECT_EQ(ours.max_abs, host.max_abs) << to_string(dtype);
    if (std::isinf(host.rel_l2))
        EXPECT_EQ(ours.rel_l2, host.rel_l2) << to_string(dtype);
    else
        EXPECT_NEAR(ours.rel_l2, host.rel_l2, 1e-12 * host.rel_l2) << to_string(dtype);
}

TEST(DeviceComparison, SaysOnAGpuWhatTheHostSays) {
    CONVT_NEEDS_GPUS(1);
    const DeviceComparison comparison(Device::cuda(0));
    std::mt19937 random(1);
    std::normal_distribution<double> normal;
    for (const DType dtype : {DType::f32, DType::f16, DType::bf16})
        for (const std::size_t elements : {1U, 255U, 1'000'003U}) {
            std::vector<double> want(elements);
            for (double& w : want) w = normal(random);
            expect_as_the_host(comparison, want, want, dtype);
            std::vector<double> got = want;
            got.back() = std::nan("");  // the last one is looked at, too
            expect_as_the_host(comparison, got, want, dtype);
            got.back() = want.back() + 1;
            expect_as_the_host(comparison, got, want, dtype);
        }
    const double infinity = std::numeric_limits<double>::infinity();
    const std::vector<double> limits = {0,    infinity, -infinity, std::nan(""), 65504,   65521,    7e4, 3.3e38, 1e39,
                                        6e-8, 1e-5,     1e-40,     -1e-45,       1.2e-38, -1.3e300, 1,   -2};
    for (const DType dtype : {DType::f32, DType::f16, DType::bf16})
        for (const double got : limits)
            for (const double want : limits) expect_as_the_host(comparison, {got, 1}, {want, 1}, dtype);
}

}  // namespace
}  // namespace convt_jit::test

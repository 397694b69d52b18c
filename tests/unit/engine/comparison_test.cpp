#include "convt_jit/device.h"
#include "convt_jit/error.h"
#include "convt_jit/reference.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>

namespace convt_jit {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

// The kernel, on the simulator, says what the host says.
Errors on_device(const DeviceComparison& comparison, const std::vector<unsigned char>& got,
                 const std::vector<double>& want, DType dtype) {
    const Device device = Device::simulator();
    const Buffer a(device, got.size()), b(device, want.size() * sizeof(double));
    a.upload(got.data(), got.size());
    b.upload(want.data(), b.bytes());
    return comparison.compare(a.data(), b.data(), static_cast<std::int64_t>(want.size()), dtype);
}

void expect_same(const DeviceComparison& comparison, const std::vector<unsigned char>& got,
                 const std::vector<double>& want, DType dtype) {
    const Errors host = compare(decode(dtype, got), want, dtype), device = on_device(comparison, got, want, dtype);
    EXPECT_EQ(device.wrong_nonfinite, host.wrong_nonfinite);
    EXPECT_EQ(device.worst, host.worst);
    EXPECT_EQ(device.max_abs, host.max_abs);
    if (std::isinf(host.rel_l2))
        EXPECT_EQ(device.rel_l2, host.rel_l2);
    else
        EXPECT_NEAR(device.rel_l2, host.rel_l2, 1e-12 * host.rel_l2);
}

constexpr DType kAll[] = {DType::f32, DType::f16, DType::bf16};

TEST(DeviceComparison, AsTheHostForEveryElementOf16Bits) {
    const DeviceComparison comparison(Device::simulator());
    std::mt19937 random(1);
    for (const DType dtype : {DType::f16, DType::bf16}) {
        std::vector<unsigned char> got;
        for (unsigned bits = 0; bits < 65536; ++bits) {
            got.push_back(static_cast<unsigned char>(bits & 255));
            got.push_back(static_cast<unsigned char>(bits >> 8));
        }
        std::vector<double> want = decode(dtype, got);
        expect_same(comparison, got, want, dtype);
        for (double& w : want) w *= 1 + 1e-3 * std::normal_distribution<double>()(random);
        expect_same(comparison, got, want, dtype);
    }
}

TEST(DeviceComparison, AsTheHostForRandomNumbers) {
    const DeviceComparison comparison(Device::simulator());
    std::mt19937 random(2);
    for (const DType dtype : kAll)
        for (const int elements : {1, 2, 255, 100'003}) {
            std::vector<double> want(static_cast<std::size_t>(elements));
            for (double& w : want) w = std::normal_distribution<double>()(random);
            expect_same(comparison, encode(dtype, want), want, dtype);
        }
}

TEST(DeviceComparison, AsTheHostAtTheLimits) {
    const DeviceComparison comparison(Device::simulator());
    const std::vector<double> numbers = {0,    -0.0,   kInfinity, -kInfinity, kNaN,     65504, -65504, 65519, 65521,
                                         7e4,  -65700, 66000,     3.3e38,     -3.5e38,  1e39,  6e-8,   -3e-8, 1e-7,
                                         1e-5, 1e-40,  -1e-45,    1.2e-38,    -1.3e300, 1,     -2};
    for (const DType dtype : kAll)
        for (const double got : numbers)
            for (const double want : numbers) expect_same(comparison, encode(dtype, {got, 1}), {want, 1}, dtype);
}

TEST(Recording, TheSimulatorCallsAgain) {
    int calls = 0;
    const Recording recording(Stream(Device::simulator()), [&] { ++calls; });
    EXPECT_EQ(calls, 0);
    recording.replay();
    recording.replay();
    EXPECT_EQ(calls, 2);
}

TEST(Buffer, RepeatsAPattern) {
    const Buffer buffer(Device::simulator(), 8);
    buffer.repeat("abc", 3);
    std::string bytes(8, ' ');
    buffer.download(bytes.data(), 8);
    EXPECT_EQ(bytes, "abcabcab");
    buffer.repeat("0123456789", 10);
    buffer.download(bytes.data(), 8);
    EXPECT_EQ(bytes, "01234567");
    EXPECT_THROW(buffer.repeat("", 0), LayerError);
}

}  // namespace
}  // namespace convt_jit

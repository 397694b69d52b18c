// Sizes: nothing at all, more than a grid holds, more than 32 bits count.

#include "conformance/check.h"
#include "conformance/parallel.h"
#include "gpu/gpu.h"

#include <algorithm>

namespace convt_jit::test {
namespace {

TEST(Limits, EmptyBatchIsFine) {
    CONVT_NEEDS_GPUS(1);
    Engine engine = fresh_engine();
    const Layer layer = parse_layer("c4 o4 in8x8 k4x4 s2 p1 bias");
    EXPECT_EQ(check(engine, Device::cuda(0), layer, {0, layer.input}, 2), "");
}

TEST(Limits, BatchesAndSizesBeyondTheGrid) {
    CONVT_NEEDS_GPUS(1);
    Engine engine = fresh_engine();
    for (const char* text : {"n70001 c1 o1 in1x8 k1x5 s1x2 p0x2 op0x1", "n3 c70001 o70001 in3 k3 s2 g70001",
                             "n1 c1 o2 in66000x3 k3x2 s2x1 p1x0", "n1 c1 o1 in3x3x70000 k1x2x3 s1x2x2",
                             "n1 c2 o70000 in2x3 k2x2 s2 f16", "n1 c1 o1 in70000x2x2 k2 s2 nhwc"}) {
        const Layer layer = parse_layer(text);
        EXPECT_EQ(check(engine, Device::cuda(0), layer, known_shape(layer), 2), "");
    }
}

TEST(Limits, OneKernelServesManyShapes) {
    CONVT_NEEDS_GPUS(1);
    Engine engine = fresh_engine();
    const Layer layer = parse_layer("c5 o6 k3x4 s2x3 p1x0 bias f16");
    for (const Shape& shape : {Shape{1, {1, 1}}, {3, {2, 129}}, {2, {64, 3}}, {7, {31, 33}}, {1, {200, 300}}}) {
        RunOptions options;
        options.forget_sizes = true;
        EXPECT_EQ(check(engine, Device::cuda(0), layer, shape, 3, {}, options), "");
    }
}

// Depthwise with kernel = stride: each output is one product of small integers, so any of them can be told.
class Huge {
public:
    Huge(std::int64_t channels, std::int64_t rows, std::int64_t columns)
        : layer_(Layer::make(channels, channels, {2, 2})), channels_(channels), rows_(rows), columns_(columns) {
        layer_.groups = channels;
        layer_.stride = {2, 2};
        layer_.dtype = DType::f16;
        layer_.batch = 1;
        layer_.input = {rows, columns};
    }
    [[nodiscard]] const Layer& layer() const { return layer_; }
    [[nodiscard]] static int x(std::int64_t i) {
        return static_cast<int>(static_cast<std::uint64_t>(i) * 2654435761U >> 7 & 15) - 7;
    }
    [[nodiscard]] static int w(std::int64_t i) { return static_cast<int>(i % 5) - 2; }
    [[nodiscard]] int y(std::int64_t i) const {
        const std::int64_t column = i % (2 * columns_), row = i / (2 * columns_) % (2 * rows_),
                           c = i / (4 * columns_ * rows_);
        return x((c * rows_ + row / 2) * columns_ + column / 2) * w(c * 4 + row % 2 * 2 + column % 2);
    }

private:
    Layer layer_;
    std::int64_t channels_, rows_, columns_;
};

std::vector<unsigned char> filled(std::int64_t count, int (*value)(std::int64_t)) {
    std::vector<unsigned char> codes;  // the f16 codes of -7 to 8
    for (int v = -7; v <= 8; ++v) {
        const auto one = encode(DType::f16, {static_cast<double>(v)});
        codes.insert(codes.end(), one.begin(), one.end());
    }
    std::vector<unsigned char> bytes(static_cast<std::size_t>(count) * 2);
    parallel(64, static_cast<int>(std::thread::hardware_concurrency()), [&](std::size_t part) {
        for (auto i = count * static_cast<std::int64_t>(part) / 64;
             i < count * static_cast<std::int64_t>(part + 1) / 64; ++i) {
            std::copy_n(codes.begin() + (value(i) + 7) * 2, 2, bytes.begin() + i * 2);
        }
    });
    return bytes;
}

TEST(Limits, SampleOfMoreThan32BitsOfElements) {
    CONVT_NEEDS_GPUS(1);
    const Device device = Device::cuda(0);
    const Huge huge(17, 5800, 5500);  // y: 2.17e9 elements
    const Layer& layer = huge.layer();
    const Shape shape = known_shape(layer);
    const Sizes count = sizes(layer, shape);
    ASSERT_GT(count.y, std::int64_t{1} << 31);

    Engine engine = fresh_engine();
    const Kernel kernel = engine.prepare(layer, on(device));
    std::size_t free = 0, total = 0;
    CUcontext context = nullptr;
    const CudaDriver& driver = CudaDriver::instance();
    must(driver.primary_retain(&context, 0), "cuDevicePrimaryCtxRetain");
    must(driver.ctx_set_current(context), "cuCtxSetCurrent");
    must(driver.mem_get_info(&free, &total), "cuMemGetInfo");
    const auto bytes = static_cast<std::size_t>(count.x + count.y) * 2;
    if (free < bytes + (std::size_t{1} << 28))
        GTEST_SKIP() << "needs " << bytes << " bytes of device memory, free are " << free;

    const auto x_bytes = filled(count.x, Huge::x), w_bytes = filled(count.w, Huge::w);
    const Buffer x(device, x_bytes.size()), w(device, w_bytes.size()), y(device, static_cast<std::size_t>(count.y) * 2);
    x.upload(x_bytes.data(), x_bytes.size());
    w.upload(w_bytes.data(), w_bytes.size());
    y.fill(0xFF);
    Tensors tensors;
    tensors.x = x.data();
    tensors.w = w.data();
    tensors.y = y.data();
    kernel.launch(tensors, shape);

    // Every 64th stretch of 4096 elements, the first and the last, and those around 2^31.
    constexpr std::int64_t kStretch = 4096;
    std::vector<std::int64_t> starts = {0, count.y - kStretch, (std::int64_t{1} << 31) - kStretch / 2};
    for (std::int64_t at = 0; at + kStretch <= count.y; at += 64 * kStretch) starts.push_back(at);
    std::vector<unsigned char> got(kStretch * 2);
    for (const std::int64_t start : starts) {
        must(driver.memcpy_to_host(got.data(), address(y.data()) + static_cast<CUdeviceptr>(start) * 2, got.size()),
             "cuMemcpyDtoH");
        const auto values = decode(DType::f16, got);
        for (std::int64_t i = 0; i < kStretch; ++i) {
            ASSERT_EQ(values[static_cast<std::size_t>(i)], huge.y(start + i)) << "y[" << start + i << "]";
        }
    }
    must(driver.ctx_set_current(nullptr), "cuCtxSetCurrent");
    driver.primary_release(0);
}

}  // namespace
}  // namespace convt_jit::test

// templates/device/hopper.cuh and wgmma.mustache, run by the simulator.
#include "../templates/device/args.cuh"
#include "convt_jit/error.h"
#include "convt_jit/reference.h"
#include "render/wgmma.h"
#include "sim/program.h"
#include "unit/sim/kernel.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

namespace convt_jit::sim {
namespace {

using testing::HasSubstr;

struct Bench {
    std::vector<float> x = std::vector<float>(4096), y = std::vector<float>(64 * 16);
    std::vector<unsigned char> narrow;  // instead of x

    void launch(int dtype, const std::string& body, unsigned threads) {
        const Program program(kernel_source(device_piece("hopper.cuh") + render_wgmma(16) +
                                                "extern \"C\" __global__ void kernel(const ConvtArgs args) {\n"
                                                "const int t = threadIdx.x;\n"
                                                "char* const s = shared_memory();\n"
                                                "const unsigned at = shared_address(s);\n"
                                                "[[maybe_unused]] const float* x = static_cast<const float*>(args.x);\n"
                                                "[[maybe_unused]] float* y = static_cast<float*>(args.y);\n" +
                                                body + "\n}\n",
                                            {.dtype = dtype}));
        ConvtArgs args{};
        args.x = narrow.empty() ? static_cast<const void*>(x.data()) : narrow.data();
        args.y = y.data();
        LaunchOptions options;
        options.threads = threads;
        options.shared_bytes = 16384;
        options.ranges = {{args.x, narrow.empty() ? x.size() * 4 : narrow.size(), false, "x"},
                          {y.data(), y.size() * 4, true, "y"}};
        program.launch(options, &args);
    }
    std::string complaint(const std::string& body, unsigned threads = 32) {
        try {
            launch(0, body, threads);
        } catch (const SimulatorError& error) {
            return error.what();
        }
        return "";
    }
};

double number(int row, int column) { return (row * 7 + column * 5) % 13 - 6; }

// 64 rows of a and 16 columns of b, two cells each, cells of a row one after the other; then groups that are committed
// and waited for as a ring of stages has them, so that operands are read at once and late.
TEST(Hopper, AWarpgroupMultiplies) {
    for (const DType dtype : {DType::f32, DType::f16, DType::bf16}) {
        const int depth = dtype == DType::f32 ? 8 : 16;
        std::vector<double> values;
        for (int row = 0; row < 80; ++row)
            for (int k = 0; k < depth; ++k) values.push_back(number(row, k));
        Bench run;
        run.narrow = encode(dtype, values);
        run.launch(static_cast<int>(dtype), R"(
    for (int i = t; i < 80 * 32; i += 128) s[i] = static_cast<const char*>(args.x)[i];
    __syncthreads();
    // Rows lie 32 bytes apart here, so blocks of 8 rows are gathered: [half][row].
    char* const cells = s + 4096;
    for (int i = t; i < 80 * 2; i += 128)
        for (int b = 0; b < 16; ++b) {
            const int row = i / 2, half = i % 2;
            char* const target = row < 64 ? cells + (half * 64 + row) * 16 : cells + 2048 + (half * 16 + row - 64) * 16;
            target[b] = s[row * 32 + half * 16 + b];
        }
    publish_to_tensor_cores();
    __syncthreads();
    float sums[8];
    const auto a = operand(shared_address(cells), 64 * 16), b = operand(shared_address(cells + 2048), 16 * 16);
    products_begin();
    for (int group = 0; group < 3; ++group) {
        wgmma<Element, 128, 128>(sums, a, b, group);
        products_commit();
        products_wait<1>();
    }
    products_wait<0>();
    for (int i = 0; i < 8; ++i)
        y[(t / 32 * 16 + t % 32 / 4 + i / 2 % 2 * 8) * 16 + i / 4 * 8 + t % 4 * 2 + i % 2] = sums[i];
)",
                   128);
        for (int row = 0; row < 64; ++row)
            for (int column = 0; column < 16; ++column) {
                double want = 0;
                for (int k = 0; k < depth; ++k) want += 3 * number(row, k) * number(64 + column, k);
                ASSERT_EQ(run.y[static_cast<std::size_t>(row * 16 + column)], want) << row << " " << column;
            }
    }
}

// One thread brings bytes, a warp waits for them, and tells by another barrier that it has them, three times.
constexpr const char* kRing = R"(
    const unsigned full = at, empty = at + 8;
    if (t == 0) barrier_init(full, 1), barrier_init(empty, 32);
    __syncthreads();
    if (t == 32) {
        for (int i = 0; i < 3; ++i) {
            barrier_wait(empty, i % 2 ^ 1);
            barrier_arrive_expecting(full, BYTES);
            copy_bulk(at + 64, x + i * 32, 128, full);
        }
    } else if (t < 32) {
        for (int i = 0; i < 3; ++i) {
            barrier_wait(full, i % 2);
            y[i * 32 + t] = reinterpret_cast<const float*>(s + 64)[t];
            barrier_arrive(empty);
        }
    }
)";

TEST(Hopper, BulkCopiesArriveAtBarriers) {
    Bench run;
    for (int i = 0; i < 96; ++i) run.x[static_cast<std::size_t>(i)] = static_cast<float>(i);
    run.launch(0, "constexpr int BYTES = 128;" + std::string(kRing), 33);
    for (int i = 0; i < 96; ++i) EXPECT_EQ(run.y[static_cast<std::size_t>(i)], i);
}

TEST(Hopper, SaysWhoWaitsForNothing) {
    Bench run;
    EXPECT_THAT(run.complaint("constexpr int BYTES = 144;" + std::string(kRing), 33),
                HasSubstr("waits for the end of a phase of a barrier in shared memory (device/hopper.cuh:"));
}

TEST(Hopper, SaysWhatIsWrongWithABarrier) {
    Bench run;
    EXPECT_THAT(run.complaint("barrier_arrive(at + 8 * t);"),
                HasSubstr("thread 0: barrier_arrive: no barrier, at offset 0"));
    EXPECT_THAT(run.complaint("if (t == 0) barrier_init(at + 4, 1);"), HasSubstr("barrier_init: not 8 bytes"));
    EXPECT_THAT(run.complaint("if (t == 0) barrier_init(at + 16384, 1);"), HasSubstr("0 bytes past its end"));
    EXPECT_THAT(run.complaint("if (t == 0) barrier_init(at, 1);\n__syncwarp();\n"
                              "if (t == 0) barrier_arrive_expecting(at, 16);\nbarrier_arrive(at);"),
                HasSubstr("more arrivals than the barrier counts"));
    // What the kernel writes over is no barrier any more.
    EXPECT_THAT(run.complaint("if (t == 0) barrier_init(at, 2);\n__syncwarp();\n"
                              "reinterpret_cast<float*>(s)[t] = -1.0f;\nbarrier_wait(at, 0);"),
                HasSubstr("barrier_wait: no barrier"));
    const std::string init = "if (t == 0) barrier_init(at, 1);\n__syncwarp();\n";
    EXPECT_THAT(run.complaint(init + "copy_bulk(at + 8, x, 16, at);"), HasSubstr("copy_bulk of 16 bytes"));
    EXPECT_THAT(run.complaint(init + "copy_bulk(at + 16368, x, 32, at);"), HasSubstr("copy_bulk of 32 bytes"));
    EXPECT_THAT(run.complaint(init + "copy_bulk(at + 16, x + 4092, 32, at);"), HasSubstr("past the end of x"));
}

}  // namespace
}  // namespace convt_jit::sim

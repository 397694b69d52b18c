#include "sim/program.h"

#include "../templates/device/args.cuh"
#include "convt_jit/error.h"
#include "sim/guarded_memory.h"
#include "unit/sim/kernel.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <numeric>
#include <optional>

namespace convt_jit::sim {
namespace {

using Order = LaunchOptions::Order;

// A tensor that no other one lies next to.
class Tensor {
public:
    explicit Tensor(std::size_t count) : memory_(4 * count), count_(count) { memory_.poison(); }

    [[nodiscard]] float* data() const { return reinterpret_cast<float*>(memory_.begin()); }
    [[nodiscard]] float* begin() const { return data(); }
    [[nodiscard]] float* end() const { return data() + count_; }
    [[nodiscard]] float operator[](std::size_t i) const { return data()[i]; }

private:
    GuardedMemory memory_;
    std::size_t count_;
};

// One launch over x (read-only, 1, 2, 3, ...) and y (writable, NaN).
struct Launch {
    Tensor x, y;
    LaunchOptions options;

    Launch(std::size_t x_count, std::size_t y_count, std::uint32_t blocks, std::uint32_t threads,
           std::size_t shared_bytes = 0)
        : x(x_count), y(y_count) {
        std::iota(x.begin(), x.end(), 1.0F);
        options.grid[0] = blocks;
        options.threads = threads;
        options.shared_bytes = shared_bytes;
        options.ranges = {{x.data(), 4 * x_count, false, "x"}, {y.data(), 4 * y_count, true, "y"}};
    }
    void launch(const Program& program) {
        ConvtArgs args{};
        args.x = x.data();
        args.y = y.data();
        program.launch(options, &args);
    }
    // What the launch complains of; empty where it does not.
    std::string complaint(const Program& program) {
        try {
            launch(program);
        } catch (const SimulatorError& error) {
            return error.what();
        }
        return "";
    }
};

Program program(const std::string& statements) {
    return Program(
        kernel_source("extern \"C\" __global__ void kernel(const ConvtArgs args) {\n"
                      "const float* x = static_cast<const float*>(args.x);\n"
                      "float* y = static_cast<float*>(args.y);\n"
                      "const int t = threadIdx.x, i = blockIdx.x * blockDim.x + t;\n"
                      "float* s = reinterpret_cast<float*>(shared_memory());\n"
                      "#line 1 \"body.cu\"\n" +
                      statements + "\n}\n"));
}

bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }
#define EXPECT_CONTAINS(text, part) EXPECT_TRUE(contains(text, part)) << "in: " << (text) << "\nmissing: " << (part)

TEST(Program, RunsEveryThreadOfEveryBlock) {
    const Program add = program("store_global(y + i, load_global(x + i) + 0.5f);");
    for (const Order order : {Order::ascending, Order::descending, Order::shuffled}) {
        Launch run(1000, 1000, 10, 100);
        run.options.order = order;
        run.launch(add);
        for (std::size_t i = 0; i < 1000; ++i) ASSERT_EQ(run.y[i], run.x[i] + 0.5F) << i;
    }
}

TEST(Program, RunsTheOtherKernelsOfASource) {
    Source source = kernel_source(
        "extern \"C\" __global__ void kernel(const ConvtArgs args) { store_global(static_cast<float*>(args.y), 1.0f); "
        "}\n"
        "extern \"C\" __global__ void second(const PackArgs args) {\n"
        "store_global(static_cast<float*>(args.packed), load_global(static_cast<const float*>(args.w)) + 1.0f); }\n");
    source.others = {"second"};
    const Program both(source);
    Launch run(1, 1, 1, 1);
    run.launch(both);
    EXPECT_EQ(run.y[0], 1.0F);
    run.options.which = 1;
    const PackArgs args{run.x.data(), run.y.data()};
    both.launch(run.options, &args);
    EXPECT_EQ(run.y[0], 2.0F);
    run.options.threads = 2000;
    EXPECT_CONTAINS(run.complaint(both), "kernel second");
}

TEST(Program, KnowsThreeDimensionalGrids) {
    const Program indices = program(
        "const unsigned b = (blockIdx.z * gridDim.y + blockIdx.y) * gridDim.x + blockIdx.x;\n"
        "store_global(y + b * blockDim.x + t, 100.f * blockIdx.x + 10.f * blockIdx.y + blockIdx.z);");
    Launch run(1, 2 * 3 * 4 * 5, 2, 5);
    run.options.grid[1] = 3;
    run.options.grid[2] = 4;
    run.launch(indices);
    for (int b = 0; b < 24; ++b)
        for (int t = 0; t < 5; ++t)
            EXPECT_EQ(run.y[static_cast<std::size_t>(b * 5 + t)],
                      static_cast<float>(100 * (b % 2) + 10 * (b / 2 % 3) + b / 6));
}

constexpr const char* kTranspose =
    "for (int row = 0; row < 16; ++row) s[row * 16 + t] = load_global(x + row * 16 + t);\n"
    "__syncthreads();\n"
    "for (int row = 0; row < 16; ++row) store_global(y + row * 16 + t, s[t * 16 + row]);";

TEST(Program, SharesMemoryBetweenBarriers) {
    const Program transpose = program(kTranspose);
    for (const Order order : {Order::ascending, Order::descending, Order::shuffled}) {
        Launch run(256, 256, 1, 16, 1024);
        run.options.order = order;
        run.launch(transpose);
        for (std::size_t row = 0; row < 16; ++row)
            for (std::size_t column = 0; column < 16; ++column)
                ASSERT_EQ(run.y[row * 16 + column], run.x[column * 16 + row]);
    }
}

TEST(Program, AnotherOrderShowsAMissingBarrier) {
    const Program racy = program("s[t] = load_global(x + t);\nstore_global(y + t, s[(t + 1) % 32]);");
    Launch ascending(32, 32, 1, 32, 128), descending(32, 32, 1, 32, 128);
    descending.options.order = Order::descending;
    ascending.launch(racy);
    descending.launch(racy);
    EXPECT_TRUE(std::isnan(ascending.y[0]));  // read before it was written: poison
    EXPECT_EQ(descending.y[0], 2.0F);
}

TEST(Program, ShuffledOrdersDependOnTheSeedAlone) {
    const Program last_wins = program("store_global(y, float(i));");
    const auto result = [&](std::uint64_t seed) {
        Launch run(1, 1, 8, 64);
        run.options.order = Order::shuffled;
        run.options.seed = seed;
        run.launch(last_wins);
        return run.y[0];
    };
    EXPECT_EQ(result(1), result(1));
    EXPECT_FALSE(result(1) == result(2) && result(2) == result(3) && result(3) == result(4));
}

TEST(Program, WarpBarrierWaitsForTheWarp) {
    const Program neighbours = program(
        "s[t] = load_global(x + t);\n__syncwarp();\n"
        "store_global(y + t, s[t ^ 31]);\n__syncthreads();");
    for (const Order order : {Order::ascending, Order::descending, Order::shuffled}) {
        Launch run(64, 64, 1, 64, 256);
        run.options.order = order;
        run.launch(neighbours);
        for (std::size_t i = 0; i < 64; ++i) ASSERT_EQ(run.y[i], run.x[i ^ 31]);
    }
}

TEST(Program, WarpBarrierKeepsToItsMask) {
    const Program half =
        program("if (t < 16) {\ns[t] = load_global(x + t);\n__syncwarp(0xffff);\nstore_global(y + t, s[15 - t]);\n}");
    Launch run(32, 16, 1, 32, 64);
    run.launch(half);
    for (std::size_t i = 0; i < 16; ++i) EXPECT_EQ(run.y[i], run.x[15 - i]);
}

TEST(Program, PoisonsSharedMemoryBeforeEachBlock) {
    const Program stale = program("const float old = s[t];\ns[t] = 1;\nstore_global(y + i, old);");
    Launch run(1, 96, 3, 32, 128);
    std::fill(run.y.begin(), run.y.end(), 0.0F);
    run.launch(stale);
    for (const float value : run.y) EXPECT_TRUE(std::isnan(value));
}

TEST(Program, ReportsAReadPastATensor) {
    const Program off_by_some = program("store_global(y + i, load_global(x + i + (i == 70 ? 33 : 0)));");
    Launch run(100, 100, 2, 50);
    const std::string complaint = run.complaint(off_by_some);
    EXPECT_CONTAINS(complaint, "kernel kernel, block (1, 0, 0), thread 20: read of 4 bytes");
    EXPECT_CONTAINS(complaint, "starts 12 bytes past the end of x (400 bytes)");
    EXPECT_TRUE(std::isnan(run.y[70]));
}

TEST(Program, ReportsAReadBeforeATensor) {
    Launch run(100, 100, 1, 32);
    EXPECT_CONTAINS(run.complaint(program("store_global(y + i, load_global(x + i - 1));")),
                    "thread 0: read of 4 bytes");
    EXPECT_CONTAINS(run.complaint(program("store_global(y + i, load_global(x + i - 1));")), "starts 4 bytes before x");
}

TEST(Program, ReportsAVectorThatRunsPastATensor) {
    Launch run(30, 32, 1, 8);
    const std::string complaint =
        run.complaint(program("store_global((Vector<float, 4>*)y + t, load_global((const Vector<float, 4>*)x + t));"));
    EXPECT_CONTAINS(complaint, "thread 7: read of 16 bytes");
    EXPECT_CONTAINS(complaint, "runs 8 bytes past the end of x (120 bytes)");
}

TEST(Program, ReportsAWriteOutOfBounds) {
    Launch run(32, 31, 1, 32);
    const std::string complaint = run.complaint(program("store_global(y + i, 1.0f);"));
    EXPECT_CONTAINS(complaint, "thread 31: write of 4 bytes");
    EXPECT_CONTAINS(complaint, "starts 0 bytes past the end of y (124 bytes)");
}

TEST(Program, ReportsAWriteToAReadOnlyTensor) {
    Launch run(32, 32, 1, 32);
    EXPECT_CONTAINS(run.complaint(program("if (t == 3) store_global(const_cast<float*>(x) + i, 1.0f);")),
                    "thread 3: write of 4 bytes");
    EXPECT_CONTAINS(run.complaint(program("store_global(const_cast<float*>(x) + 2, 1.0f);")),
                    "at offset 8 of x (128 bytes), which is read-only");
    EXPECT_EQ(run.x[2], 3.0F);
}

TEST(Program, ReportsAGlobalAccessThatIsNotAligned) {
    Launch run(32, 32, 1, 1);
    EXPECT_CONTAINS(run.complaint(program("store_global((Vector<float, 4>*)(y + 1), Vector<float, 4>{});")),
                    "which is no multiple of 16");
}

TEST(Program, ReportsANullPointer) {
    Launch run(32, 32, 1, 1);
    EXPECT_CONTAINS(run.complaint(program("store_global(y, load_global(args.scale));")), "a null pointer");
}

TEST(Program, AllowsAnOutputThatIsAlsoTheResidual) {
    Launch run(1, 32, 1, 32);
    std::fill(run.y.begin(), run.y.end(), 2.0F);
    run.options.ranges.insert(run.options.ranges.begin(), {run.y.data(), 128, false, "residual"});
    run.launch(program("store_global(y + i, load_global_coherent(y + i) + 1);"));
    for (const float value : run.y) EXPECT_EQ(value, 3.0F);
}

TEST(Program, ReportsSharedMemoryOverflow) {
    const Program overflow = program("s[t] = 1;");
    Launch run(1, 1, 2, 33, 128);
    const std::string complaint = run.complaint(overflow);
    EXPECT_CONTAINS(complaint, "block (0, 0, 0), thread 32");
    EXPECT_CONTAINS(complaint, "at offset 128 of shared memory, 0 bytes past its end (128 bytes)");
    EXPECT_CONTAINS(run.complaint(program("if (t == 2) s[100000] = 1;")), "thread 2: access at offset 400000");
    EXPECT_CONTAINS(run.complaint(program("if (t == 2) s[-5000] = 1;")), "20000 bytes before shared memory");
}

TEST(Program, ReportsWritesAroundSharedMemoryThatDoNotFault) {
    Launch run(1, 1, 1, 32, 100);  // 12 bytes up to the next multiple of 16
    EXPECT_CONTAINS(run.complaint(program("if (t == 26) s[t] = 1;")), "a thread has written at offset 104 of shared");
    EXPECT_CONTAINS(run.complaint(program("if (t == 4) s[-2] = 1;")), "8 bytes before shared memory (100 bytes)");
    EXPECT_EQ(run.complaint(program("if (t < 25) s[t] = 1;")), "");
}

TEST(Program, ReportsSharedAccessThatIsNotAligned) {
    Launch run(1, 32, 1, 4, 128);
    EXPECT_CONTAINS(run.complaint(program("*(Vector<float, 4>*)(s + t) = Vector<float, 4>{};")), "thread 1");
    EXPECT_CONTAINS(run.complaint(program("(*(Vector<float, 2>*)(s + t))[0] = 1;")), "thread 1");
    EXPECT_EQ(run.complaint(program("*(Vector<float, 2>*)(s + 2 * t) = Vector<float, 2>{};")), "");
}

TEST(Program, ReportsADivergentBlockBarrier) {
    Launch run(1, 1, 3, 64);
    EXPECT_CONTAINS(run.complaint(program("if (t == 40) return;\n__syncthreads();")),
                    "block (0, 0, 0), thread 0: waits at __syncthreads (body.cu:2), but thread 40 has returned");
    EXPECT_CONTAINS(run.complaint(program("if (t < 32 && blockIdx.x == 2)\n__syncthreads();\nelse\n__syncthreads();")),
                    "block (2, 0, 0), thread 0: waits at __syncthreads (body.cu:2), but thread 32 waits at "
                    "__syncthreads (body.cu:4)");
}

TEST(Program, ReportsADivergentWarpBarrier) {
    Launch run(1, 1, 1, 64);
    EXPECT_CONTAINS(run.complaint(program("if (t != 33)\n__syncwarp();\n__syncthreads();")),
                    "thread 32: waits at __syncwarp(0xffffffff) (body.cu:2), but thread 33 waits at __syncthreads "
                    "(body.cu:3)");
}

TEST(Program, ReportsADivisionByZero) {
    Launch run(1, 32, 1, 32);
    EXPECT_CONTAINS(run.complaint(program("store_global(y + t, float(100 / (t - 7)));")), "thread 7: integer division");
}

TEST(Program, ReportsAWildPointerAndATrap) {
    Launch run(1, 32, 1, 32);
    EXPECT_CONTAINS(run.complaint(program("if (t == 5) *(volatile float*)16 = 1;")),
                    "thread 5: access to 0x10, which is neither shared memory");
    EXPECT_CONTAINS(run.complaint(program("\nif (t == 6) __trap();")), "thread 6: trap at body.cu:2");
}

TEST(Program, ReportsAStackThatIsUsedUp) {
    Launch run(1, 32, 1, 4);
    EXPECT_CONTAINS(
        run.complaint(program("volatile char big[1 << 18];\nfor (int j = (1 << 18) - 1; j >= 0; --j) big[j] = 1;")),
        "thread 0");
}

TEST(Program, RunsAgainAfterAViolation) {
    const Program sometimes = program("store_global(y + i, load_global(x + i));");
    Launch run(64, 64, 2, 32);
    run.options.ranges[0].bytes = 4 * 40;
    for (int i = 0; i < 20; ++i) EXPECT_CONTAINS(run.complaint(sometimes), "thread 8");
    run.options.ranges[0].bytes = 4 * 64;
    EXPECT_EQ(run.complaint(sometimes), "");
    EXPECT_TRUE(std::equal(run.y.begin(), run.y.end(), run.x.begin()));
}

TEST(Program, CopiesArriveAtTheWait) {
    const char* const copy =
        "copy_async<4>(s + t, x + t, t < 20);\ncopy_async_commit();\n"
        "copy_async<4>(s + 32 + t, x + 32 + t);\ncopy_async_commit();\n";
    Launch run(64, 64, 1, 32, 256);
    run.launch(program(std::string(copy) + "copy_async_wait<1>();\n__syncthreads();\n"
                                           "store_global(y + t, s[31 - t]);\nstore_global(y + 32 + t, s[63 - t]);"));
    for (std::size_t i = 0; i < 32; ++i) {
        EXPECT_EQ(run.y[31 - i], i < 20 ? run.x[i] : 0.0F);
        EXPECT_TRUE(std::isnan(run.y[63 - i]));  // the second group was not waited for
    }
    run.launch(program(std::string(copy) + "copy_async_wait<0>();\nstore_global(y + t, s[32 + t]);"));
    for (std::size_t i = 0; i < 32; ++i) EXPECT_EQ(run.y[i], run.x[32 + i]);
}

TEST(Program, ReportsACopyOutOfBounds) {
    Launch run(64, 64, 1, 32, 128);
    EXPECT_CONTAINS(run.complaint(program("copy_async<16>(s, x + 4 * t);")), "thread 16: read of 16 bytes");
    EXPECT_CONTAINS(run.complaint(program("copy_async<16>(s + 4 * t, x);")),
                    "thread 8: copy_async of 16 bytes at offset 128 of shared memory");
    EXPECT_CONTAINS(run.complaint(program("copy_async<8>(s + 1, x);")), "no multiple of that, at offset 4");
    EXPECT_EQ(run.complaint(program("copy_async<16>(s, x + 4 * t, t < 16);")), "");
}

TEST(Program, RefusesLaunchesThatNoDeviceTakes) {
    const Program nothing = program("");
    Launch run(1, 1, 1, 32);
    run.options.threads = 1025;
    EXPECT_CONTAINS(run.complaint(nothing), "threads is 1025; allowed: 1 to 1024");
    run.options.threads = 32;
    run.options.grid[1] = 65536;
    EXPECT_CONTAINS(run.complaint(nothing), "grid.y is 65536");
    run.options.grid[1] = 0;
    EXPECT_CONTAINS(run.complaint(nothing), "grid.y is 0");
}

class CompilerChoice : public testing::Test {
protected:
    void SetUp() override {
        if (const char* value = std::getenv("CXX")) cxx_ = value;
        if (const char* value = std::getenv("PATH")) path_ = value;
    }
    void TearDown() override {
        cxx_ ? setenv("CXX", cxx_->c_str(), 1) : unsetenv("CXX");
        setenv("PATH", path_.c_str(), 1);
    }
    static std::string failure() {
        try {
            const Program never_seen = program("// " + std::to_string(testing::UnitTest::GetInstance()->random_seed()) +
                                               testing::UnitTest::GetInstance()->current_test_info()->name());
        } catch (const CompileError& error) {
            return error.what();
        }
        return "";
    }

private:
    std::optional<std::string> cxx_;
    std::string path_;
};

TEST_F(CompilerChoice, SaysWhatToInstallWhereThereIsNone) {
    unsetenv("CXX");
    setenv("PATH", "/nonexistent", 1);
    EXPECT_CONTAINS(failure(), "apt-get install g++");
}

TEST_F(CompilerChoice, NamesACompilerThatIsNotThere) {
    setenv("CXX", "no-such-compiler -m64", 1);
    EXPECT_CONTAINS(failure(), "$CXX names no-such-compiler");
}

TEST_F(CompilerChoice, TakesACommandWithArguments) {
    setenv("CXX", "env c++", 1);
    EXPECT_EQ(failure(), "");
}

TEST(CompileForHost, TellsWhereASourceDoesNotCompile) {
    try {
        const Program broken = program("\nint a = no_such_name;");
        FAIL() << "compiled";
    } catch (const CompileError& error) {
        EXPECT_CONTAINS(error.details().log, "body.cu:2");
        EXPECT_CONTAINS(error.details().log, "no_such_name");
        EXPECT_CONTAINS(error.details().constants, "DTYPE");
        EXPECT_EQ(error.details().arch, "host");
        ASSERT_TRUE(std::filesystem::exists(error.details().source_path));
        std::filesystem::remove_all(std::filesystem::path(error.details().source_path).parent_path());
    }
}

}  // namespace
}  // namespace convt_jit::sim

// What a launch gives the driver to do where blocks share the sums of a tile. On a driver that has no GPU behind it.
#include "convt_jit/convt_jit.h"
#include "unit/driver/fake.h"

#include <string>

namespace convt_jit {
namespace {

class PartialSums : public test::FakeDriver {
protected:
    void launch(std::int64_t batch, StreamHandle stream) {
        Tensors tensors;
        tensors.x = tensors.w = memory_;
        tensors.y = memory_;
        tensors.weights_version = 1;
        kernel_.launch(tensors, {batch, {8, 32}}, stream);
    }
    // The workspace of one launch, after a look at its kernels.
    const void* workspace_of(std::int64_t batch, StreamHandle stream) {
        (void)fake.take_launches();
        launch(batch, stream);
        const auto launches = fake.take_launches();
        EXPECT_GE(launches.size(), 2u);
        const auto &main = launches[launches.size() - 2], &reduce = launches.back();
        EXPECT_EQ(reduce.function, main.function + "_reduce");
        EXPECT_EQ(main.workspace, reduce.workspace);
        EXPECT_NE(main.workspace, nullptr);
        return main.workspace;
    }

    Layer layer_ = parse_layer("n1 c32 o20 in8x32 k3x3");
    alignas(16) float memory_[4] = {};
    const StreamHandle a_ = reinterpret_cast<StreamHandle>(0xa000), b_ = reinterpret_cast<StreamHandle>(0xb000);
    Engine engine_{EngineOptions{""}};
    Kernel kernel_ = engine_.prepare(
        layer_,
        {Device::cuda(0), "implicit_gemm positions=4x32 block_channels=32 warps_m=2 warps_n=2 chunk=8 stages=2 split=2",
         false, Policy::wait});
};

TEST_F(PartialSums, AreAddedByAKernelThatFollows) {
    launch(3, a_);
    const auto launches = fake.take_launches();
    ASSERT_EQ(launches.size(), 3u);
    const std::string& main = launches[1].function;
    EXPECT_EQ(launches[0].function, main + "_pack");
    EXPECT_EQ(launches[2].function, main + "_reduce");
    EXPECT_EQ(launches[1].grid[2], 3u * 2) << "two blocks for a tile";
    EXPECT_EQ(launches[2].grid[0], (3u * 20 * 10 * 34 + 1023) / 1024);
    EXPECT_EQ(launches[2].threads, 256u);
    for (const auto& one : launches) EXPECT_EQ(one.stream, a_);
    EXPECT_EQ(kernel_.workspace_bytes({3, {8, 32}}), 2u * 4 * 3 * 20 * 10 * 34);
    EXPECT_EQ(engine_.prepare(layer_, {Device::cuda(0), "direct", false, Policy::wait}).workspace_bytes({3, {8, 32}}),
              0u);
    EXPECT_THROW((void)kernel_.workspace_bytes({3, {8}}), LayerError);
}

TEST_F(PartialSums, AWorkspaceGrows) {
    const void* const first = workspace_of(2, a_);
    const std::size_t before = fake.allocations();
    EXPECT_EQ(workspace_of(1, a_), first);
    EXPECT_EQ(workspace_of(2, a_), first);
    const void* const larger = workspace_of(5, a_);
    EXPECT_EQ(workspace_of(2, a_), larger);
    EXPECT_EQ(fake.allocations(), before) << "the small one was given back";
    EXPECT_NE(workspace_of(2, b_), larger);
    EXPECT_EQ(fake.allocations(), before + 2) << "packed weights and a workspace for the other stream";
}

TEST_F(PartialSums, ACaptureHasAWorkspaceOfItsOwn) {
    const void* const outside = workspace_of(1, a_);
    fake.begin_capture(static_cast<CUstream>(a_), CU_STREAM_CAPTURE_MODE_GLOBAL);
    const void* const first = workspace_of(1, a_);
    EXPECT_NE(first, outside) << "a graph runs when it likes";
    EXPECT_EQ(workspace_of(1, a_), first);
    const std::size_t before = fake.allocations();
    const void* const larger = workspace_of(4, a_);
    EXPECT_NE(larger, first);
    EXPECT_EQ(fake.allocations(), before + 1) << "what was captured before still uses the small one";
    EXPECT_EQ(fake.end_capture(static_cast<CUstream>(a_)), CUDA_SUCCESS);
    EXPECT_EQ(workspace_of(1, a_), outside);
}

TEST_F(PartialSums, AStreamThatHasTheHandleOfAnother) {
    (void)workspace_of(1, a_);
    const std::size_t before = fake.allocations();
    fake.reuse_stream(static_cast<CUstream>(a_));
    (void)workspace_of(1, a_);
    EXPECT_EQ(fake.allocations(), before);
}

TEST_F(PartialSums, OutOfMemorySaysHowMuch) {
    launch(1, a_);
    fake.fail_next("cuMemAlloc", CUDA_ERROR_OUT_OF_MEMORY);
    try {
        launch(9, a_);
        FAIL();
    } catch (const DriverError& error) {
        const std::string wanted = "allocating " + std::to_string(kernel_.workspace_bytes({9, {8, 32}})) + " bytes";
        EXPECT_NE(std::string(error.what()).find(wanted), std::string::npos) << error.what();
    }
    (void)workspace_of(9, a_);
}

}  // namespace
}  // namespace convt_jit

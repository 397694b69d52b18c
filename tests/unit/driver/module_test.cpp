#include "driver/module.h"

#include "../templates/device/args.cuh"
#include "convt_jit/error.h"
#include "unit/driver/fake.h"

#include <cstring>
#include <memory>

namespace convt_jit::driver {
namespace {

struct Argument {
    std::uint64_t first, second;
};

class ModuleTest : public test::FakeDriver {
protected:
    [[nodiscard]] std::unique_ptr<Module> load(std::size_t shared_bytes = 0, const char* entry = "kernel") const {
        return std::make_unique<Module>(context_for(0), test::empty_cubin(), entry, shared_bytes);
    }
    static void launch(const Module& module, CUstream stream = nullptr) {
        constexpr std::uint32_t grid[3] = {7, 5, 3};
        constexpr Argument argument{0x1122334455667788, 42};
        module.launch(grid, 96, 2048, stream, &argument);
    }
    template <class Call>
    static DriverError error_of(const Call& call) {
        try {
            call();
        } catch (const DriverError& error) {
            return error;
        }
        ADD_FAILURE() << "nothing was thrown";
        return {"", "", 0, ""};
    }
};

TEST_F(ModuleTest, LaunchPassesEverythingOn) {
    const auto module = load();
    EXPECT_EQ(module->facts().registers, 40);
    EXPECT_EQ(module->facts().local_bytes, 8);
    auto* const stream = reinterpret_cast<CUstream>(0x5555);
    launch(*module, stream);
    const auto launches = fake.take_launches();
    ASSERT_EQ(launches.size(), 1u);
    EXPECT_EQ(launches[0].context, module->context().handle);
    EXPECT_EQ(launches[0].grid, (std::array<unsigned, 3>{7, 5, 3}));
    EXPECT_EQ(launches[0].threads, 96u);
    EXPECT_EQ(launches[0].shared_bytes, 2048u);
    EXPECT_EQ(launches[0].stream, stream);
    Argument argument{};
    static_assert(sizeof argument == sizeof launches[0].argument);
    std::memcpy(&argument, launches[0].argument, sizeof argument);
    EXPECT_EQ(argument.first, 0x1122334455667788u);
    EXPECT_EQ(argument.second, 42u);
    EXPECT_EQ(fake.current(), nullptr);
}

TEST_F(ModuleTest, LaunchRunsInTheModulesContextWhateverIsCurrent) {
    const auto module = load();
    const CUcontext other = fake.create_context(1);
    launch(*module);
    EXPECT_EQ(fake.take_launches().at(0).context, module->context().handle);
    EXPECT_EQ(fake.current(), other);
    fake.destroy_context(other);
}

TEST_F(ModuleTest, LoadsTheFunctionAtOnce) {
    const int before = fake.functions_loaded();
    const auto module = load();
    EXPECT_EQ(fake.functions_loaded(), before + 1);
}

TEST_F(ModuleTest, OtherKernelsOfTheCubin) {
    const int before = fake.functions_loaded();
    const Module module(context_for(0), test::empty_cubin(), "convt_a", 0, {"convt_a_pack", "kernel"});
    EXPECT_EQ(fake.functions_loaded(), before + 3);
    constexpr std::uint32_t grid[3] = {1, 1, 1};
    constexpr ConvtArgs argument{};
    for (const std::size_t which : {2u, 0u, 1u}) module.launch(grid, 32, 0, nullptr, &argument, which);
    const auto launches = fake.take_launches();
    ASSERT_EQ(launches.size(), 3u);
    EXPECT_EQ(launches[0].function, "kernel");
    EXPECT_EQ(launches[1].function, "convt_a");
    EXPECT_EQ(launches[2].function, "convt_a_pack");

    fake.lack_functions("_pack");
    const DriverError error =
        error_of([&] { const Module lacking(context_for(0), test::empty_cubin(), "convt_a", 0, {"convt_a_pack"}); });
    EXPECT_EQ(error.name(), "CUDA_ERROR_NOT_FOUND");
    EXPECT_NE(std::string(error.what()).find("loading convt_a_pack on device 0"), std::string::npos) << error.what();
}

TEST_F(ModuleTest, UnloadsOnceAndOnlyWhileTheContextIsThere) {
    const int before = fake.loaded_modules();
    auto module = load();
    EXPECT_EQ(fake.loaded_modules(), before + 1);
    module.reset();
    EXPECT_EQ(fake.loaded_modules(), before);

    module = load();
    fake.reset_device(0);
    const auto another = load();
    const int loaded = fake.loaded_modules();
    module.reset();
    EXPECT_EQ(fake.loaded_modules(), loaded);
}

TEST_F(ModuleTest, LaunchAfterTheContextIsGone) {
    const auto module = load();
    fake.reset_device(0);
    const auto another = load();  // the primary context is back under the same handle
    const DriverError error = error_of([&] { launch(*module); });
    EXPECT_EQ(error.code(), CUDA_ERROR_CONTEXT_IS_DESTROYED);
    EXPECT_NE(std::string(error.what()).find("prepare the kernel again"), std::string::npos) << error.what();
    EXPECT_TRUE(fake.take_launches().empty());
    launch(*another);
    EXPECT_EQ(fake.take_launches().size(), 1u);
}

TEST_F(ModuleTest, SharedMemoryAboveTheDefaultIsAskedFor) {
    const auto small = load(47 * 1024);  // the kernel has 1 KB of its own
    EXPECT_EQ(fake.dynamic_shared_bytes(), 0);
    const auto large = load(100 * 1024);
    EXPECT_EQ(fake.dynamic_shared_bytes(), 100 * 1024);
    const DriverError error = error_of([&] { (void)load(227 * 1024); });
    EXPECT_NE(std::string(error.what()).find("needs 233472 bytes of shared memory"), std::string::npos) << error.what();
    EXPECT_NE(std::string(error.what()).find("allows 232448"), std::string::npos) << error.what();
}

TEST_F(ModuleTest, WhatDoesNotLoadLeavesNothingBehind) {
    const int before = fake.loaded_modules();
    DriverError error = error_of([&] { (void)load(0, "missing"); });
    EXPECT_EQ(error.call(), "cuModuleGetFunction");
    EXPECT_EQ(error.name(), "CUDA_ERROR_NOT_FOUND");
    EXPECT_NE(std::string(error.what()).find("loading missing on device 0 (sm_90, driver 13.1)"), std::string::npos)
        << error.what();
    EXPECT_EQ(fake.loaded_modules(), before);

    fake.fail_next("cuModuleLoadData", CUDA_ERROR_NO_BINARY_FOR_GPU);
    error = error_of([&] { (void)load(); });
    EXPECT_EQ(error.name(), "CUDA_ERROR_NO_BINARY_FOR_GPU");
    EXPECT_EQ(fake.current(), nullptr);
}

TEST_F(ModuleTest, ImagesThatAreNoElfOrCutOffDoNotReachTheDriver) {
    const Context context = context_for(0);
    std::string cut = test::empty_cubin();
    cut[0x3c] = 1, cut[0x3a] = 64;  // one section header of 64 bytes, which is not there
    for (const std::string& image :
         {std::string(), std::string("PTX"), std::string(200, 'x'), cut, test::empty_cubin().substr(0, 40)}) {
        const DriverError error = error_of([&] { const Module module(context, image, "kernel", 0); });
        EXPECT_EQ(error.code(), CUDA_ERROR_INVALID_IMAGE);
    }
}

TEST_F(ModuleTest, FailedLaunchSaysWhatWasLaunched) {
    const auto module = load();
    fake.fail_next("cuLaunchKernel", CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES);
    const DriverError error = error_of([&] { launch(*module); });
    EXPECT_EQ(error.call(), "cuLaunchKernel");
    EXPECT_EQ(error.name(), "CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES");
    EXPECT_NE(std::string(error.what()).find("7x5x3 blocks of 96 threads"), std::string::npos) << error.what();
    EXPECT_EQ(fake.current(), nullptr);
}

}  // namespace
}  // namespace convt_jit::driver

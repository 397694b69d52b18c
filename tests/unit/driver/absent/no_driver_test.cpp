// Where there is no driver every entry says so, and what must not throw does not.
#include "convt_jit/error.h"
#include "driver/api.h"
#include "driver/memory.h"
#include "driver/module.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <functional>

namespace convt_jit::driver {
namespace {

const bool hidden = setenv("CONVT_JIT_LIBCUDA", "/nonexistent/libcuda.so.1", 1) == 0;

TEST(NoDriver, CountIsZeroWithAReason) {
    ASSERT_TRUE(hidden);
    std::string why;
    EXPECT_EQ(device_count(&why), 0);
    EXPECT_NE(why.find("no CUDA driver"), std::string::npos) << why;
    EXPECT_NE(why.find("/nonexistent/libcuda.so.1"), std::string::npos) << why;
    EXPECT_EQ(device_count(nullptr), 0);
}

TEST(NoDriver, QuestionsThatNeverThrow) {
    EXPECT_EQ(current_device(), -1);
    EXPECT_FALSE(alive(Context{}));
    EXPECT_FALSE(alive(Context{reinterpret_cast<CUcontext>(0x1000), 1, 0x1000, 0}));
    EXPECT_FALSE(capturing(nullptr));
    const RelaxedCapture relaxed;
}

TEST(NoDriver, EverythingElseThrowsDriverError) {
    const std::function<void()> calls[] = {
        [] { (void)api(); },
        [] { (void)device_facts(0); },
        [] { (void)driver_version(); },
        [] { (void)context_for(0); },
        [] { const Current current(Context{}); },
        [] { const Module module(Context{}, "", "kernel", 0); },
        [] { const DeviceMemory memory(0, 16); },
        [] { const OwnStream stream(0); },
        [] { const EventPair events(0); },
    };
    for (const auto& call : calls) {
        try {
            call();
            ADD_FAILURE() << "call " << &call - calls << " did not throw";
        } catch (const DriverError& error) {
            EXPECT_EQ(error.call(), "dlopen");
            EXPECT_EQ(error.code(), -1);
            EXPECT_NE(std::string(error.what()).find("no CUDA driver"), std::string::npos) << error.what();
        }
    }
}

}  // namespace
}  // namespace convt_jit::driver

#include "convt_jit/error.h"
#include "driver/api.h"
#include "driver/context.h"
#include "unit/driver/fake.h"

#include <sys/wait.h>
#include <unistd.h>

namespace convt_jit::driver {
namespace {

class DeviceTest : public test::FakeDriver {};

TEST_F(DeviceTest, FactsOfEachDevice) {
    std::string why = "untouched";
    EXPECT_EQ(device_count(&why), 2);
    EXPECT_EQ(why, "untouched");
    EXPECT_EQ(device_facts(0).name, "Fake 0");
    EXPECT_EQ(device_facts(0).arch, 90);
    EXPECT_EQ(device_facts(1).arch, 120);
    EXPECT_EQ(device_facts(1).multiprocessors, 132);
    EXPECT_EQ(device_facts(1).l2_bytes, 50u << 20);
    EXPECT_EQ(device_facts(1).shared_bytes_per_block, static_cast<std::size_t>(test::kFakeSharedBytes));
    EXPECT_EQ(driver_version(), "13.1");
}

TEST_F(DeviceTest, DeviceThatDoesNotExist) {
    for (const int ordinal : {-1, 2, 997}) {
        try {
            (void)device_facts(ordinal);
            ADD_FAILURE() << ordinal;
        } catch (const DriverError& error) {
            const std::string text = error.what();
            EXPECT_NE(text.find("device " + std::to_string(ordinal)), std::string::npos) << text;
            EXPECT_NE(text.find("sees 2, devices 0 to 1"), std::string::npos) << text;
            EXPECT_EQ(error.name(), "CUDA_ERROR_INVALID_DEVICE");
        }
        EXPECT_THROW((void)context_for(ordinal), DriverError);
    }
}

TEST_F(DeviceTest, FailedCallCarriesCallCodeNameAndPurpose) {
    fake.fail_next("cuDevicePrimaryCtxRetain", CUDA_ERROR_OUT_OF_MEMORY);
    try {
        (void)context_for(0);
        FAIL();
    } catch (const DriverError& error) {
        EXPECT_EQ(error.call(), "cuDevicePrimaryCtxRetain");
        EXPECT_EQ(error.code(), CUDA_ERROR_OUT_OF_MEMORY);
        EXPECT_EQ(error.name(), "CUDA_ERROR_OUT_OF_MEMORY");
        EXPECT_STREQ(error.what(),
                     "cuDevicePrimaryCtxRetain: CUDA_ERROR_OUT_OF_MEMORY (as the fake driver says), making the "
                     "context of device 0");
    }
}

TEST_F(DeviceTest, CodeThatTheDriverDoesNotKnow) {
    EXPECT_EQ(describe(api(), CUDA_ERROR_ECC_UNCORRECTABLE), "error 214 (unknown to this driver)");
}

// What a forked child tells: runs `check` there and returns its exit status.
template <class Check>
int in_child(const Check& check) {
    const pid_t child = fork();
    if (child == 0) _exit(check() ? 0 : 1);
    int status = -1;
    waitpid(child, &status, 0);
    return status;
}

TEST_F(DeviceTest, ForkedChildIsRefusedWithoutTouchingTheDriver) {
    const Context context = context_for(0);
    EXPECT_EQ(in_child([&] {
                  std::string why;
                  if (device_count(&why) != 0 || why.find("fork") == why.npos) return false;
                  if (alive(context) || current_device() != -1) return false;
                  try {
                      (void)context_for(0);
                      return false;
                  } catch (const DriverError& error) {
                      return error.call() == "fork";
                  }
              }),
              0);
    EXPECT_TRUE(alive(context)) << "the parent goes on";
}

}  // namespace
}  // namespace convt_jit::driver

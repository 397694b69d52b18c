// Subject: the device that the tests run on, and one engine for the whole program.
#pragma once

#include "convt_jit/convt_jit.h"

#include <optional>
#include <string>

namespace convt_jit::test {

// $CONVT_TEST_DEVICE: "cuda" (or "cuda:1"), "simulator", or unset for the best there is. Nothing where the device asked
// for is not to be had; `why` then says why, and the test is skipped with that reason.
[[nodiscard]] std::optional<Device> subject(std::string* why = nullptr);

// An engine without a disk cache, unless $CONVT_JIT_CACHE_DIR names one (kernels compiled ahead for a device run).
[[nodiscard]] Engine& engine();

// Threads that prepare and run cases: $CONVT_TEST_THREADS, else all cores on a GPU machine, else one, since `ctest -j`
// spreads the programs already.
[[nodiscard]] int threads(const Device& device);

// A number from the environment, else `otherwise`.
[[nodiscard]] std::uint64_t number_from(const char* variable, std::uint64_t otherwise);

// Path of a file of tests/data; $CONVT_TEST_DATA names another directory (where programs are run on another machine).
[[nodiscard]] std::string data_path(const std::string& name);

}  // namespace convt_jit::test

// Skips the test, with the reason, where its device is not to be had; else `device` is it.
#define CONVT_SUBJECT(device)                                                \
    std::string device##_missing;                                            \
    const auto device##_found = convt_jit::test::subject(&device##_missing); \
    if (!device##_found) GTEST_SKIP() << device##_missing;                   \
    const convt_jit::Device device = *device##_found

// The same where it runs kernels of sm_90: on Hopper, and on the simulator.
#define CONVT_HOPPER(device) \
    CONVT_SUBJECT(device);   \
    if (device.is_cuda() && device.arch() != "sm_90") GTEST_SKIP() << "needs a GPU of sm_90, or none"

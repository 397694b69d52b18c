// Fake: the fake driver in a test. Including it makes the driver room of this program open it.
#pragma once

#include "unit/driver/fake_libcuda.h"

#include <gtest/gtest.h>

namespace convt_jit::test {

[[nodiscard]] FakeCuda& fake_cuda();

// Starts each test with a thread that has no context, on devices that were reset.
class FakeDriver : public testing::Test {
protected:
    FakeDriver() {
        for (int device = 0; device < kFakeDevices; ++device) fake.reset_device(device);
        fake.set_current(nullptr);
        (void)fake.take_launches();
        fake.lack_functions("");
    }
    ~FakeDriver() override { fake.set_current(nullptr); }
    FakeCuda& fake = fake_cuda();
};

// The header of an ELF image without sections: as much of a cubin as anybody looks at here.
[[nodiscard]] std::string empty_cubin();

}  // namespace convt_jit::test

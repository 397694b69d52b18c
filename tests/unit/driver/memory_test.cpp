#include "driver/memory.h"

#include "convt_jit/error.h"
#include "unit/driver/fake.h"

#include <cstring>
#include <optional>

namespace convt_jit::driver {
namespace {

class MemoryTest : public test::FakeDriver {};

TEST_F(MemoryTest, CopiesThereAndBack) {
    const DeviceMemory memory(0, 8);
    memory.upload("seven c", 8);
    char text[8] = {};
    memory.download(text, 8);
    EXPECT_STREQ(text, "seven c");
    memory.fill('x', 7);
    memory.download(text, 8);
    EXPECT_STREQ(text, "xxxxxxx");

    const OwnStream stream(0);
    const DeviceMemory copy(0, 8);
    copy.copy_from(memory, 8, stream.handle());
    memory.fill('y', 3, stream.handle());
    stream.synchronize();
    memory.download(text, 8);
    EXPECT_STREQ(text, "yyyxxxx");
    copy.download(text, 8);
    EXPECT_STREQ(text, "xxxxxxx");
}

TEST_F(MemoryTest, FreedOnceAndNotAfterTheContext) {
    (void)context_for(0);
    const std::size_t before = fake.allocations();
    std::optional<DeviceMemory> memory;
    memory.emplace(0, 0);  // an empty tensor has an address too
    EXPECT_NE(memory->data(), nullptr);
    EXPECT_EQ(fake.allocations(), before + 1);
    memory.reset();
    EXPECT_EQ(fake.allocations(), before);

    memory.emplace(0, 16);
    fake.reset_device(0);
    char byte = 0;
    EXPECT_THROW(memory->download(&byte, 1), DriverError);
    memory.reset();
}

TEST_F(MemoryTest, OutOfMemorySaysHowMuch) {
    (void)context_for(0);
    fake.fail_next("cuMemAlloc", CUDA_ERROR_OUT_OF_MEMORY);
    try {
        const DeviceMemory memory(0, 4096);
        FAIL();
    } catch (const DriverError& error) {
        EXPECT_NE(std::string(error.what()).find("allocating 4096 bytes on device 0"), std::string::npos);
        EXPECT_EQ(error.name(), "CUDA_ERROR_OUT_OF_MEMORY");
    }
}

TEST_F(MemoryTest, StreamsAndEvents) {
    const OwnStream stream(1);
    EXPECT_NE(stream.handle(), nullptr);
    EventPair events(1);
    events.start(stream.handle());
    events.stop(stream.handle());
    EXPECT_GE(events.milliseconds(), 0);
    stream.synchronize();
    EXPECT_EQ(fake.current(), nullptr);
}

}  // namespace
}  // namespace convt_jit::driver

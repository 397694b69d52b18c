#include "driver/context.h"

#include "unit/driver/fake.h"

#include <thread>

namespace convt_jit::driver {
namespace {

class ContextTest : public test::FakeDriver {};

TEST_F(ContextTest, PrimaryWhereNoneIsCurrent) {
    const int before = fake.retained(0);
    const Context context = context_for(0);
    EXPECT_EQ(context.device, 0);
    EXPECT_TRUE(alive(context));
    EXPECT_EQ(context_for(0), context);
    EXPECT_EQ(fake.retained(0), before + 1) << "retained once, not on every use";
    EXPECT_EQ(fake.current(), nullptr) << "none was current before";
    EXPECT_EQ(current_device(), -1);
}

TEST_F(ContextTest, CallersOwnContextIsUsed) {
    const CUcontext own = fake.create_context(0);
    const Context context = context_for(0);
    EXPECT_EQ(context.handle, own);
    EXPECT_EQ(fake.current(), own);
    EXPECT_EQ(current_device(), 0);
    fake.destroy_context(own);
}

TEST_F(ContextTest, CurrentContextOfAnotherDeviceIsLeftAlone) {
    const CUcontext own = fake.create_context(1);
    EXPECT_EQ(current_device(), 1);
    const Context context = context_for(0);
    EXPECT_NE(context.handle, own);
    EXPECT_EQ(context.device, 0);
    EXPECT_EQ(fake.current(), own);
    fake.destroy_context(own);
}

TEST_F(ContextTest, DestroyedContextIsDeadAlsoWhereItsAddressIsUsedAgain) {
    const CUcontext own = fake.create_context(0);
    const Context first = context_for(0);
    fake.destroy_context(own);
    EXPECT_FALSE(alive(first));

    ASSERT_EQ(fake.create_context(0), own) << "the fake uses addresses again";
    EXPECT_FALSE(alive(first));
    const Context second = context_for(0);
    EXPECT_EQ(second.handle, first.handle);
    EXPECT_NE(second.id, first.id);
    EXPECT_TRUE(alive(second));
    EXPECT_FALSE(alive(first));
    fake.destroy_context(own);
}

TEST_F(ContextTest, ContextDestroyedWhileCurrentGivesWayToThePrimaryOne) {
    const CUcontext own = fake.create_context(0);
    (void)context_for(0);
    std::thread([&] { fake.destroy_context(own); }).join();
    ASSERT_EQ(fake.current(), own) << "the handle stays current in this thread";
    EXPECT_EQ(current_device(), -1);
    const Context context = context_for(0);
    EXPECT_NE(context.handle, own);
    EXPECT_TRUE(alive(context));
}

TEST_F(ContextTest, ResetOfTheDeviceEndsThePrimaryContext) {
    const Context first = context_for(0);
    const Context other = context_for(1);
    fake.reset_device(0);
    EXPECT_FALSE(alive(first));
    EXPECT_TRUE(alive(other));
    const Context second = context_for(0);
    EXPECT_EQ(second.handle, first.handle) << "the handle alone cannot tell";
    EXPECT_NE(second.id, first.id);
    EXPECT_TRUE(alive(second));
}

TEST_F(ContextTest, PrimaryThatIsCurrentWhileItIsReset) {
    const Context first = context_for(0);
    fake.set_current(first.handle);
    fake.reset_device(0);
    EXPECT_FALSE(alive(first));
    const Context second = context_for(0);
    EXPECT_TRUE(alive(second));
    EXPECT_NE(second.id, first.id);
}

TEST_F(ContextTest, AliveOnAnyThread) {
    const Context context = context_for(0);
    bool seen = false;
    std::thread([&] { seen = alive(context); }).join();
    EXPECT_TRUE(seen);
}

TEST_F(ContextTest, ManyThreadsGetOneContext) {
    std::vector<Context> found(8);
    std::vector<std::thread> threads;
    for (Context& each : found) threads.emplace_back([&each] { each = context_for(0); });
    for (std::thread& thread : threads) thread.join();
    for (const Context& each : found) EXPECT_EQ(each, found[0]);
}

TEST_F(ContextTest, CurrentRestoresWhatWasThere) {
    const CUcontext own = fake.create_context(1);
    const Context context = context_for(0);
    {
        const Current outer(context);
        EXPECT_EQ(fake.current(), context.handle);
        const Current inner(context);  // already current: nothing is pushed
    }
    EXPECT_EQ(fake.current(), own);
    fake.destroy_context(own);
}

}  // namespace
}  // namespace convt_jit::driver

#include "engine/background.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <future>

namespace convt_jit {
namespace {

TEST(BackgroundThreads, RunOrAbandonEachTaskOnce) {
    for (int round = 0; round < 50; ++round) {
        std::atomic<int> ran{0}, abandoned{0};
        {
            Background background;
            for (int i = 0; i < 40; ++i) background.submit({[&] { ++ran; }, [&] { ++abandoned; }});
        }
        EXPECT_EQ(ran + abandoned, 40);
    }
}

TEST(BackgroundThreads, TheEndWaitsForWhatHasBegun) {
    std::promise<void> begun;
    std::atomic<bool> done{false};
    {
        Background background;
        background.submit({[&] {
                               begun.set_value();
                               std::this_thread::sleep_for(std::chrono::milliseconds(50));
                               done = true;
                           },
                           [] {}});
        begun.get_future().wait();
    }
    EXPECT_TRUE(done);
}

TEST(BackgroundThreads, ATaskMaySubmitAnother) {
    std::promise<void> second;
    Background background;
    background.submit({[&] { background.submit({[&] { second.set_value(); }, [] {}}); }, [] {}});
    EXPECT_EQ(second.get_future().wait_for(std::chrono::seconds(60)), std::future_status::ready);
}

}  // namespace
}  // namespace convt_jit

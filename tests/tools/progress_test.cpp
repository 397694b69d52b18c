#include "subject/progress.h"

#include <gmock/gmock.h>

#include <thread>

namespace convt_jit::tools {
namespace {

TEST(ProgressThreads, SpeakOnceSomethingTakesLong) {
    testing::internal::CaptureStderr();
    {
        Progress progress;
        progress.about("kb57: ");
        progress.step("short");
        std::this_thread::sleep_for(std::chrono::milliseconds(100));
        progress.step("long");
        std::this_thread::sleep_for(std::chrono::milliseconds(3500));
        progress.done();
    }
    EXPECT_THAT(testing::internal::GetCapturedStderr(), testing::MatchesRegex("kb57: long, [23] s\n"));
}

}  // namespace
}  // namespace convt_jit::tools

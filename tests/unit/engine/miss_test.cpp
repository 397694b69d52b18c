#include "engine/miss.h"

#include <gmock/gmock.h>

namespace convt_jit {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

Miss miss() {
    Miss miss;
    miss.layer = "n1 c4 o4 in8x8 k3x3 f32";
    miss.arch = "sm_90";
    miss.caches = "disk /home/a/.cache/convt_jit, read-only disk /opt/kernels";
    miss.wanted.fields = {"0123", "-std=c++17 -arch=sm_90", "sm_90", "", 1};
    miss.why_no_compiler = "NVRTC cannot be opened.";
    return miss;
}

TEST(Miss, SaysWhatIsWantedAndWhere) {
    const std::string text = describe(miss());
    for (const char* part : {"\"n1 c4 o4 in8x8 k3x3 f32\" on sm_90", "disk /home/a/.cache/convt_jit", "/opt/kernels",
                             "source 0123", "-std=c++17 -arch=sm_90", "producer any", "NVRTC cannot be opened."})
        EXPECT_THAT(text, HasSubstr(part));
    EXPECT_THAT(text, Not(HasSubstr("nearest")));
}

TEST(Miss, SaysWhichCommandMendsIt) {
    Miss asked = miss();
    EXPECT_THAT(describe(asked), HasSubstr("\n  convt warmup \"n1 c4 o4 in8x8 k3x3 f32\" --arch sm_90\n"));
    asked.exact_nonfinite = true;
    EXPECT_THAT(describe(asked), HasSubstr(" --arch sm_90 --exact-nonfinite\n"));
    asked.plan = "direct unroll=1";
    EXPECT_THAT(describe(asked), Not(HasSubstr("convt warmup"))) << "it has no option for a plan";
    EXPECT_THAT(describe(asked), HasSubstr("PrepareOptions::plan = \"direct unroll=1\"\n"));
}

TEST(Miss, SaysInWhatTheNearestEntryDiffers) {
    Miss asked = miss();
    asked.nearest.emplace();
    asked.nearest->entry.key = "feed";
    asked.nearest->differing = {{"arch", "sm_90", "sm_80"}};
    EXPECT_THAT(describe(asked), HasSubstr("nearest entry is feed"));
    EXPECT_THAT(describe(asked), HasSubstr("arch is sm_80, wanted sm_90"));
}

}  // namespace
}  // namespace convt_jit

#include "plan/arch.h"

#include "convt_jit/error.h"

#include <gtest/gtest.h>

namespace convt_jit {
namespace {

TEST(Arch, ReadsWithAndWithoutThePrefix) {
    EXPECT_EQ(parse_arch("sm_75"), (Arch{75, 0}));
    EXPECT_EQ(parse_arch("90a"), (Arch{90, 'a'}));
    EXPECT_EQ(parse_arch("sm_90a"), (Arch{90, 'a'}));
    EXPECT_EQ(parse_arch("sm_100f"), (Arch{100, 'f'}));
    EXPECT_EQ(parse_arch("120"), (Arch{120, 0}));
}

TEST(Arch, PrintsAsTheCompilerNamesIt) {
    for (const char* text : {"sm_75", "sm_90a", "sm_100f", "sm_121"}) EXPECT_EQ(to_string(parse_arch(text)), text);
}

TEST(Arch, RefusesEverythingElse) {
    for (const char* text :
         {"", "sm_", "sm", "a", "sm_a", "sm_9", "sm_090", "sm_-90", "sm_+90", "sm_90b", "sm_90aa", "sm_90 ", " sm_90",
          "sm_sm_90", "SM_90", "compute_90", "sm_9000", "sm_99999999999", "9.0"}) {
        try {
            (void)parse_arch(text);
            ADD_FAILURE() << text;
        } catch (const LayerError& error) {
            EXPECT_EQ(error.field(), "arch");
            EXPECT_EQ(error.value(), '"' + std::string(text) + '"');
            EXPECT_NE(error.allowed().find("sm_90a"), std::string::npos);
        }
    }
}

}  // namespace
}  // namespace convt_jit

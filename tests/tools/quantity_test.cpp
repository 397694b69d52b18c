#include "subject/quantity.h"

#include "subject/arch.h"
#include "subject/usage_error.h"

#include <gtest/gtest.h>

namespace convt_jit::tools {
namespace {

TEST(Quantity, Bytes) {
    EXPECT_EQ(format_bytes(1), "1 byte");
    EXPECT_EQ(format_bytes(1023), "1023 bytes");
    EXPECT_EQ(format_bytes(1536), "1.5 kB");
    EXPECT_EQ(format_bytes((1 << 20) - 1), "1.0 MB");
    EXPECT_EQ(format_bytes(std::uint64_t{5} << 50), "5120.0 TB");
}

TEST(Quantity, Counts) {
    EXPECT_EQ(counted(0, "entry", "entries"), "0 entries");
    EXPECT_EQ(counted(1, "entry", "entries"), "1 entry");
    EXPECT_EQ(counted(2, "entry", "entries"), "2 entries");
}

TEST(Quantity, Durations) {
    EXPECT_EQ(parse_duration("45s"), 45);
    EXPECT_EQ(parse_duration("90m"), 5400);
    EXPECT_EQ(parse_duration("12h"), 43200);
    EXPECT_EQ(parse_duration("30d"), 30 * 86400);
    EXPECT_EQ(parse_duration("2w"), 14 * 86400);
    for (const char* text : {"", "30", "d", "1y", "1.5h", "-1d", "1 d", "1dd"}) EXPECT_FALSE(parse_duration(text));
    EXPECT_EQ(format_duration(59.4), "59 s");
    EXPECT_EQ(format_duration(200), "3 min 20 s");
    EXPECT_EQ(format_duration(7500), "2 h 5 min");
    EXPECT_EQ(format_duration(356400), "4 d 3 h");
    EXPECT_EQ(format_date(0), "never");
    EXPECT_EQ(format_date(86400), "1970-01-02 00:00:00Z");
}

TEST(Quantity, Archs) {
    EXPECT_EQ(parse_archs({"sm_80,sm_90a", "sm_80", "sm_120f"}),
              (std::vector<std::string>{"sm_80", "sm_90a", "sm_120f"}));
    EXPECT_TRUE(parse_archs({}).empty());
    for (const char* text : {"", "sm_80,", ",sm_80", "80", "sm_", "sm_8", "sm_090", "sm_90b", "sm_90 ", "SM_90", "sim",
                             "sm_77", "sm_80a", "sm_90f", "sm_80,sm_119"})
        EXPECT_THROW((void)parse_archs({text}), UsageError) << text;
    for (const char* text : {"sm_20", "sm_75", "sm_100f", "sm_110a", "sm_130"})
        EXPECT_TRUE(is_known_arch(text)) << text;
}

}  // namespace
}  // namespace convt_jit::tools

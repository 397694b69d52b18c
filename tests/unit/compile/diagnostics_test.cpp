#include "compile/diagnostics.h"

#include <gtest/gtest.h>

namespace convt_jit {
namespace {

constexpr const char* kLog =
    "families/direct.cu(4): warning #177-D: variable \"z\" was declared but never referenced\n"
    "\n"
    "families/direct.cu(4): error: identifier \"y\" is undefined\n"
    "  extern \"C\" __global__ void k(float*p){*p=y;\n"
    "                                           ^\n"
    "\n"
    "device/memory.cuh(5): error: static assertion failed with \"x\"\n"
    "   static_assert(N==5,\"x\"); }\n"
    "   ^\n"
    "\n"
    "2 errors detected in the compilation of \"k.cu\".\n";

FailedCompile sample() {
    FailedCompile failure;
    failure.compiler = "NVRTC 13.0";
    failure.result = "NVRTC_ERROR_COMPILATION";
    failure.entry = "convt_direct_c4";
    failure.details = {"sm_90a", "-std=c++17 -arch=sm_90a", kLog, "IN_CHANNELS=4", "/tmp/convt_direct_c4-abc.cu"};
    return failure;
}

TEST(Diagnostics, ErrorLinesNameTemplateAndLine) {
    EXPECT_EQ(error_lines(kLog),
              (std::vector<std::string>{"families/direct.cu(4): error: identifier \"y\" is undefined",
                                        "device/memory.cuh(5): error: static assertion failed with \"x\""}));
    EXPECT_TRUE(error_lines("").empty());
    EXPECT_EQ(error_lines("ptxas fatal   : too many resources").size(), 1u);
    EXPECT_EQ(error_lines("a.cu(1): error #20: no newline at the end").size(), 1u);
}

TEST(Diagnostics, MessageHasWhatAPersonNeeds) {
    EXPECT_EQ(describe(sample()),
              "NVRTC 13.0 cannot compile convt_direct_c4 for sm_90a (NVRTC_ERROR_COMPILATION)\n"
              "  families/direct.cu(4): error: identifier \"y\" is undefined\n"
              "  device/memory.cuh(5): error: static assertion failed with \"x\"\n"
              "constants: IN_CHANNELS=4\n"
              "options: -std=c++17 -arch=sm_90a\n"
              "source: /tmp/convt_direct_c4-abc.cu");
}

TEST(Diagnostics, ManyErrorsAreCounted) {
    FailedCompile failure = sample();
    failure.details.log.clear();
    for (int i = 1; i <= 9; ++i) failure.details.log += "a.cu(" + std::to_string(i) + "): error: no\n";
    const std::string text = describe(failure);
    EXPECT_NE(text.find("a.cu(5)"), std::string::npos);
    EXPECT_EQ(text.find("a.cu(6)"), std::string::npos);
    EXPECT_NE(text.find("and 4 more"), std::string::npos);
}

TEST(Diagnostics, LogWithoutAnErrorLineIsShownAsItIs) {
    FailedCompile failure = sample();
    failure.details.log = "\nsomething odd\n";
    failure.details.source_path.clear();
    const std::string text = describe(failure);
    EXPECT_NE(text.find("\n  something odd\n"), std::string::npos) << text;
    EXPECT_NE(text.find("source: (could not be written)"), std::string::npos) << text;
}

TEST(Diagnostics, MissingBuiltinsAreSuspected) {
    FailedCompile failure = sample();
    failure.result = "NVRTC_ERROR_BUILTIN_OPERATION_FAILURE";
    EXPECT_NE(describe(failure).find("libnvrtc-builtins"), std::string::npos);
}

TEST(Diagnostics, BannerOfThePtx) {
    EXPECT_EQ(banner_version("//\n// Cuda compilation tools, release 13.0, V13.0.88\n// Based on NVVM 7.0.1\n"),
              "13.0.88");
    EXPECT_EQ(banner_version("// Cuda compilation tools, release 12.8\n// , V1"), "");
    EXPECT_EQ(banner_version(".version 9.0"), "");
}

}  // namespace
}  // namespace convt_jit

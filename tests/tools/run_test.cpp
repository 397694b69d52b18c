#include "convt_jit/convt_jit.h"
#include "program.h"

#include <gmock/gmock.h>
#include <nlohmann/json.hpp>

namespace convt_jit::tools::test {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

class Run : public ProgramTest {};

TEST_F(Run, TellsWhatItDidAndChecksIt) {
    const Outcome outcome = convt("run 'n2 c4 o6 in5x7 k3x5 s2x3 p1x2 g2 bias' --backend sim --check");
    EXPECT_EQ(outcome.code, 0) << outcome.out << outcome.err;
    EXPECT_THAT(outcome.out, HasSubstr("simulator (asked for)"));
    EXPECT_THAT(outcome.out, HasSubstr("n2 c4 o6 in5x7 k3x5 s2x3 p1x2 g2 bias f32"));
    EXPECT_THAT(outcome.out, HasSubstr("2x6x9x19"));
    EXPECT_THAT(outcome.out, HasSubstr("unrolled"));
    EXPECT_THAT(outcome.out, HasSubstr("compiler: render"));
    EXPECT_THAT(outcome.out, HasSubstr("right    relative L2"));
}

TEST_F(Run, JsonHoldsAnObjectPerLayer) {
    const std::string file = (directory_ / "layers.jsonl").string();
    write_text(file,
               R"({"name": "up", "in_channels": 3, "out_channels": 2, "kernel_size": 4, "stride": 2, "padding": 1,)"
               R"( "input": [1, 3, 6], "dtype": "f16", "layout": "nhwc"})"
               "\n");
    const Outcome outcome = convt("run --layers " + file + " --backend sim --check --json --seed 7");
    EXPECT_EQ(outcome.code, 0) << outcome.out << outcome.err;
    const auto json = nlohmann::json::parse(outcome.out);
    ASSERT_EQ(json.size(), 1U);
    EXPECT_EQ(json[0]["name"], "up");
    EXPECT_EQ(json[0]["layer"], "n1 c3 o2 in6 k4 s2 p1 f16 nhwc");
    EXPECT_EQ(json[0]["output"], "12");
    EXPECT_EQ(json[0]["family"], "direct");
    EXPECT_EQ(json[0]["backend"], "sim");
    EXPECT_EQ(json[0]["ok"], true);
    EXPECT_LE(json[0]["rel_l2"], json[0]["allowed_rel_l2"]);
    EXPECT_GT(json[0]["run_ms"], 0);
}

TEST_F(Run, DumpsTheSource) {
    const auto file = directory_ / "kernel.cu";
    const Outcome outcome = convt("run 'c1 o1 in4 k3' --backend sim --dump-source " + file.string());
    EXPECT_EQ(outcome.code, 0) << outcome.out << outcome.err;
    EXPECT_THAT(read_file(file), HasSubstr("__global__"));
}

TEST_F(Run, TakesAPlanWhoseResultIsF64) {
    const Outcome outcome = convt("run 'n2 c3 o2 in9 k4 s2 bias f16' --backend sim --plan reference");
    EXPECT_EQ(outcome.code, 0) << outcome.out << outcome.err;
    EXPECT_THAT(outcome.out, HasSubstr("reference"));
}

// A kernel that forgets its activation is what a wrong kernel is to this program.
TEST_F(Run, AWrongKernelIsSeen) {
    std::filesystem::copy(CONVT_TEMPLATES, directory_ / "templates", std::filesystem::copy_options::recursive);
    const auto file = directory_ / "templates" / "device" / "epilogue.cuh";
    const std::string text = read_file(file), relu = "v < Real(0) ? Real(0) : v";
    const std::size_t at = text.find(relu);
    ASSERT_NE(at, std::string::npos);
    write_text(file, fmt::format("{}v{}", text.substr(0, at), text.substr(at + relu.size())));
    const Outcome outcome = convt("run 'c2 o2 in6 k3 relu' --backend sim --check",
                                  fmt::format("CONVT_JIT_TEMPLATES='{}'", (directory_ / "templates").string()));
    EXPECT_EQ(outcome.code, 1);
    EXPECT_THAT(outcome.out, HasSubstr("WRONG    relative L2"));
}

// Where the dtype overflows or runs out of digits a right kernel is right.
TEST_F(Run, EveryMagnitudeIsJudged) {
    std::string layers;
    for (const char* words :
         {"f16 scale70000", "f16 clamp100000:200000", "f16 leaky1e30", "f32 scale3e38", "bf16 scale3e38",
          "f16 scale1e-6", "f16 scale1e-8", "f16 clamp1e-9:2e-9", "bf16 scale1e-40", "f32 scale1e-40"})
        layers += fmt::format(" 'n1 c4 o4 in9 k3 {}'", words);
    const Outcome outcome = convt(fmt::format("run {} --backend sim --check", layers));
    EXPECT_EQ(outcome.code, 0) << outcome.out << outcome.err;
    EXPECT_THAT(outcome.out, Not(HasSubstr("WRONG")));
}

TEST_F(Run, AnEmptyBatchIsFine) {
    const Outcome outcome = convt("run 'n0 c1 o1 in4 k3 bias residual' --backend sim --check");
    EXPECT_EQ(outcome.code, 0) << outcome.out << outcome.err;
}

TEST_F(Run, TensorsTooLargeForTheHostAreNamed) {
#ifdef __SANITIZE_ADDRESS__
    GTEST_SKIP() << "the sanitizer aborts instead of throwing";
#endif
    for (const char* layer : {"n1 c4 o4 in1000000000000000 k3", "n1 c1 o1 in1000000000000000000 k3"}) {
        const Outcome outcome = convt(fmt::format("run '{}' --backend sim", layer));
        EXPECT_EQ(outcome.code, 1) << outcome.out;
        EXPECT_THAT(outcome.out, HasSubstr("not enough memory on the host: x takes "));
    }
}

TEST_F(Run, TextsThatAreNoUtf8StillGiveJson) {
    const Outcome outcome =
        convt("run 'c1 o1 in4 k3' --backend sim --json --dump-source \"$(printf '/missing/\\377')\"");
    EXPECT_EQ(outcome.code, 1);
    const auto json = nlohmann::json::parse(outcome.out);
    EXPECT_THAT(json.at(0).at("error").get<std::string>(), HasSubstr("/missing/"));
}

TEST_F(Run, NamesAreNoCommandsToTheTerminal) {
    const std::string file = (directory_ / "layers.jsonl").string();
    write_text(file, R"({"name": "a\u001b[31m\u009bb\n", "in_channels": 1, "out_channels": 1, "kernel_size": [3],)"
                     R"( "input": [1, 1, 4]})"
                     "\n");
    const Outcome outcome = convt("run --layers " + file + " --backend sim");
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    EXPECT_THAT(outcome.out, HasSubstr("a\\x1b[31m\\x9bb\\x0a: n1 c1"));
    EXPECT_THAT(outcome.out, Not(HasSubstr("\x1b")));
}

TEST_F(Run, OneLayerThatFailsDoesNotStopTheOthers) {
    const Outcome outcome =
        convt("run 'c1 o1 in4 k3' 'c1 o1 in5 k3' --backend sim --plan 'direct positions=1x1x30 per_thread=4'");
    EXPECT_EQ(outcome.code, 1);
    EXPECT_THAT(outcome.out, HasSubstr("FAILED"));
    EXPECT_THAT(outcome.out, HasSubstr("in5"));
}

TEST_F(Run, AFullDiskIsNoSuccess) {
    const Outcome dump = convt("run 'c1 o1 in4 k3' --backend sim --dump-source /dev/full");
    EXPECT_EQ(dump.code, 1);
    EXPECT_THAT(dump.out, HasSubstr("/dev/full"));
    EXPECT_EQ(run_into("/dev/full", "run 'c1 o1 in4 k3' --backend sim --json"), 1);
}

TEST_F(Run, WithoutAGpu) {
    if (convt_jit::Device::cuda_count() > 0) GTEST_SKIP() << "there is a GPU";
    const Outcome asked = convt("run 'c1 o1 in4 k3' --backend cuda");
    EXPECT_EQ(asked.code, 1);
    EXPECT_THAT(asked.err, HasSubstr("convt: "));
    const Outcome automatic = convt("run 'c1 o1 in4 k3'");
    EXPECT_EQ(automatic.code, 0) << automatic.out << automatic.err;
    EXPECT_THAT(automatic.out, HasSubstr("simulator (no GPU: "));
}

TEST_F(Run, OnAGpu) {
    if (convt_jit::Device::cuda_count() == 0) GTEST_SKIP() << "there is no GPU";
    const Outcome outcome = convt("run 'n2 c4 o6 in5x7 k3x5 s2x3 p1x2 g2 bias' --check");
    EXPECT_EQ(outcome.code, 0) << outcome.out << outcome.err;
    EXPECT_THAT(outcome.out, HasSubstr("right    relative L2"));
    EXPECT_THAT(convt("run 'n2 c4 o6 in9x9 k3x5 s2x3 p1x2 g2 bias'").out, HasSubstr("disk: render"));
}

}  // namespace
}  // namespace convt_jit::tools::test

#include "bench/bench.h"

#include "convt_jit/convt_jit.h"
#include "program.h"

#include <gmock/gmock.h>
#include <nlohmann/json.hpp>

namespace convt_jit::tools::test {
namespace {

using ::testing::HasSubstr;

class Bench : public ProgramTest {};

TEST_F(Bench, RefusesTheSimulator) {
    if (convt_jit::Device::cuda_count() > 0) GTEST_SKIP() << "there is a GPU";
    const auto file = directory_ / "results.json";
    const Outcome outcome = convt("bench 'c1 o1 in4 k3' --json " + file.string());
    EXPECT_EQ(outcome.code, 1);
    EXPECT_THAT(outcome.err, HasSubstr("simulator"));
    EXPECT_FALSE(std::filesystem::exists(file));
}

TEST_F(Bench, ResultsThatCannotBeWrittenAreSeenBeforeTheFirstMeasurement) {
    const std::string file = (directory_ / "missing" / "results.json").string();
    const Outcome outcome = convt("bench 'c1 o1 in4 k3' --json " + file);
    EXPECT_EQ(outcome.code, 1);
    EXPECT_THAT(outcome.err, HasSubstr(file));
    EXPECT_EQ(outcome.out, "");
}

TEST(BenchCommand, CanBeTypedAgain) {
    BenchOptions options;
    options.layers.strings = {"n1 c1 o1 in8 k3"};
    options.plan.text = "direct chunk=2";
    options.filter = "it's";
    options.dtype = "f16";
    options.repeats = 9;
    options.pack_each_time = true;
    EXPECT_EQ(command_line(options),
              "convt bench 'n1 c1 o1 in8 k3' --filter 'it'\\''s' --dtype f16 --repeats 9 "
              "--plan 'direct chunk=2' --pack-each-time");
}

TEST_F(Bench, OnAGpu) {
    if (convt_jit::Device::cuda_count() == 0) GTEST_SKIP() << "there is no GPU";
    const auto file = directory_ / "results.json";
    const Outcome outcome =
        convt("bench 'n4 c8 o8 in32x32 k3x3 bias' 'n4 c8 o8 in32 k3' --dtype f16 --json " + file.string());
    EXPECT_EQ(outcome.code, 0) << outcome.out << outcome.err;
    EXPECT_THAT(outcome.out, HasSubstr("geometric mean over 2 layers"));
    const auto json = nlohmann::json::parse(read_file(file));
    for (const char* key : {"card", "driver", "toolkit", "commit", "command"})
        EXPECT_NE(json.at(key).get<std::string>(), "") << key;
    ASSERT_EQ(json.at("results").size(), 2U);
    for (const auto& result : json["results"]) {
        EXPECT_EQ(result.at("precision"), "f16");
        EXPECT_GT(result.at("ms"), 0);
        EXPECT_GT(result.at("speed_of_light_ms"), 0);
        EXPECT_LE(result.at("rel_l2"), 5e-4);
        EXPECT_EQ(result.at("weights"), "as they are");
    }
    for (const auto& [option, weights] : {std::pair{"", "packed once"}, {" --pack-each-time", "packed each time"}}) {
        const Outcome packs =
            convt("bench 'n4 c32 o32 in32x32 k3x3 bias' --plan implicit_gemm --json " + file.string() + option);
        EXPECT_EQ(packs.code, 0) << packs.out << packs.err;
        EXPECT_EQ(nlohmann::json::parse(read_file(file)).at("results").at(0).at("weights"), weights);
    }
}

// The layers that come with the program can be read, and all of them know their sizes.
TEST(BenchLayers, AreValid) {
    const std::string directory = CONVT_LAYERS;
    for (const auto& [file, count] : {std::pair{"/perf.jsonl", 29U}, {"/real.jsonl", 77U}}) {
        const auto layers = convt_jit::read_layers_file(directory + file);
        EXPECT_EQ(layers.size(), count);
        for (const convt_jit::NamedLayer& named : layers) {
            EXPECT_NE(named.name, "");
            EXPECT_NO_THROW(validate(named.layer, known_shape(named.layer))) << named.name;
        }
    }
}

}  // namespace
}  // namespace convt_jit::tools::test

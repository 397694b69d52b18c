#include "bench/result_file.h"

#include "program.h"

#include <nlohmann/json.hpp>

#include <limits>

namespace convt_jit::tools::test {
namespace {

Result measured(const char* text, double ms) {
    Result result;
    result.named = {"up1", parse_layer(text)};
    result.info.family = "direct";
    result.weights = "packed once";
    result.ms = ms;
    result.spread = 0.02;
    result.speed_of_light_ms = 1;
    return result;
}

class ResultFile : public ProgramTest {
protected:
    [[nodiscard]] nlohmann::json written(const std::vector<Result>& results) const {
        const auto path = directory_ / "results.json";
        write_results(path.string(), {"card", "13.0", "13.0", "abc", "convt bench", 3, true}, results);
        return nlohmann::json::parse(read_file(path));
    }
};

TEST_F(ResultFile, HasItsFields) {
    const auto json = written({measured("n1 c1 o1 in8 k3 tf32", 2)});
    for (const char* key : {"card", "driver", "toolkit", "commit", "command"}) EXPECT_TRUE(json.contains(key)) << key;
    const auto& result = json.at("results").at(0);
    EXPECT_EQ(result.at("name"), "up1");
    EXPECT_EQ(result.at("layer"), "n1 c1 o1 in8 k3 tf32");
    EXPECT_EQ(result.at("precision"), "tf32");
    EXPECT_EQ(result.at("family"), "direct");
    EXPECT_EQ(result.at("weights"), "packed once");
    EXPECT_EQ(result.at("ms"), 2);
    EXPECT_EQ(result.at("spread"), 0.02);
    EXPECT_EQ(result.at("speed_of_light_ms"), 1);
    EXPECT_EQ(result.at("rel_l2"), 0);
    EXPECT_FALSE(result.contains("error"));
}

TEST_F(ResultFile, SaysWhatFailed) {
    Result failed = measured("n1 c1 o1 in8 k3", 1);
    failed.failure = "wrong";
    failed.errors.rel_l2 = std::numeric_limits<double>::infinity();
    const auto result = written({failed}).at("results").at(0);
    EXPECT_EQ(result.at("error"), "wrong");
    EXPECT_TRUE(result.at("rel_l2").is_null());
}

TEST_F(ResultFile, IsWrittenWhateverTheTextsAre) {
    Result failed = measured("n1 c1 o1 in8 k3", 1);
    failed.failure = "cannot open \xff";
    EXPECT_EQ(written({failed}).at("results").at(0).at("error"), "cannot open \xef\xbf\xbd");
}

}  // namespace
}  // namespace convt_jit::tools::test

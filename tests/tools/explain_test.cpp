#include "filled_cache.h"

#include <xxhash.h>

namespace convt_jit::tools::test {
namespace {

using ::testing::HasSubstr;

class ExplainTool : public FilledCache {
protected:
    // Made by a process of its own: this one may have been told which compiler it is by an earlier test.
    [[nodiscard]] std::filesystem::path record_of_the_compiler() const {
        EXPECT_EQ(convt(fmt::format("warmup '{}' --arch sm_80", kFirst)).code, 0);
        return std::filesystem::directory_iterator(cache_path() / "compilers")->path();
    }
};

TEST_F(ExplainTool, AHitIsNamed) {
    const auto json = answer(fmt::format("explain '{}' --arch sm_80", kFirst));
    EXPECT_EQ(json.at("hit").at("key"), first_.key);
    EXPECT_EQ(json.at("key"), first_.key);
    EXPECT_EQ(json.at("wanted").at("plan"), json.at("hit").at("plan"));
    EXPECT_TRUE(json.at("differing").empty());
    const Outcome text = convt(fmt::format("cache explain '{}' --arch sm_80", kFirst));
    for (const char* part : {"hit: ", "source", "options", "producer", first_.key.c_str()})
        EXPECT_THAT(text.out, HasSubstr(part));
}

TEST_F(ExplainTool, AMissNamesTheNearestAndWhatDiffers) {
    const auto arch = answer(fmt::format("explain '{}' --arch sm_86", kFirst), 1);
    EXPECT_TRUE(arch.at("hit").is_null());
    EXPECT_EQ(arch.at("nearest").at("key"), first_.key);
    std::vector<std::string> fields;
    for (const auto& difference : arch.at("differing")) fields.push_back(difference.at("field"));
    EXPECT_THAT(fields, ::testing::Contains("arch"));
    const Outcome layer = convt("cache explain 'c2 o2 k3 tanh' --arch sm_80");
    EXPECT_EQ(layer.code, 1);
    for (const char* part : {"miss; nearest", "layer", "relu", "tanh"}) EXPECT_THAT(layer.out, HasSubstr(part));
}

// Whoever can write to the cache can have it name any compiler.
TEST_F(ExplainTool, NothingOfAProducerReachesTheTerminalAsACommand) {
    const auto record = record_of_the_compiler();
    const std::string producer = "nvrtc \x1b[31m1.0";
    const std::string text = record.filename().string() + "\n" + producer;
    XXH128_canonical_t digest;
    XXH128_canonicalFromHash(&digest, XXH3_128bits(text.data(), text.size()));
    std::string forged = producer + "\n";
    for (const unsigned char byte : digest.digest) forged += fmt::format("{:02x}", byte);
    write_text(record, forged + "\n");
    const Outcome outcome = convt(fmt::format("cache explain '{}' --arch sm_80", kFirst));
    EXPECT_THAT(outcome.out, HasSubstr("nvrtc \\x1b[31m1.0"));
    EXPECT_EQ((outcome.out + outcome.err).find('\x1b'), std::string::npos);
}

TEST_F(ExplainTool, ADamagedRecordOfACompilerHidesNothing) {
    const auto record = record_of_the_compiler();
    write_text(record, "nvrtc 1.0\n");
    EXPECT_EQ(convt(fmt::format("cache explain '{}' --arch sm_80", kFirst)).code, 0);
    EXPECT_EQ(convt(fmt::format("warmup '{}' --arch sm_80 --check", kFirst)).code, 0);
    EXPECT_EQ(answer("verify --repair", 1).at("findings").at(0).at("mended"), true);
    EXPECT_EQ(convt("cache verify").code, 0);
}

TEST_F(ExplainTool, SaysWhyAnEntryIsNotUsed) {
    damage(first_.key);
    const std::string question = fmt::format("explain '{}' --arch sm_80", kFirst);
    const auto json = answer(question, 1);
    ASSERT_EQ(json.at("directories").size(), 1U);
    EXPECT_EQ(json["directories"][0].at("reason"), "damaged");
    EXPECT_THAT(json["directories"][0].at("path").get<std::string>(), HasSubstr(first_.key));
    EXPECT_THAT(convt("cache " + question).out, HasSubstr("not used: "));
}

TEST_F(ExplainTool, WithoutACompilerTheNewestProducerServes) {
    const Outcome outcome = convt(fmt::format("cache explain '{}' --arch sm_80", kFirst), "CONVT_JIT_NVRTC=/nowhere");
    EXPECT_EQ(outcome.code, 0) << outcome.out << outcome.err;
    EXPECT_THAT(outcome.out, HasSubstr("not known here"));
}

TEST_F(ExplainTool, AsksTheReadOnlyDirectoriesToo) {
    const auto image = directory_ / "image";
    std::filesystem::rename(cache_path(), image);
    const std::string question = fmt::format("cache explain '{}' --arch sm_80", kFirst);
    const std::string path = fmt::format("CONVT_JIT_CACHE_PATH='{}'", image.string());
    EXPECT_THAT(convt(question, path).out, HasSubstr("hit: " + image.string()));
    // A directory that was named stands alone.
    std::filesystem::create_directory(cache_path());
    std::filesystem::permissions(cache_path(), std::filesystem::perms::owner_all);
    const Outcome alone = convt(question + " --cache " + cache_path().string(), path);
    EXPECT_EQ(alone.code, 1);
    EXPECT_THAT(alone.out, HasSubstr("no entry to compare with"));
}

TEST_F(ExplainTool, SaysWhatItCannotUnderstand) {
    expect_failure("explain", 2, "LAYER");
    expect_failure("explain 'c2 o2 k3'", 2, "--arch");
    expect_failure("explain 'c2 o2 k3y' --arch sm_80", 2, "column");
    expect_failure("explain 'c2 o2 k3' --arch sm80", 2, "sm80");
    expect_failure("explain 'c2 o2 k3' --arch sm_80,sm_90", 2, "a single arch");
    expect_failure("explain 'c2 o2 k3' --arch sm_77", 2, "no compiler knows sm_77; allowed: sm_20, ");
    expect_failure("explain 'c2 o2 k3' --arch sm_80 --plan quickly", 2, "quickly");
    expect_failure("explain 'c2 o2 k3' --arch sm_80 --cache " + (directory_ / "missing").string(), 2,
                   "no such directory");
}

TEST_F(ExplainTool, FindsAnEntryWhereTheListOfProducersWasLost) {
    std::filesystem::remove_all(cache_path() / "producers");
    const std::string question = std::string("cache explain '") + kFirst + "' --arch sm_80";
    for (const char* policy : {"exact", "any"}) {
        const Outcome outcome =
            convt(question, std::string("CONVT_JIT_NVRTC=/nonexistent CONVT_JIT_CACHE_PRODUCER=") + policy);
        EXPECT_EQ(outcome.code, 0) << outcome.out << outcome.err;
    }
    EXPECT_FALSE(std::filesystem::exists(cache_path() / "producers"));
}

}  // namespace
}  // namespace convt_jit::tools::test

// `convt cache verify`, `trim` and `prune`.
#include "filled_cache.h"

namespace convt_jit::tools::test {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

class CareTool : public FilledCache {};

TEST_F(CareTool, VerifyFindsDamageAndRepairMendsIt) {
    EXPECT_EQ(answer("verify").at("sound"), 2);
    damage(second_.key);
    const auto found = answer("verify", 1);
    EXPECT_TRUE(found.at("damaged"));
    ASSERT_EQ(found.at("findings").size(), 1U);
    EXPECT_FALSE(found["findings"][0].at("mended"));
    EXPECT_THAT(convt("cache verify").out, HasSubstr(second_.key));
    EXPECT_TRUE(fs::exists(entry_path(second_.key))) << "only --repair changes anything";
    EXPECT_TRUE(answer("verify --repair", 1).at("findings")[0].at("mended"));
    EXPECT_FALSE(fs::exists(entry_path(second_.key)));
    EXPECT_EQ(answer("verify").at("sound"), 1);
}

TEST_F(CareTool, RepairSaysWhyItCannot) {
    damage(second_.key);
    fs::remove_all(cache_path() / "quarantine");
    fs::create_directory(cache_path() / "quarantine");
    fs::permissions(cache_path() / "quarantine", fs::perms::all);
    const auto json = answer("verify --repair", 1);
    EXPECT_FALSE(json.at("findings")[0].at("mended"));
    EXPECT_THAT(json.at("findings")[0].at("failure").get<std::string>(), HasSubstr("anybody can write to it"));
    EXPECT_THAT(convt("cache verify --repair").out, HasSubstr("not repaired: it could not be moved to quarantine"));
    EXPECT_THAT(convt("cache verify").out, ::testing::Not(HasSubstr("not repaired")));
}

// An operator must not take for a sound cache what no lookup loads.
TEST_F(CareTool, VerifyTellsWhatIsNotTrusted) {
    fs::permissions(entry_path(first_.key), fs::perms(0666));
    const auto json = answer("verify", 1);
    EXPECT_EQ(json.at("untrusted"), 1);
    EXPECT_FALSE(json.at("damaged"));
    const Outcome text = convt("cache verify");
    EXPECT_EQ(text.code, 1);
    EXPECT_THAT(text.out, HasSubstr("1 finding is not trusted"));
    EXPECT_THAT(text.out, HasSubstr("1 sound entry, "));
    EXPECT_THAT(text.out, HasSubstr("; 1 finding; 0 orphans"));
    EXPECT_EQ(convt("cache verify", "CONVT_JIT_CACHE_TRUSTED='" + cache_path().string() + "'").code, 0);
    fs::permissions(entry_path(first_.key), fs::perms(0600));
    fs::permissions(cache_path(), fs::perms::all);
    EXPECT_EQ(answer("verify", 1).at("untrusted"), 1);
}

TEST_F(CareTool, TrimSparesWhatWasJustUsed) {
    EXPECT_EQ(answer("trim --max-bytes 0").at("evicted"), 0) << "used within the last minute";
    fs::last_write_time(entry_path(first_.key), fs::last_write_time(entry_path(first_.key)) - std::chrono::hours(1));
    const auto dry = answer("trim --max-bytes 0 --dry-run");
    EXPECT_TRUE(dry.at("dry_run"));
    EXPECT_EQ(dry.at("evicted"), 1);
    EXPECT_TRUE(fs::exists(entry_path(first_.key)));
    EXPECT_EQ(answer("trim").at("evicted"), 0) << "below the cap";
    const Outcome text = convt("cache trim --max-bytes 0");
    EXPECT_EQ(text.code, 0) << text.err;
    EXPECT_THAT(text.out, HasSubstr("over the cap: gone"));
    EXPECT_FALSE(fs::exists(entry_path(first_.key)));
    EXPECT_TRUE(fs::exists(entry_path(second_.key)));
    for (const char* bytes : {"''1x", "-1", "1.5G", "99999999T", "G"})
        expect_failure(std::string("trim --max-bytes ") + bytes, 2, "--max-bytes");
}

TEST_F(CareTool, PruneByArchAndAge) {
    for (const std::string& key : {first_.key, second_.key})
        fs::last_write_time(entry_path(key), fs::last_write_time(entry_path(key)) - std::chrono::hours(48));
    EXPECT_EQ(answer("prune --older-than 3d").at("evicted"), 0);
    EXPECT_EQ(answer("prune --older-than 36h --arch sm_75").at("evicted"), 0);
    EXPECT_EQ(answer("prune --older-than 36h --dry-run").at("evicted"), 2);
    EXPECT_EQ(answer("prune --arch sm_75,sm_80").at("evicted"), 1);
    EXPECT_FALSE(fs::exists(entry_path(first_.key)));
    EXPECT_TRUE(fs::exists(entry_path(second_.key)));
    expect_failure("prune", 2, "neither --arch nor --older-than");
    expect_failure("prune --arch sm90", 2, "sm90");
    expect_failure("prune --arch sm_90,", 2, "\"\" is no arch");
    for (const char* age : {"30", "d", "1y", "-1d", "99999d"})
        expect_failure(std::string("prune --older-than ") + age, 2, "--older-than");
    EXPECT_TRUE(fs::exists(entry_path(second_.key)));
}

TEST_F(CareTool, WhatMayBeInUseStays) {
    for (const std::string& key : {first_.key, second_.key})
        fs::last_write_time(entry_path(key), fs::last_write_time(entry_path(key)) - std::chrono::hours(48));
    fs::remove_all(cache_path() / "holders");
    fs::create_directory_symlink(directory_, cache_path() / "holders");
    for (const char* command : {"trim --max-bytes 0", "prune --older-than 1h"}) {
        const auto json = answer(command, 1);
        EXPECT_EQ(json.at("evicted"), 0);
        EXPECT_THAT(json.at("holders_unknown").get<std::string>(), HasSubstr("holders: it is a symbolic link"));
        EXPECT_THAT(json.at("error").get<std::string>(), HasSubstr("2 entries not removed"));
        const Outcome text = convt(std::string("cache ") + command);
        EXPECT_EQ(text.code, 1);
        EXPECT_THAT(text.out, HasSubstr("holders unknown\n"));
        EXPECT_THAT(text.err, HasSubstr("it is a symbolic link"));
    }
    EXPECT_NE(answer("stat").at("holders_unknown"), "");
    EXPECT_THAT(convt("cache stat").out, HasSubstr("holders      unknown, so all entries may be in use"));
    EXPECT_THAT(convt("cache ls").err, HasSubstr("it is a symbolic link"));
    EXPECT_EQ(convt("cache verify --repair").code, 1);
    EXPECT_EQ(answer("trim --max-bytes 0").at("evicted"), 2);
    EXPECT_EQ(answer("stat").at("holders_unknown"), "");
}

TEST_F(CareTool, WhatIsNoCacheIsNotTrimmed) {
    const auto other = directory_ / "other";
    fs::create_directory(other);
    write_text(other / "letter.txt", "dear");
    for (const std::string command : {"trim --max-bytes 0", "prune --arch sm_90"}) {
        const Outcome outcome = convt("cache " + command + " --cache " + other.string());
        EXPECT_EQ(outcome.code, 0);
        EXPECT_THAT(outcome.err, HasSubstr("nothing in it is of a cache"));
        EXPECT_EQ(std::distance(fs::directory_iterator(other), {}), 1);
    }
}

}  // namespace
}  // namespace convt_jit::tools::test

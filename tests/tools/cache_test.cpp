#include "filled_cache.h"

#include <sys/stat.h>

#include <algorithm>
#include <iterator>

namespace convt_jit::tools::test {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

class CacheTool : public FilledCache {};

TEST_F(CacheTool, LsNamesEveryEntry) {
    const Outcome text = convt("cache ls");
    EXPECT_EQ(text.code, 0) << text.err;
    for (const char* part : {first_.key.c_str(), second_.key.c_str(), "sm_80", "sm_90", kFirst})
        EXPECT_THAT(text.out, HasSubstr(part));
    const auto json = answer("ls");
    ASSERT_EQ(json.size(), 2U);
    for (const auto& entry : json) {
        EXPECT_TRUE(entry.at("readable"));
        EXPECT_GT(entry.at("cubin_bytes"), 0);
        EXPECT_THAT(entry.at("producer").get<std::string>(), HasSubstr("nvrtc"));
    }
}

TEST_F(CacheTool, AnEntryThatCannotBeReadIsStillListed) {
    write_text(entry_path(first_.key), "short");
    const auto json = answer("ls");
    ASSERT_EQ(json.size(), 2U);
    EXPECT_NE(json[0].at("readable"), json[1].at("readable"));
    EXPECT_THAT(convt("cache ls").out, HasSubstr("not readable"));
}

TEST_F(CacheTool, ShowTakesTheBeginningOfAKey) {
    EXPECT_EQ(answer("show " + first_.key).at("layer"), kFirst);
    EXPECT_EQ(answer("show " + second_.key.substr(0, 12)).at("key"), second_.key);
    expect_failure("show ''", 2, "no entry has that key");
    expect_failure("show nonsense", 2, "no entry has that key");
    expect_failure("show", 2, "KEY");
}

TEST_F(CacheTool, ShowExtractsTheCubin) {
    const auto file = directory_ / "kernel.cubin";
    EXPECT_EQ(convt("cache show " + first_.key + " --cubin " + file.string()).code, 0);
    const std::string cubin = read_file(file);
    EXPECT_THAT(cubin, ::testing::StartsWith("\177ELF"));
    EXPECT_EQ(cubin.size(), answer("show " + first_.key).at("cubin_bytes"));
    EXPECT_EQ(convt("cache show " + first_.key + " --cubin -").out, cubin);
    expect_failure("show " + first_.key + " --cubin - --json", 2, "standard output");
    damage(first_.key);
    fs::remove(file);
    expect_failure("show " + first_.key + " --cubin " + file.string(), 1, "damaged");
    EXPECT_FALSE(fs::exists(file));
}

TEST_F(CacheTool, StatCounts) {
    const auto json = answer("stat");
    EXPECT_EQ(json.at("entries"), 2);
    EXPECT_EQ(json.at("archs").size(), 2U);
    EXPECT_EQ(json.at("max_bytes"), 1 << 30);
    EXPECT_THAT(convt("cache stat").out, HasSubstr("cap 1.0 GB"));
    EXPECT_THAT(convt("cache stat", "CONVT_JIT_CACHE_MAX_BYTES=0").out, HasSubstr("cap none"));
}

TEST_F(CacheTool, VerifyFindsDamageAndRepairMendsIt) {
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

TEST_F(CacheTool, RepairSaysWhyItCannot) {
    damage(second_.key);
    fs::remove_all(cache_path() / "quarantine");
    write_text(cache_path() / "quarantine", "x");
    const auto json = answer("verify --repair", 1);
    EXPECT_FALSE(json.at("findings")[0].at("mended"));
    EXPECT_THAT(json.at("findings")[0].at("failure").get<std::string>(), HasSubstr("Not a directory"));
    EXPECT_THAT(convt("cache verify --repair").out, HasSubstr("not repaired: it could not be moved to quarantine"));
    EXPECT_THAT(convt("cache verify").out, ::testing::Not(HasSubstr("not repaired")));
}

TEST_F(CacheTool, AFolderThatCannotBeReadIsToldAndNothingIsExported) {
    const auto folder = entry_path(first_.key).parent_path();
    fs::permissions(folder, fs::perms::all);
    for (const char* command : {"ls", "stat", "trim --dry-run", "prune --arch sm_80 --dry-run"}) {
        const Outcome outcome = convt(std::string("cache ") + command);
        EXPECT_EQ(outcome.code, 0) << command;
        EXPECT_THAT(outcome.err, HasSubstr("warning: folder " + folder.filename().string())) << command;
    }
    EXPECT_THAT(convt("cache stat").out, HasSubstr("skipped      1 folder"));
    EXPECT_EQ(answer("stat").at("skipped").at(0).at("path"), folder.filename().string());
    expect_failure("export " + (directory_ / "x.tar").string(), 1, folder.string());
    EXPECT_FALSE(fs::exists(directory_ / "x.tar"));
}

TEST_F(CacheTool, AnImportKeepsAllOrNothing) {
    const std::string file = (directory_ / "cache.tar").string();
    const auto other = directory_ / "other";
    EXPECT_EQ(convt("cache export " + file).code, 0);
    fs::create_directory(other);
    fs::permissions(other, fs::perms::owner_all);
    const std::string last = std::max(first_.key, second_.key).substr(0, 2);
    write_text(other / last, "x");
    expect_failure("import " + file + " --cache " + other.string(), 1, (other / last).string());
    EXPECT_EQ(std::distance(fs::directory_iterator(other), {}), 1);
    write_text(file, read_file(file) + "x");
    fs::remove(other / last);
    expect_failure("import " + file + " --cache " + other.string(), 2, "something follows its end");
    EXPECT_TRUE(fs::is_empty(other));
}

TEST_F(CacheTool, NothingInAPathReachesTheTerminalAsACommand) {
    const auto odd = directory_ / "odd\x1b[31m";
    fs::rename(cache_path(), odd);
    damage_file(odd / second_.key.substr(0, 2) / (second_.key + ".cubin"));
    write_text(odd / "stray\x1b[2J", "x");
    const std::string named = " --cache '" + odd.string() + "'";
    for (const std::string& command :
         {std::string("ls"), std::string("stat"), "show " + first_.key, std::string("verify"),
          fmt::format("explain '{}' --arch sm_80", kFirst), fmt::format("explain '{}' --arch sm_86", kFirst),
          fmt::format("explain '{}' --arch sm_90", kSecond)}) {
        const Outcome outcome = convt("cache " + command + named);
        EXPECT_NE(outcome.out, "") << command;
        EXPECT_EQ((outcome.out + outcome.err).find('\x1b'), std::string::npos) << command << outcome.out;
    }
}

TEST_F(CacheTool, TrimSparesWhatWasJustUsed) {
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

TEST_F(CacheTool, PruneByArchAndAge) {
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

TEST_F(CacheTool, ExportAndImport) {
    const std::string file = (directory_ / "cache.tar").string(), other = (directory_ / "other").string();
    EXPECT_EQ(answer("export " + file).at("entries"), 2);
    EXPECT_EQ(answer("import " + file + " --cache " + other).at("entries"), 2);
    EXPECT_EQ(answer("import " + file + " --cache " + other).at("skipped"), 2);
    EXPECT_EQ(answer("ls --cache " + other).size(), 2U);
    EXPECT_EQ(answer("export --arch sm_90 " + file).at("entries"), 1);
}

TEST_F(CacheTool, ABadImportKeepsNothing) {
    const std::string file = (directory_ / "cache.tar").string(), other = (directory_ / "other").string();
    EXPECT_EQ(convt("cache export " + file).code, 0);
    const std::string sound = read_file(file);
    write_text(file, sound.substr(0, sound.size() / 2));
    expect_failure("import " + file + " --cache " + other, 2, file);
    expect_failure("import " + other + ".tar --cache " + other, 2, "other.tar");
    expect_failure("import " + directory_.string() + " --cache " + other, 2, "no regular file");
    EXPECT_FALSE(fs::exists(other));
    expect_failure("export " + (directory_ / "missing" / "x.tar").string(), 1, "x.tar");
    ASSERT_EQ(::mkfifo((directory_ / "pipe").c_str(), 0600), 0);
    expect_failure("export " + (directory_ / "pipe").string(), 1, "no regular file");
    EXPECT_TRUE(fs::is_fifo(directory_ / "pipe"));
}

TEST_F(CacheTool, DirectoriesThatCannotBeUsed) {
    const std::string missing = (directory_ / "missing").string(), file = (directory_ / "file").string();
    write_text(file, "text");
    for (const std::string command :
         {"ls", "show ab", "stat", "verify", "verify --repair", "trim", "prune --arch sm_90", "export x.tar"}) {
        expect_failure(command + " --cache " + missing, 2, "no such directory");
        expect_failure(command + " --cache " + file, 2, "no directory");
        expect_failure(command + " --cache ''", 2, "--cache");
    }
    expect_failure("import x.tar --cache " + file, 2, "no directory");
    const std::string tar = (directory_ / "cache.tar").string();
    EXPECT_EQ(convt("cache export " + tar).code, 0);
    expect_failure("import " + tar + " --cache " + file + "/below", 2, "Not a directory");
    expect_failure("import " + tar + " --cache /proc/convt", 2, "/proc/convt");
    expect_failure("ls --cache " + std::string(300, 'a'), 2, "too long");
    EXPECT_FALSE(fs::exists(missing));
    // There, and not to be trusted: looked at, but no code comes from it.
    fs::permissions(cache_path(), fs::perms::all);
    EXPECT_EQ(convt("cache ls").code, 0);
    expect_failure("export " + (directory_ / "x.tar").string(), 1, cache_path().string());
    EXPECT_FALSE(fs::exists(directory_ / "x.tar"));
}

TEST_F(CacheTool, EmptyIsNotLeftOut) {
    for (const char* command : {"show ab --cubin ''", "trim --max-bytes ''", "prune --older-than ''", "export ''",
                                "import ''", "explain 'c1 o1 k3' --arch sm_90 --plan ''"})
        expect_failure(command, 2, "is empty");
    expect_failure("frob", 2, "\"frob\" is no subcommand; there are: ls, ");
}

TEST_F(CacheTool, AnUnwritableStderrChangesNoExitCode) {
    EXPECT_EQ(run("cache show frob", ">/dev/null 2>/dev/full"), 2);
    EXPECT_EQ(run("cache ls --cache /missing", ">/dev/null 2>&-"), 2);
}

TEST_F(CacheTool, NeedsNoCompiler) {
    for (const char* command : {"ls", "stat", "verify", "trim --dry-run", "prune --arch sm_80 --dry-run"})
        EXPECT_EQ(convt(std::string("cache ") + command, "CONVT_JIT_NVRTC=/nowhere").code, 0) << command;
}

TEST_F(CacheTool, AFullDiskIsNoSuccess) { EXPECT_EQ(run_into("/dev/full", "cache ls --json"), 1); }

}  // namespace
}  // namespace convt_jit::tools::test

#include "filled_cache.h"

#include <sys/stat.h>

#include <algorithm>
#include <iterator>
#include <set>

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
    expect_failure("show ''", 2, "KEY: is empty");
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

TEST_F(CacheTool, AnExportNamesWhatItLeavesOut) {
    damage(first_.key);
    const std::string file = (directory_ / "cache.tar").string();
    const Outcome text = convt("cache export " + file);
    EXPECT_EQ(text.code, 1);
    EXPECT_THAT(text.err, HasSubstr("left out: " + first_.key.substr(0, 2) + "/" + first_.key + ".cubin: "));
    EXPECT_THAT(text.out, HasSubstr("wrote 1 entry, "));
    EXPECT_EQ(answer("import " + file + " --cache " + (directory_ / "other").string()).at("entries"), 1);
    fs::permissions(entry_path(second_.key), fs::perms(0666));
    const auto json = answer("export " + file, 1);
    EXPECT_EQ(json.at("entries"), 0);
    EXPECT_EQ(json.at("left_out").size(), 2U);
    EXPECT_EQ(answer("import " + file).at("entries"), 1) << "an export of nothing takes no other's place";
}

TEST_F(CacheTool, AnArchMeansWhatWarmupStoresForIt) {
    const std::string file = (directory_ / "cache.tar").string();
    EXPECT_EQ(convt("warmup 'c2 o3 k3x3 f32' --arch sm_90a --check").code, 0);
    EXPECT_EQ(answer("export --arch sm_90a " + file).at("entries"), 1);
    EXPECT_EQ(answer("prune --arch sm_90a --dry-run").at("evicted"), 1);
    EXPECT_EQ(convt("cache explain 'c2 o3 k3x3 f32' --arch sm_90a").code, 0);
    EXPECT_EQ(answer("prune --arch sm_100f --dry-run").at("evicted"), 0);
}

TEST_F(CacheTool, AnExportOfNothingIsNoExport) {
    const std::string file = (directory_ / "cache.tar").string();
    write_text(file, "an older one");
    expect_failure("export --arch sm_75,sm_86 " + file, 1, "no entry of sm_75, sm_86 to be exported");
    expect_failure("export --arch sm_75 " + file, 1, "it holds those of sm_80, sm_90");
    EXPECT_EQ(answer("export --arch sm_75 " + file, 1).at("entries"), 0);
    fs::remove_all(cache_path());
    fs::create_directory(cache_path());
    fs::permissions(cache_path(), fs::perms::owner_all);
    expect_failure("export " + file, 1, "it holds none");
    EXPECT_EQ(read_file(file), "an older one");
}

TEST_F(CacheTool, WhatIsNotPrintableInArgumentsIsEscaped) {
    const std::string odd = "'/a\nb\tc\xff\x1b\xc3\xa9'", shown = "a\\x0ab\\x09c\\xff\\x1b\xc3\xa9";
    for (const std::string& arguments :
         {"show " + odd, odd, "ls --fast=" + odd, "trim --max-bytes " + odd, "prune --older-than " + odd,
          "prune --arch " + odd, "ls --cache " + odd, "import " + odd, "export " + odd + "/x"}) {
        const Outcome outcome = convt("cache " + arguments);
        EXPECT_NE(outcome.code, 0) << arguments;
        EXPECT_THAT(outcome.err, HasSubstr(shown)) << arguments;
    }
    EXPECT_THAT(convt("cache explain 'c1\xff\x1b' --arch sm_80").err, HasSubstr("c1\\xff\\x1b"));
    EXPECT_THAT(convt("run " + odd).err, HasSubstr(shown));
    EXPECT_THAT(convt("warmup 'c1 o1 k3' --arch sm_80 --manifest " + odd + "/x").err, HasSubstr(shown));
    EXPECT_THAT(convt("warmup 'c1 o1 k3' --arch sm_80 --check", "CONVT_JIT_CACHE_WAIT=" + odd).err,
                HasSubstr("a\\x0ab\\x09c\\xff\\x1b"));
}

TEST_F(CacheTool, SizesAreReadAsInTheEnvironment) {
    for (const char* bytes : {"1k", "1K", "1024"}) {
        EXPECT_EQ(convt(fmt::format("cache trim --dry-run --max-bytes {}", bytes)).code, 0) << bytes;
        const Outcome outcome = convt("cache stat", fmt::format("CONVT_JIT_CACHE_MAX_BYTES={}", bytes));
        EXPECT_THAT(outcome.out, HasSubstr("cap 1.0 kB")) << bytes;
        EXPECT_EQ(outcome.err, "");
    }
}

TEST_F(CacheTool, BadVariablesAreWarnedAbout) {
    const Outcome level = convt("cache ls", "CONVT_JIT_LOG=foo");
    EXPECT_EQ(level.code, 0);
    EXPECT_THAT(level.err, HasSubstr("CONVT_JIT_LOG is \"foo\"; allowed: debug, info, warning, error, off"));
    for (const char* good : {"", "debug", "warn", "off"})
        EXPECT_THAT(convt("cache ls", fmt::format("CONVT_JIT_LOG='{}'", good)).err,
                    ::testing::Not(HasSubstr("allowed")));
    write_text(directory_ / "file", "text");
    const std::string file = (directory_ / "file").string();
    const Outcome layers = convt(fmt::format("cache explain '{}' --arch sm_86", kFirst),
                                 fmt::format("CONVT_JIT_CACHE_PATH='/missing:{}'", file));
    EXPECT_EQ(layers.code, 1);
    EXPECT_THAT(layers.err, HasSubstr("\"/missing\", which is not there"));
    EXPECT_THAT(layers.err, HasSubstr("\"" + file + "\", which is no directory"));
    EXPECT_EQ(layers.err.find("/missing"), layers.err.rfind("/missing")) << "once";
    EXPECT_THAT(layers.out, HasSubstr(file + ": it is no directory"));
    EXPECT_THAT(layers.out, HasSubstr("/missing: there is no such directory"));
}

TEST_F(CacheTool, ExplainAndCheckChangeNothing) {
    fs::remove_all(cache_path() / "compilers");
    fs::create_directory(cache_path() / "holders");
    write_text(cache_path() / "holders" / "localhost-999999999-00c0ffee00c0ffee", "locked\n");
    const auto names = [&] {
        std::set<std::string> all;
        for (const auto& item : fs::recursive_directory_iterator(cache_path())) all.insert(item.path().string());
        return all;
    };
    const auto before = names();
    EXPECT_EQ(convt(fmt::format("cache explain '{}' --arch sm_80", kFirst)).code, 0);
    EXPECT_EQ(convt(fmt::format("cache explain '{}' --arch sm_86", kFirst)).code, 1);
    EXPECT_EQ(convt(fmt::format("warmup '{}' --arch sm_80 --check", kFirst)).code, 0);
    EXPECT_EQ(convt(fmt::format("warmup '{}' --arch sm_86 --check", kFirst)).code, 1);
    for (const char* command : {"ls", "stat", "verify", "trim --max-bytes 0 --dry-run", "prune --arch sm_80 --dry-run"})
        EXPECT_EQ(convt(std::string("cache ") + command).code, 0) << command;
    EXPECT_EQ(names(), before);
}

TEST_F(CacheTool, AFullDiskIsNamedAsSuch) {
    std::string longer = "warmup --arch sm_90 --check --json";  // than a buffer: printing fails before its end
    for (int i = 5; i < 30; ++i) longer += fmt::format(" 'c2 o{} k3'", i);
    for (const std::string& command : {std::string("cache ls --json"), std::string("cache ls"),
                                       std::string("cache stat"), std::string("--help"), longer}) {
        EXPECT_EQ(run_into("/dev/full", command), 1) << command;
        EXPECT_THAT(read_file(directory_ / "err"), HasSubstr("standard output cannot be written to")) << command;
    }
}

TEST_F(CacheTool, ImportTellsACapThatIsTooSmall) {
    const std::string file = (directory_ / "cache.tar").string(), other = (directory_ / "other").string();
    EXPECT_EQ(answer("export " + file).at("entries"), 2);
    const std::string question = "cache import " + file + " --cache " + other;
    const Outcome outcome = convt(question, "CONVT_JIT_CACHE_MAX_BYTES=1K");
    EXPECT_EQ(outcome.code, 1) << outcome.out;
    EXPECT_THAT(outcome.err, HasSubstr(other + ": it now holds "));
    EXPECT_THAT(outcome.err, HasSubstr("CONVT_JIT_CACHE_MAX_BYTES is 1024"));
    EXPECT_EQ(answer("ls --cache " + other).size(), 2U) << "all is kept";
    const auto bytes = answer("stat --cache " + other).at("bytes").get<std::uint64_t>();
    const Outcome tight = convt(question, fmt::format("CONVT_JIT_CACHE_MAX_BYTES={}", bytes));
    EXPECT_EQ(tight.code, 0);
    EXPECT_THAT(tight.err, HasSubstr("may evict some of them"));
    EXPECT_EQ(convt(question, "CONVT_JIT_CACHE_MAX_BYTES=0").err, "");
}

// One document, whatever went wrong.
TEST_F(CacheTool, JsonSaysWhyTheExitCodeIsOne) {
    const std::string file = (directory_ / "cache.tar").string(), other = (directory_ / "other").string();
    const auto error_of = [&](const std::string& arguments, const std::string& environment = "") {
        const Outcome outcome = convt(arguments + " --json", environment);
        EXPECT_EQ(outcome.code, 1) << arguments << outcome.out << outcome.err;
        const auto json = nlohmann::json::parse(outcome.out, nullptr, false);
        EXPECT_TRUE(json.is_object()) << arguments << outcome.out;
        return json.is_object() ? json.value("error", "") : std::string();
    };
    EXPECT_FALSE(answer("export " + file).contains("error"));
    EXPECT_FALSE(answer("verify").contains("error"));
    const std::string explain = fmt::format("cache explain '{}' --arch ", kFirst);
    EXPECT_FALSE(nlohmann::json::parse(convt(explain + "sm_80 --json").out).contains("error"));
    EXPECT_NE(error_of(explain + "sm_86"), "");
    EXPECT_NE(error_of(fmt::format("warmup '{}' --arch sm_86 --check", kFirst)), "");
    EXPECT_NE(error_of("cache import " + file + " --cache " + other, "CONVT_JIT_CACHE_MAX_BYTES=1K"), "");
    EXPECT_NE(error_of("cache export --arch sm_75 " + file), "");
    EXPECT_THAT(error_of("cache export " + (directory_ / "missing" / "x.tar").string()), HasSubstr("No such file"));
    damage(first_.key);
    EXPECT_NE(error_of("cache export " + file + ".less"), "");
    EXPECT_NE(error_of("cache verify"), "");
    EXPECT_THAT(error_of("cache show " + first_.key + " --cubin " + file), HasSubstr("damaged"));
    fs::remove_all(entry_path(first_.key).parent_path());
    write_text(entry_path(first_.key).parent_path(), "a file in the place of a folder");
    for (const char* command : {"cache export ", "cache import "})
        EXPECT_THAT(error_of(command + file), HasSubstr(first_.key.substr(0, 2))) << command;
    fs::permissions(cache_path(), fs::perms::all);
    EXPECT_NE(error_of(explain + "sm_80"), "");
    EXPECT_NE(error_of(fmt::format("warmup '{}' --arch sm_80", kFirst)), "");
    EXPECT_NE(error_of(fmt::format("run '{} in4' --backend cuda", kFirst), "CONVT_JIT_LIBCUDA=/nowhere"), "");
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
    expect_failure("export " + (directory_ / "pipe").string(), 2, "no regular file");
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
    for (const char* command :
         {"show ''", "explain '' --arch sm_90", "show ab --cubin ''", "trim --max-bytes ''", "prune --older-than ''",
          "export ''", "import ''", "explain 'c1 o1 k3' --arch sm_90 --plan ''"})
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

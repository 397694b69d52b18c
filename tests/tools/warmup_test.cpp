#include "convt_jit/convt_jit.h"
#include "subject/arch.h"
#include "warmup_program.h"

#include <gmock/gmock.h>
#include <nlohmann/json.hpp>

#include <chrono>
#include <csignal>
#include <regex>
#include <set>

namespace convt_jit::tools::test {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using ::testing::HasSubstr;
using ::testing::Not;

TEST_F(Warmup, FillsTheCacheForEveryArch) {
    const std::string question = "'c2 o2 k3 relu' 'c2 o3 in7x9 k3x3' --arch sm_80,sm_90";
    const json first = answer(question, 0);
    EXPECT_EQ(first.at("compiled"), 4);
    EXPECT_EQ(first.at("hits"), 0);
    EXPECT_EQ(first.at("failed"), 0);
    EXPECT_GT(first.at("peak_bytes"), 1 << 20);
    EXPECT_EQ(entries().size(), 4U);
    const json second = answer(question, 0, "CONVT_JIT_NVRTC=/nowhere");
    EXPECT_EQ(second.at("compiled"), 0);
    EXPECT_EQ(second.at("hits"), 4);
    // What an engine asks for is what was put there.
    const Layer layer = parse_layer("c2 o2 k3 relu");
    EXPECT_EQ(Engine({cache_path().string()}).compile(layer, "sm_90").origin, Origin::disk);
}

TEST_F(Warmup, LayersThatShareAKernelAreOneJob) {
    const json told = answer("--arch sm_90,sm_90 'n4 c2 o2 k3 relu' 'c2 o2 k3 relu' --arch sm_90", 0);
    EXPECT_EQ(told.at("kernels"), 1);
    EXPECT_EQ(told.at("targets"), 2);
    EXPECT_EQ(told.at("compiled"), 1);
}

TEST_F(Warmup, CheckCompilesNothing) {
    const json before = answer("'c2 o2 k3 relu' 'c2 o3 k3' --arch sm_90 --check", 1);
    EXPECT_EQ(before.at("missing"), 2);
    EXPECT_EQ(before.at("compiled"), 0);
    EXPECT_TRUE(entries().empty());
    EXPECT_EQ(answer("'c2 o2 k3 relu' --arch sm_90", 0).at("compiled"), 1);
    const Outcome text = convt("warmup 'c2 o2 k3 relu' 'c2 o3 k3' --arch sm_90 --check");
    EXPECT_EQ(text.code, 1);
    EXPECT_THAT(text.out, HasSubstr("missing  c2 o3 k3 f32 for sm_90"));
    EXPECT_THAT(text.out, Not(HasSubstr("relu")));
    EXPECT_EQ(answer("'c2 o2 k3 relu' --arch sm_90 --check", 0).at("hits"), 1);
    EXPECT_EQ(answer("'c2 o2 k3 relu' --arch sm_90 --check", 0, "CONVT_JIT_NVRTC=/nowhere").at("hits"), 1);
    EXPECT_EQ(entries().size(), 1U);
    // The probe of a container whose image brings the cache.
    const auto image = directory_ / "image";
    fs::rename(cache_path(), image);
    EXPECT_EQ(convt("warmup 'c2 o2 k3 relu' --arch sm_90 --check",
                    fmt::format("CONVT_JIT_NVRTC=/nowhere CONVT_JIT_CACHE_PATH='{}'", image.string()))
                  .code,
              0);
}

TEST_F(Warmup, OneThatFailsDoesNotStopTheOthers) {
    const json told = answer("'c2 o2 k3 relu' 'c2 o3 k3' --arch sm_90,sm_20", 1);
    EXPECT_EQ(told.at("compiled"), 2);
    EXPECT_EQ(told.at("failed"), 2);
    ASSERT_EQ(told.at("failures").size(), 2U);
    EXPECT_EQ(told["failures"][0].at("arch"), "sm_20");
    EXPECT_NE(told["failures"][0].at("why"), "");
    const std::string why = answer("'c2 o2 k3' --arch sm_998", 1).at("failures").at(0).at("why");
    EXPECT_THAT(why, HasSubstr("it knows sm_")) << "later archs than those of today are the compiler's business";
    const std::regex name("sm_[0-9]+");
    for (std::sregex_iterator at(why.begin(), why.end(), name), end; at != end; ++at)
        EXPECT_TRUE(is_known_arch(at->str())) << at->str() << ": what this compiler knows is to be accepted";
    const Outcome text = convt("warmup 'c2 o3 k3' 'c2 o4 k3' --arch sm_90", "CONVT_JIT_NVRTC=/nowhere");
    EXPECT_EQ(text.code, 1);
    EXPECT_THAT(text.out, HasSubstr("FAILED   c2 o4 k3 f32 for sm_90"));
    EXPECT_THAT(text.out, HasSubstr("cannot be opened"));
}

// It takes files, but none of an entry's size.
TEST_F(Warmup, ACacheThatTurnsOutToKeepNothingIsAFailure) {
    const std::string command = fmt::format(
        "trap '' XFSZ; ulimit -f 16; CONVT_JIT_CACHE_DIR='{}' '{}' warmup 'c2 o2 k3 relu' 'c2 o3 k3' 'c2 o4 k3' "
        "'c2 o5 k3' 'c2 o6 k3' --jobs 1 --arch sm_90 --json 2>&1 | cat >'{}'",
        cache_path().string(), CONVT_PROGRAM, (directory_ / "out").string());
    ASSERT_EQ(std::system(command.c_str()), 0);
    const std::string out = read_file(directory_ / "out");
    const json told = json::parse(out.substr(out.find("{\n")));
    if (told.at("compiled") == 5) GTEST_SKIP() << "entries are smaller than the limit";
    EXPECT_EQ(told.at("failed"), 1);
    EXPECT_EQ(told.at("left"), 4) << "compiling the others would be in vain";
    EXPECT_THAT(told.at("failures")[0].at("why").get<std::string>(), HasSubstr("kernels are not kept"));
}

TEST_F(Warmup, OnePlaceThatIsTakenDoesNotStopTheOthers) {
    const std::string question = "'c2 o2 k3' 'c2 o3 k3' 'c2 o4 k3' --jobs 1 --arch sm_90";
    EXPECT_EQ(answer(question, 0).at("compiled"), 3);
    const std::string folder = entries().begin()->substr(0, 2);
    fs::remove_all(cache_path() / folder);
    for (const std::string& key : entries()) fs::remove_all(cache_path() / key.substr(0, 2));
    write_text(cache_path() / folder, "x");
    const json told = answer(question, 1);
    EXPECT_EQ(told.at("failed"), 1);
    EXPECT_EQ(told.at("compiled"), 2);
    EXPECT_EQ(told.at("left"), 0);
    EXPECT_THAT(told.at("failures")[0].at("why").get<std::string>(), HasSubstr("Not a directory"));
}

TEST_F(Warmup, AnUnusableDirectoryIsSeenBeforeTheFirstKernel) {
    const std::string environment = "CONVT_JIT_LOG=info CONVT_JIT_CACHE_DIR=/proc/convt";
    const Outcome outcome = convt("warmup 'c2 o2 k3' --arch sm_90", environment);
    EXPECT_EQ(outcome.code, 1) << "the directory is not from the command line";
    EXPECT_THAT(outcome.err, HasSubstr("/proc/convt: it keeps nothing"));
    EXPECT_THAT(outcome.err, Not(HasSubstr("compiled")));
    EXPECT_EQ(answer("'c2 o2 k3' --arch sm_90", 0).at("compiled"), 1);
    // Where all is there already, nothing has to be kept.
    EXPECT_EQ(answer("'c2 o2 k3' --arch sm_90", 0,
                     fmt::format("CONVT_JIT_CACHE_PATH='{}' CONVT_JIT_CACHE_DIR=/proc/convt", cache_path().string()))
                  .at("hits"),
              1);
}

TEST_F(Warmup, EachDamagedEntryIsWarnedAboutOnce) {
    const std::string question = "'c2 o2 k3' 'c2 o3 k3' 'c2 o4 k3' --arch sm_90 --jobs 2";
    EXPECT_EQ(answer(question, 0).at("compiled"), 3);
    const std::set<std::string> keys = entries();
    const auto path = [&](const std::string& key) { return cache_path() / key.substr(0, 2) / (key + ".cubin"); };
    const std::set<std::string> damaged = {*keys.begin(), *std::next(keys.begin())};
    const auto expect_warnings = [&](const Outcome& outcome, std::size_t count) {
        EXPECT_EQ(outcome.code, 0) << outcome.out;
        std::size_t lines = 0;
        for (std::size_t at = 0; (at = outcome.err.find("is damaged", at)) != std::string::npos; ++at) ++lines;
        EXPECT_EQ(lines, count) << outcome.err;
        if (count == 0) return;
        for (const std::string& key : damaged) EXPECT_THAT(outcome.err, HasSubstr(key));
    };
    for (const std::string& key : damaged) write_text(path(key), "damaged");
    expect_warnings(convt("warmup " + question), 2);
    expect_warnings(convt("warmup " + question), 0);
    for (const std::string& key : damaged) write_text(path(key), "damaged");
    expect_warnings(convt("warmup " + question, "CONVT_JIT_LOG=off"), 0);
    // The same in a directory that is only read, where they stay.
    for (const std::string& key : damaged) write_text(path(key), "damaged");
    fs::rename(cache_path(), directory_ / "image");
    const std::string image = fmt::format("CONVT_JIT_CACHE_PATH='{}'", (directory_ / "image").string());
    expect_warnings(convt("warmup " + question, image), 2);
    EXPECT_EQ(entries(), damaged);
}

TEST_F(Warmup, CheckSaysWhyAnEntryIsNotUsed) {
    const std::string question = "'c2 o2 k3' --arch sm_90 --check";
    EXPECT_EQ(answer("'c2 o2 k3' --arch sm_90", 0).at("compiled"), 1);
    const std::string key = *entries().begin();
    const auto path = cache_path() / key.substr(0, 2) / (key + ".cubin");
    const auto expect_told = [&](const std::string& reason, const std::string& why,
                                 const std::string& environment = "") {
        const json told = answer(question, 1, environment);
        const json& directories = told.at("missing_layers").at(0).at("directories");
        ASSERT_EQ(directories.size(), 1U) << directories;
        EXPECT_EQ(directories[0].at("directory"), cache_path().string());
        EXPECT_EQ(directories[0].at("reason"), reason);
        EXPECT_THAT(directories[0].at("why").get<std::string>(), HasSubstr(why));
        EXPECT_THAT(convt("warmup " + question, environment).out, HasSubstr(why));
    };
    fs::permissions(path, fs::perms(0666));
    expect_told("untrusted", "anybody can write to it");
    fs::permissions(path, fs::perms(0600));
    const std::string good = read_file(path);
    write_text(path, good.substr(0, good.size() / 2));
    expect_told("damaged", "");
    // In every directory that is asked, also where another one serves.
    const auto image = directory_ / "image";
    fs::copy(cache_path(), image, fs::copy_options::recursive);
    fs::permissions(image, fs::perms::owner_all);
    write_text(image / key.substr(0, 2) / (key + ".cubin"), good);
    const std::string with_image = fmt::format("CONVT_JIT_CACHE_PATH='/missing:{}'", image.string());
    const json served = answer(question, 0, with_image);
    EXPECT_EQ(served.at("passed_over").at(0).at("directories").at(0).at("reason"), "damaged");
    EXPECT_EQ(served.at("passed_over").at(0).at("directories").at(1).at("reason"), "absent");
    EXPECT_THAT(convt("warmup " + question, with_image).out, HasSubstr("after passing over"));
    fs::remove(path);
    expect_told("no entry", "no such entry");
    fs::remove(path.parent_path());
    write_text(path.parent_path(), "x");
    expect_told("unreadable", "Not a directory");
    fs::permissions(cache_path(), fs::perms::all);
    expect_told("unusable", "anybody can write to it");
    fs::remove_all(cache_path());
    expect_told("absent", "no such directory");
    EXPECT_FALSE(fs::exists(cache_path())) << "a check makes nothing";
}

TEST_F(Warmup, ABadSettingIsWarnedAboutOnce) {
    const Outcome outcome =
        convt("warmup 'c2 o2 k3' 'c2 o3 k3' --arch sm_90 --jobs 2", "CONVT_JIT_CACHE_MAX_BYTES=abc");
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    const auto at = outcome.err.find("CONVT_JIT_CACHE_MAX_BYTES");
    ASSERT_NE(at, std::string::npos) << outcome.err;
    EXPECT_EQ(outcome.err.find("CONVT_JIT_CACHE_MAX_BYTES", at + 1), std::string::npos) << outcome.err;
}

// The compilers' processes speak there, too.
TEST_F(Warmup, AnUnwritableStderrStopsNothing) {
    EXPECT_EQ(run("warmup 'c2 o2 k3' 'c2 o3 k3' --arch sm_90", ">/dev/null 2>/dev/full", "CONVT_JIT_LOG=debug"), 0);
    EXPECT_EQ(entries().size(), 2U);
    EXPECT_EQ(run("warmup 'c2 o4 k3' --arch sm_90", ">/dev/full 2>/dev/null"), 1);
}

TEST_F(Warmup, AManifestThatCannotBeWrittenIsSeenBeforeTheFirstKernel) {
    const std::string file = (directory_ / "missing" / "manifest").string();
    const Outcome outcome = convt("warmup 'c2 o2 k3' --arch sm_90 --manifest " + file);
    EXPECT_EQ(outcome.code, 1);
    EXPECT_THAT(outcome.err, HasSubstr(file));
    EXPECT_EQ(entries().size(), 0U);
}

TEST_F(Warmup, ShardsAreDisjointAndTheWhole) {
    const std::string layers = "--layers " + file_of_layers(5) + " --arch sm_90";
    std::set<std::string> keys;
    std::size_t compiled = 0;
    for (int i = 0; i < 3; ++i) {
        const json told = answer(fmt::format("{} --shard {}/3", layers, i), 0);
        EXPECT_EQ(told.at("hits"), 0) << "no other shard has done it";
        EXPECT_EQ(told.at("compiled"), told.at("kernels"));
        compiled += told.at("compiled").get<std::size_t>();
        // The same part, whatever is cached.
        EXPECT_EQ(answer(fmt::format("{} --shard {}/3", layers, i), 0).at("hits"), told.at("compiled"));
    }
    EXPECT_EQ(compiled, 5U);
    EXPECT_EQ(answer(layers + " --check", 0).at("hits"), 5);
    EXPECT_EQ(answer(layers + " --check --shard 8/9", 0).at("kernels"), 0);
}

TEST_F(Warmup, ManifestTellsWhatTheCacheHolds) {
    const auto file = directory_ / "manifest.jsonl";
    const std::string question = "--layers " + file_of_layers(2) + " --arch sm_80,sm_90 --manifest " + file.string();
    EXPECT_EQ(answer(question + " --check", 1).at("missing"), 4);
    EXPECT_EQ(read_file(file), "");
    EXPECT_EQ(answer(question, 0).at("compiled"), 4);
    const std::string written = read_file(file);
    std::istringstream lines(written);
    std::set<std::string> keys;
    for (std::string line; std::getline(lines, line);) {
        const json entry = json::parse(line);
        EXPECT_THAT(entry.at("name").get<std::string>(), HasSubstr("up"));
        EXPECT_EQ(entry.at("compiled_for"), entry.at("arch"));
        EXPECT_NE(entry.at("plan"), "");
        EXPECT_EQ(to_string(parse_layer(entry.at("layer").get<std::string>())), entry.at("layer"));
        keys.insert(entry.at("key"));
    }
    EXPECT_EQ(keys, entries());
    EXPECT_EQ(answer(question + " --check", 0).at("hits"), 4);
    EXPECT_EQ(read_file(file), written) << "the same cache, the same manifest";
    EXPECT_EQ(convt("warmup 'c2 o2 k3' --arch sm_90 --check --manifest /dev/full").code, 1);
}

TEST_F(Warmup, AnInterruptionFinishesWhatRuns) {
    const std::string question = "--layers " + file_of_layers(40) + " --arch sm_90 --jobs 2 --json";
    const pid_t process = start(question);
    ASSERT_NO_FATAL_FAILURE(wait_for_entries(1));
    kill(process, SIGINT);
    EXPECT_EQ(end_of(process), 130);
    const json told = json::parse(read_file(directory_ / "beside"));
    EXPECT_TRUE(told.at("interrupted"));
    EXPECT_GT(told.at("left"), 0);
    EXPECT_EQ(told.at("failed"), 0);
    EXPECT_EQ(told.at("compiled"), entries().size()) << "all that was compiled was kept";
    EXPECT_EQ(answer("--layers " + file_of_layers(40) + " --arch sm_90 --check", 1).at("hits"), told.at("compiled"));
}

TEST_F(Warmup, GoesOnAfterAKill) {
    const std::string question = "--layers " + file_of_layers(8) + " --arch sm_90 --jobs 2";
    const pid_t process = start(question);
    ASSERT_NO_FATAL_FAILURE(wait_for_entries(2));
    kill(process, SIGKILL);
    EXPECT_EQ(end_of(process), 1000 + SIGKILL);
    const std::size_t kept = entries().size();
    const json told = answer(question, 0);
    EXPECT_GE(told.at("hits"), kept) << "nothing that was finished is done again";
    EXPECT_EQ(told.at("hits").get<int>() + told.at("compiled").get<int>(), 8);
    EXPECT_EQ(entries().size(), 8U);
    EXPECT_EQ(convt("cache verify").code, 0);
}

TEST_F(Warmup, BadUsageChangesNothing) {
    expect_usage("--arch sm_90", "at least one layer");
    expect_usage("'c2 o2 k3'", "--arch");
    expect_usage("'c2 o2 k3' --arch 90", "\"90\" is no arch");
    expect_usage("'c2 o2 k3' --arch sm_80,sm_77", "no compiler knows sm_77; allowed: sm_20, ");
    expect_usage("'c2 o2 k3' --arch sm_77 --check", "no compiler knows sm_77");
    expect_usage("'c2 o2 k3y' --arch sm_90", "column");
    expect_usage("'c2 o2 in1 k1 p1' --arch sm_90", "out");
    expect_usage("'c2 o2 k3' --arch sm_90 --jobs 0", "--jobs");
    expect_usage("'c2 o2 k3' --arch sm_90 --jobs 1x", "--jobs");
    expect_usage("'c2 o2 k3' --arch sm_90 --shard 2/2", "--shard");
    expect_usage("'c2 o2 k3' --arch sm_90 --shard ''", "is empty");
    expect_usage("'c2 o2 k3' --arch sm_90 --manifest ''", "is empty");
    expect_usage("'c2 o2 k3' --arch sm_90 --dtype f64", "f64");
    expect_usage("'c2 o2 k3' --arch sm_90 --dtype ''", "--dtype: is empty");
    expect_usage("'' --arch sm_90", "LAYER: is empty");
    expect_usage("'c2 o2 k3' --arch sm_90 --json --manifest -", "standard output");
    expect_usage("'c2 o2 k3' --arch sm_90 --check --cache " + (directory_ / "missing").string(), "no such directory");
    write_text(directory_ / "file", "text");
    expect_usage("'c2 o2 k3' --arch sm_90 --cache " + (directory_ / "file").string(), "no directory");
    expect_usage("'c2 o2 k3' --arch sm_90 --cache " + (directory_ / "file" / "below").string(), "keeps nothing");
    expect_usage("'c2 o2 k3' --arch sm_90 --cache /proc/convt", "/proc/convt: it keeps nothing");
    fs::create_directory(directory_ / "open");
    fs::permissions(directory_ / "open", fs::perms::all);
    const Outcome open = convt("warmup 'c2 o2 k3' --arch sm_90 --cache " + (directory_ / "open").string());
    EXPECT_EQ(open.code, 1) << "it is there";
    EXPECT_THAT(open.err, HasSubstr("anybody can write to it"));
    EXPECT_TRUE(fs::is_empty(directory_ / "open"));
}

}  // namespace
}  // namespace convt_jit::tools::test

// Processes that share a cache through their engines: cold together, killed, without a compiler, with another one.
// BR-...: the public trials of tests/data/bug_trials.jsonl.
#include "cache/disk_store.h"
#include "convt_jit/convt_jit.h"
#include "fault/cache/process.h"
#include "unit/cache/sample.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>
#include <thread>

using namespace convt_jit;
using fault::Process;
using fault::Variables;
using ::testing::HasSubstr;
namespace fs = std::filesystem;

namespace {

// The layers K0 to K3 of the trials.
const std::vector<std::string> kLayers = {"n1 c4 o4 in8x8 k4x4 s2 p1", "n1 c4 o4 in8x8 k3x3 s2 p1 op1",
                                          "n1 c4 o4 in8x8 k2x2 s2 g4", "n1 c4 o6 in16 k8 s4 p2 g2"};
const Variables kNoCompiler = {{"CONVT_JIT_NVRTC", "/nonexistent/libnvrtc.so.13"}};

// LeakSanitizer's tracer now and then dies of a signal of its own in a process that has opened NVRTC ("Tracer caught
// signal 11"). Leaks are looked for in the unit tests; here it is what processes do to each other that counts.
const std::pair<std::string, std::string> kNoLeakCheck = {"ASAN_OPTIONS", "detect_leaks=0"};

struct Line {
    std::string origin, key, nvrtc;
};

struct Outcome {
    int status = 0;
    std::vector<Line> lines;
    std::string errors;
    [[nodiscard]] int compiled() const {
        return static_cast<int>(
            std::count_if(lines.begin(), lines.end(), [](const Line& line) { return line.origin == "compiler"; }));
    }
};

Variables with(Variables variables, const Variables& more) {
    variables.insert(variables.end(), more.begin(), more.end());
    return variables;
}

class Engines : public ::testing::Test {
protected:
    [[nodiscard]] Process start(std::vector<std::string> layers, const Variables& more = {}) const {
        layers.insert(layers.begin(), {ENGINE_ACTOR, "compile", "sm_90"});
        return Process(layers, with({kNoLeakCheck, {"CONVT_JIT_CACHE_DIR", directory_}}, more));
    }
    static Outcome outcome(Process process) {
        Outcome result;
        std::istringstream text(process.output());
        result.errors = process.errors();
        result.status = process.wait();
        for (Line line; text >> line.origin >> line.key >> line.nvrtc;) result.lines.push_back(line);
        return result;
    }
    [[nodiscard]] Outcome run(const std::vector<std::string>& layers, const Variables& more = {}) const {
        return outcome(start(layers, more));
    }
    [[nodiscard]] std::string wanted(const Variables& more = {}) const {
        Process process({ENGINE_ACTOR, "wanted", "sm_90", kLayers[0]},
                        with({kNoLeakCheck, {"CONVT_JIT_CACHE_DIR", directory_}}, more));
        std::string text = process.output();
        EXPECT_EQ(process.wait(), 0);
        return text;
    }
    [[nodiscard]] std::size_t temporaries() const {
        return static_cast<std::size_t>(
            std::count_if(fs::recursive_directory_iterator(directory_), fs::recursive_directory_iterator(),
                          [](const auto& item) { return item.path().extension() == ".tmp"; }));
    }
    // The same entries, as another compiler would have made them.
    void rewrite_producer(const std::string& producer) const {
        std::vector<Entry> entries;
        {
            DiskStore store(directory_);
            for (const CacheEntry& each : Cache(directory_).list()) entries.push_back(*store.find(each.key));
        }
        fs::remove_all(directory_);
        DiskStore store(directory_);
        for (Entry& entry : entries) {
            entry.key.producer = producer;
            ASSERT_TRUE(store.put(digest(entry.key), entry));
        }
    }

    sample::Scratch scratch_;
    std::string directory_ = scratch_ / "cache";
    sample::Variable own_{"CONVT_JIT_CACHE_DIR", directory_};
};

TEST_F(Engines, AHitOpensNoCompiler) {
    const Outcome cold = run({kLayers[0]});
    ASSERT_EQ(cold.status, 0) << cold.errors;
    EXPECT_EQ(cold.lines.at(0).origin, "compiler");
    EXPECT_EQ(cold.lines.at(0).nvrtc, "open");

    const Outcome warm = run({kLayers[0]});
    EXPECT_EQ(warm.lines.at(0).origin, "disk");
    EXPECT_EQ(warm.lines.at(0).key, cold.lines.at(0).key);
    EXPECT_EQ(warm.lines.at(0).nvrtc, "closed") << "the cache remembers the compiler";
    EXPECT_THAT(wanted(), HasSubstr("nvrtc-"));
    EXPECT_THAT(wanted(), HasSubstr("closed"));

    const Outcome alone = run({kLayers[0]}, kNoCompiler);
    ASSERT_EQ(alone.status, 0) << alone.errors;
    EXPECT_EQ(alone.lines.at(0).origin, "disk");
    EXPECT_EQ(alone.lines.at(0).key, cold.lines.at(0).key);
    EXPECT_EQ(alone.errors, "");
    EXPECT_EQ(wanted(kNoCompiler), "unknown closed\n");
}

TEST_F(Engines, AReadOnlyLayerServesWithoutACompiler) {
    ASSERT_EQ(run({kLayers[0]}).status, 0);
    const Outcome layered =
        run({kLayers[0]}, with(kNoCompiler, {{"CONVT_JIT_CACHE_DIR", scratch_ / "own"},
                                             {"CONVT_JIT_CACHE_PATH", "/nonexistent:" + directory_}}));
    ASSERT_EQ(layered.status, 0) << layered.errors;
    EXPECT_EQ(layered.lines.at(0).origin, "disk");
    EXPECT_FALSE(fs::exists(scratch_ / "own/lock")) << "a hit writes nothing of its own";
}

TEST_F(Engines, AMissWithoutACompilerSaysWhatWouldHelp) {
    ASSERT_EQ(run({kLayers[0]}).status, 0);
    const Outcome miss = run({kLayers[1]}, kNoCompiler);
    EXPECT_EQ(miss.status, 1);
    const std::string command = "convt warmup \"" + to_string(parse_layer(kLayers[1])) + "\" --arch sm_90\n";
    for (const std::string& part :
         {command, "disk " + directory_, std::string("The nearest entry is "), std::string("source is "),
          std::string("-arch=sm_90"), std::string("$CONVT_JIT_NVRTC = /nonexistent/libnvrtc.so.13")})
        EXPECT_THAT(miss.errors, HasSubstr(part));
}

TEST_F(Engines, TwoColdOnOneKeyCompileOnce) {
    Process a = start({kLayers[0]}), b = start({kLayers[0]});
    const Outcome first = outcome(std::move(a)), second = outcome(std::move(b));
    ASSERT_EQ(first.status + second.status, 0) << first.errors << second.errors;
    EXPECT_EQ(first.compiled() + second.compiled(), 1);
    EXPECT_EQ(first.lines.at(0).key, second.lines.at(0).key);
}

// BR-36, BR-40 (a)
TEST_F(Engines, EightColdInDifferentOrders) {
    std::vector<Process> all;
    for (std::size_t i = 0; i < 8; ++i) {
        std::vector<std::string> order = kLayers;
        std::rotate(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(i % 4), order.end());
        if (i >= 4) std::reverse(order.begin(), order.end());
        all.push_back(start(order));
    }
    int compiled = 0;
    std::set<std::string> keys;
    for (auto& process : all) {
        const Outcome result = outcome(std::move(process));
        EXPECT_EQ(result.status, 0) << result.errors;
        compiled += result.compiled();
        for (const Line& line : result.lines) keys.insert(line.key);
    }
    EXPECT_EQ(compiled, 4);
    EXPECT_EQ(keys.size(), 4u);
    EXPECT_EQ(temporaries(), 0u);
    const CacheVerification verified = Cache(directory_).verify();
    EXPECT_EQ(verified.sound, 4u);
    EXPECT_TRUE(verified.findings.empty());

    const Outcome again = run(kLayers);
    EXPECT_EQ(again.compiled(), 0);
    for (std::size_t i = 0; i < kLayers.size(); ++i) {
        const CacheEntry entry = Cache(directory_).show(again.lines.at(i).key);
        EXPECT_EQ(entry.layer, Engine::wanted(parse_layer(kLayers[i]), "sm_90").layer) << "its own, not another's";
    }
}

// BR-36, BR-56: who is killed in the middle keeps nobody waiting, and what was finished stays.
TEST_F(Engines, KilledInTheMiddle) {
    Process killed = start(kLayers);
    EXPECT_THAT(killed.some_output(), HasSubstr("compiler"));
    Process other = start(kLayers);
    killed.kill(SIGKILL);
    killed.wait();
    const Outcome rest = outcome(std::move(other));
    EXPECT_EQ(rest.status, 0) << rest.errors;
    EXPECT_EQ(rest.lines.at(0).origin, "disk");
    EXPECT_LE(rest.compiled(), 3);
    EXPECT_EQ(run(kLayers, kNoCompiler).status, 0) << "all are there now";
}

// BR-38
TEST_F(Engines, NoPlaceForACache) {
    std::ofstream(scratch_ / "file") << "x";
    const auto quiet_lines = [](const std::string& errors) { return std::count(errors.begin(), errors.end(), '\n'); };
    for (const Variables& place :
         {Variables{{"CONVT_JIT_CACHE_DIR", ""}, {"XDG_CACHE_HOME", ""}, {"HOME", "/proc/nonexistent"}},
          Variables{{"CONVT_JIT_CACHE_DIR", scratch_ / "file"}}}) {
        const Outcome result = run({kLayers[2]}, place);
        EXPECT_EQ(result.status, 0) << result.errors;
        EXPECT_LE(quiet_lines(result.errors), 1) << result.errors;
    }
    for (const std::string& name : {scratch_ / "a/b/c/d", scratch_ / "with blank and \xc3\xbc"}) {
        const Outcome result = run({kLayers[2]}, {{"CONVT_JIT_CACHE_DIR", name}});
        EXPECT_EQ(result.compiled(), 1);
        EXPECT_EQ(run({kLayers[2]}, {{"CONVT_JIT_CACHE_DIR", name}}).lines.at(0).origin, "disk") << name;
    }
}

// BR-42: entries of another compiler serve where nobody could make better ones, or where the policy says so.
TEST_F(Engines, AnotherCompilerMadeThem) {
    ASSERT_EQ(run({kLayers[0]}).compiled(), 1);
    rewrite_producer("nvrtc 1.0.1");
    EXPECT_EQ(run({kLayers[0]}, kNoCompiler).lines.at(0).origin, "disk") << "nobody could make a better one";
    EXPECT_EQ(run({kLayers[0]}, {{"CONVT_JIT_CACHE_PRODUCER", "any"}}).lines.at(0).origin, "disk");
    EXPECT_EQ(run({kLayers[0]}, {{"CONVT_JIT_CACHE_PRODUCER", "same-major"}}).lines.at(0).origin, "compiler");
    EXPECT_EQ(run({kLayers[0]}).lines.at(0).origin, "disk") << "one compile per change";

    rewrite_producer("nvrtc 1.0.1");
    EXPECT_EQ(run({kLayers[0]}).lines.at(0).origin, "compiler") << "the compiler that is here was never met before";
    EXPECT_EQ(run({kLayers[0]}).lines.at(0).origin, "disk");
    EXPECT_EQ(Cache(directory_).list().size(), 2u) << "the old entry does no harm";
}

// BR-42: a compiler that is replaced under the same name is met anew.
TEST_F(Engines, TheCompilersFileIsReplaced) {
    ASSERT_EQ(run({kLayers[0]}).status, 0);
    EXPECT_THAT(wanted(), HasSubstr("closed"));
    for (const auto& file : fs::directory_iterator(directory_ + "/compilers")) fs::remove(file);
    EXPECT_THAT(wanted(), HasSubstr("open")) << "an unknown file is opened";
    EXPECT_THAT(wanted(), HasSubstr("open")) << "and not remembered by who only asks";
    const Outcome met = run({kLayers[0]});
    EXPECT_EQ(met.lines.at(0).origin, "disk");
    EXPECT_EQ(met.lines.at(0).nvrtc, "open");
    EXPECT_THAT(wanted(), HasSubstr("closed"));
}

TEST_F(Engines, ACompilerThatIsOpenAlreadyIsRemembered) {
    Process process({ENGINE_ACTOR, "ask-first", "sm_90", kLayers[0]}, {{"CONVT_JIT_CACHE_DIR", directory_}});
    EXPECT_THAT(process.output(), HasSubstr("open"));
    EXPECT_EQ(process.wait(), 0);
    EXPECT_THAT(wanted(), HasSubstr("closed"));
}

TEST_F(Engines, WhoOnlyAsksMakesNoDirectory) {
    EXPECT_THAT(wanted(), HasSubstr("open"));
    EXPECT_FALSE(fs::exists(directory_));
}

// BR-51
TEST_F(Engines, ThreadsOfOneEngineCompileOnce) {
    EngineOptions options;
    options.cache_dir = directory_;
    Engine engine(options);
    // NVRTC makes its own lock when it first compiles; the thread sanitizer cannot see how that is published.
    ASSERT_EQ(engine.compile(parse_layer(kLayers[2]), "sm_90").origin, Origin::compiler);
    std::vector<std::thread> threads;
    std::vector<Origin> origins(8);
    for (std::size_t i = 0; i < origins.size(); ++i)
        threads.emplace_back([&, i] { origins[i] = engine.compile(parse_layer(kLayers[i % 2]), "sm_90").origin; });
    for (auto& thread : threads) thread.join();
    EXPECT_EQ(std::count(origins.begin(), origins.end(), Origin::compiler), 2);
}

TEST_F(Engines, OptionsReplaceTheEnvironment) {
    EngineOptions options;
    options.cache_dir = directory_;
    const Layer layer = parse_layer(kLayers[0]);
    ASSERT_EQ(Engine(options).compile(layer, "sm_90").origin, Origin::compiler);

    EngineOptions layered;
    layered.cache_dir = "";
    layered.cache_path = {directory_};
    EXPECT_EQ(Engine(layered).compile(layer, "sm_90").origin, Origin::disk);

    rewrite_producer("nvrtc 1.0.1");
    layered.cache_producer = ProducerPolicy::any;
    EXPECT_EQ(Engine(layered).compile(layer, "sm_90").origin, Origin::disk);
    layered.cache_producer = ProducerPolicy::exact;
    EXPECT_EQ(Engine(layered).compile(layer, "sm_90").origin, Origin::compiler);

    const sample::Variable path("CONVT_JIT_CACHE_PATH", directory_);
    EngineOptions off;
    off.cache_dir = "";
    off.cache_producer = ProducerPolicy::any;
    EXPECT_EQ(Engine(off).compile(layer, "sm_90").origin, Origin::compiler) << "no disk cache is none at all";
}

}  // namespace

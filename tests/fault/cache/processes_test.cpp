// Many processes on one cache: killed while publishing, cold together on one key, stopped while the others wait.
#include "cache/disk_store.h"
#include "cache/inventory.h"
#include "cache/lookup.h"
#include "cache/trim.h"
#include "cache/verify.h"
#include "fault/cache/process.h"
#include "unit/cache/sample.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <fstream>
#include <iterator>
#include <random>
#include <set>
#include <sstream>
#include <thread>

using namespace convt_jit;
using namespace std::chrono_literals;
using fault::Process;
namespace fs = std::filesystem;

namespace {

Root opened(const std::string& directory) {
    std::error_code error;
    auto root = Root::open(directory, false, error);
    if (!root) throw std::runtime_error(directory + ": " + error.message());
    return std::move(*root);
}

std::vector<std::string> made(const std::string& directory) {
    std::ifstream file(directory + ".made");
    return {std::istream_iterator<std::string>(file), {}};
}

Process make(const std::string& directory, const std::string& source, int wait_ms, int make_ms) {
    return Process({CACHE_ACTOR, "make", directory, source, std::to_string(wait_ms), std::to_string(make_ms)});
}

std::size_t temporaries(const std::string& directory) {
    std::size_t count = 0;
    for (const auto& item : fs::recursive_directory_iterator(directory))
        count += item.path().extension() == ".tmp" ? 1 : 0;
    return count;
}

void wait_for_first_make(const std::string& directory) {
    for (int i = 0; i < 2000 && made(directory).empty(); ++i) std::this_thread::sleep_for(1ms);
}

class Elapsed {
public:
    [[nodiscard]] std::chrono::milliseconds operator()() const {
        return std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::steady_clock::now() - start_);
    }

private:
    std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

}  // namespace

TEST(Processes, KilledWhilePublishing) {
    const sample::Scratch scratch;
    const std::string directory = scratch / "c";
    fs::create_directory(directory);  // the first actor may be killed before it makes it
    fs::permissions(directory, fs::perms::owner_all);
    const unsigned seed = std::random_device()();
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937 random(seed);
    std::set<std::string> published;
    std::size_t left_behind = 0;
    for (unsigned i = 0; i < 500; ++i) {
        Process actor({CACHE_ACTOR, "publish", directory, std::to_string(seed + i)});
        const std::string text = actor.some_output();
        std::this_thread::sleep_for(std::chrono::microseconds(random() % (std::size_t{1000} << i % 6)));
        actor.kill(SIGKILL);
        actor.wait();
        std::istringstream lines(text + actor.output());
        for (std::string key; std::getline(lines, key);)
            if (is_digest(key)) published.insert(key);

        const Root root = opened(directory);
        left_behind += temporaries(directory);
        const auto report = verify(root, false);
        ASSERT_FALSE(report.damaged()) << "kill " << i << ": " << report.findings[0].path << " "
                                       << report.findings[0].why;
        ASSERT_TRUE(report.findings.empty()) << report.findings[0].path;
        ASSERT_GE(report.sound, published.size()) << "kill " << i;
    }
    EXPECT_GT(published.size(), 10u) << "the actors got somewhere";
    EXPECT_GT(left_behind, 0u) << "some were killed in the middle of a file";
    {
        DiskStore store(directory);
        for (const auto& key : published) {
            const auto found = store.find(key);
            ASSERT_NE(found, nullptr);
            EXPECT_TRUE(store.put(key, *found));
            EXPECT_EQ(temporaries(fs::path(sample::entry_path(directory, key)).parent_path().string()), 0u)
                << "who publishes sweeps the folder";
        }
    }
    verify(opened(directory), true);
    EXPECT_EQ(temporaries(directory), 0u);
}

TEST(Processes, SixteenColdOnOneKeyCompileOnce) {
    const sample::Scratch scratch;
    const std::string directory = scratch / "c";
    std::vector<Process> all;
    for (int i = 0; i < 16; ++i) all.push_back(make(directory, "kernel", 30'000, 300));
    int makers = 0;
    for (auto& process : all) {
        EXPECT_EQ(process.wait(), 0);
        makers += process.output() == "made\n" ? 1 : 0;
    }
    EXPECT_EQ(makers, 1);
    EXPECT_EQ(made(directory).size(), 1u);
}

TEST(Processes, SixteenColdOnSixtyFourKeysCompileEachOnce) {
    const sample::Scratch scratch;
    const std::string directory = scratch / "c";
    std::vector<Process> all;
    for (int i = 0; i < 16; ++i)
        all.emplace_back(std::vector<std::string>{CACHE_ACTOR, "make_all", directory, std::to_string(4 * i), "64"});
    for (auto& process : all) EXPECT_EQ(process.wait(), 0);
    auto keys = made(directory);
    std::sort(keys.begin(), keys.end());
    EXPECT_EQ(keys.size(), 64u);
    EXPECT_EQ(std::unique(keys.begin(), keys.end()), keys.end()) << "none twice";
}

TEST(Processes, AKilledHolderReleasesAtOnce) {
    const sample::Scratch scratch;
    const std::string directory = scratch / "c";
    auto holder = make(directory, "kernel", 30'000, 60'000);
    wait_for_first_make(directory);
    auto waiter = make(directory, "kernel", 30'000, 0);
    std::this_thread::sleep_for(100ms);
    const Elapsed elapsed;
    holder.kill(SIGKILL);
    EXPECT_EQ(waiter.wait(), 0);
    EXPECT_LT(elapsed(), 5s);
    EXPECT_EQ(waiter.output(), "made\n");
}

TEST(Processes, AStoppedHolderIsWaitedForOnlySoLong) {
    const sample::Scratch scratch;
    const std::string directory = scratch / "c";
    auto holder = make(directory, "kernel", 30'000, 500);
    wait_for_first_make(directory);
    holder.kill(SIGSTOP);
    const Elapsed elapsed;
    auto waiter = make(directory, "kernel", 700, 0);
    EXPECT_EQ(waiter.wait(), 0);
    EXPECT_GE(elapsed(), 700ms);
    EXPECT_LT(elapsed(), 10s);
    EXPECT_EQ(waiter.output(), "made\n");
    holder.kill(SIGCONT);
    EXPECT_EQ(holder.wait(), 0) << "and it finishes when it goes on";
}

TEST(Processes, OtherKeysDoNotWait) {
    const sample::Scratch scratch;
    const std::string directory = scratch / "c";
    const auto holder = make(directory, "kernel", 30'000, 60'000);
    wait_for_first_make(directory);
    const Elapsed elapsed;
    auto other = make(directory, "another", 30'000, 0);
    EXPECT_EQ(other.wait(), 0);
    EXPECT_LT(elapsed(), 10s);
}

TEST(Processes, AFailedCompileHandsTheTurnOn) {
    const sample::Scratch scratch;
    DiskStore first(scratch / "c"), second(scratch / "c");
    const Entry entry = sample::entry();
    const std::string key = digest(entry.key);
    EXPECT_THROW(static_cast<void>(make_once(first, key, []() -> Entry { throw std::runtime_error("no"); })),
                 std::runtime_error);
    EXPECT_EQ(*make_once(second, key, [&] { return entry; }), entry);
    EXPECT_EQ(*make_once(first, key, []() -> Entry { throw std::runtime_error("no"); }), entry);
}

TEST(Processes, ThreadsOfOneProcessTakeTurnsToo) {
    const sample::Scratch scratch;
    DiskStore store(scratch / "c");
    const Entry entry = sample::entry();
    std::atomic<int> made_here = 0;
    std::vector<std::thread> threads;
    for (int i = 0; i < 8; ++i)
        threads.emplace_back([&] {
            const auto got = make_once(store, digest(entry.key), [&] {
                ++made_here;
                std::this_thread::sleep_for(50ms);
                return entry;
            });
            EXPECT_EQ(*got, entry);
        });
    for (auto& thread : threads) thread.join();
    EXPECT_EQ(made_here, 1);
}

TEST(Processes, TrimmingAndClearingWhileOthersWork) {
    const sample::Scratch scratch;
    const std::string directory = scratch / "c";
    std::vector<Process> actors;
    for (unsigned i = 0; i < 3; ++i)
        actors.emplace_back(std::vector<std::string>{CACHE_ACTOR, "publish", directory, std::to_string(i)});
    EXPECT_FALSE(actors[0].some_output().empty());
    for (int i = 0; i < 20; ++i) {
        std::error_code ignored;
        if (i % 4 == 3) fs::remove_all(directory, ignored);  // what a user does whom a cache annoys
        std::this_thread::sleep_for(10ms);
        fs::create_directories(directory, ignored);
        fs::permissions(directory, fs::perms(0700), ignored);
        EXPECT_FALSE(verify(opened(directory), false).damaged());
        trim(opened(directory), 0, 0, false, 0s);
    }
    for (auto& actor : actors) {
        actor.kill(SIGKILL);
        EXPECT_EQ(actor.wait(), -1) << "it lived until it was killed";
    }
}

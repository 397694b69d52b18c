// What `convt warmup` says and leaves at its end: room for all, a directory that went away, outputs, signals.
#include "warmup_program.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <csignal>
#include <utility>
#include <vector>

namespace convt_jit::tools::test {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using ::testing::HasSubstr;

TEST_F(Warmup, ACapThatIsTooSmallIsAFailure) {
    const std::string question = "'c2 o2 k3' 'c2 o3 k3' --arch sm_90";
    const Outcome outcome = convt("warmup " + question, "CONVT_JIT_CACHE_MAX_BYTES=1K");
    EXPECT_EQ(outcome.code, 1) << outcome.out;
    EXPECT_THAT(outcome.err, HasSubstr("CONVT_JIT_CACHE_MAX_BYTES is 1024: what is put there next"));
    EXPECT_THAT(outcome.err, HasSubstr("--max-bytes"));
    EXPECT_EQ(entries().size(), 2U);
    // Who only looks is told, and finds what there is.
    const Outcome looked = convt("warmup --check " + question, "CONVT_JIT_CACHE_MAX_BYTES=1k");
    EXPECT_EQ(looked.code, 0) << looked.out;
    EXPECT_THAT(looked.err, HasSubstr("CONVT_JIT_CACHE_MAX_BYTES is 1024"));
    const json again = answer(question, 1, "CONVT_JIT_CACHE_MAX_BYTES=1K");
    EXPECT_EQ(again.at("hits"), 2);
    EXPECT_TRUE(again.at("over_cap"));
    std::uint64_t bytes = 0;
    for (const std::string& key : entries()) bytes += fs::file_size(cache_path() / key.substr(0, 2) / (key + ".cubin"));
    EXPECT_EQ(again.at("bytes"), bytes);
    EXPECT_EQ(again.at("max_bytes"), 1024);
    // The other shards' kernels need room, too.
    EXPECT_EQ(answer(question + " --shard 0/2", 1, fmt::format("CONVT_JIT_CACHE_MAX_BYTES={}", bytes - 1)).at("bytes"),
              bytes);
    EXPECT_EQ(answer(question, 0, fmt::format("CONVT_JIT_CACHE_MAX_BYTES={}", 2 * bytes)).at("hits"), 2);
    const Outcome tight = convt("warmup " + question, fmt::format("CONVT_JIT_CACHE_MAX_BYTES={}", bytes));
    EXPECT_EQ(tight.code, 0) << "all is there, and stays until more comes";
    EXPECT_THAT(tight.err, HasSubstr("may evict some of them"));
    EXPECT_EQ(answer(question, 0, "CONVT_JIT_CACHE_MAX_BYTES=0").at("over_cap"), false);
    // What is only read has no cap.
    fs::rename(cache_path(), directory_ / "image");
    EXPECT_EQ(
        answer(question, 0,
               fmt::format("CONVT_JIT_CACHE_MAX_BYTES=1K CONVT_JIT_CACHE_PATH='{}'", (directory_ / "image").string()))
            .at("bytes"),
        0);
}

TEST_F(Warmup, ADirectoryThatIsRemovedMeanwhileIsToldAsSuch) {
    const pid_t process = start("--layers " + file_of_layers(7) + " --arch sm_90 --jobs 1 --json");
    ASSERT_NO_FATAL_FAILURE(wait_for_entries(2));
    fs::rename(cache_path(), directory_ / "taken");
    EXPECT_EQ(end_of(process), 1);
    const json told = json::parse(read_file(directory_ / "beside"));
    ASSERT_GE(told.at("failures").size(), 2U);
    EXPECT_THAT(told["failures"][0].at("why").get<std::string>(), HasSubstr("was removed or renamed meanwhile"));
}

TEST_F(Warmup, OutputsTakeTheirInputsPlaceInNoWay) {
    const std::string layers = file_of_layers(1), before = read_file(layers);
    fs::create_hard_link(layers, directory_ / "same");
    fs::create_symlink(layers, directory_ / "link");
    for (const auto& file :
         {fs::path(layers), directory_ / "same", directory_ / "link", directory_ / "." / "layers.jsonl"})
        expect_usage(fmt::format("--layers {} --arch sm_90 --manifest {}", layers, file.string()),
                     "is the file that --layers reads");
    EXPECT_EQ(read_file(layers), before);
    expect_usage("'c2 o2 k3' --arch sm_90 --manifest " + cache_path().string(), "is within the cache directory");
    expect_usage("'c2 o2 k3' --arch sm_90 --cache " + (directory_ / "new" / "cache").string() + " --manifest " +
                     (directory_ / "new").string(),
                 "is within the cache directory");
    EXPECT_FALSE(fs::exists(directory_ / "new"));
    EXPECT_EQ(convt("warmup 'c2 o2 k3' --arch sm_90").code, 0);
    const Outcome inside =
        convt("warmup 'c2 o2 k3' --arch sm_90 --manifest " + (cache_path() / "manifest.json").string());
    EXPECT_EQ(inside.code, 2);
    EXPECT_FALSE(fs::exists(cache_path() / "manifest.json"));
}

// The lock of a kernel, as another process holds it that compiles it.
TEST_F(Warmup, WhoWaitsForAnotherProcessStopsAtOnceAndBeginsNothing) {
    const std::string question = "'c2 o2 k3' 'c2 o3 k3' --arch sm_90 --jobs 1";
    ASSERT_EQ(convt("warmup " + question).code, 0);
    for (const std::string& key : entries()) fs::remove(cache_path() / key.substr(0, 2) / (key + ".cubin"));
    const int lock = ::open((cache_path() / "lock").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    ASSERT_GE(lock, 0);
    struct flock all {};
    all.l_type = F_WRLCK;
    all.l_whence = SEEK_SET;
    all.l_len = std::int64_t{1} << 61;  // those of all keys
    ASSERT_EQ(::fcntl(lock, F_OFD_SETLK, &all), 0);
    for (const auto& [signal, code] : {std::pair(SIGINT, 130), std::pair(SIGTERM, 143)}) {
        const pid_t process = start(question + " --json");
        std::this_thread::sleep_for(std::chrono::seconds(2));
        const auto begin = std::chrono::steady_clock::now();
        kill(process, signal);
        EXPECT_EQ(end_of(process), code);
        EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(10)) << "the wait is 30 s";
        const json told = json::parse(read_file(directory_ / "beside"));
        EXPECT_EQ(told.at("left"), 2);
        EXPECT_EQ(told.at("failed"), 0);
    }
    EXPECT_TRUE(entries().empty());
    ::close(lock);
}

// Whoever waits for a pipe can be stopped.
TEST_F(Warmup, SignalsEndWhatHasNotBegunAndWhatIsDone) {
    EXPECT_EQ(convt("warmup 'c2 o2 k3' --arch sm_90").code, 0);
    const std::string pipe = (directory_ / "pipe").string();
    ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
    const std::vector<std::pair<std::string, int>> cases = {
        {"--layers " + pipe + " --arch sm_90", SIGINT},
        {"--layers " + pipe + " --arch sm_90", SIGTERM},
        {"'c2 o2 k3' --arch sm_90 --check --manifest " + pipe, SIGTERM},
        {"'c2 o2 k3' --arch sm_90 --manifest " + pipe, SIGINT}};
    for (const auto& [arguments, signal] : cases) {
        SCOPED_TRACE(arguments);
        const pid_t process = start(arguments);
        std::this_thread::sleep_for(std::chrono::seconds(1));
        int status = 0;
        ASSERT_EQ(waitpid(process, &status, WNOHANG), 0) << "it waits";
        kill(process, signal);
        bool ended = false;
        for (int i = 0; i < 200 && !ended; ++i) {
            std::this_thread::sleep_for(std::chrono::milliseconds(50));
            ended = waitpid(process, &status, WNOHANG) == process;
        }
        EXPECT_TRUE(ended && WIFSIGNALED(status) && WTERMSIG(status) == signal) << status;
        if (ended) continue;
        kill(process, SIGKILL);
        end_of(process);
    }
    // A pipe with two ends is as good as a file.
    const std::string copy = (directory_ / "copy").string();
    const std::string command = fmt::format(
        "cat '{}' >'{}' & CONVT_JIT_CACHE_DIR='{}' '{}' warmup 'c2 o2 k3' --arch sm_90 --manifest '{}' "
        ">/dev/null 2>&1; code=$?; wait; exit $code",
        pipe, copy, cache_path().string(), CONVT_PROGRAM, pipe);
    EXPECT_EQ(std::system(command.c_str()), 0);
    EXPECT_THAT(read_file(copy), HasSubstr("\"compiled_for\""));
}

}  // namespace
}  // namespace convt_jit::tools::test

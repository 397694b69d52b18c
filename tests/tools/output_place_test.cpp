// Where outputs may go: what a link means, what is no regular file, and what lies in a cache.
#include "filled_cache.h"

#include <sys/stat.h>

namespace convt_jit::tools::test {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

class OutputPlace : public FilledCache {
protected:
    // `name` stands for the file.
    [[nodiscard]] std::vector<std::string> commands(const std::string& name) const {
        return {"cache export " + name, "cache show " + first_.key + " --cubin " + name,
                fmt::format("warmup '{}' --arch sm_80 --check --manifest {}", kFirst, name)};
    }
};

TEST_F(OutputPlace, ALinkStaysAndWhatItNamesIsReplaced) {
    fs::create_directory(directory_ / "far");
    const auto link = directory_ / "link", second = directory_ / "far" / "second", file = directory_ / "far" / "file";
    fs::create_symlink("far/second", link);
    fs::create_symlink("file", second);
    for (const std::string& command : commands(link.string())) {
        for (const bool there : {false, true}) {
            fs::remove(file);
            if (there) {
                write_text(file, "old");
                fs::permissions(file, fs::perms(0640));
            }
            EXPECT_EQ(convt(command).code, 0) << command;
            EXPECT_TRUE(fs::is_symlink(link) && fs::is_symlink(second)) << command;
            EXPECT_TRUE(fs::is_regular_file(fs::symlink_status(file))) << command;
            EXPECT_NE(read_file(file), "old") << command;
            if (there) {
                EXPECT_EQ(fs::status(file).permissions(), fs::perms(0640)) << command;
            }
        }
        EXPECT_EQ(std::distance(fs::directory_iterator(directory_ / "far"), {}), 2) << "nothing is left beside it";
    }
    fs::remove(file);
    fs::create_symlink("second", file);
    for (const std::string& command : commands(link.string())) EXPECT_NE(convt(command).code, 0) << command;
}

TEST_F(OutputPlace, AnExportReplacesNothingButARegularFile) {
    const auto fifo = directory_ / "pipe", to_fifo = directory_ / "to_pipe", own = directory_ / "own";
    ASSERT_EQ(::mkfifo(fifo.c_str(), 0600), 0);
    fs::create_symlink(fifo, to_fifo);
    fs::create_symlink("/proc/self/fd/1", own);  // as /dev/stdout is
    for (const std::string& file : {fifo.string(), to_fifo.string(), own.string(), std::string("/proc/self/fd/1"),
                                    std::string("-"), directory_.string()}) {
        expect_failure("export " + file, 2, "no regular file");
        EXPECT_TRUE(fs::is_symlink(own) && fs::is_symlink(to_fifo) && fs::is_fifo(fifo)) << file;
    }
    EXPECT_FALSE(fs::exists("-"));
    // The library, too, where standard output is a regular file.
    EXPECT_THROW(Cache(cache_path().string()).export_to(own.string()), CacheError);
    EXPECT_TRUE(fs::is_symlink(own));
}

TEST_F(OutputPlace, NoneLiesInWhatLooksLikeACache) {
    const auto other = directory_ / "oc";
    const std::string tar = (directory_ / "x.tar").string();
    ASSERT_EQ(answer("export " + tar).at("entries"), 2);
    ASSERT_EQ(answer("import " + tar + " --cache " + other.string()).at("entries"), 2);
    fs::create_directory(other / "holders");
    fs::create_symlink(other, directory_ / "linked");
    for (const char* name : {"oc/lock", "oc/new.tar", "oc/holders/x.tar", "linked/new", "oc/00/x"})
        for (const std::string& command : commands((directory_ / name).string())) {
            const Outcome outcome = convt(command);
            EXPECT_EQ(outcome.code, 2) << command;
            EXPECT_THAT(outcome.err, HasSubstr("looks like a cache directory")) << command;
        }
    EXPECT_EQ(fs::file_size(other / "lock"), 0U);
    // Entries alone are enough, and so is a cache without any.
    for (const char* name : {"lock", "clock", "usage", "producers", "holders", "quarantine"}) fs::remove_all(other / name);
    EXPECT_TRUE(looks_like_cache(other.string()));
    fs::remove_all(other);
    fs::create_directories(other / "producers");
    fs::create_directories(other / "ab");
    EXPECT_FALSE(looks_like_cache(other.string())) << "one such name may mean anything";
    write_text(other / "lock", "");
    EXPECT_TRUE(looks_like_cache(other.string()));
    EXPECT_FALSE(looks_like_cache((directory_ / "missing").string()));
}

}  // namespace
}  // namespace convt_jit::tools::test

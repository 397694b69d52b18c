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
    for (const char* name : {"lock", "clock", "usage", "producers", "holders", "quarantine"})
        fs::remove_all(other / name);
    EXPECT_TRUE(looks_like_cache(other.string()));
    fs::remove_all(other);
    fs::create_directories(other / "producers");
    fs::create_directories(other / "ab");
    EXPECT_FALSE(looks_like_cache(other.string())) << "one such name may mean anything";
    write_text(other / "lock", "");
    EXPECT_TRUE(looks_like_cache(other.string()));
    EXPECT_FALSE(looks_like_cache((directory_ / "missing").string()));
}

TEST_F(OutputPlace, WritesNothingIntoTheCache) {
    const std::string entry = entry_path(first_.key).string();
    const std::string before = read_file(entry);
    fs::create_symlink(cache_path(), directory_ / "linked");
    fs::create_symlink(entry, directory_ / "to_an_entry");
    fs::create_symlink(directory_ / "elsewhere", cache_path() / "way_out");
    for (const std::string& file :
         {entry, cache_path().string() + "/new", (directory_ / "linked" / "new").string(),
          (directory_ / "to_an_entry").string(),
          (directory_ / "x" / ".." / "cache" / "new").lexically_normal().string(), (cache_path() / "way_out").string()})
        for (const std::string& command : {std::string("export "), "show " + first_.key + " --cubin "})
            expect_failure(command + file, 2, "allowed: a file outside of it");
    EXPECT_EQ(read_file(entry), before);
    EXPECT_FALSE(fs::exists(cache_path() / "new"));
    EXPECT_TRUE(fs::is_symlink(directory_ / "to_an_entry"));
    EXPECT_FALSE(fs::exists(directory_ / "elsewhere"));
    // Nor into one that is only read.
    const auto image = directory_ / "image";
    fs::copy(cache_path(), image, fs::copy_options::recursive | fs::copy_options::skip_symlinks);
    const Outcome outcome =
        convt("cache export " + (image / "x.tar").string(), fmt::format("CONVT_JIT_CACHE_PATH='{}'", image.string()));
    EXPECT_EQ(outcome.code, 2) << outcome.out;
    // A name that only begins like it is another one.
    EXPECT_EQ(convt("cache export " + cache_path().string() + ".tar").code, 0);
}

TEST_F(OutputPlace, OutputsSpareAllCaches) {
    const std::string other = (directory_ / "other").string(), file = (directory_ / "out.tar").string();
    EXPECT_EQ(answer("export " + file).at("entries"), 2);
    EXPECT_EQ(answer("import " + file + " --cache " + other).at("entries"), 2);
    const std::string own = entry_path(first_.key).string(), before = read_file(own);
    expect_failure("export " + own + " --cache " + other, 2, "within the cache directory");
    expect_failure("export " + (cache_path() / "x.tar").string() + " --cache " + other, 2,
                   "within the cache directory");
    const Outcome layer = convt("cache export " + other + "/x.tar --cache " + cache_path().string(),
                                "CONVT_JIT_CACHE_PATH='" + other + "'");
    EXPECT_EQ(layer.code, 2) << layer.err;
    fs::copy_file(own, directory_ / "entry");
    expect_failure("show " + first_.key + " --cubin " + (directory_ / "entry").string(), 2, "is an entry of a cache");
    EXPECT_EQ(read_file(own), before);
}

TEST_F(OutputPlace, StandardOutputByItsNameIsNotReplaced) {
    const auto out = directory_ / "redirected";
    const std::string arguments = "cache show " + first_.key + " --cubin ";
    ASSERT_EQ(run_into(directory_ / "plain", arguments + "-"), 0);
    for (const char* name : {"/dev/stdout", "/proc/self/fd/1", "/dev/fd/1"}) {
        write_text(out, "before");
        ASSERT_EQ(run(arguments + name, fmt::format(">>'{}' 2>/dev/null", out.string())), 0);
        EXPECT_THAT(read_file(out), ::testing::StartsWith("before" + read_file(directory_ / "plain"))) << name;
    }
}

}  // namespace
}  // namespace convt_jit::tools::test

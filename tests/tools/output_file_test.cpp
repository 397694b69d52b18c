#include "subject/output_file.h"

#include "program.h"

#include <gmock/gmock.h>

#include <system_error>

namespace convt_jit::tools::test {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

class OutputFile : public ProgramTest {
protected:
    [[nodiscard]] std::ptrdiff_t files() const {
        return std::distance(fs::directory_iterator(directory_), fs::directory_iterator());
    }
};

TEST_F(OutputFile, ReplacesAndLeavesNothingBeside) {
    const auto path = directory_ / "a";
    write_file(path.string(), "first, and longer");
    write_file(path.string(), "second");
    EXPECT_EQ(read_file(path), "second");
    EXPECT_EQ(files(), 1);
}

TEST_F(OutputFile, KeepsPermissionsAndLinks) {
    write_text(directory_ / "a", "old");
    fs::permissions(directory_ / "a", fs::perms::owner_read | fs::perms::owner_write);
    fs::create_symlink("a", directory_ / "link");
    write_file((directory_ / "link").string(), "new");
    EXPECT_TRUE(fs::is_symlink(directory_ / "link"));
    EXPECT_EQ(read_file(directory_ / "a"), "new");
    EXPECT_EQ(fs::status(directory_ / "a").permissions(), fs::perms::owner_read | fs::perms::owner_write);
}

TEST_F(OutputFile, MakesWhatALinkNames) {
    fs::create_directory(directory_ / "far");
    fs::create_symlink("far/second", directory_ / "first");
    fs::create_symlink("new", directory_ / "far" / "second");
    write_file((directory_ / "first").string(), "text");
    EXPECT_TRUE(fs::is_symlink(directory_ / "first"));
    EXPECT_TRUE(fs::is_symlink(directory_ / "far" / "second"));
    EXPECT_EQ(read_file(directory_ / "far" / "new"), "text");
}

TEST_F(OutputFile, ProbingLeavesNothing) {
    write_text(directory_ / "a", "old");
    for (const char* name : {"a", "b"}) EXPECT_NO_THROW(expect_writable((directory_ / name).string()));
    EXPECT_NO_THROW(expect_writable("-"));
    EXPECT_NO_THROW(expect_writable("/dev/null"));
    EXPECT_EQ(read_file(directory_ / "a"), "old");
    EXPECT_EQ(files(), 1);
    EXPECT_THROW(expect_writable((directory_ / "missing" / "a").string()), std::system_error);
    EXPECT_THROW(expect_writable(directory_.string()), std::system_error);
    EXPECT_THROW(expect_writable("/proc/a"), std::system_error);
}

TEST_F(OutputFile, WritesToWhatIsNoFile) { EXPECT_NO_THROW(write_file("/dev/null", "gone")); }

TEST_F(OutputFile, NamesThePathThatItCannotWrite) {
    const std::string path = (directory_ / "missing" / "a").string();
    try {
        write_file(path, "text");
        FAIL() << "no error";
    } catch (const std::system_error& error) {
        EXPECT_THAT(error.what(), HasSubstr(path));
    }
    EXPECT_THROW(write_file(directory_.string(), "text"), std::system_error);
    EXPECT_THROW(write_file("/dev/full", "text"), std::system_error);
    EXPECT_EQ(files(), 0);
}

}  // namespace
}  // namespace convt_jit::tools::test

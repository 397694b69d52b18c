#include "compile/dump.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>

namespace convt_jit {
namespace {

namespace fs = std::filesystem;

class DumpTest : public testing::Test {
protected:
    DumpTest() { setenv("CONVT_JIT_DUMP_DIR", directory.c_str(), 1); }
    ~DumpTest() override {
        unsetenv("CONVT_JIT_DUMP_DIR");
        fs::remove_all(directory);
    }
    fs::path directory = fs::temp_directory_path() / ("convt_dump_" + std::to_string(getpid()));
};

TEST_F(DumpTest, WholeSourceForTheOwnerAlone) {
    const Source source{std::string(100000, 'x') + "\n", "kernel", ""};
    const fs::path path = dump(source);
    EXPECT_EQ(path.parent_path(), directory) << "the directory is made";
    EXPECT_EQ(path.extension(), ".cu");
    std::ifstream file(path);
    EXPECT_EQ(std::string(std::istreambuf_iterator<char>(file), {}), source.text);
    struct stat info {};
    ASSERT_EQ(stat(path.c_str(), &info), 0);
    EXPECT_EQ(info.st_mode & 0777u, 0600u);
    EXPECT_NE(dump(source), path) << "never over an older file";
}

TEST_F(DumpTest, LongNames) { EXPECT_NE(dump({"x", std::string(300, 'n'), ""}), ""); }

TEST_F(DumpTest, TroubleLeavesThePathEmpty) {
    std::ofstream(directory) << "a file where the directory should be";
    EXPECT_EQ(dump({"x", "kernel", ""}), "");
}

}  // namespace
}  // namespace convt_jit

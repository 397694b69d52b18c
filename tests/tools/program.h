// Program: runs convt as a shell would, and keeps what it says.
#pragma once

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

namespace convt_jit::tools::test {

inline std::string read_file(const std::filesystem::path& path) {
    std::ifstream file(path, std::ios::binary);
    EXPECT_TRUE(file) << path;
    return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

inline void write_text(const std::filesystem::path& path, const std::string& text) {
    std::ofstream file(path, std::ios::binary);
    file << text;
    ASSERT_TRUE(file.flush()) << path;
}

struct Outcome {
    int code = -1;
    std::string out, err;
};

// A directory of its own for each test, removed afterwards.
class ProgramTest : public ::testing::Test {
protected:
    void SetUp() override {
        std::string pattern = (std::filesystem::temp_directory_path() / "convt_program_XXXXXX").string();
        ASSERT_NE(mkdtemp(pattern.data()), nullptr);
        directory_ = pattern;
    }
    void TearDown() override { std::filesystem::remove_all(directory_); }

    // `arguments` are read by the shell; `environment` stands before the program ("A=1 B=2").
    [[nodiscard]] Outcome convt(const std::string& arguments, const std::string& environment = "") const {
        const int code = run_into(directory_ / "out", arguments, environment);
        return {code, read_file(directory_ / "out"), read_file(directory_ / "err")};
    }

    // The exit code alone, with standard output going to `out`.
    [[nodiscard]] int run_into(const std::filesystem::path& out, const std::string& arguments,
                               const std::string& environment = "") const {
        return run(arguments, fmt::format(">'{}' 2>'{}'", out.string(), (directory_ / "err").string()), environment);
    }

    // The exit code, or -1 where a signal ended it; `redirections` as the shell has them.
    [[nodiscard]] int run(const std::string& arguments, const std::string& redirections,
                          const std::string& environment = "") const {
        const std::string command =
            fmt::format("CONVT_JIT_CACHE_DIR='{}' {} '{}' {} {}", (directory_ / "cache").string(), environment,
                        CONVT_PROGRAM, arguments, redirections);
        const int status = std::system(command.c_str());
        return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    }

    std::filesystem::path directory_;
};

}  // namespace convt_jit::tools::test

// Warmup: runs `convt warmup` on a cache of its own.
#pragma once

#include "program.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <nlohmann/json.hpp>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstddef>
#include <filesystem>
#include <set>
#include <string>
#include <thread>

namespace convt_jit::tools::test {

class Warmup : public ProgramTest {
protected:
    [[nodiscard]] nlohmann::json answer(const std::string& arguments, int code,
                                        const std::string& environment = "") const {
        const Outcome outcome = convt("warmup " + arguments + " --json", environment);
        EXPECT_EQ(outcome.code, code) << arguments << "\n" << outcome.out << outcome.err;
        return nlohmann::json::parse(outcome.out);
    }
    void expect_usage(const std::string& arguments, const std::string& message) const {
        SCOPED_TRACE(arguments);
        const Outcome outcome = convt("warmup " + arguments);
        EXPECT_EQ(outcome.code, 2) << outcome.out;
        EXPECT_THAT(outcome.err, ::testing::HasSubstr(message));
        EXPECT_EQ(outcome.out, "");
        EXPECT_FALSE(std::filesystem::exists(cache_path()));
    }
    [[nodiscard]] std::filesystem::path cache_path() const { return directory_ / "cache"; }
    [[nodiscard]] std::set<std::string> entries() const {
        std::set<std::string> keys;
        if (!std::filesystem::exists(cache_path())) return keys;
        for (const auto& file : std::filesystem::recursive_directory_iterator(cache_path()))
            if (file.path().extension() == ".cubin") keys.insert(file.path().stem());
        return keys;
    }
    // Layers that differ in their channels: as many kernels.
    [[nodiscard]] std::string file_of_layers(int count) const {
        std::string lines;
        for (int i = 1; i <= count; ++i)
            lines += fmt::format(
                R"({{"name": "up{}", "in_channels": 2, "out_channels": {}, "kernel_size": [3, 3], "stride": 2}})"
                "\n",
                i, i);
        const auto file = directory_ / "layers.jsonl";
        write_text(file, lines);
        return file.string();
    }
    // Runs the program beside this test, with its answer going to directory_/beside; what it says of its progress is
    // not kept.
    [[nodiscard]] pid_t start(const std::string& arguments) const {
        const std::string command =
            fmt::format("CONVT_JIT_CACHE_DIR='{}' exec '{}' warmup {} >'{}' 2>/dev/null", cache_path().string(),
                        CONVT_PROGRAM, arguments, (directory_ / "beside").string());
        const pid_t process = fork();
        if (process == 0) {
            execl("/bin/sh", "sh", "-c", command.c_str(), nullptr);
            _exit(127);
        }
        return process;
    }
    void wait_for_entries(std::size_t count) const {
        for (int i = 0; i < 1200 && entries().size() < count; ++i)
            std::this_thread::sleep_for(std::chrono::milliseconds(50));
        ASSERT_GE(entries().size(), count);
    }
    static int end_of(pid_t process) {
        int status = 0;
        EXPECT_EQ(waitpid(process, &status, 0), process);
        return WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status);
    }
};

}  // namespace convt_jit::tools::test

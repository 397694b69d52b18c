// FilledCache: a cache directory with two entries for each test, compiled once.
#pragma once

#include "convt_jit/convt_jit.h"
#include "program.h"

#include <gmock/gmock.h>
#include <nlohmann/json.hpp>

#include <string>

namespace convt_jit::tools::test {

class FilledCache : public ProgramTest {
protected:
    static void SetUpTestSuite() {
        std::string pattern = (std::filesystem::temp_directory_path() / "convt_filled_XXXXXX").string();
        ASSERT_NE(mkdtemp(pattern.data()), nullptr);
        filled_ = pattern;
        Engine engine({(filled_ / "cache").string()});
        first_ = engine.compile(parse_layer(kFirst), "sm_80");
        second_ = engine.compile(parse_layer(kSecond), "sm_90");
    }
    static void TearDownTestSuite() { std::filesystem::remove_all(filled_); }
    void SetUp() override {
        ProgramTest::SetUp();
        std::filesystem::copy(filled_ / "cache", cache_path(), std::filesystem::copy_options::recursive);
        // A copy has the umask's permissions, and a group that may write is not trusted.
        std::filesystem::permissions(cache_path(), std::filesystem::perms::owner_all);
    }

    [[nodiscard]] std::filesystem::path cache_path() const { return directory_ / "cache"; }
    [[nodiscard]] std::filesystem::path entry_path(const std::string& key) const {
        return cache_path() / key.substr(0, 2) / (key + ".cubin");
    }
    void damage(const std::string& key) const { damage_file(entry_path(key)); }
    static void damage_file(const std::filesystem::path& path) {
        std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
        file.seekp(-100, std::ios::end);
        file << "damage";
        ASSERT_TRUE(file.flush());
    }
    // `convt cache ARGUMENTS --json` of which the answer is one JSON document.
    [[nodiscard]] nlohmann::json answer(const std::string& arguments, int code = 0) const {
        const Outcome outcome = convt("cache " + arguments + " --json");
        EXPECT_EQ(outcome.code, code) << arguments << "\n" << outcome.out << outcome.err;
        return nlohmann::json::parse(outcome.out);
    }
    void expect_failure(const std::string& arguments, int code, const std::string& message) const {
        SCOPED_TRACE(arguments);
        const Outcome outcome = convt("cache " + arguments);
        EXPECT_EQ(outcome.code, code) << outcome.out;
        EXPECT_THAT(outcome.err, ::testing::HasSubstr(message));
        EXPECT_EQ(outcome.out, "");
    }

    static constexpr const char* kFirst = "c2 o2 k3 f32 relu";
    static constexpr const char* kSecond = "c2 o3 k3x3 f32";
    static inline std::filesystem::path filled_;
    static inline KernelInfo first_, second_;
};

}  // namespace convt_jit::tools::test

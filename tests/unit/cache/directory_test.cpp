#include "cache/directory.h"

#include <gtest/gtest.h>
#include <pwd.h>
#include <stdlib.h>
#include <unistd.h>

#include <filesystem>

using namespace convt_jit;

namespace {

class Directory : public ::testing::Test {
protected:
    void SetUp() override {
        for (const char* name : {"CONVT_JIT_CACHE_DIR", "XDG_CACHE_HOME", "HOME"}) {
            const char* value = ::getenv(name);
            saved_.emplace_back(name, value != nullptr ? std::optional<std::string>(value) : std::nullopt);
            ::unsetenv(name);
        }
    }
    void TearDown() override {
        for (const auto& [name, value] : saved_)
            value ? ::setenv(name.c_str(), value->c_str(), 1) : ::unsetenv(name.c_str());
    }

private:
    std::vector<std::pair<std::string, std::optional<std::string>>> saved_;
};

}  // namespace

TEST_F(Directory, OwnVariableComesFirst) {
    ::setenv("HOME", "/home/a", 1);
    ::setenv("XDG_CACHE_HOME", "/x", 1);
    ::setenv("CONVT_JIT_CACHE_DIR", "/c", 1);
    EXPECT_EQ(default_cache_directory(), "/c");
}

TEST_F(Directory, OwnVariableMayBeRelative) {
    ::setenv("CONVT_JIT_CACHE_DIR", "some/where", 1);
    EXPECT_EQ(default_cache_directory(), (std::filesystem::current_path() / "some/where").string());
}

TEST_F(Directory, ThenXdg) {
    ::setenv("HOME", "/home/a", 1);
    ::setenv("XDG_CACHE_HOME", "/x", 1);
    EXPECT_EQ(default_cache_directory(), "/x/convt_jit");
}

TEST_F(Directory, RelativeXdgIsIgnored) {
    ::setenv("HOME", "/home/a", 1);
    ::setenv("XDG_CACHE_HOME", "x", 1);
    EXPECT_EQ(default_cache_directory(), "/home/a/.cache/convt_jit");
}

TEST_F(Directory, EmptyVariablesCountAsUnset) {
    ::setenv("CONVT_JIT_CACHE_DIR", "", 1);
    ::setenv("XDG_CACHE_HOME", "", 1);
    ::setenv("HOME", "/home/a", 1);
    EXPECT_EQ(default_cache_directory(), "/home/a/.cache/convt_jit");
}

TEST_F(Directory, WithoutHomeThePasswdEntryServes) {
    const passwd* entry = ::getpwuid(::geteuid());
    if (entry == nullptr) GTEST_SKIP() << "this user has no passwd entry";
    EXPECT_EQ(default_cache_directory(), std::string(entry->pw_dir) + "/.cache/convt_jit");
    ::setenv("HOME", "", 1);
    EXPECT_EQ(default_cache_directory(), std::string(entry->pw_dir) + "/.cache/convt_jit");
}

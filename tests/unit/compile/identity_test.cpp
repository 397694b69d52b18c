#include "compile/identity.h"

#include "compile/nvrtc.h"
#include "unit/cache/sample.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <set>

namespace convt_jit {
namespace {

namespace fs = std::filesystem;

std::string text(const std::string& file) { return to_string(identity_of(file)); }

TEST(Identity, ChangesWheneverTheFileDoes) {
    const sample::Scratch scratch;
    const std::string file = scratch / "libnvrtc.so.13", other = scratch / "other";
    std::ofstream(file) << "one";
    std::set<std::string> seen{text(file)};
    EXPECT_EQ(text(file), *seen.begin());

    std::ofstream(file, std::ios::app) << "more";
    EXPECT_TRUE(seen.insert(text(file)).second) << "size";
    fs::last_write_time(file, fs::last_write_time(file) + std::chrono::nanoseconds(1000));
    EXPECT_TRUE(seen.insert(text(file)).second) << "modification time";
    fs::copy_file(file, other);
    fs::last_write_time(other, fs::last_write_time(file));
    fs::rename(other, file);
    EXPECT_TRUE(seen.insert(text(file)).second) << "replaced by a copy with the same time";
    fs::rename(file, other);
    EXPECT_TRUE(seen.insert(text(other)).second) << "path";
    fs::create_symlink(other, file);
    EXPECT_EQ(text(file), text(other)) << "a link is what it leads to";
}

TEST(Identity, OfNoFile) {
    EXPECT_FALSE(identity_of("/nonexistent/libnvrtc.so.13").exists());
    const sample::Variable hidden("CONVT_JIT_NVRTC", "/nonexistent/libnvrtc.so.13");
    EXPECT_FALSE(nvrtc_identity().exists()) << "a named file has no substitute";
}

TEST(Identity, ForeseesWhichFileIsOpened) {
    const FileIdentity foreseen = nvrtc_identity();
    ASSERT_TRUE(foreseen.exists());
    EXPECT_EQ(foreseen, identity_of(Nvrtc::instance().path()));
    EXPECT_EQ(nvrtc_identity(), foreseen) << "also once it is open";
}

}  // namespace
}  // namespace convt_jit

#include "tune/record_file.h"

#include "unit/cache/sample.h"
#include "unit/tune/sample.h"

#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

namespace convt_jit {
namespace {

namespace fs = std::filesystem;
using sample::record;

class RecordFileTest : public testing::Test {
protected:
    static std::string text(const std::string& path) {
        std::ifstream file(path);
        std::ostringstream all;
        all << file.rdbuf();
        return all.str();
    }
    static void write(const std::string& path, const std::string& text) { std::ofstream(path) << text; }
    template <class Work>
    static std::string failure(const Work& work) {
        try {
            work();
        } catch (const TuningError& error) {
            return error.what();
        }
        return "";
    }
    [[nodiscard]] std::size_t files() const {
        return static_cast<std::size_t>(std::distance(fs::directory_iterator(scratch_.path()), {}));
    }

    sample::Scratch scratch_;
    std::string file_ = scratch_ / "h100.json";
};

TEST_F(RecordFileTest, AFileOrOneForEachGpu) {
    EXPECT_EQ(update_records(file_, {record("n1 in64x64"), record("", sample::kPlan, sample::kPcie)}),
              std::vector{file_});
    EXPECT_EQ(read_records(file_).size(), 2u);
    EXPECT_EQ(files(), 1u) << "nothing is left beside it";
    const std::string folder = scratch_ / "a/b";
    EXPECT_EQ(update_records(folder, read_records(file_)),
              (std::vector{folder + "/nvidia_h100_80gb_hbm3-132.json", folder + "/nvidia_h100_pcie-114.json"}));
    EXPECT_EQ(read_records(folder), read_records(file_));
    EXPECT_TRUE(update_records(folder, {}).empty());
    const std::string plain = scratch_ / "plain";
    write(plain, to_json(std::vector<TuningRecord>()));
    EXPECT_EQ(update_records(plain, {record("")}), std::vector{plain})
        << "a file that is there is one, whatever its name";
}

TEST_F(RecordFileTest, AnUpdateMerges) {
    (void)update_records(file_, {record("n1 in64x64")});
    TuningRecord other = record("n1 in64x64", sample::kOtherPlan);
    ++other.plan_version;
    (void)update_records(file_, {other});
    (void)update_records(file_, {record("n1 in64x64", sample::kOtherPlan)});
    const auto records = read_records(file_);
    ASSERT_EQ(records.size(), 2u) << "other versions of plans are kept";
    EXPECT_EQ(records[0].evidence.size(), 2u);
}

TEST_F(RecordFileTest, ALinkIsFollowed) {
    fs::create_directory(scratch_ / "real");
    fs::create_symlink("real/h100.json", file_);
    (void)update_records(file_, {record("")});
    EXPECT_TRUE(fs::is_symlink(file_));
    EXPECT_EQ(read_records(scratch_ / "real/h100.json").size(), 1u);
}

TEST_F(RecordFileTest, WhatCannotBeReadIsKeptAside) {
    write(file_, "{\"format\": 1, \"gp");
    const sample::Warnings warnings;
    (void)update_records(file_, {record("")});
    EXPECT_EQ(read_records(file_).size(), 1u);
    EXPECT_EQ(text(file_ + ".aside"), "{\"format\": 1, \"gp");
    ASSERT_EQ(warnings.lines().size(), 1u);
    EXPECT_NE(warnings.lines()[0].find("h100.json.aside"), std::string::npos) << warnings.lines()[0];

    std::string damaged = text(file_);
    damaged.replace(damaged.find("\"ms\": 1.0"), 9, "\"ms\": -10");
    write(file_, damaged);
    (void)update_records(file_, {record("n1 in64x64")});
    EXPECT_EQ(text(file_ + ".aside1"), damaged) << "one finding that cannot be read is one that would be lost";
    EXPECT_EQ(read_records(file_).size(), 1u);
}

TEST_F(RecordFileTest, ANewerFormatIsNotWrittenOver) {
    const std::string newer = R"({"format": 2, "gpus": []})";
    write(file_, newer);
    EXPECT_NE(failure([&] { (void)update_records(file_, {record("")}); }).find("newer version"), std::string::npos);
    EXPECT_NE(failure([&] { expect_updatable(file_); }).find("newer version"), std::string::npos);
    EXPECT_EQ(text(file_), newer);
    EXPECT_EQ(files(), 1u);
    const sample::Warnings warnings;
    EXPECT_TRUE(TuningRecords({file_}).empty());
    EXPECT_TRUE(TuningRecords({file_}).empty());
    ASSERT_EQ(warnings.lines().size(), 1u);
    EXPECT_NE(warnings.lines()[0].find("format 2"), std::string::npos);
}

TEST_F(RecordFileTest, WhatCannotBeUsedIsNamed) {
    EXPECT_NE(failure([&] { (void)read_records(file_); }).find(file_), std::string::npos);
    EXPECT_NE(failure([&] { (void)update_records("/proc/convt_jit/x.json", {record("")}); }).find("/proc/convt_jit"),
              std::string::npos);
    EXPECT_NE(failure([&] { expect_updatable("/proc/convt_jit"); }).find("/proc/convt_jit"), std::string::npos);
    fs::create_directory(scratch_ / "folder.json");
    ASSERT_EQ(::mkfifo((scratch_ / "pipe.json").c_str(), 0600), 0);
    EXPECT_NE(failure([&] { (void)update_records(scratch_ / "pipe.json", {record("")}); }).find("regular"),
              std::string::npos);
    const sample::Warnings warnings;
    EXPECT_TRUE(TuningRecords({scratch_ / "pipe.json"}).empty()) << "and nobody waits for it";
    EXPECT_EQ(warnings.lines().size(), 1u);
    if (::geteuid() == 0) return;
    fs::create_directory(scratch_ / "closed");
    fs::permissions(scratch_ / "closed", fs::perms(0500));
    EXPECT_NE(failure([&] { (void)update_records(scratch_ / "closed/x.json", {record("")}); }).find("denied"),
              std::string::npos);
}

TEST_F(RecordFileTest, WhatAnybodyCouldHaveWrittenIsNotUsed) {
    (void)update_records(file_, {record("")});
    fs::permissions(file_, fs::perms(0666));
    {
        const sample::Warnings warnings;
        EXPECT_TRUE(TuningRecords({file_}).empty());
        ASSERT_EQ(warnings.lines().size(), 1u);
        EXPECT_NE(warnings.lines()[0].find("anybody can write"), std::string::npos);
    }
    EXPECT_EQ(read_records(file_).size(), 1u) << "but who names it may read it";
    const sample::Variable trusted("CONVT_JIT_CACHE_TRUSTED", scratch_.path().string());
    EXPECT_FALSE(TuningRecords({file_}).empty());
}

TEST_F(RecordFileTest, NothingIsWrittenThatCannotBeRead) {
    TuningRecord wrong = record("");
    wrong.evidence[0].ms = -1;
    EXPECT_NE(failure([&] { (void)update_records(file_, {wrong}); }).find("ms is -1"), std::string::npos);
    EXPECT_EQ(files(), 0u);
}

}  // namespace
}  // namespace convt_jit

// Many writers of one file of records, killed while they write; a file that was cut.
#include "fault/cache/process.h"
#include "tune/record_file.h"
#include "unit/cache/sample.h"
#include "unit/tune/sample.h"

#include <gtest/gtest.h>

#include <chrono>
#include <fstream>
#include <random>
#include <set>
#include <sstream>
#include <thread>

using namespace convt_jit;
using fault::Process;
namespace fs = std::filesystem;

namespace {

Process add(const std::string& file, int first, int count) {
    return Process({TUNE_ACTOR, "add", file, std::to_string(first), std::to_string(count)});
}

std::set<std::string> layers_in(const std::string& file) {
    std::set<std::string> layers;
    for (const TuningRecord& record : read_records(file)) layers.insert(record.layer);
    return layers;
}

}  // namespace

TEST(Writers, FourAtOnceLoseNothing) {
    const sample::Scratch scratch;
    const std::string file = scratch / "r.json";
    std::vector<Process> all;
    for (int i = 0; i < 4; ++i) all.push_back(add(file, 20 * i, 20));
    for (Process& process : all) EXPECT_EQ(process.wait(), 0) << process.errors();
    EXPECT_EQ(layers_in(file).size(), 80u);
    EXPECT_EQ(std::distance(fs::directory_iterator(scratch.path()), {}), 1) << "nothing is left beside it";
}

TEST(Writers, KilledTheOldFileStaysOrTheNewOneIsThere) {
    const sample::Scratch scratch;
    const std::string file = scratch / "r.json";
    std::mt19937 random(5);
    std::set<std::string> kept;
    for (int i = 0; i < 60; ++i) {
        Process writer = add(file, i * 7, 0);
        std::string told = writer.some_output();
        std::this_thread::sleep_for(std::chrono::microseconds(random() % (std::size_t{1000} << i % 5)));
        writer.kill(SIGKILL);
        writer.wait();
        std::istringstream lines(told + writer.output());
        for (std::string layer; std::getline(lines, layer);)
            if (layer.ends_with("f32")) kept.insert(layer);   // the last line may be cut
        const std::set<std::string> there = layers_in(file);  // it can be read
        for (const std::string& layer : kept) ASSERT_TRUE(there.contains(layer)) << layer;
    }
    EXPECT_GT(kept.size(), 60u);
    Process last = add(file, 0, 1);
    EXPECT_EQ(last.wait(), 0);
    EXPECT_EQ(std::distance(fs::directory_iterator(scratch.path()), {}), 1) << "who writes sweeps";
}

TEST(Writers, AFileCutAnywhereIsIgnoredWithOneWarningAndNeverLost) {
    const sample::Scratch scratch;
    const std::string file = scratch / "r.json";
    const std::string text = to_json({sample::record("n1 in64x64"), sample::record("", sample::kOtherPlan)});
    for (std::size_t size = 0; size + 1 < text.size(); ++size) {
        std::ofstream(file, std::ios::trunc) << text.substr(0, size);
        const sample::Warnings warnings;
        const TuningRecords records({file});
        ASSERT_TRUE(records.empty()) << size;
        ASSERT_FALSE(records.find(parse_layer(sample::kLayer), sample::kH100));
        ASSERT_LE(warnings.lines().size(), 1u);
        if (size % 64 != 0) continue;
        fs::remove(file + ".aside");
        (void)update_records(file, {sample::record("n1 in64x64")});
        std::ostringstream aside;
        aside << std::ifstream(file + ".aside").rdbuf();
        ASSERT_EQ(aside.str(), text.substr(0, size));
        ASSERT_EQ(read_records(file).size(), 1u);
    }
}

#include "compile/nvrtc.h"

#include "convt_jit/error.h"

#include <gtest/gtest.h>
#include <locale.h>

#include <algorithm>
#include <barrier>
#include <clocale>
#include <filesystem>
#include <fstream>
#include <thread>

namespace convt_jit {
namespace {

Source source_of(const std::string& body) {
    Source source;
    source.text = "#line 1 \"prologue\"\nconstexpr float FACTOR = 2.5f;\n#line 10 \"families/sample.cu\"\n" + body;
    source.entry = "sample";
    source.constants = "FACTOR=2.5";
    return source;
}

Source good() { return source_of("extern \"C\" __global__ void sample(float* p) { p[threadIdx.x] *= FACTOR; }\n"); }

// Needs the suffix: wgmma exists on sm_90a alone.
Source for_hopper() {
    return source_of(
        "extern \"C\" __global__ void sample(float*) { asm volatile(\"wgmma.fence.sync.aligned;\\n\" ::: \"memory\"); "
        "}\n");
}

// e_machine of an ELF image; 190 is EM_CUDA.
int machine(const std::string& elf) {
    return elf.size() < 20 ? -1 : static_cast<unsigned char>(elf[18]) | static_cast<unsigned char>(elf[19]) << 8;
}

class NvrtcTest : public testing::Test {
protected:
    NvrtcTest() {
        try {
            nvrtc = &Nvrtc::instance();
        } catch (const CompileError& error) {
            missing = error.what();
        }
    }
    void SetUp() override {
        if (nvrtc == nullptr) GTEST_SKIP() << missing;
    }
    Nvrtc* nvrtc = nullptr;
    std::string missing;
};

TEST_F(NvrtcTest, VersionTellsTheBuildButNoPath) {
    const NvrtcVersion& version = nvrtc->version();
    EXPECT_GE(version.major, 12);
    const std::string start = std::to_string(version.major) + "." + std::to_string(version.minor);
    EXPECT_EQ(version.build.rfind(start, 0), 0u) << version.build;
    EXPECT_GT(version.build.size(), start.size()) << "more than the release";
    EXPECT_EQ(version.build.find('/'), std::string::npos);
    EXPECT_TRUE(std::filesystem::exists(nvrtc->path())) << nvrtc->path();
}

TEST_F(NvrtcTest, KnowsArchsAndTheirSuffixes) {
    EXPECT_TRUE(std::is_sorted(nvrtc->archs().begin(), nvrtc->archs().end()));
    EXPECT_TRUE(nvrtc->knows({75, 0}));
    EXPECT_TRUE(nvrtc->knows({90, 0}));
    EXPECT_TRUE(nvrtc->knows({90, 'a'}));
    EXPECT_FALSE(nvrtc->knows({75, 'a'}));
    EXPECT_FALSE(nvrtc->knows({86, 'f'}));
    EXPECT_FALSE(nvrtc->knows({999, 0}));
    EXPECT_FALSE(nvrtc->knows({999, 'a'}));
}

TEST_F(NvrtcTest, CompilesToACubinForEachArch) {
    for (const Arch& arch : {Arch{75, 0}, Arch{80, 0}, Arch{90, 0}, Arch{90, 'a'}}) {
        const Cubin cubin = nvrtc->compile(good(), arch);
        EXPECT_EQ(machine(cubin.bytes), 190) << to_string(arch);
        EXPECT_EQ(cubin.options, "-std=c++17 -default-device -arch=" + to_string(arch));
        EXPECT_NE(cubin.bytes.find("sample"), std::string::npos);
    }
}

TEST_F(NvrtcTest, SameSourceSameCubin) {
    EXPECT_EQ(nvrtc->compile(good(), {80, 0}).bytes, nvrtc->compile(good(), {80, 0}).bytes);
}

TEST_F(NvrtcTest, SuffixReachesTheCompiler) {
    EXPECT_EQ(machine(nvrtc->compile(for_hopper(), {90, 'a'}).bytes), 190);
    EXPECT_THROW((void)nvrtc->compile(for_hopper(), {90, 0}), CompileError);
}

TEST_F(NvrtcTest, UnknownArchListsThoseKnown) {
    for (const Arch& arch : {Arch{999, 0}, Arch{75, 'a'}}) {
        try {
            (void)nvrtc->compile(good(), arch);
            ADD_FAILURE() << to_string(arch);
        } catch (const CompileError& error) {
            const std::string text = error.what();
            EXPECT_EQ(error.details().arch, to_string(arch));
            for (const std::string& part : {to_string(arch), std::string("sm_75 "), std::string("sm_90"), nvrtc->path(),
                                            "NVRTC " + std::to_string(nvrtc->version().major)})
                EXPECT_NE(text.find(part), std::string::npos) << part << " in " << text;
        }
    }
}

TEST_F(NvrtcTest, FailureNamesTemplateLineConstantsAndSource) {
    const Source source = source_of("extern \"C\" __global__ void sample(float* p) {\n  *p = undefined_name;\n}\n");
    try {
        (void)nvrtc->compile(source, {90, 'a'});
        FAIL();
    } catch (const CompileError& error) {
        const std::string text = error.what();
        EXPECT_NE(text.find("families/sample.cu(11): error"), std::string::npos) << text;
        EXPECT_NE(text.find("undefined_name"), std::string::npos) << text;
        EXPECT_NE(text.find("FACTOR=2.5"), std::string::npos) << text;
        EXPECT_EQ(error.details().arch, "sm_90a");
        EXPECT_EQ(error.details().options, "-std=c++17 -default-device -arch=sm_90a");
        EXPECT_EQ(error.details().constants, "FACTOR=2.5");
        EXPECT_NE(error.details().log.find("families/sample.cu(11)"), std::string::npos);
        EXPECT_NE(text.find(error.details().source_path), std::string::npos);
        std::ifstream file(error.details().source_path);
        EXPECT_EQ(std::string(std::istreambuf_iterator<char>(file), {}), source.text);
        std::filesystem::remove(error.details().source_path);
    }
}

TEST_F(NvrtcTest, LocalesStayAsTheyWere) {
    const std::string process = std::setlocale(LC_ALL, nullptr);
    std::setlocale(LC_ALL, "C.UTF-8");
    const std::string chosen = std::setlocale(LC_ALL, nullptr);
    const locale_t own = newlocale(LC_ALL_MASK, "C.UTF-8", nullptr);
    const locale_t before = uselocale(own);
    (void)nvrtc->compile(good(), {75, 0});
    EXPECT_EQ(uselocale(nullptr), own) << "of the thread";
    EXPECT_EQ(std::setlocale(LC_ALL, nullptr), chosen) << "of the process";
    uselocale(before);
    if (own != nullptr) freelocale(own);
    std::setlocale(LC_ALL, process.c_str());
}

TEST_F(NvrtcTest, ThreadsCompileAtOnce) {
    constexpr int kThreads = 4;
    const std::string expected = nvrtc->compile(good(), {80, 0}).bytes;
    std::vector<std::string> cubins(kThreads);
    std::vector<std::string> errors(kThreads);
    std::barrier start(kThreads);
    std::vector<std::thread> threads;
    for (std::size_t i = 0; i < kThreads; ++i)
        threads.emplace_back([&, i] {
            start.arrive_and_wait();
            cubins[i] = nvrtc->compile(good(), {80, 0}).bytes;
            (void)nvrtc->knows({100, 'a'});
            try {
                (void)nvrtc->compile(source_of("#error number " + std::to_string(i) + "\n"), {80, 0});
            } catch (const CompileError& error) {
                errors[i] = error.details().log;
                std::filesystem::remove(error.details().source_path);
            }
        });
    for (std::thread& thread : threads) thread.join();
    for (std::size_t i = 0; i < kThreads; ++i) {
        EXPECT_EQ(cubins[i], expected);
        EXPECT_NE(errors[i].find("number " + std::to_string(i)), std::string::npos) << errors[i];
    }
}

}  // namespace
}  // namespace convt_jit

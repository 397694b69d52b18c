// Where NVRTC cannot be opened the error says where it was looked for and what to do; a later call looks again.
#include "compile/nvrtc.h"
#include "convt_jit/error.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

namespace convt_jit {
namespace {

std::string message_with(const std::string& file) {
    setenv("CONVT_JIT_NVRTC", file.c_str(), 1);
    try {
        (void)Nvrtc::instance();
    } catch (const CompileError& error) {
        return error.what();
    }
    ADD_FAILURE() << file << " was opened";
    return "";
}

TEST(NoNvrtc, NamesTheFileThatWasChosenAndTheRemedy) {
    const std::string text = message_with("/nonexistent/libnvrtc.so.13");
    EXPECT_NE(text.find("$CONVT_JIT_NVRTC = /nonexistent/libnvrtc.so.13"), std::string::npos) << text;
    EXPECT_NE(text.find("pip install nvidia-cuda-nvrtc"), std::string::npos) << text;
}

TEST(NoNvrtc, SaysWhyAFileThatExistsCannotBeUsed) {
    const auto file = std::filesystem::temp_directory_path() / ("convt_no_nvrtc_" + std::to_string(getpid()) + ".so");
    std::ofstream(file) << std::string(1000, 'x');
    EXPECT_NE(message_with(file.string()).find("invalid ELF header"), std::string::npos);
    std::filesystem::remove(file);
    EXPECT_NE(message_with("libm.so.6").find("has no nvrtcVersion"), std::string::npos);
}

TEST(NoNvrtc, OptionsAreKnownWithoutIt) {
    EXPECT_EQ(compile_options({90, 'a'}), (std::vector<std::string>{"-std=c++17", "-default-device", "-arch=sm_90a"}));
}

}  // namespace
}  // namespace convt_jit

#include "compile/search.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace convt_jit {
namespace {

std::ptrdiff_t place(const std::vector<std::string>& list, const std::string& name) {
    const auto found = std::find(list.begin(), list.end(), name);
    EXPECT_NE(found, list.end()) << name;
    return found - list.begin();
}

TEST(Search, ChosenFileIsTheOnlyCandidate) {
    EXPECT_EQ(nvrtc_candidates({"/a/libnvrtc.so.12", {"/usr/local/cuda"}, {"/b"}}),
              std::vector<std::string>{"/a/libnvrtc.so.12"});
}

TEST(Search, LoaderThenToolkitsThenBesideTheProgram) {
    const auto list = nvrtc_candidates({"", {"/home/cuda", "/usr/local/cuda"}, {"/p/build/lib"}});
    EXPECT_EQ(list[0], "libnvrtc.so.13");
    EXPECT_EQ(list[1], "libnvrtc.so.12");
    const auto home = place(list, "/home/cuda/lib64/libnvrtc.so.13");
    const auto local = place(list, "/usr/local/cuda/lib64/libnvrtc.so.13");
    const auto beside = place(list, "/p/build/lib/libnvrtc.so.13");
    EXPECT_LT(home, local);
    EXPECT_LT(local, beside);
    EXPECT_LT(place(list, "/home/cuda/lib64/libnvrtc.so.12"), local);
    EXPECT_LT(place(list, "/home/cuda/lib64/libnvrtc.so.12"), place(list, "/home/cuda/lib64/libnvrtc.so"));
    EXPECT_LT(beside, place(list, "/p/build/cuda/lib/libnvrtc.so.13"));
}

TEST(Search, WheelsBesideAPythonPackage) {
    const auto list = nvrtc_candidates({"", {}, {"/v/site-packages/convt_jit/lib"}});
    place(list, "/v/site-packages/nvidia/cu13/lib/libnvrtc.so.13");
    place(list, "/v/site-packages/nvidia/cuda_nvrtc/lib/libnvrtc.so.12");
}

TEST(Search, NothingTwice) {
    auto list = nvrtc_candidates({"", {"/usr/local/cuda", "/usr/local/cuda"}, {"/p/build/lib", "/p/build/bin"}});
    std::sort(list.begin(), list.end());
    EXPECT_EQ(std::adjacent_find(list.begin(), list.end()), list.end());
}

}  // namespace
}  // namespace convt_jit

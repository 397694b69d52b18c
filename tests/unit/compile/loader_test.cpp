#include "compile/loader.h"

#include <dlfcn.h>
#include <gmock/gmock.h>

#include <cstdint>
#include <filesystem>

namespace convt_jit {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr std::int32_t kAnotherMachine = 0x0100;

template <class Number>
void append(std::string& bytes, Number number) {
    bytes.append(reinterpret_cast<const char*>(&number), sizeof number);
}

struct Listed {
    std::int32_t flags;
    std::string name, file;
};

// A loader cache as ldconfig writes it.
std::string loader_cache(const std::vector<Listed>& listed) {
    std::string strings, bytes = "glibc-ld.so.cache1.1";
    const auto begin = bytes.size() + 28 + 24 * listed.size();
    const auto add = [&](const std::string& text) {
        const auto at = static_cast<std::uint32_t>(begin + strings.size());
        strings += text + '\0';
        return at;
    };
    std::string entries;
    for (const auto& each : listed) {
        append(entries, each.flags);
        append(entries, add(each.name));
        append(entries, add(each.file));
        append(entries, std::uint32_t{0});
        append(entries, std::uint64_t{0});
    }
    append(bytes, static_cast<std::uint32_t>(listed.size()));
    append(bytes, static_cast<std::uint32_t>(strings.size()));
    bytes.append(20, '\0');
    return bytes + entries + strings;
}

#if defined(__x86_64__)
constexpr std::int32_t kHere = 0x0303;

TEST(Loader, FindsFilesInTheLoadersCache) {
    const std::string cache = loader_cache({{kAnotherMachine, "libnvrtc.so.13", "/lib32/libnvrtc.so.13"},
                                            {kHere, "libnvrtc.so.13", "/a/libnvrtc.so.13"},
                                            {kHere, "libnvrtc.so.12", "/b/libnvrtc.so.12"},
                                            {kHere, "libnvrtc.so.13", "/c/libnvrtc.so.13"}});
    EXPECT_THAT(files_in_loader_cache(cache, "libnvrtc.so.13"), ElementsAre("/a/libnvrtc.so.13", "/c/libnvrtc.so.13"));
    EXPECT_THAT(files_in_loader_cache("ld.so-1.7.0 of old" + cache, "libnvrtc.so.12"),
                ElementsAre("/b/libnvrtc.so.12"));
    EXPECT_THAT(files_in_loader_cache(cache, "libnvrtc.so"), IsEmpty());
}

TEST(Loader, ABrokenCacheHoldsNothing) {
    const std::string cache = loader_cache({{kHere, "libnvrtc.so.13", "/a/libnvrtc.so.13"}});
    for (std::size_t length = 0; length < cache.size(); ++length)
        EXPECT_THAT(files_in_loader_cache(cache.substr(0, length), "libnvrtc.so.13"), IsEmpty()) << length;
    std::string wild = cache;
    for (std::size_t at = 48; at < 72; ++at) wild[at] = '\xff';  // the one entry
    EXPECT_THAT(files_in_loader_cache(wild, "libnvrtc.so.13"), IsEmpty());
}
#endif

TEST(Loader, ForeseesWhatTheLoaderDoes) {
    for (const char* name : {"libc.so.6", "libstdc++.so.6", "libm.so.6"}) {
        const std::string file = loader_file(name);
        EXPECT_TRUE(std::filesystem::exists(file)) << name << ": " << file;
    }
    EXPECT_EQ(loader_file("libno_such_library_anywhere.so.7"), "");
}

}  // namespace
}  // namespace convt_jit

// Gives the files of directories to a fuzz target, each as it is, cut off at many places and with many single bytes
// changed: what a compiler without libFuzzer can run of it. Fails where there is no file.

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace {

constexpr std::size_t kCuts = 32, kChanges = 96;

void give(const std::string& bytes) {
    // A copy of its own size, so that a sanitizer sees what is read behind it.
    const std::vector<std::uint8_t> copy(bytes.begin(), bytes.end());
    LLVMFuzzerTestOneInput(copy.data(), copy.size());
}

void give_variants(const std::string& bytes) {
    give(bytes);
    for (std::size_t i = 0; i < kCuts; ++i) give(bytes.substr(0, bytes.size() * i / kCuts));
    std::uint32_t state = 1;
    for (std::size_t i = 0; i < kChanges && !bytes.empty(); ++i) {
        state = state * 1664525U + 1013904223U;
        std::string changed = bytes;
        changed[(state >> 8) % changed.size()] = static_cast<char>(state >> 24);
        give(changed);
    }
}

}  // namespace

int main(int argc, char** argv) {
    std::size_t files = 0;
    for (int i = 1; i < argc; ++i)
        for (const auto& entry : std::filesystem::directory_iterator(argv[i])) {
            std::ifstream file(entry.path(), std::ios::binary);
            give_variants({std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()});
            ++files;
        }
    std::printf("%zu files\n", files);
    return files > 0 ? 0 : 1;
}

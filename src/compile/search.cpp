#include "compile/search.h"

#include <algorithm>
#include <filesystem>

namespace convt_jit {
namespace {

namespace fs = std::filesystem;

constexpr const char* kVersioned[] = {"libnvrtc.so.13", "libnvrtc.so.12"};

// A wheel or a build tree lies at most this many directories above a library of ours
// (site-packages/convt_jit/lib/libconvt_jit.so and site-packages/nvidia/...).
constexpr int kLevelsUp = 3;

class Candidates {
public:
    void add(const std::string& name) {
        if (std::find(list_.begin(), list_.end(), name) == list_.end()) list_.push_back(name);
    }
    // The unversioned name comes last: it is whatever the machine's packager made it.
    void add_directory(const fs::path& directory) {
        for (const char* name : kVersioned) add((directory / name).string());
        add((directory / "libnvrtc.so").string());
    }
    std::vector<std::string> take() { return std::move(list_); }

private:
    std::vector<std::string> list_;
};

}  // namespace

std::vector<std::string> nvrtc_candidates(const SearchPlaces& places) {
    // Who names a file wants that one and no silent substitute.
    if (!places.file.empty()) return {places.file};

    Candidates candidates;
    for (const char* name : kVersioned) candidates.add(name);
    for (const fs::path toolkit : places.toolkits)
        for (const char* lib : {"lib64", "lib", "targets/x86_64-linux/lib"}) candidates.add_directory(toolkit / lib);
    for (const fs::path directory : places.program_directories) {
        candidates.add_directory(directory);
        fs::path above = directory;
        for (int level = 0; level < kLevelsUp && above.has_relative_path(); ++level) {
            above = above.parent_path();
            for (const char* lib : {"cuda/lib", "nvidia/cu13/lib", "nvidia/cuda_nvrtc/lib"})
                candidates.add_directory(above / lib);
        }
    }
    return candidates.take();
}

}  // namespace convt_jit

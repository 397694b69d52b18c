#include "compile/places.h"

#include <dlfcn.h>

#include <cstdlib>
#include <filesystem>

namespace convt_jit {
namespace {

namespace fs = std::filesystem;

std::string environment(const char* name) {
    const char* value = std::getenv(name);
    return value != nullptr ? value : "";
}

}  // namespace

std::string loaded_file(const void* address) {
    Dl_info info{};
    return dladdr(address, &info) != 0 && info.dli_fname != nullptr ? info.dli_fname : "";
}

SearchPlaces search_places() {
    SearchPlaces places;
    places.file = environment("CONVT_JIT_NVRTC");
    for (const char* name : {"CUDA_HOME", "CUDA_PATH"})
        if (const std::string home = environment(name); !home.empty()) places.toolkits.push_back(home);
    places.toolkits.emplace_back("/usr/local/cuda");
    std::error_code ignored;
    const std::string self = loaded_file(reinterpret_cast<const void*>(&search_places));
    for (const fs::path& file : {fs::weakly_canonical(self, ignored), fs::read_symlink("/proc/self/exe", ignored)})
        if (file.has_parent_path()) places.program_directories.push_back(file.parent_path().string());
    return places;
}

}  // namespace convt_jit

// Search: the files that may be NVRTC, in the order in which they are tried. Pure.
#pragma once

#include <string>
#include <vector>

namespace convt_jit {

struct SearchPlaces {
    std::string file;                              // $CONVT_JIT_NVRTC
    std::vector<std::string> toolkits;             // $CUDA_HOME, $CUDA_PATH, /usr/local/cuda
    std::vector<std::string> program_directories;  // of libconvt_jit and of the executable
};

// Names without a slash are for the loader to find.
[[nodiscard]] std::vector<std::string> nvrtc_candidates(const SearchPlaces& places);

}  // namespace convt_jit

// Micro: what the micro benchmarks share.
#pragma once

#include "convt_jit/convt_jit.h"

#include <string>
#include <vector>

namespace convt_jit::bench {

// The layers of bench/layers/perf.jsonl; $CONVT_BENCH_LAYERS names another file.
[[nodiscard]] const std::vector<NamedLayer>& layers();

// What is compiled for: $CONVT_BENCH_ARCH, else sm_90.
[[nodiscard]] std::string arch();

// cold/LAYER, render/LAYER, disk_hit/LAYER, and the median of each over the layers; again/LAYER of two.
void register_prepare();
// launch/ours, launch/bare, launch/above_bare.
void register_launch();

}  // namespace convt_jit::bench

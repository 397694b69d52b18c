// Cases: the layers of other projects' test suites (tests/data/peers/*.jsonl), of real networks and of the benchmarks.
#pragma once

#include "convt_jit/convt_jit.h"

#include <optional>
#include <string>
#include <vector>

namespace convt_jit::test {

// A source's own numbers. Tensors are in the layer's layout.
struct Numbers {
    HostTensors tensors;
    std::vector<double> expected;
    double abs = 0, rel = 0;  // |error| <= abs + rel*|expected|
};

struct Case {
    std::string id;  // "xnnpack/kernel_1x1"
    Layer layer;     // knows its sizes
    Shape shape;
    std::optional<Numbers> numbers;
    int variant = 0;  // the same case in another dtype or layout has another one, from 0 up
};

// "xnnpack/kernel_1x1 f16 nhwc"
[[nodiscard]] std::string name_of(const Case& item);

// Reads a file of cases, each once for every dtype that its source names and that this library has (f32 where it names
// none), and where the source is channels-last in both layouts. Throws std::runtime_error with path and line.
[[nodiscard]] std::vector<Case> read_cases(const std::string& path);

// The layers of real networks and those of the benchmarks.
[[nodiscard]] std::vector<Case> read_real_layers(const std::string& path);
[[nodiscard]] std::vector<Case> read_benchmark_layers(const std::string& path);

// All files, cases without numbers that are the same layer and shape as an earlier one left out.
[[nodiscard]] std::vector<Case> all_cases();

// A tensor (batch, channels, *spatial) from channels-first order into the layout.
[[nodiscard]] std::vector<double> to_layout(const std::vector<double>& values, std::int64_t batch,
                                            std::int64_t channels, Layout layout);
// And back.
[[nodiscard]] std::vector<double> from_layout(const std::vector<double>& values, std::int64_t batch,
                                              std::int64_t channels, Layout layout);

}  // namespace convt_jit::test

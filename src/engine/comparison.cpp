// DeviceComparison: got and want compared where they are, by a kernel of the library's own.
#include "compile/nvrtc.h"
#include "convt_jit/reference.h"
#include "driver/memory.h"
#include "driver/module.h"
#include "engine/comparison_args.h"
#include "engine/comparison_source.h"
#include "reference/bounds.h"
#include "sim/program.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <vector>

namespace convt_jit {
namespace {

constexpr std::uint32_t kThreads = 256;
constexpr std::uint32_t kBlocksPerMultiprocessor = 8;

using convt_comparison::CompareArgs;
using convt_comparison::Sums;

static_assert(static_cast<int>(DType::f32) == 0 && static_cast<int>(DType::f16) == 1 &&
              static_cast<int>(DType::bf16) == 2);

std::string text_of(const char* file) { return fmt::format("#line 1 \"{}\"\n{}", file, comparison_source().at(file)); }

Source source() {
    return {
        text_of("comparison_args.h") + text_of("comparison.cu"), "convt_compare", "comparison", {"convt_compare_sum"}};
}

Errors errors_of(const std::vector<Sums>& all) {
    Errors errors;
    double difference2 = 0, want2 = 0;
    for (const Sums& sums : all) {
        difference2 += sums.difference2;
        want2 += sums.want2;
        errors.wrong_nonfinite += sums.wrong;
        if (sums.worst < 0) continue;
        if (errors.worst >= 0 &&
            (sums.max_abs < errors.max_abs || (sums.max_abs == errors.max_abs && sums.worst > errors.worst)))
            continue;
        errors.max_abs = sums.max_abs;
        errors.worst = sums.worst;
    }
    if (errors.wrong_nonfinite > 0 || (want2 == 0 && difference2 > 0))
        errors.rel_l2 = std::numeric_limits<double>::infinity();
    else if (want2 > 0)
        errors.rel_l2 = std::sqrt(difference2 / want2);
    return errors;
}

}  // namespace

struct DeviceComparison::Impl {
    explicit Impl(const Device& device)
        : blocks(kBlocksPerMultiprocessor * static_cast<std::uint32_t>(device.multiprocessors())),
          sums(device, sizeof(Sums) * blocks * kThreads),
          left(device, sizeof(Sums) * kThreads) {
        const Source text = source();
        if (device.is_cuda()) {
            const Cubin cubin = Nvrtc::instance().compile(text, parse_arch(device.arch()));
            module.emplace(driver::context_for(device.ordinal()), cubin.bytes, text.entry, 0, text.others);
        } else {
            program.emplace(text);
        }
    }

    void launch(std::size_t which, std::uint32_t grid, const CompareArgs& args, StreamHandle stream) const {
        if (module) {
            const std::uint32_t blocks_3d[3] = {grid, 1, 1};
            module->launch(blocks_3d, kThreads, 0, static_cast<CUstream>(stream), &args, which);
            return;
        }
        sim::LaunchOptions options;
        options.which = which;
        options.grid[0] = grid;
        options.threads = kThreads;
        program->launch(options, &args);
    }

    const std::uint32_t blocks;
    const Buffer sums, left;
    std::optional<driver::Module> module;
    std::optional<sim::Program> program;
};

DeviceComparison::DeviceComparison(const Device& device) : impl_(std::make_shared<const Impl>(device)) {}

Errors DeviceComparison::compare(const void* got, const void* want, std::int64_t elements, DType rounded_to,
                                 StreamHandle stream) const {
    const Bounds bounds = bounds_of(rounded_to);
    CompareArgs args{got,
                     static_cast<const double*>(want),
                     static_cast<Sums*>(impl_->sums.data()),
                     static_cast<Sums*>(impl_->left.data()),
                     elements,
                     bounds.largest,
                     kNearLargest,
                     bounds.smallest_normal,
                     bounds.step,
                     static_cast<int>(rounded_to)};
    impl_->launch(0, impl_->blocks, args, stream);
    args.elements = static_cast<long long>(impl_->blocks) * kThreads;
    impl_->launch(1, 1, args, stream);
    std::vector<Sums> all(kThreads);
    impl_->left.download(all.data(), impl_->left.bytes());
    return errors_of(all);
}

}  // namespace convt_jit

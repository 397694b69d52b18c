#include "plan/reference.h"

#include "plan/volume.h"
#include "plan/words.h"

#include <fmt/format.h>

namespace convt_jit {

std::string ReferenceTile::unsupported(const Layer&, const Arch& arch, bool) const {
    if (arch.number < 75) return fmt::format("reference needs sm_75 or newer, not {}", to_string(arch));
    words::expect_range("threads", block_threads, 1, 1024);
    return {};
}

Grid ReferenceTile::grid(const Layer& layer, const Shape& shape) const {
    return {ceil_div(sizes(layer, shape).y, block_threads)};
}

}  // namespace convt_jit

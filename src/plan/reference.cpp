#include "plan/reference.h"

#include "plan/volume.h"

#include <fmt/format.h>

namespace convt_jit {

std::string ReferenceTile::unsupported(const Layer&, const Arch& arch, bool) const {
    if (arch.number < 75) return fmt::format("reference needs sm_75 or newer, not {}", to_string(arch));
    if (block_threads < 1 || block_threads > 1024)
        return fmt::format("threads is {}, allowed: 1 to 1024", block_threads);
    return {};
}

Grid ReferenceTile::grid(const Layer& layer, const Shape& shape) const {
    return Grid::clipped(ceil_div(sizes(layer, shape).y, block_threads));
}

}  // namespace convt_jit

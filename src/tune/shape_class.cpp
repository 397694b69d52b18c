#include "tune/shape_class.h"

#include "convt_jit/tuning.h"
#include "plan/volume.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <cstdint>
#include <cstdlib>

namespace convt_jit {
namespace {

constexpr std::int64_t kLine = 16;  // bytes of the widest store
constexpr int kMostPositions = 31;  // log4 of what 64 bits hold

int bits_of(std::int64_t size) {
    return static_cast<int>(std::bit_width(static_cast<std::uint64_t>(std::max<std::int64_t>(size, 0))));
}
int log2_up(std::int64_t size) { return bits_of(size - 1); }
int log4_down(std::int64_t size) { return (bits_of(std::max<std::int64_t>(size, 1)) - 1) / 2; }

// The number that a power of two is of.
std::optional<int> log2_exact(std::string_view text, int most) {
    std::uint64_t number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error != std::errc() || end != text.data() + text.size() || !std::has_single_bit(number)) return std::nullopt;
    const int log = std::countr_zero(number);
    return log <= most ? std::optional(log) : std::nullopt;
}

}  // namespace

std::optional<ShapeClass> class_of(const Layer& layer) {
    if (layer.input.empty()) return std::nullopt;
    validate(layer, {layer.batch.value_or(1), layer.input});
    const Dims out = output_size(layer, layer.input);
    const int last = layer.spatial_dims() - 1;
    std::int64_t positions = layer.batch.value_or(1);
    std::array<std::int64_t, 3> size = {1, 1, 1};
    for (int axis = 0; axis <= last; ++axis) {
        const std::int64_t along = ceil_div(out[axis], layer.stride[axis]);
        size[static_cast<std::size_t>(axis + 2 - last)] = along;
        positions *= along;
    }
    ShapeClass shape;
    shape.columns = std::min(log2_up(size[2]), ShapeClass::kWide);
    shape.rows = std::min(log2_up(size[1]), ShapeClass::kHigh);
    const std::int64_t each = layer.layout == Layout::channels_last ? layer.out_channels : 1;
    shape.aligned = out[last] * each * static_cast<std::int64_t>(size_of(layer.dtype)) % kLine == 0;
    if (layer.batch) shape.positions = log4_down(positions);
    return shape;
}

std::string shape_class(const Layer& layer) { return to_string(class_of(layer)); }

std::string to_string(const std::optional<ShapeClass>& shape) {
    if (!shape) return "any";
    const std::string positions = shape->positions ? std::to_string(std::uint64_t{1} << 2 * *shape->positions) : "any";
    return fmt::format("positions={} columns={} rows={} aligned={:d}", positions, 1 << shape->columns, 1 << shape->rows,
                       shape->aligned);
}

bool parse_shape_class(std::string_view text, std::optional<ShapeClass>& shape) {
    shape.reset();
    if (text == "any") return true;
    const auto word = [&](std::string_view key) -> std::string_view {
        const std::size_t end = std::min(text.find(' '), text.size());
        const std::string_view found = text.substr(0, end);
        text.remove_prefix(std::min(end + 1, text.size()));
        return found.starts_with(key) ? found.substr(key.size()) : std::string_view();
    };
    const std::string_view positions = word("positions="), columns = word("columns="), rows = word("rows="),
                           aligned = word("aligned=");
    const auto total = log2_exact(positions, 2 * kMostPositions), wide = log2_exact(columns, ShapeClass::kWide),
               high = log2_exact(rows, ShapeClass::kHigh);
    if (!text.empty() || !wide || !high || (aligned != "0" && aligned != "1")) return false;
    if (positions != "any" && (!total || *total % 2 != 0)) return false;
    shape = ShapeClass{*wide, *high, aligned == "1", total ? std::optional(*total / 2) : std::nullopt};
    return true;
}

std::optional<int> distance(const std::optional<ShapeClass>& want, const std::optional<ShapeClass>& have) {
    if (want == have) return 0;
    if (!want || !have) return kUnknown;
    int octaves = std::abs(want->columns - have->columns) + std::abs(want->rows - have->rows) +
                  (want->aligned != have->aligned ? 1 : 0);
    if (want->positions && have->positions)
        octaves += 2 * std::abs(*want->positions - *have->positions);
    else if (want->positions)
        octaves += 2;  // measured for a batch that nobody knew
    return octaves <= kFarthest ? std::optional(octaves) : std::nullopt;
}

}  // namespace convt_jit

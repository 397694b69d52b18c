#include "plan/unrolled.h"

#include "plan/unrolled_cost.h"
#include "plan/unrolled_resources.h"
#include "plan/volume.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

namespace convt_jit {
namespace {

// From here on one running sum per output is less accurate than what people replace: partial sums.
constexpr std::int64_t kLongSum = 140;

// One layer, and the time of tiles on it.
class Search {
public:
    Search(const Layer& layer, const Arch& arch)
        : layer_(UnrolledLayer::make(layer)), work_(Workload::make(layer)), arch_(arch) {
        const std::int64_t taps_h = most_taps(layer_.vertical), taps_w = most_taps(layer_.horizontal);
        longest_sum_ = taps_h * taps_w * layer_.depth_taps * layer_.in_per_group;
        products_of_channel_ = taps_h * taps_w;
    }

    [[nodiscard]] const UnrolledLayer& layer() const { return layer_; }
    [[nodiscard]] const Workload& work() const { return work_; }

    // Infinite where the tile cannot be had.
    [[nodiscard]] double cycles(const UnrolledTile& tile) const {
        UnrolledResources resources;
        if (!unrolled_resources(layer_, tile, resources).empty() || !unrolled_shortage(resources, arch_).empty() ||
            resources.threads < 32)
            return std::numeric_limits<double>::infinity();
        return unrolled_cycles(layer_, work_, tile, resources, arch_);
    }

    // With what follows from the rest: the width of stores, and partial sums where a sum is long, of as many chunks as
    // keep one short.
    [[nodiscard]] UnrolledTile finished(UnrolledTile tile) const {
        const std::int64_t of_chunk =
            std::max<std::int64_t>(1, products_of_channel_ * tile.chunk / tile.reduction_threads);
        const bool long_sum = longest_sum_ / tile.reduction_threads > kLongSum;
        tile.store_width = tile.slabs ? 1 : work_.store_width;
        tile.join = long_sum ? static_cast<int>(std::max<std::int64_t>(1, kLongSum / 2 / of_chunk)) : 0;
        // The compiler is told what will fit, or it would take registers that cost blocks.
        UnrolledResources resources;
        if (unrolled_resources(layer_, tile, resources).empty()) tile.min_blocks = resident_blocks(resources, arch_);
        return tile;
    }

private:
    static std::int64_t most_taps(const PhasedAxis& axis) {
        int most = 1;
        for (const PhasedAxis::Reach& phase : axis.phases) most = std::max(most, phase.taps);
        return most;
    }

    UnrolledLayer layer_;
    Workload work_;
    Arch arch_;
    std::int64_t longest_sum_ = 1, products_of_channel_ = 1;
};

// The values that the fields of a tile may take for a layer. A point is one choice of each.
class Space {
public:
    using Point = std::vector<std::size_t>;

    Space(const UnrolledLayer& layer, const Workload& work) {
        const auto smaller = [](std::initializer_list<int> values, std::int64_t most) {
            std::vector<int> result;
            for (const int value : values)
                if (value <= most) result.push_back(value);
            return result;
        };
        const auto with = [](std::vector<int> values, std::int64_t own, std::int64_t most) {
            if (own <= most && std::find(values.begin(), values.end(), own) == values.end())
                values.push_back(static_cast<int>(own));
            return values;
        };
        // Twice the size of the image is the most that a tile may cover.
        const std::int64_t vector = 16 / layer.element_bytes, height = work.positions[0], width = work.positions[1];
        add(with(smaller({32, 64, 128, 256}, std::max<std::int64_t>(2 * width - 1, 32)),
                 ceil_div(width, vector) * vector, 512),
            [](UnrolledTile& t, int n) { t.positions[1] = n; });
        add(smaller({1, 2, 4, 8, 16}, std::max<std::int64_t>(2 * height - 1, 1)),
            [](UnrolledTile& t, int n) { t.positions[0] = n; });
        add({1, 2}, [](UnrolledTile& t, int n) { t.rows = n; });
        add({4, 8, 2}, [](UnrolledTile& t, int n) { t.columns = n; });
        std::vector<int> channels = smaller({1, 2, 4, 8}, layer.out_per_group);
        if (layer.out_per_group % 3 == 0) channels.push_back(3);
        add(channels, [](UnrolledTile& t, int n) { t.channels = n; });
        add(smaller({1, 2, 4, 8}, layer.out_per_group), [](UnrolledTile& t, int n) { t.channel_threads = n; });
        add(smaller({1, 2}, layer.out_per_group),
            [](UnrolledTile& t, int n) { t.block_channels = t.channels * t.channel_threads * n; });
        add(with(smaller({1, 2, 4, 8, 16, 32}, layer.in_per_group), layer.in_per_group, 64),
            [](UnrolledTile& t, int n) { t.chunk = n; });
        add({2, 3, 4}, [](UnrolledTile& t, int n) { t.stages = n; });
        add(layer.vertical.used > 1 ? std::vector<int>{0, 1, 2} : std::vector<int>{0},
            [](UnrolledTile& t, int n) { t.row_phases = n; });
        add(smaller({1, 2, 4}, layer.in_per_group), [](UnrolledTile& t, int n) { t.reduction_threads = n; });
        add({1, 0}, [](UnrolledTile& t, int n) { t.slabs = n != 0; });
    }

    [[nodiscard]] std::size_t fields() const { return fields_.size(); }
    [[nodiscard]] std::size_t values(std::size_t field) const { return fields_[field].values.size(); }
    [[nodiscard]] Point first() const { return Point(fields_.size(), 0); }
    // False where `point` was the last.
    [[nodiscard]] bool next(Point& point) const {
        for (std::size_t f = 0; f < point.size(); ++f) {
            if (++point[f] < values(f)) return true;
            point[f] = 0;
        }
        return false;
    }
    [[nodiscard]] UnrolledTile tile(const Point& point) const {
        UnrolledTile tile;
        for (std::size_t f = 0; f < point.size(); ++f) fields_[f].set(tile, fields_[f].values[point[f]]);
        return tile;
    }

private:
    using Set = void (*)(UnrolledTile&, int);
    struct Field {
        std::vector<int> values;
        Set set;
    };
    void add(std::vector<int> values, Set set) { fields_.push_back({std::move(values), set}); }
    std::vector<Field> fields_;
};

// The best point that is found from one by changing one or two fields at a time.
void descend(const Search& search, const Space& space, Space::Point& best) {
    double least = search.cycles(search.finished(space.tile(best)));
    const auto improve = [&](Space::Point point) {
        const double cycles = search.cycles(search.finished(space.tile(point)));
        if (!(cycles < least)) return false;
        least = cycles;
        best = std::move(point);
        return true;
    };
    for (bool better = true; better;) {
        better = false;
        for (std::size_t a = 0; a < space.fields(); ++a)
            for (std::size_t i = 0; i < space.values(a); ++i)
                for (std::size_t b = a; b < space.fields(); ++b)
                    for (std::size_t j = 0; j < (b == a ? 1 : space.values(b)); ++j) {
                        Space::Point point = best;
                        point[a] = i;
                        if (b != a) point[b] = j;
                        better = improve(std::move(point)) || better;
                    }
    }
}

}  // namespace

UnrolledTile UnrolledTile::standard(const Layer& layer, const Arch& arch) {
    const Search search(layer, arch);
    if (!search.layer().refusal.empty()) return {};
    const Space space(search.layer(), search.work());
    Space::Point best = space.first();
    descend(search, space, best);
    return search.finished(space.tile(best));
}

std::vector<UnrolledTile> unrolled_candidates(const Layer& layer, const Arch& arch, std::size_t most) {
    const Search search(layer, arch);
    if (!search.layer().refusal.empty()) return {};
    const Space space(search.layer(), search.work());
    std::vector<std::pair<double, Space::Point>> found;
    Space::Point point = space.first();
    do {
        const double cycles = search.cycles(search.finished(space.tile(point)));
        if (std::isfinite(cycles)) found.emplace_back(cycles, point);
    } while (space.next(point));
    std::sort(found.begin(), found.end());
    std::vector<UnrolledTile> tiles;
    for (const auto& [cycles, at] : found) {
        if (tiles.size() == most) break;
        tiles.push_back(search.finished(space.tile(at)));
    }
    return tiles;
}

std::string UnrolledTile::unsupported(const Layer& layer, const Arch& arch, bool exact_nonfinite) const {
    if (exact_nonfinite) return "unrolled multiplies weights by the zeros beyond the input";
    const UnrolledLayer parts = UnrolledLayer::make(layer);
    if (!parts.refusal.empty()) return parts.refusal;
    UnrolledResources resources;
    if (std::string why = unrolled_resources(parts, *this, resources); !why.empty()) return why;
    return unrolled_shortage(resources, arch);
}

double UnrolledTile::modelled_cycles(const Layer& layer, const Arch& arch) const {
    if (!unsupported(layer, arch, false).empty()) return std::numeric_limits<double>::infinity();
    return Search(layer, arch).cycles(*this);
}

int UnrolledTile::threads(const Layer& layer) const {
    UnrolledResources resources;
    (void)unrolled_resources(UnrolledLayer::make(layer), *this, resources);
    return resources.threads;
}

std::size_t UnrolledTile::shared_bytes(const Layer& layer) const {
    UnrolledResources resources;
    (void)unrolled_resources(UnrolledLayer::make(layer), *this, resources);
    return static_cast<std::size_t>(resources.shared_bytes);
}

Grid UnrolledTile::grid(const Layer& layer, const Shape& shape) const {
    const auto out = sizes_3d(output_size(layer, shape.input));
    const auto axes = axes_3d(layer);
    const std::int64_t tiles_h = ceil_div(ceil_div(out[1], axes[1].stride), positions[0]);
    const std::int64_t tiles_w = ceil_div(ceil_div(out[2], axes[2].stride), positions[1]);
    const std::int64_t channel_blocks = layer.groups * ceil_div(layer.out_channels_per_group(), block_channels);
    if (order == kPlanes) return {tiles_w, tiles_h * out[0], shape.batch * channel_blocks};
    return {tiles_w * channel_blocks, tiles_h * out[0], shape.batch};
}

}  // namespace convt_jit

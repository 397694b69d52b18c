#include "conformance/selection.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <set>
#include <tuple>

namespace convt_jit::test {
namespace {

// FNV-1a, the same everywhere.
std::uint64_t hash(const std::string& text, std::uint64_t seed) {
    std::uint64_t value = 0xcbf29ce484222325ULL ^ (seed * 0x9e3779b97f4a7c15ULL);
    for (const char c : text) value = (value ^ static_cast<unsigned char>(c)) * 0x100000001b3ULL;
    return value ^ (value >> 29);
}

}  // namespace

double cost(const Case& item) {
    const Layer& layer = item.layer;
    double products = static_cast<double>(layer.in_channels_per_group());
    for (int axis = 0; axis < layer.spatial_dims(); ++axis) {
        products *= static_cast<double>(layer.kernel[axis]) / static_cast<double>(layer.stride[axis]);
    }
    constexpr double kPerOutput = 30;  // index arithmetic, store, poison and comparison
    return static_cast<double>(sizes(layer, item.shape).y) * (products + kPerOutput);
}

std::string program_of(const Case& item) {
    Layer layer = item.layer;
    layer.batch.reset();
    layer.input = Dims{};
    return to_string(layer);
}

std::vector<std::size_t> choose(const std::vector<Case>& cases, const Limits& limits) {
    std::map<std::string, int> variants;
    for (const Case& item : cases) variants[item.id] = std::max(variants[item.id], item.variant + 1);
    // Which of its variants a case starts with is drawn too, so that every dtype and layout gets its share.
    const auto turn = [&](const Case& item) {
        const int count = variants[item.id];
        return (item.variant + static_cast<int>(hash(item.id, limits.seed) % static_cast<std::uint64_t>(count))) %
               count;
    };
    std::vector<std::tuple<bool, int, std::uint64_t, std::size_t>> order;
    for (std::size_t i = 0; i < cases.size(); ++i) {
        order.emplace_back(!cases[i].numbers, turn(cases[i]), hash(name_of(cases[i]), limits.seed), i);
    }
    std::sort(order.begin(), order.end());

    std::vector<std::size_t> chosen;
    std::set<std::string> programs;
    double total = 0;
    for (const auto& [plain, turn_of, drawn, i] : order) {
        const double price = cost(cases[i]);
        const std::string program = program_of(cases[i]);
        const bool fits = price <= limits.one && total + price <= limits.all &&
                          (programs.count(program) != 0 || programs.size() < limits.programs);
        if (!fits) continue;
        total += price;
        programs.insert(program);
        chosen.push_back(i);
    }
    std::stable_sort(chosen.begin(), chosen.end(),
                     [&](std::size_t a, std::size_t b) { return cost(cases[a]) > cost(cases[b]); });
    return chosen;
}

std::vector<Case> shard_of(const std::vector<Case>& cases, int shard, int shards) {
    std::vector<Case> result;
    for (const Case& item : cases) {
        if (hash(program_of(item), 0) % static_cast<std::uint64_t>(shards) == static_cast<std::uint64_t>(shard)) {
            result.push_back(item);
        }
    }
    return result;
}

}  // namespace convt_jit::test

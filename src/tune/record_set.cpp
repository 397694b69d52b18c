#include "tune/record_set.h"

#include <algorithm>
#include <cstdlib>
#include <tuple>
#include <utility>

namespace convt_jit {
namespace {

// The lower, the better. Of two that are as near, the larger: more time is spent there.
auto rank(const PlacedRecord& record, int octaves) {
    const ShapeClass shape = record.shape.value_or(ShapeClass{});
    return std::tuple(octaves, -shape.positions.value_or(0), -shape.columns, -shape.rows, !shape.aligned, record.place,
                      record.source);
}

}  // namespace

std::size_t RecordSet::add(std::vector<TuningRecord> records, const std::string& source, std::size_t place) {
    std::size_t left_out = 0;
    for (TuningRecord& record : records) {
        std::optional<ShapeClass> shape;
        if (record.plan_version != plan_version() || !parse_shape_class(record.shape_class, shape)) {
            ++left_out;
            continue;
        }
        auto& same = by_layer_[record.layer];
        same.push_back({std::move(record), source, place, shape});
    }
    return left_out;
}

std::vector<const PlacedRecord*> RecordSet::ranked(const std::string& layer, const GpuModel& gpu,
                                                   const std::optional<ShapeClass>& want) const {
    using Ranked = std::pair<decltype(rank(std::declval<PlacedRecord>(), 0)), const PlacedRecord*>;
    std::vector<Ranked> near;
    for (const PlacedRecord* record : all(layer, gpu))
        if (const auto octaves = distance(want, record->shape)) near.emplace_back(rank(*record, *octaves), record);
    std::sort(near.begin(), near.end());
    std::vector<const PlacedRecord*> records;
    for (const Ranked& item : near) records.push_back(item.second);
    return records;
}

std::vector<const PlacedRecord*> RecordSet::all(const std::string& layer, const GpuModel& gpu) const {
    std::vector<const PlacedRecord*> records;
    const auto found = by_layer_.find(layer);
    if (found == by_layer_.end()) return records;
    for (const PlacedRecord& record : found->second)
        if (record.record.gpu == gpu) records.push_back(&record);
    std::sort(records.begin(), records.end(), [](const PlacedRecord* a, const PlacedRecord* b) {
        return std::tie(a->record.shape_class, a->place, a->source) <
               std::tie(b->record.shape_class, b->place, b->source);
    });
    return records;
}

std::vector<GpuModel> RecordSet::models(const std::string& layer, const GpuModel& gpu) const {
    std::set<GpuModel> of_arch;
    if (const auto found = by_layer_.find(layer); found != by_layer_.end())
        for (const PlacedRecord& record : found->second)
            if (record.record.gpu.arch == gpu.arch) of_arch.insert(record.record.gpu);
    std::vector<GpuModel> models(of_arch.begin(), of_arch.end());
    std::stable_sort(models.begin(), models.end(), [&](const GpuModel& a, const GpuModel& b) {
        const auto apart = [&](const GpuModel& m) {
            return std::pair(!(m == gpu), std::abs(m.multiprocessors - gpu.multiprocessors));
        };
        return apart(a) < apart(b);
    });
    return models;
}

}  // namespace convt_jit

// RecordSet: records of several places, and which of them to ask for a layer, in which order. Pure functions.
#pragma once

#include "convt_jit/tuning.h"
#include "tune/shape_class.h"

#include <cstddef>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace convt_jit {

// A record where it was found.
struct PlacedRecord {
    TuningRecord record;
    std::string source;
    std::size_t place = 0;            // 0: the one that is asked first
    std::optional<ShapeClass> shape;  // of the record
};

class RecordSet {
public:
    // Those of another plan version, or of a class that this version does not know, are left out; returns how many.
    std::size_t add(std::vector<TuningRecord> records, const std::string& source, std::size_t place);

    [[nodiscard]] bool empty() const noexcept { return by_layer_.empty(); }

    // The records that may serve a class of a layer on a GPU model, the best first: the nearest class; of the same, the
    // place that is asked first. Where no sizes are wanted, the record of the largest ones. Those too far away are
    // none.
    [[nodiscard]] std::vector<const PlacedRecord*> ranked(const std::string& layer, const GpuModel& gpu,
                                                          const std::optional<ShapeClass>& want) const;
    // Of every class, in the order of the classes.
    [[nodiscard]] std::vector<const PlacedRecord*> all(const std::string& layer, const GpuModel& gpu) const;

    // The models of an arch that have records of the layer: `gpu` first, then those with the nearest number of
    // multiprocessors. A model of the same arch takes the same plans and has other numbers of multiprocessors, clocks
    // and memory; the default choice was fit to one card alone.
    [[nodiscard]] std::vector<GpuModel> models(const std::string& layer, const GpuModel& gpu) const;

private:
    std::map<std::string, std::vector<PlacedRecord>, std::less<>> by_layer_;
};

}  // namespace convt_jit

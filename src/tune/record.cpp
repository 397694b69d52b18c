#include "tune/record.h"

#include "plan/plan.h"

#include <algorithm>
#include <map>

namespace convt_jit {
namespace {

auto fields(const GpuModel& gpu) noexcept { return std::tie(gpu.arch, gpu.name, gpu.multiprocessors); }

}  // namespace

bool operator==(const GpuModel& a, const GpuModel& b) noexcept { return fields(a) == fields(b); }
bool operator<(const GpuModel& a, const GpuModel& b) noexcept { return fields(a) < fields(b); }

bool operator==(const TuningRecord& a, const TuningRecord& b) noexcept {
    return a.gpu == b.gpu && a.layer == b.layer && a.shape_class == b.shape_class && a.plan_version == b.plan_version &&
           a.evidence == b.evidence;
}

int plan_version() noexcept { return kPlanVersion; }

RecordKey key_of(const TuningRecord& record) {
    return {record.gpu, record.layer, record.shape_class, record.plan_version};
}

// A set union, key by key. What decides is the best of the set, so it does not matter in which order machines report.
std::vector<TuningRecord> merge_records(const std::vector<TuningRecord>& a, const std::vector<TuningRecord>& b) {
    std::map<RecordKey, std::vector<TuningEvidence>> all;
    for (const auto* records : {&a, &b})
        for (const TuningRecord& record : *records) {
            auto& evidence = all[key_of(record)];
            evidence.insert(evidence.end(), record.evidence.begin(), record.evidence.end());
        }
    std::vector<TuningRecord> merged;
    for (auto& [key, evidence] : all) {
        std::sort(evidence.begin(), evidence.end(), is_better);
        evidence.erase(std::unique(evidence.begin(), evidence.end()), evidence.end());
        const auto& [gpu, layer, shape_class, version] = key;
        if (!evidence.empty()) merged.push_back({gpu, layer, shape_class, version, std::move(evidence)});
    }
    return merged;
}

}  // namespace convt_jit

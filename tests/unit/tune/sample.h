// Sample: tuning records for tests.
#pragma once

#include "convt_jit/tuning.h"

#include <random>
#include <string>
#include <vector>

namespace convt_jit::sample {

inline const GpuModel kH100{"NVIDIA H100 80GB HBM3", 132, "sm_90"};
inline const GpuModel kH200{"NVIDIA H200", 132, "sm_90"};
inline const GpuModel kPcie{"NVIDIA H100 PCIe", 114, "sm_90"};
inline const GpuModel kAmpere{"NVIDIA A100-SXM4-80GB", 108, "sm_80"};

constexpr const char* kLayer = "c8 o8 k3x3 s2 f32";
// Whole plans for it, and one that does not fit any GPU.
constexpr const char* kPlan =
    "direct positions=1x2x16 per_thread=2 channels=4 vectors=1 row_phases=2 column_phases=2 chunk=4 stage_input=1 "
    "stage_weights=1 partial=64 unroll=1 index=32 exact_nonfinite=0";
constexpr const char* kOtherPlan =
    "direct positions=1x1x32 per_thread=1 channels=2 vectors=1 row_phases=1 column_phases=2 chunk=8 stage_input=1 "
    "stage_weights=1 partial=64 unroll=1 index=32 exact_nonfinite=0";
constexpr const char* kTooLarge =
    "direct positions=1x64x64 per_thread=1 channels=4 vectors=1 row_phases=2 column_phases=2 chunk=4 stage_input=1 "
    "stage_weights=1 partial=64 unroll=1 index=32 exact_nonfinite=0";

inline TuningEvidence evidence(const std::string& plan = kPlan, double ms = 1) {
    TuningEvidence e;
    e.plan = plan;
    e.ms = ms;
    e.spread = 0.01;
    e.runner_up_plan = kOtherPlan;
    e.runner_up_ms = ms * 1.1;
    e.default_plan = "unrolled";
    e.default_ms = ms * 1.3;
    e.speed_of_light_ms = 0.5;
    e.batch = 1;
    e.input = {64, 64};
    e.candidates = 40;
    e.driver = "13.0", e.toolkit = "13.0";
    e.clock_mhz = 1980;
    e.date = "2025-01-31T12:00:00Z";
    e.library = "0.1.0";
    return e;
}

// Of kLayer at those sizes ("n1 in64x64"; "": none).
inline TuningRecord record(const std::string& sizes, const std::string& plan = kPlan, const GpuModel& gpu = kH100) {
    return {gpu, kLayer, shape_class(parse_layer(sizes + " " + kLayer)), plan_version(), {evidence(plan)}};
}

// One of 500.
inline std::string numbered_layer(int number) {
    return std::string("c").append(std::to_string(number % 500 + 1)).append(" o8 k3x3 s2 f32");
}

// Few values for each field, so that keys and evidence often agree.
inline std::vector<TuningRecord> random_records(std::mt19937& random) {
    const auto below = [&](unsigned n) { return static_cast<int>(random() % n); };
    std::vector<TuningRecord> records(static_cast<std::size_t>(below(6)));
    for (TuningRecord& r : records) {
        r.gpu = below(2) == 0 ? kH100 : kPcie;
        r.layer = below(2) == 0 ? kLayer : "c4 o4 k3 f16";
        r.shape_class = below(2) == 0 ? "any" : "positions=64 columns=8 rows=8 aligned=1";
        r.plan_version = 1 + below(2);
        r.evidence.resize(static_cast<std::size_t>(1 + below(3)));
        for (TuningEvidence& e : r.evidence) {
            e = evidence(below(2) == 0 ? kPlan : kOtherPlan, 1 + 0.5 * below(2));
            e.weights = below(4) == 0 ? MeasuredWeights::changing : MeasuredWeights::constant;
            e.speed_of_light_ms = 0.5 * below(2);
            e.date = below(2) == 0 ? "2025-01-31T12:00:00Z" : "2026-01-31T12:00:00Z";
            e.library = below(2) == 0 ? "0.9.0" : "0.10.0";
            e.extra = below(4) == 0 ? R"({"power_w":700})" : "";
        }
    }
    return records;
}

}  // namespace convt_jit::sample

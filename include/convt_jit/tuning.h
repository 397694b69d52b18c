// Tuning: which plan was measured to be the fastest of a layer on a GPU, and the evidence for it. Needs no GPU.
#pragma once

#include "convt_jit/device.h"
#include "convt_jit/error.h"
#include "convt_jit/export.h"
#include "convt_jit/layer.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace convt_jit {

/// A records file that cannot be used as asked. What an engine does with its records never throws this.
class CONVT_JIT_API TuningError : public Error {
public:
    TuningError(std::string subject, const std::string& reason)
        : Error(subject + ": " + reason), subject_(std::move(subject)) {}
    [[nodiscard]] const std::string& subject() const noexcept { return subject_; }

private:
    std::string subject_;
};

/// What cards have in common that are tuned alike.
struct GpuModel {
    std::string name;         ///< "NVIDIA H100 80GB HBM3"; "simulator"
    int multiprocessors = 0;  ///< a name alone may stand for cards of different sizes
    std::string arch;         ///< "sm_90", without a suffix; "sim"
};
[[nodiscard]] CONVT_JIT_API bool operator==(const GpuModel& a, const GpuModel& b) noexcept;
[[nodiscard]] CONVT_JIT_API bool operator<(const GpuModel& a, const GpuModel& b) noexcept;
/// Throws DriverError.
[[nodiscard]] CONVT_JIT_API GpuModel gpu_model(const Device& device);

/// How the weights of a measured launch were: packed once before (inference), or at each launch (training).
enum class MeasuredWeights { constant, changing };
[[nodiscard]] CONVT_JIT_API const char* to_string(MeasuredWeights weights) noexcept;

/// What one search has found. Times are medians in milliseconds of one launch; 0 and "" stand for what is not known.
struct TuningEvidence {
    std::string plan;   ///< the whole plan, as PrepareOptions::plan takes it
    double ms = 0;      ///< above 0
    double spread = 0;  ///< distance between the quartiles over the median
    std::string runner_up_plan;
    double runner_up_ms = 0;
    std::string default_plan;  ///< without records
    double default_ms = 0;
    double speed_of_light_ms = 0;  ///< of this layer at these sizes on this card
    MeasuredWeights weights = MeasuredWeights::constant;
    std::int64_t batch = 1;       ///< that was measured
    Dims input;                   ///< the same
    std::int64_t candidates = 0;  ///< plans that were measured
    std::string driver, toolkit;  ///< "13.0", of the driver and of NVRTC
    int clock_mhz = 0;            ///< of the multiprocessors while it was measured
    int memory_clock_mhz = 0;
    std::string date;     ///< UTC, "2025-01-31T12:00:00Z"
    std::string library;  ///< "0.1.0"
    /// Fields of a file that this version of the library does not know, as a JSON object, so that a merge keeps them.
    std::string extra;
};
[[nodiscard]] CONVT_JIT_API bool operator==(const TuningEvidence& a, const TuningEvidence& b) noexcept;
/// Which of two decides, a strict total order: constant weights before changing ones; a newer library; less time over
/// the speed of light; more recent; then by the other fields.
[[nodiscard]] CONVT_JIT_API bool is_better(const TuningEvidence& a, const TuningEvidence& b) noexcept;

/// What was found for one key: the first four fields.
struct TuningRecord {
    GpuModel gpu;
    std::string layer;                     ///< canonical layer string without batch and input size
    std::string shape_class;               ///< see shape_class()
    int plan_version = 0;                  ///< see plan_version()
    std::vector<TuningEvidence> evidence;  ///< never empty, the best first: its plan is the one to take
};
[[nodiscard]] CONVT_JIT_API bool operator==(const TuningRecord& a, const TuningRecord& b) noexcept;

/// What this library's plans mean. Records of another version are kept and never used.
[[nodiscard]] CONVT_JIT_API int plan_version() noexcept;

/// The class of a layer's own sizes, "positions=65536 columns=256 rows=32 aligned=1" (docs/tuning.md): launches of one
/// class share a record. "any" where the input size is not known. Throws LayerError for sizes that are not valid.
[[nodiscard]] CONVT_JIT_API std::string shape_class(const Layer& layer);

/// All evidence of both; one record per key, in the order of the keys. Associative, commutative, idempotent.
[[nodiscard]] CONVT_JIT_API std::vector<TuningRecord> merge_records(const std::vector<TuningRecord>& a,
                                                                    const std::vector<TuningRecord>& b);

/// What was left out of an answer.
struct TuningSkipped {
    std::string where;  ///< "h100.json: gpus[0].records[3].evidence[0].ms"
    std::string why;
};

/// The records of a file, or of all *.json files of a directory. What has a wrong field is left out and told. Throws
/// TuningError where a file cannot be read, is no JSON (cut), or is of a newer format.
[[nodiscard]] CONVT_JIT_API std::vector<TuningRecord> read_records(const std::string& path,
                                                                   std::vector<TuningSkipped>* skipped = nullptr);
[[nodiscard]] CONVT_JIT_API std::string to_json(const std::vector<TuningRecord>& records);

/// Merges records into a file (a path that ends in .json or names one), or into a directory, one file per GPU model.
/// A file is replaced as a whole under a lock, so that of two writers at once neither loses anything. What could not
/// be read of the old file is kept beside it, with a warning. Returns the files. Throws TuningError; then nothing has
/// changed, or, in a directory, the files of some GPU models have.
std::vector<std::string> CONVT_JIT_API update_records(const std::string& path,
                                                      const std::vector<TuningRecord>& records);
/// Throws what an update would where it cannot even begin; makes the directory.
CONVT_JIT_API void expect_updatable(const std::string& path);

/// Where this user's records are: $CONVT_JIT_RECORDS, else $XDG_DATA_HOME/convt_jit/records, else
/// ~/.local/share/convt_jit/records. Empty where there is no home, or the variable says "off".
[[nodiscard]] CONVT_JIT_API std::string user_records_path();

struct TuningChoice {
    std::string plan;  ///< whole, for the layer with its sizes
    TuningRecord record;
    std::string source;  ///< the file; "shipped"
};

/// Records in the order in which they are asked: the user's, the system's, those that the library ships. Immutable.
class CONVT_JIT_API TuningRecords {
public:
    /// None.
    TuningRecords();
    /// Of these files and directories alone, the first ones first. One that cannot be read is warned about.
    explicit TuningRecords(const std::vector<std::string>& paths);
    /// As the environment says (docs/tuning.md), then the shipped ones.
    [[nodiscard]] static TuningRecords standard();

    /// The plan that a record has for the layer at its sizes on the GPU: of its class, else of the nearest class, else
    /// of another GPU of the arch. A record that does not fit is passed over, with a warning. Nothing where none
    /// serves. Never throws but bad_alloc.
    [[nodiscard]] std::optional<TuningChoice> find(const Layer& layer, const GpuModel& gpu) const;

    /// The plans that prepare() may take for the layer on GPUs of an arch ("sm_90a" is sm_90), each once, as
    /// PrepareOptions::plan takes them; for warming. With an input size those of its class on each GPU model; the
    /// default choice where records tell nothing. Without, those of all classes and the default choice.
    /// Throws LayerError, UnsupportedError.
    [[nodiscard]] std::vector<std::string> plans(const Layer& layer, const std::string& arch) const;

    [[nodiscard]] bool empty() const noexcept;

private:
    struct Impl;
    std::shared_ptr<const Impl> impl_;
};

}  // namespace convt_jit

// Engine: from a layer to a kernel. Thread-safe; several may live in one process and share a disk cache.
#pragma once

#include "convt_jit/cache.h"
#include "convt_jit/device.h"
#include "convt_jit/export.h"
#include "convt_jit/kernel.h"
#include "convt_jit/layer.h"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace convt_jit {

struct EngineOptions {
    /// Directory of the disk cache. Unset: $CONVT_JIT_CACHE_DIR, else $XDG_CACHE_HOME/convt_jit, else
    /// ~/.cache/convt_jit. Empty: no disk cache.
    std::optional<std::string> cache_dir{};
    /// Read-only directories, asked in their order after that one. Unset: $CONVT_JIT_CACHE_PATH, or none where
    /// cache_dir is empty.
    std::optional<std::vector<std::string>> cache_path{};
    /// Cap of cache_dir in bytes; 0: none. Unset: $CONVT_JIT_CACHE_MAX_BYTES.
    std::optional<std::uint64_t> cache_max_bytes{};
    /// How long to wait for another process that compiles the same kernel. Unset: $CONVT_JIT_CACHE_WAIT.
    std::optional<std::chrono::milliseconds> cache_wait{};
    /// Which compilers' kernels serve. Unset: $CONVT_JIT_CACHE_PRODUCER.
    std::optional<ProducerPolicy> cache_producer{};
    /// Asked again and again while a call waits for another process that compiles the same kernel. True ends the wait
    /// with a StoppedError, and nothing is compiled.
    std::function<bool()> stop_waiting{};
    /// Files and directories of tuning records, the first ones asked first, and no others. Unset: as the environment
    /// says, then the shipped ones (docs/tuning.md). Empty: none, every plan is the default choice.
    std::optional<std::vector<std::string>> records{};
};

/// What a prepare does about a kernel that is in no cache.
enum class Policy {
    wait,    ///< compiles it, or waits for who does
    no_wait  ///< hands out a generic kernel, and compiles in the background
};

struct PrepareOptions {
    std::optional<Device> device;  ///< unset: Device::best()
    /// A plan string ("direct positions=1x2x64 ...", see docs/plan.md). Empty: on a device that of a tuning record for
    /// the layer at the sizes that it knows, else the default choice. For an arch alone always the default choice:
    /// TuningRecords::plans tells what records choose there.
    std::string plan;
    /// Skip taps outside the input as the definition does, so that non-finite weights stay exact at the border. No
    /// records are asked.
    bool exact_nonfinite = false;
    Policy policy = Policy::wait;
};

/// A plan that is worth measuring.
struct ModelledPlan {
    std::string plan;
    double cycles =
        0;  ///< modelled, comparable over all families; infinite: its family has no model; 0: before all others
};

/// What a plan is made of, without compiling or a device.
struct Rendered {
    std::string plan;    ///< plan string
    std::string source;  ///< one self-contained CUDA source
    std::string entry;   ///< name of its kernel
};

class CONVT_JIT_API Engine {
public:
    explicit Engine(const EngineOptions& options = {});
    /// Waits for what is being compiled in the background, which cannot be interrupted, and begins nothing new. Kernels
    /// live on.
    ~Engine();
    Engine(Engine&&) noexcept;
    Engine& operator=(Engine&&) noexcept;
    Engine(const Engine&) = delete;
    Engine& operator=(const Engine&) = delete;

    /// A kernel for the layer, from memory, from disk or from the compiler. Blocks while compiling; two threads that
    /// want the same kernel compile it once. The kernel serves every batch size and every input size that it accepts
    /// at launch; sizes that the layer knows only guide the plan.
    /// While a CUDA graph is being captured, the module is loaded beside the capture, which stays whole.
    /// Throws LayerError, UnsupportedError, CompileError, DriverError, SimulatorError.
    [[nodiscard]] Kernel prepare(const Layer& layer, const PrepareOptions& options = {});

    /// With Policy::no_wait a kernel that is in memory or on disk comes at once. Else the handle launches a generic
    /// one, slower and with the same results to rounding (compiled now, where no cache has it: a fraction of the time),
    /// until the one that was asked for has been compiled in the background; from then on it launches that. Where that
    /// fails there is one warning, and the handle, like later ones, stays with the generic kernel until clear().
    [[nodiscard]] Kernel prepare(const Layer& layer, Policy policy);
    [[nodiscard]] Kernel prepare(const Layer& layer, PrepareOptions options, Policy policy);

    /// Compiles for an arch ("sm_90a") into the disk cache without needing a device; returns what was done.
    [[nodiscard]] KernelInfo compile(const Layer& layer, const std::string& arch, const PrepareOptions& options = {});

    /// Renders for an arch, compiles nothing.
    [[nodiscard]] static Rendered render(const Layer& layer, const std::string& arch,
                                         const PrepareOptions& options = {});

    /// Plan strings that are worth measuring for the layer on an arch: the default choice first, then the best
    /// modelled ones, at most `most_per_family` of each family.
    [[nodiscard]] static std::vector<std::string> plans(const Layer& layer, const std::string& arch,
                                                        std::size_t most_per_family,
                                                        const PrepareOptions& options = {});

    /// The same plans with their modelled times: the default choice first, the others of all families together in order
    /// of their times.
    [[nodiscard]] static std::vector<ModelledPlan> modelled_plans(const Layer& layer, const std::string& arch,
                                                                  std::size_t most_per_family,
                                                                  const PrepareOptions& options = {});

    /// What a lookup for an arch asks the caches for, in a process that starts now: for Cache::explain. Needs no
    /// device. Opens no compiler that a cache directory remembers; the producer stays empty where there is none.
    /// Changes nothing, in no directory.
    [[nodiscard]] static CacheWanted wanted(const Layer& layer, const std::string& arch,
                                            const PrepareOptions& options = {});

    /// Drops the kernels that this engine keeps in memory (those in use live on). After a device reset.
    void clear();

private:
    struct Impl;
    std::unique_ptr<Impl> impl_;
};

/// "0.1.0"
[[nodiscard]] CONVT_JIT_API const char* version() noexcept;
/// Version of the NVRTC that would compile, "13.0", or "" where none can be opened (`why` is set).
[[nodiscard]] CONVT_JIT_API std::string nvrtc_version(std::string* why = nullptr);

enum class LogLevel { debug, info, warning, error, off };
/// Where log lines go instead of stderr. The level starts from $CONVT_JIT_LOG (debug|info|warning|error|off), default
/// warning. A sink may be called from any thread, one call at a time.
using LogSink = std::function<void(LogLevel, std::string_view)>;
CONVT_JIT_API void set_log_sink(LogSink sink);
CONVT_JIT_API void set_log_level(LogLevel level);

}  // namespace convt_jit

// Settings: what the environment says about the cache, as a plain value, and the stores that follow from it.
#pragma once

#include "cache/layered_store.h"
#include "cache/producer.h"
#include "convt_jit/cache.h"

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace convt_jit {

struct CacheSettings {
    std::optional<std::string> directory;              // the user's; none: nothing is kept on disk
    std::vector<std::string> layers;                   // read-only directories, asked in this order after the user's
    std::vector<std::string> trusted;                  // directories whose entries are loaded whoever can write them
    std::uint64_t max_bytes = std::uint64_t{1} << 30;  // of the user's directory; 0: no cap
    std::chrono::milliseconds wait{30'000};            // for another process that compiles the same kernel
    ProducerPolicy producer = ProducerPolicy::exact;
    friend bool operator==(const CacheSettings&, const CacheSettings&) = default;
};

// $CONVT_JIT_CACHE_DIR (see directory.h), _CACHE_PATH, _CACHE_TRUSTED, _CACHE_MAX_BYTES, _CACHE_WAIT (seconds),
// _CACHE_PRODUCER. A value that cannot be read is warned about and its default taken: a typing error stops nobody.
[[nodiscard]] CacheSettings cache_settings();

// The user's directory, then the read-only ones.
[[nodiscard]] std::vector<std::string> directories(const CacheSettings& settings);

// Warns, once for each in a process, of read-only directories that are not there.
void check_layers(const std::vector<std::string>& layers);

// The parts between colons that are not empty.
[[nodiscard]] std::vector<std::string> split_path(std::string_view text);
// Whether `directory` is one of those or lies in one.
[[nodiscard]] bool is_declared_trusted(const std::string& directory, const std::vector<std::string>& trusted);

// One store per directory, in the same order. `stop_waiting`: see DiskOptions.
[[nodiscard]] std::shared_ptr<LayeredStore> open_disk_stores(const CacheSettings& settings,
                                                             const std::function<bool()>& stop_waiting = {});

}  // namespace convt_jit

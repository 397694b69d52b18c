// Requests: what an engine was asked for, and what it made of that. Choosing a plan takes milliseconds: a search over
// tiles, and tuning records to be read and ranked; a kernel that is loaded already is to be had in microseconds.
#pragma once

#include "convt_jit/tuning.h"
#include "engine/request.h"

#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>

namespace convt_jit {

class Requests {
public:
    using Load = std::function<TuningRecords()>;

    // `load` is called once, by the first request that records can say something about.
    explicit Requests(Load load) : load_(std::move(load)) {}

    // Throws LayerError, UnsupportedError; what throws is not remembered. Thread-safe.
    [[nodiscard]] std::shared_ptr<const Request> get(const Layer& layer, const Device& device,
                                                     const PrepareOptions& options);
    void clear();

private:
    [[nodiscard]] Request make(const Layer& layer, const Device& device, const PrepareOptions& options);

    const Load load_;
    std::once_flag loaded_;
    TuningRecords records_;
    std::mutex mutex_;
    std::unordered_map<std::string, std::shared_ptr<const Request>> made_;  // by all that they depend on
};

}  // namespace convt_jit

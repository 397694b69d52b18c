// Measurer: the one process that has the GPU, and the watchdog over it.
#pragma once

#include "autotune/request.h"
#include "subject/crew.h"

#include <chrono>
#include <memory>
#include <string>
#include <vector>

namespace convt_jit::tools {

class Measurer {
public:
    // A measurement that takes longer than `patience` hangs.
    Measurer(std::vector<std::string> worker_arguments, std::chrono::milliseconds patience)
        : arguments_(std::move(worker_arguments)), patience_(patience) {}
    ~Measurer();
    Measurer(const Measurer&) = delete;
    Measurer& operator=(const Measurer&) = delete;

    // Throws Error where the card cannot be had.
    [[nodiscard]] CardFacts facts();
    // A process for the layer, unless it has one. Throws Error where its tensors cannot be had. Not part of a budget.
    void begin(const std::string& layer);
    // Whatever the candidate does to its process is its own failure, and the next one gets a fresh process.
    [[nodiscard]] Measurement measure(const Request& request);

private:
    [[nodiscard]] News ask(const Request& request, std::chrono::milliseconds patience);
    void dismiss();

    std::vector<std::string> arguments_;
    std::chrono::milliseconds patience_;
    std::string layer_;           // that the process has begun
    std::unique_ptr<Crew> crew_;  // of one; null: none is running
};

}  // namespace convt_jit::tools

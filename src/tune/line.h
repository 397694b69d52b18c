// Line: the candidates that are still to be measured, and whose turn it is.
#pragma once

#include "convt_jit/engine.h"

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

namespace convt_jit {

class Line {
public:
    explicit Line(const std::vector<ModelledPlan>& plans);

    // Whose turn it is, at most so many. Without an incumbent those in front of each family, by turns; with one, half
    // of them its neighbours. The plan that was given first always leads.
    [[nodiscard]] std::vector<std::size_t> next(std::optional<std::size_t> incumbent, std::size_t most) const;
    void take(std::size_t candidate) { places_[candidate].taken = true; }
    // What it was measured to take, as the log of any multiple of time. A family whose plans are all faster than
    // modelled moves forward.
    void learn(std::size_t candidate, double log_time);
    [[nodiscard]] bool empty() const noexcept;

private:
    struct Place {
        std::vector<std::string> words;
        std::size_t family = 0;
        double log_cycles = 0;  // infinite: no model, in front or at the end
        bool taken = false;
    };
    [[nodiscard]] double expected(const Place& place) const;
    [[nodiscard]] std::vector<std::size_t> waiting() const;
    [[nodiscard]] std::vector<std::size_t> by_turns(const std::vector<std::size_t>& ordered) const;
    [[nodiscard]] std::vector<std::size_t> neighbours(const std::vector<std::size_t>& ordered,
                                                      std::size_t incumbent) const;

    std::vector<Place> places_;
    std::vector<std::vector<double>> errors_;  // of each family's model: log(measured) - log(modelled)
};

}  // namespace convt_jit

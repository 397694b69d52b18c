// Plots: inline SVG whose colours are the page's, so that they follow it into the dark.
#pragma once

#include "report/rows.h"

#include <string>
#include <vector>

namespace convt_jit::tools {

// The class that gives marks of a family their colour: "f0", "f1", ...
[[nodiscard]] std::string family_class(const std::string& family);

// Operations per second over operations per byte, both logarithmic: a point per layer under the roofs of the card, and
// a ring for its baseline. `width` in pixels of the page. Empty where no layer can be placed.
[[nodiscard]] std::string roofline_plot(const ReportData& data, int width);

// A mark for each measured candidate of a layer at its time, stacked where they crowd.
[[nodiscard]] std::string candidates_plot(const ReportRow& row, int width);

}  // namespace convt_jit::tools

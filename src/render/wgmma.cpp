#include "render/wgmma.h"

#include "convt_jit/error.h"
#include "render/templates.h"

#include <fmt/format.h>
#include <kainjow/mustache.hpp>

namespace convt_jit {

std::string render_wgmma(int columns) {
    using kainjow::mustache::data;
    const int sums = columns / 2;
    std::string registers, operands;
    for (int i = 0; i < sums; ++i) {
        registers += fmt::format("{}%{}", i == 0 ? "" : ", ", i);
        operands += fmt::format("{}\"+f\"(sums[{}])", i == 0 ? "" : ", ", i);
    }
    data values;
    values["columns"] = std::to_string(columns);
    values["sums"] = std::to_string(sums);
    values["registers"] = registers;
    values["operands"] = operands;
    values["a"] = std::to_string(sums);
    values["b"] = std::to_string(sums + 1);
    values["keep"] = std::to_string(sums + 2);
    values["a_high"] = std::to_string(sums + 3);
    values["b_high"] = std::to_string(sums + 4);
    kainjow::mustache::mustache wrapper(template_text("device/wgmma.mustache"));
    if (!wrapper.is_valid()) throw UnsupportedError("templates/device/wgmma.mustache: " + wrapper.error_message());
    wrapper.set_custom_escape([](const std::string& text) { return text; });  // C++ is not HTML
    return wrapper.render(values);
}

}  // namespace convt_jit

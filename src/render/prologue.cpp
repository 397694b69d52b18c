#include "render/prologue.h"

#include "convt_jit/error.h"
#include "layer/fingerprint.h"
#include "layer/phases.h"
#include "plan/fold.h"
#include "plan/geometry.h"
#include "plan/volume.h"
#include "plan/words.h"
#include "render/templates.h"

#include <fmt/format.h>
#include <kainjow/mustache.hpp>
#include <xxhash.h>

#include <cmath>
#include <limits>

namespace convt_jit {
namespace {

using kainjow::mustache::data;
using kainjow::mustache::mustache;

const char* boolean(bool value) { return value ? "true" : "false"; }

// A literal that reads back as exactly this float.
std::string literal(float value) {
    // NVRTC has no builtin for infinity, and no constant of that size.
    if (std::isinf(value)) return fmt::format("__builtin_bit_cast(float, {})", value > 0 ? "0x7f800000" : "0xff800000");
    return fmt::format("{:a}f", value);
}

std::string phase_list(const AxisPhases& axis) {
    std::string list;
    for (const Phase& phase : axis.phases) {
        if (!list.empty()) list += ", ";
        list += fmt::format("{{{}, {}, {}}}", phase.first_tap, phase.first_offset, phase.taps);
    }
    return list;
}

// Phase r has outputs up to q = in-1 + floor((rest-r)/stride), where an output has (in-1)*stride + rest + 1 elements,
// and its taps reach those from -highest offset to in-1 - lowest offset, all of them where no step jumps over an image.
bool all_reached(const AxisParameters& axis, const AxisPhases& all) {
    const std::int64_t rest = axis.dilation * (axis.kernel - 1) - axis.pad - axis.pad_end + axis.output_padding;
    for (std::size_t r = 0; r < all.phases.size(); ++r) {
        const Phase& phase = all.phases[r];
        if (phase.taps == 0) continue;
        if (phase.taps > 1 && all.offset_step > 1) return false;
        const std::int64_t lowest = phase.first_offset - (phase.taps - 1) * all.offset_step;
        const std::int64_t beyond = rest - static_cast<std::int64_t>(r);
        const std::int64_t last = beyond >= 0 ? beyond / axis.stride : -((axis.stride - 1 - beyond) / axis.stride);
        if (phase.first_offset < 0 || last + lowest > 0) return false;
    }
    return true;
}

void put_layer(const Layer& layer, const Fold& fold, data& values) {
    values["in_channels"] = std::to_string(layer.in_channels);
    values["out_channels"] = std::to_string(layer.out_channels);
    values["groups"] = std::to_string(layer.groups);
    values["in_per_group"] = std::to_string(layer.in_channels_per_group());
    values["out_per_group"] = std::to_string(layer.out_channels_per_group());
    values["dtype"] = std::to_string(static_cast<int>(layer.dtype));
    values["dtype_name"] = std::string(to_string(layer.dtype));
    values["tf32"] = boolean(layer.precision == Precision::tf32);
    values["channels_last"] = boolean(layer.layout == Layout::channels_last);
    const auto whole = axes_3d(layer);
    const std::array<AxisParameters, 3> axes = {whole[0], folded(whole[1], fold[0]), folded(whole[2], fold[1])};
    constexpr const char* kNames[3] = {"d", "h", "w"};
    for (std::size_t a = 0; a < 3; ++a) {
        const AxisParameters& axis = axes[a];
        const AxisPhases all = axis_phases(axis.kernel, axis.stride, axis.pad, axis.dilation);
        const auto put = [&](const char* name, std::int64_t value, const char* ending = "") {
            values[fmt::format("{}_{}", name, kNames[a])] = std::to_string(value) + ending;
        };
        put("kernel", axis.kernel);
        put("stride", axis.stride);
        put("dilation", axis.dilation);
        put("pad", axis.pad);
        put("whole_kernel", whole[a].kernel);
        put("whole_stride", whole[a].stride);
        put("whole_dilation", whole[a].dilation);
        put("whole_pad", whole[a].pad);
        put("tap_step", all.tap_step);
        put("offset_step", all.offset_step);
        put("low", all.lowest_offset, "ll");
        put("high", all.highest_offset, "ll");
        const AxisPhases outputs = axis_phases(whole[a].kernel, whole[a].stride, whole[a].pad, whole[a].dilation);
        values[fmt::format("all_reached_{}", kNames[a])] = boolean(all_reached(whole[a], outputs));
        values[fmt::format("phases_{}", kNames[a])] = phase_list(all);
    }
}

void put_epilogue(const Layer& layer, data& values) {
    const Epilogue& e = layer.epilogue;
    values["bias"] = boolean(layer.bias);
    values["has_scale"] = boolean(e.scale.has_value());
    values["scale"] = literal(e.scale.value_or(1.0f));
    values["affine"] = boolean(e.affine);
    values["residual"] = boolean(e.residual);
    values["activation"] = std::to_string(static_cast<int>(e.activation));
    values["activation_name"] = std::string(to_string(e.activation));
    values["negative_slope"] = literal(e.activation == Activation::leaky_relu ? e.negative_slope : 0.0f);
    values["clamp"] = boolean(e.clamp.has_value());
    values["clamp_low"] = literal(e.clamp ? (*e.clamp)[0] : 0.0f);
    values["clamp_high"] = literal(e.clamp ? (*e.clamp)[1] : 0.0f);
}

}  // namespace

std::string entry_name(const Layer& layer, const Plan& plan) {
    constexpr std::size_t kLongest = 120;  // tools that show kernels cut names well above this
    const std::string text = fmt::format("convt_{} {}", family_name(plan), fingerprint(layer));
    std::string name;
    for (const char c : text) {
        const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
        name += plain ? c : c == '-' ? 'm' : '_';
    }
    if (name.size() > kLongest)
        name = fmt::format("{}_{:016x}", name.substr(0, kLongest - 17), XXH3_64bits(text.data(), text.size()));
    return name;
}

std::string pack_entry_name(const std::string& entry) { return entry + "_pack"; }
std::string reduce_entry_name(const std::string& entry) { return entry + "_reduce"; }

std::vector<std::string> other_entry_names(const Layer& layer, const Plan& plan, const std::string& entry) {
    std::vector<std::string> names;
    if (packed_bytes(layer, plan) > 0) names.push_back(pack_entry_name(entry));
    if (reduces(plan)) names.push_back(reduce_entry_name(entry));
    return names;
}

std::string render_prologue(const Layer& layer, const Plan& plan, const Arch& arch) {
    data values;
    values["layer_string"] = fingerprint(layer);
    values["plan_string"] = to_string(plan);
    values["arch_string"] = to_string(arch);
    values["arch"] = std::to_string(arch.number);
    values["entry"] = entry_name(layer, plan);
    values["reduce_entry"] = reduce_entry_name(entry_name(layer, plan));
    values["pack_entry"] = pack_entry_name(entry_name(layer, plan));
    const auto* const matrices = std::get_if<ImplicitGemmTile>(&plan.tile);
    put_layer(layer, matrices != nullptr ? matrices->fold : Fold{1, 1}, values);
    values["folds"] = matrices != nullptr;
    put_epilogue(layer, values);
    const std::int64_t group_weights = layer.in_channels_per_group() * layer.out_channels_per_group() * taps(layer);
    values["index_t"] = plan.index64 ? "long long" : "int";
    values["weight_index_t"] = group_weights > std::numeric_limits<std::int32_t>::max() ? "long long" : "int";
    values["packed_bytes"] = std::to_string(packed_bytes(layer, plan)) + "ll";
    values["exact_nonfinite"] = boolean(plan.exact_nonfinite);
    values["tile"] = std::visit([](const auto& tile) { return tile_constants(tile); }, plan.tile);
    mustache prologue(template_text("prologue.mustache"));
    if (!prologue.is_valid()) throw UnsupportedError("templates/prologue.mustache: " + prologue.error_message());
    prologue.set_custom_escape([](const std::string& text) { return text; });  // C++ is not HTML
    return prologue.render(values);
}

}  // namespace convt_jit

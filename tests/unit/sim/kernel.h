// Hand-written kernels in the style of rendered ones, for tests of the simulator and of the device pieces.
#pragma once

#include "render/render.h"

#include <filesystem>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <string>

namespace convt_jit::sim {

struct Prologue {
    int dtype = 0;
    bool bias = false, has_scale = false, affine = false, residual = false, clamp = false;
    int activation = 0;
    std::string scale = "1.0f", negative_slope = "0.01f", clamp_low = "0.0f", clamp_high = "0.0f";
};

inline std::string device_piece(const std::string& name) {
    const auto path = std::filesystem::path(CONVT_TEST_DATA "/../../templates/device/" + name).lexically_normal();
    std::ifstream file(path);
    if (!file) throw std::runtime_error("no such file: " + path.string());
    return "#line 1 \"device/" + name + "\"\n" + std::string(std::istreambuf_iterator<char>(file), {});
}

// `body` defines `extern "C" __global__ void kernel(const ConvtArgs args)`.
inline Source kernel_source(const std::string& body, const Prologue& p = {}) {
    const auto flag = [](const char* name, bool value) {
        return std::string("constexpr bool ") + name + " = " + (value ? "true" : "false") + ";\n";
    };
    const std::string constants = "namespace layer {\nconstexpr int DTYPE = " + std::to_string(p.dtype) + ";\n" +
                                  flag("HAS_BIAS", p.bias) + flag("HAS_SCALE", p.has_scale) + flag("AFFINE", p.affine) +
                                  flag("RESIDUAL", p.residual) + flag("CLAMP", p.clamp) +
                                  "constexpr int ACTIVATION = " + std::to_string(p.activation) +
                                  ";\nconstexpr float SCALE = " + p.scale + ", NEGATIVE_SLOPE = " + p.negative_slope +
                                  ", CLAMP_LOW = " + p.clamp_low + ", CLAMP_HIGH = " + p.clamp_high + ";\n}\n";
    return {constants + device_piece("args.cuh") + device_piece("memory.cuh") + device_piece("numeric.cuh") +
                device_piece("epilogue.cuh") + device_piece("mma.cuh") + "#line 1 \"body.cu\"\n" + body,
            "kernel", constants};
}

}  // namespace convt_jit::sim

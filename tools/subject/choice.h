// Choice: what the user named on the command line: layers and a device.
#pragma once

#include "convt_jit/convt_jit.h"

#include <CLI/CLI.hpp>

#include <string>
#include <vector>

namespace convt_jit::tools {

// Its name, else its layer string.
[[nodiscard]] std::string title(const NamedLayer& named);

// "f32", "tf32", "f16" or "bf16", as --dtype takes them. Throws LayerError where the layer cannot be of that.
void set_dtype(Layer& layer, const std::string& name);

// Whether layers must know their input sizes.
enum class InputSize { required, optional };

// LAYER... and --layers FILE.
struct LayerChoice {
    std::vector<std::string> strings;
    std::string file;

    void add_to(CLI::App& command);
    // Throws LayerError; also where nothing was named, or a layer has an input size that is not valid.
    [[nodiscard]] std::vector<NamedLayer> layers(InputSize input = InputSize::required) const;
};

// The device for --backend auto|cuda|sim, and why it was taken.
struct BackendChoice {
    std::string name = "auto";

    void add_to(CLI::App& command);
    // Throws DriverError where `cuda` was asked for and there is none.
    [[nodiscard]] Device device(std::string& why) const;
};

}  // namespace convt_jit::tools

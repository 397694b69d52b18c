// Choice: what the user named on the command line: layers and a device.
#pragma once

#include "convt_jit/convt_jit.h"

#include <CLI/CLI.hpp>

#include <string>
#include <vector>

namespace convt_jit::tools {

// Its name, in one line that a terminal can show, else its layer string.
[[nodiscard]] std::string title(const NamedLayer& named);
// What an error about it begins with: file and line, else its title.
[[nodiscard]] std::string place(const NamedLayer& named);

// "f32", "tf32", "f16" or "bf16", as --dtype takes them. Throws LayerError where the layer cannot be of that.
void set_dtype(Layer& layer, const std::string& name);

// Throws LayerError where there is nothing to measure, as the batch is 0.
void expect_work(const std::vector<NamedLayer>& layers);

// Whether layers must know their input sizes.
enum class InputSize { required, optional };

// LAYER... and --layers FILE.
struct LayerChoice {
    std::vector<std::string> strings;
    std::string file;

    void add_to(CLI::App& command);
    [[nodiscard]] bool given() const { return !strings.empty() || !file.empty(); }
    // Throws LayerError; also where nothing was named, or a layer has an input size that is not valid.
    [[nodiscard]] std::vector<NamedLayer> layers(InputSize input = InputSize::required) const;
};

// --plan TEXT.
struct PlanChoice {
    std::string text;  // empty: the default choice

    void add_to(CLI::App& command);
    [[nodiscard]] std::string family() const;
    // Throws LayerError where it cannot be read, which does not depend on the layer. Whether it serves a layer on the
    // device is another question.
    void check(const NamedLayer& named) const;
};

// The device for --backend auto|cuda|sim, and why it was taken.
struct BackendChoice {
    std::string name = "auto";

    void add_to(CLI::App& command);
    // Throws DriverError where `cuda` was asked for and there is none.
    [[nodiscard]] Device device(std::string& why) const;
};

}  // namespace convt_jit::tools

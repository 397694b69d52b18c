#include "subject/choice.h"

#include "subject/argument.h"
#include "subject/message.h"

#include <fmt/format.h>

#include <sstream>

namespace convt_jit::tools {

void LayerChoice::add_to(CLI::App& command) {
    command
        .add_option("LAYER", strings, "layer strings, each one quoted argument: \"n16 c32 o64 in128x256 k3x5 s2x3\"")
        ->check(not_empty());
    command.add_option("--layers", file, "file of layers, a JSON object a line")->type_name("FILE")->check(not_empty());
}

namespace {

Layer parse(const std::string& text, bool alone) {
    try {
        return parse_layer(text);
    } catch (const LayerError& error) {
        const bool split = !alone && text.find(' ') == std::string::npos;
        const char* hint = split ? " (each argument is a whole layer; quote it: \"n16 c32 o64 in128x256 ...\")" : "";
        throw LayerError(fmt::format("\"{}\"{}", text, hint), error);
    }
}

}  // namespace

std::string title(const NamedLayer& named) {
    return named.name.empty() ? to_string(named.layer) : shown_in_line(named.name);
}

std::string place(const NamedLayer& named) {
    return named.where.empty() ? fmt::format("\"{}\"", title(named)) : named.where;
}

void set_dtype(Layer& layer, const std::string& name) {
    layer.dtype = name == "f16" ? DType::f16 : name == "bf16" ? DType::bf16 : DType::f32;
    layer.precision = name == "tf32" ? Precision::tf32 : Precision::ieee;
    validate(layer);
}

void expect_work(const std::vector<NamedLayer>& layers) {
    for (const NamedLayer& named : layers)
        if (known_shape(named.layer).batch == 0)
            throw LayerError(place(named), LayerError("batch", "0", "1 or more, as nothing takes no time"));
}

std::vector<NamedLayer> LayerChoice::layers(InputSize input) const {
    std::vector<NamedLayer> chosen;
    for (const std::string& text : strings) chosen.push_back({"", parse(text, strings.size() == 1)});
    if (!file.empty())
        for (NamedLayer& layer : read_layers_file(file)) chosen.push_back(std::move(layer));
    if (chosen.empty()) throw LayerError("LAYER", "missing", "at least one layer string, or --layers FILE with one");
    for (const NamedLayer& named : chosen) {
        const std::string where = place(named);
        if (named.layer.input.empty()) {
            if (input == InputSize::optional) continue;
            throw LayerError(where, LayerError("in", "missing", "input sizes as in128x256, since tensors are made"));
        }
        try {
            validate(named.layer, known_shape(named.layer));
        } catch (const LayerError& error) {
            throw LayerError(where, error);
        }
    }
    return chosen;
}

void PlanChoice::add_to(CLI::App& command) {
    command.add_option("--plan", text, "use this plan instead of the default choice (docs/plan.md)")
        ->check(not_empty());
}

std::string PlanChoice::family() const {
    std::istringstream words(text);
    std::string first;
    words >> first;
    return first;
}

void PlanChoice::check(const NamedLayer& named) const {
    if (text.empty()) return;
    PrepareOptions options;
    options.plan = text;
    try {
        (void)Engine::render(named.layer, "sm_90", options);
    } catch (const UnsupportedError&) {
        // It can be read.
    }
}

void BackendChoice::add_to(CLI::App& command) {
    command.add_option("--backend", name, "where kernels run; auto: a GPU where there is one")
        ->check(not_empty())
        ->check(CLI::IsMember({"auto", "cuda", "sim"}))
        ->capture_default_str();
}

Device BackendChoice::device(std::string& why) const {
    if (name == "sim") {
        why = "asked for";
        return Device::simulator();
    }
    std::string missing;
    if (Device::cuda_count(&missing) > 0) {
        why = name == "cuda" ? "asked for" : "the first there is";
        return Device::best();
    }
    if (name == "cuda") return Device::cuda(0);  // throws and says why not
    why = "no GPU: " + missing;
    return Device::simulator();
}

}  // namespace convt_jit::tools

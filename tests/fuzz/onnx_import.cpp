// Fuzz target: the importer of ONNX models on any bytes. Nothing but errors of the library may come out of it.

#include "convt_jit/error.h"
#include "onnx/import.h"

#include <cstddef>
#include <cstdint>
#include <string>

namespace {

using namespace convt_jit::onnx_import;

constexpr std::uint64_t kMostBytes = 1 << 20;
constexpr std::int64_t kMostChannels = 1 << 16;  // vectors of as many numbers are made, whatever the file holds

std::string zeros(const std::string& location, std::uint64_t, std::uint64_t bytes) {
    check_location(location);
    if (bytes > kMostBytes) throw convt_jit::LayerError("length", std::to_string(bytes), "less");
    return std::string(bytes, '\0');
}

void import_all(const ModelFile& file, const ImportOptions& options) {
    const Imported imported = import_layers(file.model(), file.path(), options, zeros);
    for (const ImportedLayer& layer : imported.layers) {
        if (!layer.failure.empty()) continue;
        validate(layer.named.layer);
        if (convt_jit::parse_layer(to_string(layer.named.layer)) != layer.named.layer) __builtin_trap();
        if (layer.named.layer.out_channels > kMostChannels) continue;
        try {
            (void)read_weights(layer.sources, layer.named.layer, zeros);
        } catch (const convt_jit::LayerError&) {
        }
    }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    try {
        const ModelFile file = ModelFile::parse(data, size, "fuzz.onnx");
        import_all(file, {});
        import_all(file, {{"N=2", "H=9"}, true});
    } catch (const convt_jit::Error&) {
    }
    return 0;
}

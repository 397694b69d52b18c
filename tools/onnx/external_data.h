// External data: files beside a model that hold its weights. Nothing outside the model's folder is read.
#pragma once

#include <cstdint>
#include <string>

namespace convt_jit::onnx_import {

// Throws LayerError("external_data.location", ...) for what names no file below a folder: absolute, with "..", empty.
void check_location(const std::string& location);

class ExternalData {
public:
    // Of a model in that folder.
    explicit ExternalData(std::string folder) : folder_(std::move(folder)) {}

    // Those bytes. Throws LayerError that names file, offset and length. Links may not lead out of the folder; where
    // the system cannot watch over that, none is followed.
    [[nodiscard]] std::string read(const std::string& location, std::uint64_t offset, std::uint64_t bytes) const;
    // Why they could not be read, without reading; empty: they could.
    [[nodiscard]] std::string trouble(const std::string& location, std::uint64_t offset, std::uint64_t bytes) const;

private:
    std::string folder_;
};

}  // namespace convt_jit::onnx_import

// ModelFile: an ONNX model as protobuf holds it, in memory that is bounded by the file's size.
#pragma once

#include "onnx.pb.h"

#include <google/protobuf/arena.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

namespace convt_jit::onnx_import {

class ModelFile {
public:
    // Throws LayerError that names the path: what is no file, no model, cut off, or larger than a model can be.
    static ModelFile read(const std::string& path);
    // The same from bytes, which `name` stands for in errors.
    static ModelFile parse(const void* bytes, std::size_t size, const std::string& name);

    [[nodiscard]] const ::onnx::ModelProto& model() const { return *model_; }
    [[nodiscard]] const std::string& path() const { return path_; }
    // What external data is looked for in.
    [[nodiscard]] std::string folder() const;

private:
    ModelFile(std::string path, std::uint64_t size);
    void fill(::google::protobuf::io::ZeroCopyInputStream& stream, std::uint64_t size);

    std::string path_;
    std::unique_ptr<::google::protobuf::Arena> arena_;
    ::onnx::ModelProto* model_;  // the arena's
};

}  // namespace convt_jit::onnx_import

// Tensor: a constant of a model, and its numbers.
#pragma once

#include "onnx.pb.h"
#include "onnx/fact.h"

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace convt_jit::onnx_import {

// Bytes of a file beside the model: its name as the model has it, where they begin, and how many. Throws Error.
using ReadExternal = std::function<std::string(const std::string& location, std::uint64_t offset, std::uint64_t bytes)>;

// "FLOAT16"; the number where it is none of this program's time.
[[nodiscard]] std::string type_name(int type);
[[nodiscard]] bool is_floating(int type);
[[nodiscard]] bool is_whole(int type);

// Its shape; throws LayerError("dims[1]", ...) for what is no size, or too many elements.
[[nodiscard]] Shape shape_of(const ::onnx::TensorProto& tensor);

// Where an external tensor lies; throws LayerError for what cannot be.
struct ExternalPlace {
    std::string location;
    std::uint64_t offset = 0;
    std::optional<std::uint64_t> length;
};
[[nodiscard]] bool is_external(const ::onnx::TensorProto& tensor);
[[nodiscard]] ExternalPlace place_of(const ::onnx::TensorProto& tensor);

// All its numbers, of a floating-point type or one of whole numbers. Throws LayerError, where the data does not fit the
// shape or the type is another.
[[nodiscard]] std::vector<double> reals_of(const ::onnx::TensorProto& tensor, const ReadExternal& read);
[[nodiscard]] std::vector<std::int64_t> ints_of(const ::onnx::TensorProto& tensor, const ReadExternal& read);

// Type and shape, and the contents where it is small and they lie in the model itself. Never throws for contents.
[[nodiscard]] Fact fact_of(const ::onnx::TensorProto& tensor, const ReadExternal& read);

}  // namespace convt_jit::onnx_import

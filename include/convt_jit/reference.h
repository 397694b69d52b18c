// Reference: the definition of the operation in f64 on the host, for checks.
#pragma once

#include "convt_jit/device.h"
#include "convt_jit/export.h"
#include "convt_jit/kernel.h"
#include "convt_jit/layer.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

namespace convt_jit {

/// A layer's tensors as numbers, each in the layer's layout (weights as always). Empty: not used by the layer.
struct HostTensors {
    std::vector<double> x, w, bias, residual, scale, shift;
};

/// Elements of `dtype` from numbers, rounded to nearest even, and back. `bytes.size()` is a multiple of the element.
[[nodiscard]] CONVT_JIT_API std::vector<unsigned char> encode(DType dtype, const std::vector<double>& values);
[[nodiscard]] CONVT_JIT_API std::vector<double> decode(DType dtype, const std::vector<unsigned char>& bytes);

/// Random tensors for a layer, already rounded to its dtype (x and w normal, w scaled by 1/sqrt(products per output)).
[[nodiscard]] CONVT_JIT_API HostTensors random_tensors(const Layer& layer, const Shape& shape, std::uint64_t seed);

/// y by scatter in f64, epilogue included, in the layer's layout, not rounded to the dtype.
[[nodiscard]] CONVT_JIT_API std::vector<double> reference(const Layer& layer, const Shape& shape,
                                                          const HostTensors& tensors);

struct Errors {
    double rel_l2 = 0;                 ///< ||got - want|| / ||want||; NaN or Inf that differ make it infinite
    double max_abs = 0;                ///< largest |got - want|
    std::int64_t worst = -1;           ///< index of that element
    std::int64_t wrong_nonfinite = 0;  ///< elements where one of the two is NaN or Inf and the other is not the same
};
/// `rounded_to`: the dtype whose elements `got` are while `want` was not rounded. Where it overflows, Inf is right;
/// next to its largest number either is; and where it is subnormal one step is no error. Without it both are plain
/// numbers.
[[nodiscard]] CONVT_JIT_API Errors compare(const std::vector<double>& got, const std::vector<double>& want,
                                           std::optional<DType> rounded_to = std::nullopt);
/// The same where the numbers are: only sums come to the host. For tools and tests.
class CONVT_JIT_API DeviceComparison {
public:
    /// Compiles its kernel. Throws CompileError, DriverError.
    explicit DeviceComparison(const Device& device);
    /// `got`: so many elements of `rounded_to` on the device; `want`: as many f64. After what is on the stream; waits.
    [[nodiscard]] Errors compare(const void* got, const void* want, std::int64_t elements, DType rounded_to,
                                 StreamHandle stream = nullptr) const;

private:
    struct Impl;
    std::shared_ptr<const Impl> impl_;
};
/// The largest rel_l2 that is right for the layer: rounding of the dtype plus that of the sums.
[[nodiscard]] CONVT_JIT_API double tolerance(const Layer& layer);

}  // namespace convt_jit

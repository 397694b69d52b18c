// The epilogue in f64, step by step as layer.h writes it.
#pragma once

#include "convt_jit/layer.h"

namespace convt_jit {

[[nodiscard]] double activate(const Epilogue& epilogue, double value) noexcept;
// NaN stays NaN.
[[nodiscard]] double clamped(const Epilogue& epilogue, double value) noexcept;

}  // namespace convt_jit

// Epilogue: what happens to an output element between its sum and the one store (convt_jit::Epilogue, in its order).
// Needs from the prologue:
//   namespace layer {
//   constexpr bool HAS_BIAS, HAS_SCALE, AFFINE, RESIDUAL, CLAMP;
//   constexpr float SCALE, NEGATIVE_SLOPE, CLAMP_LOW, CLAMP_HIGH;  // defined also where they are not used
//   constexpr int ACTIVATION;                                      // in the order of convt_jit::Activation
//   }

enum Activation { NONE, RELU, LEAKY_RELU, GELU, TANH, SIGMOID, SILU, HARDSWISH };

// What the epilogue needs to know of a channel; parts that are off stay 0 and cost nothing.
struct EpilogueChannel {
    float bias = 0, scale = 0, shift = 0;
};

__device__ __forceinline__ EpilogueChannel epilogue_channel(const ConvtArgs& args, int channel) {
    EpilogueChannel result;
    if constexpr (layer::HAS_BIAS)
        result.bias = to_float(load_global(static_cast<const Element*>(args.bias) + channel));
    if constexpr (layer::AFFINE) {
        result.scale = load_global(args.scale + channel);
        result.shift = load_global(args.shift + channel);
    }
    return result;
}

// The residual of the output element at `offset` (in elements from the start of the tensor); 0 where there is none.
template <class Offset>
__device__ __forceinline__ float epilogue_residual(const ConvtArgs& args, Offset offset) {
    if constexpr (layer::RESIDUAL)
        return to_float(load_global_coherent(static_cast<const Element*>(args.residual) + offset));
    else
        return 0;
}

// The accurate functions, in the precision of their argument.
__device__ __forceinline__ float exponential(float v) { return expf(v); }
__device__ __forceinline__ double exponential(double v) { return exp(v); }
__device__ __forceinline__ float complementary_error(float v) { return erfcf(v); }
__device__ __forceinline__ double complementary_error(double v) { return erfc(v); }
__device__ __forceinline__ float hyperbolic_tangent(float v) { return tanhf(v); }
__device__ __forceinline__ double hyperbolic_tangent(double v) { return tanh(v); }
__device__ __forceinline__ float fused_multiply_add(float a, float b, float c) { return fmaf(a, b, c); }
__device__ __forceinline__ double fused_multiply_add(double a, double b, double c) { return fma(a, b, c); }

// NaN stays NaN in all of them. As in PyTorch, gelu, silu and hardswish of -infinity are NaN (0 times infinity).
template <class Real>
__device__ __forceinline__ Real activate(Real v) {
    if constexpr (layer::ACTIVATION == RELU) {
        return v < Real(0) ? Real(0) : v;
    } else if constexpr (layer::ACTIVATION == LEAKY_RELU) {
        return v < Real(0) ? multiply(v, Real(layer::NEGATIVE_SLOPE)) : v;
    } else if constexpr (layer::ACTIVATION == GELU) {
        // 1 + erf(v/sqrt(2)) = erfc(-v/sqrt(2)), without the cancellation for negative v.
        return multiply(multiply(Real(0.5), v), complementary_error(multiply(v, Real(-0.70710678118654752440))));
    } else if constexpr (layer::ACTIVATION == TANH) {
        return hyperbolic_tangent(v);
    } else if constexpr (layer::ACTIVATION == SIGMOID) {
        return Real(1) / (Real(1) + exponential(-v));
    } else if constexpr (layer::ACTIVATION == SILU) {
        return v / (Real(1) + exponential(-v));  // a large negative v divides by infinity: -0
    } else if constexpr (layer::ACTIVATION == HARDSWISH) {
        Real gate = v + Real(3);
        gate = gate < Real(0) ? Real(0) : gate;
        gate = gate > Real(6) ? Real(6) : gate;
        return multiply(v, gate / Real(6));
    } else {
        return v;
    }
}

// The finished value. `residual` is what epilogue_residual returned. Every step rounds the same way wherever this is
// inlined, so that equal sums give equal outputs.
template <class Real>
__device__ __forceinline__ Real epilogue(Real sum, const EpilogueChannel& channel, Real residual) {
    Real v = sum;
    if constexpr (layer::HAS_BIAS) v = v + Real(channel.bias);
    if constexpr (layer::HAS_SCALE) v = multiply(v, Real(layer::SCALE));
    if constexpr (layer::AFFINE) v = fused_multiply_add(v, Real(channel.scale), Real(channel.shift));
    if constexpr (layer::RESIDUAL) v = v + residual;
    v = activate(v);
    if constexpr (layer::CLAMP) {
        v = v < Real(layer::CLAMP_LOW) ? Real(layer::CLAMP_LOW) : v;
        v = v > Real(layer::CLAMP_HIGH) ? Real(layer::CLAMP_HIGH) : v;
    }
    return v;
}

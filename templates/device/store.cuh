// Store: finished outputs of one row and channel, as single vectors or as whole lines wherever they begin in y.

constexpr int VECTOR = 16 / int(sizeof(Element));  // elements of the widest access
constexpr float EXACT_ZERO = layer::HAS_BIAS ? -0.0f : 0.0f;  // neutral to every bias, a negative zero included

template <int V>
__device__ __forceinline__ void load_shared(float (&values)[V], const float* from) {
    constexpr int WIDE = widest(V, 4);
    static_for<0, V / WIDE>([&](auto i) {
        const Vector<float, WIDE> v = *reinterpret_cast<const Vector<float, WIDE>*>(from + i * WIDE);
#pragma unroll
        for (int e = 0; e < WIDE; ++e) values[i * WIDE + e] = v[e];
    });
}

__device__ __forceinline__ int widest_access(index_t row, const void* a, const void* b, const void* c) {
    const unsigned long long bits = (unsigned long long)(row * index_t(sizeof(Element))) | (unsigned long long)a |
                                    (unsigned long long)b | (unsigned long long)c;
    if (bits % 16 == 0) return VECTOR;
    if (VECTOR == 8 && bits % 8 == 0) return 4;
    if (bits % (2 * sizeof(Element)) == 0) return 2;
    return 1;
}

template <int WIDE>
__device__ __forceinline__ void store_finished(const ConvtArgs& args, long long at, const float* sums,
                                               const EpilogueChannel& channel) {
    Vector<Element, WIDE> out;
    Vector<Element, WIDE> residual;
    if constexpr (layer::RESIDUAL)
        residual = load_global_coherent(reinterpret_cast<const Vector<Element, WIDE>*>(
            static_cast<const Element*>(args.residual) + at));
#pragma unroll
    for (int e = 0; e < WIDE; ++e)
        out[e] = from_float<Element>(epilogue(sums[e], channel, layer::RESIDUAL ? to_float(residual[e]) : 0.0f));
    store_global(reinterpret_cast<Vector<Element, WIDE>*>(static_cast<Element*>(args.y) + at), out);
}

// Writes `count` outputs of one row and channel, from offset `at` on, by `lanes` neighbouring threads: whole vectors where
// they lie in y, and single elements before the first and after the last. `values.at(e)` is the sum of output e,
// `values.from(e, sums)` those of VECTOR outputs from e on.
template <int MOST, class Values>
__device__ __forceinline__ void store_line(const ConvtArgs& args, long long at, int count, int lane, int lanes,
                                           const EpilogueChannel& channel, const Values& values) {
    const auto misplaced = [&](const void* tensor) {  // elements since the last vector
        return int((reinterpret_cast<unsigned long long>(tensor) / sizeof(Element) + (unsigned long long)at) % VECTOR);
    };
    const int ahead = misplaced(args.y), head = min((VECTOR - ahead) % VECTOR, count);
    const bool single = layer::RESIDUAL && misplaced(args.residual) != ahead;
    const int vectors = single ? 0 : (count - head) / VECTOR;
#pragma unroll(MOST <= 6 ? MOST : 1)
    for (int i = 0; i < MOST; ++i) {
        const int b = i * lanes + lane;
        if (b < vectors) {
            float sums[VECTOR];
            values.from(head, b, sums);
            store_finished<VECTOR>(args, at + head + b * VECTOR, sums, channel);
        }
    }
    // The rest: `head` elements and those from `tail` on.
    const int tail = head + vectors * VECTOR, rest = head + count - tail;
#pragma unroll 1
    for (int i = lane; i < rest; i += lanes) {
        const int e = i < head ? i : tail + i - head;
        const float sum = values.at(e);
        store_finished<1>(args, at + e, &sum, channel);
    }
}

// What no tap reaches.
struct Nothing {
    __device__ __forceinline__ float at(int) const { return EXACT_ZERO; }
    __device__ __forceinline__ void from(int, int, float (&sums)[VECTOR]) const {
#pragma unroll
        for (int e = 0; e < VECTOR; ++e) sums[e] = EXACT_ZERO;
    }
};

// A row as it lies in a slab.
struct SlabRow {
    const float* row;  // 16-byte aligned
    __device__ __forceinline__ float at(int e) const { return row[e]; }
    // Vectors of y lie `head` elements off those of the slab: two of these hold one of those.
    __device__ __forceinline__ void from(int head, int b, float (&sums)[VECTOR]) const {
        load_shared(sums, row + b * VECTOR);
        if (head == 0) return;
        float both[2 * VECTOR];
#pragma unroll
        for (int e = 0; e < VECTOR; ++e) both[e] = sums[e];
        load_shared(sums, row + (b + 1) * VECTOR);
#pragma unroll
        for (int e = 0; e < VECTOR; ++e) both[VECTOR + e] = sums[e];
        static_for<0, VECTOR == 8 ? 3 : 2>([&](auto level) {
            constexpr int STEP = VECTOR >> (level + 1);
#pragma unroll
            for (int e = 0; e < VECTOR + STEP - 1; ++e)
                if ((head & STEP) != 0) both[e] = both[e + STEP];
        });
#pragma unroll
        for (int e = 0; e < VECTOR; ++e) sums[e] = both[e];
    }
};

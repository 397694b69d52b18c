// implicit_gemm_sm90: strips, as which outputs leave that have none: finished, in the type of y.

// What becomes of a thread's sums, which are of two rows of the product.
struct Finish {
    EpilogueChannel channels[2];
    __device__ __forceinline__ Finish(const ConvtArgs& args, const Work& work, const Part& part) {
#pragma unroll
        for (int half = 0; half < 2; ++half) {
            const int channel = channel_of(part.product_row + half * 8 + threadIdx.x % 32 / 4);
            if ((layer::HAS_BIAS || layer::AFFINE) && channel < work.channels)
                channels[half] = epilogue_channel(args, work.channel + channel);
        }
    }
};

// Finished outputs of 8 channels and one pass, as the strips of a slab: [strip of a channel][channel]. zero: see write_slab.
template <int HALF, int PASS>
__device__ __forceinline__ void write_strips(const Finish& finish, const Sums& sums, unsigned zero, char* slab) {
    constexpr int RUN = 2 * SW, V = widest(RUN, VECTOR);
    const int lane = threadIdx.x % 32;
    Element* const target = reinterpret_cast<Element*>(slab + lane / 4 * STRIP_PITCH) + lane % 4 * RUN;
#pragma unroll
    for (int tile = 0; tile < SLAB_STRIPS * STRIP_TILES; ++tile) {
        const int n = PASS * SLAB_STRIPS * STRIP_TILES + tile;
        const int to = tile / STRIP_TILES * (8 * STRIP_PITCH) + tile % STRIP_TILES * TILE_BYTES;
        Element run[RUN];
        static_for<0, RUN>([&](auto at) {
            constexpr int E = decltype(at)::value / SW, R = decltype(at)::value % SW;
            float sum = EXACT_ZERO;
            if constexpr (Horizontal::used(R)) {
                sum = sums[Horizontal::rank(R)][n / RUN_TILES][n % RUN_TILES * 4 + 2 * HALF + E];
                if constexpr (SW > 1) sum = __uint_as_float(__float_as_uint(sum) ^ zero);
            }
            run[at] = from_float<Element>(epilogue(sum, finish.channels[HALF], 0.0f));
        });
#pragma unroll
        for (int i = 0; i < RUN; i += V) {
            Vector<Element, V> v;
#pragma unroll
            for (int e = 0; e < V; ++e) v[e] = run[i + e];
            *reinterpret_cast<Vector<Element, V>*>(target + to / int(sizeof(Element)) + i) = v;
        }
    }
}

// Stores the strips of a slab, V outputs a thread and time.
template <int V>
__device__ __forceinline__ void store_strips(const ConvtArgs& args, const Work& work, const Part& part, int turn,
                                             const char* slab) {
    constexpr int COUNT = 8 * SLAB_STRIPS, OF_STRIP = STRIP / V;  // lanes
    constexpr int LANES = OF_STRIP < 32 ? OF_STRIP : 32, AT_ONCE = OF_STRIP < 32 ? floor_power_of_two(32 / OF_STRIP) : 1;
    constexpr int PARTS_OF_STRIP = ceil_div(OF_STRIP, 32), TURNS = ceil_div(COUNT, AT_ONCE) * PARTS_OF_STRIP;
    constexpr int MOST = STORERS ? 8 : 4, BATCH = TURNS < MOST ? TURNS : MOST;
    const int half = turn / STRIP_PASSES, first = turn % STRIP_PASSES * SLAB_STRIPS, lane = threadIdx.x % 32;
    // 8 rows of the product are of one output row.
    const int line = line_of(work, part.product_row + half * 8), channel = channel_of(part.product_row + half * 8);
    const int own = lane / LANES, own_e = lane % LANES * V;
    const bool some = !FOLDED || line < plan::FOLD, any = AT_ONCE * LANES == 32 || own < AT_ONCE;  // for the lane
    Element* const y = static_cast<Element*>(args.y) + work.y;
#pragma unroll 1
    for (int item = 0; item < TURNS; item += BATCH) {
        bool stored[BATCH];
        Element* to[BATCH];
        Vector<Element, V> outputs[BATCH];
#pragma unroll
        for (int k = 0; k < BATCH; ++k) {
            const int i = (item + k) / PARTS_OF_STRIP * AT_ONCE + own, e = (item + k) % PARTS_OF_STRIP * (32 * V) + own_e;
            const int o = i % 8, strip = i / 8, tile = (first + strip) * STRIP_TILES;
            const int row = part.row + tile / LINE_TILES;
            const index_t h = out_row(work, row, line), w = index_t(work.q_w + part.column + tile % LINE_TILES * 8) * SW + e;
            const bool exists = any && (COUNT % AT_ONCE == 0 && TURNS % BATCH == 0 || i < COUNT) &&
                                (OF_STRIP % 32 == 0 || OF_STRIP < 32 || e < STRIP);
            stored[k] = exists && some && h < work.out_height && channel + o < work.channels && w < work.out_width &&
                        has_image(work, row);
            to[k] = y + (line_offset(work, row, channel + o, h) + w);
            outputs[k] = *reinterpret_cast<const Vector<Element, V>*>(
                slab + (exists ? i * STRIP_PITCH + e * int(sizeof(Element)) : 0));
        }
#pragma unroll
        for (int k = 0; k < BATCH; ++k)
            if (stored[k]) store_global(reinterpret_cast<Vector<Element, V>*>(to[k]), outputs[k]);
    }
}

// As wide as the plan has it where STORE_WIDTH elements lie as one vector in every row of y.
__device__ __forceinline__ void store_strips(const ConvtArgs& args, const Work& work, const Part& part, int turn,
                                             const char* slab) {
    if (plan::STORE_WIDTH == 1 || widest_access(work.out_width, args.y, nullptr, nullptr) >= plan::STORE_WIDTH)
        store_strips<plan::STORE_WIDTH>(args, work, part, turn, slab);
    else
        store_strips<1>(args, work, part, turn, slab);
}

// Outputs of a slab's strips that are NaN, as their sums are then, once more by the definition.
__device__ __forceinline__ void repair_strips(const ConvtArgs& args, const Work& work, const Part& part, int turn,
                                              char* slab) {
    const int half = turn / STRIP_PASSES, first = turn % STRIP_PASSES * SLAB_STRIPS;
    const int line = line_of(work, part.product_row + half * 8), channel = channel_of(part.product_row + half * 8);
    if (FOLDED && line >= plan::FOLD) return;
#pragma unroll 1
    for (int i = threadIdx.x % 32; i < 8 * SLAB_STRIPS * STRIP; i += 32) {
        const int strip = i / STRIP, e = i % STRIP, own = channel + strip % 8, tile = (first + strip / 8) * STRIP_TILES;
        const int row = part.row + tile / LINE_TILES;
        const index_t h = out_row(work, row, line), w = index_t(work.q_w + part.column + tile % LINE_TILES * 8) * SW + e;
        Element& output = reinterpret_cast<Element*>(slab + strip * STRIP_PITCH)[e];
        const float value = to_float(output);
        if (value == value || h >= work.out_height || w >= work.out_width || own >= work.channels || !has_image(work, row))
            continue;
        output = from_float<Element>(
            epilogue(plain_sum(work, image_of(row), own, h, w), epilogue_channel(args, work.channel + own), 0.0f));
    }
    __syncwarp();
}
// Whether some sum of the warp is not finite, and is to be looked at.
__device__ __forceinline__ bool is_broken(const Sums& sums) {
    if constexpr (!REPAIRED) return false;
    float probe = 0;
#pragma unroll
    for (int set = 0; set < COLUMN_SETS; ++set)
#pragma unroll
        for (int run = 0; run < RUNS; ++run)
#pragma unroll
            for (int i = 0; i < RUN_SUMS; ++i) probe = fmaf(sums[set][run][i], 0.0f, probe);
    return __any_sync(0xffffffff, probe != 0.0f) != 0;
}

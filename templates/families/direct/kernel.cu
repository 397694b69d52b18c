// direct: transposed convolution on the CUDA cores, for every layer, dtype, layout and arch.
//
// Outputs are written o = STRIDE*q + r per axis. A block owns a tile of positions q, all phases r of it and BLOCK_CHANNELS
// output channels of one group. It takes the phases in passes of ROW_PHASES x COLUMN_PHASES; a thread owns
// POSITIONS_PER_THREAD positions of one phase and CHANNELS_PER_THREAD channels. Within a phase the layer is a dense
// convolution of stride 1 over the taps of that phase, so no zero is ever multiplied. A finished pass goes through shared
// memory, so that interleaved phases leave the block as contiguous rows.

using index_t = plan::index_t;

constexpr int POSITIONS = plan::POSITIONS_D * plan::POSITIONS_H * plan::POSITIONS_W;
constexpr int LANES = POSITIONS / plan::POSITIONS_PER_THREAD;
constexpr int BLOCK_CHANNELS = plan::CHANNELS_PER_THREAD * plan::CHANNEL_VECTORS;
constexpr int THREADS = LANES * plan::COLUMN_PHASES * plan::ROW_PHASES * plan::CHANNEL_VECTORS;

constexpr int TAPS = layer::KERNEL_D * layer::KERNEL_H * layer::KERNEL_W;
constexpr int ALL_ROW_PHASES = layer::STRIDE_D * layer::STRIDE_H;
constexpr int CHANNEL_BLOCKS = ceil_div(layer::OUT_PER_GROUP, BLOCK_CHANNELS);
constexpr int CHUNKS = ceil_div(layer::IN_PER_GROUP, plan::CHANNEL_CHUNK);

// The input tile: positions and their halo. Meaningful only where it is staged; elsewhere it might not fit an int.
constexpr int WINDOW_D = plan::STAGE_INPUT ? int(plan::POSITIONS_D + layer::HIGH_D - layer::LOW_D) : 1;
constexpr int WINDOW_H = plan::STAGE_INPUT ? int(plan::POSITIONS_H + layer::HIGH_H - layer::LOW_H) : 1;
constexpr int WINDOW_W = plan::STAGE_INPUT ? int(plan::POSITIONS_W + layer::HIGH_W - layer::LOW_W) : 1;
constexpr int WINDOW = WINDOW_D * WINDOW_H * WINDOW_W;

// A finished pass in shared memory: [channel][row of outputs][outputs of the row]. The odd pitch of channels-last keeps
// a warp that reads along channels off one bank.
constexpr int RUN = plan::POSITIONS_W * plan::COLUMN_PHASES;
constexpr int ROWS = plan::ROW_PHASES * plan::POSITIONS_D * plan::POSITIONS_H;
constexpr int CHANNEL_PITCH = ROWS * RUN + (layer::CHANNELS_LAST ? 1 : 0);

constexpr int INPUT_FLOATS = plan::STAGE_INPUT ? round_up(plan::CHANNEL_CHUNK * WINDOW, 4) : 0;
constexpr int WEIGHT_FLOATS = plan::STAGE_WEIGHTS ? round_up(plan::CHANNEL_CHUNK * TAPS * BLOCK_CHANNELS, 4) : 0;

// Index of the first element of a channel within a sample, and of a pixel within a channel.
struct Volume {
    index_t depth, height, width;
    __device__ __forceinline__ index_t offset(index_t channel, index_t channels, index_t d, index_t h, index_t w) const {
        const index_t pixel = (d * height + h) * width + w;
        return layer::CHANNELS_LAST ? pixel * channels + channel : channel * (depth * height * width) + pixel;
    }
    __device__ __forceinline__ bool inside(index_t d, index_t h, index_t w) const {
        return d >= 0 && d < depth && h >= 0 && h < height && w >= 0 && w < width;
    }
};

// Whether some tap of a phase reads inside an axis of `size` at position q.
__device__ __forceinline__ bool reached(const Phase& phase, index_t offset_step, index_t q, index_t size) {
    if (phase.taps == 0) return false;
    const index_t highest = q + phase.first_offset;
    const index_t lowest = highest - index_t(phase.taps - 1) * offset_step;
    if (highest < 0 || lowest >= size) return false;
    if (highest < size || lowest >= 0) return true;
    const index_t steps = (highest - size) / offset_step + 1;  // to the first tap below `size`
    return highest - steps * offset_step >= 0;
}

// One block's place: sample, channel block, tile.
struct Place {
    const Element* x;  // the sample's first channel of the group
    const Element* w;  // the group's first weight of the channel block
    long long sample;    // offset of the sample's first element in y and in the residual
    int first_channel;   // of the block, within the group
    int group;
    index_t q[3];        // first position of the tile
    Volume in, out;
};

__device__ __forceinline__ void stage_input(const Place& place, float* staged, int first, int channels) {
    for (int i = threadIdx.x; i < plan::CHANNEL_CHUNK * WINDOW; i += THREADS) {
        const int c = layer::CHANNELS_LAST ? i % plan::CHANNEL_CHUNK : i / WINDOW;
        const int pixel = layer::CHANNELS_LAST ? i / plan::CHANNEL_CHUNK : i % WINDOW;
        const index_t d = place.q[0] + layer::LOW_D + pixel / (WINDOW_H * WINDOW_W);
        const index_t h = place.q[1] + layer::LOW_H + pixel / WINDOW_W % WINDOW_H;
        const index_t w = place.q[2] + layer::LOW_W + pixel % WINDOW_W;
        float value = 0.0f;
        if (c < channels && place.in.inside(d, h, w))
            value = to_float(load_global(place.x + place.in.offset(first + c, layer::IN_CHANNELS, d, h, w)));
        staged[c * WINDOW + pixel] = value;
    }
}

// PyTorch's (channel, output channel, tap) becomes (channel, tap, output channel): threads of a warp read one tap.
__device__ __forceinline__ void stage_weights(const Place& place, float* staged, int first, int channels) {
    for (int i = threadIdx.x; i < channels * BLOCK_CHANNELS * TAPS; i += THREADS) {
        const int tap = i % TAPS, o = i / TAPS % BLOCK_CHANNELS, c = i / (TAPS * BLOCK_CHANNELS);
        const bool exists = place.first_channel + o < layer::OUT_PER_GROUP;
        const plan::weight_index_t at = (plan::weight_index_t(first + c) * layer::OUT_PER_GROUP + o) * TAPS + tap;
        staged[(c * TAPS + tap) * BLOCK_CHANNELS + o] = exists ? to_float(load_global(place.w + at)) : 0.0f;
    }
}

// A thread's sums. `partial` holds at most PARTIAL_SUM products and then joins `total`: one long running sum would lose
// accuracy in proportion to its length.
struct Sums {
    float total[plan::POSITIONS_PER_THREAD][plan::CHANNELS_PER_THREAD];
    float partial[plan::POSITIONS_PER_THREAD][plan::CHANNELS_PER_THREAD];
    int room;

    __device__ __forceinline__ void clear() {
#pragma unroll
        for (int p = 0; p < plan::POSITIONS_PER_THREAD; ++p)
#pragma unroll
            for (int o = 0; o < plan::CHANNELS_PER_THREAD; ++o) total[p][o] = partial[p][o] = 0.0f;
        room = plan::PARTIAL_SUM;
    }
    __device__ __forceinline__ void join() {
#pragma unroll
        for (int p = 0; p < plan::POSITIONS_PER_THREAD; ++p)
#pragma unroll
            for (int o = 0; o < plan::CHANNELS_PER_THREAD; ++o) {
                total[p][o] += partial[p][o];
                partial[p][o] = 0.0f;
            }
        room = plan::PARTIAL_SUM;
    }
};

// A thread's share of a pass.
struct Share {
    int channel;  // first of its channels, within the block
    Phase d, h, w;
    int position[plan::POSITIONS_PER_THREAD][3];  // within the tile
};

__device__ __forceinline__ void load_weights(const Place& place, const float* staged, int c, int first, int tap,
                                             int channel, float (&weights)[plan::CHANNELS_PER_THREAD]) {
    if constexpr (plan::STAGE_WEIGHTS) {
        const float* from = staged + (c * TAPS + tap) * BLOCK_CHANNELS + channel;
        if constexpr (plan::CHANNELS_PER_THREAD % 4 == 0) {
#pragma unroll
            for (int o = 0; o < plan::CHANNELS_PER_THREAD; o += 4) {
                const float4_t v = *reinterpret_cast<const float4_t*>(from + o);
                weights[o] = v.x, weights[o + 1] = v.y, weights[o + 2] = v.z, weights[o + 3] = v.w;
            }
        } else {
#pragma unroll
            for (int o = 0; o < plan::CHANNELS_PER_THREAD; ++o) weights[o] = from[o];
        }
    } else {
#pragma unroll
        for (int o = 0; o < plan::CHANNELS_PER_THREAD; ++o) {
            const bool exists = place.first_channel + channel + o < layer::OUT_PER_GROUP;
            const plan::weight_index_t at =
                (plan::weight_index_t(first + c) * layer::OUT_PER_GROUP + channel + o) * TAPS + tap;
            weights[o] = exists ? to_float(load_global(place.w + at)) : 0.0f;
        }
    }
}

// All products of one chunk of channels.
__device__ __forceinline__ void accumulate(const Place& place, const Share& share, const float* input,
                                           const float* weights, int first, int channels, Sums& sums) {
#pragma unroll 1
    for (int c = 0; c < channels; ++c)
#pragma unroll 1
        for (int jd = 0; jd < share.d.taps; ++jd)
#pragma unroll 1
            for (int jh = 0; jh < share.h.taps; ++jh) {
                const index_t offset_d = share.d.first_offset - jd * layer::OFFSET_STEP_D;
                const index_t offset_h = share.h.first_offset - jh * layer::OFFSET_STEP_H;
                const int row = ((share.d.first_tap + jd * layer::TAP_STEP_D) * layer::KERNEL_H + share.h.first_tap +
                                 jh * layer::TAP_STEP_H) *
                                layer::KERNEL_W;
#pragma unroll 1
                for (int jw = 0; jw < share.w.taps;) {
                    const int end = jw + min(share.w.taps - jw, sums.room);
                    sums.room -= end - jw;
#pragma unroll(plan::UNROLL)
                    for (; jw < end; ++jw) {
                        const index_t offset_w = share.w.first_offset - jw * layer::OFFSET_STEP_W;
                        float w[plan::CHANNELS_PER_THREAD];
                        load_weights(place, weights, c, first, row + share.w.first_tap + jw * layer::TAP_STEP_W,
                                     share.channel, w);
#pragma unroll
                        for (int p = 0; p < plan::POSITIONS_PER_THREAD; ++p) {
                            float value = 0.0f;
                            bool inside = true;
                            if constexpr (!plan::STAGE_INPUT || plan::EXACT_NONFINITE)
                                inside = place.in.inside(place.q[0] + share.position[p][0] + offset_d,
                                                         place.q[1] + share.position[p][1] + offset_h,
                                                         place.q[2] + share.position[p][2] + offset_w);
                            if constexpr (plan::STAGE_INPUT) {
                                const int at = ((share.position[p][0] + int(offset_d - layer::LOW_D)) * WINDOW_H +
                                                share.position[p][1] + int(offset_h - layer::LOW_H)) *
                                                   WINDOW_W +
                                               share.position[p][2] + int(offset_w - layer::LOW_W);
                                value = input[c * WINDOW + at];
                            } else if (inside) {
                                value = to_float(load_global(
                                    place.x + place.in.offset(first + c, layer::IN_CHANNELS,
                                                              place.q[0] + share.position[p][0] + offset_d,
                                                              place.q[1] + share.position[p][1] + offset_h,
                                                              place.q[2] + share.position[p][2] + offset_w)));
                            }
                            if (!plan::EXACT_NONFINITE || inside)
#pragma unroll
                                for (int o = 0; o < plan::CHANNELS_PER_THREAD; ++o)
                                    sums.partial[p][o] = fmaf(value, w[o], sums.partial[p][o]);
                        }
                    }
                    if (sums.room == 0) sums.join();
                }
            }
    sums.join();
}

// Rows of a finished pass leave the block: the epilogue, one store per element, consecutive threads on consecutive
// elements.
__device__ __forceinline__ void store_pass(const ConvtArgs& args, const Place& place, const float* finished,
                                           int row_phase0, int column_phase0) {
    for (int i = threadIdx.x; i < BLOCK_CHANNELS * ROWS * RUN; i += THREADS) {
        const int o = layer::CHANNELS_LAST ? i % BLOCK_CHANNELS : i / (ROWS * RUN);
        const int at = layer::CHANNELS_LAST ? i / BLOCK_CHANNELS : i % (ROWS * RUN);
        const int column = at % RUN, row = at / RUN;
        const int column_phase = column_phase0 + column % plan::COLUMN_PHASES;
        const int row_phase = row_phase0 + row / (plan::POSITIONS_D * plan::POSITIONS_H);
        if (place.first_channel + o >= layer::OUT_PER_GROUP || column_phase >= layer::STRIDE_W ||
            row_phase >= ALL_ROW_PHASES)
            continue;
        const int rd = row_phase / layer::STRIDE_H, rh = row_phase % layer::STRIDE_H;
        const index_t qd = place.q[0] + row / plan::POSITIONS_H % plan::POSITIONS_D;
        const index_t qh = place.q[1] + row % plan::POSITIONS_H;
        const index_t qw = place.q[2] + column / plan::COLUMN_PHASES;
        const index_t d = qd * layer::STRIDE_D + rd, h = qh * layer::STRIDE_H + rh, w = qw * layer::STRIDE_W + column_phase;
        if (!place.out.inside(d, h, w)) continue;
        const bool any = reached(PHASES_D[rd], layer::OFFSET_STEP_D, qd, place.in.depth) &&
                         reached(PHASES_H[rh], layer::OFFSET_STEP_H, qh, place.in.height) &&
                         reached(PHASES_W[column_phase], layer::OFFSET_STEP_W, qw, place.in.width);
        // What no tap reaches is exactly the bias: -0 is neutral to every bias, a negative zero included.
        const float sum = any ? finished[o * CHANNEL_PITCH + at] : (layer::HAS_BIAS ? -0.0f : 0.0f);
        const int channel = place.group * layer::OUT_PER_GROUP + place.first_channel + o;
        const long long offset = place.sample + place.out.offset(channel, layer::OUT_CHANNELS, d, h, w);
        const float value = epilogue(sum, epilogue_channel(args, channel), epilogue_residual(args, offset));
        store_global(static_cast<Element*>(args.y) + offset, from_float<Element>(value));
    }
}

__device__ __forceinline__ void compute_tile(const ConvtArgs& args, const Place& place, float* shared) {
    float* const input = shared;
    float* const weights = input + INPUT_FLOATS;
    float* const finished = weights + WEIGHT_FLOATS;

    const int lane = threadIdx.x % LANES;
    const int column = threadIdx.x / LANES % plan::COLUMN_PHASES;
    const int row = threadIdx.x / (LANES * plan::COLUMN_PHASES) % plan::ROW_PHASES;
    Share share;
    share.channel = threadIdx.x / (LANES * plan::COLUMN_PHASES * plan::ROW_PHASES) * plan::CHANNELS_PER_THREAD;
#pragma unroll
    for (int p = 0; p < plan::POSITIONS_PER_THREAD; ++p) {
        const int position = lane + p * LANES;  // lanes side by side: reads and writes of a warp are conflict-free
        share.position[p][0] = position / (plan::POSITIONS_H * plan::POSITIONS_W);
        share.position[p][1] = position / plan::POSITIONS_W % plan::POSITIONS_H;
        share.position[p][2] = position % plan::POSITIONS_W;
    }

    bool staged = false;  // a single chunk stays for all passes
#pragma unroll 1
    for (int row_phase0 = 0; row_phase0 < ALL_ROW_PHASES; row_phase0 += plan::ROW_PHASES)
#pragma unroll 1
        for (int column_phase0 = 0; column_phase0 < layer::STRIDE_W; column_phase0 += plan::COLUMN_PHASES) {
            const int row_phase = row_phase0 + row, column_phase = column_phase0 + column;
            const bool exists = row_phase < ALL_ROW_PHASES && column_phase < layer::STRIDE_W;
            share.d = PHASES_D[exists ? row_phase / layer::STRIDE_H : 0];
            share.h = PHASES_H[exists ? row_phase % layer::STRIDE_H : 0];
            share.w = PHASES_W[exists ? column_phase : 0];
            if (!exists) share.d.taps = 0;

            Sums sums;
            sums.clear();
#pragma unroll 1
            for (int chunk = 0; chunk < CHUNKS; ++chunk) {
                const int first = chunk * plan::CHANNEL_CHUNK;
                const int channels = min(plan::CHANNEL_CHUNK, layer::IN_PER_GROUP - first);
                if (CHUNKS > 1 || !staged) {
                    __syncthreads();
                    if constexpr (plan::STAGE_INPUT) stage_input(place, input, first, channels);
                    if constexpr (plan::STAGE_WEIGHTS) stage_weights(place, weights, first, channels);
                    __syncthreads();
                    staged = true;
                }
                accumulate(place, share, input, weights, first, channels, sums);
            }

            __syncthreads();  // the pass before has left
#pragma unroll
            for (int p = 0; p < plan::POSITIONS_PER_THREAD; ++p)
#pragma unroll
                for (int o = 0; o < plan::CHANNELS_PER_THREAD; ++o)
                    finished[(share.channel + o) * CHANNEL_PITCH +
                             ((row * plan::POSITIONS_D + share.position[p][0]) * plan::POSITIONS_H +
                              share.position[p][1]) *
                                 RUN +
                             share.position[p][2] * plan::COLUMN_PHASES + column] = sums.total[p][o];
            __syncthreads();
            store_pass(args, place, finished, row_phase0, column_phase0);
        }
}

extern "C" __global__ void __launch_bounds__(THREADS) CONVT_ENTRY(const __grid_constant__ ConvtArgs args) {
    float* const shared = reinterpret_cast<float*>(shared_memory());
    Place place;
    place.in = {index_t(args.in[0]), index_t(args.in[1]), index_t(args.in[2])};
    place.out = {index_t(args.out[0]), index_t(args.out[1]), index_t(args.out[2])};
    const long long in_sample = args.in[0] * args.in[1] * args.in[2] * layer::IN_CHANNELS;
    const long long out_sample = args.out[0] * args.out[1] * args.out[2] * layer::OUT_CHANNELS;
    const index_t tiles_h = ceil_div(ceil_div(place.out.height, index_t(layer::STRIDE_H)), index_t(plan::POSITIONS_H));
    const index_t tiles_w = ceil_div(ceil_div(place.out.width, index_t(layer::STRIDE_W)), index_t(plan::POSITIONS_W));

    const long long n = args.first_block[2] + blockIdx.z;
    const int block = int(args.first_block[1]) + int(blockIdx.y);
    const index_t tile = index_t(args.first_block[0]) + index_t(blockIdx.x);
    place.group = block / CHANNEL_BLOCKS;
    place.first_channel = block % CHANNEL_BLOCKS * BLOCK_CHANNELS;
    const long long first_in = (long long)place.group * layer::IN_PER_GROUP;
    const long long channel_in = layer::CHANNELS_LAST ? 1 : args.in[0] * args.in[1] * args.in[2];
    place.x = static_cast<const Element*>(args.x) + n * in_sample + first_in * channel_in;
    place.w = static_cast<const Element*>(args.w) +
              (first_in * layer::OUT_PER_GROUP + place.first_channel) * TAPS;
    place.sample = n * out_sample;
    place.q[0] = tile / (tiles_h * tiles_w) * plan::POSITIONS_D;
    place.q[1] = tile / tiles_w % tiles_h * plan::POSITIONS_H;
    place.q[2] = tile % tiles_w * plan::POSITIONS_W;
    compute_tile(args, place, shared);
}

// implicit_gemm: one block.

// `packed`: weights of the channel block. `share`: which of the plan::SPLIT parts of the sums.
template <class T>  // Element: of what does not serve it nothing is compiled
__device__ __forceinline__ void compute_block(const ConvtArgs& args, const Place& place, const unsigned* packed, int phase,
                                              int share, bool aligned) {
    unsigned* const ring = reinterpret_cast<unsigned*>(shared_memory());
    EpilogueChannel* const finish = reinterpret_cast<EpilogueChannel*>(ring + FINISH);
    int* const failed = reinterpret_cast<int*>(finish + plan::BLOCK_CHANNELS);
    const Rows rows = rows_of(phase);
    const int all_chunks = rows.taps > 0 ? place.taps_d * DEPTH_CHUNKS : 0;
    const int first_chunk = all_chunks * share / plan::SPLIT, chunks = all_chunks * (share + 1) / plan::SPLIT - first_chunk;

    if constexpr ((layer::HAS_BIAS || layer::AFFINE) && plan::SPLIT == 1)
        for (int o = threadIdx.x; o < place.channels; o += THREADS) finish[o] = epilogue_channel(args, place.channel + o);
    if (threadIdx.x == 0) *failed = 0;
    if (all_chunks == 0) {
        __syncthreads();
        store_lines(args, place, phase, BLOCK_OUTPUTS * plan::FOLD_H, finish,
                    [](int set) { return set / plan::FOLD_H; }, [](int, int, int) { return Nothing{}; });
        return;
    }

    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    const int warp_m = warp % plan::WARPS_M, warp_n = warp / plan::WARPS_M;
    const int row = warp_n / WARPS_ACROSS * WARP_ROWS, column = warp_n % WARPS_ACROSS * WARP_COLUMNS * 8;
    const int input_at = lane % 4 * PLANE + row * TILE_W + column + lane / 4;
    const int weights_at = warp_m * WARP_M * 128 + slot_of(lane / 4, lane % 4);
    const auto input_stage = [&](int chunk) { return ring + chunk % STAGES * (INPUT_STAGE + WEIGHT_STAGE); };
    const auto weight_stage = [&](int chunk) { return input_stage(chunk) + INPUT_STAGE; };

    float sums[COLUMN_SETS][WARP_M][WARP_N][4] = {};
    const auto multiply = [&](int chunk) {
        multiply_chunk(input_stage(chunk) + input_at, weight_stage(chunk) + weights_at, rows.taps, sums);
    };
    packed += rows.first_tap * PHASE_WORDS;
    // Calls f with the first element, the number of channels and the weights of a chunk.
    const auto with_chunk = [&](int number, auto&& f) {
        const int chunk = first_chunk + number, tap = chunk / DEPTH_CHUNKS, first = chunk % DEPTH_CHUNKS * plan::CHUNK;
        const index_t d = place.first_d - tap * layer::OFFSET_STEP_D;
        const int stage = (place.first_tap_d + tap * layer::TAP_STEP_D) * DEPTH_CHUNKS + chunk % DEPTH_CHUNKS;
        f(place.x + (index_t(first) * place.depth + d) * place.plane, layer::IN_PER_GROUP - first,
          packed + (long long)stage * WEIGHT_STAGE);
    };

    if constexpr (sizeof(T) == 4) {
        const auto load = [&](int chunk) {
            with_chunk(chunk, [&](const Element* from, int channels, const unsigned* weights) {
                if (aligned)
                    copy_input<16 / int(sizeof(T))>(place, rows, input_stage(chunk), from, channels);
                else
                    copy_input<4 / int(sizeof(T))>(place, rows, input_stage(chunk), from, channels);
                copy_weights(weights, weight_stage(chunk), rows.taps);
            });
        };
        // Loads run ahead of products; both are in the code once.
        constexpr int AHEAD = STAGES > 1 ? STAGES - 1 : 1;
#pragma unroll 1
        for (int next = 0; next < chunks + AHEAD; ++next) {
            if (next >= AHEAD) {
                copy_async_wait<AHEAD - 1>();
                __syncthreads();
            }
            if (next < chunks) load(next);
            copy_async_commit();
            if (next >= AHEAD) multiply(next - AHEAD);
        }
        copy_async_wait<0>();
    } else {
        // Of weights several chunks are under way, of input the next one, in registers.
        constexpr int AHEAD = STAGES > 1 ? STAGES - 1 : 1;
        [[maybe_unused]] Held held;
        const auto copy = [&](int chunk) {
            if (chunk < chunks)
                with_chunk(chunk, [&](const Element*, int, const unsigned* weights) {
                    copy_weights(weights, weight_stage(chunk), rows.taps);
                });
            copy_async_commit();
        };
        const auto begin = [&](int chunk) {
            copy(chunk + AHEAD - 1);
            if (aligned)
                with_chunk(chunk, [&](const Element* from, int channels, const unsigned*) {
                    load_held(place, rows, from, channels, held);
                });
        };
        const auto end = [&](int chunk) {
            if (aligned)
                store_held(input_stage(chunk), held);
            else
                with_chunk(chunk, [&](const Element* from, int channels, const unsigned*) {
                    zip_input(place, rows, input_stage(chunk), from, channels);
                });
            copy_async_wait<AHEAD - 1>();
            __syncthreads();
        };
        for (int chunk = 0; chunk < AHEAD - 1; ++chunk) copy(chunk);
#pragma unroll 1
        for (int next = 0; next <= chunks; ++next) {  // it flies while the one before is multiplied
            if (next < chunks) begin(next);
            if (next > 0) multiply(next - 1);
            if (next < chunks) end(next);
        }
    }

    if constexpr (FOLD == 1 && !(layer::ALL_REACHED_H && layer::ALL_REACHED_W))
        if (!(all_reached<Vertical, layer::OFFSET_STEP_H>(place.q_h, plan::POSITIONS_H, place.height, place.out_height) &&
              all_reached<Horizontal, layer::OFFSET_STEP_W>(place.q_w, plan::POSITIONS_W, place.width, place.out_width)))
            forget_unreached(place, rows, place.q_h + row, place.q_w + column + lane % 4 * 2, sums);
    store_sums(args, place, {first_chunk, chunks}, phase, reinterpret_cast<float*>(ring), finish, failed, sums);
}

extern "C" __global__ void __launch_bounds__(THREADS, plan::MIN_BLOCKS)
    CONVT_ENTRY(const __grid_constant__ ConvtArgs args) {
    Place place;
    const index_t out_depth = find_sizes(place, args);
    const index_t rows_of_positions = ceil_div(place.out_height + SKEW_H, index_t(SH * plan::FOLD_H));
    const index_t tiles_h = ceil_div(rows_of_positions, index_t(plan::POSITIONS_H));
    constexpr int BLOCKS = layer::GROUPS * CHANNEL_BLOCKS;
    const long long all_z = args.first_block[2] + blockIdx.z, z = all_z / plan::SPLIT;
    const int share = int(all_z % plan::SPLIT);
    const count_t y = count_t(args.first_block[1]) + blockIdx.y, x = count_t(args.first_block[0]) + blockIdx.x;

    // Row phases are neighbours, for their lines share what is fetched from and written to the L2.
    const int phase = SH == 1 ? 0 : int(y % SH);
    const count_t row = y / SH;
    const index_t d = out_depth == 1 ? 0 : index_t(row / count_t(tiles_h));
    const int channel_block = int(plan::ORDER == PLANES ? z % BLOCKS : x % BLOCKS);
    const long long n = plan::ORDER == PLANES ? z / BLOCKS : z;
    place.q_w = int(plan::ORDER == PLANES ? x : x / BLOCKS) * plan::POSITIONS_W;
    place.q_h = int(row - count_t(d) * count_t(tiles_h)) * plan::POSITIONS_H;
    const int group = channel_block / CHANNEL_BLOCKS, first = channel_block % CHANNEL_BLOCKS * BLOCK_OUTPUTS;
    place.channel = group * layer::OUT_PER_GROUP + first;
    place.channels = min(BLOCK_OUTPUTS, layer::OUT_PER_GROUP - first);
    place.x = static_cast<const Element*>(args.x) + n * ((long long)place.depth * place.plane * layer::IN_CHANNELS) +
              (long long)group * layer::IN_PER_GROUP * place.depth * place.plane;
    place.w = static_cast<const Element*>(args.w) +
              ((long long)group * layer::IN_PER_GROUP * layer::OUT_PER_GROUP + first) *
                  (layer::KERNEL_D * whole::KERNEL_H * whole::KERNEL_W);
    place.y = n * ((long long)place.out_plane * layer::OUT_CHANNELS) + place.channel * (long long)place.out_plane +
              d * place.out_height * place.out_width;
    if constexpr (plan::SPLIT > 1)
        place.y += share * (args.batch * layer::OUT_CHANNELS * place.out_plane);  // in the workspace, then

    find_depth_taps(place, d);
    const unsigned* const packed = static_cast<const unsigned*>(args.packed) + channel_block * (USED_ROWS * PHASE_WORDS);
    compute_block<Element>(args, place, packed, phase, share, widest_access(place.width, args.x, args.x, args.x) == VECTOR);
}

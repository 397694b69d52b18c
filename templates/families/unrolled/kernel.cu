// unrolled: one block.

__device__ __forceinline__ void compute_block(const ConvtArgs& args, const Place& place, int load_width, int store_width) {
    char* const shared = shared_memory();
    float* const weight_ring = reinterpret_cast<float*>(shared + INPUT_BYTES);
    EpilogueChannel* const finish = reinterpret_cast<EpilogueChannel*>(weight_ring + STAGES * WEIGHT_STAGE / 4);
    float* const slabs = weight_ring + STAGES * WEIGHT_STAGE / 4 + FINISH_BYTES / 4;

    const int thread = threadIdx.x;
    const int tx = thread % THREADS_X, ty = thread / THREADS_X % THREADS_Y;
    const int vector = thread / PLACES % plan::CHANNEL_THREADS;
    const int row_set = thread / (PLACES * plan::CHANNEL_THREADS) % PHASE_THREADS;
    const int share = plan::REDUCTION_THREADS > 1 ? thread / TEAM : 0;
    const int chunks = place.taps_d * DEPTH_CHUNKS;

    const auto input_stage = [&](int chunk) { return reinterpret_cast<Element*>(shared + chunk % STAGES * INPUT_STAGE); };
    const auto weight_stage = [&](int chunk) { return weight_ring + chunk % STAGES * (WEIGHT_STAGE / 4); };
    index_t kept[4];  // this thread's pixels, the same in every chunk
    if constexpr (Pieces<VECTOR>::KEPT) {
#pragma unroll
        for (int k = 0; k < Pieces<VECTOR>::EACH; ++k)
            kept[k] = Pieces<VECTOR>::pixel(place, threadIdx.x + k * THREADS);
    }
    const auto load_chunk = [&](int chunk) {
        const int tap = chunk / DEPTH_CHUNKS, first = chunk % DEPTH_CHUNKS * plan::CHUNK;
        const int channels = min(plan::CHUNK, layer::IN_PER_GROUP - first);
        const index_t d = place.first_d - tap * layer::OFFSET_STEP_D;
        if (load_width == VECTOR)
            stage_input<VECTOR>(place, input_stage(chunk), d, first, channels, kept);
        else if (VECTOR == 8 && load_width >= 2)
            stage_input<VECTOR == 8 ? 2 : 1>(place, input_stage(chunk), d, first, channels, kept);
        else
            stage_input<1>(place, input_stage(chunk), d, first, channels, kept);
        stage_weights(place, weight_stage(chunk), place.first_tap_d + tap * layer::TAP_STEP_D, first, channels, 0);
    };

#pragma unroll 1
    for (int s = 0; s < (RESIDENT ? STAGES : STAGES - 1); ++s) {
        if (s < chunks) load_chunk(s);
        copy_async_commit();
    }
    if constexpr (layer::HAS_BIAS || layer::AFFINE)  // here, so that no thread waits for them before its stores
#pragma unroll 1
        for (int o = threadIdx.x; o < place.channels; o += THREADS) finish[o] = epilogue_channel(args, place.channel + o);
    if (Vertical::used() < SH || chunks == 0) store_bias_rows(args, place, chunks == 0);
    if (chunks == 0) return;

    const int q_h = place.q_h + ty * ROWS, q_w = place.q_w + tx * COLUMNS;
    [[maybe_unused]] const bool inner = all_reached<Vertical, layer::OFFSET_STEP_H>(q_h, ROWS, place.height, place.out_height) &&
                       all_reached<Horizontal, layer::OFFSET_STEP_W>(q_w, COLUMNS, place.width, place.out_width);

#pragma unroll 1
    for (int turn = 0; turn < TURNS; ++turn) {
        const int my_vector = vector + turn * plan::CHANNEL_THREADS;
        static_for<0, (plan::ROW_PHASES == IN_TURN ? SH : 1)>([&](auto item) {
            if constexpr (plan::ROW_PHASES != IN_TURN || Vertical::used(item)) {
                constexpr bool FIRST = plan::ROW_PHASES != IN_TURN || Vertical::rank(item) == 0;
                const auto with_row_phase = [&](auto&& f) {  // this thread's row phase as a constant
                    if constexpr (plan::ROW_PHASES == SIDE_BY_SIDE)
                        static_for<0, SH>([&](auto rh) {
                            if constexpr (Vertical::used(rh))
                                if (row_set == Vertical::rank(rh)) f(rh);
                        });
                    else
                        f(item);
                };
                float sums[ROW_SETS][COLUMN_SETS][CHANNELS][ROWS][COLUMNS] = {};
                float total[plan::JOIN > 0 ? SUMS : 1] = {};
                const auto join = [&] {
                    float* const flat = &sums[0][0][0][0][0];
#pragma unroll
                    for (int i = 0; i < SUMS; ++i) {
                        total[plan::JOIN > 0 ? i : 0] += flat[i];
                        flat[i] = 0.0f;
                    }
                };

#pragma unroll 1
                for (int chunk = 0; chunk < chunks; ++chunk) {
                    if constexpr (RESIDENT) {
                        if (FIRST && turn == 0) {
                            // Group s holds chunk s: later groups may still fly.
                            static_for<0, STAGES>([&](auto newest) {
                                if (STAGES - 1 - chunk == newest) copy_async_wait<newest>();
                            });
                            __syncthreads();
                        }
                    } else {
                        copy_async_wait<STAGES - 2>();
                        __syncthreads();
                        if (chunk + STAGES - 1 < chunks) load_chunk(chunk + STAGES - 1);
                        copy_async_commit();
                    }
                    with_row_phase([&](auto rh) {
                        accumulate<rh>(input_stage(chunk) + ty * ROWS * TILE_W + tx * COLUMNS,
                                       weight_stage(chunk) + my_vector * plan::CHUNK * WEIGHT_PITCH, share, sums);
                    });
                    if constexpr (plan::JOIN > 0)
                        if ((chunk + 1) % plan::JOIN == 0) join();
                }
                if constexpr (plan::JOIN > 0) {
                    join();
                    float* const flat = &sums[0][0][0][0][0];
#pragma unroll
                    for (int i = 0; i < SUMS; ++i) flat[i] = total[i];
                }

                if constexpr (plan::REDUCTION_THREADS > 1) {  // add the shares: share t finishes every t-th run
                    constexpr int PER = COLUMN_SETS * COLUMNS;
                    float* const exchange = reinterpret_cast<float*>(shared) + thread % TEAM;
                    copy_async_wait<0>();
                    __syncthreads();
                    static_for<0, ROW_SETS * CHANNELS * ROWS>([&](auto id) {
                        constexpr int A = id / (CHANNELS * ROWS), O = id / ROWS % CHANNELS, R = id % ROWS;
                        if (id % plan::REDUCTION_THREADS != share)
#pragma unroll
                            for (int k = 0; k < PER; ++k)
                                exchange[((id * PER + k) * plan::REDUCTION_THREADS + share) * TEAM] =
                                    sums[A][k / COLUMNS][O][R][k % COLUMNS];
                    });
                    __syncthreads();
                    static_for<0, ROW_SETS * CHANNELS * ROWS>([&](auto id) {
                        constexpr int A = id / (CHANNELS * ROWS), O = id / ROWS % CHANNELS, R = id % ROWS;
                        if (id % plan::REDUCTION_THREADS == share)
#pragma unroll
                            for (int s = 1; s < plan::REDUCTION_THREADS; ++s)
#pragma unroll
                                for (int k = 0; k < PER; ++k)
                                    sums[A][k / COLUMNS][O][R][k % COLUMNS] +=
                                        exchange[((id * PER + k) * plan::REDUCTION_THREADS +
                                                  (share + s) % plan::REDUCTION_THREADS) *
                                                 TEAM];
                    });
                }

                // For every channel, row phase and row of positions one run of COLUMNS*SW outputs.
                with_row_phase([&](auto phase) {
                    [[maybe_unused]] constexpr int PHASE = phase;
                    if constexpr (!(layer::ALL_REACHED_H && layer::ALL_REACHED_W))
                        if (!inner) forget_unreached<PHASE>(place, q_h, q_w, sums);
#pragma unroll
                    for (int o = 0; o < CHANNELS; ++o) {
                        const int output = my_vector * CHANNELS + o;
                        const bool exists = output < place.channels;
                        EpilogueChannel channel;
                        if constexpr (layer::HAS_BIAS || layer::AFFINE)
                            if (exists) channel = finish[output];
                        const long long offset = place.y + output * place.out_plane;
                        static_for<0, SH>([&](auto rh) {
                            if constexpr (Vertical::used(rh) && (!SPLIT || int(rh) == PHASE)) {
                                constexpr int A = SPLIT ? 0 : Vertical::rank(rh);
#pragma unroll
                                for (int r = 0; r < ROWS; ++r) {
                                    if (plan::REDUCTION_THREADS > 1 &&
                                        ((A * CHANNELS + o) * ROWS + r) % plan::REDUCTION_THREADS != share)
                                        continue;
                                    float run[RUN];
                                    static_for<0, SW>([&](auto rw) {
#pragma unroll
                                        for (int w = 0; w < COLUMNS; ++w) {
                                            if constexpr (Horizontal::used(rw))
                                                run[w * SW + rw] = sums[A][Horizontal::rank(rw)][o][r][w];
                                            else
                                                run[w * SW + rw] = EXACT_ZERO;
                                        }
                                    });
                                    if constexpr (plan::SLABS) {
                                        float* const slab = slabs + thread / 32 * SLAB;
                                        constexpr int V = widest(RUN, 4);
                                        __syncwarp();
#pragma unroll
                                        for (int i = 0; i < RUN; i += V) {
                                            Vector<float, V> v;
#pragma unroll
                                            for (int e = 0; e < V; ++e) v[e] = run[i + e];
                                            *reinterpret_cast<Vector<float, V>*>(slab + thread % 32 * RUN + i) = v;
                                        }
                                        __syncwarp();
                                        if (exists) store_slab(args, place, slab, r, rh, offset, channel);
                                    } else if (exists) {
                                        with_width(store_width, [&](auto wide) {
                                            store_run<wide>(args, place, run, index_t(q_h + r) * SH + int(rh),
                                                            index_t(q_w) * SW, offset, channel);
                                        });
                                    }
                                }
                            }
                        });
                    }
                });
            }
        });
    }
}

extern "C" __global__ void __launch_bounds__(THREADS, plan::MIN_BLOCKS)
    CONVT_ENTRY(const __grid_constant__ ConvtArgs args) {
    Place place;
    const index_t out_depth = find_sizes(place, args);
    const index_t tiles_w = ceil_div(ceil_div(place.out_width, index_t(SW)), index_t(plan::POSITIONS_W));
    const index_t tiles_h = ceil_div(ceil_div(place.out_height, index_t(SH)), index_t(plan::POSITIONS_H));
    constexpr int BLOCKS = layer::GROUPS * CHANNEL_BLOCKS;
    const long long n = (args.first_block[2] + blockIdx.z) / (plan::ORDER == PLANES ? BLOCKS : 1);
    const count_t row = count_t(args.first_block[1]) + blockIdx.y, column = count_t(args.first_block[0]) + blockIdx.x;
    const long long in_sample = (long long)place.depth * place.plane * layer::IN_CHANNELS;
    const long long out_sample = (long long)place.out_plane * layer::OUT_CHANNELS;
    const int load_width = widest_access(place.width, args.x, args.x, args.x);
    const int store_width = widest_access(place.out_width, args.y, layer::RESIDUAL ? args.residual : args.y, args.y);

    const index_t d = out_depth == 1 ? 0 : index_t(row / count_t(tiles_h));
    const int channel_block = plan::ORDER == PLANES   ? int((args.first_block[2] + blockIdx.z) % BLOCKS)
                              : plan::ORDER == INPUTS ? int(column % BLOCKS)
                                                      : int(column / count_t(tiles_w));
    place.q_w = int(plan::ORDER == PLANES   ? column
                    : plan::ORDER == INPUTS ? column / BLOCKS
                                            : column % count_t(tiles_w)) * plan::POSITIONS_W;
    place.q_h = int(row - count_t(d) * count_t(tiles_h)) * plan::POSITIONS_H;
    const int group = channel_block / CHANNEL_BLOCKS, first = channel_block % CHANNEL_BLOCKS * plan::BLOCK_CHANNELS;
    place.channel = group * layer::OUT_PER_GROUP + first;
    place.channels = min(plan::BLOCK_CHANNELS, layer::OUT_PER_GROUP - first);
    place.x = static_cast<const Element*>(args.x) + n * in_sample +
              (long long)group * layer::IN_PER_GROUP * place.depth * place.plane;
    place.w = static_cast<const Element*>(args.w) +
              ((long long)group * layer::IN_PER_GROUP * layer::OUT_PER_GROUP + first) * (layer::KERNEL_D * KH * KW);
    place.y = n * out_sample + place.channel * (long long)place.out_plane + d * place.out_height * place.out_width;

    find_depth_taps(place, d);
    compute_block(args, place, load_width, store_width);
}

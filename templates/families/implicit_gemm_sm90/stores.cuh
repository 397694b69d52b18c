// implicit_gemm_sm90: stores.

// Of a warp that multiplies and stores.
template <class T>
__device__ __forceinline__ void store_tile(const ConvtArgs& args, const Work& work, const Part& part, const Finish& finish,
                                           T& sums) {
    finish_sums(work, part, sums);
    if constexpr (layer::RESIDUAL) {
        store_sums(args, work, part, sums);
    } else {
        const bool broken = is_broken(sums);
        char* const slab = slab_of(threadIdx.x / 32);
#pragma unroll 1
        for (int turn = 0; turn < STRIP_SLABS; ++turn) {
            const unsigned zero = args.batch < 0 ? turn : 0;
            static_for<0, STRIP_SLABS>([&](auto t) {
                constexpr int TURN = decltype(t)::value;
                if (turn == TURN)
                    write_strips<TURN / STRIP_PASSES, TURN % STRIP_PASSES>(finish, sums, zero, slab);
            });
            __syncwarp();
            if (broken) repair_strips(args, work, part, turn, slab);
            store_strips(args, work, part, turn, slab);
            __syncwarp();
        }
    }
}

// Between a warp that multiplies and the one that stores its outputs: two barriers, full and empty.
constexpr int SLABS_BARRIERS_AT = TEAM_BARRIERS_AT + 8 * plan::TEAMS;
constexpr int SHARED_BYTES = SLABS_BARRIERS_AT + (STORERS ? 16 * 4 * CONSUMERS : 0);
__device__ __forceinline__ unsigned slabs_full(int warp) {
    return shared_address(shared_memory()) + SLABS_BARRIERS_AT + 16 * warp;
}
__device__ __forceinline__ unsigned slabs_empty(int warp) { return slabs_full(warp) + 8; }

// Of a warp that leaves its outputs to another. parity: of the tile's number.
__device__ __forceinline__ void leave_tile(const ConvtArgs& args, const Work& work, const Part& part, const Finish& finish,
                                           unsigned parity, Sums& sums) {
    finish_sums(work, part, sums);
    const int warp = threadIdx.x / 32;
    char* const slabs = slab_of(warp);
    barrier_wait(slabs_empty(warp), parity ^ 1);
    const bool broken = is_broken(sums);
    static_for<0, STRIP_SLABS>([&](auto t) {
        constexpr int TURN = decltype(t)::value;
        write_strips<TURN / STRIP_PASSES, TURN % STRIP_PASSES>(finish, sums, args.batch < 0 ? TURN : 0,
                                                               slabs + TURN * STRIP_SLAB);
    });
    if (broken) {
        __syncwarp();
#pragma unroll 1
        for (int turn = 0; turn < STRIP_SLABS; ++turn) repair_strips(args, work, part, turn, slabs + turn * STRIP_SLAB);
    }
    barrier_arrive(slabs_full(warp));
}

// Stores what the warps of the same number in all warpgroups leave.
__device__ __forceinline__ void store_left(const ConvtArgs& args, const Tiles& tiles) {
    const int own = threadIdx.x / 32 % 4;
    unsigned parity = 0;
#pragma unroll 1
    for (long long tile = blockIdx.x; tile < tiles.count; tile += gridDim.x, parity ^= 1) {
        const Work work = work_of(args, tiles, tile);
#pragma unroll 1
        for (int group = 0; group < TEAM; ++group) {
            const int warp = group * 4 + own;
            const Part part = part_of(group, own);
            barrier_wait(slabs_full(warp), parity);
#pragma unroll 1
            for (int turn = 0; turn < STRIP_SLABS; ++turn)
                store_strips(args, work, part, turn, slab_of(warp) + turn * STRIP_SLAB);
            barrier_arrive(slabs_empty(warp));
        }
    }
}

// implicit_gemm_sm90: one block.

// What the products need to know of a tile. The rest is worked out again when they are done, for it would take registers
// meanwhile.
struct Multiplied {
    int chunks, taps_h, first_tap_d;
    __device__ __forceinline__ explicit Multiplied(const Work& work)
        : chunks(work.chunks), taps_h(work.rows.taps), first_tap_d(work.first_tap_d) {}
};

// Multiplies and stores every tile of the block that is the team's.
__device__ __forceinline__ void consume(const ConvtArgs& args, const Tiles& tiles) {
    // All lanes of a warp agree, and the compiler is to know it.
    const int group = __shfl_sync(0xffffffff, threadIdx.x / 128, 0), warp = threadIdx.x / 32 % 4, lane = threadIdx.x % 32;
    const int team = group / TEAM;
    const Part part = part_of(group % TEAM, warp);
    const unsigned shared = shared_address(shared_memory());
    const unsigned first_a = shared + (plan::RESIDENT ? WEIGHTS_AT : INPUT_STAGE * 16) + part.product_row / 64 * (64 * 16);
    const unsigned first_b = shared + (part.row * ROW_STEP * TILE_W + part.column) * 16;
    if (plan::RESIDENT) barrier_wait(shared + WEIGHTS_BARRIER_AT, 0);

    Position position;
    int turn = 0;
    unsigned parity = team == 0 ? 1 : 0;  // the first team waits for nobody at first
    Multiplied next(work_of(args, tiles, blockIdx.x));
#pragma unroll 1
    for (long long tile = blockIdx.x; tile < tiles.count; tile += gridDim.x) {
        const Multiplied work = next;
        const bool own = turn == team;
        if (++turn == plan::TEAMS) turn = 0;
        if (!own) {
            next = Multiplied(work_of(args, tiles, tile + gridDim.x));
            position.count += work.chunks;
            continue;
        }
        Sums sums;
        fill(sums, first_sum(work.chunks));
        if (plan::TEAMS > 1) barrier_wait(shared + TEAM_BARRIERS_AT + 8 * team, parity);
        parity ^= 1;
#pragma unroll 1
        for (int chunk = 0; chunk < work.chunks; ++chunk, ++position.count) {
            barrier_wait(position.full(shared), position.turn());
            const int stage = position.slot() * (STAGE * 16);
            const int weights =
                plan::RESIDENT ? Chunk(chunk, work.first_tap_d, work.taps_h).weights * (WEIGHT_STAGE * 16) : stage;
            multiply_stage(of_warp(operand(first_a + weights, BLOCK_ROWS * 16)), of_warp(operand(first_b + stage, PLANE * 16)),
                           work.taps_h, sums);
            if constexpr (SPLIT) {
                if (lane == 0) barrier_arrive(position.empty(shared));
            } else {  // the products of the chunk before are done
                products_wait<1>();
                if (chunk > 0 && lane == 0) barrier_arrive(Position{position.count - 1}.empty(shared));
            }
        }
        if (plan::TEAMS > 1 && lane == 0) barrier_arrive(shared + TEAM_BARRIERS_AT + 8 * ((team + 1) % plan::TEAMS));
        // While the last products are under way. Beyond the last tile there is nothing that is wrong to work out.
        const Work done = work_of(args, tiles, made_new(tile));
        const Finish finish(args, done, part);
        next = Multiplied(work_of(args, tiles, made_new(tile) + gridDim.x));
        if constexpr (!SPLIT) {
            products_wait<0>();
            if (work.chunks > 0 && lane == 0) barrier_arrive(Position{position.count - 1}.empty(shared));
        }
        if constexpr (STORERS)
            leave_tile(args, done, part, finish, parity, sums);
        else
            store_tile(args, done, part, finish, sums);
    }
}
extern "C" __global__ void __launch_bounds__(THREADS, plan::MIN_BLOCKS)
    CONVT_ENTRY(const __grid_constant__ ConvtArgs args) {
    if (threadIdx.x == 0) {
        const unsigned shared = shared_address(shared_memory());
        for (unsigned slot = 0; slot < plan::STAGES; ++slot) {
            barrier_init(Position{slot}.full(shared), SQUAD_THREADS / 32 + (plan::RESIDENT ? 0 : 1));
            barrier_init(Position{slot}.empty(shared), 4 * TEAM);
        }
        if (plan::RESIDENT) barrier_init(shared + WEIGHTS_BARRIER_AT, 1);
        for (int team = 0; team < plan::TEAMS; ++team) barrier_init(shared + TEAM_BARRIERS_AT + 8 * team, 4 * TEAM);
        for (int warp = 0; STORERS && warp < 4 * CONSUMERS; ++warp) {
            barrier_init(slabs_full(warp), 32);
            barrier_init(slabs_empty(warp), 32);
        }
        publish_to_tensor_cores();
    }
    __syncthreads();
    const Tiles tiles(args);
    if (threadIdx.x < CONSUMER_THREADS) {
        if constexpr (UNEVEN) set_registers<CONSUMER_REGISTERS, EVEN_REGISTERS>();
        consume(args, tiles);
    } else if (!STORERS || threadIdx.x < CONSUMER_THREADS + PRODUCER_THREADS) {
        if constexpr (UNEVEN) set_registers<PRODUCER_REGISTERS, EVEN_REGISTERS>();
        produce(args, tiles);
    } else {
        if constexpr (UNEVEN) set_registers<STORER_REGISTERS, EVEN_REGISTERS>();
        store_left(args, tiles);
    }
}

// unrolled: transposed convolution on the CUDA cores with all taps unrolled into registers. NC* tensors.
//
// Outputs are written o = STRIDE*q + r per axis. A block owns POSITIONS_H x POSITIONS_W positions q of one output depth,
// all phases of them and BLOCK_CHANNELS output channels of one group. A thread holds ROWS x COLUMNS positions, CHANNELS
// output channels and all column phases, so that its outputs of a row are one contiguous run. The input tile and the
// weights come in a ring of STAGES chunks of channels. A warp puts its run of a row into a slab of shared memory and
// writes it as whole lines; rows that no tap reaches are written first, while the loads fly. Depth taps of a plane only
// lengthen the loop over chunks.

// Constants of the tile.
constexpr int ROWS = plan::ROWS, COLUMNS = plan::COLUMNS, CHANNELS = plan::CHANNELS;
constexpr int THREADS_X = plan::POSITIONS_W / COLUMNS, THREADS_Y = plan::POSITIONS_H / ROWS;
constexpr int PLACES = THREADS_X * THREADS_Y;  // threads that differ in position only
enum RowPhases { TOGETHER, IN_TURN, SIDE_BY_SIDE };
enum Order { INPUTS, ROWS_OF_OUTPUT, PLANES };  // which blocks run side by side: that read, or write, the same
constexpr bool SPLIT = plan::ROW_PHASES != TOGETHER;
constexpr int PHASE_THREADS = plan::ROW_PHASES == SIDE_BY_SIDE ? Vertical::used() : 1;
constexpr int TEAM = PLACES * plan::CHANNEL_THREADS * PHASE_THREADS;  // threads that share one share of the channels
constexpr int THREADS = TEAM * plan::REDUCTION_THREADS;
constexpr int WARPS = ceil_div(THREADS, 32);
constexpr int TURNS = plan::BLOCK_CHANNELS / (CHANNELS * plan::CHANNEL_THREADS);  // channel vectors one after the other
constexpr int CHANNEL_BLOCKS = ceil_div(layer::OUT_PER_GROUP, plan::BLOCK_CHANNELS);

constexpr int TILE_H = plan::POSITIONS_H + Vertical::high() - Vertical::low();
constexpr int FIRST_COLUMN = floor_to(Horizontal::low(), VECTOR);  // tiles start where a vector of the image starts
constexpr int TILE_W = round_up(plan::POSITIONS_W + Horizontal::high() - FIRST_COLUMN, VECTOR);
constexpr int DEPTH_TAPS = ceil_div(layer::KERNEL_D, layer::TAP_STEP_D);  // of one output depth, at most
constexpr int DEPTH_CHUNKS = ceil_div(layer::IN_PER_GROUP, plan::CHUNK);
constexpr int MOST_CHUNKS = DEPTH_TAPS * DEPTH_CHUNKS;
constexpr int STAGES = plan::STAGES < MOST_CHUNKS ? plan::STAGES : MOST_CHUNKS;
constexpr bool RESIDENT = STAGES == MOST_CHUNKS;  // every chunk has a stage of its own and serves all turns
static_assert(RESIDENT || STAGES > 1, "a ring needs two stages");
static_assert(RESIDENT || TURNS * (plan::ROW_PHASES == IN_TURN ? Vertical::used() : 1) == 1,
              "a ring passes only once");

// Weights of one input channel and channel vector, CHANNELS innermost; where a row phase is computed by itself, taps are
// sorted by row phase, each padded to whole 16-byte reads.
__host__ __device__ constexpr int weight_run(int r) {
    return SPLIT ? round_up(Vertical::taps(r) * KW * CHANNELS, 4) : r == 0 ? round_up(KH * KW * CHANNELS, 4) : 0;
}
__host__ __device__ constexpr int weight_base(int r) {
    int n = 0;
    for (int q = 0; q < r; ++q) n += weight_run(q);
    return n;
}
__host__ __device__ constexpr int weight_row(int kh) {  // where tap row kh starts
    const int r = Vertical::phase(kh);
    return weight_base(r) + (Vertical::place(kh) - Vertical::first(r)) * KW * CHANNELS;
}
constexpr int WEIGHT_PITCH = weight_base(SH);
constexpr int STAGED_VECTORS = RESIDENT ? plan::BLOCK_CHANNELS / CHANNELS : plan::CHANNEL_THREADS;

constexpr int ROW_SETS = SPLIT ? 1 : Vertical::used(), COLUMN_SETS = Horizontal::used();
constexpr int SUMS = ROW_SETS * COLUMN_SETS * CHANNELS * ROWS * COLUMNS;
constexpr int RUN = COLUMNS * SW;  // a thread's contiguous outputs in a row
constexpr int SLAB = plan::SLABS ? 32 * RUN : 0;

constexpr int INPUT_STAGE = round_up(plan::CHUNK * TILE_H * TILE_W * int(sizeof(Element)), 16);  // bytes
constexpr int WEIGHT_STAGE = STAGED_VECTORS * plan::CHUNK * WEIGHT_PITCH * 4;
constexpr int FINISH_BYTES = round_up(plan::BLOCK_CHANNELS * int(sizeof(EpilogueChannel)), 32);
constexpr int INPUT_BYTES = STAGES * INPUT_STAGE > (plan::REDUCTION_THREADS > 1 ? THREADS * SUMS * 4 : 0)
                                ? STAGES * INPUT_STAGE
                                : round_up(THREADS * SUMS * 4, 16);

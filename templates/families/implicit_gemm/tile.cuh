// implicit_gemm: transposed convolution as matrix products on tensor cores (mma.sync). NC* tensors.
//
// Outputs are written o = STRIDE*q + r per axis. A block owns POSITIONS_H x POSITIONS_W positions q of one output depth,
// one row phase, all column phases and BLOCK_CHANNELS output channels of one group. Rows of the product are output
// channels, columns are positions, and the sum runs over taps and input channels. The input tile of a chunk of channels
// lies in shared memory once, as planes of words (device/mma.cuh): a tap is nothing but another first position in them.
// Weights lie there in the order in which lanes hold them, as they do in packed memory. Depth taps of a plane only
// lengthen the loop over chunks. Sums go through a slab of shared memory, where column phases come to lie side by side,
// and leave as whole lines. Where there are too few blocks, plan::SPLIT of them share the chunks of one tile, and leave
// their sums to device/reduce.cuh.
//
// Folded (src/plan/fold.h), FOLD_H x FOLD_W neighbouring outputs of a channel are rows of one product, as if they were
// channels: taps, phases and positions are those of the folded layer, and only packing and stores know better.

// Constants of the tile.
enum Order { INPUTS, PLANES };                 // which blocks run side by side: that read, or write, the same
constexpr bool NARROW = sizeof(Element) == 2;  // a word holds two channels
constexpr bool SPLIT_FACTORS = !NARROW && !layer::TF32;  // f32 factors are sums of two tf32 numbers
constexpr int WORD_CHANNELS = NARROW ? 2 : 1;
constexpr int CHUNK_WORDS = plan::CHUNK / WORD_CHANNELS;
// An mma sums over 8 words: of a tap, or, where a chunk has no more than 4, of two column taps of a phase.
constexpr bool PAIRED = CHUNK_WORDS == 4;
constexpr int STEPS = PAIRED ? 1 : CHUNK_WORDS / 8;
constexpr int WARPS = plan::WARPS_M * plan::WARPS_N, THREADS = 32 * WARPS;
constexpr int M_TILES = plan::BLOCK_CHANNELS / 16, WARP_M = M_TILES / plan::WARPS_M;
// Positions, 8 at a time: a warp has WARP_ROWS x WARP_COLUMNS of them.
constexpr int ROW_TILES = plan::POSITIONS_W / 8, WARP_N = plan::POSITIONS_H * ROW_TILES / plan::WARPS_N;
constexpr int WARP_ROWS = plan::WARP_ROWS > 0 ? plan::WARP_ROWS : ceil_div(WARP_N, ROW_TILES);
constexpr int WARP_COLUMNS = WARP_N / WARP_ROWS;
constexpr int WARPS_ACROSS = ROW_TILES / WARP_COLUMNS;  // side by side along a row
static_assert(WARP_N % WARP_ROWS == 0 && ROW_TILES % WARP_COLUMNS == 0 && plan::POSITIONS_H % WARP_ROWS == 0,
              "warps share the positions");
constexpr int FOLD = plan::FOLD_H * plan::FOLD_W;
constexpr int BLOCK_OUTPUTS = plan::BLOCK_CHANNELS / FOLD;  // output channels of a block
constexpr int CHANNEL_BLOCKS = ceil_div(layer::OUT_PER_GROUP, BLOCK_OUTPUTS);
// The two rows of a tile of 16 that a lane has are neighbours where that makes them neighbours in a line.
constexpr bool NEIGHBOURS = plan::FOLD_W % 2 == 0;
__device__ __forceinline__ int row_of_tile(int lane_group, int half) {
    return NEIGHBOURS ? 2 * lane_group + half : lane_group + 8 * half;
}
// Outputs of the first position that lie before the image.
constexpr int SKEW_H = whole::PAD_H % plan::FOLD_H, SKEW_W = whole::PAD_W % plan::FOLD_W;
// Some weights are zeros that a finite sum does not notice. Others are computed once more.
constexpr bool HOLES = whole::KERNEL_H % plan::FOLD_H != 0 || whole::KERNEL_W % plan::FOLD_W != 0;
constexpr bool REPAIRS = SPLIT_FACTORS || HOLES;

constexpr int TAPS_H = ceil_div(KH, layer::TAP_STEP_H);  // of a row phase, at most
// Whether what a warp reads of an input row serves all row taps that meet it. All row phases have as many taps, then.
constexpr bool SHARES_ROWS = WARP_ROWS > 1 && TAPS_H > 1 && KH % layer::TAP_STEP_H == 0;
constexpr int TILE_H = plan::POSITIONS_H + (TAPS_H - 1) * layer::OFFSET_STEP_H;
constexpr int FIRST_COLUMN = floor_to(Horizontal::low(), VECTOR);  // tiles start where a vector of the image starts
constexpr int TILE_W = round_up(plan::POSITIONS_W + Horizontal::high() - FIRST_COLUMN, VECTOR);
// Lanes read 8 positions of 4 planes at a time: planes are 8 banks apart.
constexpr int PLANE = TILE_H * TILE_W + (40 - TILE_H * TILE_W % 32) % 32;
constexpr int DEPTH_TAPS = ceil_div(layer::KERNEL_D, layer::TAP_STEP_D);  // of one output depth, at most
constexpr int DEPTH_CHUNKS = ceil_div(layer::IN_PER_GROUP, plan::CHUNK);
constexpr int MOST_CHUNKS = ceil_div(DEPTH_TAPS * DEPTH_CHUNKS, plan::SPLIT);  // of one block
constexpr int STAGES = plan::STAGES < MOST_CHUNKS ? plan::STAGES : MOST_CHUNKS;

constexpr int COLUMN_SETS = Horizontal::used();
constexpr int LINE = plan::POSITIONS_W * SW * plan::FOLD_W;  // outputs of a block in one row
// Of 16 channels of each warp at a time, or, folded, of all of them: POSITIONS_H lines of a channel, or of each of the
// FOLD_H rows that are taken together.
constexpr int SLAB_SETS = FOLD > 1 ? BLOCK_OUTPUTS * plan::FOLD_H : 16 * plan::WARPS_M;
// Lanes write runs of 2*SW outputs, times those that are taken together, of 4 positions and 8 rows: so far apart that they
// use all banks, where they can.
constexpr int SLAB_REST = SW * plan::FOLD_W == 2 ? 16 : SW * plan::FOLD_W == 4 && plan::FOLD_W > 1 ? 4 : 8;
constexpr int SLAB_PITCH =
    plan::POSITIONS_H * LINE + (SLAB_REST + 32 - plan::POSITIONS_H * LINE % 32) % 32;

// Column taps, one by one or in pairs, in the order of their weights: `slots` before those of a phase.
__host__ __device__ constexpr int slots_before(int phase) {
    int slots = 0;
    for (int r = 0; r < phase; ++r) slots += ceil_div(Horizontal::taps(r), 2);
    return slots;
}
constexpr int SLOTS = PAIRED ? slots_before(SW) : KW;
constexpr int TAP_WORDS = STEPS * M_TILES * 128;  // weights of one slot and chunk
constexpr int INPUT_STAGE = CHUNK_WORDS * PLANE, WEIGHT_STAGE = TAPS_H * SLOTS * TAP_WORDS;  // words
constexpr int USED_ROWS = layer::TAP_STEP_H < KH ? layer::TAP_STEP_H : KH;  // row phases that have taps
// Packed weights of one channel block and row phase.
constexpr long long PHASE_WORDS = (long long)layer::KERNEL_D * DEPTH_CHUNKS * WEIGHT_STAGE;
static_assert(plan::PACKED_BYTES == 4 * PHASE_WORDS * USED_ROWS * CHANNEL_BLOCKS * layer::GROUPS,
              "ImplicitGemmTile::packed_bytes says otherwise");
constexpr int RING = STAGES * (INPUT_STAGE + WEIGHT_STAGE);
constexpr int SLAB = SLAB_SETS * SLAB_PITCH;
constexpr int FINISH = RING > SLAB ? RING : SLAB;  // where the channels' epilogue parts are

// implicit_gemm_sm90: transposed convolution as matrix products of warpgroups (wgmma, Hopper). NC* tensors.
//
// Outputs are written o = STRIDE*q + r per axis. A tile is POSITIONS_H x POSITIONS_W positions q of one output depth, one
// row phase, all column phases and BLOCK_CHANNELS output channels of one group. Rows of the product are output channels,
// columns are positions, and the sum runs over taps and input channels.
// Folded, a position is FOLD output rows instead of one row phase, and rows of the product are those times output
// channels: all meet the same input rows, with weights of zero where an output row has no tap there.
// Where a batch of small images is many, a tile has the same positions of IMAGES samples: its rows are row 0 of each, row 1
// of each, and so on, so that a row tap is still one distance for all of them.
// A block takes one tile after the other. Warpgroups that load turn its input, a chunk of channels at a time, into cells
// of 16 bytes: neighbouring channels of one pixel, so that a tap is nothing but another first cell. Packed weights come by
// bulk copies, with each chunk, or once where there is room for all. Teams of the other warpgroups take tiles in turn, 64
// channels a warpgroup, so that one team stores while another multiplies. Depth taps only lengthen the loop over chunks.
// Sums go through slabs of shared memory, a warp its own, where column phases come to lie side by side, and leave as lines.
// Where there are warpgroups that store, those that multiply leave all of their outputs there and go on with the next tile.

// Constants of the tile.
constexpr bool NARROW = sizeof(Element) == 2;
constexpr bool SPLIT = !NARROW && !layer::TF32;  // f32 factors are sums of two tf32 numbers
constexpr int PARTS = SPLIT ? 2 : 1;
constexpr int CELL = 16 / int(sizeof(Element));  // channels of a cell
constexpr int STEPS = plan::CHUNK / (2 * CELL);  // a product sums over two cells
constexpr int TEAM = plan::GROUPS_M * plan::GROUPS_N, CONSUMERS = plan::TEAMS * TEAM;
constexpr int CONSUMER_THREADS = 128 * CONSUMERS;
constexpr int PRODUCER_THREADS = 128 * plan::LOADERS, STORER_THREADS = 128 * plan::STORERS;
constexpr int THREADS = CONSUMER_THREADS + PRODUCER_THREADS + STORER_THREADS;
constexpr bool STORERS = plan::STORERS > 0;
constexpr int BLOCK_ROWS = 64 * plan::GROUPS_M;  // of products
constexpr bool FOLDED = plan::FOLD > 1;
constexpr int FOLDED_ROWS = BLOCK_ROWS / plan::FOLD / 8 * 8;
constexpr int BLOCK_CHANNELS = !FOLDED                                                ? BLOCK_ROWS
                               : FOLDED_ROWS < round_up(layer::OUT_PER_GROUP, 8) ? FOLDED_ROWS
                                                                                 : round_up(layer::OUT_PER_GROUP, 8);
constexpr int LINES = FOLDED ? plan::FOLD : SH;      // output rows from one position to the next
constexpr int ROW_PHASES = FOLDED ? 1 : SH;          // that are tiles of their own
constexpr int ROW_STEP = FOLDED ? plan::FOLD / SH : 1;  // input rows from one position to the next
constexpr int IMAGES = plan::IMAGES, IMAGE_ROWS = plan::POSITIONS_H / IMAGES;
static_assert(IMAGES == 1 || (ROW_STEP == 1 && plan::POSITIONS_H % IMAGES == 0), "rows of all images alternate");
static_assert(!FOLDED || (plan::FOLD % SH == 0 && BLOCK_CHANNELS > 0), "a position is whole steps of the stride");
constexpr int CHANNEL_BLOCKS = ceil_div(layer::OUT_PER_GROUP, BLOCK_CHANNELS);
static_assert(PARTS * STEPS * 2 * CELL == plan::CHUNK * PARTS, "a chunk is whole steps");

// The positions of a warpgroup, 8 at a time: a tile 8 wide is one run of columns, else each row is.
constexpr bool TALL = plan::POSITIONS_W == 8;
constexpr int ROW_TILES = plan::POSITIONS_W / 8, OWN_TILES = plan::POSITIONS_H * ROW_TILES / plan::GROUPS_N;
constexpr int RUN_TILES = TALL || OWN_TILES < ROW_TILES ? OWN_TILES : ROW_TILES;  // of one product
constexpr int RUNS = OWN_TILES / RUN_TILES, RUN_SUMS = 4 * RUN_TILES;
constexpr int LINE_TILES = TALL ? 1 : RUN_TILES;  // of a row
static_assert(plan::POSITIONS_H * ROW_TILES % plan::GROUPS_N == 0 && OWN_TILES % RUN_TILES == 0 &&
                  (TALL || ROW_TILES % RUN_TILES == 0),
              "a warpgroup has a part of one row, or whole rows");

// The input row of a position's first output row, `line` rows on, from its own first input row on; only where exact.
__host__ __device__ constexpr bool meets(int line, int kh) { return modulo(line - kh * layer::DILATION_H + layer::PAD_H, SH) == 0; }
__host__ __device__ constexpr int meets_at(int line, int kh) { return (line - kh * layer::DILATION_H + layer::PAD_H) / SH; }
__host__ __device__ constexpr int folded_high() {
    int high = -(1 << 20);
    for (int line = 0; line < LINES; ++line)
        for (int kh = 0; kh < KH; ++kh)
            if (meets(line, kh) && meets_at(line, kh) > high) high = meets_at(line, kh);
    return high;
}
__host__ __device__ constexpr int folded_low() {
    int low = 1 << 20;
    for (int line = 0; line < LINES; ++line)
        for (int kh = 0; kh < KH; ++kh)
            if (meets(line, kh) && meets_at(line, kh) < low) low = meets_at(line, kh);
    return low;
}

// Input rows that a position meets, one "row tap" each; not folded, the taps of a row phase, at most.
constexpr int TAPS_H = FOLDED ? folded_high() - folded_low() + 1 : ceil_div(KH, layer::TAP_STEP_H);
constexpr int TAP_ROWS = FOLDED ? 1 : layer::OFFSET_STEP_H;  // input rows from one to the next
constexpr bool SAME_TAPS_H = FOLDED || KH % layer::TAP_STEP_H == 0;  // in all row phases
// Apart, each row tap has stages of its own, with the input rows that it meets; else a stage serves all.
constexpr bool APART = plan::APART != 0;
constexpr int STAGE_TAPS_H = APART ? 1 : TAPS_H, SET_TAPS_H = TAPS_H / STAGE_TAPS_H;
constexpr int TILE_H = ((IMAGE_ROWS - 1) * ROW_STEP + (STAGE_TAPS_H - 1) * TAP_ROWS + 1) * IMAGES;
// 16-bit pixels are loaded two at a time, from an even column on.
constexpr int PAIR = NARROW ? 2 : 1;
constexpr int FIRST_COLUMN = floor_to(Horizontal::low(), PAIR);
constexpr int TILE_W = round_up(plan::POSITIONS_W + Horizontal::high() - FIRST_COLUMN, PAIR);
constexpr int PLANE = TILE_H * TILE_W;  // cells
constexpr int DEPTH_CHUNKS = ceil_div(layer::IN_PER_GROUP, plan::CHUNK);
constexpr int COLUMN_SETS = Horizontal::used();

// In cells. A stage of input is [part][step][half of the step][pixel], of weights [row tap][column tap][step][part][half]
// [row of the product].
constexpr int INPUT_STAGE = STEPS * PARTS * 2 * PLANE, TAP_CELLS = STEPS * PARTS * 2 * BLOCK_ROWS;
constexpr int WEIGHT_STAGE = STAGE_TAPS_H * KW * TAP_CELLS;
constexpr int WEIGHT_SETS = layer::GROUPS * CHANNEL_BLOCKS * ROW_PHASES;       // a tile needs one
constexpr int WEIGHT_SET = layer::KERNEL_D * SET_TAPS_H * DEPTH_CHUNKS * WEIGHT_STAGE;
constexpr int STAGE = INPUT_STAGE + (plan::RESIDENT ? 0 : WEIGHT_STAGE);
static_assert((long long)WEIGHT_SETS * WEIGHT_SET * 16 == plan::PACKED_BYTES, "the plan counts the same bytes");

// With a residual, sums pass through a warp's slab as pieces of lines, of 8 channels at a time.
constexpr int MOST_PASS_TILES = SW < 16 ? 16 / SW : 1;
constexpr int PIECE_TILES = largest_divisor(LINE_TILES, MOST_PASS_TILES), PIECE = 8 * PIECE_TILES * SW;  // outputs
constexpr int PASS_PIECES = largest_divisor(OWN_TILES / PIECE_TILES, MOST_PASS_TILES / PIECE_TILES);
constexpr int PASS_TILES = PASS_PIECES * PIECE_TILES, PASSES = OWN_TILES / PASS_TILES;
constexpr int SLAB_PITCH = PASS_PIECES * PIECE + (SW == 2 ? 48 - PASS_PIECES * PIECE % 32
                                                          : 40 - PASS_PIECES * PIECE % 32) % 32;
constexpr int SLAB = 8 * SLAB_PITCH;  // floats
constexpr int SLABS = 2 * PASSES;  // that a warp's sums would fill

// Else finished outputs do, as strips: pieces of an output row and channel. A slab has some of 8 channels; a warp has one,
// or, where others store, as many as its sums fill.
constexpr int TILE_BYTES = 8 * SW * int(sizeof(Element));
constexpr int fit(int most, int bytes) { return bytes < most ? most / bytes : 1; }
constexpr int STRIP_TILES = largest_divisor(LINE_TILES, fit(512, TILE_BYTES));
constexpr int STRIP = 8 * STRIP_TILES * SW, STRIP_BYTES = STRIP_TILES * TILE_BYTES;
constexpr int SLAB_STRIPS = largest_divisor(OWN_TILES / STRIP_TILES, fit(256, STRIP_BYTES));  // of a channel
constexpr int STRIP_PASSES = OWN_TILES / (SLAB_STRIPS * STRIP_TILES), STRIP_SLABS = 2 * STRIP_PASSES;
// Strips of neighbouring channels meet different banks.
constexpr int BANKS = 128, STRIP_STEP = TILE_BYTES < 32 ? TILE_BYTES : 32;
constexpr int STRIP_PITCH = STRIP_BYTES % BANKS < STRIP_STEP           ? floor_to(STRIP_BYTES, BANKS) + STRIP_STEP
                            : STRIP_BYTES % BANKS > BANKS - STRIP_STEP ? round_up(STRIP_BYTES, BANKS) + STRIP_STEP
                                                                       : STRIP_BYTES;
constexpr int STRIP_SLAB = 8 * SLAB_STRIPS * STRIP_PITCH;  // bytes

// In bytes.
constexpr int SLAB_BYTES = layer::RESIDUAL ? SLAB * 4 : (STORERS ? STRIP_SLABS : 1) * STRIP_SLAB;  // of a warp
constexpr int WEIGHTS_AT = plan::STAGES * STAGE * 16, SLABS_AT = WEIGHTS_AT + (plan::RESIDENT ? WEIGHT_SET * 16 : 0);
constexpr int BARRIERS_AT = SLABS_AT + 4 * CONSUMERS * SLAB_BYTES;

// Sums come out as NaN where a factor cannot be split, and where weights of zero meet what is not finite.
constexpr bool REPAIRED = SPLIT || FOLDED;

// A thread's registers, as launched, of consumers, of storers and of producers, which get what is left.
constexpr int EVEN_REGISTERS = 65536 / (THREADS * plan::MIN_BLOCKS) / 8 * 8;
constexpr int ALL_REGISTERS = EVEN_REGISTERS * (CONSUMERS + plan::LOADERS + plan::STORERS), STORER_REGISTERS = 80;
constexpr int OWN_SUMS = 4 * OWN_TILES * (COLUMN_SETS + (SPLIT ? 1 : 0));
// What consumers need beside their sums, and what they had better have where those who load can spare it.
constexpr int LEAST_REGISTERS = round_up(OWN_SUMS + 40, 8);
constexpr int MOST_REGISTERS = SPLIT ? LEAST_REGISTERS : LEAST_REGISTERS < 208 ? LEAST_REGISTERS + 32 : 240;
constexpr int SPARE_REGISTERS =
    (ALL_REGISTERS - STORER_REGISTERS * plan::STORERS - 104 * plan::LOADERS) / CONSUMERS / 8 * 8;
constexpr int OWN_REGISTERS = SPARE_REGISTERS > MOST_REGISTERS    ? MOST_REGISTERS
                              : SPARE_REGISTERS > LEAST_REGISTERS ? SPARE_REGISTERS
                                                                  : LEAST_REGISTERS;
constexpr int CONSUMER_REGISTERS = OWN_REGISTERS > EVEN_REGISTERS ? OWN_REGISTERS : EVEN_REGISTERS;
constexpr int LEFT_REGISTERS =
    (ALL_REGISTERS - CONSUMER_REGISTERS * CONSUMERS - STORER_REGISTERS * plan::STORERS) / plan::LOADERS / 8 * 8;
constexpr int PRODUCER_REGISTERS = LEFT_REGISTERS < 152 ? LEFT_REGISTERS : 152;  // more would be held than ptxas keeps
constexpr bool UNEVEN = STORERS || CONSUMER_REGISTERS > EVEN_REGISTERS;

// What is multiplied in a value's place, and, where it is split, what that leaves.
template <class T>
__device__ __forceinline__ T factor(T value, T& low) {
    if constexpr (sizeof(T) == 4) {
        unsigned high, rest;
        if constexpr (SPLIT) {
            tf32_words(value, high, rest);
            low = __uint_as_float(rest);
        } else {
            high = tf32_word(value);
        }
        value = __uint_as_float(high);
    }
    return value;
}

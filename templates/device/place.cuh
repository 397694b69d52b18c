// Place: what a block works on, of channels-first tensors.

struct Place {
    const Element* x;     // first channel of the group, the sample
    const Element* w;     // first weight of the channel block
    long long y;          // offset of the block's first output channel, at its depth, in y and in the residual
    int channel;          // of all output channels: first of the block
    int channels;         // that exist in the block
    int q_h, q_w;         // first position
    int taps_d, first_tap_d;
    index_t first_d;      // input depth of the first depth tap
    index_t depth, height, width, plane;  // of the input
    index_t out_height, out_width, out_plane;
};

// Sizes of the input and of the output, the same for all blocks. Returns the depth of the output.
__device__ __forceinline__ index_t find_sizes(Place& place, const ConvtArgs& args) {
    place.depth = index_t(args.in[0]), place.height = index_t(args.in[1]), place.width = index_t(args.in[2]);
    place.plane = place.height * place.width;
    place.out_height = index_t(args.out[1]), place.out_width = index_t(args.out[2]);
    const index_t out_depth = index_t(args.out[0]);
    place.out_plane = out_depth * place.out_height * place.out_width;
    return out_depth;
}

// The depth taps of output plane d that fall into the image.
__device__ __forceinline__ void find_depth_taps(Place& place, index_t d) {
    if constexpr (layer::KERNEL_D == 1 && layer::STRIDE_D == 1 && layer::PAD_D == 0) {
        place.first_tap_d = 0, place.first_d = d, place.taps_d = d < place.depth ? 1 : 0;
    } else {
        const Phase phase = PHASES_D[d % layer::STRIDE_D];
        place.first_tap_d = phase.first_tap, place.taps_d = phase.taps;
        place.first_d = d / layer::STRIDE_D + phase.first_offset;
        while (place.taps_d > 0 && place.first_d >= place.depth) {
            place.first_d -= layer::OFFSET_STEP_D, place.first_tap_d += layer::TAP_STEP_D, --place.taps_d;
        }
        while (place.taps_d > 0 && place.first_d - (place.taps_d - 1) * layer::OFFSET_STEP_D < 0) --place.taps_d;
    }
}

// The rows of a row phase.
struct Rows {
    int taps, first_tap;
    int high, low;  // input offsets of the first tap and of the last one
};
__device__ __forceinline__ Rows rows_of(int phase) {
    if constexpr (SH == 1) {
        return {KH, 0, Vertical::high(), Vertical::low()};
    } else {
        const Phase rows = PHASES_H[phase];
        return {rows.taps, rows.first_tap, int(rows.first_offset),
                int(rows.first_offset) - (rows.taps - 1) * layer::OFFSET_STEP_H};
    }
}

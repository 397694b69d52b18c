// implicit_gemm_sm90: packed weights.

// One cell of the packed weights, which lie as [group][block of channels][row phase][depth tap][row tap, where they are
// apart][chunk][a stage].
__device__ __forceinline__ Vector<unsigned, 4> packed_unit(const Element* w, unsigned long long unit) {
    const auto next = [&](int n) {
        const int index = int(unit % n);
        unit /= n;
        return index;
    };
    const int row = next(BLOCK_ROWS), half = next(2), part = next(PARTS), step = next(STEPS), kw = next(KW);
    const int stage_tap = next(STAGE_TAPS_H), chunk = next(DEPTH_CHUNKS), row_tap = next(SET_TAPS_H) + stage_tap;
    const int kd = next(layer::KERNEL_D), phase = next(ROW_PHASES);
    const int o = next(CHANNEL_BLOCKS) * BLOCK_CHANNELS + row % BLOCK_CHANNELS, group = int(unit);
    const int first = chunk * plan::CHUNK + (step * 2 + half) * CELL;
    int kh;
    bool exists = o < layer::OUT_PER_GROUP;
    if constexpr (FOLDED) {
        const int line = row / BLOCK_CHANNELS;
        const int distance = line + layer::PAD_H - (folded_high() - row_tap) * SH;
        kh = distance / layer::DILATION_H;
        exists = exists && line < plan::FOLD && distance >= 0 && distance % layer::DILATION_H == 0 && kh < KH;
    } else {
        const Phase rows = PHASES_H[phase];
        kh = rows.first_tap + row_tap * layer::TAP_STEP_H;
        exists = exists && row_tap < rows.taps;
    }
    alignas(16) Vector<Element, CELL> cell;
#pragma unroll
    for (int e = 0; e < CELL; ++e) {
        cell[e] = Element{};
        if (!exists || first + e >= layer::IN_PER_GROUP) continue;
        const long long at = ((((long long)(group * layer::IN_PER_GROUP + first + e) * layer::OUT_PER_GROUP + o) *
                                   layer::KERNEL_D + kd) * KH + kh) * KW + kw;
        Element low{};
        cell[e] = factor(load_global(w + at), low);
        if (part == 1) cell[e] = low;
    }
    return *reinterpret_cast<const Vector<unsigned, 4>*>(&cell);
}

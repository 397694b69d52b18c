// Pack: the kernel that puts the weights into the order in which the main one loads them, once for many launches.
// Needs from the family: Vector<unsigned, 4> packed_unit(const Element* w, unsigned long long unit), bytes 16*unit to
// 16*unit + 15 of the packed weights; and plan::PACKED_BYTES from the prologue.

static_assert(plan::PACKED_BYTES > 0 && plan::PACKED_BYTES % 16 == 0, "threads write 16 bytes each");

extern "C" __global__ void __launch_bounds__(256) CONVT_PACK_ENTRY(const __grid_constant__ PackArgs args) {
    const unsigned long long unit = blockIdx.x * 256ull + threadIdx.x;
    if (unit < (unsigned long long)plan::PACKED_BYTES / 16)
        store_global_for_next(static_cast<Vector<unsigned, 4>*>(args.packed) + unit,
                              packed_unit(static_cast<const Element*>(args.w), unit));
}

// Hopper: barriers in shared memory, bulk copies, and matrix products of a warpgroup from shared memory (sm_90a).

// A place in shared memory, in bytes.
__device__ __forceinline__ unsigned shared_address(const void* shared) {
#ifdef CONVT_SIM
    return unsigned(static_cast<const char*>(shared) - shared_memory());
#else
    return static_cast<unsigned>(__cvta_generic_to_shared(shared));
#endif
}

// A barrier that counts arrivals, and bytes that bulk copies bring. Its phases have a parity: 0 first.
__device__ __forceinline__ void barrier_init(unsigned barrier, int arrivals) {
#ifdef CONVT_SIM
    convt_sim::barrier_init(barrier, arrivals);
#else
    asm volatile("mbarrier.init.shared.b64 [%0], %1;" ::"r"(barrier), "r"(arrivals) : "memory");
#endif
}
__device__ __forceinline__ void barrier_arrive(unsigned barrier) {
#ifdef CONVT_SIM
    convt_sim::barrier_arrive(barrier, 0);
#else
    asm volatile("mbarrier.arrive.shared.b64 _, [%0];" ::"r"(barrier) : "memory");
#endif
}
__device__ __forceinline__ void barrier_arrive_expecting(unsigned barrier, unsigned bytes) {
#ifdef CONVT_SIM
    convt_sim::barrier_arrive(barrier, bytes);
#else
    asm volatile("mbarrier.arrive.expect_tx.shared.b64 _, [%0], %1;" ::"r"(barrier), "r"(bytes) : "memory");
#endif
}
// Waits for the end of the phase of that parity.
__device__ __forceinline__ void barrier_wait(unsigned barrier, unsigned parity) {
#ifdef CONVT_SIM
    convt_sim::barrier_wait(barrier, parity);
#else
    asm volatile(
        "{\n.reg .pred done;\n"
        "again: mbarrier.try_wait.parity.shared.b64 done, [%0], %1;\n"
        "@done bra over;\nbra again;\nover:\n}" ::"r"(barrier),
        "r"(parity)
        : "memory");
#endif
}

// Copies to shared memory, all addresses and sizes multiples of 16; arrives at the barrier as so many bytes.
__device__ __forceinline__ void copy_bulk(unsigned shared, const void* global, unsigned bytes, unsigned barrier) {
#ifdef CONVT_SIM
    convt_sim::copy_bulk(shared, global, bytes, barrier);
#else
    asm volatile(
        "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(shared),
        "l"(global), "r"(bytes), "r"(barrier)
        : "memory");
#endif
}

// What this thread wrote to shared memory may be read by the tensor cores from the next barrier on.
__device__ __forceinline__ void publish_to_tensor_cores() {
#ifndef CONVT_SIM
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
#endif
}

// Registers of a warpgroup's threads, which had BEFORE: given back or taken. All its warps must come by.
template <int REGISTERS, int BEFORE>
__device__ __forceinline__ void set_registers() {
#ifndef CONVT_SIM
    if constexpr (REGISTERS < BEFORE)
        asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(REGISTERS));
    else
        asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(REGISTERS));
#endif
}

// An operand of wgmma without swizzle: cells of 16 bytes, of which 8 neighbouring rows (of a) or columns (of b) form a
// block. `across`: bytes from a cell to the one of the same row that goes on along the summed axis. The bytes from a block
// of 8 to the next (`down`) are wgmma's constant. One more is the operand that begins a cell later.
__device__ __forceinline__ unsigned operand(unsigned shared, unsigned across) {
    return (shared & 0x3ffff) >> 4 | across >> 4 << 16;
}

#ifdef CONVT_SIM
// One of the two cells of a row (of a) or column (of b).
template <int DOWN>
__device__ inline const unsigned* cell_of_operand(unsigned operand, int row, int half) {
    const auto bytes = [&](int first_bit) { return unsigned(operand >> first_bit & 0x3fff) << 4; };
    return reinterpret_cast<const unsigned*>(shared_memory() + bytes(0) + half * bytes(16) + row / 8 * DOWN + row % 8 * 16);
}

// What a thread has of a product of a warpgroup.
template <class T, int COLUMNS, int A_DOWN, int B_DOWN>
inline void multiply_own(const convt_sim::Product& product) {
    const int warp = threadIdx.x / 32 % 4, lane = threadIdx.x % 32;
    for (int i = 0; i < COLUMNS / 2; ++i) {
        const int row = warp * 16 + lane / 4 + i / 2 % 2 * 8, column = i / 4 * 8 + lane % 4 * 2 + i % 2;
        double sum = product.keep ? product.sums[i] : 0;
        for (int half = 0; half < 2; ++half) {
            const unsigned* const a = cell_of_operand<A_DOWN>(product.a, row, half);
            const unsigned* const b = cell_of_operand<B_DOWN>(product.b, column, half);
            for (int k = 0; k < 4; ++k) sum += product_of_words<T>(a[k], b[k]);
        }
        product.sums[i] = cut_off(sum);
    }
}
#endif

__device__ __forceinline__ void products_begin() {
#ifndef CONVT_SIM
    asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
#endif
}
__device__ __forceinline__ void products_commit() {
#ifdef CONVT_SIM
    convt_sim::products_commit();
#else
    asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
#endif
}
// Waits until at most the NEWEST latest groups are still under way.
template <int NEWEST>
__device__ __forceinline__ void products_wait() {
#ifdef CONVT_SIM
    convt_sim::products_wait(NEWEST);
#else
    asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(NEWEST) : "memory");
#endif
}

// The same value, of which all lanes of the warp have one, in a register of the warp: operands of wgmma are taken from there.
__device__ __forceinline__ unsigned of_warp(unsigned value) {
#ifndef CONVT_SIM
    asm("redux.sync.or.b32 %0, %0, 0xffffffff;" : "+r"(value));
#endif
    return value;
}

// The same value, and the compiler does not know that it is.
__device__ __forceinline__ long long made_new(long long value) {
#ifndef CONVT_SIM
    asm volatile("" : "+l"(value));
#endif
    return value;
}

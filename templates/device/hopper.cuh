// Hopper: barriers in shared memory, bulk copies, and matrix products of a warpgroup from shared memory (sm_90a).

__device__ __forceinline__ unsigned shared_address(const void* shared) {
    return static_cast<unsigned>(__cvta_generic_to_shared(shared));
}

// A barrier that counts arrivals, and bytes that bulk copies bring. Its phases have a parity: 0 first.
__device__ __forceinline__ void barrier_init(unsigned barrier, int arrivals) {
    asm volatile("mbarrier.init.shared.b64 [%0], %1;" ::"r"(barrier), "r"(arrivals) : "memory");
}
__device__ __forceinline__ void barrier_arrive(unsigned barrier) {
    asm volatile("mbarrier.arrive.shared.b64 _, [%0];" ::"r"(barrier) : "memory");
}
__device__ __forceinline__ void barrier_arrive_expecting(unsigned barrier, unsigned bytes) {
    asm volatile("mbarrier.arrive.expect_tx.shared.b64 _, [%0], %1;" ::"r"(barrier), "r"(bytes) : "memory");
}
// Waits for the end of the phase of that parity.
__device__ __forceinline__ void barrier_wait(unsigned barrier, unsigned parity) {
    asm volatile(
        "{\n.reg .pred done;\n"
        "again: mbarrier.try_wait.parity.shared.b64 done, [%0], %1;\n"
        "@done bra over;\nbra again;\nover:\n}" ::"r"(barrier),
        "r"(parity)
        : "memory");
}

// Copies to shared memory, all addresses and sizes multiples of 16; arrives at the barrier as so many bytes.
__device__ __forceinline__ void copy_bulk(unsigned shared, const void* global, unsigned bytes, unsigned barrier) {
    asm volatile(
        "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(shared),
        "l"(global), "r"(bytes), "r"(barrier)
        : "memory");
}

// What this thread wrote to shared memory may be read by the tensor cores from the next barrier on.
__device__ __forceinline__ void publish_to_tensor_cores() {
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
}

// Registers of a warpgroup's threads, given back or taken. All its warps must come by.
template <int REGISTERS>
__device__ __forceinline__ void give_registers() {
    asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(REGISTERS));
}
template <int REGISTERS>
__device__ __forceinline__ void take_registers() {
    asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(REGISTERS));
}
// Of the first `THREADS` threads that come to barrier ID.
template <int ID, int THREADS>
__device__ __forceinline__ void barrier_of() {
    asm volatile("bar.sync %0, %1;" ::"n"(ID), "n"(THREADS) : "memory");
}

// An operand of wgmma without swizzle: cells of 16 bytes, of which 8 neighbouring rows (of a) or columns (of b) form a
// block. `across`: bytes from a cell to the one of the same row that goes on along the summed axis; `down`: bytes from a
// block of 8 to the next.
__device__ __forceinline__ unsigned long long operand(unsigned shared, unsigned across, unsigned down) {
    return (unsigned long long)((shared & 0x3ffff) >> 4) | (unsigned long long)(across >> 4) << 16 |
           (unsigned long long)(down >> 4) << 32;
}

__device__ __forceinline__ void products_begin() { asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); }
__device__ __forceinline__ void products_commit() { asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory"); }
// Waits until at most the NEWEST latest groups are still under way.
template <int NEWEST>
__device__ __forceinline__ void products_wait() {
    asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(NEWEST) : "memory");
}

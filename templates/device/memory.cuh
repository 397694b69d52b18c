// Memory: every access of a kernel to global memory, its shared memory, and asynchronous copies from one to the other.
// Kernels touch global memory through these alone, so that the simulator can check each access. An access of N bytes
// needs an address that is a multiple of N.

#ifndef CONVT_SIM
extern __shared__ __align__(128) char convt_shared[];
#endif

// Start of the block's dynamic shared memory, aligned to 16 bytes at least.
__device__ __forceinline__ char* shared_memory() {
#ifdef CONVT_SIM
    return convt_sim::state.shared;
#else
    return convt_shared;
#endif
}

// A value of 1, 2, 4, 8 or 16 bytes as registers.
template <class T>
union Registers {
    static_assert(sizeof(T) == 1 || sizeof(T) == 2 || sizeof(T) == 4 || sizeof(T) == 8 || sizeof(T) == 16,
                  "one access moves 1, 2, 4, 8 or 16 bytes");
    T value;
    unsigned char byte;
    unsigned short half;
    unsigned word[(sizeof(T) + 3) / 4];
    __device__ __forceinline__ Registers() {}
};

// Reads what no thread of the launch writes (x, weights, bias, scale, shift): through the read-only path.
template <class T>
__device__ __forceinline__ T load_global(const T* address) {
#ifdef CONVT_SIM
    convt_sim::check_read(address, sizeof(T));
    return *address;
#else
    // Not volatile: the data is constant, so the compiler may move, merge and drop these loads.
    Registers<T> r;
    if constexpr (sizeof(T) == 1) {
        unsigned byte;
        asm("ld.global.nc.u8 %0, [%1];" : "=r"(byte) : "l"(address));
        r.byte = static_cast<unsigned char>(byte);
    } else if constexpr (sizeof(T) == 2) {
        asm("ld.global.nc.u16 %0, [%1];" : "=h"(r.half) : "l"(address));
    } else if constexpr (sizeof(T) == 4) {
        asm("ld.global.nc.u32 %0, [%1];" : "=r"(r.word[0]) : "l"(address));
    } else if constexpr (sizeof(T) == 8) {
        asm("ld.global.nc.v2.u32 {%0, %1}, [%2];" : "=r"(r.word[0]), "=r"(r.word[1]) : "l"(address));
    } else {
        asm("ld.global.nc.v4.u32 {%0, %1, %2, %3}, [%4];"
            : "=r"(r.word[0]), "=r"(r.word[1]), "=r"(r.word[2]), "=r"(r.word[3])
            : "l"(address));
    }
    return r.value;
#endif
}

// The same of 2 or 4 bytes, or zero without reading, wherever `address` points. No branch, so that many are under way.
template <class T>
__device__ __forceinline__ T load_global_if(const T* address, bool wanted) {
    static_assert(sizeof(T) == 2 || sizeof(T) == 4, "one element");
#ifdef CONVT_SIM
    return wanted ? load_global(address) : T{};
#else
    Registers<T> r;
    if constexpr (sizeof(T) == 2)
        asm volatile("{\n.reg .pred p;\nsetp.ne.u32 p, %2, 0;\nmov.u16 %0, 0;\n@p ld.global.nc.u16 %0, [%1];\n}"
                     : "=&h"(r.half)
                     : "l"(address), "r"(unsigned(wanted)));
    else
        asm volatile("{\n.reg .pred p;\nsetp.ne.u32 p, %2, 0;\nmov.u32 %0, 0;\n@p ld.global.nc.u32 %0, [%1];\n}"
                     : "=&r"(r.word[0])
                     : "l"(address), "r"(unsigned(wanted)));
    return r.value;
#endif
}

// Reads what may share memory with the output (the residual may be y itself): an ordinary, ordered load.
template <class T>
__device__ __forceinline__ T load_global_coherent(const T* address) {
#ifdef CONVT_SIM
    convt_sim::check_read(address, sizeof(T));
    return *address;
#else
    Registers<T> r;
    if constexpr (sizeof(T) == 1) {
        unsigned byte;
        asm volatile("ld.global.u8 %0, [%1];" : "=r"(byte) : "l"(address) : "memory");
        r.byte = static_cast<unsigned char>(byte);
    } else if constexpr (sizeof(T) == 2) {
        asm volatile("ld.global.u16 %0, [%1];" : "=h"(r.half) : "l"(address) : "memory");
    } else if constexpr (sizeof(T) == 4) {
        asm volatile("ld.global.u32 %0, [%1];" : "=r"(r.word[0]) : "l"(address) : "memory");
    } else if constexpr (sizeof(T) == 8) {
        asm volatile("ld.global.v2.u32 {%0, %1}, [%2];" : "=r"(r.word[0]), "=r"(r.word[1]) : "l"(address) : "memory");
    } else {
        asm volatile("ld.global.v4.u32 {%0, %1, %2, %3}, [%4];"
                     : "=r"(r.word[0]), "=r"(r.word[1]), "=r"(r.word[2]), "=r"(r.word[3])
                     : "l"(address)
                     : "memory");
    }
    return r.value;
#endif
}

// Writes output that this kernel does not read again: with the streaming hint.
template <class T>
__device__ __forceinline__ void store_global(T* address, T value) {
#ifdef CONVT_SIM
    convt_sim::check_write(address, sizeof(T));
    *address = value;
#else
    Registers<T> r;
    r.value = value;
    if constexpr (sizeof(T) == 1) {
        asm volatile("st.global.cs.u8 [%0], %1;" ::"l"(address), "r"(static_cast<unsigned>(r.byte)) : "memory");
    } else if constexpr (sizeof(T) == 2) {
        asm volatile("st.global.cs.u16 [%0], %1;" ::"l"(address), "h"(r.half) : "memory");
    } else if constexpr (sizeof(T) == 4) {
        asm volatile("st.global.cs.u32 [%0], %1;" ::"l"(address), "r"(r.word[0]) : "memory");
    } else if constexpr (sizeof(T) == 8) {
        asm volatile("st.global.cs.v2.u32 [%0], {%1, %2};" ::"l"(address), "r"(r.word[0]), "r"(r.word[1]) : "memory");
    } else {
        asm volatile("st.global.cs.v4.u32 [%0], {%1, %2, %3, %4};" ::"l"(address), "r"(r.word[0]), "r"(r.word[1]),
                     "r"(r.word[2]), "r"(r.word[3])
                     : "memory");
    }
#endif
}

// Writes 4 or 16 bytes that the next kernel reads: they had better stay in the L2.
template <class T>
__device__ __forceinline__ void store_global_for_next(T* address, T value) {
    static_assert(sizeof(T) == 4 || sizeof(T) == 16, "for words and whole vectors");
#ifdef CONVT_SIM
    convt_sim::check_write(address, sizeof(T));
    *address = value;
#else
    Registers<T> r;
    r.value = value;
    if constexpr (sizeof(T) == 4) {
        asm volatile("st.global.u32 [%0], %1;" ::"l"(address), "r"(r.word[0]) : "memory");
    } else {
        asm volatile("st.global.v4.u32 [%0], {%1, %2, %3, %4};" ::"l"(address), "r"(r.word[0]), "r"(r.word[1]),
                     "r"(r.word[2]), "r"(r.word[3])
                     : "memory");
    }
#endif
}

#if !defined(CONVT_SIM) && defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
#define CONVT_COPY_ASYNC 1
#endif

template <int BYTES>
struct CopyUnit;
template <>
struct CopyUnit<4> {
    unsigned word[1];
};
template <>
struct alignas(8) CopyUnit<8> {
    unsigned word[2];
};
template <>
struct alignas(16) CopyUnit<16> {
    unsigned word[4];
};

// Starts a copy of 4, 8 or 16 bytes to shared memory. Not `inside`: zeros are written, and `global` is not read, wherever
// it points. The bytes are there for this thread after copy_async_wait, for the others after a barrier that follows it.
// (Architectures before sm_80 copy at once.)
template <int BYTES>
__device__ __forceinline__ void copy_async(void* shared, const void* global, bool inside = true) {
    static_assert(BYTES == 4 || BYTES == 8 || BYTES == 16, "cp.async moves 4, 8 or 16 bytes");
#if defined(CONVT_SIM)
    if (inside) convt_sim::check_read(global, BYTES);
    convt_sim::copy_async(shared, global, BYTES, inside);
#elif defined(CONVT_COPY_ASYNC)
    const unsigned target = static_cast<unsigned>(__cvta_generic_to_shared(shared));
    const int bytes = inside ? BYTES : 0;
    if constexpr (BYTES == 16) {
        asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(target), "l"(global), "r"(bytes) : "memory");
    } else {
        asm volatile("cp.async.ca.shared.global [%0], [%1], %2, %3;" ::"r"(target), "l"(global), "n"(BYTES), "r"(bytes)
                     : "memory");
    }
#else
    CopyUnit<BYTES> unit{};
    if (inside) unit = load_global(static_cast<const CopyUnit<BYTES>*>(global));
    *static_cast<CopyUnit<BYTES>*>(shared) = unit;
#endif
}

// Ends a group of this thread's copies.
__device__ __forceinline__ void copy_async_commit() {
#if defined(CONVT_SIM)
    convt_sim::copy_async_commit();
#elif defined(CONVT_COPY_ASYNC)
    asm volatile("cp.async.commit_group;" ::: "memory");
#endif
}

// Waits until at most the NEWEST latest groups of this thread are still under way.
template <int NEWEST>
__device__ __forceinline__ void copy_async_wait() {
#if defined(CONVT_SIM)
    convt_sim::copy_async_wait(NEWEST);
#elif defined(CONVT_COPY_ASYNC)
    asm volatile("cp.async.wait_group %0;" ::"n"(NEWEST) : "memory");
#endif
}

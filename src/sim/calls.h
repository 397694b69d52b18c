// Calls: what a kernel compiled for the CPU and the simulator know of each other. Included here and put before the
// kernel's source, so it needs nothing from the standard library.
#pragma once

namespace convt_sim {

using Size = decltype(sizeof 0);

struct Index {
    unsigned x = 0, y = 0, z = 0;
};

// A range of global memory; empty at first, so that nothing lies in it.
struct Span {
    Size begin = 0, bytes = 0;
};

// A thread's part of a product of a warpgroup.
struct Product {
    void (*run)(const Product& product) = nullptr;
    float* sums = nullptr;
    unsigned a = 0, b = 0;  // operands, as wgmma takes them
    bool keep = false;
};

// One per compiled kernel. Blocks run one after the other, so one place for all of them is enough.
struct State {
    Index thread, block, block_size, grid;  // of the running fibre
    char* shared = nullptr;
    // Where the last checked access went. Most accesses follow one to the same tensor, and need no call.
    Span last_read, last_written;
    bool warp_turn[1024] = {};  // of each thread: which of two tables its warp uses next

    // Sets last_read or last_written to the range around the access; does not return where there is none.
    void (*find)(const void* address, Size bytes, bool write) = nullptr;
    void (*block_barrier)(const char* file, int line) = nullptr;
    void (*warp_barrier)(unsigned mask, const char* file, int line) = nullptr;
    void (*copy_async)(void* shared, const void* global, Size bytes, bool inside) = nullptr;
    void (*copy_async_commit)() = nullptr;
    void (*copy_async_wait)(int newest) = nullptr;
    // What Hopper has. Places in shared memory are counted in bytes from its start on.
    void (*barrier_init)(unsigned barrier, int arrivals) = nullptr;
    void (*barrier_arrive)(unsigned barrier, unsigned expected_bytes) = nullptr;
    void (*barrier_wait)(unsigned barrier, unsigned parity, const char* file, int line) = nullptr;
    void (*copy_bulk)(unsigned shared, const void* global, unsigned bytes, unsigned barrier) = nullptr;
    void (*multiply)(const Product& product) = nullptr;
    void (*products_commit)() = nullptr;
    void (*products_wait)(int newest) = nullptr;
    void (*trap)(const char* file, int line) = nullptr;
};

}  // namespace convt_sim

// BlockRunner: runs the blocks of a launch, one after the other, a fibre per thread.
#pragma once

#include "sim/calls.h"
#include "sim/fibre.h"
#include "sim/global_memory.h"
#include "sim/guarded_memory.h"
#include "sim/program.h"
#include "sim/transaction_barrier.h"
#include "sim/violation.h"

#include <cstdint>
#include <deque>
#include <string>
#include <vector>

namespace convt_jit::sim {

class BlockRunner {
public:
    using Entry = void (*)(const void* argument);

    BlockRunner(const std::string& kernel, Entry entry, ::convt_sim::State& state, const LaunchOptions& options,
                const void* argument);

    // All blocks of the grid. Throws SimulatorError.
    void run();

private:
    struct PendingProduct {
        ::convt_sim::Product product;
        int group;
    };
    struct PendingBulk {
        void* shared;
        const void* global;
        std::uint32_t bytes;
        TransactionBarrier* barrier;
    };
    struct PendingCopy {
        void* shared;
        const void* global;  // null: zeros
        std::size_t bytes;
        int group;
    };
    struct Thread {
        enum class At { ready, block_barrier, warp_barrier, shared_barrier, returned } at = At::ready;
        const char* file = "";  // of the barrier that it waits at
        int line = 0;
        std::uint32_t mask = 0;
        const TransactionBarrier* barrier = nullptr;  // at shared_barrier
        unsigned parity = 0;
        std::vector<PendingCopy> copies;  // oldest first
        int groups = 0;                   // committed
        std::vector<PendingProduct> products;
        int product_groups = 0;
        Fibre fibre;
    };

    static BlockRunner& current();
    static void run_thread(void* runner);
    static void handle_fault(int signal, int code, const void* address);
    void connect();

    void run_block(const ::convt_sim::Index& block);
    void run_thread_until_it_waits(std::uint32_t thread);
    bool release_warps();
    bool release_block();
    bool release_shared_barriers();
    bool finish_bulk_copies();
    [[noreturn]] void fail(std::uint32_t thread, const std::string& what) const;
    [[noreturn]] void fail_divergence() const;
    void give_up(const Violation& violation);
    void wait_at(Thread::At barrier, std::uint32_t mask, const char* file, int line);
    void order(std::vector<std::uint32_t>& indices);
    void finish_copies(Thread& thread, int before_group);
    void finish_products(Thread& thread, int before_group);
    void connect_hopper();
    // The barrier at that place of shared memory. Does not return where there is none.
    TransactionBarrier& barrier_at(std::uint32_t place, const char* what);

    const std::string& kernel_;
    Entry entry_;
    ::convt_sim::State& state_;
    const LaunchOptions& options_;
    const void* argument_;
    GlobalMemory global_;
    GuardedMemory shared_;
    std::deque<Thread> threads_;  // a deque, since fibres do not move
    std::vector<PendingBulk> bulk_copies_;
    std::vector<std::uint32_t> thread_order_;
    std::uint64_t random_;
    std::uint32_t running_ = 0;
    bool in_fibre_ = false;
    Violation violation_;
};

}  // namespace convt_jit::sim

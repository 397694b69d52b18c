// What Hopper adds to a block: barriers in shared memory, bulk copies, and products of a warpgroup.
#include "sim/block.h"

#include <algorithm>
#include <cstring>

namespace convt_jit::sim {

TransactionBarrier& BlockRunner::barrier_at(std::uint32_t place, const char* what) {
    char* const address = shared_.begin() + place;
    auto* const barrier = reinterpret_cast<TransactionBarrier*>(address);
    if (!shared_.contains(address, sizeof(TransactionBarrier)) || place % sizeof(TransactionBarrier) != 0 ||
        !barrier->valid())
        give_up({.kind = Violation::Kind::barrier, .address = address, .what = what});
    return *barrier;
}

void BlockRunner::connect_hopper() {
    state_.barrier_init = [](unsigned place, int arrivals) {
        BlockRunner& self = current();
        char* const address = self.shared_.begin() + place;
        const TransactionBarrier barrier = TransactionBarrier::make(arrivals);
        if (!self.shared_.contains(address, sizeof barrier) || place % sizeof barrier != 0 || !barrier.valid())
            self.give_up({.kind = Violation::Kind::barrier,
                          .address = address,
                          .what = "barrier_init: not 8 bytes of shared memory, or not 1 to 1024 arrivals"});
        std::memcpy(address, &barrier, sizeof barrier);
    };
    state_.barrier_arrive = [](unsigned place, unsigned expected_bytes) {
        BlockRunner& self = current();
        TransactionBarrier& barrier = self.barrier_at(place, "barrier_arrive: no barrier");
        if (!barrier.arrive(expected_bytes))
            self.give_up({.kind = Violation::Kind::barrier,
                          .address = &barrier,
                          .what = "barrier_arrive: more arrivals than the barrier counts"});
    };
    state_.barrier_wait = [](unsigned place, unsigned parity, const char* file, int line) {
        BlockRunner& self = current();
        const TransactionBarrier& barrier = self.barrier_at(place, "barrier_wait: no barrier");
        if (barrier.is_over(parity)) return;
        Thread& thread = self.threads_[self.running_];
        thread.barrier = &barrier;
        thread.parity = parity;
        self.wait_at(Thread::At::shared_barrier, 0, file, line);
    };
    state_.copy_bulk = [](unsigned place, const void* global, unsigned bytes, unsigned barrier) {
        BlockRunner& self = current();
        char* const target = self.shared_.begin() + place;
        if (!self.shared_.contains(target, bytes) || bytes == 0 ||
            (place % 16 | bytes % 16 | reinterpret_cast<std::uintptr_t>(global) % 16) != 0)
            self.give_up({.kind = Violation::Kind::bulk_copy, .address = target, .bytes = bytes});
        if (self.global_.find(global, bytes, false) == nullptr)
            self.give_up({.kind = Violation::Kind::global_access, .address = global, .bytes = bytes, .write = false});
        // What is read before it is there is NaN.
        std::memset(target, 0xff, bytes);
        self.bulk_copies_.push_back({target, global, bytes, &self.barrier_at(barrier, "copy_bulk: no barrier")});
    };
    // Operands are read at once, or as late as they may be, for one group of products and the next: both must give the
    // same. Products of one thread stay in their order.
    state_.multiply = [](const ::convt_sim::Product& product) {
        BlockRunner& self = current();
        Thread& thread = self.threads_[self.running_];
        if (thread.products.empty() && thread.product_groups % 2 == 0)
            product.run(product);
        else
            thread.products.push_back({product, thread.product_groups});
    };
    state_.products_commit = [] {
        BlockRunner& self = current();
        ++self.threads_[self.running_].product_groups;
    };
    state_.products_wait = [](int newest) {
        BlockRunner& self = current();
        Thread& thread = self.threads_[self.running_];
        self.finish_products(thread, thread.product_groups - newest);
    };
}

void BlockRunner::finish_products(Thread& thread, int before_group) {
    auto next = thread.products.begin();
    for (; next != thread.products.end() && next->group < before_group; ++next) next->product.run(next->product);
    thread.products.erase(thread.products.begin(), next);
}

bool BlockRunner::release_shared_barriers() {
    bool any = false;
    for (Thread& thread : threads_) {
        if (thread.at != Thread::At::shared_barrier || !thread.barrier->is_over(thread.parity)) continue;
        thread.at = Thread::At::ready;
        any = true;
    }
    return any;
}

bool BlockRunner::finish_bulk_copies() {
    const bool any = !bulk_copies_.empty();
    for (const PendingBulk& copy : bulk_copies_) {
        std::memcpy(copy.shared, copy.global, copy.bytes);
        copy.barrier->complete(copy.bytes);
    }
    bulk_copies_.clear();
    return any;
}

}  // namespace convt_jit::sim

#include "sim/block.h"

#include "convt_jit/error.h"
#include "sim/fault_handler.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <numeric>

namespace convt_jit::sim {
namespace {

constexpr std::uint32_t kWarp = 32;

// Launches run one at a time, so the stacks of one are those of the next.
const Stack& stack_of(std::uint32_t thread) {
    static std::deque<Stack> stacks;
    while (stacks.size() <= thread) stacks.emplace_back(stacks.size());
    return stacks[thread];
}

// splitmix64 (Steele, Lea & Flood 2014): the same order on every platform.
std::uint64_t next_random(std::uint64_t& state) {
    std::uint64_t z = state += 0x9e3779b97f4a7c15;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
    z = (z ^ z >> 27) * 0x94d049bb133111eb;
    return z ^ z >> 31;
}

thread_local BlockRunner* runner = nullptr;

}  // namespace

BlockRunner::BlockRunner(const std::string& kernel, Entry entry, ::convt_sim::State& state,
                         const LaunchOptions& options, const void* argument)
    : kernel_(kernel),
      entry_(entry),
      state_(state),
      options_(options),
      argument_(argument),
      global_(options.ranges),
      shared_(options.shared_bytes),
      threads_(options.threads),
      thread_order_(options.threads),
      random_(options.seed) {
    std::iota(thread_order_.begin(), thread_order_.end(), 0U);
    for (std::uint32_t i = 0; i < options.threads; ++i) threads_[i].fibre.start(stack_of(i), &run_thread, this);
}

BlockRunner& BlockRunner::current() { return *runner; }

void BlockRunner::run_thread(void* self) {
    auto& block = *static_cast<BlockRunner*>(self);
    block.entry_(block.argument_);
}

void BlockRunner::connect() {
    state_ = {};
    state_.block_size = {options_.threads, 1, 1};
    state_.grid = {options_.grid[0], options_.grid[1], options_.grid[2]};
    state_.shared = shared_.begin();
    state_.find = [](const void* address, std::size_t bytes, bool write) {
        BlockRunner& self = current();
        const Range* const range = self.global_.find(address, bytes, write);
        if (range == nullptr || reinterpret_cast<std::uintptr_t>(address) % bytes != 0)
            self.give_up({.kind = Violation::Kind::global_access, .address = address, .bytes = bytes, .write = write});
        (write ? self.state_.last_written : self.state_.last_read) = {reinterpret_cast<std::uintptr_t>(range->begin),
                                                                      range->bytes};
    };
    state_.block_barrier = [](const char* file, int line) {
        current().wait_at(Thread::At::block_barrier, 0, file, line);
    };
    state_.warp_barrier = [](unsigned mask, const char* file, int line) {
        current().wait_at(Thread::At::warp_barrier, mask, file, line);
    };
    state_.copy_async = [](void* shared, const void* global, std::size_t bytes, bool inside) {
        BlockRunner& self = current();
        if (!self.shared_.contains(shared, bytes) || reinterpret_cast<std::uintptr_t>(shared) % bytes != 0)
            self.give_up({.kind = Violation::Kind::copy_target, .address = shared, .bytes = bytes});
        // The bytes come as late as they may. What is read before is NaN, which shows that a wait is missing.
        std::memset(shared, 0xff, bytes);
        Thread& thread = self.threads_[self.running_];
        thread.copies.push_back({shared, inside ? global : nullptr, bytes, thread.groups});
    };
    state_.copy_async_commit = [] {
        BlockRunner& self = current();
        ++self.threads_[self.running_].groups;
    };
    state_.copy_async_wait = [](int newest) {
        BlockRunner& self = current();
        Thread& thread = self.threads_[self.running_];
        self.finish_copies(thread, thread.groups - newest);
    };
    connect_hopper();
    state_.trap = [](const char* file, int line) {
        current().give_up({.kind = Violation::Kind::trap, .file = file, .line = line});
    };
}

void BlockRunner::finish_copies(Thread& thread, int before_group) {
    auto copy = thread.copies.begin();
    for (; copy != thread.copies.end() && copy->group < before_group; ++copy) {
        if (copy->global != nullptr)
            std::memcpy(copy->shared, copy->global, copy->bytes);
        else
            std::memset(copy->shared, 0, copy->bytes);
    }
    thread.copies.erase(thread.copies.begin(), copy);
}

void BlockRunner::give_up(const Violation& violation) {
    violation_ = violation;
    threads_[running_].fibre.suspend();  // and is never resumed
}

void BlockRunner::handle_fault(int signal, int code, const void* address) {
    if (runner == nullptr || !runner->in_fibre_) return;
    runner->give_up({.kind = Violation::Kind::signal, .address = address, .signal = signal, .code = code});
}

void BlockRunner::wait_at(Thread::At barrier, std::uint32_t mask, const char* file, int line) {
    Thread& thread = threads_[running_];
    thread.at = barrier;
    thread.file = file;
    thread.line = line;
    thread.mask = mask;
    thread.fibre.suspend();
}

void BlockRunner::order(std::vector<std::uint32_t>& indices) {
    switch (options_.order) {
        case LaunchOptions::Order::ascending:
            std::sort(indices.begin(), indices.end());
            break;
        case LaunchOptions::Order::descending:
            std::sort(indices.rbegin(), indices.rend());
            break;
        case LaunchOptions::Order::shuffled:
            for (std::size_t i = indices.size(); i > 1; --i)
                std::swap(indices[i - 1], indices[next_random(random_) % i]);
            break;
    }
}

void BlockRunner::run() {
    runner = this;
    struct Leave {
        ~Leave() { runner = nullptr; }
    } const leave;
    const FaultHandler faults(&handle_fault);
    connect();
    order(thread_order_);

    const std::uint64_t columns = options_.grid[0], rows = options_.grid[1];
    const std::uint64_t blocks = columns * rows * options_.grid[2];
    std::vector<std::uint32_t> shuffled;
    if (options_.order == LaunchOptions::Order::shuffled) {
        shuffled.resize(blocks);
        std::iota(shuffled.begin(), shuffled.end(), 0U);
        order(shuffled);
    }
    for (std::uint64_t i = 0; i < blocks; ++i) {
        const std::uint64_t block = !shuffled.empty()                                    ? shuffled[i]
                                    : options_.order == LaunchOptions::Order::descending ? blocks - 1 - i
                                                                                         : i;
        run_block({static_cast<unsigned>(block % columns), static_cast<unsigned>(block / columns % rows),
                   static_cast<unsigned>(block / columns / rows)});
    }
}

void BlockRunner::run_block(const ::convt_sim::Index& block) {
    state_.block = block;
    shared_.poison();
    for (Thread& thread : threads_) {
        thread.at = Thread::At::ready;
        thread.copies.clear();
        thread.products.clear();
        thread.groups = thread.product_groups = 0;
    }
    bulk_copies_.clear();
    for (;;) {
        if (options_.order == LaunchOptions::Order::shuffled) order(thread_order_);
        for (const std::uint32_t i : thread_order_)
            if (threads_[i].at == Thread::At::ready) run_thread_until_it_waits(i);
        const auto returned = [](const Thread& thread) { return thread.at == Thread::At::returned; };
        if (std::all_of(threads_.begin(), threads_.end(), returned)) break;
        bool any = release_warps();
        any = release_block() || any;
        any = release_shared_barriers() || any;
        // The bytes come when nobody can go on without them.
        if (!any && !(finish_bulk_copies() && release_shared_barriers())) fail_divergence();
    }
    if (const char* address = shared_.written_margin())
        throw SimulatorError(fmt::format("kernel {}, block ({}, {}, {}): a thread has written {}", kernel_, block.x,
                                         block.y, block.z, describe_shared(address, shared_)));
}

void BlockRunner::run_thread_until_it_waits(std::uint32_t index) {
    Thread& thread = threads_[index];
    running_ = index;
    state_.thread = {index, 0, 0};
    in_fibre_ = true;
    const bool returned = thread.fibre.resume();
    in_fibre_ = false;
    if (violation_.kind != Violation::Kind::none) fail(index, describe(violation_, global_, shared_, stack_of(index)));
    if (returned) thread.at = Thread::At::returned;
}

// A warp barrier opens for a lane when all lanes of its mask wait there.
bool BlockRunner::release_warps() {
    bool any = false;
    const auto count = static_cast<std::uint32_t>(threads_.size());
    for (std::uint32_t first = 0; first < count; first += kWarp) {
        const std::uint32_t lanes = std::min(kWarp, count - first);
        for (std::uint32_t lane = 0; lane < lanes; ++lane) {
            Thread& thread = threads_[first + lane];
            if (thread.at != Thread::At::warp_barrier) continue;
            const std::uint32_t mask = thread.mask;
            const auto waits = [&](std::uint32_t other) {
                const Thread& that = threads_[first + other];
                return (mask >> other & 1) == 0 ||
                       (that.at == Thread::At::warp_barrier && that.mask == mask && that.line == thread.line);
            };
            bool all = (mask >> lane & 1) != 0;
            for (std::uint32_t other = 0; other < lanes && all; ++other) all = waits(other);
            if (!all) continue;
            for (std::uint32_t other = 0; other < lanes; ++other)
                if ((mask >> other & 1) != 0) threads_[first + other].at = Thread::At::ready;
            any = true;
        }
    }
    return any;
}

bool BlockRunner::release_block() {
    const Thread& first = threads_.front();
    const auto waits_there = [&](const Thread& thread) {
        return thread.at == Thread::At::block_barrier && thread.line == first.line &&
               std::strcmp(thread.file, first.file) == 0;
    };
    if (!std::all_of(threads_.begin(), threads_.end(), waits_there)) return false;
    for (Thread& thread : threads_) thread.at = Thread::At::ready;
    return true;
}

void BlockRunner::fail(std::uint32_t thread, const std::string& what) const {
    throw SimulatorError(fmt::format("kernel {}, block ({}, {}, {}), thread {}: {}", kernel_, state_.block.x,
                                     state_.block.y, state_.block.z, thread, what));
}

// Nobody can go on: a thread waits at a barrier that another one does not reach. Names one of each.
void BlockRunner::fail_divergence() const {
    const auto tell = [](const Thread& thread) {
        switch (thread.at) {
            case Thread::At::block_barrier:
                return fmt::format("waits at __syncthreads ({}:{})", thread.file, thread.line);
            case Thread::At::warp_barrier:
                return fmt::format("waits at __syncwarp({:#x}) ({}:{})", thread.mask, thread.file, thread.line);
            case Thread::At::shared_barrier:
                return fmt::format("waits for the end of a phase of a barrier in shared memory ({}:{})", thread.file,
                                   thread.line);
            case Thread::At::returned:
                return std::string("has returned");
            case Thread::At::ready:
                break;
        }
        return std::string("runs");
    };
    const auto first_at = [&](Thread::At at) {
        return std::find_if(threads_.begin(), threads_.end(), [&](const Thread& thread) { return thread.at == at; });
    };
    const auto count = static_cast<std::uint32_t>(threads_.size());
    // What holds up a warp may be what the block waits for, so that is told first, and with a thread of that warp.
    auto waiting = first_at(Thread::At::warp_barrier);
    const bool warp = waiting != threads_.end();
    if (!warp) waiting = first_at(Thread::At::block_barrier);
    if (waiting == threads_.end()) {
        waiting = first_at(Thread::At::shared_barrier);
        fail(static_cast<std::uint32_t>(waiting - threads_.begin()), tell(*waiting) + ", which nobody ends any more");
    }
    const auto index = static_cast<std::uint32_t>(waiting - threads_.begin());
    const std::string what = tell(*waiting);
    const std::uint32_t begin = warp ? index / kWarp * kWarp : 0;
    const std::uint32_t end = warp ? std::min(begin + kWarp, count) : count;
    for (std::uint32_t other = begin; other < end; ++other)
        if (const std::string that = tell(threads_[other]); that != what)
            fail(index, fmt::format("{}, but thread {} {}", what, other, that));
    fail(index, what + ", whose mask does not name the thread itself");
}

}  // namespace convt_jit::sim

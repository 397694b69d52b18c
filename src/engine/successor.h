// Successor: the better kernel that takes over from a generic one when it is compiled.
#pragma once

#include "convt_jit/kernel.h"

#include <atomic>
#include <memory>
#include <utility>

namespace convt_jit {

class Successor {
public:
    // Null while it is not there yet, or where it never will be. One load: cheap enough for every launch.
    [[nodiscard]] const Kernel::Impl* get() const noexcept { return kernel_.load(std::memory_order_acquire); }
    [[nodiscard]] bool pending() const noexcept { return !settled_.load(std::memory_order_acquire); }

    // One of these two, once.
    void become(std::shared_ptr<const Kernel::Impl> kernel) noexcept {
        owner_ = std::move(kernel);
        kernel_.store(owner_.get(), std::memory_order_release);
        settled_.store(true, std::memory_order_release);
    }
    void give_up() noexcept { settled_.store(true, std::memory_order_release); }

private:
    std::shared_ptr<const Kernel::Impl> owner_;  // read through `kernel_` alone
    std::atomic<const Kernel::Impl*> kernel_{nullptr};
    std::atomic<bool> settled_{false};
};

}  // namespace convt_jit

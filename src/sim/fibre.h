// Fibre: a function on a stack of its own that runs until it suspends itself, over Boost.Context.
#pragma once

#include <cstddef>

namespace convt_jit::sim {

// Memory for one fibre's frames, with a page below it that faults. Kept from launch to launch.
class Stack {
public:
    static constexpr std::size_t kBytes = 128 * 1024;

    // Stacks with different numbers keep their frames in different lines of a cache.
    explicit Stack(std::size_t number);
    ~Stack();
    Stack(const Stack&) = delete;
    Stack& operator=(const Stack&) = delete;

    [[nodiscard]] void* bottom() const noexcept;
    [[nodiscard]] void* top() const noexcept { return static_cast<char*>(bottom()) + kBytes - unused_; }
    [[nodiscard]] std::size_t bytes() const noexcept { return kBytes - unused_; }
    // True for the page below the stack: the fibre has used more than it has.
    [[nodiscard]] bool guards(const void* address) const noexcept;

private:
    void* mapping_;
    std::size_t unused_;
};

// The function is called anew each time it has returned and is resumed again. A fibre that is suspended can be
// destroyed or restarted at any point; nothing on its stack is destroyed, so the function must own nothing.
class Fibre {
public:
    using Function = void (*)(void* argument);

    Fibre() = default;
    ~Fibre();
    Fibre(const Fibre&) = delete;
    Fibre& operator=(const Fibre&) = delete;

    // `function` is what the next resume() starts.
    void start(const Stack& stack, Function function, void* argument);
    // Runs the fibre until it suspends itself or its function returns; true where it has returned.
    bool resume();
    // Called by the fibre itself: back to resume().
    void suspend();

private:
    struct Switch;
    friend struct Switch;

    void* context_ = nullptr;  // of the fibre while it is suspended
    void* caller_ = nullptr;   // of resume() while the fibre runs
    const Stack* stack_ = nullptr;
    Function function_ = nullptr;
    void* argument_ = nullptr;
    bool returned_ = false;

    // What the sanitizers want to be told at each switch.
    void* fake_stack_ = nullptr;
    const void* caller_bottom_ = nullptr;
    std::size_t caller_bytes_ = 0;
    void* thread_sanitizer_fibre_ = nullptr;
    void* thread_sanitizer_caller_ = nullptr;
};

}  // namespace convt_jit::sim

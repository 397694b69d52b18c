#include "sim/fibre.h"

#include <boost/context/detail/fcontext.hpp>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define CONVT_ADDRESS_SANITIZER
#endif
#if __has_feature(thread_sanitizer)
#define CONVT_THREAD_SANITIZER
#endif
#endif
#if defined(__SANITIZE_ADDRESS__) || defined(CONVT_ADDRESS_SANITIZER)
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#define CONVT_IF_ADDRESS_SANITIZER(...) __VA_ARGS__
#else
#define CONVT_IF_ADDRESS_SANITIZER(...)
#endif
#if defined(__SANITIZE_THREAD__) || defined(CONVT_THREAD_SANITIZER)
#include <sanitizer/tsan_interface.h>
#define CONVT_IF_THREAD_SANITIZER(...) __VA_ARGS__
#else
#define CONVT_IF_THREAD_SANITIZER(...)
#endif

namespace convt_jit::sim {
namespace {

std::size_t page_bytes() {
    static const auto bytes = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
    return bytes;
}

}  // namespace

Stack::Stack(std::size_t number)
    : mapping_(mmap(nullptr, page_bytes() + kBytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)),
      unused_(number % 64 * 64) {
    if (mapping_ == MAP_FAILED) throw std::system_error(errno, std::generic_category(), "mmap of a fibre's stack");
    if (mprotect(bottom(), kBytes, PROT_READ | PROT_WRITE) != 0) {
        const int error = errno;
        munmap(mapping_, page_bytes() + kBytes);
        throw std::system_error(error, std::generic_category(), "mprotect of a fibre's stack");
    }
}

Stack::~Stack() { munmap(mapping_, page_bytes() + kBytes); }

void* Stack::bottom() const noexcept { return static_cast<char*>(mapping_) + page_bytes(); }

bool Stack::guards(const void* address) const noexcept { return address >= mapping_ && address < bottom(); }

struct Fibre::Switch {
    // First frame of every fibre.
    static void enter(boost::context::detail::transfer_t from) {
        auto& fibre = *static_cast<Fibre*>(from.data);
        fibre.caller_ = from.fctx;
        arrived_in(fibre);
        for (;;) {
            fibre.function_(fibre.argument_);
            fibre.returned_ = true;
            fibre.suspend();
        }
    }

    static void arrived_in([[maybe_unused]] Fibre& fibre) {
        CONVT_IF_ADDRESS_SANITIZER(
            __sanitizer_finish_switch_fiber(fibre.fake_stack_, &fibre.caller_bottom_, &fibre.caller_bytes_);)
    }
};

Fibre::~Fibre() {
    CONVT_IF_THREAD_SANITIZER(if (thread_sanitizer_fibre_) __tsan_destroy_fiber(thread_sanitizer_fibre_);)
}

void Fibre::start(const Stack& stack, Function function, void* argument) {
    stack_ = &stack;
    function_ = function;
    argument_ = argument;
    // Frames of a fibre that was given up have left their marks.
    CONVT_IF_ADDRESS_SANITIZER(ASAN_UNPOISON_MEMORY_REGION(stack.bottom(), stack.bytes()); fake_stack_ = nullptr;)
    CONVT_IF_THREAD_SANITIZER(if (thread_sanitizer_fibre_) __tsan_destroy_fiber(thread_sanitizer_fibre_);
                              thread_sanitizer_fibre_ = __tsan_create_fiber(0);)
    context_ = boost::context::detail::make_fcontext(stack.top(), stack.bytes(), &Switch::enter);
}

bool Fibre::resume() {
    returned_ = false;
    CONVT_IF_ADDRESS_SANITIZER(void* own_fake_stack = nullptr;
                               __sanitizer_start_switch_fiber(&own_fake_stack, stack_->bottom(), stack_->bytes());)
    CONVT_IF_THREAD_SANITIZER(thread_sanitizer_caller_ = __tsan_get_current_fiber();
                              __tsan_switch_to_fiber(thread_sanitizer_fibre_, 0);)
    context_ = boost::context::detail::jump_fcontext(context_, this).fctx;
    CONVT_IF_ADDRESS_SANITIZER(__sanitizer_finish_switch_fiber(own_fake_stack, nullptr, nullptr);)
    return returned_;
}

void Fibre::suspend() {
    CONVT_IF_ADDRESS_SANITIZER(__sanitizer_start_switch_fiber(&fake_stack_, caller_bottom_, caller_bytes_);)
    CONVT_IF_THREAD_SANITIZER(__tsan_switch_to_fiber(thread_sanitizer_caller_, 0);)
    caller_ = boost::context::detail::jump_fcontext(caller_, nullptr).fctx;
    Switch::arrived_in(*this);
}

}  // namespace convt_jit::sim

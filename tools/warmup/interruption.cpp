#include "warmup/interruption.h"

#include <sys/signalfd.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>

namespace convt_jit::tools {
namespace {

sigset_t both() {
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGINT);
    sigaddset(&set, SIGTERM);
    return set;
}

}  // namespace

Interruption::Interruption() {
    const sigset_t set = both();
    descriptor_ = ::signalfd(-1, &set, SFD_NONBLOCK | SFD_CLOEXEC);
    if (descriptor_ < 0) throw std::system_error(errno, std::generic_category(), "signalfd");
    ::pthread_sigmask(SIG_BLOCK, &set, &before_);
}

Interruption::~Interruption() {
    (void)count();  // one that came at the very end must not kill a program that is done
    ::pthread_sigmask(SIG_SETMASK, &before_, nullptr);
    ::close(descriptor_);
}

int Interruption::count() {
    signalfd_siginfo info;
    while (::read(descriptor_, &info, sizeof info) == static_cast<ssize_t>(sizeof info)) {
        if (count_++ == 0) signal_ = static_cast<int>(info.ssi_signo);
    }
    return count_;
}

}  // namespace convt_jit::tools

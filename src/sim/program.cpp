#include "sim/program.h"

#include "convt_jit/error.h"
#include "sim/block.h"
#include "sim/host_compiler.h"

#include <fmt/format.h>

#include <mutex>

namespace convt_jit::sim {
namespace {

// What a device of any architecture takes (CUDA C++ Programming Guide, "Technical Specifications per Compute
// Capability").
constexpr std::uint32_t kMaxThreads = 1024;
constexpr std::uint32_t kMaxGrid[3] = {0x7fffffff, 0xffff, 0xffff};
constexpr std::size_t kMaxSharedBytes = 227 * 1024;

void validate(const std::string& kernel, const LaunchOptions& options) {
    const auto refuse = [&](const char* what, std::uint64_t value, std::uint64_t least, std::uint64_t most) {
        if (value < least || value > most)
            throw SimulatorError(
                fmt::format("launch of kernel {}: {} is {}; allowed: {} to {}", kernel, what, value, least, most));
    };
    refuse("grid.x", options.grid[0], 1, kMaxGrid[0]);
    refuse("grid.y", options.grid[1], 1, kMaxGrid[1]);
    refuse("grid.z", options.grid[2], 1, kMaxGrid[2]);
    refuse("threads", options.threads, 1, kMaxThreads);
    refuse("shared_bytes", options.shared_bytes, 0, kMaxSharedBytes);
}

}  // namespace

struct Program::Impl {
    std::vector<std::string> kernels;
    std::shared_ptr<const Library> library;
};

Program::Program(const Source& source) : impl_(new Impl{{source.entry}, compile_for_host(source)}) {
    impl_->kernels.insert(impl_->kernels.end(), source.others.begin(), source.others.end());
}

Program::~Program() = default;

void Program::launch(const LaunchOptions& options, const void* argument) const {
    static std::mutex one_at_a_time;
    const std::string& kernel = impl_->kernels.at(options.which);
    validate(kernel, options);
    const std::scoped_lock lock(one_at_a_time);
    const Library& library = *impl_->library;
    BlockRunner(kernel, library.entry(options.which), library.state(), options, argument).run();
}

}  // namespace convt_jit::sim

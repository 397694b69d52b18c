#include "subject/bandwidth.h"

#include <algorithm>
#include <vector>

namespace convt_jit::tools {
namespace {

constexpr int kCopies = 11;
constexpr std::size_t kCopyBytes = std::size_t{1} << 30;  // many times the L2 of any card

}  // namespace

double copy_bytes_per_second(const Device& device) {
    const Buffer from(device, kCopyBytes), to(device, kCopyBytes);
    from.fill(1);
    std::vector<double> times;
    Timer timer(device);
    for (int i = 0; i < kCopies; ++i) {
        timer.start(nullptr);
        to.copy_from(from, nullptr);
        timer.stop(nullptr);
        times.push_back(timer.milliseconds());
    }
    std::sort(times.begin(), times.end());
    return 2.0 * static_cast<double>(kCopyBytes) / (times[times.size() / 2] * 1e-3);
}

}  // namespace convt_jit::tools

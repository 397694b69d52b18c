#include "reference/parallel.h"

#include <gtest/gtest.h>

#include <atomic>
#include <stdexcept>
#include <vector>

namespace convt_jit {
namespace {

TEST(Parallel, DoesEachPieceOnce) {
    for (const int threads : {1, 3, 100}) {
        std::vector<std::atomic<int>> done(1000);
        parallel_for(1000, threads, [&](std::int64_t i) { ++done[static_cast<std::size_t>(i)]; });
        for (const auto& times : done) EXPECT_EQ(times, 1);
    }
    parallel_for(0, 4, [](std::int64_t) { FAIL(); });
}

TEST(Parallel, ThrowsWhatAPieceThrows) {
    EXPECT_THROW(parallel_for(100, 4,
                              [](std::int64_t i) {
                                  if (i == 50) throw std::runtime_error("piece");
                              }),
                 std::runtime_error);
}

}  // namespace
}  // namespace convt_jit

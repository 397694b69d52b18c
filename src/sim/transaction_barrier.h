// TransactionBarrier: a barrier of shared memory (mbarrier) that counts arrivals and the bytes of bulk copies, kept in
// the 8 bytes that the kernel sets aside, so that a kernel that writes over it shows.
#pragma once

#include <cstdint>

namespace convt_jit::sim {

struct TransactionBarrier {
    std::uint16_t arrivals, missing;     // of a phase; of the present one
    std::int32_t twice_bytes_and_phase;  // bytes that are still to come, and the parity of the present phase

    static TransactionBarrier make(int arrivals) noexcept {
        return {static_cast<std::uint16_t>(arrivals), static_cast<std::uint16_t>(arrivals), 0};
    }
    // Memory that was never made a barrier is poisoned.
    [[nodiscard]] bool valid() const noexcept { return arrivals >= 1 && arrivals <= 1024 && missing <= arrivals; }
    [[nodiscard]] bool is_over(unsigned parity) const noexcept {
        return static_cast<unsigned>(twice_bytes_and_phase & 1) != (parity & 1);
    }
    // False where all have arrived already, and the phase waits for bytes alone.
    [[nodiscard]] bool arrive(std::uint32_t expected_bytes) noexcept {
        if (missing == 0) return false;
        twice_bytes_and_phase += 2 * static_cast<std::int32_t>(expected_bytes);
        --missing;
        turn();
        return true;
    }
    void complete(std::uint32_t arrived_bytes) noexcept {
        twice_bytes_and_phase -= 2 * static_cast<std::int32_t>(arrived_bytes);
        turn();
    }

private:
    void turn() noexcept {
        if (missing != 0 || twice_bytes_and_phase >> 1 != 0) return;
        missing = arrivals;
        twice_bytes_and_phase ^= 1;
    }
};
static_assert(sizeof(TransactionBarrier) == 8);

}  // namespace convt_jit::sim

// Plan: how a layer is computed. A plain value: a family, its tile, and options that hold for all families.
#pragma once

#include "convt_jit/layer.h"
#include "plan/arch.h"
#include "plan/direct.h"
#include "plan/implicit_gemm.h"
#include "plan/implicit_gemm_sm90.h"
#include "plan/reference.h"
#include "plan/unrolled.h"

#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace convt_jit {

// A family is a tile type with these members: kFamily, fields(), standard(), unsupported(), threads(), shared_bytes(),
// grid(); and a template families/<kFamily>.cu. This list is the registry. One that has packed_bytes() too gets its
// weights packed, one that has reduces(), workspace_bytes() and reduce_grid() its partial sums added (docs/engine.md).
using Tile = std::variant<DirectTile, UnrolledTile, ImplicitGemmTile, ImplicitGemmSm90Tile, ReferenceTile>;

// What plan strings mean, and how good a plan is on a GPU: to be raised when a key or a template changes so that plans
// that were measured before say nothing about those of today. Tuning records of other versions are not used.
inline constexpr int kPlanVersion = 1;

struct Plan {
    Tile tile;
    // Offsets within one sample are 64-bit. Else they are 32-bit, and launches whose samples do not fit are refused.
    bool index64 = false;
    // Taps outside the input are skipped, never read as zero and multiplied.
    bool exact_nonfinite = false;
    friend bool operator==(const Plan&, const Plan&) = default;
};

struct PlanOptions {
    std::string plan;  // forced plan string; empty: the default choice
    bool exact_nonfinite = false;
};

// "direct", "unrolled", "implicit_gemm", "implicit_gemm_sm90", "reference"
[[nodiscard]] std::string_view family_name(const Plan& plan);
// One line, "direct positions=1x2x64 per_thread=4 ... index=32"; parse_plan takes it back.
[[nodiscard]] std::string to_string(const Plan& plan);
// Keys that the text leaves out are taken from the family's standard tile for the layer.
// Throws LayerError("plan", ...) for unknown families, keys or values.
[[nodiscard]] Plan parse_plan(std::string_view text, const Layer& layer, const Arch& arch);

// Plans that are worth measuring for the layer, of all families that serve it: the default choice first, then the best
// modelled ones of each family, at most `most_per_family` of one.
[[nodiscard]] std::vector<Plan> candidates(const Layer& layer, const Arch& arch, std::size_t most_per_family,
                                           const PlanOptions& options = {});

// Modelled time, comparable over all families; infinite where the family has no model.
[[nodiscard]] double modelled_cycles(const Plan& plan, const Layer& layer, const Arch& arch);

// The arch to compile for when a device or user names `arch`: without a suffix that the plan has no use for, so that
// kernels warmed for sm_90a are found by a device that calls itself sm_90.
[[nodiscard]] Arch compile_arch(const Plan& plan, const Arch& arch);

// The simulator stands for what every tensor-core GPU from Ampere on can. Hopper's family it runs where a plan asks for
// it: that takes a CPU several times as long.
[[nodiscard]] Arch simulated_arch(std::string_view plan);

// The plan for a layer: the forced one if it fits, else the default choice. Throws UnsupportedError where the forced
// plan cannot serve the layer on the arch (and says why).
[[nodiscard]] Plan choose(const Layer& layer, const Arch& arch, const PlanOptions& options = {});

// The plan that compiles fastest and serves all that `plan` serves: narrow, nothing unrolled, nothing staged. The same
// plan where there is no other (those of the `reference` family write another type).
[[nodiscard]] Plan generic_plan(const Plan& plan, const Layer& layer, const Arch& arch);

}  // namespace convt_jit

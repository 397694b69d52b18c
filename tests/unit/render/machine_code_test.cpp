// What the compiler makes of kernels on tensor cores, over the lists of candidates of representative layers.
#include "unit/render/machine_code.h"

#include "compile/nvrtc.h"
#include "plan/implicit_gemm.h"
#include "plan/implicit_gemm_sm90_resources.h"
#include "plan/plan.h"
#include "render/render.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <iterator>
#include <string>
#include <vector>

namespace convt_jit {
namespace {

using test::MachineCode;

constexpr const char* kTypes[] = {"", " tf32", " f16"};
// Many channels; few channels and a stride; a volume in groups.
constexpr const char* kLayers[] = {"n8 c64 o64 in512x512 k3x3 bias", "n8 c56 o3 in240x320 k9x9 s3 p4 op2 bias",
                                   "n8 c64 o64 in12x24x48 k3x4x4 s2 p1 g2 bias"};
const Arch kHopper{90, 'a'};

MachineCode compiled(const Layer& layer, const Plan& plan) {
    const Arch arch = compile_arch(plan, kHopper);
    const Source source = render(layer, plan, arch);
    const Cubin cubin = Nvrtc::instance().compile(source, arch);
    return test::machine_code({cubin.bytes.data(), cubin.bytes.size()}, source.entry);
}

// So many of a list, evenly.
template <class T>
std::vector<T> sample(const std::vector<T>& all, std::size_t count) {
    std::vector<T> some;
    for (std::size_t i = 0; i < count && i < all.size(); ++i) some.push_back(all[i * (all.size() - 1) / count]);
    return some;
}

// Some words that are needed once a tile may lie in local memory; more are a fault of the resource model, which told
// the compiler of registers that it then lacked.
constexpr int kMostFrame = 96;
constexpr std::size_t kSample = 6;

// Calls f with candidates of a family and what became of them.
template <class Candidates, class F>
void for_each_compiled(const char* text, const Candidates& candidates, F&& f) {
    std::size_t compiled_plans = 0, with_frame = 0;
    for (const char* type : kTypes) {
        const Layer layer = parse_layer(fmt::format("{}{}", text, type));
        for (const auto& tile : sample(candidates(layer, kHopper, 100'000), kSample)) {
            const Plan plan{tile};
            SCOPED_TRACE(to_string(layer) + " " + to_string(plan));
            const MachineCode code = compiled(layer, plan);
            EXPECT_LE(code.frame_bytes, kMostFrame);
            ++compiled_plans;
            with_frame += code.frame_bytes > 0 ? 1 : 0;
            f(layer, tile, code);
        }
    }
    EXPECT_EQ(compiled_plans, kSample * std::size(kTypes));
    EXPECT_LE(with_frame, compiled_plans / 3);
}

bool is_split(const Layer& layer) { return layer.dtype == DType::f32 && layer.precision == Precision::ieee; }

class MachineCodeOf : public testing::TestWithParam<const char*> {};

TEST_P(MachineCodeOf, ImplicitGemm) {
    for_each_compiled(GetParam(), implicit_gemm_candidates,
                      [](const Layer& layer, const ImplicitGemmTile& tile, const MachineCode& code) {
                          const int products = code.count(MachineCode::kHmma);
                          EXPECT_GT(products, 0);
                          if (is_split(layer)) {
                              EXPECT_EQ(products % 3, 0) << "three for one";
                          }
                          EXPECT_EQ(code.count(MachineCode::kHgmma), 0);
                          // What is launched fits as often as the plan says.
                          EXPECT_LE(code.registers * tile.threads(layer) * tile.min_blocks, 65536);
                      });
}

TEST_P(MachineCodeOf, ImplicitGemmSm90) {
    for_each_compiled(GetParam(), implicit_gemm_sm90_candidates,
                      [](const Layer& layer, const ImplicitGemmSm90Tile& tile, const MachineCode& code) {
                          EXPECT_EQ(code.count(MachineCode::kHmma), 0);
                          const int products = code.count(MachineCode::kHgmma);
                          EXPECT_GT(products, 0);
                          if (is_split(layer)) {
                              EXPECT_EQ(products % 3, 0) << "three for one";
                          }
                          EXPECT_GT(code.count(MachineCode::kBulkCopy), 0);
                          ImplicitGemmSm90Resources r;
                          ASSERT_EQ(implicit_gemm_sm90_resources(ImplicitGemmLayer::make(layer), tile, kHopper, r), "");
                          EXPECT_LE(code.registers, r.registers);
                      });
}

INSTANTIATE_TEST_SUITE_P(Layers, MachineCodeOf, testing::ValuesIn(kLayers));

}  // namespace
}  // namespace convt_jit

#!/usr/bin/env bash
# shellcheck disable=SC2317  # stages are called by name
# Everything that needs a GPU, from the repository's root with a build folder that was made elsewhere:
#
#   bench/device.sh OUT [STAGE...]      BUILD=build by default; all stages without a name
#
# Stages: facts gpu graphs warm_only bug_trials origin matrices property conformance layers sanitize micro bench_f32
# bench_tf32 bench_f16 torch table real_f32 real_tf32 real_f16 tune_f32 tune_tf32 tune_f16 (these only where they are
# named; BUDGET (6s) for each layer).
# Each prints one line, PASS or FAIL with its time; a stage that fails, or takes more than LIMIT (300) seconds, does not
# stop the others. OUT receives device.log (all output), micro.json, bench-f32.json, bench-f16.json, torch.json,
# table.md, real-f32.json. Exit code: 1 if any failed.
#
# Kernels that were compiled ahead, without a GPU, are taken from $BUILD/kernels or $BUILD/kernels.tar.gz:
#   export CONVT_JIT_CACHE_DIR=$PWD/build/kernels
#   build/bin/compile_ahead sm_90 && build/bin/convt_warm_only warm sm_90 && tar -C build -czf build/kernels.tar.gz kernels
set -uo pipefail

only=
[[ ${1:-} != --only ]] || { only=$3; set -- "$2"; }
out=${1:?usage: bench/device.sh OUT [STAGE...]}
shift
build=${BUILD:-build}
mkdir -p "$out"
log=$out/device.log
: >>"$log"
cores=$(nproc)
layers=bench/layers/perf.jsonl
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

export LD_LIBRARY_PATH=$PWD/$build/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
export CONVT_TEST_DATA=$PWD/tests/data CONVT_BENCH_LAYERS=$PWD/$layers
export CONVT_JIT_CACHE_DIR=$PWD/$build/kernels
[[ -d $CONVT_JIT_CACHE_DIR || ! -f $build/kernels.tar.gz ]] || tar -C "$build" -xzf "$build/kernels.tar.gz"

convt() { "$build/bin/convt" "$@"; }

# One test program as several processes, each with its share of the tests and of the cores.
spread() {
    local program=$1 processes=$2 failed=0 pids=() i
    for ((i = 0; i < processes; ++i)); do
        GTEST_TOTAL_SHARDS=$processes GTEST_SHARD_INDEX=$i CONVT_TEST_THREADS=$(((cores + processes - 1) / processes)) \
            "$build/bin/$program" --gtest_brief=1 >"$scratch/$program.$i" 2>&1 &
        pids+=($!)
    done
    for i in "${!pids[@]}"; do
        wait "${pids[i]}" || failed=1
        cat "$scratch/$program.$i"
    done
    return "$failed"
}

facts() { nvidia-smi && nproc && uname -srm && "$build/bin/convt" --version; }
# In processes of their own, for one of them resets the device; without kernels from a disk.
gpu() {
    "$build/bin/gpu_driver_tests" &&
    "$build/bin/gpu_tests" --gtest_filter=-ContextZReset.* && "$build/bin/gpu_tests" --gtest_filter=ContextZReset.*
}
# As a container that has a driver and no toolkit: kernels are exported, imported elsewhere, and run without a compiler.
warm_only() {
    local program=$build/bin/convt_warm_only archive=$scratch/kernels.tar arch
    local hidden=(env CONVT_JIT_NVRTC=/nonexistent/libnvrtc.so "LD_LIBRARY_PATH=$PWD/$build/lib")
    arch=sm_$(nvidia-smi --query-gpu=compute_cap --format=csv,noheader | head -n 1 | tr -d .) &&
    "$program" warm "$arch" && "$program" export "$archive" &&  # nothing to compile where it was done ahead
    "${hidden[@]}" CONVT_JIT_CACHE_DIR="$scratch/imported" "$program" import "$archive" &&
    "${hidden[@]}" CONVT_JIT_CACHE_DIR="$scratch/imported" "$program" run || return
    # The same in place, as a read-only directory of an image.
    "${hidden[@]}" CONVT_JIT_CACHE_DIR="$scratch/own" CONVT_JIT_CACHE_PATH="$scratch/imported" "$program" run || return
    # With nothing in the cache it says what is missing.
    ! "${hidden[@]}" CONVT_JIT_CACHE_DIR="$scratch/empty" "$program" run >"$scratch/missing" 2>&1 &&
    cat "$scratch/missing" && grep -q 'convt warmup "' "$scratch/missing"
}
# A part of gpu.
graphs() { "$build/bin/gpu_tests" --gtest_filter='*Graph*'; }
bug_trials() { CONVT_TEST_DEVICE=cuda "$build/bin/bug_trials_tests"; }
origin() { CONVT_TEST_DEVICE=cuda "$build/bin/origin_tests"; }
property() { CONVT_TEST_DEVICE=cuda spread property_tests 4; }
matrices() { CONVT_TEST_DEVICE=cuda spread matrices_tests 4 && CONVT_TEST_DEVICE=cuda spread warpgroups_tests 8; }
conformance() { CONVT_TEST_DEVICE=cuda spread conformance_tests 4; }

# Each dimension and dtype, both layouts, groups, epilogues, phases without taps; the kernels alone, not the tests.
sample=(
    "n2 c5 o6 in67 k5 s3 p1 op2 bias f32" "n2 c5 o6 in67 k5 s3 p1 d2 bias f16 relu" "n2 c8 o4 in33 k2 s4 bf16 nhwc"
    "n2 c12 o8 in13x17 k3x5 s2x3 p1x2 d2x1 g4 bias f32" "n1 c7 o5 in9x11 k4 s2 p1 tf32 nhwc residual"
    "n2 c6 o6 in19x21 k4 s2 p1 g6 f16 bias gelu affine" "n1 c16 o3 in15x31 k1x2 s3x2 op1x1 bf16 clamp-1:1"
    "n1 c6 o4 in5x6x7 k3x2x4 s2x1x3 p1x0x1 g2 bias f32" "n2 c4 o4 in4x5x6 k3 s2 p1 op1 f16 nhwc silu"
    "n1 c9 o5 in3x9x8 k2x3x3 s1x2x2 d1x2x1 p0x0x1:0x1x0 bf16 bias"
)
# A layer and a plan each: families on tensor cores, with shared sums, resident weights, teams, folded rows, storers. Those
# who load take a stage in turn with each other where there are as many stages: racecheck does not follow two barriers.
planned=(
    "n2 c24 o40 in9x33 k3x3 p1 bias|implicit_gemm" "n2 c72 o40 in9x33 k3x3 p1 bias f16|implicit_gemm split=2"
    "n2 c24 o70 in9x41 k3x3 p1 bias|implicit_gemm_sm90" "n2 c24 o70 in9x41 k4x4 s2 p1 bias f16|implicit_gemm_sm90"
    "n2 c24 o70 in9x40 k3x3 p1 bias tf32|implicit_gemm_sm90 positions=2x32 groups_m=1 groups_n=2 teams=2 loaders=1 chunk=8 stages=4 join=2 min_blocks=1 resident=0 processors=2 fold=1 storers=0"
    "n2 c24 o40 in9x41 k2x2 s2 bias bf16|implicit_gemm_sm90 positions=4x8 groups_m=1 groups_n=1 teams=1 loaders=1 chunk=16 stages=4 join=2 min_blocks=1 resident=1 processors=1 fold=2 storers=0"
    "n2 c20 o32 in9x40 k3x3 p1 bias|implicit_gemm_sm90 positions=2x32 groups_m=1 groups_n=1 teams=1 loaders=1 chunk=8 stages=2 join=2 min_blocks=1 resident=0 processors=2 fold=2 storers=0"
    "n2 c24 o70 in9x41 k3x3 p1 bias f16|implicit_gemm_sm90 positions=2x32 groups_m=1 groups_n=2 teams=1 loaders=1 chunk=16 stages=2 join=2 min_blocks=1 resident=0 processors=2 fold=1 storers=1"
    "n2 c24 o70 in9x66 k3x3 p1x2 bias tf32|implicit_gemm_sm90 positions=4x72 groups_m=1 groups_n=2 teams=1 loaders=2 chunk=8 stages=4 join=2 min_blocks=1 resident=0 processors=2 fold=1 storers=0 store_width=4 apart=0"
    "n2 c24 o70 in9x66 k3x3 p1x2 bias|implicit_gemm_sm90 positions=4x72 groups_m=1 groups_n=2 teams=1 loaders=1 chunk=8 stages=4 join=2 min_blocks=1 resident=0 processors=2 fold=1 storers=1 store_width=4 apart=1"
    "n2 c24 o40 in9x41 k2x2 s2 bias|implicit_gemm_sm90 positions=4x8 groups_m=1 groups_n=1 teams=1 loaders=1 chunk=8 stages=2 join=2 min_blocks=1 resident=1 processors=1 fold=2 storers=1"
    "n2 c24 o40 in9x41 k2x2 s2 bias residual|implicit_gemm_sm90 positions=4x8 groups_m=1 groups_n=1 teams=1 loaders=1 chunk=8 stages=2 join=2 min_blocks=1 resident=0 processors=1 fold=1 storers=0"
    "n5 c20 o70 in4x6 k4x4 s2 p1 bias f16|implicit_gemm_sm90 positions=16x8 groups_m=2 groups_n=1 teams=1 loaders=2 chunk=16 stages=4 join=2 min_blocks=1 resident=0 processors=2 fold=1 storers=0 store_width=1 apart=0 images=4"
    "n5 c20 o70 in4x6 k4x4 s2 p1 bias|implicit_gemm_sm90 positions=8x8 groups_m=1 groups_n=1 teams=1 loaders=1 chunk=8 stages=2 join=2 min_blocks=1 resident=0 processors=2 fold=1 storers=1 store_width=1 apart=0 images=2"
    "n2 c24 o1 in13x17 k9x9 s3 p4 op2 bias|implicit_gemm fold=3x3 positions=4x16 warp_rows=4 block_channels=16 warps_m=1 warps_n=2 chunk=8 stages=2 split=1"
    "n1 c40 o3 in9x21 k4x4 s2 p1 bias f16|implicit_gemm fold=2x2 positions=4x16 warp_rows=2 block_channels=16 warps_m=1 warps_n=2 chunk=16 stages=2 split=1"
    "n1 c16 o16 in4x12x20 k3x5x7 s2 p1x2x3 op1 g2 bias f16|implicit_gemm fold=2x2 positions=4x24 warp_rows=2 block_channels=32 warps_m=2 warps_n=2 chunk=8 stages=2 split=1"
    "n2 c18 o1 in9 k128 s32 bias tf32|implicit_gemm"
)
sanitize() {
    local tool one i failed=0 pids=() names=()
    for tool in memcheck racecheck; do
        local run=(compute-sanitizer --tool "$tool" --error-exitcode 9 "$build/bin/convt" run --backend cuda --check)
        for one in "${sample[@]}" "${planned[@]}"; do
            local plan=()
            [[ $one != *"|"* ]] || plan=(--plan "${one#*|}")
            while (($(jobs -rp | wc -l) >= cores)); do sleep 0.1; done
            "${run[@]}" "${one%%|*}" "${plan[@]}" >"$scratch/sanitize.${#pids[@]}" 2>&1 &
            pids+=($!) names+=("$tool: $one")
        done
    done
    for i in "${!pids[@]}"; do
        wait "${pids[i]}" || { failed=1; echo "sanitize: failed: ${names[i]}"; cat "$scratch/sanitize.$i"; }
    done
    return "$failed"
}

micro() { "$build/bin/convt_micro" --benchmark_out="$out/micro.json" --benchmark_out_format=json; }
# Every element of every benchmark layer, in both precisions. Four processes, so that one compiles while another runs.
layers() {
    sed 's/"dtype": "f32"/"dtype": "f16"/' "$layers" | cat "$layers" - | split -n r/4 - "$scratch/perf."
    local part pids=() failed=0
    for part in "$scratch"/perf.??; do
        convt run --backend cuda --check --layers "$part" >"$part.log" 2>&1 &
        pids+=($!)
    done
    for part in "${pids[@]}"; do wait "$part" || failed=1; done
    cat "$scratch"/perf.??.log
    return "$failed"
}
bench_f32() { convt bench --layers "$layers" --json "$out/bench-f32.json"; }
bench_tf32() { convt bench --layers "$layers" --dtype tf32 --json "$out/bench-tf32.json"; }
bench_f16() { convt bench --layers "$layers" --dtype f16 --json "$out/bench-f16.json"; }
torch() { python3 bench/compare_torch.py measure --layers "$layers" --out "$out/torch.json"; }
table() {
    python3 bench/compare_torch.py table --torch "$out/torch.json" --convt "$out"/bench-f*.json >"$out/table.md"
}
real_f32() { convt bench --layers bench/layers/real.jsonl --json "$out/real-f32.json"; }
real_tf32() { convt bench --layers bench/layers/real.jsonl --dtype tf32 --json "$out/real-tf32.json"; }
real_f16() { convt bench --layers bench/layers/real.jsonl --dtype f16 --json "$out/real-f16.json"; }
tune() { convt autotune --layers "$layers" --dtype "$1" --budget "${BUDGET:-6s}" --records "$out/tuned-$1.json"; }
tune_f32() { tune f32; }
tune_tf32() { tune tf32; }
tune_f16() { tune f16; }
if [[ $only ]]; then
    "$only"
    exit
fi

stages=("$@")
((${#stages[@]})) || stages=(facts gpu warm_only bug_trials origin matrices property conformance layers sanitize micro bench_f32
    bench_tf32 bench_f16 torch table real_f32 real_tf32 real_f16)
status=0
for stage in "${stages[@]}"; do
    begin=$(date +%s.%N)
    echo "=== $stage" >>"$log"
    if timeout "${LIMIT:-300}" "$0" --only "$out" "$stage" >"$scratch/stage" 2>&1; then verdict=PASS; else verdict=FAIL status=1; fi
    cat "$scratch/stage" >>"$log"
    took=$(awk -v a="$begin" -v b="$(date +%s.%N)" 'BEGIN { printf "%.1f s", b - a }')
    echo "$verdict $stage $took" | tee -a "$log"
    # What went wrong, at once: the log may be far away.
    [[ $verdict == PASS ]] || tail -n 25 "$scratch/stage"
done
exit $status

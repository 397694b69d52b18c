#!/usr/bin/env bash
# The Python package on a machine with a GPU, from the repository's root, with a libconvt_jit.so that was built elsewhere:
#
#   bench/python_device.sh OUT [STAGE...]      BUILD=build by default; all stages without a name
#
# Stages: facts extension warm tests overhead networks. Wants python3 with torch, nanobind and pytest, cmake and a C++
# compiler. OUT receives python.log, python-tests.log, python-overhead.json, python-networks.json. A stage that fails, or
# takes more than LIMIT (300) seconds, does not stop the others. Exit code: 1 if any failed.
# Kernels that were compiled ahead are taken from $BUILD/python-kernels.tar.gz where there is one; bench/python_kernels.py
# makes it, without a GPU.
set -uo pipefail

only=
[[ ${1:-} != --only ]] || { only=$3; set -- "$2"; }
out=${1:?usage: bench/python_device.sh OUT [STAGE...]}
shift
build=${BUILD:-build}
mkdir -p "$out" "$build/python"
log=$out/python.log
export CONVT_JIT_CACHE_DIR=$PWD/$build/python-kernels
export PYTHONPATH=$PWD/$build/python/site PYTHONUNBUFFERED=1

facts() { nvidia-smi -L; nproc; python3 -c 'import sys, torch; print(sys.version, torch.__version__, torch.cuda.is_available())'; }
extension() {
    [[ ! -f $build/python-kernels.tar.gz ]] || tar -C "$build" -xzf "$build/python-kernels.tar.gz"
    rm -rf "$build/python"
    cmake -S python -B "$build/python" -DPython_EXECUTABLE="$(command -v python3)" \
        -DCONVT_JIT_LIBRARY="$(readlink -f "$build/lib/libconvt_jit.so")" -DCONVT_JIT_PYTHON_OUTPUT="$PWD/$build/python/site" &&
        cmake --build "$build/python" --parallel && python3 -c '
import convt_jit
from convt_jit import _core
print(convt_jit.__version__, _core.cuda_count(), _core.nvrtc_version())'
}
warm() { python3 bench/python_networks.py --warm --arch "$(python3 -c 'import torch; a, b = torch.cuda.get_device_capability(); print(f"sm_{a}{b}" + "a" * (a >= 9))')"; }
# Several processes, of one thread each: PyTorch's results in f64 come from the CPU. The log says how many kernels the
# archive lacked.
tests() {
    local shards i failed=0 pids=()
    shards=$(($(nproc) < 12 ? $(nproc) : 12))
    for ((i = 0; i < shards; ++i)); do
        CONVT_TEST_SHARD=$i/$shards OMP_NUM_THREADS=1 python3 -m pytest -q --maxfail=5 -p no:cacheprovider -rsfE python/tests \
            -k 'cuda or gpu' --durations=3 >"$out/python-tests.$i" 2>&1 &
        pids+=($!)
    done
    for i in "${!pids[@]}"; do wait "${pids[i]}" || failed=1; done
    cat "$out"/python-tests.? "$out"/python-tests.?? >"$out/python-tests.log" 2>/dev/null
    rm "$out"/python-tests.[0-9]*
    grep -hE '^(FAILED|ERROR)|^E  |passed|failed|not compiled ahead' "$out/python-tests.log"
    return "$failed"
}
overhead() { python3 bench/python_overhead.py --out "$out/python-overhead.json"; }
networks() { python3 bench/python_networks.py --resume --seconds "${NETWORK_SECONDS:-90}" --out "$out/python-networks.json"; }
if [[ $only ]]; then
    "$only"
    exit
fi

stages=("$@")
((${#stages[@]})) || stages=(facts extension warm tests overhead networks)
status=0
for stage in "${stages[@]}"; do
    begin=$SECONDS
    echo "=== $stage" >>"$log"
    if timeout "${LIMIT:-300}" "$0" --only "$out" "$stage" >"$out/.stage" 2>&1; then verdict=PASS; else verdict=FAIL status=1; fi
    cat "$out/.stage" >>"$log"
    echo "$verdict $stage $((SECONDS - begin)) s" | tee -a "$log"
    [[ $verdict == PASS && $stage != networks ]] || tail -n 40 "$out/.stage"
done
rm -f "$out/.stage"
exit $status

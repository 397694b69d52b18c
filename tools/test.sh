#!/usr/bin/env bash
# Builds everything and runs the tests.
#
#   tools/test.sh [--sanitize address,undefined|thread] [ctest argument...]
#
# Without --sanitize: all tests, in build/ (those that need a GPU are skipped where there is none). With it: the unit
# and fault tests in build-asan/, or those of them with "Threads" in their names in build-tsan/.
set -euo pipefail
cd "$(dirname "$0")/.."
source tools/setup.sh

folder=build
options=()
selection=()
if [[ ${1:-} == --sanitize ]]; then
    case ${2:-} in
        address,undefined) folder=build-asan selection=(-L '^(unit|fault)$') ;;
        thread) folder=build-tsan selection=(-L '^(unit|fault)$' -R Threads) ;;
        *) echo "usage: tools/test.sh [--sanitize address,undefined|thread] [ctest argument...]" >&2; exit 2 ;;
    esac
    options=(-DCONVT_JIT_SANITIZE="$2" -DCMAKE_BUILD_TYPE=None -DCMAKE_CXX_FLAGS="-O1 -g1"
        -DCONVT_JIT_BUILD_TOOLS=OFF "-DCONVT_JIT_TEST_PARTS=unit;fault;fuzz")
    shift 2
fi

[[ $folder != build ]] || options=(-DCONVT_JIT_BUILD_BENCH=ON)
setup
if [[ $folder == build ]]; then
    if setup_python; then
        options+=(-DCONVT_JIT_BUILD_PYTHON=ON "-DPython_EXECUTABLE=$python" "-Dnanobind_DIR=$PWD/build/nanobind/nanobind/cmake")
    else
        say "no Python with PyTorch, pytest, its headers and nanobind: the Python package is left out"
    fi
fi
say "building $folder"
configure "$folder" "${options[@]}"
cmake --build "$folder"
say "testing $folder"
ctest --test-dir "$folder" --output-on-failure --no-tests=error -j2 "${selection[@]}" "$@"

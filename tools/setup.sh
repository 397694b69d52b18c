# shellcheck shell=bash
# What a build needs, fetched where it is missing. Sourced from the repository's root by the other scripts.

say() { printf '== %s\n' "$*"; }

missing_packages() {
    local package program
    # A program that comes from elsewhere is as good as the package.
    for package in g++ cmake ninja-build:ninja pkg-config python3 clang-format protobuf-compiler:protoc; do
        program=${package#*:}
        command -v "$program" >/dev/null || printf '%s\n' "${package%:*}"
    done
    for package in libspdlog-dev libfmt-dev nlohmann-json3-dev libcli11-dev libxxhash-dev libkainjow-mustache-dev \
        libboost-context-dev libgtest-dev libgmock-dev libbenchmark-dev libprotobuf-dev; do
        [[ $(dpkg-query -W -f='${db:Status-Status}' "$package" 2>/dev/null) == installed ]] || printf '%s\n' "$package"
    done
}

install_packages() {
    if ! command -v apt-get >/dev/null || ! command -v dpkg-query >/dev/null; then
        say "no apt-get here: the libraries of cmake/dependencies.cmake must be installed by hand"
        return
    fi
    local missing
    mapfile -t missing < <(missing_packages)
    apt_install "${missing[@]}" || { say "missing: $(missing_packages | tr '\n' ' ')"; return 1; }
}

apt_install() {
    local missing=("$@") as_root=()
    ((${#missing[@]})) || return 0
    say "installing ${missing[*]}"
    if ((EUID != 0)); then
        command -v sudo >/dev/null || { say "missing, and neither root nor sudo to install them: ${missing[*]}"; return 1; }
        as_root=(sudo)
    fi
    # Old package lists are no reason to stop: the packages may still be there.
    "${as_root[@]}" apt-get update -qq || true
    "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${missing[@]}" \
        >/dev/null || { say "apt-get could not install them"; return 1; }
}

# A Python with what the tests of the Python package need: $CONVT_JIT_PYTHON, the one called python3, or Debian's.
python_with_torch() {
    local candidate
    for candidate in ${CONVT_JIT_PYTHON:+"$CONVT_JIT_PYTHON"} python3 /usr/bin/python3; do
        "$candidate" - 2>/dev/null <<'EOF' && { command -v "$candidate"; return 0; }
import importlib.util, os, sys, sysconfig
there = all(importlib.util.find_spec(name) for name in ("torch", "pytest", "numpy"))
sys.exit(not (there and os.path.exists(os.path.join(sysconfig.get_path("include"), "Python.h"))))
EOF
    done
    return 1
}

# nanobind, which Debian has not: CMake files and sources, whichever Python is built for.
fetch_nanobind() {
    [[ -e build/nanobind/nanobind/cmake/nanobind-config.cmake ]] && return
    local python=python3
    if ! python3 -m pip --version >/dev/null 2>&1; then
        python3 -m venv build/venv || return 1
        python=build/venv/bin/python3
    fi
    say "fetching nanobind into build/nanobind"
    "$python" -m pip install -q --disable-pip-version-check --root-user-action ignore --upgrade --target build/nanobind \
        'nanobind>=2.2,<3'
}

# Sets python to a Python that the package can be built for and tested with. PyTorch is large: for the tests alone.
setup_python() {
    if ! python=$(python_with_torch) && command -v apt-get >/dev/null && [[ -x /usr/bin/python3 ]]; then
        apt_install python3-torch python3-pytest python3-numpy python3-dev || return 1
        python=$(python_with_torch) || return 1
    fi
    [[ $python ]] && fetch_nanobind
}

# A toolkit with both headers and NVRTC.
has_cuda() {
    local root
    for root in "${CUDA_HOME:-}" "${CUDA_PATH:-}" /usr/local/cuda; do
        if [[ -n $root && -e $root/include/cuda.h && -e $root/include/nvrtc.h ]] &&
            compgen -G "$root/lib64/libnvrtc.so*" >/dev/null; then
            return 0
        fi
    done
    return 1
}

# The same from NVIDIA's wheels: headers and the run-time compiler, no toolkit.
fetch_cuda() {
    local wheels=build/cuda/wheels python=python3 wheel
    if [[ ! -e build/cuda/complete ]]; then
        say "no CUDA toolkit: fetching NVRTC and headers into build/cuda"
        mkdir -p "$wheels"
        if ! python3 -m pip --version >/dev/null 2>&1; then
            python3 -m venv build/venv || { say "neither pip nor venv: install python3-pip or python3-venv"; return 1; }
            python=build/venv/bin/python3
        fi
        "$python" -m pip download -q --disable-pip-version-check --no-deps --only-binary :all: -d "$wheels" \
            'nvidia-cuda-nvrtc==13.0.*' 'nvidia-cuda-runtime==13.0.*' 'nvidia-cuda-crt==13.0.*' ||
            { say "could not fetch them; set CUDA_HOME to a toolkit"; return 1; }
        for wheel in "$wheels"/*.whl; do
            python3 -m zipfile -e "$wheel" "$wheels"
        done
        cp -r "$wheels"/nvidia/cu13/include "$wheels"/nvidia/cu13/lib build/cuda/
        rm -r "$wheels"
        touch build/cuda/complete
    fi
    export CONVT_JIT_NVRTC=${CONVT_JIT_NVRTC:-$PWD/build/cuda/lib/libnvrtc.so.13}
}

setup() {
    install_packages
    has_cuda || fetch_cuda
}

# configure FOLDER [cmake argument...]
configure() {
    local folder=$1
    shift
    if command -v ccache >/dev/null; then
        set -- -DCMAKE_CXX_COMPILER_LAUNCHER=ccache "$@"
    fi
    mkdir -p "$folder"
    cmake -S . -B "$folder" -G Ninja "$@" >"$folder/configure.log" 2>&1 || { cat "$folder/configure.log"; return 1; }
}

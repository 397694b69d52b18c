#!/usr/bin/env bash
# Formats the C++ sources, or with --check names those that are not formatted. Kernels (.cu, .cuh) keep their own form.
set -euo pipefail
cd "$(dirname "$0")/.."
version=14  # another release formats differently

formatter=clang-format
is_right() { "$1" --version 2>/dev/null | grep -q "version $version\."; }
if ! is_right "$formatter"; then
    formatter=build/format/bin/clang-format
    is_right "$formatter" || {
        python3 -m venv build/format && build/format/bin/pip install -q --disable-pip-version-check "clang-format==$version.*"
    } || { echo "clang-format $version is needed" >&2; exit 1; }
fi

action=(-i)
[[ ${1:-} != --check ]] || action=(--dry-run --Werror)
git ls-files -z --cached --others --exclude-standard -- '*.h' '*.cpp' | grep -zE '^(include|src|templates|tests|tools|bench|examples|python)/' |
    xargs -0 "$formatter" "${action[@]}"

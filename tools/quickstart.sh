#!/usr/bin/env bash
# From a bare clone to a checked result: builds convt and runs one layer, on a GPU where there is one.
set -euo pipefail
cd "$(dirname "$0")/.."
source tools/setup.sh

setup
say "building build/bin/convt"
configure build
cmake --build build --target convt convt_jit_static  # all that `cmake --install build` wants

if gpus=$(nvidia-smi -L 2>/dev/null) && [[ -n $gpus ]]; then
    say "running on the GPU: ${gpus%%$'\n'*}"
    run=(build/bin/convt run "n16 c32 o64 in128x256 k3x5 s2x3 p1x2 d2x1 g4 bias f32" --check)
else
    say "running on the simulator, with a smaller input: nvidia-smi lists no GPU here"
    run=(build/bin/convt run "n2 c32 o64 in12x16 k3x5 s2x3 p1x2 d2x1 g4 bias f32" --backend sim --check)
fi
printf '+ %s %s "%s" %s\n' "${run[0]}" "${run[1]}" "${run[2]}" "${run[*]:3}"
"${run[@]}"

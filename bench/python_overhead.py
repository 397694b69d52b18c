#!/usr/bin/env python3
"""CPU time of one call of a module on a tiny layer, beside PyTorch's own call: both in one process, in turns.

    python_overhead.py --out overhead.json

The stream is held up by a sleeping kernel while calls are counted, so that the GPU is never waited for; times are of
the calling thread. Without a GPU nothing is measured but PyTorch's path through the module (--device cpu).
"""
import argparse
import json
import statistics
import time

import torch
import torch.nn.functional as F

import convt_jit

CALLS = 200


def once(run, is_cuda):
    """Microseconds of one call."""
    if is_cuda:
        torch.cuda.synchronize()
        torch.cuda._sleep(20_000_000)
    begin = time.perf_counter_ns()
    for _ in range(CALLS):
        run()
    return (time.perf_counter_ns() - begin) / CALLS / 1e3


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out")
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    parser.add_argument("--rounds", type=int, default=30)
    options = parser.parse_args()
    is_cuda = options.device == "cuda"
    x = torch.randn(1, 8, 4, 4, device=options.device)
    ours = convt_jit.nn.ConvTranspose2d(8, 8, 4, 2, 1).to(options.device)
    theirs = torch.nn.ConvTranspose2d(8, 8, 4, 2, 1).to(options.device)
    w, b = ours.weight, ours.bias
    runs = {
        "torch function": lambda: F.conv_transpose2d(x, w, b, 2, 1),
        "torch module": lambda: theirs(x),
        "convt_jit function": lambda: convt_jit.functional.conv_transpose2d(x, w, b, 2, 1),
        "convt_jit module": lambda: ours(x),
    }
    result = {"device": torch.cuda.get_device_name() if is_cuda else "cpu", "torch": torch.__version__,
              "layer": "n1 c8 o8 k4x4 s2 p1 bias in4x4", "unit": "microseconds of CPU time per call, median"}
    for mode, context in (("inference_mode", torch.inference_mode), ("no_grad", torch.no_grad),
                          ("training", torch.enable_grad)):
        times = {name: [] for name in runs}
        with context():
            for run in runs.values():
                for _ in range(20):
                    run()
            for _ in range(options.rounds):
                for name, run in runs.items():
                    times[name].append(once(run, is_cuda))
        medians = {name: statistics.median(values) for name, values in times.items()}
        result[mode] = {**{name: round(value, 3) for name, value in medians.items()},
                        "module over torch function": round(medians["convt_jit module"] / medians["torch function"],
                                                            3)}
    text = json.dumps(result, indent=1)
    print(text)
    if options.out:
        with open(options.out, "w") as file:
            file.write(text + "\n")


if __name__ == "__main__":
    main()

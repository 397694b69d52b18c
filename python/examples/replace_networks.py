#!/usr/bin/env python3
"""Replaces the transposed convolutions of three networks and prints what that does to each layer and to the whole.

    python3 replace_networks.py [--batch N] [--dtype float32|float16|bfloat16] [--small] [--sim] [--fold]

Without a GPU PyTorch runs everything, in small networks; with --sim the library's kernels run in its simulator, which
shows that the numbers agree and says nothing of times.
"""
import argparse
import copy

import torch

import convt_jit
from convt_jit.report import measure
from networks import networks


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--batch", type=int, default=8)
    parser.add_argument("--dtype", default="float32", choices=["float32", "float16", "bfloat16"])
    parser.add_argument("--small", action="store_true", help="small networks")
    parser.add_argument("--sim", action="store_true", help="run kernels on the CPU")
    parser.add_argument("--fold", action="store_true", help="batch normalisation and activation in the same kernel")
    options = parser.parse_args()

    device = "cuda" if torch.cuda.is_available() else "cpu"
    dtype = getattr(torch, options.dtype)
    if device == "cpu":
        print("no GPU here: small networks, and a batch of 1")
        options.small, options.batch = True, 1
        convt_jit.set_backend("sim" if options.sim else "auto")

    for name, model, shape in networks(options.small):
        original = model.to(device, dtype).eval()
        ours = convt_jit.replace(copy.deepcopy(original), fold=options.fold)
        x = torch.randn(options.batch, *shape, device=device, dtype=dtype)
        print(f"\n{name}, batch {options.batch}, {options.dtype}, {device}\n")
        with torch.inference_mode():
            print(convt_jit.report(ours, x, only_if_faster=device == "cuda"))
            before, after = measure([lambda: original(x), lambda: ours(x)], device == "cuda")
            error = (original(x).double() - ours(x).double()).abs().max().item()
        print(f"\nwhole network: {before:.3f} ms before, {after:.3f} ms after, {before / after:.2f}x; "
              f"max error {error:.1e}")


if __name__ == "__main__":
    main()

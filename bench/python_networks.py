#!/usr/bin/env python3
"""The three example networks before and after convt_jit.replace: layers, whole networks, errors.

    python_networks.py --warm [--arch sm_90a]     compiles their kernels, on all cores, no GPU needed
    python_networks.py --out networks.json        measures, on a GPU; with --resume what the file lacks; with
                                                  --seconds 100 it ends before a row that would begin later

Two batch sizes; f32 with TF32 allowed and not, f16, bf16. In inference mode; medians of launches in turns. cuDNN's
benchmark mode chooses for transposed convolutions, its rules for the other ones, which are the same before and after.
Errors of the whole network: the largest difference from PyTorch's result in the same type, and the relative L2
distance from PyTorch's in f64, beside that of PyTorch in the same type.
"""
import argparse
import copy
import json
import multiprocessing
import os
import pathlib
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "python" / "examples"))

PRECISIONS = {"f32": ("float32", False), "tf32": ("float32", True), "f16": ("float16", False),
              "bf16": ("bfloat16", False)}
BATCHES = {"DCGAN": (16, 256), "HiFi-GAN": (1, 16), "U-Net": (1, 8)}
SMALL_BATCHES = {"DCGAN": (1, 2), "HiFi-GAN": (1, 2), "U-Net": (1, 2)}


def warm_one(job):
    """Compiles one network's kernels at one batch and precision; in a process of its own."""
    index, batch, precision, archs, small, fold = job
    import torch

    import convt_jit
    from networks import networks

    torch.set_num_threads(1)
    name, model, shape = networks(small)[index]
    dtype, tf32 = PRECISIONS[precision]
    model = model.to("meta", getattr(torch, dtype)).eval()
    convt_jit.replace(model, fold=fold)
    x = torch.empty(batch, *shape, dtype=getattr(torch, dtype), device="meta")
    made = convt_jit.warmup(model, x, archs, tf32=tf32)
    return [(name, w.layer, w.origin, w.why_not) for w in made]


def warm(options):
    from networks import networks

    batches = SMALL_BATCHES if options.small else BATCHES
    jobs = [(index, batch, precision, options.arch.split(","), options.small, fold)
            for index, (name, _, _) in enumerate(networks(options.small)) for batch in batches[name]
            for precision in options.precisions.split(",") for fold in ((False, True) if name == "DCGAN" else (False,))]
    begin = time.time()
    with multiprocessing.get_context("spawn").Pool(min(os.cpu_count() or 1, len(jobs))) as pool:
        results = [entry for entries in pool.imap_unordered(warm_one, jobs) for entry in entries]
    compiled = sum(origin == "compiler" for _, _, origin, _ in results)
    for name, layer, _, why in results:
        if why:
            print(f"{name}: {layer}: {why}")
    print(f"{len(results)} kernels wanted, {compiled} compiled, {time.time() - begin:.1f} s")


def choose_algorithms(torch, model, x):
    """Has cuDNN measure its algorithms for the transposed convolutions of a run, and take the others by its rules.

    PyTorch remembers either choice for each size, whatever the flag is later. To measure them for each of HiFi-GAN's 78
    convolutions takes longer than all else together.
    """
    from convt_jit.watching import watching

    cudnn = torch.backends.cudnn

    def see(seen):
        cudnn.benchmark = True
        try:
            return seen.run()
        finally:
            cudnn.benchmark = False

    cudnn.benchmark = False
    with watching(model, see):
        model(x)
    cudnn.benchmark = True


def measure_one(torch, convt_jit, name, original, shape, batch, precision, device, budget_ms):
    from convt_jit.report import measure

    dtype_name, tf32 = PRECISIONS[precision]
    dtype = getattr(torch, dtype_name)
    torch.backends.cudnn.allow_tf32 = tf32
    theirs = copy.deepcopy(original).to(device, dtype).eval()
    variants = {"ours": convt_jit.replace(copy.deepcopy(theirs))}
    if name == "DCGAN":
        variants["folded"] = convt_jit.replace(copy.deepcopy(theirs), fold=True)
    x = torch.randn(batch, *shape, generator=torch.Generator().manual_seed(1)).to(device, dtype)
    begin = time.time()
    with torch.inference_mode():
        choose_algorithms(torch, theirs, x)
        rows = convt_jit.report(variants["ours"], x, budget_ms=budget_ms).to_dicts()
        runs = [lambda model=model: model(x) for model in (theirs, *variants.values())]
        times = measure(runs, device == "cuda", 4 * budget_ms)
        want = theirs(x).double()
        # Beside f64, where both differ from the truth.
        few = min(batch, 2)
        torch.backends.cudnn.benchmark = False
        exact = copy.deepcopy(theirs).double()(x[:few].double())
        torch.backends.cudnn.benchmark = True

        def errors(model):
            y = model(x).double()
            return {"max_error": (y - want).abs().max().item(),
                    "rel_l2_f64": ((y[:few] - exact).norm() / exact.norm()).item()}

        result = {"network": name, "batch": batch, "precision": precision, "before_ms": times[0],
                  "before_rel_l2_f64": ((want[:few] - exact).norm() / exact.norm()).item()}
        for (variant, model), after in zip(variants.items(), times[1:]):
            result[variant] = {"after_ms": after, "speedup": times[0] / after, **errors(model)}
    layers_before = sum(row["before_ms"] for row in rows)
    layers_after = sum(row["before_ms"] if row["after_ms"] is None else row["after_ms"] for row in rows)
    return {**result, "layers_before_ms": layers_before, "layers_after_ms": layers_after,
            "layers_speedup": layers_before / layers_after, "seconds": round(time.time() - begin, 2), "layers": rows}


def run(options):
    import torch

    import convt_jit
    from networks import networks

    torch.manual_seed(0)
    device = options.device
    if device == "cpu":
        convt_jit.set_backend("sim")
    results, begin = [], time.time()
    if options.resume and options.out and os.path.exists(options.out):
        with open(options.out) as file:
            results = json.load(file)["results"]
    done = {(row["network"], row["batch"], row["precision"]) for row in results}
    models, batches = networks(options.small), SMALL_BATCHES if options.small else BATCHES
    # The smaller batch of every network first: what a run that is cut lacks are the larger ones.
    jobs = [(*model, batches[model[0]][i], precision)
            for i in range(2) for model in models for precision in options.precisions.split(",")]
    for name, original, shape, batch, precision in jobs:
        if (name, batch, precision) in done:
            continue
        if time.time() - begin > options.seconds:
            print(f"{options.seconds:.0f} s are over: {name} n{batch} {precision} and later ones are left")
            return 1
        row = measure_one(torch, convt_jit, name, original, shape, batch, precision, device, options.budget_ms)
        results.append(row)
        print(f"{name:9} n{batch:<4} {precision:5} layers {row['layers_before_ms']:8.3f} -> "
              f"{row['layers_after_ms']:8.3f} ms ({row['layers_speedup']:5.2f}x)  whole "
              f"{row['before_ms']:8.3f} -> {row['ours']['after_ms']:8.3f} ms ({row['ours']['speedup']:5.2f}x)"
              f"  max error {row['ours']['max_error']:.1e}  ({time.time() - begin:.0f} s)", flush=True)
        if options.out:  # after each, so that a cut run leaves what it has
            facts = {"device": torch.cuda.get_device_name() if device == "cuda" else "cpu (simulator)",
                     "torch": torch.__version__, "cudnn": torch.backends.cudnn.version(),
                     "library": convt_jit.__version__,
                     "mode": "inference_mode; cudnn.benchmark for transposed convolutions, cuDNN's rules for others"}
            with open(options.out, "w") as file:
                json.dump({**facts, "results": results}, file, indent=1)
    return 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--warm", action="store_true")
    parser.add_argument("--arch", default="sm_90a")
    parser.add_argument("--out")
    parser.add_argument("--small", action="store_true")
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--precisions", default="f32,tf32,f16,bf16")
    parser.add_argument("--resume", action="store_true")
    parser.add_argument("--seconds", type=float, default=float("inf"))
    parser.add_argument("--budget-ms", type=float, default=25)
    options = parser.parse_args()
    return warm(options) if options.warm else run(options)


if __name__ == "__main__":
    sys.exit(main())

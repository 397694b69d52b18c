#!/usr/bin/env python3
"""What a user has today: PyTorch on cuDNN, measured as `convt bench` measures, beside its results.

    compare_torch.py measure --layers bench/layers/perf.jsonl --out torch.json
    compare_torch.py table --torch torch.json --convt h100-f32.json h100-f16.json > table.md

Precisions: ieee (f32, TF32 off), tf32 (f32, TF32 on), f16; each in both memory formats, cudnn.benchmark on, the L2
flushed before every launch, median. `table` sets the faster memory format of cuDNN against convt's result.
"""
import argparse
import json
import math
import statistics
import sys

FLUSH_BYTES = 256 << 20
PRECISIONS = ("ieee", "tf32", "f16")


def read_layers(path):
    """The layers of a layers file, with PyTorch's defaults filled in."""
    layers = []
    with open(path) as file:
        for line in file:
            if not line.strip() or line.startswith("#"):
                continue
            layer = json.loads(line)
            rank = len(layer["input"]) - 2

            def axes(name, default, layer=layer, rank=rank):
                value = layer.get(name, default)
                return [value] * rank if isinstance(value, int) else value

            layer.update(stride=axes("stride", 1), padding=axes("padding", 0), dilation=axes("dilation", 1),
                         output_padding=axes("output_padding", 0), kernel_size=axes("kernel_size", None))
            if layer.get("padding_end", layer["padding"]) != layer["padding"]:
                print(f"{layer.get('name')}: skipped, PyTorch has no padding_end", file=sys.stderr)
                continue
            layers.append(layer)
    return layers


def median_ms(torch, flush, run, budget_ms):
    for _ in range(3):
        run()
    torch.cuda.synchronize()
    begin, end = torch.cuda.Event(True), torch.cuda.Event(True)

    def once():
        flush.zero_()
        begin.record()
        run()
        end.record()
        torch.cuda.synchronize()
        return begin.elapsed_time(end)

    rounds = int(min(60, max(5, budget_ms / max(once(), 1e-3))))
    return statistics.median(once() for _ in range(rounds))


def measure_layer(torch, layer, flush, budget_ms):
    functional = torch.nn.functional
    rank = len(layer["input"]) - 2
    convolve = (functional.conv_transpose1d, functional.conv_transpose2d, functional.conv_transpose3d)[rank - 1]
    options = {key: layer[key] for key in ("stride", "padding", "output_padding", "dilation")}
    options["groups"] = layer.get("groups", 1)
    x = torch.randn(layer["input"], device="cuda")
    w_shape = [layer["in_channels"], layer["out_channels"] // options["groups"], *layer["kernel_size"]]
    w = torch.randn(w_shape, device="cuda") / math.sqrt(math.prod(w_shape[1:]) or 1)
    bias = torch.randn(layer["out_channels"], device="cuda") if layer.get("bias", True) else None
    exact = convolve(x[:1].double(), w.double(), None if bias is None else bias.double(), **options)
    formats = {"nchw": torch.contiguous_format}
    if rank > 1:
        formats["nhwc"] = torch.channels_last if rank == 2 else torch.channels_last_3d
    rows = []
    for precision in PRECISIONS:
        torch.backends.cudnn.allow_tf32 = precision != "ieee"
        dtype = torch.float16 if precision == "f16" else torch.float32
        for layout, memory_format in formats.items():
            a, b = (t.to(dtype).to(memory_format=memory_format) for t in (x, w))
            c = None if bias is None else bias.to(dtype)
            row = {"name": layer.get("name", ""), "precision": precision, "layout": layout}
            try:
                error = convolve(a[:1], b, c, **options).double() - exact
                row["rel_l2"] = (error.norm() / exact.norm()).item()
                row["ms"] = median_ms(torch, flush, lambda: convolve(a, b, c, **options), budget_ms)
            except RuntimeError as error:  # cuDNN has no plan, or the memory is not enough
                row["error"] = str(error).splitlines()[0][:200]
            rows.append(row)
    return rows


def measure(arguments):
    import torch
    torch.manual_seed(0)
    torch.backends.cudnn.benchmark = True
    flush = torch.empty(FLUSH_BYTES, dtype=torch.uint8, device="cuda")
    result = {"card": torch.cuda.get_device_name(), "torch": torch.__version__,
              "cudnn": torch.backends.cudnn.version(), "command": " ".join(sys.argv), "results": []}
    for layer in read_layers(arguments.layers):
        rows = measure_layer(torch, layer, flush, arguments.budget_ms)
        result["results"] += rows
        told = "  ".join(f"{r['precision']}/{r['layout']} {r.get('ms', math.nan):.3f}" for r in rows)
        print(f"{layer.get('name', ''):<18} {told}", file=sys.stderr, flush=True)
        torch.cuda.empty_cache()
        # Written after each layer: a run that is cut short keeps what it has.
        with open(arguments.out, "w") as file:
            json.dump(result, file, indent=1)


def results_of(path):
    """The result objects of a file of ours: a list, or an object that holds one."""
    with open(path) as file:
        data = json.load(file)
    if isinstance(data, dict):
        data = next(value for value in data.values() if isinstance(value, list))
    return [row for row in data if "ms" in row and "precision" in row]


def table(arguments):
    cudnn = {}
    for row in results_of(arguments.torch):
        key = row["name"], row["precision"]
        if key not in cudnn or row["ms"] < cudnn[key]["ms"]:
            cudnn[key] = row
    print("| layer | precision | convt ms | % of speed of light | rel. L2 | cuDNN ms | its format | its rel. L2 | times faster |")
    print("| --- | --- | ---: | ---: | ---: | ---: | --- | ---: | ---: |")
    ratios = {}
    for path in arguments.convt:
        for ours in results_of(path):
            theirs = cudnn.get((ours["name"], ours["precision"]))
            light = ours.get("speed_of_light_ms")
            cells = [ours["name"], ours["precision"], f"{ours['ms']:.3f}", f"{100 * light / ours['ms']:.0f}" if light else "",
                     f"{ours['rel_l2']:.1e}" if ours.get("rel_l2") is not None else ""]
            if theirs:
                ratio = theirs["ms"] / ours["ms"]
                ratios.setdefault(ours["precision"], []).append(ratio)
                cells += [f"{theirs['ms']:.3f}", theirs["layout"], f"{theirs['rel_l2']:.1e}", f"{ratio:.2f}"]
            else:
                cells += ["", "", "", ""]
            print("| " + " | ".join(cells) + " |")
    print()
    for precision, values in ratios.items():
        mean = math.exp(statistics.fmean(math.log(v) for v in values))
        print(f"{precision}: {mean:.2f} times faster than cuDNN in the geometric mean over {len(values)} layers, "
              f"slower on {sum(v < 1 for v in values)}.")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    commands = parser.add_subparsers(required=True)
    command = commands.add_parser("measure")
    command.add_argument("--layers", required=True)
    command.add_argument("--out", required=True)
    command.add_argument("--budget-ms", type=float, default=60, help="time for the launches of one measurement")
    command.set_defaults(run=measure)
    command = commands.add_parser("table")
    command.add_argument("--torch", required=True)
    command.add_argument("--convt", nargs="+", required=True)
    command.set_defaults(run=table)
    arguments = parser.parse_args()
    arguments.run(arguments)


if __name__ == "__main__":
    main()

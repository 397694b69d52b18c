"""PyTorch's own cases (OpInfo, module and convolution tests) through the modules and the functions, against f64."""
import json
import math
import os
import pathlib

import pytest
import torch
import torch.nn.functional as F

import convt_jit
import recording
from compare import assert_close, launches

CASES = [json.loads(line) for line in (pathlib.Path(__file__).parents[2] / "tests/data/peers/pytorch.jsonl").open()]
# The simulator's compiler takes its time: a sample there, all with CONVT_TEST_ALL=1 and on a GPU.
SAMPLE = 1 if os.environ.get("CONVT_TEST_ALL") else 12
DTYPES = {"f32": torch.float32, "f16": torch.float16, "bf16": torch.bfloat16}


def tensors(case, dtype, device):
    form = case["pytorch_form"]
    if is_large(case):  # one image for all of the batch in a recording, which computes nothing
        images = 1 if recording.FILE else case["N"]
        x = torch.randn(images, case["Cin"], *case["in_spatial"], device=device, dtype=dtype)
        x = x.expand(case["N"], -1, -1, -1)
    else:
        x = torch.randn(case["N"], case["Cin"], *case["in_spatial"])
    if case.get("unbatched"):
        x = x[0]
    w = torch.randn(case["Cin"], case["Cout"] // case["groups"], *case["kernel"])
    b = torch.randn(case["Cout"]) if case["bias"] else None
    x, w, b = (None if t is None else t.to(device, dtype) for t in (x, w, b))
    return x, w, b, (case["stride"], form["padding"], form["output_padding"], case["groups"], case["dilation"])


def is_large(case):
    """Whether the CPU, in f64, had better see two of its images alone."""
    return case["N"] * case["Cin"] * math.prod(case["in_spatial"]) > 1 << 28


def usable(case):
    return case["pytorch_form"]["ok"] and min(case["in_spatial"]) > 0 and case["N"] > 0 and case["Cin"] > 0


def wanted(x, w, b, arguments):
    function = getattr(F, f"conv_transpose{w.dim() - 2}d")
    return function(x.cpu().double(), w.cpu().double(), None if b is None else b.cpu().double(), *arguments)


@pytest.mark.parametrize("index", range(len(CASES)), ids=[case["id"] for case in CASES])
def test_function_and_module(index, device):
    case = CASES[index]
    simulated = device == "cpu" and not recording.FILE
    if simulated and (index % SAMPLE or case["macs"] > 3_000_000):
        pytest.skip("not in the simulator's sample")
    if not usable(case):
        pytest.skip("PyTorch has no such form")
    names = [n for n in case["dtype"].replace(" (GPU)", "").split(",") if n in DTYPES] or ["f32"]
    for name in names[:1] if simulated else names:
        name = names[index // SAMPLE % len(names)] if simulated else name
        dtype = DTYPES[name]
        x, w, b, arguments = tensors(case, dtype, device)
        rank = len(case["kernel"])
        with launches() as count, torch.no_grad():
            y = getattr(convt_jit.functional, f"conv_transpose{rank}d")(x, w, b, *arguments)
            stride, padding, output_padding, groups, dilation = arguments
            module = getattr(convt_jit.nn, f"ConvTranspose{rank}d")(
                case["Cin"], case["Cout"], tuple(case["kernel"]), tuple(stride), tuple(padding), tuple(output_padding),
                groups, b is not None, tuple(dilation)).to(device, dtype)
            module.weight.copy_(w)
            if b is not None:
                module.bias.copy_(b)
            z = module(x)
        assert count[0] == 2, "PyTorch's kernel ran"
        if is_large(case):
            x, y, z = (torch.stack((t[0], t[-1])) for t in (x, y, z))
        want = wanted(x, w, b, arguments)
        assert y.dtype == dtype and z.dtype == dtype
        assert_close(y, want)
        assert_close(z, want)


def test_cases_are_there():
    assert len(CASES) == 311
    assert sum(map(usable, CASES)) > 250

"""Which kernels the GPU tests want, found without a GPU.

With $CONVT_TEST_RECORD=FILE the tests that are for a GPU run on CPU tensors, every kernel is PyTorch's operation, and
FILE receives a line for each layer that was asked for: its layer string, a tab, batch, a tab, its input's sizes. What
such a run says of passed and failed means nothing. bench/python_kernels.sh makes an archive of what was recorded.
"""
import contextlib
import math
import os

import torch

import convt_jit.call
import convt_jit.kernels
from convt_jit.fallback import apply_epilogue, torch_conv_transpose
from convt_jit.problem import describe, planned_sizes
from convt_jit.support import dtype_name, why_not

FILE = os.environ.get("CONVT_TEST_RECORD")
#: Where tests for a GPU put their tensors.
DEVICE = "cpu" if FILE else "cuda"


class _Stand:
    """In the place of a kernel, a stream or a graph: takes any call."""

    packed_bytes = 0
    family = plan = origin = "recorded"

    def __init__(self, *args, **kwargs):
        self.arguments = kwargs.get("arguments")

    def __getattr__(self, name):
        return lambda *args, **kwargs: None

    def call(self, *args):
        return self


def _make(self, input, weight, bias, arguments, tf32):
    reason = why_not(input, weight, bias)
    if reason is None and bias is not None and bias.shape[0] != weight.shape[1] * arguments.groups:
        reason = ""
    problem = reason is None and describe(input.shape, input.stride(), weight.shape, weight.stride(), bias is not None,
                                          dtype_name(input.dtype, tf32), arguments)
    if not problem:
        return convt_jit.call.Refusal(reason or "")
    batch, sizes = planned_sizes(problem.batch, problem.input, self._planned)
    self._planned += 1
    with open(FILE, "a") as file:
        file.write(f"{problem.text}\t{batch}\t{'x'.join(map(str, sizes))}\n")
    return convt_jit.call.Call(problem, _Stand(arguments=arguments), -1)


def _run(self, input, weight, bias, weights, constant):
    shape = self.problem.out_shape
    if math.prod(shape) > 1 << 28:  # too much for a CPU, and nobody looks
        return input.new_zeros(()).expand(shape)
    with torch.no_grad():
        return torch_conv_transpose(input, weight, bias, self.kernel.arguments)


def _run_fused(self, input, weight, bias, weights, constant, scale, shift, residual):
    a = self.kernel.arguments
    y = torch_conv_transpose(input, weight, bias, a)
    return apply_epilogue(y, a.epilogue, scale, shift, residual, a.rank)


def install():
    """Makes this process record."""
    convt_jit.kernels.Kernels._make = _make
    convt_jit.call.Call.run, convt_jit.call.Call.run_fused = _run, _run_fused
    torch.set_num_threads(1)
    cuda = torch.cuda
    for name in ("synchronize", "_sleep", "current_stream"):
        setattr(cuda, name, lambda *args: _Stand())
    cuda.Stream = cuda.CUDAGraph = _Stand
    cuda.stream = cuda.graph = lambda *args, **kwargs: contextlib.nullcontext()

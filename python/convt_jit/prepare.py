"""Makes kernels before they are wanted: compiled, loaded, weights packed."""
from typing import Any, Dict, List, NamedTuple, Optional, Sequence

import torch
from torch import Tensor

from . import dispatch, nn
from .call import Refusal
from .problem import UNFIT
from .replace import is_replaced
from .watching import Seen, rank_of, run_model, watching


class Prepared(NamedTuple):
    """What prepare() made of one module at one size."""

    name: str
    layer: str             #: layer string, with its sizes
    family: str            #: of kernels; "" where there is none
    plan: str
    origin: str            #: "memory", "disk" or "compiler"
    why_not: str           #: why PyTorch's operation runs instead; else ""


def prepare(module: torch.nn.Module, input_shape: Sequence[int], *, dtype: Optional[torch.dtype] = None,
            memory_format: Any = torch.contiguous_format, output_size: Optional[List[int]] = None,
            constant_weights: bool = False) -> List[Prepared]:
    """Makes ready what a call with an input of that shape needs, so that it neither compiles nor loads: call it before
    a CUDA graph is captured, on the stream of the capture, and before the first request.

    module: one of convt_jit.nn, input_shape its (N, C, *in) or (C, *in); or a model of which some modules are, then
    the shape of the model's one input, and the model runs on zeros in eval mode.
    dtype: of the input; the parameters' where it is not given. constant_weights: sets the attribute of that name, and
    packs the weights now, so that a graph holds no packing and keeps the weights as they are.
    Returns what was made, an entry for each module.
    """
    parameter = next(module.parameters(), None)
    if parameter is None:
        raise ValueError(f"module is {module!r}; allowed: a transposed convolution or a model with some")
    x = torch.zeros(tuple(input_shape), dtype=dtype or parameter.dtype, device=parameter.device)
    x = x.contiguous(memory_format=memory_format)
    made: Dict[str, Prepared] = {}

    def see(seen: Seen) -> Tensor:
        made[seen.name] = _prepare(seen, constant_weights)
        return seen.run()

    if rank_of(module):
        return [_prepare(Seen("", module, x, output_size), constant_weights)]
    training = [m for m in module.modules() if m.training]
    try:
        module.eval()
        with torch.no_grad(), watching(module, see):
            run_model(module, x)
        with torch.no_grad():  # and what is folded
            run_model(module, x)
    finally:
        for m in training:
            m.training = True
    return list(made.values())


def _prepare(seen: Seen, constant_weights: bool) -> Prepared:
    module = seen.module
    if not is_replaced(module):
        return Prepared(seen.name, "", "", "", "", "the module was not replaced")
    if constant_weights:
        module.constant_weights = True
    rank = rank_of(module)
    weight, bias = module.weight.detach(), None if module.bias is None else module.bias.detach()
    if not dispatch.is_ours(seen.input, weight, bias):
        return Prepared(seen.name, "", "", "", "", f"{seen.input.device.type} tensors are PyTorch's")
    kernels = nn.kernels_of(module)
    arguments = nn.arguments_of(module, rank, seen.input, seen.output_size)
    if arguments is None:
        return Prepared(seen.name, "", "", "", "", UNFIT)
    call = dispatch.find(kernels, seen.input, weight, bias, arguments)
    if isinstance(call, Refusal):
        return Prepared(seen.name, "", "", "", "", call.reason or UNFIT)
    if module.constant_weights:
        call.pack(module.weight, kernels.weights)
    return Prepared(seen.name, call.problem.full_text, call.kernel.family, call.kernel.plan, call.kernel.origin, "")

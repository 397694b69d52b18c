"""The same decisions as dispatch.py, in the form that a compiler can trace: no state, no warnings."""
from typing import Optional

import torch
from torch import Tensor

from . import op
from .dispatch import autocast_dtype, cast
from .fallback import apply_epilogue, torch_conv_transpose
from .problem import Arguments
from .support import DTYPES, serves_device, serves_epilogue


def _fits(input: Tensor, weight: Tensor, bias: Optional[Tensor], rank: int) -> bool:
    if op.library is None or input.dtype not in DTYPES or weight.dtype != input.dtype:
        return False
    if not serves_device(input.device.type == "cuda", input.device.type == "cpu"):
        return False
    if input.dim() not in (rank + 1, rank + 2) or weight.dim() != rank + 2:
        return False
    return bias is None or (bias.dtype == input.dtype and bias.dim() == 1)


def call(input: Tensor, weight: Tensor, bias: Optional[Tensor], arguments: Arguments,
         channel_scale: Optional[Tensor] = None, channel_shift: Optional[Tensor] = None,
         residual: Optional[Tensor] = None, has_epilogue: bool = False) -> Tensor:
    """y: our operator where it may serve, else PyTorch's, which the compiler knows."""
    dtype = autocast_dtype(input.device.type == "cuda")
    if dtype is not None:
        input, weight, bias = cast(input, dtype), cast(weight, dtype), cast(bias, dtype)
    fits = _fits(input, weight, bias, arguments.rank)
    if not has_epilogue:
        if fits:
            return op.call(input, weight, bias, arguments)
        return torch_conv_transpose(input, weight, bias, arguments)
    if fits and not torch.is_grad_enabled() and serves_epilogue(input, weight, arguments, channel_scale, channel_shift,
                                                                residual):
        return op.call_fused(input, weight, bias, arguments, channel_scale, channel_shift, residual)
    y = op.call(input, weight, bias, arguments) if fits else torch_conv_transpose(input, weight, bias, arguments)
    return apply_epilogue(y, arguments.epilogue, channel_scale, channel_shift, residual, arguments.rank)

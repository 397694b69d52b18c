"""PyTorch's own operation, and the one warning that says why it was taken."""
import sys
import warnings
from typing import Any, Optional, Set

import torch
from torch import Tensor

from .problem import Arguments

_FUNCTIONS = (None, "conv_transpose1d", "conv_transpose2d", "conv_transpose3d")
_ACTIVATIONS = {"relu": torch.relu, "gelu": torch.nn.functional.gelu, "tanh": torch.tanh, "sigmoid": torch.sigmoid,
                "silu": torch.nn.functional.silu, "hardswish": torch.nn.functional.hardswish}
_told: Set[str] = set()


class FallbackWarning(UserWarning):
    """PyTorch's kernel runs where the library's was wanted; the message says why. Once for each reason."""


def warn_once(reason: str, kind: str) -> None:
    """Warns unless this process has told a reason of the same kind before."""
    if kind in _told:
        return
    _told.add(kind)
    warnings.warn(f"convt_jit leaves a transposed convolution to PyTorch: {reason}", FallbackWarning,
                  stacklevel=_callers_level())


def _callers_level() -> int:
    """The stack level of who called us, or called the module of PyTorch's that did."""
    frame, level = sys._getframe(2), 2
    while frame.f_back is not None and frame.f_globals.get("__name__", "").split(".")[0] in ("convt_jit", "torch"):
        frame, level = frame.f_back, level + 1
    return level


def forget_warnings() -> None:
    """Lets every reason be told once more."""
    _told.clear()


def torch_conv_transpose(input: Tensor, weight: Tensor, bias: Optional[Tensor], arguments: Any) -> Tensor:
    """torch.nn.functional.conv_transpose{1,2,3}d with the same arguments; its epilogue is not applied."""
    a: Arguments = arguments
    function = getattr(torch.nn.functional, _FUNCTIONS[a.rank])
    return function(input, weight, bias, a.stride, a.padding, a.output_padding, a.groups, a.dilation)


def apply_epilogue(y: Tensor, epilogue: Any, channel_scale: Optional[Tensor], channel_shift: Optional[Tensor],
                   residual: Optional[Tensor], rank: int) -> Tensor:
    """The epilogue in PyTorch's operations, in 32 bits as in a kernel. y: (N, O, *out) or (O, *out)."""
    dtype = y.dtype
    v = y.float() if dtype in (torch.float16, torch.bfloat16) else y
    if epilogue.scale is not None:
        v = v * epilogue.scale
    if epilogue.affine:
        per_channel = (-1,) + (1,) * rank
        v = v * channel_scale.reshape(per_channel) + channel_shift.reshape(per_channel)
    if epilogue.residual:
        v = v + residual
    if epilogue.activation == "leaky_relu":
        v = torch.nn.functional.leaky_relu(v, epilogue.negative_slope)
    elif epilogue.activation != "none":
        v = _ACTIVATIONS[epilogue.activation](v)
    if epilogue.clamp is not None:
        v = torch.clamp(v, *epilogue.clamp)
    return v.to(dtype)

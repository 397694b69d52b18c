"""torch.ops.convt_jit: what torch.compile and torch.export see of a call. Needs PyTorch 2.4; without it graphs break
nowhere either, as PyTorch's own operation is taken there."""
from typing import Any, List, Optional, Sequence

import torch
from torch import Tensor

from . import dispatch
from .autograd import backward
from .epilogue import Epilogue
from .fallback import apply_epilogue
from .kernels import Kernels
from .layout import wants_channels_last
from .problem import Arguments, output_shape
from .support import serves_epilogue

_SIZES = "SymInt[] stride, SymInt[] padding, SymInt[] output_padding, int groups, SymInt[] dilation"
_EPILOGUE = ("str activation, float negative_slope, float? scale, float? clamp_low, float? clamp_high, "
             "Tensor? channel_scale, Tensor? channel_shift, Tensor? residual")
_kernels = Kernels()
library: Any = None  #: torch.library.Library where the operators are there


def _format(input: Tensor, weight: Tensor, arguments: Arguments) -> torch.memory_format:
    if input.dim() < 4 or input.dim() != arguments.rank + 2:
        return torch.contiguous_format
    if not wants_channels_last(input.shape, input.stride(), weight.shape, weight.stride()):
        return torch.contiguous_format
    return torch.channels_last if input.dim() == 4 else torch.channels_last_3d


def _arguments(weight: Tensor, stride: Sequence[int], padding: Sequence[int], output_padding: Sequence[int],
               groups: int, dilation: Sequence[int], epilogue: Epilogue = Epilogue()) -> Arguments:
    return Arguments(weight.dim() - 2, tuple(stride), tuple(padding), tuple(output_padding), groups, tuple(dilation),
                     epilogue)


def _dense_like_fake(y: Tensor, input: Tensor, weight: Tensor, arguments: Arguments) -> Tensor:
    # PyTorch's own operation, where it had to stand in, may have another order than was promised.
    return y.contiguous(memory_format=_format(input, weight, arguments))


def _run(input: Tensor, weight: Tensor, bias: Optional[Tensor], stride: List[int], padding: List[int],
         output_padding: List[int], groups: int, dilation: List[int]) -> Tensor:
    arguments = _arguments(weight, stride, padding, output_padding, groups, dilation)
    if dispatch.is_ours(input, weight, bias):
        y = dispatch.run(_kernels, input, weight, bias, arguments, remember=False)
    else:
        y = dispatch.torch_conv_transpose(input, weight, bias, arguments)
    return _dense_like_fake(y, input, weight, arguments)


def _fake(input: Tensor, weight: Tensor, bias: Optional[Tensor], stride: Any, padding: Any, output_padding: Any,
          groups: int, dilation: Any) -> Tensor:
    arguments = _arguments(weight, stride, padding, output_padding, groups, dilation)
    return torch.empty(output_shape(input.shape, weight.shape, arguments), dtype=input.dtype, device=input.device,
                       memory_format=_format(input, weight, arguments))


def _epilogue(activation: str, negative_slope: float, scale: Optional[float], clamp_low: Optional[float],
              clamp_high: Optional[float], channel_scale: Optional[Tensor], residual: Optional[Tensor]) -> Epilogue:
    clamp = None if clamp_low is None or clamp_high is None else (clamp_low, clamp_high)
    return Epilogue(activation, negative_slope, scale, channel_scale is not None, residual is not None, clamp)


def _run_fused(input: Tensor, weight: Tensor, bias: Optional[Tensor], stride: List[int], padding: List[int],
               output_padding: List[int], groups: int, dilation: List[int], activation: str, negative_slope: float,
               scale: Optional[float], clamp_low: Optional[float], clamp_high: Optional[float],
               channel_scale: Optional[Tensor], channel_shift: Optional[Tensor],
               residual: Optional[Tensor]) -> Tensor:
    epilogue = _epilogue(activation, negative_slope, scale, clamp_low, clamp_high, channel_scale, residual)
    arguments = _arguments(weight, stride, padding, output_padding, groups, dilation, epilogue)
    if dispatch.is_ours(input, weight, bias) and serves_epilogue(input, weight, arguments, channel_scale, channel_shift,
                                                                 residual):
        y = dispatch.run_fused(_kernels, input, weight, bias, arguments, channel_scale, channel_shift, residual,
                               remember=False)
    else:
        y = dispatch.torch_conv_transpose(input, weight, bias, arguments)
        y = apply_epilogue(y, epilogue, channel_scale, channel_shift, residual, arguments.rank)
    return _dense_like_fake(y, input, weight, arguments)


def _fake_fused(input: Tensor, weight: Tensor, bias: Optional[Tensor], stride: Any, padding: Any, output_padding: Any,
                groups: int, dilation: Any, *epilogue: Any) -> Tensor:
    return _fake(input, weight, bias, stride, padding, output_padding, groups, dilation)


def _save(ctx: Any, inputs: Any, output: Any) -> None:
    input, weight, bias, stride, padding, output_padding, groups, dilation = inputs
    ctx.save_for_backward(input, weight)
    ctx.arguments = _arguments(weight, stride, padding, output_padding, groups, dilation)


def _backward(ctx: Any, grad: Tensor) -> Any:
    input, weight = ctx.saved_tensors
    unbatched = input.dim() == ctx.arguments.rank + 1
    if unbatched:
        input, grad = input.unsqueeze(0), grad.unsqueeze(0)
    x, w, b = backward(grad, input, weight, ctx.arguments, ctx.needs_input_grad[:3])
    return (x.squeeze(0) if unbatched and x is not None else x), w, b, None, None, None, None, None


def _register() -> Any:
    if not hasattr(torch.library, "register_autograd"):
        return None
    lib = torch.library.Library("convt_jit", "DEF")
    tags = tuple(getattr(torch.Tag, name) for name in ("pt2_compliant_tag",) if hasattr(torch.Tag, name))
    for name, more, run, fake in (("conv_transpose", "", _run, _fake),
                                  ("conv_transpose_fused", f", {_EPILOGUE}", _run_fused, _fake_fused)):
        lib.define(f"{name}(Tensor input, Tensor weight, Tensor? bias, {_SIZES}{more}) -> Tensor", tags=tags)
        lib.impl(name, run, "CompositeExplicitAutograd")
        torch.library.register_fake(f"convt_jit::{name}", fake, lib=lib)
    torch.library.register_autograd("convt_jit::conv_transpose", _backward, setup_context=_save, lib=lib)
    return lib


library = _register()


def call(input: Tensor, weight: Tensor, bias: Optional[Tensor], arguments: Arguments) -> Tensor:
    """A call as a compiler traces it."""
    a = arguments
    return torch.ops.convt_jit.conv_transpose(input, weight, bias, a.stride, a.padding, a.output_padding, a.groups,
                                              a.dilation)


def call_fused(input: Tensor, weight: Tensor, bias: Optional[Tensor], arguments: Arguments,
               channel_scale: Optional[Tensor], channel_shift: Optional[Tensor],
               residual: Optional[Tensor]) -> Tensor:
    """The same with an epilogue, where no gradient is wanted."""
    a, e = arguments, arguments.epilogue
    low, high = e.clamp if e.clamp is not None else (None, None)
    return torch.ops.convt_jit.conv_transpose_fused(
        input, weight, bias, a.stride, a.padding, a.output_padding, a.groups, a.dilation, e.activation,
        e.negative_slope, e.scale, low, high, channel_scale, channel_shift, residual)

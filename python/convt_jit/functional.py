"""convt_jit.functional: conv_transpose{1,2,3}d of torch.nn.functional, with an epilogue."""
from typing import Any, Optional, Sequence, Tuple, Union

import torch
from torch import Tensor

from . import compiled, dispatch
from .epilogue import Epilogue, make_epilogue
from .fallback import apply_epilogue, torch_conv_transpose
from .interception import is_compiling, is_plain
from .kernels import Kernels
from .problem import Arguments, make_arguments
from .support import serves_epilogue

_Ints = Union[int, Sequence[int]]
_Bounds = Optional[Tuple[Optional[float], Optional[float]]]
_kernels = Kernels()


def conv_transpose1d(input: Tensor, weight: Tensor, bias: Optional[Tensor] = None, stride: _Ints = 1,
                     padding: _Ints = 0, output_padding: _Ints = 0, groups: int = 1, dilation: _Ints = 1, *,
                     activation: Optional[str] = None, negative_slope: float = 0.01, scale: Optional[float] = None,
                     channel_scale: Optional[Tensor] = None, channel_shift: Optional[Tensor] = None,
                     residual: Optional[Tensor] = None, clamp: _Bounds = None) -> Tensor:
    """torch.nn.functional.conv_transpose1d and what follows it. input: (N, C, L) or (C, L), weight: (C, O/groups, K),
    result: (N, O, L_out) or (O, L_out). The epilogue is that of conv_transpose2d."""
    return _conv_transpose(1, input, weight, bias, stride, padding, output_padding, groups, dilation, activation,
                           negative_slope, scale, channel_scale, channel_shift, residual, clamp)


def conv_transpose2d(input: Tensor, weight: Tensor, bias: Optional[Tensor] = None, stride: _Ints = 1,
                     padding: _Ints = 0, output_padding: _Ints = 0, groups: int = 1, dilation: _Ints = 1, *,
                     activation: Optional[str] = None, negative_slope: float = 0.01, scale: Optional[float] = None,
                     channel_scale: Optional[Tensor] = None, channel_shift: Optional[Tensor] = None,
                     residual: Optional[Tensor] = None, clamp: _Bounds = None) -> Tensor:
    """torch.nn.functional.conv_transpose2d and what follows it, in one kernel.

    input: (N, C, H, W) or (C, H, W); weight: (C, O/groups, KH, KW); bias: (O). Result: (N, O, H_out, W_out) or
    (O, H_out, W_out), with out = (in - 1)*stride - 2*padding + dilation*(kernel - 1) + output_padding + 1.

    Then, in this order and in 32 bits, what is given of:
      v *= scale                                   a number
      v = v*channel_scale[c] + channel_shift[c]    (O) each, such as a folded batch normalisation
      v += residual                                the result's shape
      v = activation(v)                            'relu', 'leaky_relu' (negative_slope), 'gelu', 'tanh', 'sigmoid',
                                                   'silu' or 'hardswish'
      v = clamp(v, low, high)                      (low, high), None for no bound
    With a gradient the steps are PyTorch's operations, one by one.
    """
    return _conv_transpose(2, input, weight, bias, stride, padding, output_padding, groups, dilation, activation,
                           negative_slope, scale, channel_scale, channel_shift, residual, clamp)


def conv_transpose3d(input: Tensor, weight: Tensor, bias: Optional[Tensor] = None, stride: _Ints = 1,
                     padding: _Ints = 0, output_padding: _Ints = 0, groups: int = 1, dilation: _Ints = 1, *,
                     activation: Optional[str] = None, negative_slope: float = 0.01, scale: Optional[float] = None,
                     channel_scale: Optional[Tensor] = None, channel_shift: Optional[Tensor] = None,
                     residual: Optional[Tensor] = None, clamp: _Bounds = None) -> Tensor:
    """torch.nn.functional.conv_transpose3d and what follows it. input: (N, C, D, H, W) or (C, D, H, W), weight:
    (C, O/groups, KD, KH, KW), result: (N, O, D_out, H_out, W_out) or (O, D_out, H_out, W_out). The epilogue is that of
    conv_transpose2d."""
    return _conv_transpose(3, input, weight, bias, stride, padding, output_padding, groups, dilation, activation,
                           negative_slope, scale, channel_scale, channel_shift, residual, clamp)


_TORCH = (None, "conv_transpose1d", "conv_transpose2d", "conv_transpose3d")


def _conv_transpose(rank: int, input: Tensor, weight: Tensor, bias: Optional[Tensor], stride: _Ints, padding: _Ints,
                    output_padding: _Ints, groups: int, dilation: _Ints, activation: Optional[str],
                    negative_slope: float, scale: Optional[float], channel_scale: Optional[Tensor],
                    channel_shift: Optional[Tensor], residual: Optional[Tensor], clamp: _Bounds) -> Tensor:
    arguments = make_arguments(rank, stride, padding, output_padding, groups, dilation)
    plain = (activation is None and scale is None and channel_scale is None and channel_shift is None
             and residual is None and clamp is None)
    if arguments is None:
        if not plain:
            raise ValueError("stride, padding, output_padding and dilation are whole numbers, one for all axes or one "
                             "for each; groups is a whole number")
        # Not as we know it: PyTorch takes it or has the error.
        return getattr(torch.nn.functional, _TORCH[rank])(input, weight, bias, stride, padding, output_padding, groups,
                                                          dilation)
    if plain:
        if is_compiling():
            return compiled.call(input, weight, bias, arguments)
        return dispatch.call(_kernels, input, weight, bias, arguments, remember=False)
    for name, tensor in (("channel_scale", channel_scale), ("channel_shift", channel_shift), ("residual", residual)):
        if not (tensor is None or isinstance(tensor, Tensor)):
            raise TypeError(f"{name} is {tensor!r}; allowed: a tensor or None")
    affine = channel_scale is not None or channel_shift is not None
    epilogue = make_epilogue(activation, negative_slope, scale, affine, residual is not None, clamp)
    arguments = arguments._replace(epilogue=epilogue)
    return fused(_kernels, input, weight, bias, arguments, channel_scale, channel_shift, residual, remember=False)


def fused(kernels: Kernels, input: Tensor, weight: Tensor, bias: Optional[Tensor], arguments: Arguments,
          channel_scale: Optional[Tensor], channel_shift: Optional[Tensor], residual: Optional[Tensor],
          constant: bool = False, remember: bool = True) -> Tensor:
    """A call with an epilogue: in one kernel where no gradient is wanted, else step by step."""
    epilogue: Epilogue = arguments.epilogue
    if epilogue.affine:
        if not isinstance(weight, Tensor) or weight.dim() != arguments.rank + 2:  # PyTorch has the error
            return torch_conv_transpose(input, weight, bias, arguments)
        channel_scale, channel_shift = _per_channel(weight, arguments.groups, channel_scale, channel_shift)
    if is_compiling():
        return compiled.call(input, weight, bias, arguments, channel_scale, channel_shift, residual, True)
    extra = [t for t in (channel_scale, channel_shift, residual) if t is not None]
    bare = arguments._replace(epilogue=Epilogue())
    wants_grad = torch.is_grad_enabled() and any(t.requires_grad for t in (input, weight, bias, *extra)
                                                 if t is not None)
    if (wants_grad or not all(is_plain(t) for t in extra) or not dispatch.is_ours(input, weight, bias)
            or dispatch.autocast_dtype(input.is_cuda) is not None
            or not serves_epilogue(input, weight, arguments, channel_scale, channel_shift, residual)):
        y = dispatch.call(kernels, input, weight, bias, bare, constant, remember)
        return apply_epilogue(y, epilogue, channel_scale, channel_shift, residual, arguments.rank)
    return dispatch.run_fused(kernels, input, weight, bias, arguments, channel_scale, channel_shift, residual, constant,
                              remember)


def _per_channel(weight: Tensor, groups: int, scale: Optional[Tensor], shift: Optional[Tensor]) -> Any:
    channels = weight.shape[1] * groups
    for name, tensor in (("channel_scale", scale), ("channel_shift", shift)):
        if tensor is not None and tensor.is_complex():
            raise ValueError(f"{name} is {str(tensor.dtype).replace('torch.', '')}; allowed: real numbers")
        if tensor is not None and tensor.numel() != channels:
            raise ValueError(f"{name} has {tensor.numel()} elements; allowed: one for each of the {channels} output "
                             "channels")
    if scale is None:
        scale = torch.ones(channels, dtype=torch.float32, device=weight.device)
    if shift is None:
        shift = torch.zeros(channels, dtype=torch.float32, device=weight.device)
    return tuple(t.to(torch.float32).reshape(-1).contiguous().resolve_neg() for t in (scale, shift))

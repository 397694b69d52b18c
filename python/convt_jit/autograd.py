"""The operation for autograd: our kernel forwards, PyTorch's convolutions backwards."""
from typing import Any, Tuple

import torch
from torch import Tensor

from . import _core, dispatch


def backward(grad: Tensor, input: Tensor, weight: Tensor, arguments: Any,
             wanted: Tuple[bool, bool, bool]) -> Tuple[Any, Any, Any]:
    """Gradients of input, weight and bias, in operations that can be differentiated again.

    grad: (N, O, *out), input: (N, C, *in), weight: (C, O/groups, *kernel).
    """
    a = arguments
    sizes = [weight.shape[1] * a.groups] if wanted[2] else None
    return torch.ops.aten.convolution_backward(grad, input, weight, sizes, list(a.stride), list(a.padding),
                                               list(a.dilation), True, list(a.output_padding), a.groups, list(wanted))


class ConvTranspose(torch.autograd.Function):
    """apply(input, weight, bias, call, arguments): `call` as dispatch.find has it, and no Refusal; the input has its
    batch axis."""

    @staticmethod
    def forward(ctx: Any, input: Tensor, weight: Tensor, bias: Any, call: Any, arguments: Any) -> Tensor:
        ctx.save_for_backward(input, weight)
        ctx.arguments = arguments
        try:
            return call.run(input, weight, bias, None, False)
        except _core.Error as error:
            return dispatch.recover(error, call, input, weight, bias, arguments)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Any:  # type: ignore[override]
        input, weight = ctx.saved_tensors
        return (*backward(grad, input, weight, ctx.arguments, ctx.needs_input_grad[:3]), None, None)


# What Function.apply comes to outside of function transforms (which interception.py leaves to PyTorch), without what it
# does in Python for them: a fifth of the whole call.
_apply = super(torch.autograd.Function, ConvTranspose).apply
_unwrap = getattr(getattr(torch._C, "_functorch", None), "unwrap_if_dead", lambda tensor: tensor)


def differentiable(kernels: Any, input: Tensor, weight: Tensor, bias: Any, arguments: Any) -> Tensor:
    """y with a gradient. A call that a kernel does not serve is PyTorch's altogether."""
    call = dispatch.find(kernels, input, weight, bias, arguments)
    if type(call) is dispatch.Refusal:
        return dispatch.refused(call, input, weight, bias, arguments)
    input, weight, bias = _unwrap(input), _unwrap(weight), None if bias is None else _unwrap(bias)
    if input.dim() == arguments.rank + 1:
        input = input.unsqueeze(0)
        return differentiable(kernels, input, weight, bias, arguments).squeeze(0)
    return _apply(input, weight, bias, call, arguments)

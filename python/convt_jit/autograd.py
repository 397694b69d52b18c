"""The operation for autograd: our kernel forwards, PyTorch's convolutions backwards."""
from typing import Any, Tuple

import torch
from torch import Tensor

from . import dispatch


def backward(grad: Tensor, input: Tensor, weight: Tensor, has_bias: bool, arguments: Any,
             wanted: Tuple[bool, bool, bool]) -> Tuple[Any, Any, Any]:
    """Gradients of input, weight and bias, in operations that can be differentiated again.

    grad: (N, O, *out), input: (N, C, *in), weight: (C, O/groups, *kernel).
    """
    a = arguments
    sizes = [weight.shape[1] * a.groups] if has_bias else None
    return torch.ops.aten.convolution_backward(grad, input, weight, sizes, list(a.stride), list(a.padding),
                                               list(a.dilation), True, list(a.output_padding), a.groups, list(wanted))


class ConvTranspose(torch.autograd.Function):
    """apply(input, weight, bias, kernels, arguments); the input has its batch axis."""

    @staticmethod
    def forward(ctx: Any, input: Tensor, weight: Tensor, bias: Any, kernels: Any, arguments: Any) -> Tensor:
        ctx.save_for_backward(input, weight)
        ctx.arguments, ctx.has_bias = arguments, bias is not None
        return dispatch.run(kernels, input, weight, bias, arguments, remember=False)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Any:  # type: ignore[override]
        input, weight = ctx.saved_tensors
        wanted = (ctx.needs_input_grad[0], ctx.needs_input_grad[1], ctx.has_bias and ctx.needs_input_grad[2])
        return (*backward(grad, input, weight, ctx.has_bias, ctx.arguments, wanted), None, None)


def differentiable(kernels: Any, input: Tensor, weight: Tensor, bias: Any, arguments: Any) -> Tensor:
    """y with a gradient. A call that a kernel does not serve is PyTorch's altogether."""
    call = dispatch.find(kernels, input, weight, bias, arguments)
    if type(call) is dispatch.Refusal:
        return dispatch.refused(call, input, weight, bias, arguments)
    if input.dim() == arguments.rank + 1:
        return ConvTranspose.apply(input.unsqueeze(0), weight, bias, kernels, arguments).squeeze(0)
    return ConvTranspose.apply(input, weight, bias, kernels, arguments)

"""One call, from tensors to the output: who runs it, and the shortest way there."""
from typing import Any, Optional

import torch
from torch import Tensor

from . import _core
from .backend import state
from .call import Refusal, is_capturing, stream_of
from .fallback import apply_epilogue, torch_conv_transpose, warn_once
from .interception import is_intercepted
from .kernels import Kernels
from .precision import allows_tf32
from .problem import Arguments
from .support import serves_device
from .weights import Weights

_F32 = torch.float32
_is_grad_enabled = torch.is_grad_enabled
_is_inference = torch.is_inference_mode_enabled
_autocasts_cuda = torch.is_autocast_enabled
_autocast_dtype = getattr(torch, "get_autocast_dtype", None)


def _autocasts_cpu() -> bool:
    # What older versions know is deprecated in newer ones.
    return torch.is_autocast_enabled("cpu") if _autocast_dtype is not None else torch.is_autocast_cpu_enabled()


def autocast_dtype(is_cuda: bool) -> Optional[torch.dtype]:
    """What autocast casts the tensors of a convolution to now; None where it is off."""
    if not (_autocasts_cuda() if is_cuda else _autocasts_cpu()):
        return None
    if _autocast_dtype is not None:
        return _autocast_dtype("cuda" if is_cuda else "cpu")
    return torch.get_autocast_gpu_dtype() if is_cuda else torch.get_autocast_cpu_dtype()


def cast(tensor: Optional[Tensor], dtype: torch.dtype) -> Optional[Tensor]:
    """As autocast does: floating-point tensors but f64."""
    if tensor is None or tensor.dtype == dtype or tensor.dtype == torch.float64 or not tensor.is_floating_point():
        return tensor
    return tensor.to(dtype)


def needs_grad(input: Tensor, weight: Tensor, bias: Optional[Tensor]) -> bool:
    """Whether autograd is to know of the call."""
    return _is_grad_enabled() and (input.requires_grad or weight.requires_grad
                                   or (bias is not None and bias.requires_grad))


def constant_now(constant: bool) -> bool:
    """Whether what is made of the weights may be kept: on request, and in inference mode."""
    return constant or _is_inference()


def is_ours(input: Any, weight: Any, bias: Any) -> bool:
    """Whether the library is to be asked at all. All else is PyTorch's, without a word."""
    if is_intercepted(input, weight, bias):
        return False
    if input.is_cuda:
        return serves_device(True, False)
    return state.simulate and input.device.type == "cpu"


def find(kernels: Kernels, input: Tensor, weight: Tensor, bias: Optional[Tensor], arguments: Arguments) -> Any:
    """The prepared call (or Refusal) for tensors like these. No strings are hashed for one that is known."""
    dtype = input.dtype
    tf32 = dtype is _F32 and allows_tf32()
    key = (input.shape, input.stride(), dtype, input.get_device(), weight.shape, weight.stride(), weight.dtype,
           weight.get_device(), None if bias is None else (bias.shape, bias.stride(), bias.dtype, bias.get_device()),
           tf32, arguments)
    call = kernels.calls.get(key)
    if call is None:
        call = kernels.prepare(key, input, weight, bias, arguments, tf32)
    return call


def run(kernels: Kernels, input: Tensor, weight: Tensor, bias: Optional[Tensor], arguments: Arguments,
        constant: bool = False, remember: bool = True) -> Tensor:
    """y without autograd and without an epilogue, by a kernel or by PyTorch.

    `constant`: what PyTorch does not count as a change of the weights does not happen. `remember`: the weights are
    likely those of the last call with these `kernels`.
    """
    known = kernels.weights if remember and constant_now(constant) else None
    return run_found(find(kernels, input, weight, bias, arguments), input, weight, bias, arguments, known, constant)


def run_found(call: Any, input: Tensor, weight: Tensor, bias: Optional[Tensor], arguments: Arguments,
              known: Optional[Weights] = None, constant: bool = False) -> Tensor:
    """The same with what `find` had. `known`: see Call.run."""
    if type(call) is Refusal:
        return refused(call, input, weight, bias, arguments)
    try:
        return call.run(input, weight, bias, known, constant)
    except _core.Error as error:
        return recover(error, call, input, weight, bias, arguments, known, constant)


def recover(error: Exception, call: Any, input: Tensor, weight: Tensor, bias: Optional[Tensor], arguments: Arguments,
            known: Optional[Weights] = None, constant: bool = False) -> Tensor:
    """y after a call.run that failed: by another try, or by PyTorch."""
    y = _with_more_memory(error, lambda: call.run(input, weight, bias, known, constant))
    return y if y is not None else refused(Refusal.of(error), input, weight, bias, arguments)


def run_fused(kernels: Kernels, input: Tensor, weight: Tensor, bias: Optional[Tensor], arguments: Arguments,
              channel_scale: Optional[Tensor], channel_shift: Optional[Tensor], residual: Optional[Tensor],
              constant: bool = False, remember: bool = True) -> Tensor:
    """The same with the epilogue of the arguments. The other tensors fit: see functional.py."""
    call = find(kernels, input, weight, bias, arguments)
    if type(call) is not Refusal:
        known = kernels.weights if remember and constant_now(constant) else None
        try:
            return call.run_fused(input, weight, bias, known, constant, channel_scale, channel_shift, residual)
        except _core.Error as error:
            y = _with_more_memory(error, lambda: call.run_fused(input, weight, bias, known, constant, channel_scale,
                                                                channel_shift, residual))
            if y is not None:
                return y
            call = Refusal.of(error)
    y = refused(call, input, weight, bias, arguments)
    return apply_epilogue(y, arguments.epilogue, channel_scale, channel_shift, residual, arguments.rank)


def _with_more_memory(error: Exception, again: Any) -> Optional[Tensor]:
    """One more try after memory that PyTorch holds and does not use went back to the driver; None where that is not
    what was missing, or did not help."""
    if not isinstance(error, _core.DriverError) or "OUT_OF_MEMORY" not in str(error) or is_capturing():
        return None
    try:
        torch.cuda.empty_cache()
        return again()
    except RuntimeError:
        return None


def refused(refusal: Refusal, input: Tensor, weight: Tensor, bias: Optional[Tensor], arguments: Arguments) -> Tensor:
    """PyTorch's result, and the warning."""
    y = torch_conv_transpose(input, weight, bias, arguments)
    if refusal.reason:  # and PyTorch has no error for it
        warn_once(refusal.reason, refusal.kind)
    return y


def call(kernels: Kernels, input: Tensor, weight: Tensor, bias: Optional[Tensor], arguments: Arguments,
         constant: bool = False, remember: bool = True) -> Tensor:
    """One call as its caller sees it: autocast, autograd, kernel or PyTorch."""
    if not is_ours(input, weight, bias):
        return torch_conv_transpose(input, weight, bias, arguments)
    dtype = autocast_dtype(input.is_cuda)
    if dtype is not None:
        input, weight, bias = cast_all(kernels, input, weight, bias, dtype, remember and constant_now(constant))
    if needs_grad(input, weight, bias):
        return autograd.differentiable(kernels, input, weight, bias, arguments)
    return run(kernels, input, weight, bias, arguments, constant, remember)


def cast_all(kernels: Kernels, input: Tensor, weight: Tensor, bias: Optional[Tensor], dtype: torch.dtype,
             keep: bool) -> Any:
    """What autocast makes of the tensors. `keep`: a weight that was cast before is not cast again."""
    if keep and weight.dtype != dtype and not needs_grad(input, weight, bias):
        form = (dtype, stream_of(input.get_device()) if input.is_cuda else 0)
        weight = kernels.casts.see(weight, form, lambda w: cast(w, dtype))[1]
    return cast(input, dtype), cast(weight, dtype), cast(bias, dtype)


from . import autograd  # noqa: E402  it needs what is above

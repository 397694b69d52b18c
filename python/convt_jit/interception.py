"""Whether somebody (a mode, a tracer, a subclass, a transform) is to see PyTorch's own call instead of ours."""
from typing import Any, Optional

import torch
from torch import Tensor
from torch.nn import Parameter

_C = torch._C


def _nothing() -> None:
    return None


def _zero() -> int:
    return 0


def _false() -> bool:
    return False


# What an older PyTorch lacks cannot be active there.
_dispatch_modes = getattr(_C, "_len_torch_dispatch_stack", _zero)
_function_modes = getattr(_C, "_is_torch_function_mode_enabled", _false)
_tracing = getattr(_C, "_get_tracing_state", _nothing)
_functorch = getattr(_C, "_functorch", None)
_transform = getattr(_functorch, "peek_interpreter_stack", None)
if _transform is None:  # before PyTorch 2.0: functorch
    _transforms_active = getattr(_functorch, "are_transforms_active", _false)
    _transform = lambda: True if _transforms_active() else None  # noqa: E731
_PLAIN = tuple(t for t in (Tensor, Parameter, getattr(torch.nn, "Buffer", None)) if isinstance(t, type))
_STRIDED = torch.strided
_forward_ad = torch.autograd.forward_ad

try:
    from torch.compiler import is_compiling
except ImportError:
    try:
        from torch._dynamo import is_compiling  # type: ignore[no-redef]
    except ImportError:
        is_compiling = _false  # type: ignore[assignment]


def _only_devices() -> bool:
    """Whether all function modes merely choose the device of new tensors (`with torch.device("cuda"):`)."""
    from torch.overrides import _get_current_function_mode_stack

    return all(type(mode).__name__ == "DeviceContext" for mode in _get_current_function_mode_stack())


def is_plain(tensor: Any) -> bool:
    """Whether a kernel may read what lies at the tensor's address."""
    return type(tensor) in _PLAIN and tensor.layout is _STRIDED and not tensor.is_neg()


def is_intercepted(input: Tensor, weight: Tensor, bias: Optional[Tensor]) -> bool:
    """True where PyTorch's own call must be made: tensors are no plain ones, or the call is traced, transformed,
    differentiated forwards or watched by a mode."""
    if type(input) not in _PLAIN or type(weight) not in _PLAIN or not (bias is None or type(bias) in _PLAIN):
        return True
    if _dispatch_modes() or _tracing() is not None or _transform() is not None or _forward_ad._current_level >= 0:
        return True
    if _function_modes() and not _only_devices():
        return True
    # A neg bit, as that of conj().imag, is seen by PyTorch's operations alone; a sparse tensor has no address.
    return (input.layout is not _STRIDED or weight.layout is not _STRIDED or input.is_neg() or weight.is_neg()
            or (bias is not None and (bias.layout is not _STRIDED or bias.is_neg())))

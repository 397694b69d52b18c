"""What the library's kernels serve, and why not."""
from typing import Dict, Optional

import torch
from torch import Tensor

from .backend import state
from .problem import Arguments, output_shape

_NAMES: Dict[torch.dtype, str] = {torch.float32: "f32", torch.float16: "f16", torch.bfloat16: "bf16"}
DTYPES = frozenset(_NAMES)
_HIP = getattr(torch.version, "hip", None) is not None


def dtype_name(dtype: torch.dtype, tf32: bool) -> str:
    """As a layer string has it."""
    name = _NAMES[dtype]
    return "tf32" if tf32 and name == "f32" else name


def serves_device(device_is_cuda: bool, device_is_cpu: bool) -> bool:
    """Whether tensors there are ours at all: without a warning they are PyTorch's elsewhere."""
    return (device_is_cuda and state.enabled and not _HIP) or (device_is_cpu and state.simulate)


def serves_epilogue(input: Tensor, weight: Tensor, arguments: Arguments, channel_scale: Optional[Tensor],
                    channel_shift: Optional[Tensor], residual: Optional[Tensor]) -> bool:
    """Whether a kernel may read the epilogue's tensors; else PyTorch's operations take them, or have the error."""
    rank = arguments.rank
    if input.dim() not in (rank + 1, rank + 2) or weight.dim() != rank + 2:
        return False
    shape = output_shape(input.shape, weight.shape, arguments)
    for tensor in (channel_scale, channel_shift):
        if tensor is not None and (tensor.device != input.device or tensor.dtype != torch.float32
                                   or tuple(tensor.shape) != (weight.shape[1] * arguments.groups,)):
            return False
    return residual is None or (residual.device == input.device and residual.dtype == input.dtype
                                and tuple(residual.shape) == shape)


def why_not(input: Tensor, weight: Tensor, bias: Optional[Tensor]) -> Optional[str]:
    """None where the tensors may be served; else why not, or "" where PyTorch has an error for them."""
    if input.dtype not in DTYPES:
        return f"{str(input.dtype).replace('torch.', '')} is not supported; f32, f16 and bf16 are"
    others = [t for t in (weight, bias) if t is not None]
    if any(t.dtype != input.dtype or t.device != input.device or t.layout is not torch.strided for t in others):
        return ""
    if bias is not None and (bias.dim() != 1 or (bias.numel() > 1 and bias.stride(0) != 1)):
        return "" if bias.dim() != 1 else "the bias is not contiguous"
    if input.numel() == 0 or weight.numel() == 0:
        return ""
    return None

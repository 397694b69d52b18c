"""Which arithmetic 32-bit tensors ask for: what PyTorch would let cuDNN do."""
import torch

_get_precision = getattr(torch._C, "_get_fp32_precision_getter", None)
_get_allow_tf32 = torch._C._get_cudnn_allow_tf32
_get_enabled = torch._C._get_cudnn_enabled


def allows_tf32() -> bool:
    """Whether convolutions may use TF32 now: torch.backends.cudnn.allow_tf32, and where PyTorch has it (2.9)
    torch.backends.cudnn.conv.fp32_precision. Without cuDNN PyTorch computes in f32, and so do we."""
    if not _get_enabled():
        return False
    if _get_precision is not None:
        return _get_precision("cuda", "conv") == "tf32"
    return _get_allow_tf32()

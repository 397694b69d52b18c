"""Transposed convolutions for CUDA, one kernel per layer: a drop-in for PyTorch's.

    import convt_jit
    convt_jit.replace(model)              # every nn.ConvTranspose, in place
    print(convt_jit.report(model, x))     # whether it pays
"""
from . import functional, nn
from ._core import version as _version
from .backend import backend, get_backend, set_backend
from .fallback import FallbackWarning
from .library import Error
from .prepare import prepare
from .replace import replace, restore
from .report import report
from .warmup import warmup

__version__ = _version()
__all__ = ["Error", "FallbackWarning", "backend", "functional", "get_backend", "nn", "prepare", "replace", "report",
           "restore", "set_backend", "warmup"]

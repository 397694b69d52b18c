"""Transposed convolutions for CUDA, one kernel per layer: a drop-in for PyTorch's."""
from . import functional, nn
from ._core import version as _version
from .backend import backend, get_backend, set_backend
from .fallback import FallbackWarning
from .library import Error

__version__ = _version()
__all__ = ["Error", "FallbackWarning", "backend", "functional", "get_backend", "nn", "set_backend"]

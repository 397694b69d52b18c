"""The extension and this process's engine."""
import glob
import importlib.util
import os
import threading
from typing import Any, List, Optional

from . import _core

Error = _core.Error
SIMULATOR = _core.SIMULATOR

_lock = threading.Lock()
_engine: Optional[Any] = None
# What a forked process inherits of the library belongs to its parent: it is kept here, and never used or freed.
_inherited: List[Any] = []


def _nvrtc_of_wheels() -> Optional[str]:
    """The NVRTC of NVIDIA's wheels, as PyTorch's own wheels bring it."""
    try:
        spec = importlib.util.find_spec("nvidia")
    except (ImportError, ValueError):
        return None
    for root in (spec.submodule_search_locations or []) if spec is not None else []:
        for place in ("cu13/lib", "cuda_nvrtc/lib"):
            found = sorted(glob.glob(os.path.join(root, place, "libnvrtc.so.1[23]")))
            if found:
                return found[-1]
    return None


def engine() -> Any:
    """The engine of this process, made when it is first wanted."""
    global _engine
    if _engine is None:
        with _lock:
            if _engine is None:
                # The library searches toolkits and the folders about itself; a package elsewhere is told.
                if not _core.nvrtc_version()[0] and "CONVT_JIT_NVRTC" not in os.environ:
                    found = _nvrtc_of_wheels()
                    if found is not None:
                        os.environ["CONVT_JIT_NVRTC"] = found
                _engine = _core.Engine()
    return _engine


def keep_inherited(thing: Any) -> None:
    """For a forked process: keeps what its parent made from being freed here."""
    _inherited.append(thing)


def _after_fork() -> None:
    global _engine, _lock
    _lock = threading.Lock()
    if _engine is not None:
        keep_inherited(_engine)
        _engine = None


def at_fork(action: Any) -> None:
    """Runs an action in every forked process."""
    if hasattr(os, "register_at_fork"):
        os.register_at_fork(after_in_child=action)


at_fork(_after_fork)

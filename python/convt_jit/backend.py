"""Which tensors run the library's kernels: those of CUDA devices, and on request those of the CPU, in the simulator."""
import contextlib
import os
from typing import Iterator

BACKENDS = ("auto", "sim", "off")


class _State:
    """`enabled`: kernels run at all; `simulate`: CPU tensors, too. Process-wide, read by every call."""

    __slots__ = ("name", "enabled", "simulate")

    def __init__(self, name: str) -> None:
        self.set(name)

    def set(self, name: str) -> None:
        if name not in BACKENDS:
            raise ValueError(f"backend is {name!r}; allowed: {', '.join(BACKENDS)}")
        self.name = name
        self.enabled = name != "off"
        self.simulate = name == "sim"


def _from_environment() -> str:
    name = os.environ.get("CONVT_JIT_BACKEND", "auto")
    if name in BACKENDS:
        return name
    import warnings

    warnings.warn(f"CONVT_JIT_BACKEND is {name!r}; allowed: {', '.join(BACKENDS)}; auto is taken", stacklevel=2)
    return "auto"


state = _State(_from_environment())


def get_backend() -> str:
    """'auto', 'sim' or 'off'."""
    return state.name


def set_backend(name: str) -> None:
    """Chooses for the whole process; $CONVT_JIT_BACKEND is the choice at the start.

    'auto': tensors on CUDA devices run the library's kernels, all others PyTorch's.
    'sim': CPU tensors run them as well, in the simulator: slowly and exactly, for tests.
    'off': PyTorch's everywhere.
    """
    state.set(name)


@contextlib.contextmanager
def backend(name: str) -> Iterator[None]:
    """set_backend for the length of a with statement."""
    before = state.name
    state.set(name)
    try:
        yield
    finally:
        state.set(before)

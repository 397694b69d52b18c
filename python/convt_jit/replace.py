"""Swaps the transposed convolutions of a model for ours, and back, in place: modules stay the objects that they are."""
from typing import Any, Optional

import torch
from torch.nn.utils import parametrize

from . import nn
from .folding import FoldedSequential
from .watching import transposed_convolutions

_OURS = {torch.nn.ConvTranspose1d: nn.ConvTranspose1d, torch.nn.ConvTranspose2d: nn.ConvTranspose2d,
         torch.nn.ConvTranspose3d: nn.ConvTranspose3d, torch.nn.Sequential: FoldedSequential}
_THEIRS = {ours: theirs for theirs, ours in _OURS.items()}


def _parametrized_base(kind: type) -> Optional[type]:
    """The class below one that torch.nn.utils.parametrize made; somebody's own may have the like name."""
    base = kind.__bases__[0]
    made = kind.__module__ == parametrize.__name__ and kind.__name__ == f"Parametrized{base.__name__}"
    return base if made else None


def _counterpart(kind: type, table: Any) -> Optional[type]:
    if kind in table:
        return table[kind]
    base = _parametrized_base(kind)
    if base not in table:
        return None
    body = {name: value for name, value in vars(kind).items() if name not in ("__dict__", "__weakref__")}
    return type(kind.__name__, (table[base],), body)


def why_not_replaced(module: torch.nn.Module) -> Optional[str]:
    """Why replace() leaves a transposed convolution as it is; None where it does not, or has replaced it."""
    kind = type(module)
    if kind in _THEIRS or _parametrized_base(kind) in _THEIRS or _counterpart(kind, _OURS) is not None:
        return "it has a forward of its own" if "forward" in module.__dict__ else None
    return f"{kind.__module__}.{kind.__qualname__} is a class of its own"


def is_replaced(module: torch.nn.Module) -> bool:
    """Whether a module is one of convt_jit.nn."""
    return type(module) in _THEIRS or _parametrized_base(type(module)) in _THEIRS


def replace(model: torch.nn.Module, fold: bool = False, constant_weights: bool = False) -> torch.nn.Module:
    """Makes every torch.nn.ConvTranspose1d, 2d and 3d of a model (or the model itself) one of convt_jit.nn.

    In place: parameters, hooks, parametrizations, training mode, names and all references to the modules stay. Classes
    that derive from PyTorch's are left alone. Returns the model.

    fold: in eval mode, and where no gradient is wanted, a batch normalisation and an activation that follow in an
    nn.Sequential run in the same kernel (see FoldedSequential).
    constant_weights: see convt_jit.nn.ConvTranspose2d.constant_weights.
    """
    for _, module in transposed_convolutions(model):
        if not is_replaced(module) and why_not_replaced(module) is None:
            module.__class__ = _counterpart(type(module), _OURS)
        if constant_weights and is_replaced(module):
            module.constant_weights = True
    if fold:
        for module in model.modules():
            if type(module) is torch.nn.Sequential and FoldedSequential.has_groups(module):
                module.__class__ = FoldedSequential
    return model


def restore(model: torch.nn.Module) -> torch.nn.Module:
    """Undoes replace(), for a model or one of its modules. Returns the model."""
    for module in model.modules():
        module.__dict__.pop("_convt_affine", None)
        if type(module) is FoldedSequential or is_replaced(module):
            module.__class__ = _counterpart(type(module), _THEIRS)
            for name in ("_convt_kernels", "constant_weights"):
                module.__dict__.pop(name, None)
    return model

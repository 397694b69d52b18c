"""A transposed convolution, its batch normalisation and its activation as one kernel."""
import weakref
from typing import Any, List, NamedTuple, Optional, Tuple

import torch
from torch import Tensor

from . import dispatch, functional
from .call import stream_of
from .epilogue import Epilogue
from .interception import is_compiling
from .nn import RANKS, arguments_of, kernels_of
from .watching import rank_of

_NORMS = (None, torch.nn.BatchNorm1d, torch.nn.BatchNorm2d, torch.nn.BatchNorm3d)
_SIMPLE = {torch.nn.ReLU: "relu", torch.nn.Tanh: "tanh", torch.nn.Sigmoid: "sigmoid", torch.nn.SiLU: "silu",
           torch.nn.Hardswish: "hardswish"}


def activation_epilogue(module: Any) -> Optional[Epilogue]:
    """What an activation module is in an epilogue; None where it is none."""
    kind = type(module)
    if kind in _SIMPLE:
        return Epilogue(_SIMPLE[kind])
    if kind is torch.nn.LeakyReLU:
        return Epilogue("leaky_relu", float(module.negative_slope))
    if kind is torch.nn.GELU and getattr(module, "approximate", "none") == "none":
        return Epilogue("gelu")
    if kind is torch.nn.ReLU6:
        return Epilogue(clamp=(0.0, 6.0))
    return None


class Group(NamedTuple):
    """Modules of an nn.Sequential, next to each other, that may run as one."""

    convolution: Any
    norm: Any          #: or None
    activation: Any    #: or None
    epilogue: Epilogue

    @property
    def members(self) -> List[Any]:
        return [m for m in (self.convolution, self.norm, self.activation) if m is not None]


def find_group(modules: List[Any], at: int) -> Optional[Group]:
    """The group that begins at a module; None where nothing could be folded into it."""
    rank = RANKS.get(type(modules[at]))
    if rank is None:  # what derives from our classes may have a forward of its own
        return None
    after = at + 1
    norm = None
    if after < len(modules) and type(modules[after]) is _NORMS[rank] and modules[after].running_mean is not None:
        norm = modules[after]
        after += 1
    epilogue = activation_epilogue(modules[after]) if after < len(modules) else None
    if norm is None and epilogue is None:
        return None
    activation = modules[after] if epilogue is not None else None
    return Group(modules[at], norm, activation, (epilogue or Epilogue())._replace(affine=norm is not None))


def _is_watched(module: Any) -> bool:
    return bool(module._forward_hooks or module._forward_pre_hooks or module._backward_hooks
                or getattr(module, "_backward_pre_hooks", None) or "forward" in module.__dict__)


def _global_hooks() -> bool:
    hooks = torch.nn.modules.module
    return bool(hooks._global_forward_hooks or hooks._global_forward_pre_hooks or hooks._global_backward_hooks)


def _affine(norm: Any, is_cuda: bool) -> Tuple[Tensor, Tensor]:
    """(scale, shift) of a batch normalisation in eval mode, (O) in f32; kept until one of its tensors changes."""
    tensors = [norm.weight, norm.bias, norm.running_mean, norm.running_var]
    count = not any(t is not None and t.is_inference() for t in tensors)
    state = [norm.eps, stream_of(norm.running_mean.get_device()) if is_cuda else 0]
    if count:
        for t in tensors:
            state.append(None if t is None else (t.data_ptr(), t._version))
    seen = norm.__dict__.get("_convt_affine")
    if count and seen is not None and seen.state == state and all(
            (a is None and b is None) or (a is not None and a() is b) for a, b in zip(seen.tensors, tensors)):
        return seen.pair
    with torch.no_grad():
        scale = torch.rsqrt(norm.running_var.float() + norm.eps)
        if norm.weight is not None:
            scale = scale * norm.weight.float()
        shift = -norm.running_mean.float() * scale
        if norm.bias is not None:
            shift = shift + norm.bias.float()
    if count:
        norm.__dict__["_convt_affine"] = _Affine(state, [None if t is None else weakref.ref(t) for t in tensors],
                                                 (scale, shift))
    return scale, shift


class _Affine:
    """What was made of a batch normalisation; never copied with it."""

    def __init__(self, state: Any = None, tensors: Any = (), pair: Any = None) -> None:
        self.state, self.tensors, self.pair = state, tensors, pair

    def __reduce__(self) -> Any:
        return _Affine, ()

    def __deepcopy__(self, memo: Any) -> "_Affine":
        return _Affine()


def _may_fold(group: Group, input: Any) -> bool:
    if group.norm is not None and group.norm.training:
        return False
    if any(_is_watched(module) for module in group.members) or _global_hooks():
        return False
    if torch.is_grad_enabled() and (input.requires_grad or any(
            p.requires_grad for module in group.members for p in module.parameters(recurse=False))):
        return False
    convolution = group.convolution
    return (convolution.padding_mode == "zeros" and dispatch.is_ours(input, convolution.weight, convolution.bias)
            and dispatch.autocast_dtype(input.is_cuda) is None)


def _run(group: Group, input: Tensor) -> Tensor:
    convolution = group.convolution
    arguments = arguments_of(convolution, rank_of(convolution), input, None)._replace(epilogue=group.epilogue)
    scale, shift = _affine(group.norm, input.is_cuda) if group.norm is not None else (None, None)
    return functional.fused(kernels_of(convolution), input, convolution.weight, convolution.bias, arguments, scale,
                            shift, None, convolution.constant_weights)


class FoldedSequential(torch.nn.Sequential):
    """An nn.Sequential in which a transposed convolution of convt_jit.nn, a batch normalisation after it and an
    activation after that run in one kernel.

    In eval mode, where no gradient is wanted, outside of autocast and compilers, and while none of the modules has
    hooks. Else module by module. Names, parameters and state dicts are those of the nn.Sequential that it was.
    Changes of the normalisation are seen as far as PyTorch counts them: not those through `.data`.
    """

    @staticmethod
    def has_groups(modules: Any) -> bool:
        """Whether there is anything to fold."""
        children = list(modules)
        return any(find_group(children, at) is not None for at in range(len(children)))

    def forward(self, input: Any) -> Any:
        if torch.jit.is_scripting():
            for module in self:
                input = module(input)
            return input
        else:
            return _forward(self, input)


def _forward(sequential: Any, input: Any) -> Any:
    modules = list(sequential._modules.values())
    at = 0
    while at < len(modules):
        group = None if is_compiling() else find_group(modules, at)
        if group is not None and isinstance(input, Tensor) and _may_fold(group, input):
            input = _run(group, input)
            at += len(group.members)
        else:
            input = modules[at](input)
            at += 1
    return input

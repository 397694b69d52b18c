"""A transposed convolution, its batch normalisation and its activation as one kernel."""
import weakref
from typing import Any, List, NamedTuple, Optional, Tuple

import torch
from torch import Tensor

from . import dispatch, functional
from .call import hold_captured, is_capturing, stream_of
from .epilogue import Epilogue
from .interception import is_compiling, is_plain
from .nn import RANKS, arguments_of, kernels_of, tensors_of

_NORMS = (None, torch.nn.BatchNorm1d, torch.nn.BatchNorm2d, torch.nn.BatchNorm3d)
_SIMPLE = {torch.nn.ReLU: "relu", torch.nn.Tanh: "tanh", torch.nn.Sigmoid: "sigmoid", torch.nn.SiLU: "silu",
           torch.nn.Hardswish: "hardswish"}


def activation_epilogue(module: Any) -> Optional[Epilogue]:
    """What an activation module is in an epilogue; None where it is none."""
    kind = type(module)
    if kind in _SIMPLE:
        return Epilogue(_SIMPLE[kind])
    if kind is torch.nn.LeakyReLU and type(module.negative_slope) in (int, float):
        return Epilogue("leaky_relu", float(module.negative_slope))
    if kind is torch.nn.GELU and getattr(module, "approximate", "none") == "none":
        return Epilogue("gelu")
    if kind is torch.nn.ReLU6 and (module.min_val, module.max_val) == (0, 6):
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


def _has_statistics(norm: Any) -> bool:
    return norm.running_mean is not None and norm.running_var is not None


def find_group(modules: List[Any], at: int) -> Optional[Group]:
    """The group that begins at a module; None where nothing could be folded into it."""
    rank = RANKS.get(type(modules[at]))
    if rank is None:  # what derives from our classes may have a forward of its own
        return None
    after = at + 1
    norm = None
    if after < len(modules) and type(modules[after]) is _NORMS[rank] and _has_statistics(modules[after]):
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


def _affine(norm: Any, is_cuda: bool, constant: bool) -> Tuple[Tensor, Tensor]:
    """(scale, shift) of a batch normalisation in eval mode, (O) in f32; kept where weights may be, as long as PyTorch
    counts no change.

    It does not count what a training step does to the running statistics, but num_batches_tracked tells of the step.
    """
    tensors = [norm.weight, norm.bias, norm.running_mean, norm.running_var, norm.num_batches_tracked]
    capturing = is_cuda and is_capturing()
    keep = (norm.num_batches_tracked is not None and not any(t is not None and t.is_inference() for t in tensors)
            and (constant or (dispatch.constant_now(False) and not capturing)))
    if not keep:
        return _scale_and_shift(norm)
    state = [norm.eps, stream_of(norm.running_mean.get_device()) if is_cuda else 0]
    state.extend(None if t is None else (t.data_ptr(), t._version) for t in tensors)
    seen = norm.__dict__.get("_convt_affine")
    if seen is None or seen.state != state or not all((a is None and b is None) or (a is not None and a() is b)
                                                      for a, b in zip(seen.tensors, tensors)):
        seen = _Affine(state, [None if t is None else weakref.ref(t) for t in tensors], _scale_and_shift(norm))
        if not capturing:  # there nothing is computed before the replay
            norm.__dict__["_convt_affine"] = seen
    if capturing:
        hold_captured(seen)
    return seen.pair


def _scale_and_shift(norm: Any) -> Tuple[Tensor, Tensor]:
    with torch.no_grad():
        scale = torch.rsqrt(norm.running_var.float() + norm.eps)
        if norm.weight is not None:
            scale = scale * norm.weight.float()
        mean = norm.running_mean.float()
        return scale, -mean * scale if norm.bias is None else torch.addcmul(norm.bias.float(), mean, scale, value=-1)


class _Affine:
    """What was made of a batch normalisation; never copied with it."""

    def __init__(self, state: Any = None, tensors: Any = (), pair: Any = None) -> None:
        self.state, self.tensors, self.pair = state, tensors, pair

    def __reduce__(self) -> Any:
        return _Affine, ()

    def __deepcopy__(self, memo: Any) -> "_Affine":
        return _Affine()


def _fits(norm: Any, rank: int, input: Tensor, channels: int) -> bool:
    """Whether PyTorch's batch normalisation would take the convolution's output, and as we do. One without a batch axis
    it takes otherwise, or not at all."""
    tensors = [t for t in (norm.weight, norm.bias, norm.running_mean, norm.running_var) if t is not None]
    dtype = tensors[0].dtype
    return (not norm.training and input.dim() == rank + 2 and dtype in (input.dtype, torch.float32)
            and all(is_plain(t) and t.shape == (channels,) and t.dtype == dtype and t.device == input.device
                    for t in tensors))


def _run(group: Group, input: Tensor) -> Optional[Tensor]:
    """The output of the group's last module; None where they must run one by one."""
    convolution, norm = group.convolution, group.norm
    if any(_is_watched(module) for module in group.members) or _global_hooks():
        return None
    if torch.is_grad_enabled() and (input.requires_grad or any(
            p.requires_grad for module in group.members for p in module.parameters(recurse=False))):
        return None
    weight, bias = tensors_of(convolution)
    if (convolution.padding_mode != "zeros" or not dispatch.is_ours(input, weight, bias)
            or dispatch.autocast_dtype(input.is_cuda) is not None):
        return None
    rank = RANKS[type(convolution)]
    arguments = arguments_of(convolution, rank, input, None)
    if arguments is None or weight.dim() != rank + 2:
        return None
    scale = shift = None
    if norm is not None:
        if not _fits(norm, rank, input, weight.shape[1] * arguments.groups):
            return None
        scale, shift = _affine(norm, input.is_cuda, convolution.constant_weights)
    return functional.fused(kernels_of(convolution), input, weight, bias, arguments._replace(epilogue=group.epilogue),
                            scale, shift, None, convolution.constant_weights)


class FoldedSequential(torch.nn.Sequential):
    """An nn.Sequential in which a transposed convolution of convt_jit.nn, a batch normalisation after it and an
    activation after that run in one kernel.

    In eval mode, where no gradient is wanted, outside of autocast and compilers, and while none of the modules has
    hooks. Else module by module. Names, parameters and state dicts are those of the nn.Sequential that it was.
    What is made of the normalisation is kept where what is made of weights is: in inference mode and with
    constant_weights, as long as PyTorch counts no change of its tensors and it has not been trained.
    """

    @staticmethod
    def has_groups(modules: Any) -> bool:
        """Whether there is anything to fold."""
        children = list(modules)
        return any(find_group(children, at) is not None for at in range(len(children)))

    def forward(self, input: Tensor) -> Tensor:  # for TorchScript, which takes no Any
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
        output = _run(group, input) if group is not None and isinstance(input, Tensor) else None
        if output is not None:
            at += len(group.members)
        else:
            output = modules[at](input)
            at += 1
        input = output
    return input

"""convt_jit.nn: drop-ins for torch.nn.ConvTranspose1d, 2d and 3d.

Constructors, attributes, initialisation, state dicts, repr and forward(input, output_size=None) are PyTorch's own.
"""
from typing import Any, Dict, List, Optional, Tuple

import torch
import torch.nn.functional as F
from torch import Tensor

from . import compiled, dispatch
from .interception import is_compiling
from .kernels import Kernels
from .problem import Arguments, make_arguments

_THEIRS: Any = (None, torch.nn.ConvTranspose1d, torch.nn.ConvTranspose2d, torch.nn.ConvTranspose3d)


def kernels_of(module: Any) -> Kernels:
    """The module's prepared calls; made at the first call, never copied, pickled or saved."""
    kernels = module.__dict__.get("_convt_kernels")
    if kernels is None:
        kernels = module.__dict__["_convt_kernels"] = Kernels()
    return kernels


def arguments_of(module: Any, rank: int, input: Any, output_size: Optional[List[int]]) -> Optional[Arguments]:
    """A call's arguments from a module's attributes; None where they are not as we know them: PyTorch takes them or has
    the error."""
    if not isinstance(module.padding, tuple):  # its forward insists
        return None
    if output_size is None:
        output_padding = module.output_padding
    else:
        output_padding = tuple(module._output_padding(input, output_size, module.stride, module.padding,
                                                      module.kernel_size, rank, module.dilation))
    return make_arguments(rank, module.stride, module.padding, output_padding, module.groups, module.dilation)


def _known_arguments(module: Any, rank: int, kernels: Kernels) -> Optional[Arguments]:
    """The same without an output size. Attributes that are the objects that they were at the last call mean what they
    meant then, unless they are lists."""
    now = (module.stride, module.padding, module.output_padding, module.dilation, module.groups)
    seen = kernels.attributes
    if seen is not None:
        (a, b, c, d, e), (f, g, h, i, j) = now, seen[0]
        if a is f and b is g and c is h and d is i and e is j:
            return seen[1]
    arguments = arguments_of(module, rank, None, None)
    if arguments is not None and not any(isinstance(value, list) for value in now):
        kernels.attributes = (now, arguments)
    return arguments


def tensors_of(module: Any) -> Tuple[Tensor, Optional[Tensor]]:
    """(weight, bias) as the module's attributes have them, found where nn.Module finds them last.

    Other classes (of parametrizations, of functional_call in PyTorch 1.13) may have attributes of their own.
    """
    state = module.__dict__
    if type(module) in RANKS and "weight" not in state and "bias" not in state:
        parameters = state["_parameters"]
        if "weight" in parameters and "bias" in parameters:
            return parameters["weight"], parameters["bias"]
    return module.weight, module.bias


def forward(module: Any, rank: int, input: Tensor, output_size: Optional[List[int]]) -> Tensor:
    """What the modules do outside of TorchScript."""
    if module.padding_mode != "zeros":
        raise ValueError(f"Only `zeros` padding mode is supported for ConvTranspose{rank}d")
    if is_compiling():
        arguments = arguments_of(module, rank, input, output_size)
        if arguments is None:
            return _THEIRS[rank].forward(module, input, output_size)
        return compiled.call(input, module.weight, module.bias, arguments)
    kernels = kernels_of(module)
    arguments = (_known_arguments(module, rank, kernels) if output_size is None
                 else arguments_of(module, rank, input, output_size))
    if arguments is None:
        return _THEIRS[rank].forward(module, input, output_size)
    weight, bias = tensors_of(module)
    return dispatch.call(kernels, input, weight, bias, arguments, module.constant_weights)


class _Drop:
    """What the three have in common."""

    #: Promises that weights change only in ways that PyTorch counts: in place (optimisers, copy_, load_state_dict) or
    #: as new parameters, not through `weight.data`. What kernels make of them is then kept from call to call, also in
    #: CUDA graphs, which do not follow later changes. In torch.inference_mode() it is kept anyway, but in graphs.
    constant_weights: bool = False


class ConvTranspose1d(torch.nn.ConvTranspose1d, _Drop):
    """torch.nn.ConvTranspose1d. input: (N, C, L) or (C, L); result: (N, O, L_out) or (O, L_out)."""

    def forward(self, input: Tensor, output_size: Optional[List[int]] = None) -> Tensor:
        if torch.jit.is_scripting():
            if self.padding_mode != "zeros":
                raise ValueError("Only `zeros` padding mode is supported for ConvTranspose1d")
            output_padding = self._output_padding(input, output_size, self.stride, self.padding, self.kernel_size, 1,
                                                  self.dilation)
            return F.conv_transpose1d(input, self.weight, self.bias, self.stride, self.padding, output_padding,
                                      self.groups, self.dilation)
        else:
            return forward(self, 1, input, output_size)


class ConvTranspose2d(torch.nn.ConvTranspose2d, _Drop):
    """torch.nn.ConvTranspose2d. input: (N, C, H, W) or (C, H, W); result: (N, O, H_out, W_out) or (O, H_out, W_out)."""

    def forward(self, input: Tensor, output_size: Optional[List[int]] = None) -> Tensor:
        if torch.jit.is_scripting():
            if self.padding_mode != "zeros":
                raise ValueError("Only `zeros` padding mode is supported for ConvTranspose2d")
            output_padding = self._output_padding(input, output_size, self.stride, self.padding, self.kernel_size, 2,
                                                  self.dilation)
            return F.conv_transpose2d(input, self.weight, self.bias, self.stride, self.padding, output_padding,
                                      self.groups, self.dilation)
        else:
            return forward(self, 2, input, output_size)


class ConvTranspose3d(torch.nn.ConvTranspose3d, _Drop):
    """torch.nn.ConvTranspose3d. input: (N, C, D, H, W) or (C, D, H, W); result: (N, O, D_out, H_out, W_out) or
    (O, D_out, H_out, W_out)."""

    def forward(self, input: Tensor, output_size: Optional[List[int]] = None) -> Tensor:
        if torch.jit.is_scripting():
            if self.padding_mode != "zeros":
                raise ValueError("Only `zeros` padding mode is supported for ConvTranspose3d")
            output_padding = self._output_padding(input, output_size, self.stride, self.padding, self.kernel_size, 3,
                                                  self.dilation)
            return F.conv_transpose3d(input, self.weight, self.bias, self.stride, self.padding, output_padding,
                                      self.groups, self.dilation)
        else:
            return forward(self, 3, input, output_size)


#: Our very classes, and the spatial dimensions of each. What derives from them may do more.
RANKS: Dict[type, int] = {ConvTranspose1d: 1, ConvTranspose2d: 2, ConvTranspose3d: 3}

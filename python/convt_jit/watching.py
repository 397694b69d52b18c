"""Sees every transposed convolution of a model that a run calls, with its input."""
import contextlib
from typing import Any, Callable, Iterator, List, NamedTuple, Optional, Tuple

import torch
from torch import Tensor

RANKS = {torch.nn.ConvTranspose1d: 1, torch.nn.ConvTranspose2d: 2, torch.nn.ConvTranspose3d: 3}


def rank_of(module: Any) -> int:
    """Spatial dimensions of a transposed-convolution module; 0 for any other module."""
    for kind, rank in RANKS.items():
        if isinstance(module, kind):
            return rank
    return 0


def transposed_convolutions(model: torch.nn.Module) -> List[Tuple[str, torch.nn.Module]]:
    """(name, module) of each, once, in the model's order; subclasses of PyTorch's, too."""
    return [(name, module) for name, module in model.named_modules() if rank_of(module)]


class Seen(NamedTuple):
    """One call of a module. input: (N, C, *in) or (C, *in)."""

    name: str
    module: Any
    input: Tensor
    output_size: Optional[List[int]]

    def run(self) -> Tensor:
        """What the module itself does, without its hooks."""
        return type(self.module).forward(self.module, self.input, self.output_size)


@contextlib.contextmanager
def watching(model: torch.nn.Module, see: Callable[[Seen], Tensor]) -> Iterator[None]:
    """Within it `see` answers each call of a transposed convolution in the module's place."""
    watched = []
    for name, module in transposed_convolutions(model):
        if "forward" in module.__dict__:  # somebody else's; PyTorch calls that one
            continue

        def forward(input: Tensor, output_size: Optional[List[int]] = None, name: str = name,
                    module: Any = module) -> Tensor:
            return see(Seen(name, module, input, output_size))

        module.__dict__["forward"] = forward
        watched.append(module)
    try:
        yield
    finally:
        for module in watched:
            del module.__dict__["forward"]


def run_model(model: torch.nn.Module, inputs: Any) -> Any:
    """Calls a model with a tensor, a tuple or list of arguments, or a dict of named ones."""
    if isinstance(inputs, dict):
        return model(**inputs)
    if isinstance(inputs, (tuple, list)):
        return model(*inputs)
    return model(inputs)


def moved(inputs: Any, device: Any) -> Any:
    """The same inputs with their tensors on another device."""
    if isinstance(inputs, Tensor):
        return inputs.to(device)
    if isinstance(inputs, dict):
        return {name: moved(value, device) for name, value in inputs.items()}
    if isinstance(inputs, (tuple, list)):
        values = [moved(value, device) for value in inputs]
        return type(inputs)(*values) if hasattr(inputs, "_fields") else type(inputs)(values)  # a namedtuple has fields
    return inputs

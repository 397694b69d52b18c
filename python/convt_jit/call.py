"""A prepared call: everything that sizes, strides and arguments decide, so that only addresses are left to pass."""
from typing import Any, Optional, Set

import torch
from torch import Tensor

from .problem import Problem
from .weights import Weights

_stream = getattr(torch._C, "_cuda_getCurrentRawStream", None)
_capturing = getattr(torch._C, "_cuda_isCurrentStreamCapturing", None)
# Graphs may be replayed as long as the process lives, and need what was launched in them.
_captured: Set[Any] = set()


def stream_of(device: int) -> int:
    """Handle of the current stream of a CUDA device; 0 on the CPU."""
    return _stream(device) if device >= 0 else 0


def is_capturing() -> bool:
    """Whether the current stream is being captured in a CUDA graph."""
    return _capturing is not None and _capturing()


def hold_captured(thing: Any) -> None:
    """Keeps what a graph that is being captured will use."""
    _captured.add(thing)


def _nothing_made(weight: Tensor) -> Any:
    return None


class Refusal:
    """In the place of a call that the library does not serve: PyTorch's operation runs, with a warning."""

    __slots__ = ("reason", "kind")

    def __init__(self, reason: str, kind: str = "") -> None:
        self.reason = reason  #: empty: the arguments are not valid, and PyTorch has the error for it
        self.kind = kind or reason  #: reasons of one kind are told once

    @classmethod
    def of(cls, error: BaseException) -> "Refusal":
        """Of what the library could not do. That a compiler or a driver is missing is told once, not for each layer."""
        return cls(str(error), type(error).__name__)


class Call:
    """One kernel at one size on one device."""

    __slots__ = ("problem", "kernel", "device", "_out_shape", "_format", "_copy_input", "_copy_weight", "_remembers",
                 "_is_plain", "_launch", "_launch_fused")

    def __init__(self, problem: Problem, kernel: Any, device: int) -> None:
        call = kernel.call(problem.batch, list(problem.input))
        self.problem = problem
        self.kernel = kernel
        self.device = device
        self._out_shape = problem.out_shape
        self._format = torch.contiguous_format
        if problem.channels_last:
            self._format = torch.channels_last if len(problem.out_shape) == 4 else torch.channels_last_3d
        self._copy_input = problem.copy_input
        self._copy_weight = problem.copy_weight
        self._remembers = problem.copy_weight or kernel.packed_bytes > 0
        self._is_plain = not (problem.copy_input or problem.channels_last or self._remembers)
        self._launch = call.launch
        self._launch_fused = call.launch_fused

    def run(self, input: Tensor, weight: Tensor, bias: Optional[Tensor], weights: Optional[Weights],
            constant: bool) -> Tensor:
        """The output. `weights`: what is known of the weights, None where nothing may be assumed; `constant`: graphs
        may keep them as they are, too."""
        if self._is_plain:  # nothing to copy, remember or watch: the way of most calls
            y = input.new_empty(self._out_shape)
            self._launch(input.data_ptr(), weight.data_ptr(), 0 if bias is None else bias.data_ptr(), y.data_ptr(), 0,
                         _stream(self.device) if self.device >= 0 else 0)
            if self.device >= 0 and _capturing():
                _captured.add(self.kernel)
            return y
        x, w, version = self._operands(input, weight, weights, constant)
        y = self._output(input)
        self._launch(x.data_ptr(), w.data_ptr(), 0 if bias is None else bias.data_ptr(), y.data_ptr(), version,
                     stream_of(self.device))
        return y

    def run_fused(self, input: Tensor, weight: Tensor, bias: Optional[Tensor], weights: Optional[Weights],
                  constant: bool, scale: Optional[Tensor], shift: Optional[Tensor],
                  residual: Optional[Tensor]) -> Tensor:
        """The same with an epilogue. scale, shift: f32 (O); residual: shape of the output, any strides."""
        x, w, version = self._operands(input, weight, weights, constant)
        y = self._output(input)
        if residual is not None:
            residual = residual.contiguous(memory_format=self._format)
        self._launch_fused(x.data_ptr(), w.data_ptr(), *(0 if t is None else t.data_ptr()
                                                         for t in (bias, residual, scale, shift)), y.data_ptr(),
                           version, stream_of(self.device))
        return y

    def _operands(self, input: Tensor, weight: Tensor, weights: Optional[Weights], constant: bool) -> Any:
        if self._copy_input:
            input = input.contiguous(memory_format=self._format)
        if self.device >= 0 and _capturing():
            _captured.add(self.kernel)
            if not constant:  # a replay follows weights that change in place
                weights = None
        if not self._remembers:
            return input, weight, 0
        if weights is None:
            return input, self._dense(weight), 0
        version, weight = self._see(weight, weights)
        return input, weight, version

    def _dense(self, weight: Tensor) -> Tensor:
        return weight.detach().contiguous() if self._copy_weight else weight

    def _see(self, weight: Tensor, weights: Weights) -> Any:
        if not self._copy_weight:  # the library tells streams apart itself
            return weights.see(weight, None, _nothing_made)[0], weight
        return weights.see(weight, stream_of(self.device), self._dense)

    def _output(self, input: Tensor) -> Tensor:
        if self._format is torch.contiguous_format:
            return input.new_empty(self._out_shape)
        return torch.empty(self._out_shape, dtype=input.dtype, device=input.device, memory_format=self._format)

    def pack(self, weight: Tensor, weights: Weights) -> None:
        """Packs now what a call would pack."""
        version, weight = self._see(weight, weights)
        self.kernel.pack_weights(weight.data_ptr(), version, stream_of(self.device))

"""The prepared calls of one module (or of the functional form), found by integers."""
import weakref
from typing import Any, Dict, Optional, Tuple, Union

from torch import Tensor

from . import _core, library
from .call import Call, Refusal
from .problem import Arguments, describe, planned_sizes
from .support import dtype_name, why_not
from .weights import Weights

#: More sizes than this and all are forgotten: their kernels are not.
MOST_CALLS = 1024

_all = weakref.WeakSet()


class Kernels:
    """Calls by the key of dispatch.py, and the kernels behind them by device, layer and plan.

    Sizes that are served by one plan share a kernel, and so its memory for packed weights. A copy of a module, also
    in another process, starts with none.
    """

    __slots__ = ("calls", "weights", "casts", "attributes", "_kernels", "_planned", "__weakref__")

    def __init__(self) -> None:
        self.calls: Dict[Any, Union[Call, Refusal]] = {}
        self.weights = Weights()
        self.casts = Weights()
        self.attributes: Any = None  #: what nn.py made of a module's attributes, and these
        self._kernels: Dict[Tuple[int, str, str], Any] = {}
        self._planned = 0
        _all.add(self)

    def __reduce__(self) -> Any:
        return Kernels, ()

    def __copy__(self) -> "Kernels":
        return Kernels()

    def __deepcopy__(self, memo: Any) -> "Kernels":
        return Kernels()

    def prepare(self, key: Any, input: Tensor, weight: Tensor, bias: Optional[Tensor], arguments: Arguments,
                tf32: bool) -> Union[Call, Refusal]:
        """Makes and keeps the call of a key. Waits for the compiler where no cache has the kernel."""
        if len(self.calls) >= MOST_CALLS:
            self.calls.clear()
        call = self._make(input, weight, bias, arguments, tf32)
        self.calls[key] = call
        return call

    def _make(self, input: Tensor, weight: Tensor, bias: Optional[Tensor], arguments: Arguments,
              tf32: bool) -> Union[Call, Refusal]:
        reason = why_not(input, weight, bias)
        if reason is not None:
            return Refusal(reason)
        problem = describe(input.shape, input.stride(), weight.shape, weight.stride(), bias is not None,
                           dtype_name(input.dtype, tf32), arguments)
        if problem is None or len(problem.out_shape) != input.dim():  # a kernel writes as much as it likes
            return Refusal("")
        if bias is not None and bias.shape[0] != weight.shape[1] * arguments.groups:
            return Refusal("")
        device = input.get_device() if input.is_cuda else library.SIMULATOR
        batch, sizes = planned_sizes(problem.batch, problem.input, self._planned)
        try:
            layer = _core.Layer(problem.text, batch, list(sizes))
            kernel = library.engine().prepare(layer, device)
            name = (device, problem.text, kernel.plan)
            kernel = self._kernels.setdefault(name, kernel)
            self._planned += 1
            return Call(problem, kernel, device)
        except _core.LayerError as error:
            return Refusal(f"{problem.text}: {error}")
        except (RuntimeError, MemoryError) as error:
            return Refusal.of(error)

    def leave_to_parent(self) -> None:
        """In a forked process: kernels are their parent's."""
        library.keep_inherited((self.calls, self._kernels))
        self.calls, self._kernels = {}, {}
        self.weights, self.casts = Weights(), Weights()


def _after_fork() -> None:
    for kernels in list(_all):
        kernels.leave_to_parent()


library.at_fork(_after_fork)

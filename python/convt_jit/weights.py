"""What is known of a module's weights from one call to the next."""
import itertools
import weakref
from typing import Any, Callable, NamedTuple, Optional

from torch import Tensor

# Never 0, which tells the library that nothing is known.
_numbers = itertools.count(1)


class _Seen(NamedTuple):
    tensor: Any    #: weak reference
    address: int
    version: int   #: PyTorch's count of changes in place
    form: Any      #: what was made of it
    number: int    #: ours, unique in the process
    made: Tensor


class Weights:
    """Gives the weights that a module has a number that changes whenever they do, as far as PyTorch can tell.

    PyTorch counts changes in place (optimisers, copy_, load_state_dict). It does not count those made through
    `weight.data` or a raw pointer.
    """

    __slots__ = ("_seen",)

    def __init__(self) -> None:
        self._seen: Optional[_Seen] = None

    def see(self, weight: Tensor, form: Any, make: Callable[[Tensor], Tensor]) -> Any:
        """(number, make(weight)): the same ones as before where neither the weight nor the form has changed.

        `form` also names the stream, as what was made on one stream may not be ready for another. The number is 0
        where PyTorch does not count.
        """
        if weight.is_inference():
            return 0, make(weight)
        address, version = weight.data_ptr(), weight._version
        seen = self._seen
        if (seen is None or seen.tensor() is not weight or seen.address != address or seen.version != version
                or seen.form != form):
            # One assignment: threads see the old state or the new one.
            self._seen = seen = _Seen(weakref.ref(weight), address, version, form, next(_numbers), make(weight))
        return seen.number, seen.made

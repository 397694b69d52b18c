"""Which memory format a call computes in: PyTorch's own rules, on sizes and strides alone."""
from typing import Optional, Sequence, Tuple

_LAST = {4: (1, 3, 2, 0), 5: (1, 4, 3, 2, 0)}


def is_channels_last_strides(shape: Sequence[int], strides: Sequence[int]) -> bool:
    """Whether a tensor of 4 or 5 axes suggests channels_last to PyTorch's operators.

    As c10/core/MemoryFormat.h has it: where both formats fit (one channel, a single position), it is not.
    """
    order = _LAST.get(len(shape))
    if order is None or strides[1] == 0:
        return False
    least = 0
    for axis in order:
        if shape[axis] == 0 or strides[axis] < least:
            return False
        if axis == 0 and least == strides[1]:
            return False
        least = strides[axis]
        if shape[axis] > 1:
            least *= shape[axis]
    return True


def dense_strides(shape: Sequence[int], channels_last: bool) -> Tuple[int, ...]:
    """Strides of a tensor without gaps."""
    order = _LAST[len(shape)] if channels_last else range(len(shape) - 1, -1, -1)
    strides = [0] * len(shape)
    step = 1
    for axis in order:
        strides[axis] = step
        step *= max(shape[axis], 1)
    return tuple(strides)


def is_dense(shape: Sequence[int], strides: Sequence[int], channels_last: bool) -> bool:
    """Whether elements lie as a kernel reads them; strides of axes of size 1 do not matter."""
    return all(size == 1 or a == b for size, a, b in zip(shape, strides, dense_strides(shape, channels_last)))


def wants_channels_last(x_shape: Sequence[int], x_strides: Sequence[int], w_shape: Optional[Sequence[int]],
                        w_strides: Optional[Sequence[int]]) -> bool:
    """Whether the output is channels_last: where the input or the weight suggests it, as with cuDNN."""
    if is_channels_last_strides(x_shape, x_strides):
        return True
    if w_shape is None or len(w_shape) != len(x_shape):
        return False
    return is_channels_last_strides(w_shape, w_strides)

"""From sizes, strides and arguments to what the library is asked for. Pure: no tensors, no library, no PyTorch."""
from typing import Any, NamedTuple, Optional, Sequence, Tuple, Union

from .epilogue import NOTHING, Epilogue
from .layout import is_dense, wants_channels_last

Ints = Tuple[int, ...]

#: Said of a call that is PyTorch's to run, or to refuse.
UNFIT = "the arguments do not fit together"


class Arguments(NamedTuple):
    """The arguments of one conv_transpose call but its tensors; every field hashable.

    stride, padding, output_padding, dilation: one int per axis, outermost first.
    """

    rank: int
    stride: Ints
    padding: Ints
    output_padding: Ints
    groups: int
    dilation: Ints
    epilogue: Epilogue = NOTHING


class Problem(NamedTuple):
    """What a kernel is prepared for and launched with."""

    text: str            #: layer string without batch and input size
    batch: int
    input: Ints          #: spatial sizes
    out_shape: Ints      #: of the result; without the batch axis where the input had none
    channels_last: bool
    copy_input: bool     #: the input must be brought into the kernel's order first
    copy_weight: bool

    @property
    def full_text(self) -> str:
        """Layer string with batch and input size."""
        return f"n{self.batch} {self.text} in{'x'.join(map(str, self.input))}"


def axes(value: Union[int, Sequence[int]], rank: int) -> Optional[Ints]:
    """One int per axis from an int or a tuple or list of one or `rank` of them; None where it is neither.

    A bool is no int, as with PyTorch: as a key, True would find what was made for 1.
    """
    if isinstance(value, (tuple, list)):
        values = tuple(value)
    else:
        values = (value,)
    if len(values) == 1:
        values *= rank
    return values if len(values) == rank and all(type(v) is int for v in values) else None


def make_arguments(rank: int, stride: Any, padding: Any, output_padding: Any, groups: Any, dilation: Any,
                   epilogue: Epilogue = NOTHING) -> Optional[Arguments]:
    """From what a caller gave; None where it is not as we know it: PyTorch takes it or has the error."""
    per_axis = [axes(value, rank) for value in (stride, padding, output_padding, dilation)]
    if None in per_axis or type(groups) is not int:
        return None
    stride, padding, output_padding, dilation = per_axis
    return Arguments(rank, stride, padding, output_padding, groups, dilation, epilogue)


def output_sizes(input: Sequence[int], kernel: Sequence[int], arguments: Arguments) -> Tuple[int, ...]:
    """(in - 1)*stride - 2*padding + dilation*(kernel - 1) + output_padding + 1 on each axis."""
    return tuple((i - 1) * s - 2 * p + d * (k - 1) + op + 1
                 for i, k, s, p, op, d in zip(input, kernel, arguments.stride, arguments.padding,
                                              arguments.output_padding, arguments.dilation))


def output_shape(x_shape: Sequence[int], w_shape: Sequence[int], arguments: Arguments) -> Tuple[int, ...]:
    """Of a call whose tensors have as many axes as they should."""
    rank = arguments.rank
    sizes = output_sizes(x_shape[-rank:], w_shape[2:], arguments)
    channels = w_shape[1] * arguments.groups
    return (channels, *sizes) if len(x_shape) == rank + 1 else (x_shape[0], channels, *sizes)


def _word(letter: str, values: Sequence[int], default: int) -> str:
    return "" if all(v == default for v in values) else f" {letter}{'x'.join(map(str, values))}"


def layer_text(in_channels: int, out_channels: int, kernel: Sequence[int], arguments: Arguments, bias: bool,
               dtype: str, channels_last: bool) -> str:
    """A layer string (docs/layer.md). `dtype`: f32, tf32, f16 or bf16."""
    words = f"c{in_channels} o{out_channels} k{'x'.join(map(str, kernel))}"
    words += _word("s", arguments.stride, 1) + _word("p", arguments.padding, 0)
    words += _word("op", arguments.output_padding, 0) + _word("d", arguments.dilation, 1)
    words += f" g{arguments.groups}" if arguments.groups != 1 else ""
    words += f"{' bias' if bias else ''} {dtype}{' nhwc' if channels_last else ''}"
    return f"{words} {arguments.epilogue.words}".rstrip()


def describe(x_shape: Sequence[int], x_strides: Sequence[int], w_shape: Sequence[int], w_strides: Sequence[int],
             bias: bool, dtype: str, arguments: Arguments) -> Optional[Problem]:
    """The problem of a call, or None where its arguments do not fit together: PyTorch has the error for it.

    x_shape: (N, C, *spatial) or (C, *spatial); w_shape: (C, O/groups, *kernel).
    """
    rank = arguments.rank
    unbatched = len(x_shape) == rank + 1
    if not unbatched and len(x_shape) != rank + 2 or len(w_shape) != rank + 2:
        return None
    if any(len(values) != rank for values in (arguments.stride, arguments.padding, arguments.output_padding,
                                              arguments.dilation)):
        return None
    if arguments.groups < 1 or min(x_shape) < 1 or min(w_shape) < 1:
        return None
    if unbatched:
        channels_last = False
        batch, channels, spatial = 1, x_shape[0], tuple(x_shape[1:])
    else:
        channels_last = wants_channels_last(x_shape, x_strides, w_shape, w_strides)
        batch, channels, spatial = x_shape[0], x_shape[1], tuple(x_shape[2:])
    if channels != w_shape[0]:
        return None
    kernel = tuple(w_shape[2:])
    out_channels = w_shape[1] * arguments.groups
    sizes = output_sizes(spatial, kernel, arguments)
    if min(sizes) < 1:
        return None
    out_shape = (out_channels, *sizes) if unbatched else (batch, out_channels, *sizes)
    text = layer_text(channels, out_channels, kernel, arguments, bias, dtype, channels_last)
    return Problem(text, batch, spatial, out_shape, channels_last, not is_dense(x_shape, x_strides, channels_last),
                   not is_dense(w_shape, w_strides, False))


#: Distinct sizes that a module is planned for exactly; later ones are planned for sizes near them.
EXACT_SIZES = 16


def planned_sizes(batch: int, input: Sequence[int], planned: int) -> Tuple[int, Ints]:
    """Sizes to plan for, after `planned` others. Any kernel serves any size: only how fast depends on it.

    Who comes with ever new sizes (a vocoder, say) gets kernels for sizes rounded up to three significant bits, and so
    compiles a few kernels, not one for every size.
    """
    if planned < EXACT_SIZES:
        return batch, tuple(input)

    def rounded(size: int) -> int:
        step = 1 << max(size.bit_length() - 3, 0)
        return -(-size // step) * step

    return rounded(batch), tuple(rounded(size) for size in input)

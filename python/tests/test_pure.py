"""Decisions on plain numbers: layouts, sizes, layer strings, epilogues."""
import itertools

import pytest
import torch

from convt_jit import _core
from convt_jit.epilogue import Epilogue, make_epilogue
from convt_jit.layout import dense_strides, is_channels_last_strides, is_dense
from convt_jit.problem import EXACT_SIZES, Arguments, axes, describe, planned_sizes

PLAIN = Arguments(2, (2, 3), (1, 0), (0, 1), 2, (1, 2))


@pytest.mark.parametrize("shape", list(itertools.product((1, 2), (1, 3), (1, 4), (1, 5))))
def test_layouts_are_pytorchs(shape):
    plain = torch.empty(shape)
    last = plain.contiguous(memory_format=torch.channels_last)
    made_last = torch.empty(shape, memory_format=torch.channels_last)
    for tensor in (plain, last, made_last, made_last[:, :, ::2], made_last[:, :, :, ::2], plain.transpose(1, 3)):
        # An operation of PyTorch's whose result has the format that its input suggests.
        suggested = torch.nn.functional.interpolate(tensor.float(), scale_factor=1, mode="nearest")
        if suggested.is_contiguous(memory_format=torch.channels_last) != suggested.is_contiguous():
            assert is_channels_last_strides(tensor.shape, tensor.stride()) == suggested.is_contiguous(
                memory_format=torch.channels_last), (tensor.shape, tensor.stride())
        assert is_dense(tensor.shape, tensor.stride(), False) == tensor.is_contiguous()
        assert is_dense(tensor.shape, tensor.stride(), True) == tensor.is_contiguous(
            memory_format=torch.channels_last)


def test_dense_strides():
    assert dense_strides((2, 3, 4, 5), False) == (60, 20, 5, 1)
    assert dense_strides((2, 3, 4, 5), True) == (60, 1, 15, 3)
    assert dense_strides((2, 3, 4, 5, 6), True) == torch.empty(
        2, 3, 4, 5, 6, memory_format=torch.channels_last_3d).stride()


def test_problem():
    problem = describe((5, 4, 7, 9), (252, 63, 9, 1), (4, 3, 3, 5), (45, 15, 5, 1), True, "f16", PLAIN)
    assert problem.text == "c4 o6 k3x5 s2x3 p1x0 op0x1 d1x2 g2 bias f16"
    assert problem.full_text == "n5 c4 o6 k3x5 s2x3 p1x0 op0x1 d1x2 g2 bias f16 in7x9"
    assert not problem.copy_input and not problem.copy_weight and not problem.channels_last
    layer = _core.Layer(problem.text, 5, [7, 9])
    assert problem.out_shape == (5, 6, *layer.output_size([7, 9]))


@pytest.mark.parametrize("change", [
    dict(x=(5, 3, 7, 9)), dict(x=(7, 9)), dict(x=(1, 5, 4, 7, 9)), dict(w=(4, 3, 3)), dict(x=(5, 4, 0, 9)),
    dict(arguments=PLAIN._replace(stride=(2,))), dict(arguments=PLAIN._replace(dilation=(1, 1, 1))),
    dict(arguments=PLAIN._replace(padding=())), dict(arguments=PLAIN._replace(output_padding=(0,))),
    dict(arguments=PLAIN._replace(groups=0)), dict(arguments=PLAIN._replace(padding=(50, 0)))])
def test_what_does_not_fit_is_left_to_pytorch(change):
    x, w = change.get("x", (5, 4, 7, 9)), change.get("w", (4, 3, 3, 5))
    strides = [tuple(torch.empty(s).stride()) for s in (x, w)]
    assert describe(x, strides[0], w, strides[1], False, "f32", change.get("arguments", PLAIN)) is None


def test_axes():
    assert axes(2, 3) == (2, 2, 2) and axes([1, 2], 2) == (1, 2) and axes((3,), 2) == (3, 3)
    assert axes("ab", 2) is None and axes([1, 2, 3], 2) is None and axes(1.5, 2) is None and axes(None, 2) is None
    assert axes(True, 2) is None and axes((1, True), 2) is None and axes(range(1, 3), 2) is None and axes((), 1) is None


def test_planned_sizes():
    assert planned_sizes(3, (1000, 17), 0) == (3, (1000, 17))
    batch, sizes = planned_sizes(3, (1000, 17), EXACT_SIZES)
    assert batch == 3 and sizes == (1024, 20)
    assert len({planned_sizes(1, (n,), EXACT_SIZES) for n in range(1, 4097)}) < 50
    assert all(planned_sizes(1, (n,), EXACT_SIZES)[1][0] >= n for n in range(1, 5000))


def test_epilogue_words():
    epilogue = make_epilogue("leaky_relu", 0.2, 0.5, True, True, (None, 6))
    assert epilogue.words == "scale0.5 affine residual leaky0.2 clamp-inf:6.0"
    layer = _core.Layer("c4 o4 k3 f32 " + epilogue.words)
    assert str(layer).endswith("scale0.5 affine residual leaky0.2 clamp-inf:6")
    for value in (1e-7, 1e20, 0.1, 3.0, -2.5):
        assert _core.Layer(f"c4 o4 k3 f32 {Epilogue(scale=value).words}")


@pytest.mark.parametrize("arguments, message", [
    (("elu", 0.01, None, False, False, None), "activation is 'elu'"),
    ((None, 0.01, float("nan"), False, False, None), "scale is nan"),
    (("leaky_relu", float("inf"), None, False, False, None), "negative_slope is inf"),
    ((None, 0.01, None, False, False, (2, 1)), "clamp is")])
def test_epilogue_errors(arguments, message):
    with pytest.raises(ValueError, match=message):
        make_epilogue(*arguments)


def test_library_errors_have_their_types():
    with pytest.raises(_core.LayerError, match=r"stride\[1\] is 0"):
        _core.Layer("c4 o4 k3x3 s1x0 f32")
    assert issubclass(_core.LayerError, _core.Error) and issubclass(_core.Error, RuntimeError)

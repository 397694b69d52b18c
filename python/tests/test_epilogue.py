"""The functional form with an epilogue: one kernel without gradients, PyTorch's operations with them."""
import pytest
import torch
import torch.nn.functional as F

from compare import TOLERANCE, launches, rel_l2
from convt_jit.functional import conv_transpose1d, conv_transpose2d, conv_transpose3d

ACTIVATIONS = {"relu": F.relu, "gelu": F.gelu, "tanh": torch.tanh, "sigmoid": torch.sigmoid, "silu": F.silu,
               "hardswish": F.hardswish, "leaky_relu": lambda v: F.leaky_relu(v, 0.2), None: lambda v: v}


def tensors(device, dtype=torch.float32):
    made = dict(x=(2, 4, 4, 5), w=(4, 6, 3, 3), b=(6,), scale=(6,), shift=(6,), residual=(2, 6, 9, 11))
    made = {name: torch.randn(shape, device=device) for name, shape in made.items()}
    for name in ("x", "w", "b", "residual"):
        made[name] = made[name].to(dtype)
    return made


def exact(t, activation, scale=0.5, affine=True, residual=True, clamp=(-1, 1)):
    d = {name: tensor.detach().cpu().double() for name, tensor in t.items()}
    v = F.conv_transpose2d(d["x"], d["w"], d["b"], 2)
    v = v * scale if scale is not None else v
    v = v * d["scale"].reshape(-1, 1, 1) + d["shift"].reshape(-1, 1, 1) if affine else v
    v = v + d["residual"] if residual else v
    v = ACTIVATIONS[activation](v)
    return v.clamp(*clamp) if clamp is not None else v


def call(t, activation, **changes):
    arguments = dict(activation=activation, negative_slope=0.2, scale=0.5, channel_scale=t["scale"],
                     channel_shift=t["shift"], residual=t["residual"], clamp=(-1, 1))
    return conv_transpose2d(t["x"], t["w"], t["b"], 2, **{**arguments, **changes})


@pytest.mark.parametrize("activation", ACTIVATIONS)
def test_all_of_it(activation, device):
    t = tensors(device)
    with torch.no_grad(), launches() as count:
        y = call(t, activation)
    assert count[0] == 1
    assert rel_l2(y, exact(t, activation)) < 2e-6


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_short_types(dtype, device):
    t = tensors(device, dtype)
    with torch.no_grad():
        y = call(t, "silu")
    assert y.dtype == dtype and rel_l2(y, exact(t, "silu")) < TOLERANCE[dtype]


@pytest.mark.parametrize("changes, wanted", [
    (dict(scale=None), dict(scale=None)), (dict(residual=None), dict(residual=False)),
    (dict(channel_scale=None, channel_shift=None), dict(affine=False)),
    (dict(clamp=(0, None)), dict(clamp=(0, float("inf"))))])
def test_parts_of_it(changes, wanted, device):
    t = tensors(device)
    with torch.no_grad(), launches() as count:
        y = call(t, "relu", **changes)
    assert count[0] == 1 and rel_l2(y, exact(t, "relu", **wanted)) < 2e-6


def test_with_gradients(device):
    t = tensors(device)
    leaves = [tensor.requires_grad_() for tensor in t.values()]
    with launches() as count:
        y = call(t, "gelu", clamp=None)
    assert count[0] == 1
    y.square().sum().backward()
    got = [leaf.grad.clone() for leaf in leaves]
    doubles = {name: tensor.detach().cpu().double().requires_grad_() for name, tensor in t.items()}
    v = F.conv_transpose2d(doubles["x"], doubles["w"], doubles["b"], 2) * 0.5
    v = v * doubles["scale"].reshape(-1, 1, 1) + doubles["shift"].reshape(-1, 1, 1) + doubles["residual"]
    F.gelu(v).square().sum().backward()
    for a, b in zip(got, doubles.values()):
        assert rel_l2(a, b.grad) < 1e-5


def test_channels_last_residual_in_either_order(device):
    t = tensors(device)
    last = torch.channels_last
    for x_last in (False, True):
        for r_last in (False, True):
            u = dict(t)
            u["x"] = t["x"].contiguous(memory_format=last) if x_last else t["x"]
            u["residual"] = t["residual"].contiguous(memory_format=last) if r_last else t["residual"]
            with torch.no_grad():
                assert rel_l2(call(u, "relu"), exact(t, "relu")) < 2e-6


def test_residual_that_broadcasts(device):
    t = tensors(device)
    t["residual"] = t["residual"][:1, :, :1, :1]
    with torch.no_grad():
        assert rel_l2(call(t, "relu"), exact(t, "relu")) < 2e-6


def test_other_ranks(device):
    for rank, function in ((1, conv_transpose1d), (3, conv_transpose3d)):
        x, w = torch.randn(1, 2, *(3, 4, 5)[:rank], device=device), torch.randn(2, 3, *(3,) * rank, device=device)
        with torch.no_grad(), launches() as count:
            y = function(x, w, stride=2, activation="tanh")
            z = function(x[0], w, stride=2, activation="tanh")
        want = getattr(F, f"conv_transpose{rank}d")(x.cpu().double(), w.cpu().double(), stride=2).tanh()
        assert count[0] == 2 and rel_l2(y, want) < 2e-6 and rel_l2(z, want[0]) < 2e-6


def test_cpu_and_f64():
    t = {name: tensor.double() for name, tensor in tensors("cpu").items()}
    assert rel_l2(call(t, "hardswish"), exact(t, "hardswish")) < 1e-14


def test_errors(device):
    t = tensors(device)
    with pytest.raises(ValueError, match="channel_scale has 5 elements"):
        call(t, None, channel_scale=t["scale"][:5])
    with pytest.raises(ValueError, match="activation is 'elu'"):
        call(t, "elu")
    with pytest.raises(RuntimeError):
        call(t, None, residual=t["residual"][:, :, :3])


def test_arguments_are_named(device):
    t = tensors(device)
    for changes, error, message in (
            (dict(clamp=5), ValueError, "clamp is 5; allowed: "), (dict(clamp=(1, 2, 3)), ValueError, "clamp is \\(1, 2"),
            (dict(clamp=("a", None)), ValueError, "clamp is 'a'"), (dict(scale="2"), ValueError, "scale is '2'; allowed"),
            (dict(scale=10**400), ValueError, "scale is 1000"), (dict(scale=[1]), ValueError, "scale is \\[1\\]"),
            (dict(activation="leaky_relu", negative_slope=None), ValueError, "negative_slope is None"),
            (dict(residual=1.0), TypeError, "residual is 1.0; allowed: a tensor"),
            (dict(channel_scale=[1.0] * 6), TypeError, "channel_scale is \\[1.0"),
            (dict(channel_shift=t["shift"] * 1j), ValueError, "channel_shift is complex64; allowed: real")):
        with pytest.raises(error, match=message):
            call(t, **{"activation": "relu", **changes})


def test_tensors_that_a_kernel_cannot_read(device):
    """Neg bits and sparse tensors are PyTorch's to read; what is on another device is an error, as with PyTorch."""
    t = tensors(device)
    conj = torch.randn(6, dtype=torch.complex64, device=device).conj().imag
    for name in ("scale", "shift", "residual", "b"):
        u = {**t, name: torch._neg_view(t[name])}
        with torch.no_grad():
            assert rel_l2(call(u, "relu"), exact(u, "relu")) < 2e-6, name
    u = {**t, "scale": conj, "shift": torch.nn.Parameter(t["shift"].double())}
    with torch.no_grad():
        assert rel_l2(call(u, "relu"), exact(u, "relu")) < 2e-6
        y = call({**t, "residual": t["residual"].to_sparse()}, "relu")
    assert rel_l2(y, exact(t, "relu")) < 2e-6
    for elsewhere in ["meta"] + ["cpu"] * (device != "cpu"):
        for name in ("scale", "shift", "residual"):
            with torch.no_grad(), launches() as count:
                try:
                    y = call({**t, name: t[name].to(elsewhere)}, "relu")
                except RuntimeError:
                    continue
            assert y.device.type == "meta" and count[0] == 1, name  # an older PyTorch mixes meta and CPU

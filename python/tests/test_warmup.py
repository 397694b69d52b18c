"""Kernels of a model compiled ahead, from shapes alone."""
import collections
import copy
import pathlib
import sys

import pytest
import torch
from torch import nn

import convt_jit
from convt_jit import _core, library
from convt_jit.warmup import layers_of

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "examples"))
from networks import UNet, networks  # noqa: E402

library.engine()
NVRTC, WHY = _core.nvrtc_version()
compiles = pytest.mark.skipif(not NVRTC, reason=WHY)


def texts(model, x, **named):
    return [p.full_text for _, p in layers_of(model, x, **named)]


def test_shapes_are_seen_without_computing():
    model = UNet(width=32).to("meta")
    assert texts(model, torch.empty(4096, 3, 512, 512, device="meta"), tf32=True) == [
        f"n4096 c{c} o{c // 2} k2x2 s2x2 bias tf32 in{s}x{s}" for c, s in ((512, 32), (256, 64), (128, 128), (64, 256))]


@pytest.mark.parametrize("index", range(3))
def test_a_model_is_left_as_it_was(index):
    _, model, shape = networks(small=True)[index]
    before = copy.deepcopy(model.state_dict())
    found = texts(model, torch.randn(1, *shape), tf32=False)
    assert len(found) == len(set(found)) >= 4
    for name, tensor in model.state_dict().items():
        assert torch.equal(tensor, before[name]), name
    for module in model.modules():
        assert "forward" not in module.__dict__


def test_same_as_what_calls_ask_for():
    """The layers that a run prepares are those that the recording names, folded or not."""
    for fold in (False, True):
        _, model, shape = networks(small=True)[0]
        model = convt_jit.replace(model.eval(), fold=fold)
        x = torch.randn(2, *shape)
        with convt_jit.backend("sim"), torch.no_grad():
            model(x)
        asked = {call.problem.full_text for module in model.modules() if hasattr(module, "_convt_kernels")
                 for call in module._convt_kernels.calls.values()}
        found = set(texts(model, x))
        assert asked <= found and (fold or asked == found)


def test_dtypes_and_output_sizes():
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.up = nn.ConvTranspose1d(2, 2, 3, 2)

        def forward(self, x, size, half=None):
            return self.up(self.up(x), output_size=[size])

    model = Net()
    assert texts(model, (torch.randn(1, 2, 5), 24), tf32=True) == [
        "n1 c2 o2 k3 s2 bias tf32 in5", "n1 c2 o2 k3 s2 op1 bias tf32 in11"]
    assert texts(model, dict(x=torch.randn(2, 5), size=24), dtype=torch.bfloat16) == [
        "n1 c2 o2 k3 s2 bias bf16 in5", "n1 c2 o2 k3 s2 op1 bias bf16 in11"]
    assert layers_of(model.double(), (torch.randn(1, 2, 5).double(), 24))[0][1] == "float64 is not supported"


def test_operations_that_meta_lacks_run_for_real():
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.norm, self.up = nn.BatchNorm1d(2), nn.ConvTranspose1d(2, 2, 3)

        def forward(self, x):
            x = self.norm(x)
            return self.up(x[:, :, : 3 + int(x.mean().item() > -100)])

    model = Net()
    before = copy.deepcopy(model.state_dict())
    assert texts(model, torch.randn(1, 2, 9), tf32=False) == ["n1 c2 o2 k3 bias f32 in4"]
    for name, tensor in model.state_dict().items():
        assert torch.equal(tensor, before[name]), name


def test_models_that_fail_say_why():
    with pytest.raises((RuntimeError, ValueError), match="."):
        layers_of(nn.Conv1d(2, 2, 3), torch.randn(7))
    assert layers_of(nn.ConvTranspose1d(2, 2, 3), torch.randn(1, 2, 0))[0][1] == "the arguments do not fit together"
    if not torch.cuda.is_available():
        with pytest.raises(ValueError, match="archs is not given"):
            convt_jit.warmup(nn.ConvTranspose1d(2, 2, 3), torch.randn(1, 2, 9))
    with pytest.raises(convt_jit.Error, match="sm_"):
        convt_jit.warmup(nn.ConvTranspose1d(2, 2, 3), torch.randn(1, 2, 9), ["gfx90a"])


def test_inputs_keep_their_types():
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.up = nn.ConvTranspose1d(2, 2, 3)

        def forward(self, pair, more):
            assert type(more) is list
            return self.up(pair.x + more[0])

    Pair = collections.namedtuple("Pair", "x y")
    x = torch.randn(1, 2, 9)
    assert texts(Net(), (Pair(x, 1), [x]), tf32=False) == ["n1 c2 o2 k3 bias f32 in9"]


@compiles
def test_compiles_for_absent_gpus(tmp_path, monkeypatch):
    monkeypatch.setattr(library, "_engine", _core.Engine(str(tmp_path)))
    model = nn.Sequential(nn.ConvTranspose2d(2, 3, 3, 2), nn.ReLU(), nn.ConvTranspose2d(3, 2, 3).double())
    model[2].float()
    first = convt_jit.warmup(model, torch.randn(1, 2, 4, 4), ["sm_80", "sm_90a"], tf32=False)
    assert len(first) == 4 and all(w.origin == "compiler" and w.plan and not w.why_not for w in first)
    monkeypatch.setattr(library, "_engine", _core.Engine(str(tmp_path)))
    again = convt_jit.warmup(model, torch.randn(1, 2, 4, 4), ["sm_80", "sm_90a"], tf32=False)
    assert [w.layer for w in again] == [w.layer for w in first] and all(w.origin == "disk" for w in again)


@compiles
@pytest.mark.parametrize("clamp", ["clamp0:inf", "clamp-inf:1"])
def test_a_clamp_without_a_bound_compiles(tmp_path, clamp):
    layer = _core.Layer(f"c4 o6 k3x3 s2 f32 relu {clamp}", 1, [4, 4])
    assert _core.Engine(str(tmp_path)).compile(layer, "sm_90a")[1] == "compiler"

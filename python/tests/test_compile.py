"""torch.compile, torch.export and the operator that they see."""
import pytest
import torch
from torch import nn

import convt_jit
from compare import assert_close, launches, rel_l2

pytestmark = pytest.mark.skipif(not hasattr(torch.library, "register_autograd"), reason="needs PyTorch 2.4")
OPCHECKS = ("test_schema", "test_autograd_registration", "test_faketensor", "test_aot_dispatch_dynamic")


@pytest.fixture(autouse=True)
def _fresh():
    torch._dynamo.reset()
    yield
    torch._dynamo.reset()


def samples(device):
    for rank in (1, 2, 3):
        x, w = torch.randn(2, 4, *(3, 4, 5)[:rank]), torch.randn(4, 3, *(3, 2, 4)[:rank])
        b = torch.randn(6)
        sizes = ([2] * rank, [1] * rank, [1] * rank, 2, [1] * rank)
        yield x.to(device), w.to(device), b.to(device), *sizes
        yield x[0].to(device), w.to(device), None, *sizes
    last = torch.randn(2, 4, 3, 5).contiguous(memory_format=torch.channels_last)
    yield last.to(device), torch.randn(4, 3, 3, 3, device=device), None, [1, 1], [0, 0], [0, 0], 1, [1, 1]


@pytest.mark.filterwarnings("ignore::convt_jit.FallbackWarning")
def test_opcheck(device):
    op = torch.ops.convt_jit.conv_transpose.default
    for sample in samples(device):
        torch.library.opcheck(op, sample, test_utils=OPCHECKS)
        torch.library.opcheck(op, [t.clone().requires_grad_() if isinstance(t, torch.Tensor) else t for t in sample],
                              test_utils=OPCHECKS)
        doubles = [t.double() if isinstance(t, torch.Tensor) else t for t in sample]
        torch.library.opcheck(op, doubles, test_utils=("test_schema", "test_faketensor"))


def test_opcheck_fused(device):
    op = torch.ops.convt_jit.conv_transpose_fused.default
    for sample in samples(device):
        if sample[0].dim() != sample[1].dim():
            continue
        channels = sample[1].shape[1] * sample[6]
        more = ("relu", 0.01, 0.5, -1.0, 1.0, torch.rand(channels, device=device), torch.rand(channels, device=device),
                None)
        torch.library.opcheck(op, (*sample, *more), test_utils=("test_schema", "test_faketensor"))


def test_fullgraph(device):
    model = convt_jit.replace(nn.Sequential(nn.ConvTranspose2d(4, 6, 4, 2, 1), nn.BatchNorm2d(6), nn.ReLU(),
                                            nn.ConvTranspose2d(6, 3, 3)), fold=True).to(device)
    x = torch.randn(2, 4, 5, 6, device=device)
    compiled = torch.compile(model, fullgraph=True, backend="aot_eager")
    for training in (True, False):
        model.train(training)
        with launches() as count:
            y = compiled(x)
        assert count[0] == 2
        with convt_jit.backend("off"):
            assert rel_l2(y, model(x)) < 1e-5
    model.zero_grad()
    compiled(x).square().sum().backward()
    got = [p.grad.clone() for p in model.parameters()]
    model.zero_grad()
    with convt_jit.backend("off"):
        model(x).square().sum().backward()
    for a, p in zip(got, model.parameters()):
        assert rel_l2(a, p.grad) < 1e-4


def test_dynamic_sizes(device):
    layer = convt_jit.nn.ConvTranspose1d(4, 4, 4, 2, 1).to(device)
    compiled = torch.compile(layer, fullgraph=True, dynamic=True, backend="aot_eager")
    with torch.no_grad():
        for n in (5, 8, 13):
            x = torch.randn(2, 4, n, device=device)
            assert_close(compiled(x), layer(x).double(), torch.float32)


def test_functional_with_epilogue(device):
    x, w = torch.randn(1, 4, 3, 3, device=device), torch.randn(4, 4, 3, 3, device=device)
    run = lambda x, w: convt_jit.functional.conv_transpose2d(x, w, stride=2, activation="gelu", scale=2.0)  # noqa: E731
    compiled = torch.compile(run, fullgraph=True, backend="aot_eager")
    with torch.no_grad(), launches() as count:
        assert_close(compiled(x, w), run(x, w).double(), torch.float32)
    assert count[0] == 2
    w.requires_grad_()
    assert_close(compiled(x, w), run(x, w).double(), torch.float32)


def test_cpu_and_f64_are_pytorchs():
    layer = convt_jit.nn.ConvTranspose2d(4, 4, 3)
    for dtype in (torch.float32, torch.float64):
        layer.to(dtype)
        x = torch.randn(1, 4, 3, 3, dtype=dtype)
        compiled = torch.compile(layer, fullgraph=True, backend="aot_eager")
        with launches() as count:
            assert torch.allclose(compiled(x), layer(x))
        assert count[0] == 0


def test_export(device):
    layer = convt_jit.nn.ConvTranspose2d(4, 4, 3, 2).to(device)
    x = torch.randn(1, 4, 3, 3, device=device)
    program = torch.export.export(layer, (x,))
    assert "convt_jit.conv_transpose" in str(program.graph)
    with torch.no_grad():
        assert_close(program.module()(x), layer(x).double(), torch.float32)


def test_modes_see_pytorchs_call():
    from torch.utils.flop_counter import FlopCounterMode

    layer = convt_jit.nn.ConvTranspose2d(4, 4, 3)
    x = torch.randn(1, 4, 3, 3)
    with convt_jit.backend("sim"), FlopCounterMode(display=False) as counter:
        layer(x)
    assert counter.get_total_flops() == 2 * 9 * 4 * 4 * 9


def test_a_residual_that_broadcasts_is_pytorchs(device):
    x, w = torch.randn(1, 4, 3, 3, device=device), torch.randn(4, 4, 3, 3, device=device)
    residual = torch.randn(1, 4, 1, 1, device=device)
    run = lambda x, w, r: convt_jit.functional.conv_transpose2d(x, w, residual=r)  # noqa: E731
    compiled = torch.compile(run, fullgraph=True, backend="aot_eager")
    want = torch.nn.functional.conv_transpose2d(x, w) + residual
    with torch.no_grad():
        assert_close(compiled(x, w, residual), want.double(), torch.float32)


def test_attributes_of_one_element(device):
    layer = convt_jit.nn.ConvTranspose2d(4, 3, 3, stride=(2,)).to(device)
    x = torch.randn(1, 4, 3, 3, device=device)
    compiled = torch.compile(layer, fullgraph=True, backend="aot_eager")
    with torch.no_grad(), launches() as count:
        assert_close(compiled(x), layer(x).double(), torch.float32)
    assert count[0] == 2

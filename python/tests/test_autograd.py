"""Gradients are PyTorch's: of input, weight and bias, twice, through kernels and through the fallback."""
import pytest
import torch

import convt_jit
from compare import assert_close, launches, rel_l2


@pytest.mark.parametrize("rank", [1, 2, 3])
def test_gradients(rank, device):
    ours = getattr(convt_jit.nn, f"ConvTranspose{rank}d")(4, 6, 3, 2, 1, 1, 2).to(device)
    theirs = getattr(torch.nn, f"ConvTranspose{rank}d")(4, 6, 3, 2, 1, 1, 2).to(device)
    theirs.load_state_dict(ours.state_dict())
    for unbatched in (False, True):
        x = torch.randn(2, 4, *(3, 4, 5)[:rank], device=device)
        x = x[0] if unbatched else x
        inputs = [x.clone().requires_grad_() for _ in range(2)]
        ours.zero_grad(), theirs.zero_grad()
        with launches() as count:
            outputs = [m(i) for m, i in zip((ours, theirs), inputs)]
        assert count[0] == 1
        g = torch.randn_like(outputs[0])
        for y in outputs:
            y.backward(g)
        assert rel_l2(inputs[0].grad, inputs[1].grad) < 1e-5
        assert rel_l2(ours.weight.grad, theirs.weight.grad) < 1e-5
        assert rel_l2(ours.bias.grad, theirs.bias.grad) < 1e-5


def test_double_backward(device):
    x = torch.randn(1, 3, 4, 4, device=device)
    w = torch.randn(3, 2, 3, 3, device=device)
    results = []
    for function in (convt_jit.functional.conv_transpose2d, torch.nn.functional.conv_transpose2d):
        xi, wi = x.clone().requires_grad_(), w.clone().requires_grad_()
        y = function(xi, wi, None, 2, 1).tanh().sum()
        gx, gw = torch.autograd.grad(y, (xi, wi), create_graph=True)
        (gx.square().sum() + gw.square().sum()).backward()
        results.append((xi.grad, wi.grad))
    for a, b in zip(*results):
        assert rel_l2(a, b) < 1e-5


@pytest.mark.parametrize("frozen", ["weight", "input", "all but the bias"])
def test_some_gradients(frozen, device):
    ours = convt_jit.nn.ConvTranspose2d(2, 3, 3, 2).to(device)
    x = torch.randn(1, 2, 3, 3, device=device, requires_grad=frozen == "weight")
    ours.weight.requires_grad_(frozen == "input")
    y = ours(x)
    y.sum().backward()
    assert (x.grad is not None) == (frozen == "weight")
    assert (ours.weight.grad is not None) == (frozen == "input")
    assert torch.allclose(ours.bias.grad.cpu(), torch.full((3,), float(y[0, 0].numel())))


def test_gradcheck_through_the_fallback():
    x = torch.randn(1, 4, 3, 3, dtype=torch.float64, requires_grad=True)
    m = convt_jit.nn.ConvTranspose2d(4, 4, 3, 2, 1, 1, groups=2).double()
    run = lambda x, w, b: convt_jit.functional.conv_transpose2d(x, w, b, 2, 1, 1, 2)  # noqa: E731
    assert torch.autograd.gradcheck(run, (x, m.weight, m.bias))
    assert torch.autograd.gradgradcheck(run, (x, m.weight, m.bias))


def test_gradcheck_of_our_backward():
    """The gradient that belongs to kernels, in f64 on PyTorch's own convolutions."""
    from convt_jit.autograd import ConvTranspose
    from convt_jit.fallback import torch_conv_transpose
    from convt_jit.problem import Arguments

    class Call:
        def run(self, input, weight, bias, weights, constant):
            return torch_conv_transpose(input, weight, bias, arguments)

    arguments = Arguments(2, (2, 1), (1, 0), (1, 0), 2, (1, 2))
    x = torch.randn(2, 4, 3, 3, dtype=torch.float64, requires_grad=True)
    w = torch.randn(4, 2, 3, 2, dtype=torch.float64, requires_grad=True)
    b = torch.randn(4, dtype=torch.float64, requires_grad=True)
    run = lambda *t: ConvTranspose.apply(*t, Call(), arguments)  # noqa: E731
    assert torch.autograd.gradcheck(run, (x, w, b))
    assert torch.autograd.gradgradcheck(run, (x, w, b))
    frozen = lambda x, w: ConvTranspose.apply(x, w, b.detach(), Call(), arguments)  # noqa: E731
    assert torch.autograd.gradcheck(frozen, (x, w))


def test_saved_tensors_that_change_are_noticed(device):
    ours = convt_jit.nn.ConvTranspose2d(2, 3, 3, 2).to(device)
    y = ours(torch.randn(1, 2, 3, 3, device=device, requires_grad=True))
    with torch.no_grad():
        ours.weight.mul_(2)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        y.sum().backward()


def test_training(device):
    """A few steps of an optimiser leave the same weights."""
    ours = convt_jit.nn.ConvTranspose1d(3, 3, 4, 2, 1).to(device)
    theirs = torch.nn.ConvTranspose1d(3, 3, 4, 2, 1).to(device)
    theirs.load_state_dict(ours.state_dict())
    x = torch.randn(2, 3, 7, device=device)
    for module in (ours, theirs):
        optimizer = torch.optim.SGD(module.parameters(), 0.1)
        for _ in range(4):
            optimizer.zero_grad()
            module(x).square().mean().backward()
            optimizer.step()
    assert_close(ours.weight, theirs.weight.double(), torch.float32)


@pytest.mark.skipif(not hasattr(torch, "func"), reason="needs PyTorch 2.0")
def test_function_transforms_are_pytorchs(device):
    ours = convt_jit.nn.ConvTranspose2d(2, 3, 3, 2).to(device)
    x = torch.randn(4, 1, 2, 3, 3, device=device)
    with torch.no_grad():
        mapped = torch.func.vmap(ours)(x)
        assert_close(mapped, torch.stack([ours(xi) for xi in x]).double(), torch.float32)
    grad = torch.func.grad(lambda x: ours(x).square().sum())(x[0])
    assert grad.shape == x[0].shape
    value, tangent = torch.func.jvp(ours, (x[0],), (x[0],))
    assert_close(tangent, (value - ours.bias.reshape(1, -1, 1, 1)).double(), torch.float32)


@pytest.mark.filterwarnings("ignore")
def test_functorchs_transforms_are_pytorchs(device):
    functorch = pytest.importorskip("functorch")
    x, w = torch.randn(3, 2, 4, 4, 5, device=device), torch.randn(4, 3, 3, 3, device=device)
    ours, theirs = convt_jit.functional.conv_transpose2d, torch.nn.functional.conv_transpose2d
    got, want = (functorch.vmap(lambda q: f(q, w))(x) for f in (ours, theirs))
    assert_close(got, want.double(), torch.float32)
    layer = convt_jit.nn.ConvTranspose2d(4, 3, 3).to(device).requires_grad_(False)
    assert_close(functorch.vmap(layer)(x), torch.stack([layer(q) for q in x]).double(), torch.float32)
    got, want = (functorch.grad(lambda q: f(q, w).square().sum())(x[0]) for f in (ours, theirs))
    assert rel_l2(got, want) < 1e-5

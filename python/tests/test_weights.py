"""Weights that a kernel packs: kept as long as PyTorch knows that they are the same, never longer."""
import numpy
import pytest
import torch

import convt_jit
from compare import assert_close
from convt_jit.weights import Weights


@pytest.fixture
def module(device):
    """Its kernel packs weights (a family on tensor cores), or copies them (channels last), on every device."""
    module = convt_jit.nn.ConvTranspose2d(16, 16, 4, 2, 1).to(device, torch.float16).to(
        memory_format=torch.channels_last)
    x = torch.randn(1, 16, 5, 6, device=device, dtype=torch.float16)
    with torch.no_grad():
        module(x)
    call, = module._convt_kernels.calls.values()
    assert call._remembers
    return module, x


def exact(module, x):
    bias = None if module.bias is None else module.bias.detach().cpu().double()
    return torch.nn.functional.conv_transpose2d(x.detach().cpu().double(), module.weight.detach().cpu().double(), bias,
                                                module.stride, module.padding)


def changes(module):
    """What may happen to a weight between two calls, in ways that PyTorch counts."""
    w = module.weight
    with torch.no_grad():
        yield "in place", lambda: w.mul_(-1)
        yield "copied into", lambda: w.copy_(torch.randn_like(w))
        yield "a part of it", lambda: w[0].add_(1)
        yield "state dict", lambda: module.load_state_dict(
            {"weight": torch.randn_like(w), "bias": torch.randn_like(module.bias)})
        yield "another parameter", lambda: setattr(module, "weight", torch.nn.Parameter(torch.randn_like(w)))
        yield "a parameter after another at one address", lambda: reborn(module)
        yield "its data", lambda: setattr(module.weight, "data", torch.randn_like(w))
        yield "detached alias", lambda: module.weight.detach().mul_(2)
        yield "optimiser", lambda: step(module)


def reborn(module):
    for _ in range(3):
        shape = module.weight.shape
        module.weight = None
        fresh = torch.randn(shape).to(module.bias.device, module.bias.dtype)
        module.weight = torch.nn.Parameter(fresh)


def step(module):
    with torch.enable_grad():
        for parameter in module.parameters():
            parameter.grad = torch.ones_like(parameter)
        torch.optim.SGD(module.parameters(), 0.5).step()


@pytest.mark.parametrize("mode", ["inference_mode", "constant_weights"])
def test_changes_are_seen(module, mode):
    module, x = module
    module.constant_weights = mode == "constant_weights"
    context = torch.inference_mode if mode == "inference_mode" else torch.no_grad
    for name, change in changes(module):
        change()
        for _ in range(2):
            with context():
                y = module(x)
            assert_close(y, exact(module, x)), name


def test_data_in_place_is_seen_without_inference_mode(module):
    """PyTorch does not count changes through .data: nothing is kept in no_grad and in training."""
    module, x = module
    for grad in (torch.no_grad, torch.enable_grad):
        with grad():
            module(x)
            module.weight.data.mul_(-2)
            assert_close(module(x), exact(module, x))


def test_numbers_never_repeat():
    weights, w = Weights(), torch.randn(3)
    make = lambda w: None  # noqa: E731
    first = weights.see(w, None, make)[0]
    assert first > 0 and weights.see(w, None, make)[0] == first
    seen = {first}
    for change in (lambda: w.add_(1), lambda: w.set_(torch.randn(3)), lambda: w.resize_(50)):
        change()
        number = weights.see(w, None, make)[0]
        assert number not in seen
        seen.add(number)
    assert Weights().see(w, None, make)[0] not in seen
    with torch.inference_mode():
        assert weights.see(torch.randn(3), None, make)[0] == 0


def test_another_tensor_at_the_same_address():
    """As a parameter that was freed and made anew: same address, same count of changes, other numbers."""
    weights, memory = Weights(), numpy.zeros(3, numpy.float32)
    first = torch.from_numpy(memory)
    number = weights.see(first, None, torch.clone)[0]
    memory[:] = 1
    second = torch.from_numpy(memory)
    assert first.data_ptr() == second.data_ptr() and first._version == second._version
    other, made = weights.see(second, None, torch.clone)
    assert other != number and made.sum() == 3


def test_what_was_made_is_kept():
    weights, w, made = Weights(), torch.randn(3), []

    def make(w):
        made.append(w.clone())
        return made[-1]

    assert weights.see(w, 0, make)[1] is weights.see(w, 0, make)[1]
    weights.see(w, 1, make)  # another stream
    w.add_(1)
    assert weights.see(w, 1, make)[1] is made[-1] and len(made) == 3


def test_parametrized_weights(device):
    """weight_norm computes another weight for each call, in both of PyTorch's ways."""
    x = torch.randn(1, 4, 5, 5, device=device)
    norms = [torch.nn.utils.weight_norm]
    if hasattr(torch.nn.utils.parametrizations, "weight_norm"):
        norms.append(torch.nn.utils.parametrizations.weight_norm)
    for norm in norms:
        model = norm(convt_jit.nn.ConvTranspose2d(4, 4, 3).to(device))
        swapped = convt_jit.replace(norm(torch.nn.ConvTranspose2d(4, 4, 3).to(device)))
        for module in (model, swapped):
            with torch.inference_mode():
                module(x)
            with torch.no_grad():
                for parameter in module.parameters():
                    parameter.mul_(2)
            with torch.inference_mode():
                assert_close(module(x), exact(module, x))

"""replace, restore, folding, report and prepare on whole models."""
import copy
import json
import math
import sys
import pathlib

import pytest
import torch
from torch import nn

import convt_jit
from compare import assert_close, launches, rel_l2
from convt_jit.folding import FoldedSequential

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "examples"))
from networks import networks  # noqa: E402


class Shared(nn.Module):
    """One module at two places, one parameter in two modules, and a list that PyTorch does not know of."""

    def __init__(self):
        super().__init__()
        self.a = nn.ConvTranspose2d(4, 4, 3)
        self.again = self.a
        self.b = nn.ConvTranspose2d(4, 4, 3)
        self.b.weight = self.a.weight
        self.hidden = [self.a]

    def forward(self, x):
        return self.b(self.hidden[0](self.again(x)))


class Own(nn.ConvTranspose2d):
    def forward(self, x):
        return super().forward(x) + 1


def normalised(model):
    """Batch normalisations with something to do."""
    for module in model.modules():
        if isinstance(module, nn.modules.batchnorm._BatchNorm):
            with torch.no_grad():
                module.running_mean.normal_()
                module.running_var.uniform_(0.5, 2)
                module.weight.uniform_(0.5, 2)
                module.bias.normal_()
    return model


def exact(model, x):
    with convt_jit.backend("off"), torch.no_grad():
        return copy.deepcopy(model).double().cpu()(x.cpu().double())


@pytest.mark.parametrize("index", range(3), ids=["dcgan", "hifigan", "unet"])
def test_networks(index, device):
    name, model, shape = networks(small=True)[index]
    model = normalised(model).to(device).eval()
    x = torch.randn(2, *shape, device=device)
    want = exact(model, x)
    state = copy.deepcopy(model.state_dict())
    for fold in (False, True):
        ours = convt_jit.replace(copy.deepcopy(model), fold=fold)
        assert list(ours.state_dict()) == list(state)
        ours.load_state_dict(state)
        with torch.no_grad(), launches() as count:
            y = ours(x)
        assert count[0] == sum(isinstance(m, nn.modules.conv._ConvTransposeNd) for m in model.modules())
        assert rel_l2(y, want) < 1e-5
    restored = convt_jit.restore(ours)
    assert [type(m) for m in restored.modules()] == [type(m) for m in model.modules()]
    with launches() as count, torch.no_grad():
        restored(x)
    assert count[0] == 0


def test_what_is_shared_stays_shared(device):
    model = Shared().to(device)
    x = torch.randn(1, 4, 3, 3, device=device)
    want = exact(model, x)
    objects = [id(m) for m in model.modules()]
    assert convt_jit.replace(model) is model
    assert objects == [id(m) for m in model.modules()]
    assert model.a is model.again is model.hidden[0] and model.b.weight is model.a.weight
    with torch.no_grad(), launches() as count:
        y = model(x)
    assert count[0] == 3
    assert_close(y, want, torch.float32)


def test_classes_of_their_own_are_left(device):
    model = nn.Sequential(Own(2, 2, 3), nn.ConvTranspose2d(2, 2, 3)).to(device)
    convt_jit.replace(model)
    assert type(model[0]) is Own and type(model[1]) is convt_jit.nn.ConvTranspose2d
    found = convt_jit.report(model, torch.randn(1, 2, 3, 3, device=device))
    assert "a class of its own" in found[0].remark and not found[0].replaced and found[1].replaced


def test_hooks_and_mode_stay(device):
    model = nn.Sequential(nn.ConvTranspose2d(2, 2, 3), nn.ReLU()).to(device).eval()
    seen = []
    model[0].register_forward_hook(lambda module, args, y: seen.append(type(module)))
    convt_jit.replace(model, fold=True)
    with torch.no_grad():
        model(torch.randn(1, 2, 3, 3, device=device))
    assert seen == [convt_jit.nn.ConvTranspose2d] and not model[0].training


def test_one_layer_and_parametrizations(device):
    layer = convt_jit.replace(nn.ConvTranspose3d(2, 2, 3).to(device), constant_weights=True)
    assert type(layer) is convt_jit.nn.ConvTranspose3d and layer.constant_weights
    assert type(convt_jit.restore(layer)) is nn.ConvTranspose3d and not hasattr(layer, "constant_weights")
    normed = nn.utils.parametrizations.spectral_norm(nn.ConvTranspose1d(2, 2, 3)).to(device).eval()
    convt_jit.replace(normed)
    x = torch.randn(1, 2, 4, device=device)
    with torch.no_grad(), launches() as count:
        y = normed(x)
    assert count[0] == 1
    assert_close(y, nn.functional.conv_transpose1d(x.cpu().double(), normed.weight.detach().cpu().double(),
                                                   normed.bias.detach().cpu().double()))
    nn.utils.parametrize.remove_parametrizations(normed, "weight")
    assert type(normed) is convt_jit.nn.ConvTranspose1d
    convt_jit.restore(normed)
    assert type(normed) is nn.ConvTranspose1d


def folded(device):
    model = normalised(nn.Sequential(nn.ConvTranspose2d(4, 6, 4, 2, 1), nn.BatchNorm2d(6), nn.LeakyReLU(0.3),
                                     nn.Dropout(0.5), nn.ConvTranspose2d(6, 3, 3), nn.GELU(),
                                     nn.ConvTranspose2d(3, 2, 2), nn.BatchNorm2d(2))).to(device)
    return convt_jit.replace(model, fold=True).eval(), torch.randn(2, 4, 5, 6, device=device)


def test_folding_is_one_kernel_each(device):
    model, x = folded(device)
    assert type(model) is FoldedSequential
    with torch.no_grad(), launches() as count:
        y = model(x)
    assert count[0] == 3
    assert rel_l2(y, exact(model, x)) < 1e-5
    short = copy.deepcopy(model).to(torch.bfloat16)
    with torch.no_grad():
        assert rel_l2(short(x.to(torch.bfloat16)), exact(short, x.to(torch.bfloat16))) < 3e-2


def test_folding_follows_changes(device):
    model, x = folded(device)
    with torch.no_grad():
        model(x)
        for tensor in (model[1].running_mean, model[1].running_var, model[1].weight, model[7].bias, model[0].weight):
            tensor.mul_(1.5)
            assert rel_l2(model(x), exact(model, x)) < 1e-5
        model[1].eps = 0.5
        assert rel_l2(model(x), exact(model, x)) < 1e-5
        model[2].negative_slope = -0.5
        assert rel_l2(model(x), exact(model, x)) < 1e-5


def test_folding_steps_back(device):
    """In training, with gradients and with hooks modules run one by one."""
    model, x = folded(device)
    model.train()
    reference = copy.deepcopy(model)
    model(x).sum().backward()
    assert not torch.equal(model[1].running_mean, reference[1].running_mean * 0)
    assert model[0].weight.grad is not None and model[1].weight.grad is not None
    model.eval()
    before = model[1].num_batches_tracked.clone()
    y = model(x)
    assert y.requires_grad and torch.equal(model[1].num_batches_tracked, before)
    assert rel_l2(y, exact(model, x)) < 1e-5
    seen = []
    handle = model[1].register_forward_hook(lambda *args: seen.append(1))
    with torch.no_grad():
        model(x)
        assert seen
        handle.remove()
        model(x)
    assert len(seen) == 1


def test_report(device):
    model, x = folded(device)
    found = convt_jit.report(model, x, budget_ms=5)
    assert [row.name for row in found] == ["0", "4", "6"]
    for row in found:
        assert row.before_ms > 0 and row.after_ms > 0 and row.max_error < 1e-4 and row.replaced
        assert row.layer.startswith("n2 ") and math.isclose(row.speedup, row.before_ms / row.after_ms)
    table = str(found)
    assert "speedup" in table and len(table.splitlines()) == 5
    assert len(json.loads(json.dumps(found.to_dicts()))) == 3
    assert "forward" not in model[0].__dict__


def test_report_keeps_the_faster(device, monkeypatch):
    module = sys.modules["convt_jit.report"]
    model = convt_jit.replace(nn.Sequential(nn.ConvTranspose2d(2, 2, 3), nn.ConvTranspose2d(2, 2, 3))).to(device)
    times = iter([[1.0, 2.0], [2.0, 1.0]])
    monkeypatch.setattr(module, "measure", lambda *arguments: next(times))
    found = convt_jit.report(model, torch.randn(1, 2, 3, 3, device=device), only_if_faster=True)
    assert [row.replaced for row in found] == [False, True]
    assert [type(m) for m in model] == [nn.ConvTranspose2d, convt_jit.nn.ConvTranspose2d]
    assert "PyTorch's is faster" in str(found)


def test_report_without_kernels():
    found = convt_jit.report(convt_jit.replace(nn.ConvTranspose2d(2, 2, 3)), torch.randn(1, 2, 3, 3), budget_ms=1)
    assert math.isnan(found[0].after_ms) and "cpu tensors are PyTorch's" in found[0].remark
    assert json.dumps(found.to_dicts()).count("null") == 2 or found.to_dicts()[0]["after_ms"] is None
    assert str(found)


def test_prepare(device):
    layer = convt_jit.nn.ConvTranspose2d(4, 6, 3, 2).to(device)
    made, = convt_jit.prepare(layer, (2, 4, 5, 6))
    assert made.layer == "n2 c4 o6 k3x3 s2x2 bias f32 in5x6" and made.family and not made.why_not
    calls = dict(layer._convt_kernels.calls)
    with torch.no_grad():
        layer(torch.randn(2, 4, 5, 6, device=device))
    assert layer._convt_kernels.calls == calls
    model, x = folded(device)
    model.train()
    before = model[1].running_mean.clone()
    made = convt_jit.prepare(model, x.shape, constant_weights=True)
    assert [p.name for p in made] == ["0", "4", "6"] and all(p.family for p in made)
    assert model.training and model[3].training and torch.equal(before, model[1].running_mean)
    made, = convt_jit.prepare(convt_jit.nn.ConvTranspose2d(2, 2, 3).to(device).double(), (1, 2, 3, 3))
    assert "float64" in made.why_not


def test_prepare_without_kernels():
    made, = convt_jit.prepare(convt_jit.nn.ConvTranspose2d(2, 2, 3), (1, 2, 3, 3))
    assert made.why_not == "cpu tensors are PyTorch's" and not made.family


@pytest.mark.parametrize("constant", [False, True])
@pytest.mark.parametrize("context", [torch.no_grad, torch.inference_mode])
@pytest.mark.parametrize("counted", [True, False])
def test_folding_follows_training(counted, context, constant, device):
    """F.batch_norm changes running statistics without PyTorch's count of changes."""
    model, x = folded(device)
    model[0].constant_weights = model[6].constant_weights = constant
    for norm in (model[1], model[7]):
        norm.num_batches_tracked = norm.num_batches_tracked if counted else None
    for momentum in (0.1, 0.7, None) if counted else (0.1, 0.7):
        model[1].momentum = momentum
        with context():
            for _ in range(2):
                assert rel_l2(model(x), exact(model, x)) < 1e-5
        with torch.no_grad():
            model.train()(x * 3 + 1)
        model.eval()
        with context():
            assert rel_l2(model(x), exact(model, x)) < 1e-5
            model[1].running_var.data = torch.rand_like(model[1].running_var)
            assert rel_l2(model(x), exact(model, x)) < 1e-5


def test_classes_that_derive_from_ours_keep_their_forward(device):
    class Twice(convt_jit.nn.ConvTranspose2d):
        def forward(self, x, output_size=None):
            return super().forward(x, output_size) * 2

    for inner in (Twice(4, 3, 3), nn.Sequential(nn.ConvTranspose2d(4, 3, 3), nn.ReLU(), Twice(3, 3, 3))):
        model = nn.Sequential(*([inner] if type(inner) is Twice else inner), nn.ReLU()).to(device).eval()
        x = torch.randn(1, 4, 5, 5, device=device)
        want = exact(model, x)
        convt_jit.replace(model, fold=True)
        with torch.no_grad():
            assert_close(model(x), want)


@pytest.mark.parametrize("stateless", ["torch.nn.utils.stateless", "torch.func"])
def test_folding_and_functional_call(stateless, device):
    call = getattr(pytest.importorskip(stateless), "functional_call")
    model, x = folded(device)
    theirs = convt_jit.restore(copy.deepcopy(model))
    for context in (torch.no_grad, torch.inference_mode):
        for factor in (1, 2, 3):
            for names in (("0.weight",), ("1.running_mean",), ("1.running_var", "1.weight"), ("0.bias", "7.bias")):
                other = {name: theirs.state_dict()[name] * factor for name in names}
                with context():
                    assert rel_l2(call(model, other, (x,)), call(theirs, other, (x,))) < 1e-5


def both(layers, x):
    """What PyTorch and what a folded model do, as results or errors."""
    found = []
    for fold in (False, True):
        model = nn.Sequential(*copy.deepcopy(layers)).to(x.device).eval()
        try:
            with torch.no_grad():
                found.append((convt_jit.replace(model, fold=True) if fold else model)(x))
        except Exception as error:
            found.append((type(error), str(error)))
    return found


def test_folding_without_a_batch_axis(device):
    """(C, H, W) is no input of BatchNorm2d, and (C, L) is (N, C) to BatchNorm1d."""
    want, got = both([nn.ConvTranspose2d(4, 3, 3), nn.BatchNorm2d(3)], torch.randn(4, 5, 5, device=device))
    assert want == got and want[0] is ValueError
    norm = normalised(nn.Sequential(nn.BatchNorm1d(3)))[0]
    want, got = both([nn.ConvTranspose1d(4, 3, 2), norm], torch.randn(4, 2, device=device))
    assert_close(got, want.double(), torch.float32)
    want, got = both([nn.ConvTranspose1d(4, 3, 2), norm], torch.randn(4, 5, device=device))
    assert want == got and want[0] is RuntimeError


def changed(module, **attributes):
    for name, value in attributes.items():
        setattr(module, name, value)
    return module


@pytest.mark.parametrize("layer", [
    nn.BatchNorm2d(5), nn.BatchNorm2d(1), changed(nn.BatchNorm2d(3), running_var=None), nn.BatchNorm2d(3).double(),
    changed(nn.BatchNorm2d(3), running_mean=torch.zeros(3).double()), changed(nn.ReLU6(), max_val=0.5),
    changed(nn.LeakyReLU(), negative_slope="a"), changed(nn.LeakyReLU(), negative_slope=None)],
    ids=lambda layer: type(layer).__name__)
def test_what_pytorch_would_not_take_is_not_folded(layer, device):
    want, got = both([nn.ConvTranspose2d(4, 3, 3), layer], torch.randn(1, 4, 5, 5, device=device))
    if isinstance(want, torch.Tensor):
        assert isinstance(layer, nn.ReLU6) and got.max() <= 0.5
    else:
        assert got == want


def test_folded_models_can_be_scripted(device):
    model, x = folded(device)
    assert rel_l2(torch.jit.script(model)(x), exact(model, x)) < 1e-5


def test_prepare_names_what_it_takes():
    with pytest.raises(ValueError, match=r"module is ReLU\(\); allowed: "):
        convt_jit.prepare(nn.ReLU(), (1, 2, 3, 3))


class ParametrizedConvTranspose2d(nn.ConvTranspose2d):
    """Named as those that torch.nn.utils.parametrize makes."""

    def forward(self, x, output_size=None):
        return super().forward(x, output_size) + 1


def test_a_name_makes_no_parametrization(device):
    model = nn.Sequential(ParametrizedConvTranspose2d(2, 2, 3)).to(device)
    x = torch.randn(1, 2, 3, 3, device=device)
    want = exact(model, x)
    assert type(convt_jit.replace(model)[0]) is ParametrizedConvTranspose2d
    with torch.no_grad():
        assert_close(model(x), want, torch.float32)

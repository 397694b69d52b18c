"""The modules are PyTorch's in all but who computes: construction, state, errors, and the numbers."""
import copy
import io
import pickle

import pytest
import torch
from torch import fx, nn

import convt_jit
from compare import assert_close, launches

KINDS = [(getattr(convt_jit.nn, f"ConvTranspose{r}d"), getattr(nn, f"ConvTranspose{r}d"), r) for r in (1, 2, 3)]


def pair(rank=2, *args, device="cpu", dtype=torch.float32, **kwargs):
    ours_kind, theirs_kind, _ = KINDS[rank - 1]
    ours = ours_kind(*args, **kwargs).to(device, dtype)
    theirs = theirs_kind(*args, **kwargs).to(device, dtype)
    theirs.load_state_dict(ours.state_dict())
    return ours, theirs


def exact(theirs, x, *args):
    return copy.deepcopy(theirs).double().cpu()(x.detach().double().cpu(), *args)


@pytest.mark.parametrize("ours_kind, theirs_kind, rank", KINDS)
def test_construction(ours_kind, theirs_kind, rank):
    arguments = dict(kernel_size=3, stride=2, padding=1, output_padding=1, groups=2, bias=True, dilation=1)
    torch.manual_seed(1)
    ours = ours_kind(4, 6, **arguments)
    torch.manual_seed(1)
    theirs = theirs_kind(4, 6, **arguments)
    assert isinstance(ours, theirs_kind) and repr(ours) == repr(theirs)
    assert list(ours.state_dict()) == list(theirs.state_dict()) == ["weight", "bias"]
    for a, b in zip(ours.parameters(), theirs.parameters()):
        assert torch.equal(a, b)
    for name, value in vars(theirs).items():
        if not name.startswith("_"):
            assert getattr(ours, name) == value
    theirs.load_state_dict(ours.state_dict())
    ours.load_state_dict(theirs.state_dict())


@pytest.mark.parametrize("rank", [1, 2, 3])
@pytest.mark.parametrize("bias", [True, False])
def test_numbers(rank, bias, device):
    ours, theirs = pair(rank, 6, 4, 3, 2, 1, 1, 2, bias, device=device)
    x = torch.randn(2, 6, *(5, 4, 6)[:rank], device=device)
    with torch.no_grad(), launches() as count:
        batched, unbatched = ours(x), ours(x[0])
    assert count[0] == 2
    want = exact(theirs, x)
    assert_close(batched, want)
    assert_close(unbatched, want[0])


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_short_types(dtype, device):
    ours, theirs = pair(2, 8, 8, 4, 2, 1, device=device, dtype=dtype)
    x = torch.randn(1, 8, 5, 6, device=device, dtype=dtype)
    with torch.no_grad(), launches() as count:
        y = ours(x)
    assert count[0] == 1 and y.dtype == dtype
    assert_close(y, exact(theirs, x))


def test_inputs_that_lie_oddly(device):
    ours, theirs = pair(2, 4, 4, 3, 2, device=device)
    x = torch.randn(3, 4, 6, 8, device=device)
    odd = {
        "sliced": x[:, :, ::2, 1:],
        "expanded batch": x[:1].expand(3, -1, -1, -1),
        "expanded channels": x[:, :1].expand(-1, 4, -1, -1), "transposed": x.transpose(2, 3),
        "channels last": x.contiguous(memory_format=torch.channels_last),
        "offset": x.flatten()[5:5 + 96].view(1, 4, 4, 6),
        "channels last sliced": x.contiguous(memory_format=torch.channels_last)[:, :, 1:, ::2],
        "one row": x[:, :, :1], "negative": torch._neg_view(x),
    }
    for name, tensor in odd.items():
        with torch.no_grad():
            y = ours(tensor)
        assert_close(y, exact(theirs, tensor.contiguous()))
        assert tensor.is_contiguous() <= y.is_contiguous(), name


def test_channels_last_goes_through(device):
    for rank, last in ((2, torch.channels_last), (3, torch.channels_last_3d)):
        ours, theirs = pair(rank, 4, 4, 3, 2, device=device)
        x = torch.randn(2, 4, *(3, 4, 5)[:rank], device=device).contiguous(memory_format=last)
        with torch.no_grad(), launches() as count:
            y = ours(x)
            ours.to(memory_format=last)
            z = ours(x)
            plain = ours(x.contiguous())  # the weight suggests it
        assert count[0] == 3
        want = exact(theirs, x)
        for result in (y, z, plain):
            assert result.is_contiguous(memory_format=last)
            assert_close(result, want)


def test_output_size(device):
    ours, theirs = pair(2, 3, 4, 3, 2, 1, device=device)
    x = torch.randn(1, 3, 5, 7, device=device)
    with torch.no_grad(), launches() as count:
        for size in ([9, 13], [10, 14], (1, 4, 10, 13)):
            y = ours(x, size)
            assert_close(y, exact(theirs, x, size))
        assert torch.equal(ours(x, output_size=[10, 13]), y)
    assert count[0] == 4
    with pytest.raises(ValueError) as ours_error:
        ours(x, [11, 13])
    with pytest.raises(ValueError) as theirs_error:
        theirs(x, [11, 13])
    assert str(ours_error.value) == str(theirs_error.value)


def errors_of(run):
    try:
        run()
    except Exception as error:
        return type(error), str(error)
    return None


def test_errors_are_pytorchs(device):
    ours, theirs = pair(2, 4, 6, 3, 2, groups=2, device=device)
    x = torch.randn(1, 4, 5, 5, device=device)
    wrong = [x[:, :3], x[0, 0], x.unsqueeze(0), x.double(), x.half(), x.int(), torch.randn(4, device=device)]
    for tensor in wrong:
        a, b = errors_of(lambda: ours(tensor)), errors_of(lambda: theirs(tensor))
        assert a == b and a is not None, tensor.shape
    for name, value in (("stride", (0, 1)), ("padding", (-1, 0)), ("output_padding", (5, 0)), ("dilation", (0, 1)),
                        ("padding", (40, 40)), ("padding_mode", "circular"), ("groups", 3)):
        before = getattr(ours, name)
        setattr(ours, name, value)
        setattr(theirs, name, value)
        a, b = errors_of(lambda: ours(x)), errors_of(lambda: theirs(x))
        assert a == b and a is not None, name
        setattr(ours, name, before)
        setattr(theirs, name, before)


def test_functions_take_what_pytorchs_take(device):
    x, w = torch.randn(1, 4, 5, 5, device=device), torch.randn(4, 3, 3, 3, device=device)
    b = torch.randn(3, device=device)
    ours, theirs = convt_jit.functional.conv_transpose2d, nn.functional.conv_transpose2d
    for arguments, named in (((x, w), {}), ((x, w, b, 2), {}), ((x, w, None, [2, 1], (1,)), {}),
                             ((x, w), dict(bias=b, stride=(2, 2), output_padding=1, dilation=1)),
                             ((x, w, b, 1, 0, 0, 1, [2, 2]), {})):
        with torch.no_grad():
            assert_close(ours(*arguments, **named), theirs(*arguments, **named).double(), torch.float32)
    for arguments in ((x, w, b, 2.5), (x, w, b, (1, 2, 3)), (x, w, torch.randn(4, device=device)), (x, w[0]),
                      (x.double(), w), (x, w, b, 1, 0, 3), (None, w), (x, None), (x, w, b, "two")):
        a, b_ = errors_of(lambda: ours(*arguments)), errors_of(lambda: theirs(*arguments))
        assert a is not None and a[0] == b_[0], arguments[3:]


def test_empty_batch(device):
    ours, theirs = pair(2, 4, 6, 3, 2, device=device)
    assert ours(torch.randn(0, 4, 5, 5, device=device)).shape == theirs(torch.randn(0, 4, 5, 5, device=device)).shape


def test_attributes_may_change(device):
    ours, theirs = pair(2, 4, 4, 3, 2, device=device)
    x = torch.randn(1, 4, 5, 5, device=device)
    with torch.no_grad():
        ours(x)
        for module in (ours, theirs):
            module.stride, module.padding = (1, 3), (1, 1)
        assert_close(ours(x), exact(theirs, x))


@pytest.mark.parametrize("used", [False, True])
def test_copies(used, device):
    ours, theirs = pair(2, 4, 4, 3, 2, device=device)
    x = torch.randn(1, 4, 5, 5, device=device)
    with torch.no_grad():
        if used:
            ours(x)
        want = exact(theirs, x)
        buffer = io.BytesIO()
        torch.save(ours.state_dict(), buffer)
        buffer.seek(0)
        for twin in (copy.deepcopy(ours), copy.copy(ours), pickle.loads(pickle.dumps(ours))):
            assert type(twin) is type(ours)
            assert_close(twin(x), want)
        theirs.load_state_dict(torch.load(buffer))
        assert_close(theirs(x), want)
        twin = copy.deepcopy(ours)
        twin.weight.mul_(2)
        twin.bias.mul_(2)
        assert_close(ours(x), want)
        assert_close(twin(x), 2 * want)


def test_cpu_tensors_are_pytorchs_without_a_word(recwarn):
    ours, theirs = pair(2, 4, 4, 3, 2)
    x = torch.randn(1, 4, 5, 5)
    with launches() as count:
        assert torch.equal(ours(x), theirs(x))
    assert count[0] == 0 and not recwarn.list


def test_unsupported_type_warns_once(device):
    ours, theirs = pair(2, 4, 4, 3, 2, device=device, dtype=torch.float64)
    x = torch.randn(1, 4, 5, 5, device=device, dtype=torch.float64)
    # cuDNN may add up in another order each time.
    with torch.backends.cudnn.flags(deterministic=True), \
            pytest.warns(convt_jit.FallbackWarning, match="float64 is not supported") as warnings:
        assert torch.equal(ours(x), theirs(x))
        ours(x)
        ours(x[:, :, :3])
    assert len(warnings) == 1


def test_a_library_that_fails_is_replaced_by_pytorch(device, monkeypatch):
    from convt_jit import _core, library

    class Broken:
        def prepare(self, *arguments):
            raise _core.DriverError("no such thing")

    monkeypatch.setattr(library, "engine", Broken)
    ours, theirs = pair(2, 4, 4, 3, 2, device=device)
    x = torch.randn(1, 4, 5, 5, device=device)
    with pytest.warns(convt_jit.FallbackWarning, match="no such thing"):
        assert_close(ours(x), exact(theirs, x))


def test_many_sizes_share_kernels(device):
    ours, theirs = pair(1, 4, 4, 4, 2, 1, device=device)
    with torch.no_grad():
        for n in range(3, 60, 2):
            x = torch.randn(1, 4, n, device=device)
            y = ours(x)
        assert_close(y, exact(theirs, x))
    kernels = ours._convt_kernels
    assert len(kernels._kernels) < len(kernels.calls)


def test_backend_off(device):
    ours, theirs = pair(2, 4, 4, 3, 2, device=device)
    x = torch.randn(1, 4, 5, 5, device=device)
    before = convt_jit.get_backend()
    with convt_jit.backend("off"), launches() as count:
        assert torch.equal(ours(x), theirs(x))
    assert count[0] == 0 and convt_jit.get_backend() == before
    with pytest.raises(ValueError, match="allowed: auto, sim, off"):
        convt_jit.set_backend("fast")


def test_script_and_trace(device):
    ours, theirs = pair(2, 4, 4, 3, 2, device=device)
    x = torch.randn(1, 4, 5, 5, device=device)
    want = exact(theirs, x)
    assert_close(torch.jit.script(ours)(x), want, torch.float32)
    assert_close(torch.jit.script(ours)(x, [12, 12]), exact(theirs, x, [12, 12]), torch.float32)
    with torch.no_grad():
        traced = torch.jit.trace(ours, x)
    assert "conv" in str(traced.graph)
    assert_close(traced(x), want, torch.float32)
    ours(x)
    torch.jit.script(ours)  # also after a call
    assert_close(fx.symbolic_trace(nn.Sequential(ours))(x), want, torch.float32)


@pytest.mark.parametrize("arguments", [
    dict(stride=(2,)), dict(stride=[2]), dict(stride=2, padding=(1,)), dict(stride=2, output_padding=(1,)),
    dict(dilation=(2,)), dict(dilation=[2, 1]), dict(stride=(3,), padding=(1,), output_padding=[1], dilation=(2,))])
def test_one_element_is_for_all_axes(arguments, device):
    ours, theirs = pair(2, 4, 3, 3, **arguments, device=device)
    x = torch.randn(2, 4, 5, 6, device=device)
    for _ in range(2):
        with torch.no_grad(), launches() as count:
            assert_close(ours(x), exact(theirs, x))
            assert_close(ours(x[0]), exact(theirs, x[0]))
        assert count[0] == 2


@pytest.mark.parametrize("name, value", [
    ("stride", 2), ("stride", [2, 2]), ("stride", (2, 2, 2)), ("stride", (2.0, 2.0)), ("stride", None),
    ("stride", True), ("stride", (True, True)), ("padding", 1), ("padding", [1, 1]), ("padding", (True, True)),
    ("output_padding", 0), ("output_padding", (True, 0)), ("dilation", 2), ("dilation", [2, 2]), ("dilation", ()),
    ("groups", None), ("groups", True), ("groups", 2.0), ("stride", torch.Size([2, 2])), ("stride", range(2, 4))])
def test_attributes_set_later_mean_what_they_do_to_pytorch(name, value, device):
    ours, theirs = pair(2, 4, 4, 3, device=device)
    x = torch.randn(1, 4, 5, 5, device=device)
    with torch.no_grad():
        ours(x)
        setattr(ours, name, value)
        setattr(theirs, name, value)
        want = errors_of(lambda: theirs(x))
        assert errors_of(lambda: ours(x)) == want
        if want is None:
            assert_close(ours(x), exact(theirs, x))


def test_lists_change_in_place(device):
    ours, theirs = pair(2, 4, 4, 3, device=device)
    x = torch.randn(1, 4, 5, 5, device=device)
    with torch.no_grad():
        for module in (ours, theirs):
            module.stride = [1, 2]
        assert_close(ours(x), exact(theirs, x))
        for module in (ours, theirs):
            module.stride[0] = 3
        assert_close(ours(x), exact(theirs, x))


def test_bools_are_no_numbers(device):
    """Neither taken nor kept under the key of 1."""
    x, w = torch.randn(1, 4, 5, 5, device=device), torch.randn(4, 3, 3, 3, device=device)
    function = convt_jit.functional.conv_transpose2d
    for name in ("stride", "padding", "output_padding", "dilation", "groups"):
        for value in (True, (True, True)):
            named = {"stride": 2, name: value}
            want = errors_of(lambda: nn.functional.conv_transpose2d(x, w, **named))
            got = errors_of(lambda: function(x, w, **named))
            assert got is not None and got[0] is want[0]
    with launches() as count:
        function(x, w, padding=1)
        function(x, w, stride=2, output_padding=1)
    assert count[0] == 2


def test_neg_bits_and_sparse_tensors_are_pytorchs(device):
    x, w, b = (torch.randn(*s, device=device) for s in ((2, 4, 5, 6), (4, 1, 3, 3), (1,)))
    ours, theirs = convt_jit.functional.conv_transpose2d, nn.functional.conv_transpose2d
    conj = torch.randn(1, dtype=torch.complex64, device=device).conj().imag
    for tensors in ((x, w, torch._neg_view(b)), (x, w, conj), (x, torch._neg_view(w), b), (torch._neg_view(x), w, b)):
        assert_close(ours(*tensors), theirs(*tensors).double(), torch.float32)
    want = errors_of(lambda: theirs(x, w, b.to_sparse()))
    ours(x, w, b)
    assert errors_of(lambda: ours(x, w, b.to_sparse()))[0] == want[0]
    with launches() as count:
        ours(x, w, b)
    assert count[0] == 1


def test_a_weight_without_axes(device):
    x, w, b = torch.randn(1, 4, 5, 5, device=device), torch.tensor(1.0, device=device), torch.randn(3, device=device)
    want = errors_of(lambda: nn.functional.conv_transpose2d(x, w, b))
    assert errors_of(lambda: convt_jit.functional.conv_transpose2d(x, w, b)) == want
    assert errors_of(lambda: convt_jit.functional.conv_transpose2d(x, w, b, channel_scale=b)) == want


@pytest.mark.parametrize("stateless", ["torch.nn.utils.stateless", "torch.func"])
def test_functional_call(stateless, device):
    call = getattr(pytest.importorskip(stateless), "functional_call")
    ours, theirs = pair(2, 4, 3, 3, device=device)
    x = torch.randn(1, 4, 5, 5, device=device)
    for mode in (torch.no_grad, torch.inference_mode, torch.enable_grad):
        with mode():
            for factor in (1, 2, -1):
                for names in (("weight",), ("bias",), ("weight", "bias")):
                    other = {name: getattr(theirs, name).detach() * factor for name in names}
                    assert_close(call(ours, other, (x,)), call(theirs, other, (x,)).double(), torch.float32)

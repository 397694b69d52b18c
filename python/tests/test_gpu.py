"""What only a GPU has: streams, graphs, devices, autocast, TF32."""
import copy
import threading

import pytest
import torch

import convt_jit
from compare import TOLERANCE, assert_close, launches, rel_l2
from recording import DEVICE

pytestmark = [pytest.mark.gpu, pytest.mark.usefixtures("ieee")]


def pair(*args, dtype=torch.float32, **kwargs):
    ours = convt_jit.nn.ConvTranspose2d(*args, **kwargs).to(DEVICE).to(dtype)
    theirs = torch.nn.ConvTranspose2d(*args, **kwargs).to(DEVICE).to(dtype)
    theirs.load_state_dict(ours.state_dict())
    return ours, theirs


def exact(module, x):
    """The module's result in f64."""
    twin = copy.deepcopy(module).double().cpu()
    with convt_jit.backend("off"), torch.no_grad():
        return twin(x.detach().double().cpu())


@pytest.mark.parametrize("dtype", TOLERANCE)
def test_inference(dtype):
    ours, _ = pair(64, 96, 4, 2, 1, dtype=dtype)
    x = torch.randn(3, 64, 17, 33, device=DEVICE, dtype=dtype)
    with torch.inference_mode(), launches() as count:
        first, second = ours(x), ours(x)
    assert count[0] == 2
    assert torch.equal(first, second)
    assert_close(first, exact(ours, x))


def test_tf32_follows_the_flags():
    ours, _ = pair(256, 128, 4, 2, 1)
    x = torch.randn(2, 256, 32, 32, device=DEVICE)
    errors = []
    with torch.no_grad():
        for allowed in (False, True):
            torch.backends.cudnn.allow_tf32 = allowed
            errors.append(rel_l2(ours(x), exact(ours, x)))
    assert errors[0] < 1e-6 < 1e-5 < errors[1] < 2e-3


def test_another_stream():
    ours, theirs = pair(32, 32, 4, 2, 1)
    x = torch.randn(4, 32, 64, 64, device=DEVICE)
    stream = torch.cuda.Stream()
    with torch.no_grad():
        want = theirs(x)
        stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(stream):
            torch.cuda._sleep(50_000_000)
            late = x * 2
            got = ours(late)
        torch.cuda.current_stream().wait_stream(stream)
    assert_close(got, 2 * want.double() - theirs.bias.detach().double().reshape(1, -1, 1, 1))


def test_two_streams_at_once():
    ours, theirs = pair(128, 128, 3, 2, 1, dtype=torch.float16)
    x = torch.randn(2, 128, 20, 20, device=DEVICE, dtype=torch.float16)
    streams = [torch.cuda.Stream() for _ in range(2)]
    torch.cuda.synchronize()
    results = []
    with torch.inference_mode():
        for i in range(20):
            with torch.cuda.stream(streams[i % 2]):
                results.append(ours(x))
    torch.cuda.synchronize()
    want = exact(ours, x)
    for result in results:
        assert_close(result, want)


@pytest.mark.parametrize("constant", [False, True])
def test_graph(constant):
    ours, _ = pair(128, 96, 4, 2, 1, dtype=torch.float16)
    x = torch.randn(2, 128, 24, 24, device=DEVICE, dtype=torch.float16)
    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream), torch.no_grad():
        convt_jit.prepare(ours, x.shape, constant_weights=constant)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph, stream=stream):
            y = ours(x)
    torch.cuda.synchronize()
    x.copy_(torch.randn_like(x))
    graph.replay()
    torch.cuda.synchronize()
    assert_close(y, exact(ours, x))
    if not constant:  # as PyTorch's own: a replay follows weights that change in place
        with torch.no_grad():
            ours.weight.mul_(-0.5)
        graph.replay()
        torch.cuda.synchronize()
        assert_close(y, exact(ours, x))


def test_graph_outlives_its_module():
    ours, theirs = pair(64, 64, 4, 2, 1)
    x = torch.randn(2, 64, 12, 12, device=DEVICE)
    weight, bias, want = ours.weight, ours.bias, exact(ours, x)
    with torch.no_grad():
        ours(x)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            y = ours(x)
    del ours
    graph.replay()
    torch.cuda.synchronize()
    assert_close(y, want)
    assert weight is not None and bias is not None


def test_capture_without_preparation():
    ours, _ = pair(32, 16, 4, 2, 1)
    x = torch.randn(1, 32, 9, 9, device=DEVICE)
    graph = torch.cuda.CUDAGraph()
    with torch.no_grad(), torch.cuda.graph(graph):
        y = ours(x)
    graph.replay()
    torch.cuda.synchronize()
    assert_close(y, exact(ours, x))


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_autocast(dtype):
    ours, theirs = pair(64, 64, 4, 2, 1)
    x = torch.randn(2, 64, 15, 15, device=DEVICE, requires_grad=True)
    with torch.autocast(DEVICE, dtype), launches() as count:
        y = ours(x)
        with torch.inference_mode():
            z = ours(x)
        want = theirs(x)
    assert count[0] == 2
    assert y.dtype == want.dtype == z.dtype == dtype
    assert rel_l2(y, exact(ours, x)) < 2 * TOLERANCE[dtype]
    assert rel_l2(z, exact(ours, x)) < 2 * TOLERANCE[dtype]
    y.float().square().sum().backward()
    assert ours.weight.grad.dtype == torch.float32


def test_training_matches():
    ours, theirs = pair(16, 24, 4, 2, 1)
    x = torch.randn(2, 16, 9, 9, device=DEVICE)
    optimizers = [torch.optim.Adam(m.parameters(), 1e-2) for m in (ours, theirs)]
    with launches() as count:
        for _ in range(5):
            for module, optimizer in zip((ours, theirs), optimizers):
                optimizer.zero_grad()
                module(x).tanh().square().mean().backward()
                optimizer.step()
    assert count[0] == 5
    assert rel_l2(ours.weight, theirs.weight) < 1e-4


@pytest.mark.parametrize("shape", [(2, 64, 13, 21), (2, 48, 5, 6, 7)])
def test_channels_last(shape):
    last = torch.channels_last if len(shape) == 4 else torch.channels_last_3d
    kind = f"ConvTranspose{len(shape) - 2}d"
    ours = getattr(convt_jit.nn, kind)(shape[1], 32, 4, 2, 1).to(DEVICE).half()
    x = torch.randn(*shape, device=DEVICE, dtype=torch.float16).contiguous(memory_format=last)
    with torch.no_grad(), launches() as count:
        y = ours(x)
        z = ours.to(memory_format=last)(x)
    assert count[0] == 2
    assert y.is_contiguous(memory_format=last) and z.is_contiguous(memory_format=last)
    assert_close(y, exact(ours, x))
    assert torch.equal(y, z)


def test_f64_is_pytorchs_with_one_warning():
    ours, theirs = pair(4, 4, 3, dtype=torch.float64)
    x = torch.randn(1, 4, 5, 5, device=DEVICE, dtype=torch.float64)
    # cuDNN may add up in another order each time.
    with torch.backends.cudnn.flags(deterministic=True):
        with pytest.warns(convt_jit.FallbackWarning, match="float64"):
            y = ours(x)
        assert torch.equal(y, theirs(x))


def test_threads():
    ours, _ = pair(32, 48, 4, 2, 1)
    x = torch.randn(2, 32, 16, 16, device=DEVICE)
    torch.cuda.synchronize()
    results, errors = [], []

    def work():
        try:
            with torch.cuda.stream(torch.cuda.Stream()), torch.inference_mode():
                for _ in range(5):
                    results.append(ours(x))
                torch.cuda.current_stream().synchronize()
        except Exception as error:
            errors.append(error)

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not errors
    want = exact(ours, x)
    for result in results:
        assert_close(result, want)


def test_compile():
    ours, _ = pair(32, 16, 4, 2, 1)
    x = torch.randn(2, 32, 9, 9, device=DEVICE)
    compiled = torch.compile(ours, fullgraph=True)
    with torch.no_grad(), launches() as count:
        y = compiled(x)
    assert count[0] >= 1
    assert_close(y, exact(ours, x))


@pytest.mark.skipif(torch.cuda.device_count() < 2, reason="one device")
def test_another_device():
    ours, _ = pair(32, 16, 4, 2, 1)
    x = torch.randn(2, 32, 9, 9, device="cuda:1")
    with torch.no_grad(), launches() as count:
        y = ours.to("cuda:1")(x)  # while device 0 is the current one
        torch.cuda.synchronize(1)
    assert count[0] == 1
    assert_close(y, exact(ours, x))


@pytest.mark.skipif(torch.cuda.device_count() < 2, reason="one device")
def test_data_parallel():
    ours, _ = pair(16, 16, 4, 2, 1)
    x = torch.randn(6, 16, 9, 9, device=DEVICE)
    y = torch.nn.DataParallel(ours)(x)
    assert_close(y, exact(ours, x))


def test_report():
    model = torch.nn.Sequential(torch.nn.ConvTranspose2d(64, 64, 4, 2, 1), torch.nn.ReLU()).to(DEVICE)
    convt_jit.replace(model)
    found = convt_jit.report(model, torch.randn(8, 64, 32, 32, device=DEVICE))
    assert len(found) == 1 and found[0].before_ms > 0 and found[0].after_ms > 0 and found[0].max_error < 1e-4


def test_only_if_faster():
    model = torch.nn.Sequential(torch.nn.ConvTranspose2d(64, 64, 4, 2, 1), torch.nn.ReLU()).to(DEVICE)
    convt_jit.replace(model)
    x = torch.randn(8, 64, 32, 32, device=DEVICE)
    want = exact(model, x)
    found, = convt_jit.report(model, x, only_if_faster=True, budget_ms=5)
    ours = type(model[0]) is convt_jit.nn.ConvTranspose2d
    assert ours == found.replaced == (found.after_ms < found.before_ms)
    with torch.no_grad(), launches() as count:
        assert rel_l2(model(x), want) < 1e-5
    assert count[0] == int(ours)

"""Threads, forks, other processes, imports."""
import multiprocessing
import os
import subprocess
import sys
import threading
import warnings

import pytest
import torch

import convt_jit
from compare import assert_close


def layer_and_input():
    torch.manual_seed(3)
    return convt_jit.nn.ConvTranspose2d(4, 6, 3, 2), torch.randn(1, 4, 5, 5)


def exact(layer, x):
    with convt_jit.backend("off"), torch.no_grad():
        return torch.nn.functional.conv_transpose2d(x.double(), layer.weight.double(), layer.bias.double(), 2)


def run_in_child(layer, x, results):
    torch.set_num_threads(1)
    with convt_jit.backend("sim"), torch.no_grad():
        results.put(layer(x).numpy().copy())


@pytest.mark.parametrize("method", ["fork", "spawn"])
@pytest.mark.parametrize("used", [False, True])
def test_another_process(method, used):
    layer, x = layer_and_input()
    if used:
        with convt_jit.backend("sim"), torch.no_grad():
            layer(x)
    context = multiprocessing.get_context(method)
    results = context.Queue()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        child = context.Process(target=run_in_child, args=(layer, x, results))
        child.start()
    got = torch.from_numpy(results.get(timeout=100))
    child.join(30)
    assert child.exitcode == 0
    assert_close(got, exact(layer, x))
    with convt_jit.backend("sim"), torch.no_grad():
        assert_close(layer(x), exact(layer, x))


def test_share_memory():
    layer, x = layer_and_input()
    with convt_jit.backend("sim"), torch.inference_mode():
        layer(x)
    layer.share_memory()
    context = multiprocessing.get_context("fork")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        child = context.Process(target=double_weights, args=(layer,))
        child.start()
    child.join(30)
    assert child.exitcode == 0
    with convt_jit.backend("sim"), torch.no_grad():
        assert_close(layer(x), exact(layer, x))


def double_weights(layer):
    with torch.no_grad():
        layer.weight.mul_(2)


def test_threads():
    """Threads that share a module, with their own sizes, some of them training."""
    layer, _ = layer_and_input()
    errors = []
    inputs = [torch.randn(1, 4, 4 + i % 3, 5) for i in range(6)]
    wanted = [exact(layer, x) for x in inputs]

    def work(i):
        try:
            for _ in range(4):
                if i % 3 == 0:
                    y = layer(inputs[i])
                else:
                    with (torch.inference_mode() if i % 3 == 1 else torch.no_grad()):
                        y = layer(inputs[i])
                assert_close(y, wanted[i])
        except BaseException as error:
            errors.append(error)

    with convt_jit.backend("sim"):
        threads = [threading.Thread(target=work, args=(i,)) for i in range(6)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert not errors, errors[0]


def test_replicas():
    """What DataParallel does: shallow copies of a module, one per thread, with parameters of their own."""
    layer, x = layer_and_input()
    with convt_jit.backend("sim"), torch.no_grad():
        layer(x)
        replicas = []
        for scale in (1, 2, 3):
            replica = layer._replicate_for_data_parallel()
            replica.weight, replica.bias = layer.weight * scale, layer.bias * scale
            replicas.append(replica)
        for _ in range(2):
            for scale, replica in zip((1, 2, 3), replicas):
                assert_close(replica(x), scale * exact(layer, x))


def run_python(code, **environment):
    return subprocess.run([sys.executable, "-c", code], env={**os.environ, **environment}, capture_output=True,
                          text=True, timeout=120)


def test_import_opens_nothing_and_exit_is_quiet():
    done = run_python("import convt_jit.library as l, convt_jit; assert l._engine is None\n"
                      "print(convt_jit.__version__)")
    assert done.returncode == 0 and done.stdout.strip() == convt_jit.__version__ and not done.stderr


def test_exit_with_kernels_is_quiet():
    done = run_python("import torch, convt_jit\n"
                      "m = convt_jit.nn.ConvTranspose1d(2, 2, 3)\n"
                      "with torch.no_grad(): print(m(torch.ones(1, 2, 3)).shape)", CONVT_JIT_BACKEND="sim")
    assert done.returncode == 0 and "[1, 2, 5]" in done.stdout and not done.stderr


def test_backend_of_the_environment():
    done = run_python("import convt_jit; print(convt_jit.get_backend())", CONVT_JIT_BACKEND="quick")
    assert done.stdout.strip() == "auto" and "allowed: auto, sim, off" in done.stderr
    assert run_python("import convt_jit; print(convt_jit.get_backend())", CONVT_JIT_BACKEND="off").stdout == "off\n"


def test_a_simulator_without_compiler_is_replaced_by_pytorch(tmp_path):
    done = run_python("import torch, convt_jit\n"
                      "m = convt_jit.nn.ConvTranspose1d(2, 2, 3)\n"
                      "for i in range(3): print(m(torch.ones(1, 2, 3)).shape)",
                      CONVT_JIT_BACKEND="sim", CXX="/nonexistent/c++", CONVT_JIT_CACHE_DIR=str(tmp_path),
                      XDG_CACHE_HOME=str(tmp_path), PATH="/nonexistent")
    assert done.returncode == 0 and done.stdout.count("[1, 2, 5]") == 3
    assert done.stderr.count("FallbackWarning") == 1

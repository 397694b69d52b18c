"""Devices that tests run on: the simulator (CPU tensors) and, where there is one, a GPU."""
import os
import tempfile

# Before the package is imported: kernels of a test run are its own unless the caller has chosen a place, and what was
# tuned on this machine changes nothing.
os.environ.setdefault("CONVT_JIT_CACHE_DIR", os.path.join(tempfile.gettempdir(), f"convt_jit_tests_{os.getuid()}"))
os.environ.setdefault("CONVT_JIT_RECORDS", "off")

import pytest  # noqa: E402
import torch  # noqa: E402

import convt_jit  # noqa: E402
import recording  # noqa: E402
from convt_jit.fallback import forget_warnings  # noqa: E402

GPU = torch.cuda.is_available() or recording.FILE
if recording.FILE:
    recording.install()


def pytest_configure(config):
    config.addinivalue_line("markers", "gpu: needs a CUDA device")


def pytest_collection_modifyitems(config, items):
    # CONVT_TEST_SHARD=2/8: every eighth test, for eight processes that share the work.
    shard, _, shards = os.environ.get("CONVT_TEST_SHARD", "0/1").partition("/")
    others = [item for index, item in enumerate(items) if index % int(shards) != int(shard)]
    if others:
        config.hook.pytest_deselected(items=others)
        items[:] = [item for index, item in enumerate(items) if index % int(shards) == int(shard)]
    for item in items:
        if item.get_closest_marker("gpu") and not GPU:
            item.add_marker(pytest.mark.skip(reason="no CUDA device here"))


# What bench/python_kernels.py missed.
_compiled = []
_make = convt_jit.kernels.Kernels._make


def _counted(*args):
    call = _make(*args)
    kernel = getattr(call, "kernel", None)
    if kernel is not None and call.device >= 0 and kernel.origin == "compiler":
        _compiled.append(kernel.compile_ms)
    return call


if GPU and not recording.FILE:
    convt_jit.kernels.Kernels._make = _counted


@pytest.fixture(autouse=True)
def _clean():
    torch.manual_seed(0)
    forget_warnings()
    if recording.FILE:
        with convt_jit.backend("sim"):
            yield
    else:
        yield
    assert convt_jit.get_backend() == "auto", "a test left another backend behind"


@pytest.fixture
def ieee():
    """f32 is f32."""
    before = torch.backends.cudnn.allow_tf32
    torch.backends.cudnn.allow_tf32 = False
    yield
    torch.backends.cudnn.allow_tf32 = before


@pytest.fixture(params=["sim", pytest.param("cuda", marks=pytest.mark.gpu)])
def device(request, ieee):
    """Where the library's kernels run; f32 is f32."""
    if request.param == "cuda":
        yield recording.DEVICE
    else:
        with convt_jit.backend("sim"):
            yield "cpu"


def pytest_terminal_summary(terminalreporter):
    if GPU and not recording.FILE:
        terminalreporter.write_line(f"{len(_compiled)} kernels were not compiled ahead, {sum(_compiled) / 1e3:.1f} s")

"""Results against PyTorch's in f64, and proof that a kernel of ours made them."""
import contextlib

import torch

import convt_jit.call

#: Largest relative L2 error: rounding of the type, and of sums of a few hundred products.
TOLERANCE = {torch.float32: 1e-6, torch.float16: 1e-3, torch.bfloat16: 8e-3}


def rel_l2(got, want):
    """Relative L2 distance, in f64."""
    got, want = got.detach().double().cpu(), want.detach().double().cpu()
    assert got.shape == want.shape
    return ((got - want).norm() / want.norm().clamp_min(1e-30)).item()


def assert_close(got, want, dtype=None):
    """`want`: f64, or anything that is as good."""
    error = rel_l2(got, want)
    assert error <= TOLERANCE[dtype or got.dtype], f"relative L2 error {error:.2e}"


@contextlib.contextmanager
def launches():
    """Counts the launches of our kernels: [n]."""
    count = [0]
    kind = convt_jit.call.Call
    run, run_fused = kind.run, kind.run_fused

    def counted(function):
        def wrapper(*args):
            result = function(*args)
            count[0] += 1
            return result
        return wrapper

    kind.run, kind.run_fused = counted(run), counted(run_fused)
    try:
        yield count
    finally:
        kind.run, kind.run_fused = run, run_fused

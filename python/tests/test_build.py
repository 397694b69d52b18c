"""What a wheel asks for where there is a toolkit and where there is none."""
import importlib.util
import os
import pathlib

import pytest

pytest.importorskip("scikit_build_core")


def build_backend():
    path = pathlib.Path(__file__).parents[1] / "build_backend.py"
    spec = importlib.util.spec_from_file_location("convt_build_backend", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_headers_are_asked_for_without_a_toolkit(tmp_path, monkeypatch):
    monkeypatch.chdir(pathlib.Path(__file__).parents[1])
    backend = build_backend()
    monkeypatch.delenv("CUDA_PATH", raising=False)
    monkeypatch.delenv("CMAKE_ARGS", raising=False)
    for name in ("cuda.h", "nvrtc.h"):
        (tmp_path / "include").mkdir(exist_ok=True)
        (tmp_path / "include" / name).touch()
    monkeypatch.setenv("CUDA_HOME", str(tmp_path))
    assert backend._toolkit() == str(tmp_path)
    assert not set(backend._HEADERS) & set(backend.get_requires_for_build_wheel())
    exists = os.path.exists
    monkeypatch.setattr(os.path, "exists", lambda path: not str(path).endswith((".h",)) and exists(path))
    assert backend._toolkit() is None
    assert set(backend._HEADERS) <= set(backend.get_requires_for_build_wheel())
    prebuilt = {"cmake.define.CONVT_JIT_LIBRARY": "/lib/libconvt_jit.so"}
    assert not set(backend._HEADERS) & set(backend.get_requires_for_build_wheel(prebuilt))

"""scikit-build-core, with the headers of CUDA where the machine has no toolkit: they come from NVIDIA's wheels.

The library opens the driver and NVRTC when it runs; a build needs their headers alone.
"""
import importlib.util
import os

from scikit_build_core.build import *  # noqa: F403
from scikit_build_core import build as _build

_HEADERS = ["nvidia-cuda-runtime==13.0.*", "nvidia-cuda-nvrtc==13.0.*", "nvidia-cuda-crt==13.0.*"]


def _toolkit():
    for root in (os.environ.get("CUDA_HOME"), os.environ.get("CUDA_PATH"), "/usr/local/cuda",
                 os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "build", "cuda")):
        if root and all(os.path.exists(os.path.join(root, "include", name)) for name in ("cuda.h", "nvrtc.h")):
            return os.path.abspath(root)
    return None


def _wheels():
    """Where the wheels that were asked for lie."""
    spec = importlib.util.find_spec("nvidia")
    for place in spec.submodule_search_locations if spec is not None else ():
        root = os.path.join(place, "cu13")
        if os.path.exists(os.path.join(root, "include", "cuda.h")):
            return root
    return None


def _prebuilt(settings):
    arguments = os.environ.get("CMAKE_ARGS", "") + str(settings or "")
    return "CONVT_JIT_LIBRARY" in arguments


def get_requires_for_build_wheel(config_settings=None):
    extra = [] if _toolkit() or _prebuilt(config_settings) else _HEADERS
    return list(_build.get_requires_for_build_wheel(config_settings)) + extra


def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    root = _toolkit() or _wheels()
    if root:
        os.environ["CUDA_HOME"] = root
    return _build.build_wheel(wheel_directory, config_settings, metadata_directory)

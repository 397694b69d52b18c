"""Compiles the kernels of a model for GPUs that are not there, from the sizes that a run on the meta device shows."""
from typing import Any, Dict, List, NamedTuple, Optional, Sequence

import torch
from torch import Tensor

from . import _core, library, nn
from .folding import FoldedSequential, find_group
from .precision import allows_tf32
from .problem import UNFIT, Problem, describe
from .support import DTYPES, dtype_name
from .watching import Seen, moved, rank_of, watching


class Warmed(NamedTuple):
    """One layer for one arch."""

    name: str      #: of the module
    layer: str     #: layer string with its sizes; "" where the module is PyTorch's to run
    arch: str
    plan: str
    origin: str    #: "memory", "disk" or "compiler": whether it was there before
    why_not: str   #: why nothing was compiled; else ""


def _functional_call(model: torch.nn.Module, tensors: Dict[str, Tensor], inputs: Any) -> Any:
    call = getattr(getattr(torch, "func", None), "functional_call", None)
    if call is None:
        from torch.nn.utils.stateless import functional_call as call
    if isinstance(inputs, dict):
        return call(model, tensors, (), inputs)
    return call(model, tensors, tuple(inputs) if isinstance(inputs, (tuple, list)) else (inputs,))


def _tensors_of(model: torch.nn.Module, change: Any) -> Dict[str, Tensor]:
    tensors = dict(model.named_parameters())
    tensors.update(model.named_buffers())
    return {name: change(tensor) for name, tensor in tensors.items()}


def _shown(model: torch.nn.Module, example_inputs: Any) -> List[Seen]:
    """Every call of a transposed convolution that a run makes, with a meta tensor as its input.

    On the meta device, and where an operation of the model has no meaning there, for real (buffers are copied first,
    so that nothing of the model changes).
    """
    seen: List[Seen] = []

    def see(call: Seen) -> Tensor:
        seen.append(call._replace(input=call.input.detach().to("meta"), module=_as_seen(call.module)))
        return call.run()

    meta = _tensors_of(model, lambda t: t.detach().to("meta"))
    try:
        with torch.no_grad(), watching(model, see):
            _functional_call(model, meta, moved(example_inputs, "meta"))
    except (RuntimeError, NotImplementedError):
        seen.clear()
        buffers = {name: buffer.clone() for name, buffer in model.named_buffers()}
        device = next((p.device for p in model.parameters()), torch.device("cpu"))
        with torch.no_grad(), watching(model, see):
            _functional_call(model, {**dict(model.named_parameters()), **buffers}, moved(example_inputs, device))
    return seen


class _AsSeen(NamedTuple):
    """A module as it was while the run called it: its weight may have been another's, or computed."""

    module: Any
    weight: Tensor
    has_bias: bool


def _as_seen(module: Any) -> _AsSeen:
    return _AsSeen(module, module.weight.detach().to("meta"), module.bias is not None)


def _folded(model: torch.nn.Module) -> Dict[int, Any]:
    groups = {}
    for sequential in model.modules():
        if isinstance(sequential, FoldedSequential):
            modules = list(sequential)
            for at in range(len(modules)):
                group = find_group(modules, at)
                if group is not None:
                    groups[id(group.convolution)] = group.epilogue
    return groups


def layers_of(model: torch.nn.Module, example_inputs: Any, dtype: Optional[torch.dtype] = None,
              tf32: Optional[bool] = None) -> List[Any]:
    """(name, Problem or why there is none) of every transposed convolution in a run; each problem once.

    dtype: what the convolutions compute in, where it is not the inputs' (autocast). tf32: what f32 may use; unset: as
    PyTorch's flags say now.
    """
    tf32 = allows_tf32() if tf32 is None else tf32
    groups = _folded(model)
    found: Dict[Any, Any] = {}
    for call in _shown(model, example_inputs):
        module, weight, has_bias = call.module
        rank = rank_of(module)
        kind = call.input.dtype if dtype is None else dtype
        if kind not in DTYPES:
            found.setdefault((call.name, kind), (call.name, f"{str(kind).replace('torch.', '')} is not supported"))
            continue
        arguments = nn.arguments_of(module, rank, call.input, call.output_size)
        if arguments is None:
            found.setdefault(call.name, (call.name, UNFIT))
            continue
        choices = [arguments]
        if id(module) in groups:
            choices.append(arguments._replace(epilogue=groups[id(module)]))
        for choice in choices:
            problem = describe(call.input.shape, call.input.stride(), weight.shape, weight.stride(), has_bias,
                               dtype_name(kind, tf32), choice)
            key = problem if problem is not None else call.name
            found.setdefault(key, (call.name, problem or UNFIT))
    return list(found.values())


def warmup(model: torch.nn.Module, example_inputs: Any, archs: Optional[Sequence[str]] = None, *,
           dtype: Optional[torch.dtype] = None, tf32: Optional[bool] = None) -> List[Warmed]:
    """Compiles what the model's transposed convolutions need at the sizes of a run, into the disk cache
    ($CONVT_JIT_CACHE_DIR). Needs no GPU.

    example_inputs: a tensor, a tuple of arguments or a dict of named ones, on any device. archs: such as ["sm_80",
    "sm_90a"]; unset: those of this machine's GPUs. dtype, tf32: see layers_of. The model may have been replaced or
    not; nothing of it changes. Raises Error where there is no compiler.
    """
    archs = list(archs) if archs is not None else _archs_here()
    if not archs:
        raise ValueError("archs is not given and there is no GPU here; allowed: such as ['sm_80', 'sm_90a']")
    results = []
    for name, problem in layers_of(model, example_inputs, dtype, tf32):
        if not isinstance(problem, Problem):
            results.extend(Warmed(name, "", arch, "", "", problem) for arch in archs)
            continue
        for arch in archs:
            results.extend(_compile(name, problem, arch))
    return results


def _compile(name: str, problem: Problem, arch: str) -> List[Warmed]:
    try:
        layer = _core.Layer(problem.text, problem.batch, list(problem.input))
    except _core.LayerError as error:
        return [Warmed(name, problem.full_text, arch, "", "", str(error))]
    try:
        made = [library.engine().compile(layer, arch, plan) for plan in _core.plans(layer, arch)]
    except _core.UnsupportedError as error:
        return [Warmed(name, problem.full_text, arch, "", "", str(error))]
    return [Warmed(name, problem.full_text, arch, plan, origin, "") for plan, origin in made]


def _archs_here() -> List[str]:
    if not torch.cuda.is_available():
        return []
    capabilities = {torch.cuda.get_device_capability(i) for i in range(torch.cuda.device_count())}
    return [f"sm_{major}{minor}{'a' if major >= 9 else ''}" for major, minor in sorted(capabilities)]

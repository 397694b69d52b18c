"""Whether it pays: every transposed convolution of a model, by PyTorch and by us."""
import math
import statistics
import time
from typing import Any, Callable, Dict, List, NamedTuple, Tuple

import torch
from torch import Tensor

from . import dispatch, nn
from .call import Refusal
from .fallback import torch_conv_transpose
from .kernels import Kernels
from .problem import UNFIT
from .replace import is_replaced, restore, why_not_replaced
from .watching import Seen, rank_of, run_model, watching


class Row(NamedTuple):
    """One module at one size. Times are medians in milliseconds."""

    name: str
    layer: str           #: layer string with its sizes; "" where no kernel serves it
    before_ms: float     #: PyTorch's
    after_ms: float      #: ours; NaN where no kernel serves it
    max_error: float     #: largest difference from PyTorch's result
    family: str          #: of kernels
    replaced: bool       #: whether the module runs ours now
    remark: str          #: why not

    @property
    def speedup(self) -> float:
        return self.before_ms / self.after_ms


class Report(List[Row]):
    """The rows, the ones measured first in front; str() is a table."""

    def __str__(self) -> str:
        head = ("module", "layer", "PyTorch ms", "ours ms", "speedup", "max error", "runs")
        rows = [head]
        for r in self:
            known = not math.isnan(r.after_ms)
            rows.append((r.name or "(model)", r.layer or "-", f"{r.before_ms:.4f}",
                         f"{r.after_ms:.4f}" if known else "-", f"{r.speedup:.2f}x" if known else "-",
                         f"{r.max_error:.1e}" if known else "-",
                         (f"ours, {r.family}" if r.replaced and known else "PyTorch")
                         + (f": {r.remark}" if r.remark else "")))
        widths = [max(len(row[i]) for row in rows) for i in range(len(head))]
        lines = ["  ".join(cell.ljust(width) if i in (0, 1, 6) else cell.rjust(width)
                           for i, (cell, width) in enumerate(zip(row, widths))).rstrip() for row in rows]
        lines.insert(1, "  ".join("-" * width for width in widths))
        return "\n".join(lines)

    def to_dicts(self) -> List[Dict[str, Any]]:
        """For JSON."""
        return [{**row._asdict(), "speedup": row.speedup, "after_ms": None, "max_error": None}
                if math.isnan(row.after_ms) else {**row._asdict(), "speedup": row.speedup} for row in self]


def measure(runs: List[Callable[[], Any]], is_cuda: bool, budget_ms: float = 60.0) -> List[float]:
    """Median milliseconds of each of some functions, measured in turns."""
    for run in runs:
        run()
        run()

    def once(run: Callable[[], Any]) -> float:
        if not is_cuda:
            begin = time.perf_counter()
            run()
            return (time.perf_counter() - begin) * 1e3
        begin_event, end_event = torch.cuda.Event(True), torch.cuda.Event(True)
        begin_event.record()
        run()
        end_event.record()
        end_event.synchronize()
        return begin_event.elapsed_time(end_event)

    first = [once(run) for run in runs]
    rounds = int(min(50, max(3, budget_ms / max(sum(first), 1e-3))))
    times: List[List[float]] = [[] for _ in runs]
    for _ in range(rounds):
        for run, list_ in zip(runs, times):
            list_.append(once(run))
    return [statistics.median(list_) for list_ in times]


def _row(seen: Seen, budget_ms: float) -> Tuple[Row, Tensor]:
    module, rank, x = seen.module, rank_of(seen.module), seen.input
    weight, bias = module.weight, module.bias
    arguments = nn.arguments_of(module, rank, x, seen.output_size)
    replaced = is_replaced(module)
    remark = "" if replaced else why_not_replaced(module) or "not replaced"
    if arguments is None:
        before, = measure([seen.run], x.is_cuda, budget_ms)
        return Row(seen.name, "", before, math.nan, math.nan, "", replaced, remark or UNFIT), seen.run()
    dtype = dispatch.autocast_dtype(x.is_cuda)
    if dtype is not None:
        x, weight, bias = (dispatch.cast(t, dtype) for t in (x, weight, bias))
    theirs = lambda: torch_conv_transpose(x, weight, bias, arguments)  # noqa: E731
    kernels = nn.kernels_of(module) if replaced else Kernels()
    call = dispatch.find(kernels, x, weight, bias, arguments) if dispatch.is_ours(x, weight, bias) else None
    if call is None or isinstance(call, Refusal):
        why = (call.reason if call is not None else "") or f"{x.device.type} tensors are PyTorch's"
        before, = measure([theirs], x.is_cuda, budget_ms)
        return Row(seen.name, "", before, math.nan, math.nan, "", replaced, remark or why), theirs()
    constant = replaced and module.constant_weights
    ours = lambda: dispatch.run(kernels, x, weight, bias, arguments, constant)  # noqa: E731
    before, after = measure([theirs, ours], x.is_cuda, budget_ms)
    want = theirs()
    error = (ours().double() - want.double()).abs().max().item() if want.numel() else 0.0
    return Row(seen.name, call.problem.full_text, before, after, error, call.kernel.family, replaced, remark), want


def report(model: torch.nn.Module, input: Any, only_if_faster: bool = False, budget_ms: float = 60.0) -> Report:
    """Runs a model once and measures each of its transposed convolutions, by PyTorch and by us, where it is called.

    input: a tensor, a tuple of arguments or a dict of named ones, on the model's device. Modules need not have been
    replaced. only_if_faster: those that were and are not faster at any of their sizes get PyTorch's class back.
    Gradients are off; training mode is left as it is, batch normalisations see one more batch there.
    """
    rows: Dict[Any, Row] = {}

    def see(seen: Seen) -> Tensor:
        key = (seen.name, tuple(seen.input.shape), seen.output_size and tuple(seen.output_size))
        if key in rows:
            return seen.run()
        rows[key], result = _row(seen, budget_ms)
        return result

    with torch.no_grad(), watching(model, see):
        run_model(model, input)
    found = Report(rows.values())
    if not only_if_faster:
        return found
    modules = dict(model.named_modules())
    kept = Report()
    for row in found:
        slower = row.replaced and not any(other.after_ms < other.before_ms for other in found
                                          if other.name == row.name)
        if slower:
            restore(modules[row.name])
            row = row._replace(replaced=False, remark=row.remark or "PyTorch's is faster")
        kept.append(row)
    return kept

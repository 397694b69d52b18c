"""What happens to an output element after the sum and the bias, as a value: hashable, and part of a layer's text."""
import math
from typing import Any, NamedTuple, Optional, Tuple

ACTIVATIONS = ("none", "relu", "leaky_relu", "gelu", "tanh", "sigmoid", "silu", "hardswish")


class Epilogue(NamedTuple):
    """v *= scale; v = v*channel_scale[c] + channel_shift[c]; v += residual; v = activation(v); v = clamp(v)."""

    activation: str = "none"
    negative_slope: float = 0.01
    scale: Optional[float] = None
    affine: bool = False
    residual: bool = False
    clamp: Optional[Tuple[float, float]] = None

    @property
    def words(self) -> str:
        """Its part of a layer string."""
        words = []
        if self.scale is not None:
            words.append(f"scale{self.scale!r}")
        if self.affine:
            words.append("affine")
        if self.residual:
            words.append("residual")
        if self.activation == "leaky_relu":
            words.append(f"leaky{self.negative_slope!r}")
        elif self.activation != "none":
            words.append(self.activation)
        if self.clamp is not None:
            words.append(f"clamp{self.clamp[0]!r}:{self.clamp[1]!r}")
        return " ".join(words)


NOTHING = Epilogue()


def _number(name: str, value: Any) -> float:
    try:
        if not isinstance(value, str):
            return float(value)
    except (TypeError, ValueError, OverflowError, RuntimeError):
        pass
    raise ValueError(f"{name} is {value!r}; allowed: a finite number")


def make_epilogue(activation: Optional[str], negative_slope: float, scale: Optional[float], affine: bool,
                  residual: bool, clamp: Optional[Tuple[Optional[float], Optional[float]]]) -> Epilogue:
    """Checks the arguments of a functional call. Raises ValueError that names the argument and what is allowed."""
    activation = activation or "none"
    if activation not in ACTIVATIONS:
        raise ValueError(f"activation is {activation!r}; allowed: None or one of {', '.join(ACTIVATIONS[1:])}")
    for name, value in (("negative_slope", negative_slope), ("scale", scale)):
        if value is not None and not math.isfinite(_number(name, value)):
            raise ValueError(f"{name} is {value}; allowed: a finite number")
    bounds = None
    if clamp is not None:
        if not isinstance(clamp, (tuple, list)) or len(clamp) != 2:
            raise ValueError(f"clamp is {clamp!r}; allowed: (low, high), None where there is no bound")
        low, high = clamp
        bounds = (-math.inf if low is None else _number("clamp", low), math.inf if high is None
                  else _number("clamp", high))
        if not bounds[0] <= bounds[1]:
            raise ValueError(f"clamp is {clamp}; allowed: (low, high) with low <= high, None where there is no bound")
    if activation == "leaky_relu" and negative_slope is None:
        raise ValueError("negative_slope is None; allowed: a finite number")
    slope = float(negative_slope) if activation == "leaky_relu" else 0.01
    return Epilogue(activation, slope, None if scale is None else float(scale), affine, residual, bounds)

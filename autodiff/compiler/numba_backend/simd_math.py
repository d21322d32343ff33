"""Blocks of elementwise steps as one loop of machine code, with functions that are widened.

Where a processor has no instructions that NumPy's exp and tanh are written for, they cost more than
all else in a chain. Here they are a polynomial of what range reduction leaves, without branches, so
that LLVM works on several elements at once. With y = n ln 2 + r, |r| < 0.35, and p(r) = exp(r) - 1
by its series: exp(y) = 2ⁿ + 2ⁿ p(r), and tanh(x) = e / (e + 2) for e = exp(2x) - 1, which is
2ⁿ p(r) + (2ⁿ - 1). Errors are a few units in the last place; what is no normal number is zero.

Sines and cosines, which NumPy takes one by one, are series of what is left of x less a multiple of
π/2 that has three parts. With products and sums in one instruction nothing is lost by that up to
`FAR`; errors are below two units in the last place. Who uses them looks for elements beyond.

Logarithms are of m 2ᵏ with m between √½ and √2: with f = m - 1 and s = f / (2 + f), log(m) is
f - f²/2 + s (f²/2 + t), t = 2 (s²/3 + s⁴/5 + …), exact to the last place. log(1 + x) is that of
u = 1 + x rounded, plus what was lost over u; exp(x) - 1 is in the tanh above.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from autodiff.compiler.recording.ir import Ref, Step
from autodiff.functions import facts_of, known

_SIMD = known("simd")
WIDENED = frozenset(f for f, loops in _SIMD.items() if loops == "long")
"""What loops over few elements leave to the functions of ``math``."""
WAVES: Any = (np.sin, np.cos)
FAR = 2.0**40
_OTHERS: Any = {
    np.add, np.subtract, np.multiply, np.true_divide, np.negative, np.square, np.absolute,
    np.reciprocal, np.sqrt,
}  # fmt: skip


def is_widened(steps: list[Step]) -> bool:
    """Whether steps are faster in such a loop: all are known, and some are widened."""
    are_known = all(
        (s.f in _SIMD or s.f in _OTHERS)
        and all(type(a) is Ref or type(a) in (int, float) for a in s.args)
        for s in steps
    )
    return are_known and any(s.f in _SIMD for s in steps)


def widened(f: Any, args: list[str]) -> str:
    """Return the expression of an operation in a loop over many elements."""
    text = f"{f.__name__}({{0}})" if f in WIDENED else facts_of(f).loops
    return text.format(*args)


def _series(degree: int) -> str:
    """Return exp(r) - 1 by its series."""
    text = repr(1.0 / math.factorial(degree))
    for k in range(degree - 1, 0, -1):
        text = f"({text}) * r + {1.0 / math.factorial(k)!r}"
    return f"({text}) * r"


def _alternating(first: int, terms: int) -> str:
    """Return the series of 1 / first!, -z / (first + 2)!, … as source."""
    text = ""
    for k in reversed(range(terms)):
        coefficient = (-1.0) ** k / math.factorial(first + 2 * k)
        text = f"({text}) * z + {coefficient!r}" if text else repr(coefficient)
    return text


def _odd(terms: int) -> str:
    """Return the series of 2/3, 2 z / 5, 2 z² / 7, … as source."""
    text = repr(2.0 / (2 * terms + 1))
    for k in range(terms - 1, 0, -1):
        text = f"({text}) * z + {2.0 / (2 * k + 1)!r}"
    return text


def _functions() -> dict[str, Any]:
    """Return these functions for numba."""
    import numba
    from numba.core import types
    from numba.extending import intrinsic

    @intrinsic
    def power_of_two(typing: Any, x: Any) -> Any:
        """2ⁿ for a float n + 1.5 · 2⁵², whose last bits are those of n."""

        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            integer = context.get_value_type(types.int64)
            bits = builder.bitcast(arguments[0], integer)
            bits = builder.add(bits, integer(1023))
            bits = builder.shl(bits, integer(52))
            return builder.bitcast(bits, context.get_value_type(types.float64))

        return types.float64(types.float64), generate

    @intrinsic
    def fused(typing: Any, a: Any, b: Any, c: Any) -> Any:
        """The product of two plus the third, rounded once."""

        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            return builder.fma(*arguments)

        return types.float64(types.float64, types.float64, types.float64), generate

    @intrinsic
    def bits_of(typing: Any, x: Any) -> Any:
        """The bits of a float as an integer."""

        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            return builder.bitcast(arguments[0], context.get_value_type(types.int64))

        return types.int64(types.float64), generate

    @intrinsic
    def float_of(typing: Any, x: Any) -> Any:
        """The float that has these bits."""

        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            return builder.bitcast(arguments[0], context.get_value_type(types.float64))

        return types.float64(types.int64), generate

    # The multiple of ln 2 is rounded by adding a number so large that no fraction is left. Where
    # 2ⁿ would be too large, one less is taken, and the result times e.
    reduced = """shifted = y * 1.4426950408889634 + 6755399441055744.0
    n = shifted - 6755399441055744.0
    r = (y - n * 0.6931471803691238) - n * 1.9082149292705877e-10
    s = power_of_two(shifted)"""
    source = f"""
def exp(x):
    y = min(max(x - 1.0 if x > 708.0 else x, -708.0), 709.0)
    {reduced}
    y = s + s * ({_series(13)})
    y = 0.0 if x < -708.0 else y
    y = y * {math.e!r} if x > 708.0 else y
    return y if x == x else x

def tanh(x):
    y = 2.0 * min(abs(x), 20.0)
    {reduced}
    e = s * ({_series(13)}) + (s - 1.0)
    y = e / (e + 2.0)
    y = y if x > 0.0 else -y
    return y if x == x and x != 0.0 else x

def wave(x, quarters):
    shifted = x * 0.6366197723675814 + 6755399441055744.0
    n = shifted - 6755399441055744.0
    r = fused(-n, 1.5707963267948966, x)
    r = fused(-n, 6.123233995736766e-17, r)
    r = fused(-n, -1.4973849048591698e-33, r)
    z = r * r
    s = r - r * (z * ({_alternating(3, 8)}))
    c = 1.0 - 0.5 * z
    c = c + ((1.0 - c) - 0.5 * z) + z * z * ({_alternating(4, 7)})
    q = bits_of(shifted) + quarters
    y = c if q & 1 else s
    return -y if q & 2 else y

def sin(x):
    return wave(x, 0) if x != 0.0 else x

def cos(x):
    return wave(x, 1)

def log(x):
    y = x * {2.0**54!r} if x < 2.3e-308 else x
    bits = bits_of(y)
    k = float_of((bits >> 52) | {0x433 << 52}) - {2.0**52 + 1023.0!r}
    k = k - 54.0 if x < 2.3e-308 else k
    m = float_of((bits & {(1 << 52) - 1}) | {1023 << 52})
    k = k + 1.0 if m > 1.4142135623730951 else k
    m = 0.5 * m if m > 1.4142135623730951 else m
    f = m - 1.0
    s = f / (2.0 + f)
    z = s * s
    h = 0.5 * f * f
    t = z * ({_odd(10)})
    y = k * 0.6931471805601177 - ((h - (s * (h + t) + k * -1.7239444525614835e-13)) - f)
    y = math.inf if x == math.inf else y
    y = -math.inf if x == 0.0 else y
    return y if x >= 0.0 else math.nan

def log1p(x):
    u = 1.0 + x
    y = log(u)
    y = y + (x - (u - 1.0)) / u if u > 0.0 and u < math.inf else y
    return y if u != 1.0 else x

def expm1(x):
    y = min(max(x - 1.0 if x > 708.0 else x, -40.0), 709.0)
    {reduced}
    y = s * ({_series(13)}) + (s - 1.0)
    y = y * {math.e!r} if x > 708.0 else y
    return y if x == x and x != 0.0 else x
"""
    scope: dict[str, Any] = {
        "math": math, "power_of_two": power_of_two, "fused": fused, "bits_of": bits_of,
        "float_of": float_of,
    }  # fmt: skip
    exec(compile(source, "<exponentials>", "exec"), scope)
    # Products and sums as one instruction: more exact here, where the user's own are left alone.
    options: Any = {"error_model": "numpy", "fastmath": {"contract"}}
    names = ("exp", "tanh", "sin", "cos", "log", "expm1")
    scope["wave"] = numba.njit(scope["wave"], **options)
    made = {name: numba.njit(scope[name], **options) for name in names}
    scope["log"] = made["log"]
    # What is lost in 1 + x is given back: here sums are taken as they are written.
    made["log1p"] = numba.njit(scope["log1p"], error_model="numpy")
    if not has_fused():
        made |= {"sin": numba.njit(_sin), "cos": numba.njit(_cos)}
    return {**made, "math": math}


def has_fused() -> bool:
    """Whether the processor has products and sums in one instruction."""
    from numba.core.codegen import get_host_cpu_features

    return bool({"+fma", "+neon"} & set(get_host_cpu_features().split(",")))


def _sin(x: float) -> float:
    return math.sin(x)


def _cos(x: float) -> float:
    return math.cos(x)


_known: dict[str, Any] = {}


def exponentials() -> dict[str, Any]:
    """Return these functions for numba, made once."""
    if not _known:
        _known.update(_functions())
    return _known


def loop_of(
    steps: list[Step], arrays: list[int], numbers: list[int], results: list[int]
) -> tuple[Callable, str]:
    """Return the loop that computes `results` from arrays and numbers, and its source.

    The loop returns how many elements are beyond what its sines and cosines are made for.
    """
    import numba

    names = {i: f"x{i}[i]" for i in arrays} | {i: f"x{i}" for i in numbers}
    lines = []

    def shown(x: Any) -> str:
        if type(x) is Ref:
            return names[x.i]
        return repr(float(x)) if x >= 0 else f"({float(x)!r})"

    for step in steps:
        args = [shown(a) for a in step.args]
        if step.f in WAVES:
            lines.append(f"far += 1 if abs({args[0]}) > {FAR!r} else 0")
        lines.append(f"v{step.out} = {widened(step.f, args)}")
        names[step.out] = f"v{step.out}"
        if step.out in results:
            lines.append(f"y{step.out}[i] = v{step.out}")
    given = [f"x{i}" for i in [*arrays, *numbers]] + [f"y{i}" for i in results]
    body = "".join(f"        {line}\n" for line in lines)
    heads = f"    far = 0\n    for i in range(len(y{results[0]})):\n"
    source = f"def loop({', '.join(given)}):\n{heads}{body}    return far\n"
    scope = dict(exponentials())
    exec(compile(source, "<loop over a block>", "exec"), scope)
    read: Any = numba.types.Array(numba.float64, 1, "C", readonly=True)
    signature: list[Any] = [read] * len(arrays) + [numba.float64] * len(numbers)
    signature += [numba.float64[::1]] * len(results)
    return numba.njit(tuple(signature), nogil=True, error_model="numpy")(scope["loop"]), source

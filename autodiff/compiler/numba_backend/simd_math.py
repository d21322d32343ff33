"""Blocks of elementwise steps as one loop of machine code, with functions that are widened.

Where a processor has no instructions that NumPy's exp and tanh are written for, they cost more than
all else in a chain, and sines NumPy takes one by one. Here they are those of `vector_functions`,
so LLVM works on several elements at once. Who uses sines looks for elements beyond `FAR`.
"""

from __future__ import annotations

import math
import types
from collections.abc import Callable
from typing import Any

import numpy as np

from autodiff import vector_functions
from autodiff.compiler.numba_backend.loop_ir import constant
from autodiff.compiler.recording.ir import Ref, Step
from autodiff.functions import facts_of, known
from autodiff.vector_functions import FAR

_SIMD = known("simd")
WIDENED = frozenset(f for f, loops in _SIMD.items() if loops == "long")
"""What loops over few elements leave to the functions of ``math``."""
WAVES: Any = (np.sin, np.cos)
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


def _functions() -> dict[str, Any]:
    """Return these functions for numba."""
    import numba
    from numba.extending import intrinsic

    from autodiff.structured.native.llvm.bits import BY_BITS  # numba brings llvmlite along
    from autodiff.structured.native.llvm.code import has_fused

    kinds = {"float": numba.float64, "int": numba.int64}

    def by_bits(f: Any, write: Callable) -> Any:
        """Return a function that is written as instructions; it has one argument, or three."""
        *given, result = [kinds[name] for name in f.__annotations__.values()]

        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            return write(builder, *arguments)

        def of_one(typing: Any, x: Any) -> Any:
            return result(*given), generate

        def of_three(typing: Any, a: Any, b: Any, c: Any) -> Any:
            return result(*given), generate

        return intrinsic(of_one if len(given) == 1 else of_three)

    scope: dict[str, Any] = dict(vars(vector_functions))
    own = [f for f in scope.values() if getattr(f, "__module__", "") == vector_functions.__name__]
    for f in own:
        # Products and sums as one instruction: more exact here, where the user's own are left
        # alone. In log1p what is lost in 1 + x is given back: there sums are as they are written.
        fastmath: Any = {"contract"} if f is not vector_functions.log1p else False
        f = types.FunctionType(f.__code__, scope, f.__name__)
        scope[f.__name__] = numba.njit(f, error_model="numpy", fastmath=fastmath)
    scope.update({f.__name__: by_bits(f, write) for f, write in BY_BITS.items()})
    made = {f.__name__: scope[f.__name__] for f in _SIMD}
    if not has_fused():
        made |= {"sin": numba.njit(_sin), "cos": numba.njit(_cos)}
    return {**made, "math": math}


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

    for step in steps:
        args = [names[a.i] if type(a) is Ref else constant(float(a)) for a in step.args]
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

"""Chains of elementwise steps as one loop of machine code, with vectorizable functions.

On processors for which NumPy's exp and tanh are not vectorized, these dominate the time of a chain;
sines never are. Here they are those of `vector_functions`, so that LLVM vectorizes the loop. A loop
with sines or cosines checks for elements beyond `FAR`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from autodiff.compiler.kernels.loop_ir import constant
from autodiff.compiler.recording.ir import FLOAT64, Ref, Step
from autodiff.functions import facts_of, known
from autodiff.structured.native.llvm.array_parameters import ArrayParameter
from autodiff.vector_functions import FAR

_SIMD = known("simd")
VECTORIZED_IF_LONG = frozenset(f for f, loops in _SIMD.items() if loops == "long")
"""Functions that only loops over many elements vectorize; shorter ones call those of ``math``."""
SINES: Any = (np.sin, np.cos)
_OTHERS: Any = {
    np.add, np.subtract, np.multiply, np.true_divide, np.negative, np.square, np.absolute,
    np.reciprocal, np.sqrt,
}  # fmt: skip


def is_vectorizable(steps: list[Step]) -> bool:
    """Whether steps are faster as such a loop: it can contain all, and vectorizes a function."""
    are_supported = all(
        (s.f in _SIMD or s.f in _OTHERS)
        and all(type(a) is Ref or type(a) in (int, float) for a in s.args)
        for s in steps
    )
    return are_supported and any(s.f in _SIMD for s in steps)


def vectorized_expression(f: Any, args: list[str]) -> str:
    """Return the expression of a function in a loop over many elements."""
    text = f"{f.__name__}({{0}})" if f in VECTORIZED_IF_LONG else facts_of(f).loops
    return text.format(*args)


def loop_of(
    steps: list[Step], arrays: list[int], numbers: list[int], results: list[int]
) -> tuple[Callable, str]:
    """Return the loop that computes `results` from arrays and numbers, and its source.

    Its last argument is the number of elements, as a float. It returns 0 if an argument of a sine
    or cosine is outside of the domain of the vectorizable one, else 1.
    """
    from autodiff.compiler.kernels.machine_code import KernelModule  # imports llvmlite

    names = {i: f"get(x{i}, i)" for i in arrays} | {i: f"x{i}" for i in numbers}
    lines = []
    for step in steps:
        args = [names[a.i] if type(a) is Ref else constant(float(a)) for a in step.args]
        if step.f in SINES:
            lines.append(f"far = plus(far, 1.0 if abs({args[0]}) > {FAR!r} else 0.0)")
        lines.append(f"v{step.out} = {vectorized_expression(step.f, args)}")
        names[step.out] = f"v{step.out}"
        if step.out in results:
            lines.append(f"put(y{step.out}, i, v{step.out})")
    parameters = [f"x{i}" for i in [*arrays, *numbers]] + [f"y{i}" for i in results] + ["n"]
    source = "\n".join([
        f"def loop({', '.join(parameters)}):",
        "    far = 0.0",
        "    for i in range(int(n)):",
        *[f"        {line}" for line in lines],
        "    if far > 0.0: return 0",
        "    return 1\n",
    ])  # fmt: skip
    given: list[ArrayParameter | None] = [ArrayParameter((None,), FLOAT64) for _ in arrays]
    given += (
        [None] * len(numbers)
        + [ArrayParameter((None,), FLOAT64, None, True) for _ in results]
        + [None]
    )
    return KernelModule({}).kernel(source, given, True), source

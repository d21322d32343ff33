"""The functions in C beneath scipy.ndimage, and how they are differentiated.

A kernel gets the array into which it is to write. Its body here computes the same by functions that
have rules, and writes it there.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from chainrules.scipy.delegated import trace_body
from chainrules.scipy.private import Private, look_up
from chainrules_core import decompose

_fourier = Private("ndimage._fourier")
_nd_image = Private("ndimage._nd_image")
_ni_support = Private("ndimage._ni_support")

# They make the arrays into which the kernels write.
trace_body(
    _ni_support._get_output, _fourier._get_output_fourier, _fourier._get_output_fourier_complex
)

# SciPy's modes in the order of their codes, as np.pad calls them.
PADDING = ("edge", "wrap", "symmetric", "reflect", "constant", "wrap", "constant")


def kernel(name: str, module: Any = _nd_image) -> Callable[[Callable], Callable]:
    """Declare the decorated body of a kernel, if SciPy has one of this name."""
    found = look_up(module, name)
    return decompose(found) if found is not None else lambda body: body


def widths_of(extents: Any, origins: Any) -> list[tuple[int, int]]:
    """How far a window of these extents reaches before and behind its place."""
    befores = [n // 2 + int(o) for n, o in zip(extents, origins, strict=True)]
    return [(b, n - 1 - b) for b, n in zip(befores, extents, strict=True)]


def along(value: Any, axis: int, ndim: int, rest: Any) -> list:
    """A sequence with a value for one axis."""
    return [value if i == axis else rest for i in range(ndim)]


def typed(x: Any, output: Any) -> Any:
    """`x` in the precision in which the result is wanted."""
    return x if x.dtype == output.dtype else x.astype(output.dtype)

"""compile: a function recorded once and run as straight-line code.

`recording` writes down the calls and what has to be guarded. `passes` make the program shorter and
say what may be written in place; `tiling` runs elementwise steps on large arrays tile by tile.
`python_backend` writes the source, `kernels` machine code for floats, loops and small arrays.
`tiering` decides when a program becomes machine code, and `compiled_function` holds it together.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from autodiff.compiler.compile_errors import CompileError as CompileError


def compile(f: Callable | None = None, *, maxsize: int = 16, backend: str = "auto") -> Any:
    """Return a function that does what `f` does, recorded once and compiled.

    The first call runs `f` and writes down every call of NumPy's, every operator, and what
    derivatives taken inside do, as one straight line of source. Later calls run this source. What
    Python read of a value while recording (a branch, an index), the types, dtypes, shapes and
    nesting of the arguments, ints and strings among them, and the global and closure variables that
    `f` reads are guarded: where they differ, `f` is recorded again and both are kept.

    Parameters
    ----------
    f : callable
        A pure function: its result depends on its arguments, and it does nothing else. It may take
        derivatives (``compile(lambda x: gradient(loss, x))``). Without it, a decorator is returned.
    maxsize : int
        How many programs are kept for one number of arguments, the least recently used are dropped.
    backend : {"auto", "python", "native"}
        Whether programs of floats and arrays become machine code: where it is faster, never, or
        at once. This needs llvmlite.

    Returns
    -------
    Compiled
        The function. ``.source`` shows the programs; ``.eager_because`` says why one could not be
        made, if so: then `f` runs as it is. ``.report()`` says what became of each loop.

    Raises
    ------
    CompileError
        If `f` draws random numbers without a generator among its arguments, reads the time or a
        file, or writes a variable outside.

    Examples
    --------
    >>> from autodiff import gradient
    >>> slope = compile(lambda x: gradient(lambda z: z * z, x))
    >>> slope(3.0), slope(4.0)
    (6.0, 8.0)
    >>> slope.variants
    1
    """
    from autodiff.compiler.compiled_function import Compiled  # not everybody compiles

    if f is None:
        return functools.partial(compile, maxsize=maxsize, backend=backend)
    return Compiled(f, maxsize, backend)

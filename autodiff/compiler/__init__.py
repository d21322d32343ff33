"""The compiler: record a function once, then run it as straight-line code.

`recording` writes down the calls and the guards. `passes` optimise the program and find out what
can be updated in place. `python_backend` generates Python source, `kernels` generates machine code
for floats and loop nests over arrays.
`tiering` decides when a program is compiled to machine code. `compiled_function` is what users
call; `call_recording` makes a program of a call, `variants` makes source of the program.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from autodiff.compiler.compile_errors import CompileError as CompileError


def compile(f: Callable | None = None, *, maxsize: int = 16, backend: str = "auto") -> Any:
    """Return a compiled version of `f`, which is recorded once and then run as straight-line code.

    The first call runs `f` and records every NumPy call and every operator, including those of
    derivatives taken inside. Later calls run the recorded source. Guards check everything that the
    recording relies on: each value that Python has read (in a branch, as an index), the types,
    dtypes, shapes and structure of the arguments, the values of ints and strings, and the global
    and closure variables that `f` reads. If a guard fails, `f` is recorded again and both programs
    are kept.

    Parameters
    ----------
    f : callable
        A pure function: its result depends only on its arguments, and it has no side effects. It
        may take derivatives (``compile(lambda x: gradient(loss, x))``). If it is omitted, a
        decorator is returned.
    maxsize : int
        How many programs are kept for one number of arguments; the least recently used is dropped.
    backend : {"auto", "python", "native"}
        Whether programs of floats and arrays become machine code: where it is faster, never, or
        at once. Machine code needs llvmlite.

    Returns
    -------
    Compiled
        The function. ``.source`` shows the programs. ``.eager_because`` says why the last
        recording failed, if it did; `f` then runs as written. ``.report()`` lists the loops.

    Raises
    ------
    CompileError
        If `f` draws random numbers without a generator among its arguments, reads the time or a
        file, or writes a global or captured variable.

    Examples
    --------
    >>> from autodiff import gradient
    >>> slope = compile(lambda x: gradient(lambda z: z * z, x))
    >>> slope(3.0), slope(4.0)
    (6.0, 8.0)
    >>> slope.variants
    1
    """
    from autodiff.compiler.compiled_function import Compiled  # imported when needed

    if f is None:
        return functools.partial(compile, maxsize=maxsize, backend=backend)
    return Compiled(f, maxsize, backend)

"""What the source of kernels calls, and how numba compiles it."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from autodiff.compiler.numba_backend.linalg.linalg_runtime import routines
from autodiff.compiler.numba_backend.simd_math import exponentials

_known: dict[str, Any] = {}


def compiled_by_numba(signature: tuple, is_inside: bool, is_long: bool = False) -> Callable:
    """Return what compiles a function; one that no Python calls needs less around it.

    Those that take long release the interpreter's lock.
    """
    import numba

    options: dict[str, Any] = {"no_cpython_wrapper": is_inside, "no_cfunc_wrapper": True}
    return numba.njit([signature], error_model="numpy", nogil=is_long, **options)


class Routine:
    """A function of the source's, compiled when it is needed.

    It is for one form of arguments: without that it would be compiled for each constant that it is
    called with.
    """

    def __init__(self, f: Callable) -> None:
        self.__name__ = f.__name__
        self._f = f
        self._compiled: Callable | None = None

    def compiled(self) -> Callable:
        """Return it as machine code, with what it calls itself."""
        import numba

        if self._compiled is not None:
            return self._compiled
        array = numba.float64[::1]
        kinds = {"s": array, "a": array.copy(readonly=True), "b": array.copy(readonly=True)}
        signature = [
            numba.boolean if name.startswith("is_") else kinds.get(name, numba.int64)
            for name in inspect.signature(self._f).parameters
        ]
        for cell in self._f.__closure__ or ():
            if isinstance(cell.cell_contents, Routine):
                cell.cell_contents = cell.cell_contents.compiled()
        self._compiled = compiled_by_numba(tuple(signature), True)(self._f)
        return self._compiled


def kernel_functions() -> dict[str, Any]:
    """Return what the source of kernels calls."""
    if _known:
        return _known
    from numba.core import types
    from numba.extending import intrinsic

    @intrinsic
    def get(typing: Any, array: Any, place: Any) -> Any:
        """An element, without a look at bounds."""

        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            memory = context.make_array(signature.args[0])(context, builder, arguments[0])
            return builder.load(builder.gep(memory.data, [arguments[1]], inbounds=True))

        return types.float64(array, types.int64), generate

    @intrinsic
    def put(typing: Any, array: Any, place: Any, value: Any) -> Any:
        """Write an element, without a look at bounds."""

        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            memory = context.make_array(signature.args[0])(context, builder, arguments[0])
            builder.store(arguments[2], builder.gep(memory.data, [arguments[1]], inbounds=True))
            return context.get_dummy_value()

        return types.void(array, types.int64, types.float64), generate

    # Sums and products of reductions may be taken in another order; no other operation may. As
    # instructions they take half the time to compile that functions would.
    def loosely(name: str) -> Any:
        def either(typing: Any, a: Any, b: Any) -> Any:
            def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
                instruction = getattr(builder, name)
                return instruction(*arguments, flags=("reassoc", "contract"))

            return types.float64(types.float64, types.float64), generate

        return intrinsic(either)

    # Of what is no NaN; who calls them looks for NaN apart, so that LLVM takes several at once.
    def chosen(sign: str) -> Any:
        def either(typing: Any, a: Any, b: Any) -> Any:
            def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
                flags = ("nnan", "nsz")
                is_first = builder.fcmp_ordered(sign, *arguments, flags=flags)
                return builder.select(is_first, *arguments, flags=flags)

            return types.float64(types.float64, types.float64), generate

        return intrinsic(either)

    plus, times = loosely("fadd"), loosely("fmul")
    larger, smaller = chosen(">"), chosen("<")
    called = routines(get, put, plus, times, Routine)
    found = {
        "get": get, "put": put, "plus": plus, "times": times, "larger": larger,
        "smaller": smaller, **called, **exponentials(),
    }  # fmt: skip
    _known.update(found)  # all at once: other threads look whether it is empty
    return _known

"""assert_tangents_close: whether two tangents are the same, and if not, where and how."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from chainrules_core.errors import counted
from chainrules_core.tangents import (
    AbstractTangent,
    AbstractZero,
    NoTangent,
    NotImplementedTangent,
    Tangent,
    ZeroTangent,
    backing,
    unthunk_deep,
)
from chainrules_core.testing.comparison.hints import hint
from chainrules_core.testing.failures import TangentMismatchError, described, shown
from chainrules_core.testing.numeric.precision import coarsest
from chainrules_core.testing.numeric.vectors import is_sparse, items_of, parts_of, primal_type_of

Close = Callable[[Any, Any, str], None]

_CONTAINERS = (tuple, list, dict)
_NUMERIC = "fciub"


class Tolerance(NamedTuple):
    """How much tangents may differ; None stands for what their precision deserves."""

    rtol: float | None = None
    atol: float | None = None
    equal_nan: bool = False

    def of(self, epsilon: float) -> tuple[float, float]:
        """Return rtol and atol for numbers of machine epsilon `epsilon`."""
        if epsilon > 1e-4:
            rtol, atol = 2e-2, 1e-2
        elif epsilon > 1e-9:
            rtol, atol = 1e-3, 1e-4
        else:
            rtol, atol = 1e-6, 1e-8
        return (
            rtol if self.rtol is None else self.rtol,
            atol if self.atol is None else self.atol,
        )


def assert_tangents_close(
    actual: Any,
    expected: Any,
    msg: str = "",
    *,
    rtol: float | None = None,
    atol: float | None = None,
    equal_nan: bool = False,
) -> None:
    """Raise an AssertionError unless two tangents of one primal agree.

    Thunks are forced. Zeros, written out or not, are equal, with one exception: where `expected`
    is ``NoTangent()``, nothing else will do, except inside a structure. Tangents of different
    primal types differ, and a bare tuple is no tangent.

    Parameters
    ----------
    actual, expected : tangent
        Numbers, arrays, structural tangents, zeros, thunks. Plain containers and objects on both
        sides are compared part by part, so this serves for primals as well.
    msg : str
        Put in front of what is said on failure.
    rtol, atol : float, optional
        Entries may differ by ``rtol * abs(expected) + atol * scale``, where the scale is the
        largest entry of the array, or 1 if that is larger. The defaults go by the least precise
        of the two: 1e-6 and 1e-8 for float64, 1e-3 and 1e-4 for float32, 2e-2 and 1e-2 for
        float16.
    equal_nan : bool
        Whether NaN equals NaN.

    Raises
    ------
    TangentMismatchError
        An AssertionError that says where they differ, and by how much.

    Notes
    -----
    ``@assert_tangents_close.register(Foo)`` registers a function of ``(actual, expected, close)``
    for comparisons with a ``Foo`` as expected value; it calls ``close(actual.a, expected.a,
    ".a")`` for the parts and raises an AssertionError of its own for the rest.

    Examples
    --------
    >>> assert_tangents_close(ZeroTangent(), np.zeros(3))
    >>> assert_tangents_close(np.array([1.0, 2.0]), np.array([1.0, -2.0]), "x_bar")
    Traceback (most recent call last):
        ...
    chainrules_core.testing.failures.TangentMismatchError: x_bar: 1 of 2 entries differ, ...
    """
    __tracebackhide__ = True
    try:
        _close(actual, expected, "", Tolerance(rtol, atol, equal_nan))
    except TangentMismatchError as error:
        error.message = msg
        raise


@functools.singledispatch
def _registered(expected: Any) -> Any:
    return None


def register_comparison(cls: type) -> Callable[[Callable], Callable]:
    """Register a function of ``(actual, expected, close)``; see `assert_tangents_close`."""

    def add(compare: Callable[[Any, Any, Close], None]) -> Callable:
        _registered.register(cls, lambda expected: compare)
        return compare

    return add


assert_tangents_close.register = register_comparison  # type: ignore[attr-defined]


def _close(actual: Any, expected: Any, path: str, tolerance: Tolerance) -> None:
    actual, expected = unthunk_deep(actual), unthunk_deep(expected)
    if isinstance(actual, NotImplementedTangent) or isinstance(expected, NotImplementedTangent):
        _close_missing(actual, expected, path)
    elif isinstance(actual, AbstractZero) or isinstance(expected, AbstractZero):
        _close_zero(actual, expected, path, tolerance)
    elif (compare := _registered(expected)) is not None:
        compare(actual, expected, lambda a, e, step: _close(a, e, path + step, tolerance))
    elif isinstance(actual, Tangent) or isinstance(expected, Tangent):
        _close_tangent(actual, expected, path, tolerance)
    else:
        _close_values(actual, expected, path, tolerance)


def _close_missing(actual: Any, expected: Any, path: str) -> None:
    if actual is expected or (
        type(actual) is type(expected) and actual.__reduce__() == expected.__reduce__()
    ):
        return
    missing = actual if isinstance(actual, NotImplementedTangent) else expected
    problem = f"the derivative is not implemented: {missing.reason} ({missing.file}:{missing.line})"
    problem += ". Write it, or do not compare it."
    raise TangentMismatchError(problem, path, actual, expected)


def _close_zero(actual: Any, expected: Any, path: str, tolerance: Tolerance) -> None:
    if isinstance(expected, NoTangent):
        if isinstance(actual, NoTangent) or (path and _vanishes(actual, tolerance)):
            return
        raise TangentMismatchError(
            f"expected NoTangent(), since there is nothing to perturb, but found {shown(actual)}",
            path, actual, expected,
        )  # fmt: skip
    other = actual if isinstance(expected, AbstractZero) else expected
    if _vanishes(other, tolerance):
        return
    if other is actual:
        problem = f"expected a zero, but found {shown(actual)}"
    else:
        problem = f"found {actual!r}, but expected {shown(expected)}"
    raise TangentMismatchError(problem, path, actual, expected)


def _vanishes(x: Any, tolerance: Tolerance) -> bool:
    """Whether every number in a tangent is zero, up to atol."""
    x = unthunk_deep(x)
    if isinstance(x, AbstractZero):
        return True
    if isinstance(x, AbstractTangent) and not isinstance(x, Tangent):
        return False
    if isinstance(x, Tangent):
        return all(_vanishes(part, tolerance) for _, part in items_of(x))
    parts = parts_of(x)
    if parts is not None:
        return all(_vanishes(part, tolerance) for part in parts.children)
    values = np.asarray(x.toarray() if is_sparse(x) else x)
    if values.dtype.kind not in _NUMERIC:
        return False
    return bool((np.abs(values) <= tolerance.of(coarsest(x))[1]).all())


def _close_tangent(actual: Any, expected: Any, path: str, tolerance: Tolerance) -> None:
    for bare, tangent in ((actual, expected), (expected, actual)):
        if isinstance(bare, _CONTAINERS):
            name = primal_type_of(tangent).__name__
            raise TangentMismatchError(
                f"a bare {type(bare).__name__}, {shown(bare, 60)}, is no tangent: write "
                f"Tangent[{name}](...)", path, actual, expected,
            )  # fmt: skip
    types = [primal_type_of(t) if isinstance(t, Tangent) else type(t) for t in (actual, expected)]
    if types[0] is not types[1] and not {Any, object} & set(types):
        raise TangentMismatchError(
            f"expected a {described_tangent(expected)}, but found a {described_tangent(actual)}",
            path, actual, expected,
        )  # fmt: skip
    ours, theirs = _fields(actual), _fields(expected)
    if isinstance(ours, tuple) and isinstance(theirs, tuple):
        if len(ours) != len(theirs):
            raise TangentMismatchError(
                f"expected {counted(len(theirs), 'part')}, but found {len(ours)}: there must be "
                "one for each element",
                path, actual, expected,
            )  # fmt: skip
        ours, theirs = dict(enumerate(ours)), dict(enumerate(theirs))
    is_named = not issubclass(types[1], _CONTAINERS) or hasattr(types[1], "_fields")
    for key in dict.fromkeys([*theirs, *ours]):
        step = f".{key}" if is_named and isinstance(key, str) else f"[{key!r}]"
        zero = ZeroTangent()
        _close(ours.get(key, zero), theirs.get(key, zero), path + step, tolerance)


def described_tangent(x: Any) -> str:
    """Return the kind of a tangent: ``Tangent[Foo]``, ``float64 array of shape (3,)``."""
    return type(x).__name__ if isinstance(x, Tangent) else described(x)


def _fields(x: Any) -> Any:
    if isinstance(x, Tangent):
        return backing(x)
    parts = parts_of(x)
    return {} if parts is None else dict(zip(parts.keys, parts.children, strict=True))


def _close_values(actual: Any, expected: Any, path: str, tolerance: Tolerance) -> None:
    if is_sparse(actual) and is_sparse(expected):
        _close_numbers(actual.toarray(), expected.toarray(), path, tolerance)
        return
    ours, theirs = parts_of(actual), parts_of(expected)
    if ours is not None and theirs is not None and type(actual) is type(expected):
        if ours.keys != theirs.keys:
            raise TangentMismatchError(
                f"expected the parts {shown(theirs.keys)}, but found {shown(ours.keys)}",
                path, actual, expected,
            )  # fmt: skip
        for key, a, e in zip(ours.keys, ours.children, theirs.children, strict=True):
            _close(a, e, path + ours.step(key), tolerance)
    elif ours is None and theirs is None and _is_numeric(actual) and _is_numeric(expected):
        _close_numbers(actual, expected, path, tolerance)
    elif not _equal(actual, expected):
        raise TangentMismatchError(
            f"expected {described(expected)} {shown(expected)}, "
            f"but found {described(actual)} {shown(actual)}", path, actual, expected,
        )  # fmt: skip


def _is_numeric(x: Any) -> bool:
    return not is_sparse(x) and np.asarray(x).dtype.kind in _NUMERIC


def _equal(actual: Any, expected: Any) -> bool:
    if actual is expected:
        return True
    same = actual == expected
    if isinstance(same, np.ndarray):
        return np.shape(actual) == np.shape(expected) and bool(same.all())
    return same is not NotImplemented and bool(same)


def _close_numbers(actual: Any, expected: Any, path: str, tolerance: Tolerance) -> None:
    rtol, atol = tolerance.of(max(coarsest(actual), coarsest(expected)))
    a, e = np.asarray(actual), np.asarray(expected)
    if a.shape != e.shape:
        raise TangentMismatchError(
            f"expected the shape {e.shape}, but found {a.shape}" + hint(a, e, rtol),
            path, actual, expected,
        )  # fmt: skip
    if a.dtype.kind in "biu":
        a = a.astype(float)
    if e.dtype.kind in "biu":
        e = e.astype(float)
    with np.errstate(all="ignore"):
        size = np.abs(e)
        scale = max(1.0, float(size[np.isfinite(size)].max(initial=0.0)))
        allowed = rtol * size + atol * scale
        difference = np.abs(a - e)
        good = (difference <= allowed) & np.isfinite(e) | (a == e)
        if tolerance.equal_nan:
            good |= np.isnan(a) & np.isnan(e)
    if good.all():
        return
    bad = ~good
    worst = np.unravel_index(np.argmax(np.where(bad, np.nan_to_num(difference, nan=np.inf), -1)),
                             bad.shape)  # fmt: skip
    at = f" at [{', '.join(map(str, worst))}]" if a.ndim else ""
    if a.ndim:
        entries = "entry differs" if bad.sum() == a.size == 1 else "entries differ"
        counted = f"{bad.sum()} of {a.size} {entries}, most{at}: "
    else:
        counted = ""
    raise TangentMismatchError(
        f"{counted}found {_number(a[worst])}, expected {_number(e[worst])} (a difference of "
        f"{difference[worst]:.3g}, where {allowed[worst]:.3g} is allowed)" + hint(a, e, rtol),
        path, actual, expected,
    )  # fmt: skip


def _number(x: Any) -> str:
    return f"{x:.12g}"

"""debug_nans: find the first call that turns finite values into NaN or Inf."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from autodiff.errors import DifferentiationError, user_line
from autodiff.trace.nodes import Node, ProductNode
from autodiff.trace.observers import Observer, argument_name, indices_on, observing
from autodiff.trace.pytree import leaves_of
from autodiff.trace.tape import Tape
from autodiff.trace.tracer import untraced
from chainrules_core import AbstractZero, ChainRulesError, NotImplementedTangent, Tangent, unthunk
from chainrules_core.define.scalar import strong_product
from chainrules_core.rules import name_of


class NonFiniteError(DifferentiationError, FloatingPointError):
    """A call turned finite values into NaN or Inf; raised only under :func:`debug_nans`.

    Attributes
    ----------
    where : str
        The user's line of the call; for a pullback, the line of the call that it belongs to.
    """

    def __init__(self, message: str, where: str) -> None:
        self.where = where
        ChainRulesError.__init__(self, f"{message}\n  at {where}")


@contextmanager
def debug_nans(*, infs: bool = True) -> Iterator[None]:
    """Raise an error at the first call that turns finite values into NaN or Inf.

    Inside the ``with`` block, the values, tangents and cotangents of all differentiated calls of
    this thread are checked. Untraced values are not. The error names the function, the argument and
    the user's line; for a pullback, the line of the call that it belongs to.

    Parameters
    ----------
    infs : bool
        Whether to check for Inf as well as for NaN.

    Raises
    ------
    NonFiniteError
        At the first such call.

    Notes
    -----
    Differentiation is many times slower inside the block. Outside it costs nothing.

    Examples
    --------
    >>> from autodiff import gradient
    >>> def f(x):
    ...     return np.sum(np.sqrt(x) * 2)
    >>> with debug_nans():
    ...     gradient(f, np.array([4.0, 0.0]))
    Traceback (most recent call last):
        ...
    autodiff.api.debug_nans.NonFiniteError: the pullback of numpy.sqrt made an Inf for argument 'x'
    at (1,)...
    """
    with observing(_Watch(infs)):
        yield


class _Watch(Observer):
    """Checks the inputs and outputs of calls and pullbacks."""

    def __init__(self, infs: bool) -> None:
        self.infs = infs

    def bad(self, x: Any) -> tuple[str, tuple] | None:
        """Return the kind and index of the first element that is not finite, if there is one."""
        for leaf in _numbers(x):
            wrong = np.isnan(leaf)
            if self.infs:
                wrong = wrong | np.isinf(leaf)
            if np.any(wrong):
                place = tuple(int(i) for i in np.argwhere(wrong)[0])
                kind = "a NaN" if np.isnan(np.asarray(leaf)[place]) else "an Inf"
                return kind, place
        return None

    def call(
        self, proceed: Callable[[], Any], f: Callable, args: tuple, kwargs: dict, tape: Tape
    ) -> Any:
        """Make a call and check its value, in forward mode also its tangent."""
        was_fine = self.bad((args, kwargs)) is None
        dots_were_fine = tape.forward and self.bad(indices_on((args, kwargs), tape)) is None
        with np.errstate(all="ignore"):
            result = proceed()
        found = self.bad(result) if was_fine else None
        if found is not None:
            raise NonFiniteError(
                f"{name_of(f)} made {_at(found)} out of finite arguments: {_shown(args)}.",
                user_line(),
            )
        found = self.bad(indices_on(result, tape)) if dots_were_fine else None
        if found is not None:
            raise NonFiniteError(
                f"{name_of(f)} made {_at(found)} in its tangent out of finite tangents; its "
                f"arguments are {_shown(args)}.",
                user_line(),
            )
        return result

    def added(self, node: Any, place: int, tape: Tape) -> None:
        """Check the cotangents that the pullback of a node returns."""
        if isinstance(node, Node):
            node.pull = self._checked(node.pull, node, user_line())

    def _checked(self, pull: Callable, node: Node, where: str) -> Callable:
        rule, positions = node.rule, node.positions
        # Plain products turn 0 · Inf into NaN, for which the sweep would be repeated.
        extra = (strong_product,) if isinstance(node, ProductNode) else ()

        def checked_pull(y_bar: Any, *product: Any) -> list:
            bars = [unthunk(bar) for bar in pull(y_bar, *extra)]
            if self.bad(y_bar) is None:
                for position, bar in zip(positions, bars, strict=True):
                    found = self.bad(bar)
                    if found is not None:
                        name = argument_name(rule, position)
                        made = _at(
                            found, f" for argument {position if name is None else repr(name)}"
                        )
                        raise NonFiniteError(
                            f"the pullback of {rule.name} made {made} out of a finite cotangent: "
                            f"{_shown((y_bar,))}. The call was",
                            where,
                        )
            return bars

        return checked_pull


def _numbers(x: Any) -> Iterator[Any]:
    """Yield the plain inexact numbers and arrays in a pytree or tangent."""
    x = unthunk(x)
    if isinstance(x, (AbstractZero, NotImplementedTangent)):
        return
    if isinstance(x, Tangent):
        for part in Tangent.values(x):
            yield from _numbers(part)
        return
    for leaf in leaves_of(x):
        plain = untraced(leaf)
        if isinstance(plain, (float, complex)) or (
            isinstance(plain, (np.ndarray, np.generic)) and plain.dtype.kind in "fc"
        ):
            yield plain


def _at(found: tuple[str, tuple], of: str = "") -> str:
    kind, place = found
    return f"{kind}{of} at {place}" if place else f"{kind}{of}"


def _shown(args: tuple) -> str:
    """Describe arguments for a message."""
    return ", ".join(_described(untraced(a)) for a in args) or "none"


def _described(x: Any) -> str:
    if isinstance(x, np.ndarray) and x.size > 6:
        if x.dtype.kind != "f":
            return f"{x.dtype} array of shape {x.shape}"
        return f"{x.dtype} array of shape {x.shape} from {x.min():.6g} to {x.max():.6g}"
    text = " ".join(str(x).split())
    return text if len(text) <= 60 else f"{text[:57]}..."

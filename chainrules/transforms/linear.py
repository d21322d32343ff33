"""Linear maps of one array: what rules of transforms and filters have in common.

They take nested lists for the array. Some may write into it (``overwrite_x=True``); under
differentiation they must not, since other pullbacks may hold it, so that option is dropped.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from chainrules.shapes.joining import slab
from chainrules_core import Array
from chainrules_core.calling.signatures import Signature, signature_of
from chainrules_core.define import LinearRule

WRITING = frozenset({"overwrite_x"})


def harmless(options: dict[str, Any]) -> dict[str, Any]:
    """The options without those that let the function write into its argument."""
    return {name: value for name, value in options.items() if name not in WRITING}


class LinearMapRule(LinearRule):
    """The rule of a function linear in its first argument, an array that it leaves alone."""

    @property
    def signature(self) -> Signature:
        """The parameters of the adjoint, and the options of `f` that it drops."""
        taken = super().signature
        known = signature_of(self.f)
        if known is not None:
            taken.options = (taken.options | WRITING) & frozenset(known.parameters)
        return taken

    def record(self, args: tuple, options: dict[str, Any], *rest: Any) -> tuple[Any, Callable]:
        """Compute the primal; only the space of the array is kept."""
        return super().record(args, harmless(options), *rest)

    def push(
        self, dots: tuple, args: tuple, options: dict[str, Any], *rest: Any
    ) -> tuple[Any, Any]:
        """Apply the function itself to the tangent."""
        return super().push(dots, args, harmless(options), *rest)


def linear_map(f: Callable | Sequence[Callable], adjoint: Callable) -> None:
    """Define both rules of functions that are linear in their first argument, by the adjoint.

    Parameters
    ----------
    f : callable or sequence of callables
        The function, or several that compute the same.
    adjoint : callable
        ``adjoint(y_bar, x, *, …)``: as for :func:`chainrules_core.linear_rule`.
    """
    for target in (f,) if callable(f) else f:
        rule = LinearMapRule(
            target, (adjoint,), (Array,), argnums=(0,), joint=False, add_into=None, broadcasts=False
        )
        rule.register(lists=True)


def fitted(x: Any, n: int, axis: int) -> Any:
    """Cut the end of an axis off, or continue it with zeros, to a length of `n`.

    It is the adjoint of itself, with the lengths exchanged.
    """
    shape = np.shape(x)
    axis = operator.index(axis) % len(shape)
    if n == shape[axis]:
        return x
    if n < shape[axis]:
        return slab(x, axis, 0, n)
    more = (*shape[:axis], n - shape[axis], *shape[axis + 1 :])
    return np.concatenate([x, np.zeros(more, x.dtype)], axis=axis)

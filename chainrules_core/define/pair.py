"""pair_rule: both rules of a function, from its value, its pushforward and its pullback."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from chainrules_core.calling.frame import materialised
from chainrules_core.calling.lists import array_of, is_list, tangent_as_array
from chainrules_core.config import RuleConfig
from chainrules_core.errors import RuleResultError
from chainrules_core.rule import HandRule
from chainrules_core.rules import checked_key, frule, rrule


class PairRule(HandRule):
    """A rule written by hand for both modes; its function returns both linear maps."""

    def __init__(self, f: Callable, types: tuple, function: Callable, mode: str, **traits: Any):
        super().__init__(f, types, function, mode="rrule", **traits)
        self.kind = mode
        self.author = function
        self.returns = ("y", "pushforward", "pullback")

    def push(
        self,
        dots: tuple,
        args: tuple,
        options: dict[str, Any],
        config: RuleConfig | None = None,
    ) -> tuple[Any, Any] | None:
        """Call the author's function, and the pushforward with zero tangents made concrete."""
        dots = tuple([materialised(d, a) for d, a in zip(dots, args, strict=True)])
        function = self.author
        if self.takes_lists and any(map(is_list, args)):
            dots = tuple([tangent_as_array(d, a) for d, a in zip(dots, args, strict=True)])
            args = tuple([array_of(a) for a in args])
        if config is not None and config.body is not None:
            function = config.body(function)
        result = function(*args, **options)
        if result is None:
            return None
        if type(result) is not tuple or len(result) != 3:
            raise RuleResultError(self, result)
        y, pushforward, _ = result
        return y, pushforward(*dots)


def pair_rule(
    f: Callable | tuple[Callable, ...],
    *types: Any,
    broadcasts: bool = False,
    lists: bool = False,
    shaped_by: Sequence[int] = (),
) -> Callable[[Callable], Callable]:
    """Define the frule and the rrule of a function by its pushforward and its pullback.

    The decorated function takes the arguments of `f`, as with ``rrule.register``: positional
    parameters are differentiated, keyword-only ones are options. It returns the value, the
    pushforward and the pullback, or None to decline. Compute what both need once, before them.

    Parameters
    ----------
    f : callable or tuple of callables
        The function, or several that compute the same.
    *types : type, tuple or list
        Types of the leading arguments, as for ``rrule.register``.
    broadcasts, lists : bool
        As for ``rrule.register``.
    shaped_by : sequence of int
        As for ``rrule.register``.

    Returns
    -------
    callable
        A decorator that returns the function unchanged.

    See Also
    --------
    scalar_rule, linear_rule : Shorter forms for elementwise and linear functions.

    Examples
    --------
    >>> import numpy as np
    >>> def inverse(a): return np.linalg.inv(a)
    >>> @pair_rule(inverse, np.ndarray)
    ... def inverse_rule(a):
    ...     y = inverse(a)
    ...     def inverse_pushforward(a_dot):
    ...         return -y @ a_dot @ y
    ...     def inverse_pullback(y_bar):
    ...         return -y.T @ y_bar @ y.T
    ...     return y, inverse_pushforward, inverse_pullback
    >>> frule((0.0, np.eye(1)), inverse, 2 * np.eye(1))
    (array([[0.5]]), array([[-0.25]]))
    >>> rrule.unregister(inverse); frule.unregister(inverse)
    """

    def add(function: Callable) -> Callable:
        for target in f if isinstance(f, tuple) else (f,):
            for table in (rrule, frule):
                rule = PairRule(
                    checked_key(target), types, function, table.mode,
                    broadcasts=broadcasts, lists=lists, shaped_by=shaped_by,
                )  # fmt: skip
                table.add(rule)
        return function

    return add

"""expression: partial derivatives as expressions, beside a rule that finds them in another way."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from chainrules_core.define.scalar import elementwise_rules
from chainrules_core.errors import RuleDefinitionError
from chainrules_core.rule import name_of
from chainrules_core.rules import checked_key, rrule

KINDS = ("real", "real number", "complex", "complex number")
"""What the arguments may be: arrays and numbers, or numbers alone."""


def expression(f: Callable | tuple[Callable, ...], *partials: Any, of: str = "real") -> None:
    """Give the rules of an elementwise function its partial derivatives as expressions.

    A rule may choose between cases, share work, or be none of partial derivatives. An engine that
    writes derivatives as code cannot read such a rule, but it can read an expression. Both must say
    the same. All rules that the function has so far get the expression, those left out that have
    one. A rule that is registered later has none, and is called.

    Parameters
    ----------
    f : callable or tuple of callables
        The function, or several that compute the same. Each must have a rule.
    *partials : callable, number or tangent
        One for each argument, as for ``scalar_rule``. The callables consist of operators and
        calls of functions, without branches.
    of : str
        The arguments for which it holds, one of the following.

        ``"real"``
            Arrays and numbers.
        ``"real number"``
            Numbers, and no arrays: the expression may call functions of ``math``. It is preferred
            to that of ``"real"``.
        ``"complex"``
            Arrays and numbers, of which some are complex. If the function has real values, the
            expression is its gradient ∂y/∂re + i ∂y/∂im, which is multiplied by ȳ and not
            conjugated.
        ``"complex number"``
            The same of complex numbers, and no arrays. It is preferred to that of ``"complex"``.

    Raises
    ------
    RuleDefinitionError
        If a function has no rule or several outputs, a partial takes the wrong number of
        arguments, or `of` is something else.

    Examples
    --------
    >>> import numpy as np
    >>> from chainrules_core import frule, pair_rule
    >>> def ramp(x): return np.maximum(x, 0.0)
    >>> @pair_rule(ramp)
    ... def ramp_rule(x):
    ...     inside = np.greater(x, 0.0)
    ...     return ramp(x), lambda x_dot: inside * x_dot, lambda y_bar: inside * y_bar
    >>> expression(ramp, lambda y, x: 1.0 * (x > 0.0))
    >>> rrule.methods(ramp)[0].expressions["real", 1].partials[0][0](3.0, 3.0)
    1.0
    >>> rrule.unregister(ramp); frule.unregister(ramp)
    """
    if of not in KINDS:
        raise RuleDefinitionError(
            f"expression(..., of={of!r}): write one of {', '.join(map(repr, KINDS))}."
        )
    for target in f if isinstance(f, tuple) else (f,):
        rules = rrule.methods(checked_key(target))
        if not rules:
            raise RuleDefinitionError(
                f"expression for {name_of(target)}: the function has no rrule that could say the "
                "same. Register its rule first."
            )
        (made,) = elementwise_rules(target, partials, form="expression")
        if made.several:
            raise RuleDefinitionError(
                f"expression for {name_of(target)} was given tuples. It takes one partial for each "
                "argument of a function with one output."
            )
        for rule in rules:
            rule.expressions = {(of, made.n): made, **rule.expressions}

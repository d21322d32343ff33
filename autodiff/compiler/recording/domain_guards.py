"""Guards of domains: a program stops where Python's functions of floats would raise."""

from __future__ import annotations

import math
import operator
import sys
from collections.abc import Callable
from typing import Any

import numpy as np

from autodiff import caches
from autodiff.compiler.recording.ir import Meta, Ref, Step, has_refs, refs_in, set_flat, set_item
from autodiff.functions import facts_of, known
from chainrules_core.interpreter.places import MADE_HERE

SOURCES: dict[Callable, str] = {}
"""Predicates of floats that guards use → their source."""


def question(source: str) -> Callable[[float], bool]:
    """Return the predicate that an expression defines."""
    written = f"lambda x: {source.format('x')}"
    ask = eval(compile(written, f"{MADE_HERE}a domain>", "eval"))
    SOURCES[ask] = source
    return ask


_questions = {s: question(s) for s in sorted({*known("domain").values(), "{0} != 0.0"})}
DOMAINS = {f: _questions[source] for f, source in known("domain").items()}
"""Functions of ``math`` → the predicate of arguments for which they do not raise."""
is_not_zero = _questions["{0} != 0.0"]
is_not_negative = DOMAINS[math.sqrt]

_DIVISIONS = frozenset({operator.truediv, operator.floordiv, operator.mod})
POWERS: frozenset[Any] = frozenset({operator.pow, pow, math.pow})
_MOST_POWERS = 256
_OF_PLACES = frozenset({operator.getitem, set_item, set_flat})
_OF_REGULAR_MATRICES = frozenset({np.linalg.inv, np.linalg.solve})


def regular_matrix(step: Step) -> tuple | None:
    """Return the matrix that a step requires to be regular; None for other steps."""
    return tuple(refs_in(step.args[0])) if step.f in _OF_REGULAR_MATRICES else None


def may_raise(step: Step, metas: list[Meta]) -> bool:
    """Whether a step may raise for some values of these types and shapes, as far as is known.

    Called for steps whose results are not read and for which `domain_of` returns None.
    """
    f = step.f
    if f in POWERS or f is np.power:
        return metas[step.out].type in (float, int, complex) and has_refs(step.args[1])
    if isinstance(f, np.ufunc):
        return (getattr(f, "__module__", None) or "numpy") not in ("numpy", "scipy.special")
    if f in _OF_PLACES:
        return has_refs(step.args[1])
    facts = facts_of(f)
    module = getattr(f, "__module__", None) or ""
    if facts.never_raises or module.partition(".")[0] not in ("numpy", "scipy"):
        return False
    is_safe = facts.has_fixed_form and not facts.raises_by_value
    return not is_safe or module.startswith("numpy.linalg")


def domains_unread(step: Step, metas: list[Meta]) -> list[tuple]:
    """Return the arguments of such guards for a step whose result nobody reads."""
    found = domain_of(step, metas)
    domains = [] if found is None else [found]
    if step.f in POWERS and metas[step.out].type is float and len(step.args) == 2:
        x, c = step.args
        if type(x) is Ref and type(c) is float and not c.is_integer():
            domains.append((x, is_not_negative, True))  # else the type is another one
    return domains


def domain_of(step: Step, metas: list[Meta]) -> tuple | None:
    """Return the arguments of a guard that fails where a step would raise; None if it cannot."""
    if step.f in POWERS:
        return _domain_of_power(step, metas)
    x = step.args[-1] if step.args else None
    if type(x) is not Ref:
        return None
    if step.f in (math.fmod, math.remainder):
        return x, is_not_zero, True
    if step.f in _DIVISIONS:
        # NumPy's numbers give Inf; Python's floats raise.
        others = [metas[a.i].type if type(a) is Ref else type(a) for a in step.args]
        return (x, is_not_zero, True) if all(t in (float, int) for t in others) else None
    domain = DOMAINS.get(step.f)
    return None if domain is None or len(step.args) != 1 else (x, domain, True)


def _domain_of_power(step: Step, metas: list[Meta]) -> tuple | None:
    """Return the arguments of a guard that fails where a power of a float raises."""
    if step.kwargs or len(step.args) != 2 or metas[step.out].type is not float:
        return None
    x, c = step.args
    if type(x) is not Ref or type(c) not in (int, float) or not 1e-3 < abs(c) < 1e6:
        return None
    if metas[x.i].type is not float and step.f is not math.pow:
        return None
    if 0 < c <= 1:
        return None
    if float(c) not in _powers and len(_powers) >= _MOST_POWERS:
        return None
    return x, power_of(float(c)), True


def power_of(c: float) -> Callable:
    """Return the predicate of floats whose power with this exponent does not overflow."""
    known = _powers.get(c)
    if known is None:
        source = (_IN_REACH if c > 0 else _NO_FURTHER).format(_last_base(c))
        known = _powers[c] = question(source)
    return known


# For x not finite, x - x is NaN. A call of abs would take as long as the power.
_IN_REACH = "(-{0!r} <= {{0}} <= {0!r} or {{0}} - {{0}} != 0.0)"
_NO_FURTHER = "({{0}} >= {0!r} or {{0}} <= -{0!r} or {{0}} != {{0}})"
_powers: dict[float, Callable] = caches.register("guards of powers", {})


def _last_base(c: float) -> float:
    """Return the extreme float whose power does not overflow."""
    x = sys.float_info.max ** (1 / c)
    beyond = math.inf if c > 0 else 0.0
    while not _has_power(x, c):
        x = math.nextafter(x, 0.0 if c > 0 else math.inf)
    while _has_power(math.nextafter(x, beyond), c):
        x = math.nextafter(x, beyond)
    return x


def _has_power(x: float, c: float) -> bool:
    try:
        return math.isfinite(x**c)
    except ArithmeticError:
        return False

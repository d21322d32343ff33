"""Functions that are not differentiated, on purpose: a call with a traced value says why.

For what has a derivative that would mislead, or none by the way in which the value is made (draws
by rejection). A constant zero, or a missing rule, would say less.
"""

from __future__ import annotations

import datetime
from collections.abc import Callable, Iterable
from typing import Any, NoReturn

import numpy as np

from chainrules_core import Array, ChainRulesError, frule, rrule
from chainrules_core.rule import Rule
from chainrules_core.rules import checked_key
from chainrules_core.signatures import Signature, signature_of


class RefusedError(ChainRulesError, TypeError):
    """A function that is not differentiated was called with a traced value.

    Attributes
    ----------
    name : str
        The function.
    reason : str
        Why, and what to do.
    """

    def __init__(self, name: str, reason: str) -> None:
        self.name = name
        self.reason = reason
        super().__init__(f"{name} was given a traced value, but is not differentiated: {reason}")


class RefusedRule(Rule):
    """The rule of a function that is not differentiated."""

    kind = "refused"

    def __init__(self, f: Callable, types: tuple, reason: str) -> None:
        super().__init__(f, types, lambda: _every_argument(f))
        self.reason = reason

    def record(self, *_: Any, **__: Any) -> NoReturn:
        """Say why not."""
        raise RefusedError(self.name, self.reason)

    push = record


def _every_argument(f: Callable) -> Signature:
    """Return a signature in which every argument counts as differentiated, however it is passed."""
    signature = signature_of(f)
    if signature is None:
        return Signature((), 0, varargs=True, any_option=True)
    parameters = [
        p for p in signature.parameters.values() if p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD)
    ]
    variadic = any(p.kind is p.VAR_POSITIONAL for p in signature.parameters.values())
    return Signature(tuple(p.name for p in parameters), 0, variadic, any_option=True)


def refuse(functions: Callable | Iterable[Callable], reason: str, *types: Any) -> None:
    """Declare that functions are not differentiated.

    Parameters
    ----------
    functions : callable or iterable of callables
        What is called.
    reason : str
        Why, and what to do instead: the end of the sentence "f was given a traced value, but is
        not differentiated: …".
    *types : type, tuple or list
        For which leading arguments.

    Examples
    --------
    >>> from chainrules_core import rrule
    >>> def lottery(x): return 0.0
    >>> refuse(lottery, "it does not look at its argument.")
    >>> rrule(lottery, 1.0)
    Traceback (most recent call last):
    ...
    chainrules.refused.RefusedError: ...lottery was given a traced value, but is not...
    >>> rrule.unregister(lottery); frule.unregister(lottery)
    """
    for f in (functions,) if callable(functions) else functions:
        for table in (rrule, frule):
            table.add(RefusedRule(checked_key(f), types, reason))


MEMORY = (
    "it reads the bare memory of its argument, which holds no derivative. Use the array itself, or "
    "wrap it in autodiff.ignore_derivatives(...)."
)
refuse((np.ndarray, np.nested_iters, np.recarray, np.frombuffer), MEMORY)
refuse(
    (np.rec.array, np.rec.fromarrays, np.rec.fromrecords),
    "an array of records holds no derivatives. Use an array for each field.",
)
refuse(
    datetime.timedelta,
    "a span of time is a whole number of microseconds. Compute with its seconds as a number.",
)
refuse((memoryview, bytes, bytearray), MEMORY, Array)
refuse(
    (np.matrix, np.asmatrix, np.bmat),
    "the operators of matrices are not those of arrays. Use arrays, with @ for the product.",
)

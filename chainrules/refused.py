"""Functions that are not differentiated, on purpose: a call with a traced value says why.

For what has a derivative that would mislead, or none by the way in which the value is made (draws
by rejection). A constant zero, or a missing rule, would say less.
"""

from __future__ import annotations

import datetime
import sys
import time
from collections.abc import Callable, Iterable
from typing import Any, NoReturn

import numpy as np

from chainrules_core import Array, ChainRulesError, frule, rrule
from chainrules_core.calling.signatures import Signature, signature_of
from chainrules_core.interpreter.places import user_line
from chainrules_core.rule import Rule, name_of
from chainrules_core.rules import checked_key


class RefusedError(ChainRulesError, TypeError):
    """A function that is not differentiated was called with a traced value.

    Attributes
    ----------
    name : str
        The function.
    reason : str
        Why, and what to do.
    where : str
        The user's line.
    """

    def __init__(self, name: str, reason: str) -> None:
        self.name = name
        self.reason = reason
        self.where = where = user_line()
        if "(through " in where:
            reason += (
                " A library's function that only shows the value, or writes it down, is given "
                "autodiff.ignore_derivatives(...) of it."
            )
        super().__init__(
            f"{name} was given a traced value, but is not differentiated: {reason}\n  at {where}"
        )


class RefusedRule(Rule):
    """The rule of a function that is not differentiated."""

    kind = "refused"
    has_formula = False

    def __init__(self, f: Callable, types: tuple, reason: str, name: str | None) -> None:
        super().__init__(f, types, lambda: _every_argument(f))
        self.reason = reason
        self._public = name

    def error(self) -> RefusedError:
        """Return the error that says why not."""
        return RefusedError(self._public or public_name(self.f), self.reason)

    def record(self, *_: Any, **__: Any) -> NoReturn:
        """Say why not."""
        raise self.error()

    push = record


def public_name(f: Callable) -> str:
    """Return the name under which a function is public, where its module is a private one."""
    name = name_of(f)
    owner = getattr(f, "__objclass__", f)  # of a method made in C, its class
    module = getattr(owner, "__module__", None) or ""
    own = name.removeprefix(f"{module}.")
    first, dot, rest = own.partition(".")
    parts = () if module == "builtins" else module.split(".")
    for i in range(1, len(parts) + 1):
        package = ".".join(parts[:i])
        contents = vars(sys.modules.get(package, object))
        if not first.startswith("_") and first in contents:
            return f"{package}.{first}{dot}{rest}"
        for key, value in contents.items():
            if value is f and not key.startswith("_"):
                return f"{package}.{key}"
    return name


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


def refuse(
    functions: Callable | Iterable[Callable], reason: str, *types: Any, name: str | None = None
) -> None:
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
    name : str, optional
        What the user calls, where `functions` are called by it.

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
            table.add(RefusedRule(checked_key(f), types, reason, name))


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
refuse(
    (
        datetime.datetime.fromtimestamp, datetime.datetime.utcfromtimestamp,
        datetime.date.fromtimestamp, time.gmtime, time.localtime, time.ctime,
    ),
    "a date is a whole number of microseconds. Compute with the seconds as a number.",
)  # fmt: skip
refuse((memoryview, bytes, bytearray), MEMORY, Array)
refuse(
    (np.matrix, np.asmatrix, np.bmat),
    "the operators of matrices are not those of arrays. Use arrays, with @ for the product.",
)

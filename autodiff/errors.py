"""Errors of the engine: each names the function, the argument, the user's line and a way out."""

from __future__ import annotations

import os
import sys
import types
from typing import Any

from chainrules_core import ChainRulesError
from chainrules_core.rules import name_of

_HERE = tuple(
    os.path.dirname(os.path.abspath(sys.modules[name].__file__ or "")) + os.sep
    for name in ("autodiff", "chainrules", "chainrules_core", "numpy", "multipledispatch")
)


def user_line() -> str:
    """Return where the user's code is: the innermost frame outside ours and NumPy's files."""
    frame: types.FrameType | None = sys._getframe(1)
    while frame is not None:
        code = frame.f_code
        if not code.co_filename.startswith((*_HERE, "<operator.")):
            return f"{code.co_filename}, line {frame.f_lineno}, in {code.co_name}"
        frame = frame.f_back
    return "an unknown line"


class DifferentiationError(ChainRulesError):
    """Something cannot be differentiated, or would be differentiated wrongly.

    Attributes
    ----------
    where : str
        The user's line.
    """

    def __init__(self, message: str) -> None:
        self.where = user_line()
        super().__init__(f"{message}\n  at {self.where}")


class OutputError(DifferentiationError, TypeError):
    """The function returned something that has no gradient."""


class ArgumentError(DifferentiationError, TypeError):
    """An argument cannot be differentiated with respect to."""


class SeedError(DifferentiationError, ValueError):
    """A pullback was given a cotangent that does not belong to the function's output."""


class LostValueError(DifferentiationError, TypeError):
    """A traced value would become a plain number, and its derivative be lost."""


class MissingRuleError(DifferentiationError, TypeError):
    """A function has no rule and no body that could be traced."""


class MutationError(DifferentiationError, TypeError):
    """A write into an array could not be followed."""


class LeakedTracerError(DifferentiationError, RuntimeError):
    """A traced value was used after the differentiation that made it had ended."""

    def __init__(self) -> None:
        super().__init__(
            "a traced value is used after the gradient() call that made it has ended. The function "
            "being differentiated has stored it somewhere (a global, an attribute, a cache). "
            "Store autodiff.ignore_derivatives(value), or return it with has_aux=True."
        )


def lost_value(how: str, kind: str) -> LostValueError:
    """Build the error for a traced value that would leave the engine's sight."""
    return LostValueError(
        f"{how} would turn a traced {kind} into a plain value, and its derivative would be lost "
        "without a word. Calls such as math.sin(x) are seen where the source of the calling "
        "function is to be had: put what was typed at a prompt or made by exec into a file. Else "
        "use the NumPy function on the value itself (np.sin(x)), give the function that needs the "
        "plain value a rule (chainrules_core.rrule.register), or, if it is to be a constant, wrap "
        "it in autodiff.ignore_derivatives(...)."
    )


def missing_rule(f: Any, args: tuple) -> MissingRuleError:
    """Build the error for a function without rule and body."""
    kinds = ", ".join(a.__class__.__name__ for a in args)
    return MissingRuleError(
        f"{name_of(f)} has no rule for ({kinds}) and no Python body to differentiate through. Give "
        f"it a rule with @chainrules_core.rrule.register({name_of(f)}, ...), or write the "
        "computation with functions that have one."
    )


def wrong_cotangent(node: Any, position: int, x_bar: Any, error: Exception) -> Exception:
    """Build the error for a cotangent that does not fit its argument."""
    from chainrules_core.errors import CotangentError

    return CotangentError(node.rule, node.positions[position], x_bar, error)

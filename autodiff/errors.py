"""Errors of the engine: each names the function, the argument, the user's line and a way out."""

from __future__ import annotations

import builtins
import os
import sys
import types
import weakref
from collections.abc import Mapping, Sequence
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
        if not code.co_filename.startswith((*_HERE, "<operator.", "<call of ")):
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


def array_of_objects(what: str) -> DifferentiationError:
    """Build the error for an array of Python's objects among traced values."""
    return DifferentiationError(
        f"{what}, which holds Python's objects: what these do is not differentiated, and a "
        "derivative would be lost without a word. Use an array of numbers (a.astype(float)), or a "
        "list where each value may be of another kind."
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


def missing_rule(
    f: Any, args: tuple, kwargs: Mapping[str, Any] | None = None, rules: Sequence = ()
) -> MissingRuleError:
    """Build the error for a call for which there is neither a rule nor a body.

    Parameters
    ----------
    f, args, kwargs
        The call.
    rules : sequence of Rule
        The rules that `f` has for other calls.
    """
    name = full_name(f)
    kinds = ", ".join(a.__class__.__name__ for a in args)
    options = ", ".join(f"{option}=" for option in kwargs or ())
    call = f"{name} with {options}" if options else name
    own = f"@chainrules_core.rrule.register({name}, ...)"
    if not rules:
        have = f"{call} has no rule for ({kinds}) and no Python body to differentiate through. Give"
        have += f" it a rule with {own}"
    else:
        known = "; ".join(map(repr, rules[:3])) + (" and more" if len(rules) > 3 else "")
        without = f"Call it without {options}" if options else "Call it with other arguments"
        have = f"{call} has no rule for ({kinds}), but for other calls: {known}. {without}, give it"
        have += f" one for this with {own}"
    return MissingRuleError(
        f"{have}, or write the computation with functions that have one. If the result is to be a "
        f"constant, wrap the traced argument in autodiff.ignore_derivatives(...)."
    )


def full_name(f: Any) -> str:
    """Return the name of a function with its module; a ufunc does not know its own."""
    name = name_of(f)
    if "." in name or f is getattr(builtins, name, None):
        return name
    places = [
        module
        for module, contents in list(sys.modules.items())
        # Not getattr: deprecated modules of SciPy warn.
        if module.startswith(("numpy.", "scipy.")) and vars(contents).get(name) is f
    ]
    return f"{min(places, key=lambda m: ('._' in m, len(m)))}.{name}" if places else name


def check_array_class(kind: type) -> None:
    """Raise for a class of arrays whose operators and methods are not those of arrays."""
    if kind in _known_classes:
        return
    for base in kind.__mro__:
        if base.__name__ in _OTHER_ARRAYS and base.__module__.partition(".")[0] == "numpy":
            raise ArgumentError(
                f"{_OTHER_ARRAYS[base.__name__]} (here {kind.__name__}) meets a traced value: its "
                "operators and methods are not those of arrays, and the derivative would be "
                "another function's. Make it an array (np.asarray(m), np.ma.getdata(m)), and write "
                "a mask as np.where(mask, 0, x) or x[~mask]."
            )
    _known_classes.add(kind)


_known_classes: weakref.WeakSet[type] = weakref.WeakSet()
_OTHER_ARRAYS = {"MaskedArray": "a masked array", "matrix": "a np.matrix"}


def wrong_cotangent(node: Any, position: int, x_bar: Any, error: Exception) -> Exception:
    """Build the error for a cotangent that does not fit its argument."""
    from chainrules_core.errors import CotangentError

    return CotangentError(node.rule, node.positions[position], x_bar, error)

"""Errors of the engine: each names the function, the argument, the user's line and a way out."""

from __future__ import annotations

import builtins
import sys
import types
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from chainrules_core import ChainRulesError
from chainrules_core.interpreter.places import frames, is_library_file, user_line as user_line
from chainrules_core.rules import name_of


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


class SourceError(DifferentiationError, TypeError):
    """Code whose source is not to be had could tell a traced value from its value."""

    def __init__(self, f: Any, what: str, cause: str, remedy: str) -> None:
        super().__init__(
            f"{name_of(f)} is given a traced value and its source is not to be had: {cause}. Calls "
            f"in it are not seen, and with {what} it could take another path than without a "
            f"derivative. {remedy}"
        )


class MissingRuleError(DifferentiationError, TypeError):
    """A function has no rule and no body that could be traced."""


class MutationError(DifferentiationError, TypeError):
    """A write into an array could not be followed."""


class ShardError(DifferentiationError, RuntimeError):
    """Workers did not evaluate a shard: they were lost, or too slow, again and again."""


class LeakedTracerError(DifferentiationError, RuntimeError):
    """A traced value was used after the differentiation that made it had ended."""

    def __init__(self) -> None:
        super().__init__(
            "a traced value is used after the gradient() call that made it has ended. The function "
            "being differentiated has stored it somewhere (a global, an attribute, a cache). "
            "Store autodiff.ignore_derivatives(value), or return it beside the result "
            "(value_and_gradient(f, x, has_aux=True))."
        )


def array_of_objects(what: str) -> DifferentiationError:
    """Build the error for an array of Python's objects among traced values."""
    return DifferentiationError(
        f"{what}, which holds Python's objects: what these do is not differentiated, and a "
        "derivative would be lost without a word. Use an array of numbers (a.astype(float)), or a "
        "list where each value may be of another kind."
    )


def untraced_array(array: Any, otherwise: str) -> MutationError:
    """Build the error for a traced value that is written into an array that cannot take it.

    Parameters
    ----------
    array : ndarray
        The array. One of integers, truth values or objects takes no traced value, whoever made it.
    otherwise : str
        What to say of an array of floats.
    """
    if array.dtype.kind in "fc":
        return MutationError(f"a traced value is written into an array {otherwise}")
    return MutationError(
        f"a traced value is written into an array of dtype {array.dtype}, which does not keep it "
        "as it is: its derivative would be lost. Make the array one of floats (dtype=float, or 1.0 "
        "in the place of 1). If the whole number is meant, write int(x) or x.astype(int); if a "
        "constant is, autodiff.ignore_derivatives(x)."
    )


def not_connected(*_: Any) -> Any:
    """Stand in for a function that :mod:`autodiff.wiring` puts in."""
    raise NotImplementedError("autodiff.wiring has not been imported")


def _source_unknown(code: types.CodeType, namespace: dict[str, Any]) -> Any:
    return None


source_of: Callable[[types.CodeType, dict[str, Any]], Any] = _source_unknown


def connect(source_of: Callable[[types.CodeType, dict[str, Any]], Any]) -> None:
    """Put in what says whether calls in some code are seen; see :mod:`autodiff.wiring`.

    It returns True, or why the source is not to be had and what to do about it, or None for code
    that was not asked about.
    """
    globals().update(source_of=source_of)


def lost_value(how: str, kind: str, instead: str = "") -> LostValueError:
    """Build the error for a traced value that would leave the engine's sight.

    Parameters
    ----------
    how : str
        What was done with it.
    kind : str
        The class of the value.
    instead : str
        What to do, where that does not depend on whose code did it.
    """
    return LostValueError(
        f"{how} would turn a traced {kind} into a plain value, and its derivative would be lost "
        f"without a word. {instead or _way_to_keep()} If it is to be a constant, wrap it in "
        "autodiff.ignore_derivatives(...)."
    )


def _way_to_keep() -> str:
    """Say what asked for a plain value, and how to do without."""
    library = ""
    for frame in frames():
        code = frame.f_code
        known = source_of(code, frame.f_globals)
        if isinstance(known, tuple):
            cause, remedy = known
            return (
                f"Calls such as math.sin(x) are seen where the source of the calling function is "
                f"to be had, and that of {code.co_qualname} is not: {cause}. {remedy} Or use "
                "NumPy's function (np.sin(x))."
            )
        if is_library_file(code.co_filename):
            library = library or f"{frame.f_globals.get('__name__', '')}.{code.co_qualname}"
        elif known:
            break
    if library:
        return (
            f"It is done in a library's function, {library}. Call one in its place that is "
            "differentiated, or give the function that you call a rule "
            "(chainrules_core.rrule.register)."
        )
    return (
        "It is done by C code that has no rule. Use what has one (np.sin(x), a list or an array of "
        "numbers for one of objects), or give it a rule (chainrules_core.rrule.register)."
    )


class System(NamedTuple):
    """Another system with arrays and derivatives of its own.

    Attributes
    ----------
    title : str
        Its name.
    to_it : str
        The call of :mod:`autodiff.interop` that wraps a function of ours for it.
    from_it : str
        The call that wraps a function of its own for this engine; empty if there is none.
    instead : str
        What to do, where no call wraps a function for it.
    """

    title: str
    to_it: str
    from_it: str = ""
    instead: str = ""


SYSTEMS = {
    "autograd": System("HIPS autograd", "to_autograd(f)"),
    "dask.array": System(
        "Dask",
        "",
        instead="Give its blocks as shards, list(x.to_delayed().ravel()), to "
        "autodiff.distributed.value_and_gradient, or its numbers, x.compute(), if they fit into "
        "memory.",
    ),
    "jax": System("JAX", "to_jax(f)", "from_jax(g)"),
    "jaxlib": System("JAX", "to_jax(f)", "from_jax(g)"),
    "pytensor": System("PyTensor", "to_pytensor(f)"),
    "torch": System("PyTorch", "to_torch(f)", "from_torch(g)"),
}
"""The other systems, by their packages."""


def system_of(kind: type) -> System | None:
    """Return the other system that a class, or a base of it, belongs to."""
    for base in kind.__mro__:
        name = base.__module__
        is_dask = name.startswith("dask.array")  # not what is delayed, which is Python
        system = SYSTEMS.get("dask.array" if is_dask else name.partition(".")[0])
        if system is not None:
            return system
    return None


def system_of_function(f: Any) -> System | None:
    """Return the other system of a function that can be wrapped for this engine."""
    owner = getattr(f, "__self__", None)
    # Those without a module are ufuncs, and functions that `exec` has made, which no module has.
    module = getattr(f, "__module__", None) or ("" if hasattr(f, "__code__") else full_name(f))
    if module.startswith(("dask.array", "dask.tokenize")):  # operands are given names by a hash
        return SYSTEMS["dask.array"]
    system = (
        SYSTEMS.get(module.partition(".")[0])
        or system_of(type(f))
        or system_of(owner if isinstance(owner, type) else type(owner))
    )
    return system if system is not None and system.from_it else None


def unwrapped(name: str, system: System) -> MissingRuleError:
    """Build the error for a function of another system that is given a traced value."""
    if system.instead:
        return MissingRuleError(
            f"an array or a function of {system.title} was given a value that is differentiated "
            f"here: what {system.title} computes with it is not followed. Compute blocks inside "
            "the function (sum(np.sum(block.compute() @ w) for block in blocks), where blocks is "
            f"list(x.to_delayed().ravel())). {system.instead}"
        )
    wrapper = system.from_it.partition("(")[0]
    return MissingRuleError(
        f"{name} is a function of {system.title}, which computes with arrays and derivatives of "
        f"its own, and was given a value that is differentiated here. Wrap it once, outside: g = "
        f"autodiff.interop.{wrapper}(g), which uses the derivatives of {system.title}. If the "
        "result is to be a constant, wrap the argument in autodiff.ignore_derivatives(...)."
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
    system = system_of_function(f)
    if system is not None:
        return unwrapped(name.replace("._VariableFunctionsClass", ""), system)
    kinds = ", ".join(a.__class__.__name__ for a in args)
    options = ", ".join(f"{option}=" for option in kwargs or ())
    call = f"{name} with {options}" if options else name
    if not rules:
        have = f"{call} has no rule for ({kinds}) and no Python body to differentiate through. "
        have += way_to_a_rule(f)
    else:
        own = f"@chainrules_core.rrule.register({name}, ...)"
        known = "; ".join(map(repr, rules[:3])) + (" and more" if len(rules) > 3 else "")
        without = f"Call it without {options}" if options else "Call it with other arguments"
        have = f"{call} has no rule for ({kinds}), but for other calls: {known}. {without}, give it"
        have += f" one for this with {own}"
    return MissingRuleError(
        f"{have}, write the computation with functions that have one, or have it differentiated by "
        'differences: gradient(..., fallback="numeric"). If the result is to be a constant, wrap '
        "the traced argument in autodiff.ignore_derivatives(...)."
    )


def way_to_a_rule(f: Any) -> str:
    """Say how to give a function a rule."""
    try:
        hash(f)
    except TypeError:  # a function of ctypes: no table of rules can hold it
        return (
            "Call it in a function of your own, and give that one a rule with "
            "@chainrules_core.rrule.register(...)"
        )
    return f"Give it a rule with @chainrules_core.rrule.register({full_name(f)}, ...)"


def missing_attribute(x: Any, name: str) -> MissingRuleError:
    """Build the error for an attribute by which the bare memory of a value would be read."""
    return MissingRuleError(
        f"x.{name} of a traced {x.__class__.__name__} would give its memory away, and what is read "
        "there has no derivative. Compute with the numbers, or, if the result is to be a constant, "
        f"use autodiff.ignore_derivatives(x).{name}."
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


def wrong_cotangent(node: Any, position: int, x_bar: Any, error: Exception) -> Exception:
    """Build the error for a cotangent that does not fit its argument."""
    from chainrules_core.errors import CotangentError

    return CotangentError(node.rule, node.positions[position], x_bar, error)

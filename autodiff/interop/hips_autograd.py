"""HIPS autograd: functions of ours in its derivatives, and rules for its functions that have none.

`to_autograd` makes each call one primitive of a flat call. Its vjp and its jvp apply the same
primitive to the pullback and the pushforward of that call, so that autograd can differentiate these
again. `register_all` does so for the functions of NumPy and SciPy that autograd knows by name only.

Autograd's cotangents of complex values are the conjugates of ours.
"""

from __future__ import annotations

import functools
import importlib
import operator
from collections.abc import Callable, Iterator, Sequence
from types import ModuleType
from typing import Any, NamedTuple

import autograd.builtins  # noqa: F401 - registers how tuples are traced
import autograd.numpy as anp
import numpy as np
from autograd.core import (
    JVPNode,
    VJPNode,
    defjvp_argnums,
    defvjp_argnums,
    primitive_jvps,
    primitive_vjps,
)
from autograd.extend import primitive
from autograd.tracer import getval, isbox, notrace_primitives

from autodiff.closures.captured_values import Hole
from autodiff.interop.adapted import Adapted
from autodiff.interop.captures import check_captures
from autodiff.interop.flat_call import (
    FlatCall,
    Pull,
    as_scalar,
    check_function,
    flat_call,
    for_some,
)
from chainrules_core import rrule
from chainrules_core.registry.entries import key_of


def to_autograd(f: Callable[..., Any], /) -> Callable[..., Any]:
    """Return a function with the values of `f` that autograd differentiates by this engine.

    Parameters
    ----------
    f : callable
        Any function that :func:`autodiff.pullback` accepts: Python, NumPy and SciPy code.

    Returns
    -------
    callable
        A function with the arguments of `f`. The values that autograd differentiates may be
        anywhere in them, including keyword arguments and the inside of tuples, lists, dicts and
        objects.

    Raises
    ------
    ArgumentError
        If `f` is not a function.

    Notes
    -----
    Reverse and forward mode work, in any order and nesting. If autograd differentiates a value that
    `f` uses, pass it as an argument: `f` must not have captured it.

    Examples
    --------
    >>> import autograd, scipy
    >>> gammainc = to_autograd(scipy.special.gammainc)
    >>> float(autograd.grad(gammainc)(0.5, 1.0).round(6))
    -0.389837
    """
    check_function(f, "to_autograd")

    def f_of_boxes(*args: Any, **kwargs: Any) -> Any:
        boxes, call = flat_call(f, args, kwargs, isbox)
        if not boxes:
            return f(*args, **kwargs)
        check_captures(f, isbox, "autograd")
        step = _Step(call, tuple(range(len(boxes))) if any(map(_is_reverse, boxes)) else ())
        if all(map(_is_forward_alone, boxes)):
            step.dots = {i: box._node.g for i, box in enumerate(boxes)}
        y = _called(step, *boxes)
        traced = dict(zip(step.given, _parts(y, step), strict=True))
        return call.outputs.filled([traced.get(k, y) for k, y in enumerate(step.found)])

    return Adapted(f_of_boxes, to_autograd, f)


def _is_reverse(box: Any) -> bool:
    """Whether a value is differentiated in reverse mode, on any level."""
    while isbox(box):
        if isinstance(box._node, VJPNode):
            return True
        box = box._value
    return False


def _is_forward_alone(box: Any) -> bool:
    """Whether a value is on one level, of forward mode, so that its tangent is plain."""
    return isinstance(box._node, JVPNode) and not isbox(box._value) and not isbox(box._node.g)


class _Step:
    """One application of the primitive: the flat call, and what its run keeps.

    Parameters
    ----------
    call : FlatCall
        The call.
    wanted : tuple of int
        The positions of the inputs to record the pullback for.
    container : type, optional
        What the outputs are returned in: a tuple, a list or a namedtuple. By default one output is
        returned as it is, and several in a tuple.

    Attributes
    ----------
    found : list
        The outputs of the run, as plain values.
    given : tuple of int
        The positions of those in floating point: the primitive returns these alone.
    kept : callable or None
        The pullback for `wanted`.
    dots : dict
        The tangents of the inputs at these positions, if they are known before the run.
    pushed : list
        The tangents of the outputs in floating point for those.
    """

    found: list[Any]
    given: tuple[int, ...]
    pushed: list[Any]

    def __init__(
        self, call: FlatCall, wanted: tuple[int, ...] = (), container: type | None = None
    ) -> None:
        self.call = call
        self.wanted = wanted
        self.container = container
        self.kept: Pull | None = None
        self.dots: dict[int, Any] = {}

    def run(self, values: Sequence[Any]) -> Any:
        """Return the outputs in floating point, in their container."""
        arrays = [np.asarray(x) for x in values]
        if self.wanted:
            outputs, self.kept = self.call.recorded(arrays, self.wanted, is_frozen=False)
        elif self.dots:
            dots = [np.asarray(dot) for dot in self.dots.values()]
            outputs, pushed = self.call.pushed(arrays, tuple(self.dots), dots)
            self.pushed = list(map(as_scalar, pushed))
        else:
            outputs = self.call.value(*arrays)
        self.found = list(map(as_scalar, outputs))
        self.given = tuple(k for k, y in enumerate(outputs) if y.dtype.kind in "fc")
        return self.contained([self.found[k] for k in self.given])

    def contained(self, values: list) -> Any:
        """Return the outputs in floating point, or their tangents, in the container."""
        kind: Any = self.container
        if kind is None:
            return values[0] if len(values) == 1 else tuple(values)
        return kind(*values) if hasattr(kind, "_make") else kind(values)

    def pullback(self, wanted: tuple[int, ...]) -> _Step:
        """Return the application of the pullback."""
        kept = None if self.kept is None else for_some(self.kept, self.wanted, wanted)
        return _Step(self.call.pullback(wanted, self.given, kept))


def _parts(y: Any, step: _Step) -> list[Any]:
    """Return what a step has returned, or what belongs to it, as a list."""
    n = len(step.given)
    return [y] if n == 1 and step.container is None else [y[k] for k in range(n)]


def _conj(x: Any) -> Any:
    return anp.conj(x) if np.iscomplexobj(_plain(x)) else x


def _plain(x: Any) -> Any:
    while isbox(x):
        x = getval(x)
    return x


@primitive
def _called(step: _Step, *values: Any) -> Any:
    """Return the outputs of a flat call."""
    return step.run(values)


def _vjp(argnums: tuple, ans: Any, args: tuple, kwargs: dict[str, Any]) -> Callable:
    step, *values = args
    wanted = tuple(i - 1 for i in argnums)

    def vjp(g: Any) -> list:
        return _pulled(step.pullback(wanted), values, _parts(g, step))

    return vjp


def _pulled(step: _Step, values: list, y_bars: list) -> list:
    """Return the cotangents that a pullback makes of autograd's, as those."""
    x_bars = _called(step, *values, *map(_conj, y_bars))
    return [_conj(x_bar) for x_bar in _parts(x_bars, step)]


def _jvp(argnums: tuple, gs: Sequence, ans: Any, args: tuple, kwargs: dict[str, Any]) -> Any:
    step, *values = args
    known = [step.dots.get(i - 1) for i in argnums]
    if step.dots and len(known) == len(step.dots) and all(map(operator.is_, known, gs)):
        return step.contained(step.pushed)
    return _called(_Step(step.call.pushforward(tuple(i - 1 for i in argnums))), *values, *gs)


defvjp_argnums(_called, _vjp)
defjvp_argnums(_called, _jvp)


# -- the functions that autograd knows ------------------------------------------------------------


class Registered(NamedTuple):
    """What :func:`register_all` has added.

    Attributes
    ----------
    vjps, jvps : list of str
        The functions of autograd that had no derivative in reverse mode, or in forward mode.
    functions : list of str
        The functions of SciPy that autograd's modules of that name lacked.
    """

    vjps: list[str]
    jvps: list[str]
    functions: list[str]


_MODULES = (
    "numpy", "numpy.linalg", "numpy.fft", "scipy.special", "scipy.linalg", "scipy.signal",
    "scipy.integrate",
)  # fmt: skip
"""Modules of autograd, named after what they wrap."""
_OF_CONTAINERS = frozenset(
    {
        "numpy.block", "numpy.choose", "numpy.concat", "numpy.dstack", "numpy.frexp",
        "numpy.linalg.lstsq", "numpy.linalg.multi_dot", "numpy.unique_all", "numpy.unique_counts",
        "numpy.unique_inverse", "scipy.linalg.cho_factor", "scipy.linalg.cho_solve",
        "scipy.linalg.cho_solve_banded", "scipy.linalg.lstsq", "scipy.linalg.lu_factor",
        "scipy.linalg.lu_solve",
    }
)  # fmt: skip
"""Functions that take lists of arrays, or return integers beside arrays.

Autograd's primitives see only arguments that are arrays, and return only floats.
"""
_NO_DERIVATIVE = frozenset({"non_differentiable", "opt_out", "refused"})
"""Kinds of rules that differentiate nothing."""


def register_all() -> Registered:
    """Give autograd derivatives for all functions that have rules here and none there.

    Returns
    -------
    Registered
        The functions and derivatives that were added. A second call adds nothing.

    Notes
    -----
    Derivatives that autograd has do not change. If it has them for some arguments only
    (``gammainc`` for the second), the others are added. The modules ``autograd.scipy.special``,
    ``linalg``, ``signal`` and ``integrate`` get the SciPy functions that they lack, made by
    :func:`to_autograd`. Functions that take lists of arrays (``block``), or return integers as well
    as arrays (``lstsq``), are replaced in the same way.

    Examples
    --------
    >>> import autograd, autograd.numpy as anp, numpy as np
    >>> added = register_all()
    >>> x = np.arange(3.0)
    >>> float(autograd.grad(lambda at: anp.interp(at, x, x**2))(1.5))
    3.0
    """
    added = Registered([], [], [])
    for name in _MODULES:
        module = importlib.import_module(f"autograd.{name}")
        _register_primitives(name, module, added)
        if name.startswith("scipy."):
            _add_functions(name, module, added)
    return added


def _register_primitives(name: str, module: ModuleType, added: Registered) -> None:
    for attribute, p in sorted(vars(module).items()):
        f: Any = getattr(p, "fun", None)
        if not getattr(p, "_is_autograd_primitive", False) or not _has_derivative(f):
            continue
        for untraced in notrace_primitives.values():  # autograd takes full_like for a constant
            untraced.discard(p)
        if f"{name}.{attribute}" in _OF_CONTAINERS:
            setattr(module, attribute, to_autograd(f))
        for table, make, names in (
            (primitive_vjps, _vjp_of, added.vjps),
            (primitive_jvps, _jvp_of, added.jvps),
        ):
            maker = table.get(p)
            if maker is None:
                names.append(f"{name}.{attribute}")
                table[p] = make(f)
            elif not hasattr(maker, "of_rules"):
                table[p] = _with_others(maker, make(f))


def _has_derivative(f: Any) -> bool:
    """Whether a function has a rule that differentiates it."""
    try:
        rules = rrule.methods(key_of(f)[0])
    except TypeError:  # it cannot be a key
        return False
    return any(rule.kind not in _NO_DERIVATIVE for rule in rules)


def _add_functions(name: str, module: ModuleType, added: Registered) -> None:
    source = importlib.import_module(name)
    for attribute in sorted(source.__all__):
        f = getattr(source, attribute)
        if hasattr(module, attribute) or isinstance(f, type) or not _has_derivative(f):
            continue
        setattr(module, attribute, to_autograd(f))
        added.functions.append(f"{name}.{attribute}")


def _with_others(maker: Callable, ours: Callable) -> Callable:
    """Return autograd's own derivative, and ours for the arguments that it has none for."""

    @functools.wraps(maker)
    def with_others(argnums: tuple, *rest: Any) -> Any:
        try:
            return maker(argnums, *rest)
        except (NotImplementedError, KeyError):
            return ours(argnums, *rest)

    with_others.of_rules = True  # type: ignore[attr-defined] # seen by a second call
    return with_others


def _flat(
    f: Callable, argnums: tuple, args: tuple, kwargs: dict[str, Any]
) -> tuple[list, FlatCall, tuple[int, ...]]:
    """Return the values of a call, the call as a function of them, and where `argnums` are."""
    owner = object()
    chosen = {*argnums, *(i for i, x in enumerate(args) if isbox(x))}  # these are of outer levels
    given = tuple(Hole(i, owner) if i in chosen else x for i, x in enumerate(args))
    holes, call = flat_call(f, given, kwargs, lambda x: type(x) is Hole and x.owner is owner)
    places = {int(hole): k for k, hole in enumerate(holes)}
    return [args[i] for i in places], call, tuple(places[i] for i in argnums)


def _of_answer(ans: Any) -> Iterator[int]:
    """Return the positions of the parts of an answer that are in floating point."""
    ans = _plain(ans)
    parts = ans if isinstance(ans, (tuple, list)) else (ans,)
    return (k for k, y in enumerate(parts) if np.asarray(_plain(y)).dtype.kind in "fc")


def _vjp_of(f: Callable) -> Callable:
    """Return the vjp of a function of autograd's from our rules."""

    def vjp_argnums(argnums: tuple, ans: Any, args: tuple, kwargs: dict[str, Any]) -> Callable:
        values, call, wanted = _flat(f, argnums, args, kwargs)
        given = tuple(_of_answer(ans))
        is_single = not isinstance(_plain(ans), (tuple, list))

        def vjp(g: Any) -> list:
            y_bars = [g] if is_single else [g[k] for k in given]
            return _pulled(_Step(call.pullback(wanted, given)), values, y_bars)

        return vjp

    vjp_argnums.of_rules = True  # type: ignore[attr-defined] # seen by a second call
    return vjp_argnums


def _jvp_of(f: Callable) -> Callable:
    """Return the jvp of a function of autograd's from our rules."""

    def jvp_argnums(
        argnums: tuple, gs: Sequence, ans: Any, args: tuple, kwargs: dict[str, Any]
    ) -> Any:
        values, call, perturbed = _flat(f, argnums, args, kwargs)
        kind = type(_plain(ans))
        container = kind if issubclass(kind, (tuple, list)) else None
        return _called(_Step(call.pushforward(perturbed), (), container), *values, *gs)

    jvp_argnums.of_rules = True  # type: ignore[attr-defined] # seen by a second call
    return jvp_argnums

"""A function traced at a point in reverse: its value, and cotangents by sweeps of the tape."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from autodiff import structures
from autodiff.arguments import is_constant, of_level
from autodiff.blocks import LARGE, MAPPED, keep_freed_memory
from autodiff.errors import ArgumentError, MutationError, OutputError, SeedError
from autodiff.intercept import intercept
from autodiff.layout import copy_of
from autodiff.levels import recording
from autodiff.nodes import Leaf
from autodiff.observe import new_tape
from autodiff.runs import sweep_run
from autodiff.structures import is_perturbable, map_leaves
from autodiff.tape import CONSTANT, FLOAT, Tape, sweep
from autodiff.tracer import FloatTracer, Tracer, bare, is_tracer, note_view, untraced, wrap
from autodiff.unknown import followed
from autodiff.views import refuse
from chainrules_core import (
    AbstractZero,
    NotImplementedTangent,
    NotImplementedTangentError,
    ProjectionError,
    ProjectTo,
    Tangent,
    TangentTypeError,
    unthunk,
    zero_tangent,
)
from chainrules_core.quiet import quiet
from chainrules_core.rules import name_of

_COPIED = 1 << 16  # bytes: so much is copied in less time than a call of the engine takes


class Linearised:
    """A function traced at a point: its value, and its cotangents by sweeps of the tape.

    Pullbacks need the values of now, whatever happens to the user's arrays, so these are copied.
    Where the sweep follows `at_once`, large ones are not: a write into them by another name, while
    the function runs, is refused instead.

    Attributes
    ----------
    value : Any
        What the function returned, plain.
    arguments : list
        The arguments that are differentiated with respect to.
    tape, nodes, leaves
        What was recorded, and how many of the nodes are leaves.
    """

    __slots__ = (
        "_output", "_places", "arguments", "aux", "f", "leaves", "nodes", "tape", "value"
    )  # fmt: skip

    def __init__(
        self,
        f: Callable,
        args: tuple,
        kwargs: dict[str, Any],
        argnums: tuple[int, ...] | None,
        has_aux: bool = False,
        at_once: bool = False,
    ) -> None:
        self.f = f
        self.tape = tape = new_tape()
        asked = checked_argnums(f, args, argnums)
        self._places: list[int] | None = None
        if argnums is not None:
            chosen = tuple(dict.fromkeys(asked))
            if chosen != asked:
                self._places = [chosen.index(i) for i in asked]
            asked = chosen
        traced = list(args)
        self.arguments: list[Any] = []
        owners: dict[int, Tracer] = {}
        for i in asked:
            a = promoted(f, args, i, argnums is not None)
            self.arguments.append(a)
            kind = type(a)
            simple = kind is float or (kind is np.ndarray and not owners and a.dtype.kind == "f")
            simple = simple or (kind is Tracer and is_perturbable(a))
            trace = _leaf if simple else _traced
            traced[i] = trace(a, tape, owners, at_once)
        self.leaves = tape.leaves = len(tape.nodes)
        if not self.leaves:
            raise nothing_to_differentiate(f, args)
        try:
            with recording(tape):
                output = intercept(f)(*traced, **kwargs)
        finally:
            self.nodes = tape.close()
        if tape.watched is not None and tape.has_changed():
            raise MutationError(
                f"an array that was used while {name_of(f)} ran is written into afterwards, by a "
                "function whose source is not to be had (made by exec, or typed in where no source "
                "is kept): the derivative needs its old values. Write into a copy (c = c.copy())."
            )
        self.aux = None
        if has_aux:
            if not isinstance(output, tuple) or len(output) != 2:
                raise OutputError(
                    f"has_aux=True expects {name_of(f)} to return a pair (value, auxiliary); it "
                    f"returned {type(untraced(output)).__name__}."
                )
            output, aux = output
            self.aux = self._plain(aux)
        self._output = output
        self.value = self._plain(output)

    def _plain(self, x: Any) -> Any:
        tape = self.tape
        kind = type(x)
        if kind is FloatTracer or kind is Tracer:
            return x._value if x._tape is tape else _left(x, tape)
        return map_leaves(x, lambda leaf: _left(leaf, tape))

    def keep_from_changes(self) -> None:
        """Give away a copy of the value: pullbacks called later may need what is on the tape."""
        self.value = map_leaves(
            self.value, lambda leaf: leaf.copy() if type(leaf) is np.ndarray else leaf
        )

    def gradients(self) -> list:
        """Return the gradients of a scalar output: the cotangents for 1."""
        output, nested = self._output, self.tape.nested
        if not is_tracer(output) or output._tape is not self.tape:
            return self._rebuilt([None] * self.leaves)
        seeds = {output._index: 1.0 if type(output) is FloatTracer else ProjectTo(output)(1.0)}
        size = _largest(self.nodes)
        if size >= MAPPED:
            keep_freed_memory()
            if size >= LARGE and not nested:
                return self._rebuilt(self._sweep_once(seeds))
        return self._rebuilt(self._sweep(seeds, nested))

    def _rebuilt(self, found: list) -> list:
        remaining = iter(found)
        gradients = []
        for a in self.arguments:
            if type(a) is float or is_perturbable(a):
                gradients.append(_gradient_of_leaf(a, next(remaining)))
            else:
                gradients.append(_gradient_like(a, remaining))
        return self.chosen(gradients)

    def cotangents(self, y_bar: Any) -> list:
        """Return one cotangent for each differentiated argument, in its own nesting."""
        seeds = self._seeds(y_bar)
        nested = self.tape.nested or any(map(is_tracer, seeds.values()))
        return self._rebuilt(self._sweep(seeds, nested))

    def chosen(self, gradients: list) -> list:
        """Return what belongs to each argument asked for, one of them maybe several times."""
        places = self._places
        return gradients if places is None else [gradients[place] for place in places]

    def outputs(self) -> list:
        """Return the leaves of what the function returned, traced."""
        return structures.leaves_of(self._output)

    def _sweep(self, seeds: dict[int, Any], nested: bool) -> list:
        """Sweep; once more with strong zeros if 0 · Inf may have made a NaN."""
        with quiet():
            try:
                found = sweep(self.nodes, self.leaves, seeds, nested=nested)
            except NotImplementedTangentError as error:
                return self._followed(seeds, nested, error)
            for bar in found:
                if bar != bar if type(bar) is float else has_nan(bar):
                    return sweep(self.nodes, self.leaves, seeds, nested=nested, strong=True)
        return found

    def _followed(self, seeds: dict[int, Any], nested: bool, error: Exception) -> list:
        """Sweep with Inf for a cotangent that is not known; raise if anything depends on it."""
        with followed():
            found = sweep(self.nodes, self.leaves, seeds, nested=nested, strong=True)
        if any(bar is not None and not np.all(np.isfinite(untraced(bar))) for bar in found):
            raise error
        return found

    def _sweep_once(self, seeds: dict[int, Any]) -> list:
        """Sweep with zeros strong from the start, and drop what has been visited.

        On large arrays it costs little to look at each product, and much to keep the arrays that a
        second sweep would need.
        """
        with quiet():
            return sweep(self.nodes, self.leaves, seeds, strong=True, runs=sweep_run)

    def _seeds(self, y_bar: Any) -> dict[int, Any]:
        """Return the cotangents of the output's traced parts by their place on the tape."""
        seeds: dict[int, Any] = {}
        self._add_seeds(self._output, y_bar, seeds)
        return seeds

    def _add_seeds(self, y: Any, bar: Any, seeds: dict[int, Any]) -> None:
        bar = unthunk(bar)
        if isinstance(bar, AbstractZero) or bar is None:
            return
        if is_tracer(y):
            if y._tape is self.tape:
                bar = _seed_like(self.f, y._value, bar)
                before = seeds.get(y._index)
                seeds[y._index] = bar if before is None else before + bar
            return
        parts = structures.parts_of(y)
        if parts is None:
            return
        if isinstance(bar, dict) and isinstance(y, dict) and not bar.keys() <= y.keys():
            raise SeedError(
                f"the pullback of {name_of(self.f)} was given a cotangent for "
                f"{sorted(map(repr, bar.keys() - y.keys()))}, which the output does not have."
            )
        for key, part in parts:
            self._add_seeds(part, _seed_part(self.f, y, bar, key), seeds)


def _largest(nodes: list) -> int:
    """Return the size of the largest array on a tape; of many nodes a few are looked at."""
    largest = 0
    for node in nodes[:: len(nodes) // 16 + 1]:
        if type(node) is not tuple:
            size = getattr(node.space, "size", 0)
            if size > largest:
                largest = size
    return largest


def _left(x: Any, tape: Tape) -> Any:
    """Return a value as it leaves the level of `tape`; one of a level that has ended is a leak."""
    if is_tracer(x) and x._tape is not tape and x._tape is not CONSTANT:
        x._tape.check_open()
    return of_level(x, tape)


def checked_argnums(f: Callable, args: tuple, argnums: tuple[int, ...] | None) -> tuple[int, ...]:
    """Return the positions to differentiate with respect to, or say what is wrong with them."""
    if not callable(f):
        raise ArgumentError(
            f"the first argument must be a function, not {type(f).__name__}: gradient(f, x)."
        )
    if not args:
        raise ArgumentError(f"no arguments to differentiate {name_of(f)} with respect to.")
    if argnums is None:
        return tuple(range(len(args)))
    if not argnums:
        raise ArgumentError(f"argnums is empty: no argument of {name_of(f)} is chosen.")
    chosen = []
    for i in argnums:
        try:
            place = operator.index(i)
        except TypeError:
            place = len(args)
        if isinstance(i, bool) or not -len(args) <= place < len(args):
            raise ArgumentError(
                f"argnums has {i!r}; it takes the positions of arguments, and {name_of(f)} was "
                f"given {len(args)} argument{'' if len(args) == 1 else 's'}."
            )
        chosen.append(place % len(args))
    return tuple(chosen)


def promoted(f: Callable, args: tuple, i: int, chosen: bool) -> Any:
    """Return an argument in the form in which it is differentiated; an int becomes a float."""
    x = args[i]
    if type(x) is float or (type(x) is np.ndarray and x.dtype.kind == "f"):
        return x
    plain = untraced(x)
    if type(plain) is int or isinstance(plain, np.integer):
        return float(x) if type(plain) is int else np.float64(x)
    if isinstance(plain, np.ndarray) and plain.dtype.kind not in "fcO":
        raise ArgumentError(
            f"argument {i} of {name_of(f)} is an array of {plain.dtype}, which cannot be "
            "perturbed. Convert it (x.astype(float)) to differentiate with respect to it, or name "
            "the arguments to differentiate with argnums=."
        )
    if chosen and isinstance(plain, (str, bytes, bool, type(None))):
        raise nothing_to_differentiate(f, (x,))
    return x


def nothing_to_differentiate(f: Callable, args: tuple) -> ArgumentError:
    """Build the error for arguments that hold nothing that can be perturbed."""
    kinds = ", ".join(type(untraced(a)).__name__ for a in args)
    return ArgumentError(
        f"there is nothing to differentiate {name_of(f)} with respect to: an argument must be or "
        f"contain a float, a complex number or an array of them; given was ({kinds})."
    )


def _traced(x: Any, tape: Tape, owners: dict[int, Tracer], at_once: bool) -> Any:
    """Return a nest with its leaves traced on `tape`.

    Two arrays that share memory are `owners` of it together, and then writes into them are refused.
    """

    def trace(leaf: Any) -> Any:
        return _leaf(leaf, tape, owners, at_once) if is_perturbable(leaf) else leaf

    return map_leaves(x, trace, contents=True)


def _leaf(x: Any, tape: Tape, owners: dict[int, Tracer], at_once: bool) -> Any:
    """Return a number or array traced on `tape`; an array is copied or held."""
    if type(x) is not np.ndarray:
        if type(x) is float:
            return wrap(x, tape, tape.add(Leaf(FLOAT)))
        if is_constant(x):
            x = x._value
    place = tape.add(Leaf(ProjectTo(x)))
    if type(x) is not np.ndarray:
        return wrap(x, tape, place)
    if at_once and x.nbytes > _COPIED:
        tape.hold(x)
        traced = Tracer(x, tape, place)
    else:
        traced = Tracer(copy_of(x), tape, place)
    owner = id(x if x.base is None else x.base)
    if owner in owners:
        note_view(traced, owners[owner], refuse)
    else:
        owners[owner] = traced
    return traced


def _gradient_like(x: Any, bars: Any) -> Any:
    """Return the nest of cotangents for a nest of arguments; None where nothing can be perturbed.

    Leaves without cotangent have a zero of their own shape.
    """

    def gradient(leaf: Any) -> Any:
        return _gradient_of_leaf(leaf, next(bars)) if is_perturbable(leaf) else None

    return map_leaves(x, gradient, every=True)


def _gradient_of_leaf(leaf: Any, bar: Any) -> Any:
    kind = type(bar)
    if kind is type(leaf):  # what most are
        if kind is float:
            return bar
        if kind is np.ndarray and bar.dtype is leaf.dtype and bar.shape == leaf.shape:
            return bar
        if kind is Tracer and not bar._tape.program and _is_alike(bare(bar), bare(leaf)):
            return bar
    if isinstance(bar, NotImplementedTangent):
        raise bar.error()
    if bar is None or isinstance(bar, AbstractZero):
        return zero_tangent(leaf)
    bar = ProjectTo(leaf)(bar)
    return bar._tape.like(bar, leaf) if is_tracer(bar) and bar._tape.program else bar


def _is_alike(bar: Any, leaf: Any) -> bool:
    """Whether a cotangent is an array like the leaf."""
    if type(bar) is not np.ndarray or type(leaf) is not np.ndarray:
        return False
    return bar.dtype is leaf.dtype and bar.shape == leaf.shape and leaf.dtype.kind in "fc"


def has_nan(bar: Any) -> bool:
    """Whether there is a NaN in a number or array; of some with Inf the answer may be yes too."""
    if type(bar) is not np.ndarray:
        bar = untraced(bar)
    if isinstance(bar, (float, complex)):  # a recorded one too, which is guarded
        return bar != bar
    if type(bar) is np.ndarray and bar.dtype.kind == "f" and bar.flags.forc:
        # In less time than a sum, and of Inf it makes no NaN; by the method of one axis in least.
        total = bar.dot(bar) if bar.ndim == 1 else np.vdot(bar, bar)
        return bool(total != total)
    if isinstance(bar, (np.ndarray, np.generic)) and bar.dtype.kind in "fc":
        total = bar.sum()
        return bool(total != total)
    return False


def _seed_like(f: Callable, y: Any, bar: Any) -> Any:
    """Check a seed against the output it belongs to."""
    plain = untraced(bar)
    if not isinstance(plain, (int, float, complex, np.ndarray, np.generic)):
        raise SeedError(
            f"the pullback of {name_of(f)} was given a {type(plain).__name__} for an output that "
            f"is a {type(untraced(y)).__name__}; it takes a number or array like the output."
        )
    if np.shape(plain) != np.shape(y):
        raise SeedError(
            f"the pullback of {name_of(f)} was given a cotangent of shape {np.shape(plain)} for an "
            f"output of shape {np.shape(y)}; the two must agree."
        )
    try:
        return ProjectTo(y)(bar)
    except (ProjectionError, TangentTypeError) as error:
        raise SeedError(f"the pullback of {name_of(f)}: {error}") from error


MISSING: Any = object()


def seed_part(y: Any, bar: Any, key: Any) -> Any:
    """Return the part of a tangent that belongs to part `key` of a nest; `MISSING` if none does."""
    if structures.is_sparse(type(y)) and not isinstance(bar, Tangent):
        return structures.entries_at(y, bar)
    if isinstance(bar, (Tangent, dict)):
        try:
            return bar[key]
        except LookupError:
            return MISSING
    if isinstance(y, (tuple, list)) and isinstance(bar, (tuple, list)):
        if len(bar) != len(y):
            return MISSING
        return bar[key if type(key) is int else type(y)._fields.index(key)]  # type: ignore[union-attr] # a namedtuple
    if type(bar) is type(y) and hasattr(bar, str(key)):
        return getattr(bar, key)
    return MISSING


def _seed_part(f: Callable, y: Any, bar: Any, key: Any) -> Any:
    """Return the part of a seed that belongs to part `key` of the output `y`."""
    part = seed_part(y, bar, key)
    if part is not MISSING:
        return part
    if isinstance(y, (tuple, list)) and isinstance(bar, (tuple, list)):
        raise SeedError(
            f"the pullback of {name_of(f)} takes {len(y)} cotangents, one for each part of the "
            f"output; it was given {len(bar)}."
        )
    raise SeedError(
        f"the pullback of {name_of(f)} was given a {type(bar).__name__} for an output that is a "
        f"{type(y).__name__}; give the same nesting."
    )


def is_single(argnums: Any, args: tuple) -> bool:
    """Whether one cotangent is asked for, and not a tuple of them."""
    if argnums is None:
        return len(args) == 1
    return not isinstance(argnums, (tuple, list))


def argnums_of(argnums: int | tuple[int, ...] | None) -> tuple[int, ...] | None:
    """Return ``argnums=`` as a tuple."""
    if argnums is None or isinstance(argnums, (tuple, list)):
        return argnums if argnums is None else tuple(argnums)
    return (argnums,)


def check_scalar(f: Callable, y: Any) -> None:
    """Raise where an output has no gradient."""
    if type(y) is float or type(y) is np.float64:
        return
    plain = untraced(y)
    if type(plain) is float or type(plain) is np.float64:
        return
    name = name_of(f)
    if plain is None:
        raise OutputError(f"{name} returned None. Does it lack a return statement?")
    if isinstance(plain, (np.ndarray, np.generic)) and plain.shape != ():
        raise OutputError(
            f"{name} returned an array of shape {plain.shape}; a gradient is that of one real "
            "number. Sum it up, or use pullback(f, x), or jacobian(f, x)."
        )
    if isinstance(plain, (complex, np.complexfloating)) or (
        isinstance(plain, np.ndarray) and plain.dtype.kind == "c"
    ):
        raise OutputError(
            f"{name} returned a complex number; a gradient is that of one real number. Return "
            "its abs, real or imag, or use pullback(f, x) with a cotangent of your choice."
        )
    if not isinstance(plain, (int, float, np.number, np.ndarray, np.bool_)):
        raise OutputError(
            f"{name} returned a {type(plain).__name__}; a gradient is that of one real number. "
            "To return more beside it, use has_aux=True."
        )

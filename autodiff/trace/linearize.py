"""Reverse mode: a function run once at a point, and sweeps of the tape that it recorded."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from autodiff.dispatch.arguments import as_it_is, is_constant, of_level
from autodiff.errors import ArgumentError, MutationError, OutputError, SeedError, system_of
from autodiff.fastpath.blocked_products import LARGE
from autodiff.fastpath.blocked_sweep import sweep_chain
from autodiff.intercept import intercept
from autodiff.mutation.held_arrays import COPIED
from autodiff.mutation.memory_layout import copy_of
from autodiff.mutation.shared_arguments import TracedArguments
from autodiff.mutation.written_arguments import check_writes, end_watch, watch
from autodiff.trace import pytree
from autodiff.trace.checks.decisions import check_arguments, ended
from autodiff.trace.checks.number_classes import given_out, of_system
from autodiff.trace.checks.seeds import PULLBACK
from autodiff.trace.labelled_data import TABLES
from autodiff.trace.nodes import Leaf
from autodiff.trace.observers import indices_on, new_tape
from autodiff.trace.pytree import is_perturbable, leaves_of, map_leaves
from autodiff.trace.tape import CONSTANT, FLOAT, Tape, sweep
from autodiff.trace.trace_stack import recording
from autodiff.trace.tracer import FloatTracer, Tracer, bare, is_tracer, untraced, wrap
from autodiff.trace.unimplemented_cotangents import followed, unknown
from chainrules_core import (
    AbstractZero,
    ChainRulesError,
    NotImplementedTangent,
    NotImplementedTangentError,
    ProjectTo,
    unthunk,
    zero_tangent,
)
from chainrules_core.interpreter.noticed import forgive
from chainrules_core.interpreter.places import say_where
from chainrules_core.interpreter.quiet import quiet
from chainrules_core.rules import name_of


class Linearised:
    """A function run at a point: its value, and cotangents by sweeps of the tape.

    Pullbacks need the arrays of the arguments as they are now, so these are copied. If the sweep
    follows `at_once`, large arrays are not copied; a write into one through another name, while
    the function runs, is refused instead.

    Parameters
    ----------
    f, args, kwargs
        The call.
    argnums : tuple of int, optional
        Which arguments to differentiate with respect to; all by default.
    has_aux : bool
        Whether `f` returns a pair ``(value, aux)``.
    at_once : bool
        Whether the only sweep follows at once.

    Attributes
    ----------
    value : Any
        What the function returned, without this trace level.
    aux : Any
        The second part of the pair, with `has_aux`.
    arguments : list
        The arguments that are differentiated with respect to.
    tape, nodes, leaves
        The tape, its nodes, and how many of them are leaves.
    ends : list of (int, int)
        For each of these arguments its position, and the place on the tape after its last leaf.
    """

    __slots__ = (
        "_output", "_places", "arguments", "aux", "ends", "f", "leaves", "nodes", "tape", "value"
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
        self.ends: list[tuple[int, int]] = []
        given: TracedArguments | None = None
        containers: list = []
        for i in asked:
            a = promoted(f, args, i, argnums is not None)
            self.arguments.append(a)
            kind = type(a)
            is_leaf = (kind is np.ndarray and a.dtype.kind == "f") or is_perturbable(a)
            if given is None and kind is not float and (len(args) + len(kwargs) > 1 or not is_leaf):
                given = TracedArguments()
            if is_leaf:
                traced[i] = _leaf(a, tape, given, at_once)
            else:
                traced[i] = _traced(a, tape, given, at_once, containers)
            self.ends.append((i, len(tape.nodes)))
        if given is not None and len(asked) < len(args) + len(kwargs):
            others = [a for i, a in enumerate(args) if i not in asked]
            given.note_others((*others, *kwargs.values()), tape)
        self.leaves = tape.leaves = len(tape.nodes)
        if not self.leaves:
            raise nothing_to_differentiate(f, args)
        watched = watch(containers)
        try:
            with recording(tape):
                output = intercept(f)(*traced, **kwargs)
                if type(output) is not Tracer and type(output) is not FloatTracer:
                    output = given_out(output)
        finally:
            self.nodes = tape.close()
            end_watch(watched)
        if tape.copied or containers:
            check_writes(f, (*args, *kwargs.values()), tape.copied, containers, watched)
            tape.copied = []
        if tape.watched and tape.has_changed():
            raise MutationError(
                f"an array that was used while {name_of(f)} ran is written into afterwards, by "
                "code that is not followed (a library's, a C function, or a function whose source "
                "is not to be had): the derivative needs its old values. Use a copy of the array "
                "(c = c.copy())."
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

    def gradients(self) -> list:
        """Return the gradients of a scalar output: the cotangents for a seed of 1."""
        output, nested = self._output, self.tape.nested
        if not is_tracer(output) or output._tape is not self.tape:
            found = [None] * self.leaves
        else:
            seeds = {output._index: 1.0 if type(output) is FloatTracer else ProjectTo(output)(1.0)}
            is_large = _largest(self.nodes) >= LARGE
            found = self._swept(seeds, nested, once=is_large and not nested)
        if self.tape.decisions:
            check_arguments(self.f, self, found)
        return self._rebuilt(found)

    def _swept(self, seeds: dict[int, Any], nested: bool, once: bool) -> list:
        """Sweep the tape; an error of a rule's pullback names the user's line.

        A sweep that is made `once` has strong zeros from the start and drops the nodes that it has
        visited. On large arrays it costs little to look at each product, and much to keep the
        arrays that a second sweep would need.
        """
        if self.tape.decisions:
            ended()
        try:
            with quiet():
                if once:
                    return sweep(self.nodes, self.leaves, seeds, strong=True, runs=sweep_chain)
                return self._sweep(seeds, nested)
        except ChainRulesError as error:
            say_where(error)
            raise

    def _sweep(self, seeds: dict[int, Any], nested: bool) -> list:
        """Sweep; once more with strong zeros if 0 · Inf may have made a NaN."""
        try:
            found = sweep(self.nodes, self.leaves, seeds, nested=nested)
        except NotImplementedTangentError as error:
            return self._followed(seeds, nested, error)
        for bar in found:
            if bar != bar if type(bar) is float else bar is not None and has_nan(bar):
                return sweep(self.nodes, self.leaves, seeds, nested=nested, strong=True)
        return found

    def _followed(self, seeds: dict[int, Any], nested: bool, error: Exception) -> list:
        """Sweep with Inf for an unimplemented cotangent; raise if a result depends on it."""
        try:
            with followed():
                found = sweep(self.nodes, self.leaves, seeds, nested=nested, strong=True)
        except Exception:  # of a pullback that takes no Inf: it depends on it
            raise error from None
        if any(bar is not None and not np.all(np.isfinite(untraced(bar))) for bar in found):
            raise error
        forgive(error)
        return found

    def _rebuilt(self, found: list) -> list:
        """Return a gradient for each argument, from the cotangents of all leaves."""
        remaining = iter(found)

        def gradient_of(x: Any) -> Any:
            if type(x) is float or is_perturbable(x):
                return _gradient_of_leaf(x, next(remaining))
            return None

        return self.chosen([map_leaves(a, gradient_of, every=True) for a in self.arguments])

    def chosen(self, gradients: list) -> list:
        """Return the gradients in the order of `argnums`, in which an argument may be repeated."""
        places = self._places
        return gradients if places is None else [gradients[place] for place in places]

    def keep_from_changes(self) -> None:
        """Copy the arrays in the value, traced ones too: callers may write, pullbacks use them."""
        self.value = map_leaves(
            self.value, lambda leaf: leaf.copy() if type(bare(leaf)) is np.ndarray else leaf
        )

    def check_paths(self) -> None:
        """Warn if the output depends on the arguments only through comparisons."""
        if self.tape.decisions and not indices_on(self._output, self.tape):
            check_arguments(self.f, self, [None] * self.leaves)

    def cotangents(self, y_bar: Any, part: Any = None) -> list:
        """Return one cotangent for each differentiated argument, with its structure.

        `y_bar` is the cotangent of the output, or of the leaf `part` of `outputs`.
        """
        seeds: dict[int, Any] = {}
        self._add_seeds(self._output if part is None else part, y_bar, seeds)
        nested = self.tape.nested or any(map(is_tracer, seeds.values()))
        return self._rebuilt(self._swept(seeds, nested, once=False))

    def outputs(self) -> list:
        """Return the leaves of the output as they were traced."""
        return pytree.leaves_of(self._output)

    def _add_seeds(self, y: Any, bar: Any, seeds: dict[int, Any]) -> None:
        """Add the cotangents of the traced leaves of `y` to `seeds`, by their place on the tape."""
        bar = unthunk(bar)
        if isinstance(bar, AbstractZero) or bar is None:
            return
        if is_tracer(y):
            if y._tape is self.tape:
                bar = PULLBACK.checked(self.f, y._value, bar)
                before = seeds.get(y._index)
                seeds[y._index] = bar if before is None else before + bar
            return
        parts = pytree.parts_of(y)
        if parts is None:
            return
        if isinstance(bar, dict) and isinstance(y, dict) and not bar.keys() <= y.keys():
            unknown = ", ".join(sorted(map(repr, bar.keys() - y.keys())))
            raise SeedError(
                f"the pullback of {name_of(self.f)} was given a cotangent for {unknown}, which the "
                f"output does not have: its keys are {', '.join(map(repr, y))}."
            )
        for key, part in parts:
            self._add_seeds(part, PULLBACK.part(self.f, y, bar, key), seeds)


def _largest(nodes: list) -> int:
    """Return the size of the largest array on a tape, from a sample of its nodes."""
    largest = 0
    for node in nodes[:: len(nodes) // 16 + 1]:
        if type(node) is not tuple:
            size = getattr(node.space, "size", 0)
            if size > largest:
                largest = size
    return largest


def _left(x: Any, tape: Tape) -> Any:
    """Return a value without the trace level of `tape`; raise for one of a level that has ended."""
    if is_tracer(x) and x._tape is not tape and x._tape is not CONSTANT:
        x._tape.check_open()
    return of_level(x, tape)


def checked_argnums(f: Callable, args: tuple, argnums: tuple[int, ...] | None) -> tuple[int, ...]:
    """Return the positions to differentiate with respect to; raise if they do not exist."""
    if not callable(f):
        raise ArgumentError(
            f"the first argument must be a function, not {type(f).__name__}: gradient(f, x)."
        )
    if not args:
        raise ArgumentError(
            f"{name_of(f)} is given no arguments to differentiate with respect to. Give them after "
            "the function: gradient(f, x)."
        )
    if argnums is None:
        return tuple(range(len(args)))
    if not argnums:
        raise ArgumentError(
            f"argnums is empty: no argument of {name_of(f)} is chosen. Name positions (argnums=0), "
            "or leave it out for all arguments."
        )
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
    """Return argument `i` as it is differentiated: an int as a float. Raise if it cannot be."""
    x = args[i]
    if type(x) is float or (type(x) is np.ndarray and x.dtype.kind == "f"):
        return x
    plain, value = untraced(x), bare(x)
    if type(value) is int or isinstance(value, np.integer):
        kind = float if type(value) is int else np.float64
        return plain._tape.call(kind, (plain,), {}) if is_tracer(plain) else kind(x)
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
    for leaf in leaves_of(args):
        system = system_of(type(leaf))
        if system is not None:
            return of_system(type(leaf), system)
    kinds = ", ".join(type(untraced(a)).__name__ for a in args)
    whole = any(type(untraced(leaf)) is int for leaf in leaves_of(args))
    table = any(base in TABLES for a in args for base in type(a).__mro__)
    return ArgumentError(
        f"there is nothing to differentiate {name_of(f)} with respect to: an argument must be or "
        f"contain a float, a complex number or an array of them, not ({kinds})."
        + " Whole numbers are constants in a nest; write 1.0 for 1."
        * whole
        + " A Series or DataFrame must be of the class of pandas itself, and hold floats, none of "
        "them missing where the dtype is a nullable one: pd.Series(s).astype(float)." * table
    )


_FLOAT_LEAF = Leaf(FLOAT)


def _traced(
    x: Any, tape: Tape, given: TracedArguments | None, at_once: bool, containers: list
) -> Any:
    """Return a pytree with its leaves traced on `tape`."""
    nodes, records = tape.nodes, tape.records

    def trace(leaf: Any) -> Any:
        if type(leaf) is float and records:
            nodes.append(_FLOAT_LEAF)
            return FloatTracer(leaf, tape, len(nodes) - 1)
        return _leaf(leaf, tape, given, at_once) if is_perturbable(leaf) else leaf

    made = map_leaves(x, trace, contents=True, copies=containers)
    return pytree.copied_nest(x, containers) if made is x else made


def _leaf(x: Any, tape: Tape, given: TracedArguments | None, at_once: bool) -> Any:
    """Return a number or array as a leaf of `tape`; an array is copied or held."""
    if type(x) is not np.ndarray:
        if type(x) is float:
            return wrap(x, tape, tape.add(Leaf(FLOAT)))
        if is_constant(x):
            x = x._value
    place = tape.add(Leaf(ProjectTo(x)))
    if type(x) is not np.ndarray:
        traced = wrap(as_it_is(x), tape, place)
        if type(x) is Tracer and isinstance(x, np.ndarray):
            tape.copied.append((traced, place, x))
            if given is not None:
                given.note(traced, x, False)
        return traced
    is_copied = not at_once or x.nbytes <= COPIED
    if is_copied:
        copy = copy_of(x)
        if not x.flags.writeable:
            copy.flags.writeable = False
        traced = Tracer(copy, tape, place)
    else:
        tape.hold(x)
        traced = Tracer(x, tape, place)
    tape.copied.append((traced, place, x))
    if given is not None:
        given.note(traced, x, is_copied)
    return traced


def _gradient_of_leaf(leaf: Any, bar: Any) -> Any:
    """Return a cotangent in the space of its leaf; zeros where there is none."""
    kind = type(bar)
    if kind is type(leaf):  # the usual case
        if kind is float:
            return bar
        if kind is np.ndarray and bar.dtype is leaf.dtype and bar.shape == leaf.shape:
            return bar
        if kind is Tracer and not bar._tape.program and _is_alike(bare(bar), bare(leaf)):
            return bar
    if bar is None and type(leaf) is float:
        return 0.0
    if isinstance(bar, NotImplementedTangent):
        bar = unknown(bar, None)  # raises an error
    if bar is None or isinstance(bar, AbstractZero):
        return zero_tangent(leaf)
    bar = ProjectTo(leaf)(bar)
    recorded = [x._tape for x in (bar, leaf) if is_tracer(x) and x._tape.program]
    return recorded[0].like(bar, leaf) if recorded and is_tracer(bar) else bar


def _is_alike(bar: Any, leaf: Any) -> bool:
    """Whether a cotangent is an array of the shape and dtype of the leaf."""
    if type(bar) is np.ndarray is type(leaf):
        return bar.dtype is leaf.dtype and bar.shape == leaf.shape and leaf.dtype.kind in "fc"
    return False


def has_nan(bar: Any) -> bool:
    """Whether there is a NaN in a number or array; the answer may also be yes for an Inf."""
    if type(bar) is not np.ndarray:
        bar = untraced(bar)
    if isinstance(bar, (float, complex)):  # also one that is recorded, which then is a guard
        return bar != bar
    if type(bar) is np.ndarray and bar.dtype.kind == "f" and bar.flags.forc:
        # The dot product is faster than a sum, and the method fastest; Inf gives no NaN.
        total = bar.dot(bar) if bar.ndim == 1 else np.vdot(bar, bar)
        return bool(total != total)
    if isinstance(bar, (np.ndarray, np.generic)) and bar.dtype.kind in "fc":
        total = bar.sum()
        return bool(total != total)
    return False


def is_single(argnums: Any, args: tuple) -> bool:
    """Whether the result is one gradient and not a tuple of them."""
    return len(args) == 1 if argnums is None else not isinstance(argnums, (tuple, list))


def argnums_of(argnums: int | tuple[int, ...] | None) -> tuple[int, ...] | None:
    """Return ``argnums=`` as a tuple, or None for all arguments."""
    if argnums is None:
        return None
    return tuple(argnums) if isinstance(argnums, (tuple, list)) else (argnums,)

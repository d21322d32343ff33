"""checkpoint: recompute intermediate values instead of storing them.

The tape of a checkpointed call is dropped as soon as the value is known. One node stands for the
whole call; when its cotangent arrives, its pullback runs the call again on a new tape. A chain of n
steps in √n checkpointed segments needs memory for about 2√n steps, and each step runs twice
(Griewank and Walther, Evaluating Derivatives, chapter 12).

Under nested differentiation each trace level that records has one such node. Forward mode has no
tape, so the function just runs.
"""

from __future__ import annotations

import functools
import types
from collections.abc import Callable
from typing import Any

import numpy as np

from autodiff.closures.call_template import Template, WrittenError
from autodiff.closures.captured_state import with_own_variables
from autodiff.dispatch.arguments import innermost, of_level
from autodiff.dispatch.call import outputs
from autodiff.errors import ArgumentError, DifferentiationError, MutationError
from autodiff.intercept import intercept
from autodiff.mutation.views import refuse
from autodiff.structured.calls import call_with_checkpoints
from autodiff.trace.checks.runs import are_alike
from autodiff.trace.linearize import Linearised
from autodiff.trace.nodes import CallRule
from autodiff.trace.pytree import is_perturbable, leaves_of, map_leaves
from autodiff.trace.trace_stack import is_recording, noting_draws, owner_id
from autodiff.trace.tracer import Tracer, bare, is_tracer, note_view, untraced
from chainrules_core.rules import name_of


def checkpoint(f: Callable, /, *args: Any, **kwargs: Any) -> Any:
    """Return a version of `f` that saves memory: its pullback runs `f` again.

    Parameters
    ----------
    f : callable
        A function that takes and returns numbers, arrays and pytrees of them. It must be pure: its
        result depends only on its arguments and captured variables, and it writes into neither.
    *args, **kwargs : Any
        If you pass arguments, the function is called with them at once.

    Returns
    -------
    callable, or what `f` returns
        A function like `f`; with `args` or `kwargs`, its result.

    Raises
    ------
    DifferentiationError
        When the function is called, if it uses a traced value that is neither in its arguments nor
        captured by it, such as one in a global. In the reverse sweep, if the second run returns
        another value.
    MutationError
        If the function writes into an argument or a captured array.

    Notes
    -----
    A function that draws random numbers would draw different ones in its second run, so this is an
    error. Draw them outside and pass them in, or pass a seed and create the generator inside.

    Forward mode stores nothing, so the function just runs. In reverse over forward mode it is
    recorded as if there were no checkpoint.

    Examples
    --------
    >>> from autodiff import gradient
    >>> def step(h, w):
    ...     return np.tanh(w * h)
    >>> def loss(w):
    ...     h = np.ones(3)
    ...     for _ in range(10):
    ...         h = checkpoint(step)(h, w)
    ...     return np.sum(h)
    >>> gradient(loss, 1.0)
    5.5356...

    ``checkpoint(step, h, w)`` does the same, and it can be a decorator:

    >>> @checkpoint
    ... def square(x):
    ...     return x * x
    >>> gradient(square, 3.0)
    6.0
    """
    if not callable(f):
        raise TypeError(f"checkpoint takes a function, not {type(f).__name__}: checkpoint(f).")
    if args or kwargs:
        return run_checkpointed(f, args, kwargs)

    @functools.wraps(f)
    def checkpointed(*args: Any, **kwargs: Any) -> Any:
        return run_checkpointed(f, args, kwargs)

    return checkpointed


def checkpoint_loops(f: Callable) -> Callable:
    """Return a version of `f` whose loops save memory: a loop of n turns keeps about √n states.

    In the backward sweep, the outermost loops of `f` run again between two such states, so each
    turn runs twice. Nothing has to be cut into segments by hand, and the number of turns need not
    be known: this works for ``while``, too.

    Parameters
    ----------
    f : callable
        A Python function with ``for`` and ``while`` loops that is read from its source. It may
        write into arrays that it makes or is given.

    Returns
    -------
    callable
        A function like `f`.

    Raises
    ------
    DifferentiationError
        When the function is called with a value that is differentiated, if its source has what
        such loops do not take: lists that a loop fills, ``try``, complex numbers, attributes.
    ArgumentError
        If `f` is no Python function.

    Notes
    -----
    Griewank and Walther, Evaluating Derivatives, chapter 12. Only loops that stand in no other loop
    or branch keep states; the loops inside them run as part of a turn. In forward mode, in nested
    derivatives and in compiled functions, `f` runs as ever, and so it does if its cotangents are
    not finite.

    Examples
    --------
    >>> from autodiff import gradient
    >>> @checkpoint_loops
    ... def simulate(u, k, n):
    ...     for _ in range(n):
    ...         u = u + 0.1 * k * np.sin(u)
    ...     return u
    >>> gradient(lambda k: np.sum(simulate(np.ones(3), k, 100)), 0.05)
    29.8025...
    """
    if not isinstance(f, types.FunctionType):
        raise ArgumentError(
            f"checkpoint_loops takes a Python function, not {type(f).__name__}: "
            "checkpoint_loops(f)."
        )

    @functools.wraps(f)
    def checkpointed(*args: Any, **kwargs: Any) -> Any:
        if not is_recording():
            return f(*args, **kwargs)
        return call_with_checkpoints(f, intercept(f), args, kwargs)

    return checkpointed


def run_checkpointed(f: Callable, args: tuple, kwargs: dict[str, Any]) -> Any:
    """Call `f` as a segment, if an argument or captured value is traced."""
    segment = Segment(f, args, kwargs)
    if not segment.sources:
        # A traced value that is not visible here is recorded as usual.
        return (intercept(f) if is_recording() else f)(*args, **kwargs)
    return segment.on_levels(segment.sources)


class Segment(Template):
    """A call that runs once for its value, and again for each pullback."""

    __slots__ = ("name", "outside", "shared")

    def __init__(self, f: Callable, args: tuple, kwargs: dict[str, Any]) -> None:
        super().__init__(with_own_variables(f), args, kwargs)
        self.name = name_of(f)
        self.outside: Any = None
        # Leaf of the output → traced argument that it shares memory with.
        self.shared: dict[int, int] = {}

    def on_levels(self, values: list) -> Any:
        """Make the call on values that may be traced, with a node for each level that records."""
        tape = innermost(tuple(values), {})
        if tape is None:
            return self.first(values)
        tape.check_open()
        if tape.forward or tape.program:
            y = self.run(values)
            owners = {
                owner_id(bare(x)): i for i, x in enumerate(values) if type(bare(x)) is np.ndarray
            }
            self.note_shared(y, owners)
            return y
        self.hold(tape)
        wanted = [i for i, v in enumerate(values) if is_tracer(v) and v._tape is tape]
        inner = [of_level(v, tape) for v in values]
        if self.outside is None:
            self.look_outside()
        for x in self.outside.large:
            tape.hold(x)
        with noting_draws() as drawn_before:
            y = self.on_levels(inner)
        self.outside.settle()

        def checkpoint_pullback(y_bar: Any) -> list:
            changed = self.outside.changed()
            if changed:
                raise self._impure(f"reads {changed!r}, which has changed since it was called")
            again = SegmentCall(self, inner, wanted)
            with noting_draws() as drawn:
                traced = Linearised(again, tuple([inner[i] for i in wanted]), {}, None)
            if drawn != drawn_before:
                raise self._impure("drew other random numbers")
            self._check_alike(y, traced.value)
            return traced.cotangents(y_bar)

        parents = tuple([values[i]._index for i in wanted])
        positions = tuple(range(len(wanted)))
        rule = CallRule(checkpoint, "checkpoint", f"checkpoint({self.name})")
        made = outputs(y, tape, rule, parents, positions, checkpoint_pullback)
        for place, leaf in enumerate(leaves_of(made) if self.shared else ()):
            owner: Any = values[self.shared[place]] if place in self.shared else None
            if type(leaf) is Tracer and is_tracer(owner):
                note_view(leaf, owner, refuse)
        return made

    def look_outside(self) -> None:
        """Note what the function reads, to compare it with what the second run reads."""
        # The compiler imports this module; importing effect_hooks makes random draws visible.
        from autodiff.compiler.recording import effect_hooks as effect_hooks
        from autodiff.compiler.recording.captured_guards import Outside

        self.outside = Outside(self.f, [*self.args, *self.kwargs.values()])

    def first(self, values: list) -> Any:
        """Make the call for its value, traced so that a traced value that leaks is an error."""
        wanted = [i for i, v in enumerate(values) if is_perturbable(v)]
        again = SegmentCall(self, values, wanted)
        y = Linearised(again, tuple([values[i] for i in wanted]), {}, None).value
        if any(is_tracer(leaf) for leaf in leaves_of(y)):
            raise DifferentiationError(
                f"checkpoint({self.name}): the function uses a traced value that is neither among "
                "its arguments nor captured in its closure, defaults or self: its derivative would "
                "be lost. Pass it as an argument."
            )
        self.note_shared(y, again.owners)
        return map_leaves(y, _compact)

    def note_shared(self, y: Any, owners: dict[int, int]) -> None:
        """Note which leaves of the output share memory with an argument."""
        for place, leaf in enumerate(leaves_of(y)):
            plain = bare(leaf)
            if type(plain) is np.ndarray and owner_id(plain) in owners:
                self.shared[place] = owners[owner_id(plain)]

    def _check_alike(self, before: Any, again: Any) -> None:
        """Raise if the second run gave another value."""
        if not are_alike(before, again):
            raise self._impure("returned another value")

    def _impure(self, what: str) -> DifferentiationError:
        return DifferentiationError(
            f"checkpoint({self.name}): computed again for its pullback, the function {what}, so "
            "its gradient would be wrong. It must be pure: draw random numbers outside and pass "
            "them in (or pass a seed and make the generator inside), and do not change what it "
            "reads before the gradient is taken."
        )


class SegmentCall:
    """The call of a segment, as a function of its traced values."""

    def __init__(self, segment: Segment, values: list, wanted: list[int]) -> None:
        self.segment = segment
        self.values = values
        self.wanted = wanted
        self.owners: dict[int, int] = {}
        self.__qualname__ = f"checkpoint({segment.name})"

    def __call__(self, *traced: Any) -> Any:
        """Make the call with these traced values."""
        values = list(self.values)
        for i, x in zip(self.wanted, traced, strict=True):
            values[i] = x
            if type(untraced(x)) is np.ndarray:
                self.owners[owner_id(untraced(x))] = i
        places = [x._index for x in traced]
        try:
            y = self.segment.run(values)
            if places != [x._index for x in traced]:
                raise WrittenError
        except WrittenError:
            raise MutationError(
                f"checkpoint({self.segment.name}): the function writes into an array that it was "
                "given, which is not followed. Let it write into a copy (x = x.copy()) and return "
                "that."
            ) from None
        return y


def _compact(leaf: Any) -> Any:
    """Return a leaf without a base array that would keep more memory alive."""
    return leaf.copy() if type(leaf) is np.ndarray and leaf.base is not None else leaf

"""explain(f, *args): the record of a run, to print, to show in a notebook or to save."""

from __future__ import annotations

import functools
import sys
import tracemalloc
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from autodiff.api.tracebacks import hide_engine
from autodiff.errors import ArgumentError
from autodiff.explanation.call_tree import Call, Recorder, described, is_all_zero
from autodiff.explanation.flame import flame_as_svg
from autodiff.explanation.html import page, report_as_html
from autodiff.explanation.svg import tape_as_svg
from autodiff.explanation.text import as_rich, lines_of, table
from autodiff.explanation.timing import Times, measured, ones_like
from autodiff.explanation.totals import Row, Total, by_function, by_line, divide, whole
from autodiff.trace.linearize import Linearised, argnums_of
from autodiff.trace.observers import indices_on, observing
from autodiff.trace.pytree import leaves_of, parts_of, variables_at
from chainrules_core.calling.signatures import signature_of
from chainrules_core.rules import name_of

_SHORT = 0.02  # seconds of a derivative that is worth one more run


def explain(
    f: Callable,
    /,
    *args: Any,
    argnums: int | tuple[int, ...] | None = None,
    memory: bool = True,
    **kwargs: Any,
) -> Explanation:
    r"""Differentiate a function in reverse mode and report each call.

    Parameters
    ----------
    f : callable
        Any function. The cotangent of each of its outputs is one.
    *args : Any
        Its arguments: numbers, arrays, or pytrees of them.
    argnums : int or tuple of int, optional
        The positions of the arguments to differentiate with respect to; all by default.
    memory : bool
        Whether to measure memory too, in a separate run.
    **kwargs : Any
        Keyword arguments of `f`; they are constants.

    Returns
    -------
    Explanation
        The report. Print it, or display it in a notebook. `lines` and `functions` have the totals
        as data, and ``save("tape.svg")`` draws the tape.

    Raises
    ------
    ArgumentError
        If there is nothing to differentiate with respect to.

    Notes
    -----
    The function is called several times, so it should do the same each time. The first calls warm
    up. The next ones run unobserved and give the total times. Others show how the total divides
    among lines and calls, and the last one measures memory.

    The times of lines and calls add up to the total. The calls inside a line together take at most
    the time of the line: see `Explanation.lines`.

    Examples
    --------
    >>> import numpy as np
    >>> def loss(x):
    ...     best = np.argmax(x)
    ...     return np.sum(np.sin(x)) * best
    >>> result = explain(loss, np.array([1.0, 2.0]), memory=False)
    >>> [(call.name, call.kind) for call in result.root.children]
    [('numpy.argmax', 'constant'), ('numpy.sin', 'elementwise'), ('numpy.sum', 'rule'),
     ('operator.mul', 'elementwise')]
    >>> print(*result.zeros, sep="\n")
    numpy.argmax (...) is constant: whole numbers and truth values have no derivative
    """
    try:
        return _explained(f, args, kwargs, argnums, memory)
    except Exception as error:
        hide_engine(error)
        raise


def _explained(
    f: Callable, args: tuple, kwargs: dict[str, Any], argnums: Any, memory: bool
) -> Explanation:
    times = measured(f, args, kwargs, argnums)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the first call has said it
        if memory or times.forward + times.backward < _SHORT:  # also to warm up
            before, _, _ = _recorded(f, args, kwargs, argnums, times, memory)
        recorder, traced, bars = _recorded(f, args, kwargs, argnums, times, False)
    if memory:
        _give_bytes(before.root, recorder.root)
    recorder.root.name = name_of(f)
    recorder.root.inputs = [described(a) for a in args]
    recorder.root.output = described(traced.value)
    divide(recorder.root, times.root)
    outputs = indices_on(traced.outputs(), traced.tape)
    leaves = [bar for bar in leaves_of(bars) if bar is not None]
    for argument, bar in zip(recorder.arguments, leaves, strict=False):
        argument.cotangent = "zero" if is_all_zero(bar) else "nonzero"
    chosen = range(len(args)) if argnums is None else argnums_of(argnums) or ()
    names = [n for i in dict.fromkeys(chosen) for n in _names_of(_name_of(f, i), args[i])]
    for argument, name in zip(recorder.arguments, names, strict=False):
        argument.name = name
    function = getattr(f, "__qualname__", "")
    return Explanation(recorder.root, recorder.arguments, outputs, times, memory, function)


def _recorded(
    f: Callable, args: tuple, kwargs: dict[str, Any], argnums: Any, times: Times, memory: bool
) -> tuple[Recorder, Linearised, list]:
    """Differentiate once more and record each call, with or without its memory."""
    recorder = Recorder(memory, times.root)
    recorder.base = sys._getframe()
    started = memory and not tracemalloc.is_tracing()
    if started:
        tracemalloc.start()
    try:
        with observing(recorder):
            traced = Linearised(f, args, kwargs, argnums_of(argnums))
        bars = traced.cotangents(ones_like(traced.value))
    finally:
        recorder.finish()
        if started:
            tracemalloc.stop()
    return recorder, traced, bars


def _give_bytes(before: Call, root: Call) -> None:
    """Give calls the memory that those of another run took, where the runs are alike."""
    for measured_call, call in zip(before.walk(), root.walk(), strict=False):
        if (measured_call.name, measured_call.kind) != (call.name, call.kind):
            return
        call.bytes, call.back_bytes = measured_call.bytes, measured_call.back_bytes


def _name_of(f: Callable, i: int) -> str:
    """Return the name of a parameter, or its position if it has none."""
    signature = signature_of(f)
    names = [] if signature is None else list(signature.parameters.values())
    is_named = 0 <= i < len(names) and names[i].kind in (0, 1)
    return names[i].name if is_named else f"argument {i}"


def _names_of(name: str, x: Any) -> list[str]:
    """Return the expressions that give the variables in the pytree with this name."""
    return [name] if type(x) is int else [_at(name, x, keys) for keys in variables_at(x)]


def _at(name: str, x: Any, keys: tuple) -> str:
    """Return the expression that gives a part of the pytree with this name."""
    for key in keys:
        is_keyed = isinstance(x, (tuple, list, dict)) and not hasattr(x, "_fields")
        name += f"[{key!r}]" if is_keyed else f".{key}"
        x = dict(parts_of(x) or ())[key]
    return name


class Explanation:
    """A report of what the engine did with a function.

    Attributes
    ----------
    root : Call
        The function. The calls in it are its `children`.
    arguments : list of Call
        The numbers and arrays with respect to which `f` was differentiated.
    outputs : list of int
        The positions of the results on the tape.
    seconds : tuple of float
        The times of the forward run and of the reverse sweep, without the cost of `explain`.
    first : float
        The time of the first call, which also reads code and finds rules.
    ordinary : float
        The time of an ordinary call of `gradient`.
    has_memory : bool
        Whether memory was measured.
    """

    def __init__(
        self,
        root: Call,
        arguments: list[Call],
        outputs: list[int],
        times: Times,
        has_memory: bool,
        function: str = "",
    ) -> None:
        self.root = root
        self.arguments = arguments
        self.outputs = outputs
        self.seconds = times.forward, times.backward
        self.first = times.first
        self.ordinary = times.ordinary
        self.has_memory = has_memory
        self._lines = times.root
        self._function = function

    def calls(self) -> Iterator[Call]:
        """Yield all calls in the order of execution, the function itself first."""
        return self.root.walk()

    @functools.cached_property
    def tree(self) -> Row:
        """The function as a row of a tree, in which repeated calls from one line share a row."""
        return whole(self.root, self._lines)

    @functools.cached_property
    def lines(self) -> list[Total]:
        """The time of each of your lines, longest first; they add up to the total.

        The time of a line includes the pullbacks of its calls, but not the time inside your
        functions that it calls. A loop that runs as one program counts for the line that calls it.
        """
        return by_line(self.root, self._lines)

    @functools.cached_property
    def functions(self) -> list[Total]:
        """The time of each function, longest first; they add up to the total.

        The time of one of your functions excludes the differentiated calls in it.
        """
        return by_function(self.root, self._lines, self._function)

    @property
    def zeros(self) -> list[str]:
        """Sentences about where and why derivatives became zero."""
        return list(dict.fromkeys(self._reasons()))

    def _reasons(self) -> Iterator[str]:
        users: dict[int, list[Call]] = {}
        calls = [c for c in self.calls() if c.kind != "traced"]
        for call in calls:
            for place in call.parents:
                users.setdefault(place, []).append(call)
        for argument in self.arguments:
            if argument.cotangent == "zero":
                yield f"{argument.name} has a zero gradient{self._because(argument, users)}"
        for call in calls:
            where = f"{call.name} ({call.where})"
            if not call.is_recorded:
                yield f"{where} is constant: {call.note}"
                continue
            followers = [u for place in call.places for u in users.get(place, []) if u.is_recorded]
            is_end = not followers and not set(call.places) & set(self.outputs)
            if call.cotangent == "none" and is_end:
                yield f"{where} gets no cotangent: the output does not depend on its result"
            elif call.cotangent == "zero" and not any(u.cotangent == "zero" for u in followers):
                yield f"{where} gets a zero cotangent"
            for name in call.zeros:
                yield f"{where} hands {name} a zero: its derivative is zero there"

    def _because(self, argument: Call, users: dict[int, list[Call]]) -> str:
        found = [u for place in argument.places for u in users.get(place, [])]
        if not found:
            return ": no call that is differentiated uses it"
        if not any(u.is_recorded for u in found):
            return ": only constant calls use it"
        return ", though calls use it: see below"

    # -- display ---------------------------------------------------------------------------------

    def text(self, most: int | None = 200) -> str:
        """Return the tree and the totals as plain text, with at most `most` rows of each."""
        parts = ["\n".join(lines_of(self, most))]
        parts.append(table("Line", self.lines, self.has_memory, min(most or 10, 10)))
        parts.append(table("Function", self.functions, self.has_memory, min(most or 10, 10)))
        if self.zeros:
            reasons = [f"  {reason}" for reason in self.zeros[:most]]
            parts.append("\n".join(["Where derivatives become zero:", *reasons]))
        return "\n\n".join(parts)

    def __str__(self) -> str:
        if sys.stdout.isatty():
            try:
                return as_rich_text(self)
            except ImportError:
                pass
        return self.text()

    def __repr__(self) -> str:
        n = sum(call.is_recorded for call in self.calls())
        return f"<Explanation of {self.root.name}: {n} recorded calls>"

    def __rich__(self) -> Any:
        return as_rich(self)

    def _repr_html_(self) -> str:
        return report_as_html(self)

    def svg(self, most: int = 300, times: bool = True) -> str:
        """Return an SVG drawing of the tape.

        Parameters
        ----------
        most : int
            How many calls to draw. In a larger tape, repeated calls from one line are drawn as one.
            If there are still too many, some are left out, and the drawing says how many.
        times : bool
            Whether the tooltips of the nodes show times. Without them, the drawing is always the
            same.
        """
        return tape_as_svg(self, most, times)

    def flame(self) -> str:
        """Return the flame graph as SVG, in which the width of a call is its time."""
        return flame_as_svg(self.tree)

    def save(self, path: str | Path) -> Path:
        """Write the report to a file.

        Parameters
        ----------
        path : str or Path
            The suffix selects the format: ``.svg`` for the tape, ``.txt`` for the tree and the
            totals, ``.html`` for all of this and the flame graph.

        Returns
        -------
        Path
            The file.

        Raises
        ------
        ArgumentError
            If the suffix is unknown.
        """
        path = Path(path)
        if path.suffix == ".svg":
            text = self.svg()
        elif path.suffix in (".html", ".htm"):
            text = page(self)
        elif path.suffix == ".txt":
            text = self.text(most=None) + "\n"
        else:
            raise ArgumentError(
                f"save() writes .svg (the tape as a graph), .html or .txt, not {path.suffix!r}: "
                f"{path.stem}.svg"
            )
        path.write_text(text, encoding="utf-8")
        return path


def as_rich_text(explanation: Explanation) -> str:
    """Return the tree as text with terminal colours."""
    import io

    from rich.console import Console

    file = io.StringIO()
    console = Console(file=file, force_terminal=True, width=None)
    console.print(as_rich(explanation))
    return file.getvalue().rstrip("\n")

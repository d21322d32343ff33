"""explain(f, *args): the record of a run, to print, to show in a notebook or to save."""

from __future__ import annotations

import sys
import time
import tracemalloc
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from autodiff.errors import ArgumentError
from autodiff.explanation.call_tree import Call, Recorder, described, is_all_zero
from autodiff.explanation.html import page, tree_as_html
from autodiff.explanation.svg import tape_as_svg
from autodiff.explanation.text import as_rich, lines_of
from autodiff.trace.linearize import Linearised, argnums_of
from autodiff.trace.observers import indices_on, observing
from autodiff.trace.pytree import is_perturbable, leaves_of, map_variables, parts_of
from chainrules_core.rules import name_of, rrule
from chainrules_core.signatures import signature_of


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
        Whether to measure memory, which slows the run down.
    **kwargs : Any
        Keyword arguments of `f`; they are constants.

    Returns
    -------
    Explanation
        To be printed; a notebook displays it; ``save("tape.svg")`` draws the tape.

    Raises
    ------
    ArgumentError
        If there is nothing to differentiate with respect to.

    Notes
    -----
    Fast paths are off, so that small operations are slower than usual. Compare the times with each
    other only.

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
    rrule.methods()  # rules that still wait load now, and not while it measures
    recorder = Recorder(memory)
    recorder.base = sys._getframe()
    started = memory and not tracemalloc.is_tracing()
    if started:
        tracemalloc.start()
    try:
        with observing(recorder):
            start = time.perf_counter()
            traced = Linearised(f, args, kwargs, argnums_of(argnums))
            forward = time.perf_counter() - start
        start = time.perf_counter()
        ones = map_variables(traced.value, lambda leaf: np.ones_like(leaf)[()])
        bars = traced.cotangents(ones)
        backward = time.perf_counter() - start
    finally:
        recorder.finish()
        if started:
            tracemalloc.stop()
    recorder.root.name = name_of(f)
    recorder.root.inputs = [described(a) for a in args]
    recorder.root.output = described(traced.value)
    outputs = indices_on(traced.outputs(), traced.tape)
    leaves = [bar for bar in leaves_of(bars) if bar is not None]
    for argument, bar in zip(recorder.arguments, leaves, strict=False):
        argument.cotangent = "zero" if is_all_zero(bar) else "nonzero"
    chosen = range(len(args)) if argnums is None else argnums_of(argnums) or ()
    names = [n for i in dict.fromkeys(chosen) for n in _leaf_names(_name_of(f, i), args[i])]
    for argument, name in zip(recorder.arguments, names, strict=False):
        argument.name = name
    return Explanation(recorder.root, recorder.arguments, outputs, (forward, backward), memory)


def _name_of(f: Callable, i: int) -> str:
    """Return the name of a parameter, or its position if it has none."""
    signature = signature_of(f)
    names = [] if signature is None else list(signature.parameters.values())
    is_named = 0 <= i < len(names) and names[i].kind in (0, 1)
    return names[i].name if is_named else f"argument {i}"


def _leaf_names(name: str, x: Any) -> list[str]:
    """Return the expressions that give the numbers and arrays in a pytree."""
    parts = parts_of(x)
    if parts is None:
        return [name] if is_perturbable(x) or type(x) is int else []
    keyed = isinstance(x, (tuple, list, dict)) and not hasattr(x, "_fields")
    return [
        leaf
        for key, part in parts
        if type(part) is not int
        for leaf in _leaf_names(f"{name}[{key!r}]" if keyed else f"{name}.{key}", part)
    ]


class Explanation:
    """A report of what the engine did with a function.

    Attributes
    ----------
    root : Call
        The function; the calls in it are its `children`.
    arguments : list of Call
        The numbers and arrays that were differentiated with respect to.
    outputs : list of int
        The places of the results on the tape.
    seconds : tuple of float
        The times of the forward run and of the reverse sweep.
    has_memory : bool
        Whether memory was measured.
    """

    def __init__(
        self,
        root: Call,
        arguments: list[Call],
        outputs: list[int],
        seconds: tuple[float, float],
        has_memory: bool,
    ) -> None:
        self.root = root
        self.arguments = arguments
        self.outputs = outputs
        self.seconds = seconds
        self.has_memory = has_memory

    def calls(self) -> Iterator[Call]:
        """Yield all calls in the order of execution, the function itself first."""
        return self.root.walk()

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
        """Return the tree as plain text, with at most `most` calls."""
        lines = list(lines_of(self, most))
        if self.zeros:
            lines += ["", "Where derivatives become zero:"]
            lines += [f"  {reason}" for reason in self.zeros[:most]]
        return "\n".join(lines)

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
        return tree_as_html(self)

    def svg(self, most: int = 300) -> str:
        """Return an SVG drawing of the tape, with at most `most` nodes."""
        return tape_as_svg(self, most)

    def save(self, path: str | Path) -> Path:
        """Write the report to a file.

        Parameters
        ----------
        path : str or Path
            The suffix says what to write: ``.svg`` the tape, ``.txt`` the tree, ``.html`` both.

        Returns
        -------
        Path
            The file.

        Raises
        ------
        ArgumentError
            If the suffix is another one.
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

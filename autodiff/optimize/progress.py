"""A progress bar in the terminal or a notebook, where rich is installed."""

from __future__ import annotations

import importlib.util
import math
import time
from typing import Any

from autodiff.optimize.history import History

_BETWEEN = 0.1
"""Seconds between two updates."""


class NoBar:
    """Shows nothing."""

    def __enter__(self) -> NoBar:
        return self

    def __exit__(self, *error: object) -> None:
        """End."""

    def show(self, history: History) -> None:
        """Show nothing."""

    def expect(self, total: int) -> None:
        """Show nothing."""

    def parts(self, done: int, total: int) -> None:
        """Show nothing."""

    def ended(self, done: int, total: int) -> None:
        """Show nothing."""


class Bar(NoBar):
    """Shows evaluations, value, length of the gradient and evaluations per second.

    Parameters
    ----------
    console : rich.console.Console, optional
        Where; by default the terminal or the notebook.
    total : int, optional
        How many evaluations there will be, if that is known.
    named : str
        What is counted.
    """

    def __init__(
        self, console: Any = None, total: int | None = None, named: str = "evaluations"
    ) -> None:
        from rich.progress import (
            BarColumn,
            MofNCompleteColumn,
            Progress,
            TextColumn,
            TimeElapsedColumn,
        )

        console = _console() if console is None else console
        self._progress = Progress(
            TextColumn("{task.description}"), BarColumn(bar_width=20), MofNCompleteColumn(),
            TextColumn("{task.fields[state]}"), TimeElapsedColumn(),
            console=console,
        )  # fmt: skip
        self._task = self._progress.add_task(named, total=total, state="")
        self._parts: Any = None
        self._history: History | None = None
        self._shown_at = 0.0

    def __enter__(self) -> Bar:
        self._progress.start()
        return self

    def __exit__(self, *error: object) -> None:
        """Show the last evaluation, and leave the bar."""
        if self._history is not None:
            self._update(self._history)
        self._progress.stop()

    def expect(self, total: int) -> None:
        """Show how many evaluations there will be."""
        self._progress.update(self._task, total=total)

    def show(self, history: History) -> None:
        """Show the last evaluation of a history, if the one before was shown some time ago."""
        self._history = history
        now = time.monotonic()
        if now - self._shown_at > _BETWEEN:
            self._shown_at = now
            self._update(history)

    def parts(self, done: int, total: int) -> None:
        """Show how many shards of the present evaluation are done, on a line of their own."""
        if self._parts is None:
            self._parts = self._progress.add_task("shards", state="")
        self._progress.update(self._parts, completed=done, total=total)

    def ended(self, done: int, total: int) -> None:
        """Show how many of what is counted have ended."""
        self._progress.update(self._task, completed=done, total=total)

    def _update(self, history: History) -> None:
        if len(history):
            length = history.gradient_norms[-1]
            state = f"value {history.values[-1]:.6g}  "
            state += "" if math.isnan(length) else f"|gradient| {length:.3g}  "
            state += f"{history.rate:.1f}/s"
            self._progress.update(self._task, completed=len(history), state=state)


def _console() -> Any:
    """Return where to draw: in a notebook by widgets, or as text if these are not installed."""
    from rich.console import Console

    console = Console()
    if console.is_jupyter and importlib.util.find_spec("ipywidgets") is None:
        return Console(force_jupyter=False, force_terminal=True, width=100)
    return console


def bar_for(progress: Any, total: int | None = None, named: str = "evaluations") -> NoBar:
    """Return a bar: one that shows nothing if none is asked for, or if rich is not installed.

    Parameters
    ----------
    progress : bool or rich.console.Console
        Whether to show one, or where.
    total : int, optional
        How many evaluations there will be.
    named : str
        What is counted.
    """
    if progress is False or progress is None or importlib.util.find_spec("rich") is None:
        return NoBar()
    return Bar(None if progress is True else progress, total, named)

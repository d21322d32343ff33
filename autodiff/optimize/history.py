"""The evaluations of a run: values, lengths of gradients, times."""

from __future__ import annotations

import time
from typing import Any

import numpy as np


class History:
    """The evaluations of a run, in order.

    Attributes
    ----------
    values : list of float
        The minimised value at each evaluation.
    gradient_norms : list of float
        The length of the gradient; NaN if none was computed.
    times : list of float
        Seconds since the start.
    """

    def __init__(self) -> None:
        self.values: list[float] = []
        self.gradient_norms: list[float] = []
        self.times: list[float] = []
        self._start = time.perf_counter()

    def __len__(self) -> int:
        return len(self.values)

    def __repr__(self) -> str:
        last = f", value {self.values[-1]:.6g}" if self.values else ""
        return f"History({len(self)} evaluations{last})"

    def note(self, value: float, gradient_norm: float) -> None:
        """Add an evaluation."""
        self.values.append(value)
        self.gradient_norms.append(gradient_norm)
        self.times.append(self.seconds)

    @property
    def seconds(self) -> float:
        """Seconds since the start. What is set goes on from there; it never goes back."""
        return time.perf_counter() - self._start

    @seconds.setter
    def seconds(self, now: float) -> None:
        self._start = min(self._start, time.perf_counter() - now)

    def arrays(self) -> dict[str, np.ndarray]:
        """Return what was noted, for a checkpoint."""
        named = {"values": self.values, "gradient_norms": self.gradient_norms, "times": self.times}
        return {name: np.array(noted, float) for name, noted in named.items()}

    @classmethod
    def of_arrays(cls, arrays: dict[str, np.ndarray]) -> History:
        """Return the history that `arrays` was taken from; its clock goes on."""
        history = cls()
        history.values = arrays["values"].tolist()
        history.gradient_norms = arrays["gradient_norms"].tolist()
        history.times = arrays["times"].tolist()
        history.seconds = history.times[-1] if history.times else 0.0
        return history

    @property
    def rate(self) -> float:
        """Evaluations per second so far."""
        return len(self) / self.times[-1] if self.times and self.times[-1] > 0 else 0.0

    def plot(self, axes: Any = None) -> Any:
        """Plot the values and the lengths of the gradients, with matplotlib.

        Parameters
        ----------
        axes : matplotlib.axes.Axes, optional
            Where to draw; by default a new figure.

        Returns
        -------
        matplotlib.axes.Axes
            The axes of the plot. Values are shown as their distance from the lowest one.

        Raises
        ------
        ImportError
            If matplotlib is not installed.
        """
        from matplotlib import pyplot

        axes = pyplot.subplots()[1] if axes is None else axes
        values, lengths = np.array(self.values), np.array(self.gradient_norms)
        count = np.arange(1, len(self) + 1)
        if len(self):
            gaps = values - np.nanmin(values)
            axes.plot(count[gaps > 0], gaps[gaps > 0], ".-", label="value above the lowest")
            if np.any(lengths > 0):
                axes.plot(count, lengths, ".-", label="length of the gradient")
            axes.set_yscale("log")
            axes.legend()
        axes.set_xlabel("evaluations")
        return axes

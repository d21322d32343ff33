"""lstm: the loss of a diagonal LSTM that predicts the next character, and its gradient.

Here each unit has weights of its own, so the gates that depend on a layer's input are computed for
the whole sequence; those that depend on the state, step by step.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.special import expit

from autodiff import gradient
from benchmarks.gradbench.protocol import Task


def layer(
    weight: np.ndarray, bias: np.ndarray, hidden: np.ndarray, cell: np.ndarray, inputs: np.ndarray
) -> np.ndarray:
    """The hidden states after each of the inputs."""
    of_forget, of_in, of_out, of_change = np.split(weight, 4)
    at_forget, at_in, at_out, at_change = np.split(bias, 4)
    forget = expit(inputs * of_forget + at_forget)
    out = expit(inputs * of_out + at_out)
    states = []
    for f, o in zip(forget, out, strict=True):
        change = expit(hidden * of_in + at_in) * np.tanh(hidden * of_change + at_change)
        cell = cell * f + change
        hidden = o * np.tanh(cell)
        states.append(hidden)
    return np.stack(states)


def objective(
    main: np.ndarray, extra: np.ndarray, state: np.ndarray, sequence: np.ndarray
) -> float:
    into, out, shift = extra
    x = sequence[:-1] * into
    for i in range(0, len(main), 2):
        x = layer(main[i], main[i + 1], state[i], state[i + 1], x)
    predicted = x * out + shift
    # The benchmark's sum of exponentials starts at 2.
    normal = np.log(2.0 + np.sum(np.exp(predicted), axis=1, keepdims=True))
    return -np.mean(sequence[1:] * (predicted - normal))


def slope(*args: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    return gradient(objective, *args, argnums=(0, 1))


def prepare(given: dict[str, Any]) -> tuple:
    names = ("main_params", "extra_params", "state", "sequence")
    return tuple(np.array(given[name], dtype=float) for name in names)


def report(gradients: tuple[np.ndarray, np.ndarray]) -> list[float]:
    return [element for g in gradients for element in g.ravel().tolist()]


TASKS = {"objective": Task(prepare, objective, float), "jacobian": Task(prepare, slope, report)}

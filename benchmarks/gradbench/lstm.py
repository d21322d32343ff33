"""lstm: the loss of a diagonal LSTM that predicts the next character, and its gradient.

Each unit has weights of its own. The steps and the layers are two loops, as the formulas are read;
with llvmlite, both are machine code, forward and backward.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from autodiff import compile, gradient
from benchmarks.gradbench.protocol import Task


def sigmoid(x: np.ndarray) -> np.ndarray:
    return 1.0 / (1.0 + np.exp(-x))


def loss(main: np.ndarray, extra: np.ndarray, state: np.ndarray, sequence: np.ndarray) -> float:
    """The mean over all characters but the first; `state` holds a hidden state and a cell by turns.

    The gates of a layer are, one after the other: forget, in, out, change.
    """
    steps, n = len(sequence) - 1, sequence.shape[1]
    state = state.copy()
    total = 0.0
    for t in range(steps):
        x = sequence[t] * extra[0]
        for i in range(0, len(main), 2):
            weight, bias = main[i], main[i + 1]
            forget = sigmoid(x * weight[:n] + bias[:n])
            into = sigmoid(state[i] * weight[n : 2 * n] + bias[n : 2 * n])
            out = sigmoid(x * weight[2 * n : 3 * n] + bias[2 * n : 3 * n])
            change = np.tanh(state[i] * weight[3 * n :] + bias[3 * n :])
            state[i + 1] = state[i + 1] * forget + into * change
            state[i] = out * np.tanh(state[i + 1])
            x = state[i]
        predicted = x * extra[1] + extra[2]
        # The benchmark's sum of exponentials starts at 2.
        normal = np.log(2.0 + np.sum(np.exp(predicted)))
        total += np.sum(sequence[t + 1] * (predicted - normal))
    return -total / (steps * n)


@compile
def objective(*args: np.ndarray) -> float:
    return loss(*args)


@compile
def slope(*args: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    return gradient(loss, *args, argnums=(0, 1))


def prepare(given: dict[str, Any]) -> tuple:
    names = ("main_params", "extra_params", "state", "sequence")
    return tuple(np.array(given[name], dtype=float) for name in names)


def report(gradients: tuple[np.ndarray, np.ndarray]) -> list[float]:
    return [element for g in gradients for element in g.ravel().tolist()]


TASKS = {"objective": Task(prepare, objective, float), "jacobian": Task(prepare, slope, report)}

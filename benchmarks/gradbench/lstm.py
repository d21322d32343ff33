"""lstm: the loss of a diagonal LSTM that predicts the next character, and its gradient.

Here each unit has weights of its own, so the gates that depend on a layer's input are computed for
the whole sequence; those that depend on the state, step by step, in stretches that are compiled.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.special import expit

from autodiff import gradient
from benchmarks.gradbench.parts import part
from benchmarks.gradbench.protocol import Task

# So many steps of a layer are compiled as one part.
STEPS = 32


@part
def stretch(
    in_and_change: np.ndarray, state: np.ndarray, forget: np.ndarray, out: np.ndarray
) -> np.ndarray:
    """Some steps of a layer: the hidden states, and in the end the cell's.

    `in_and_change` holds weights and biases of the gates of these names.
    """
    of_in, of_change, at_in, at_change = in_and_change
    hidden, cell = state
    states = []
    for f, o in zip(forget, out, strict=True):
        change = expit(hidden * of_in + at_in) * np.tanh(hidden * of_change + at_change)
        cell = cell * f + change
        hidden = o * np.tanh(cell)
        states.append(hidden)
    return np.stack([*states, cell])


def layer(
    weight: np.ndarray, bias: np.ndarray, state: np.ndarray, inputs: np.ndarray
) -> np.ndarray:
    """The hidden states after each of the inputs."""
    weight, bias = np.reshape(weight, (4, -1)), np.reshape(bias, (4, -1))
    forget = expit(inputs * weight[0] + bias[0])
    out = expit(inputs * weight[2] + bias[2])
    in_and_change = np.concatenate([weight[1::2], bias[1::2]])
    found = []
    for start in range(0, len(inputs), STEPS):
        now = slice(start, start + STEPS)
        states = stretch(in_and_change, state, forget[now], out[now])
        found.append(states[:-1])
        state = states[-2:]
    return np.concatenate(found)


def objective(
    main: np.ndarray, extra: np.ndarray, state: np.ndarray, sequence: np.ndarray
) -> float:
    into, out, shift = extra
    x = sequence[:-1] * into
    for i in range(0, len(main), 2):
        x = layer(main[i], main[i + 1], state[i : i + 2], x)
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

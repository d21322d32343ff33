"""First-order optimisers over nests: gradient descent with momentum, Adam, schedules of rates.

An optimiser has no state of its own. Its memory is a nest of floats like the parameters, which a
checkpoint can store.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

from autodiff.api.trees import tree_map, tree_scale

Rate = float | Callable[[int], float]


class Optimiser(NamedTuple):
    """How parameters are changed by gradients.

    Attributes
    ----------
    start : callable
        ``memory = start(params)``.
    step : callable
        ``params, memory = step(params, slopes, memory, count)``; `count` is 0 in the first step.
    """

    start: Callable
    step: Callable


def _at(rate: Rate, count: int) -> float:
    return float(rate(count) if callable(rate) else rate)


def sgd(rate: Rate = 0.01, momentum: float = 0.0) -> Optimiser:
    """Return gradient descent, ``v = momentum v - rate g; p = p + v`` (Polyak, 1964).

    Parameters
    ----------
    rate : float or callable
        The learning rate, or a function of the number of steps taken.
    momentum : float
        The part of the last step that is repeated, from 0 to below 1.

    Returns
    -------
    Optimiser
        Pass it to :func:`train`, or call its ``step`` yourself.

    Examples
    --------
    >>> descent = sgd(rate=0.1)
    >>> params = {"a": 1.0, "name": "p"}
    >>> descent.step(params, {"a": 2.0, "name": None}, descent.start(params), 0)[0]
    {'a': 0.8, 'name': 'p'}
    """

    def start(params: Any) -> Any:
        return tree_scale(0.0, params)

    def step(params: Any, slopes: Any, memory: Any, count: int) -> tuple[Any, Any]:
        now = _at(rate, count)
        memory = tree_map(lambda v, g: momentum * v - now * g, memory, slopes)
        return tree_map(lambda p, v: p + v, params, memory), memory

    return Optimiser(start, step)


def adam(
    rate: Rate = 0.001, beta1: float = 0.9, beta2: float = 0.999, eps: float = 1e-8
) -> Optimiser:
    """Return Adam: steps by the mean of gradients over the root of the mean of their squares.

    Parameters
    ----------
    rate : float or callable
        The learning rate, or a function of the number of steps taken.
    beta1, beta2 : float
        How slowly the running means of the gradients and of their squares forget.
    eps : float
        Added to the root.

    Returns
    -------
    Optimiser
        Pass it to :func:`train`, or call its ``step`` yourself.

    Notes
    -----
    Algorithm 1 of Kingma and Ba, Adam: a method for stochastic optimization, 2015.
    """

    def start(params: Any) -> Any:
        sizes = tree_map(lambda p: 0.0 * abs(p), params)
        return {"mean": tree_scale(0.0, params), "size": sizes}

    def step(params: Any, slopes: Any, memory: Any, count: int) -> tuple[Any, Any]:
        now = _at(rate, count) / (1 - beta1 ** (count + 1))
        root = 1 / math.sqrt(1 - beta2 ** (count + 1))
        mean = tree_map(lambda m, g: beta1 * m + (1 - beta1) * g, memory["mean"], slopes)
        size = tree_map(lambda s, g: beta2 * s + (1 - beta2) * abs(g) ** 2, memory["size"], slopes)
        moved = tree_map(lambda p, m, s: p - now * m / (root * s**0.5 + eps), params, mean, size)
        return moved, {"mean": mean, "size": size}

    return Optimiser(start, step)


def exponential_decay(rate: float, factor: float, steps: int) -> Callable[[int], float]:
    """Return a rate that is multiplied by `factor` over each `steps` steps, smoothly.

    Examples
    --------
    >>> exponential_decay(0.1, 0.5, 100)(200)
    0.025
    """
    return lambda count: rate * factor ** (count / steps)


def cosine_decay(rate: float, steps: int, warmup: int = 0) -> Callable[[int], float]:
    """Return a rate that rises for `warmup` steps, and falls to 0 at `steps` as a cosine does.

    Examples
    --------
    >>> schedule = cosine_decay(0.1, steps=100, warmup=10)
    >>> [round(schedule(count), 3) for count in (0, 10, 55, 100)]
    [0.01, 0.1, 0.05, 0.0]
    """

    def schedule(count: int) -> float:
        if count < warmup:
            return rate * (count + 1) / warmup
        way = min(1.0, (count - warmup) / max(1, steps - warmup))
        return rate * 0.5 * (1 + math.cos(math.pi * way))

    return schedule

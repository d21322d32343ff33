"""Functions whose values are computed again for the pullback."""

import numpy as np

from autodiff import (
    ArgumentError,
    DifferentiationError,
    MutationError,
    checkpoint,
    checkpoint_loops,
    gradient,
    vjp,
)
from tools.errors.entries import entry

SCALE = {}
RATES = {}


@entry("A checkpointed function writes into its argument", MutationError)
def checkpointed_write() -> None:
    def layer(x):
        x *= 2
        return np.sin(x)

    gradient(lambda x: np.sum(checkpoint(layer)(x)), np.ones(3))


@checkpointed_write.instead("Let it write into a copy")
def checkpointed_copy() -> None:
    def layer(x):
        x = x.copy()
        x *= 2
        return np.sin(x)

    gradient(lambda x: np.sum(checkpoint(layer)(x)), np.ones(3))


@entry("What a checkpointed function reads is changed", DifferentiationError)
def checkpointed_list_changed() -> None:
    rates = [0.1, 0.2]

    def loss(x):
        layer = checkpoint(lambda x: np.sin(x) * rates[0])
        y = layer(x)
        rates[0] = 0.5
        return y * rates[0]

    gradient(loss, 1.0)


@checkpointed_list_changed.instead("Pass it as an argument")
def checkpointed_argument() -> None:
    rates = [0.1, 0.2]

    def loss(x):
        layer = checkpoint(lambda x, rate: np.sin(x) * rate)
        y = layer(x, rates[0])
        rates[0] = 0.5
        return y * rates[0]

    gradient(loss, 1.0)


@entry("A checkpointed function draws random numbers", DifferentiationError)
def checkpointed_draw() -> None:
    rng = np.random.default_rng(0)
    noisy = checkpoint(lambda x: np.sin(x) * rng.normal())
    gradient(lambda x: noisy(x), 1.0)


@checkpointed_draw.instead("Draw outside")
def draw_outside() -> None:
    rng = np.random.default_rng(0)
    noisy = checkpoint(lambda x, noise: np.sin(x) * noise)
    gradient(lambda x: noisy(x, rng.normal()), 1.0)


@checkpointed_draw.instead("Pass a seed")
def draw_from_a_seed() -> None:
    noisy = checkpoint(lambda x, seed: np.sin(x) * np.random.default_rng(seed).normal())
    gradient(lambda x: noisy(x, 0), 1.0)


@entry("A checkpointed function reads a traced value from a global", DifferentiationError)
def checkpointed_global() -> None:
    layer = checkpoint(lambda x: np.sin(x) * SCALE["now"])

    def loss(x):
        SCALE["now"] = x**2
        return layer(x)

    gradient(loss, 1.0)


@checkpointed_global.instead("Pass it as an argument")
def checkpointed_without_global() -> None:
    layer = checkpoint(lambda x, scale: np.sin(x) * scale)
    gradient(lambda x: layer(x, x**2), 1.0)


@entry("A checkpointed function counts its calls", DifferentiationError)
def checkpointed_counter() -> None:
    class Layer:
        calls = 0

        def __call__(self, x):
            Layer.calls += 1
            return np.sin(x) * Layer.calls

    layer = checkpoint(Layer())
    gradient(lambda x: layer(x), 1.0)


@checkpointed_counter.instead("Count outside")
def counter_outside() -> None:
    layer = checkpoint(lambda x, calls: np.sin(x) * calls)
    gradient(lambda x: sum(layer(x, calls) for calls in (1, 2)), 1.0)


@entry("A checkpointed loop is not read from its source", DifferentiationError)
def checkpointed_loop_fills_a_list() -> None:
    @checkpoint_loops
    def simulate(u, k):
        energies = []
        for _ in range(100):
            u = u + 0.1 * k * np.sin(u)
            energies.append(np.sum(u * u))
        return sum(energies)

    gradient(lambda k: simulate(np.ones(3), k), 0.1)


@checkpointed_loop_fills_a_list.instead("Write it without that")
def checkpointed_loop_adds_up() -> None:
    @checkpoint_loops
    def simulate(u, k):
        energy = 0.0
        for _ in range(100):
            u = u + 0.1 * k * np.sin(u)
            energy = energy + np.sum(u * u)
        return energy

    gradient(lambda k: simulate(np.ones(3), k), 0.1)


@entry("What a loop reads changes before its pullback traces it again", DifferentiationError)
def loop_reads_what_changes() -> None:
    RATES["rate"] = 0.5

    def decayed(x):
        total = 0.0
        for i in range(len(x)):
            total = RATES["rate"] * total + x[i] ** 2
        return total

    _, pullback = vjp(decayed, np.ones(4000))
    RATES["rate"] = 0.25
    pullback(np.inf)


@loop_reads_what_changes.instead("Take the gradient before")
def gradient_before_the_change() -> None:
    RATES["rate"] = 0.5

    def decayed(x):
        total = 0.0
        for i in range(len(x)):
            total = RATES["rate"] * total + x[i] ** 2
        return total

    _, pullback = vjp(decayed, np.ones(4000))
    pullback(np.inf)
    RATES["rate"] = 0.25


@loop_reads_what_changes.instead("pass it as an argument")
def loop_with_an_argument() -> None:
    rates = [0.5]

    def decayed(x, rate):
        total = 0.0
        for i in range(len(x)):
            total = rate * total + x[i] ** 2
        return total

    _, pullback = vjp(decayed, np.ones(4000), rates[0])
    rates[0] = 0.25
    pullback(np.inf)


@entry("checkpoint_loops takes Python functions", ArgumentError)
def checkpointed_loops_of_a_ufunc() -> None:
    checkpoint_loops(np.sin)


@checkpointed_loops_of_a_ufunc.instead("a Python function")
def checkpointed_loops_of_a_function() -> None:
    checkpoint_loops(lambda x: np.sin(x))

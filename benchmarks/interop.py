"""What an adapter adds to a call and its gradient: `python -m benchmarks.interop [size ...]`.

The engine's own pullback is timed beside the adapters of the systems that are installed, and beside
these systems' own tanh. A time is that of the shortest of many single calls: what they take when
nothing interrupts them, also on a machine that has other work.
"""

from __future__ import annotations

import gc
import sys
import time
from collections.abc import Callable
from importlib.util import find_spec

import numpy as np

import autodiff
from autodiff import interop


def ways(size: int) -> dict[str, Callable[[], object]]:
    """Return functions that compute tanh of `size` values and pull a cotangent of ones back."""
    x = np.linspace(-1, 1, size)
    ones = np.ones(size)

    def own() -> object:
        return autodiff.pullback(np.tanh, x)[1](ones)

    found = {"autodiff": own}
    if find_spec("torch"):
        import torch

        tanh = interop.to_torch(np.tanh)
        tensor = torch.tensor(x, requires_grad=True)
        bar = torch.ones(size, dtype=torch.float64)
        found["to_torch"] = lambda: torch.autograd.grad(tanh(tensor), tensor, bar)
        found["torch itself"] = lambda: torch.autograd.grad(torch.tanh(tensor), tensor, bar)
    if find_spec("jax"):
        import jax

        jax.config.update("jax_enable_x64", True)
        theirs, array = jax.numpy.tanh, jax.numpy.asarray(x)
        for name, f in (("to_jax, compiled", interop.to_jax(np.tanh)), ("JAX itself", theirs)):
            both = jax.jit(jax.value_and_grad(lambda x, f=f: f(x).sum()))
            found[name] = lambda both=both: jax.block_until_ready(both(array))
    if find_spec("autograd"):
        import autograd

        wrapped = interop.to_autograd(np.tanh)
        found["to_autograd"] = lambda: autograd.make_vjp(wrapped)(x)[0](ones)
        found["autograd itself"] = lambda: autograd.make_vjp(autograd.numpy.tanh)(x)[0](ones)
    return found


def shortest(ways: dict[str, Callable[[], object]], seconds: float = 2.0) -> dict[str, float]:
    """Return the time of the shortest call of each of several functions, which take turns."""
    found = dict.fromkeys(ways, float("inf"))
    end = time.perf_counter() + seconds * len(ways)
    is_warm = False
    gc.disable()
    try:
        while not is_warm or time.perf_counter() < end:
            for name, way in ways.items():
                for _ in range(20 if found[name] < 1e-2 else 1):  # the first ones fill its caches
                    start = time.perf_counter()
                    way()
                    found[name] = min(found[name], time.perf_counter() - start)
            is_warm = True
            gc.collect(0)
    finally:
        gc.enable()
    return found


def main(sizes: list[int]) -> None:
    """Print a table for each size."""
    for size in sizes:
        times = shortest(ways(size))
        print(f"tanh of {size:,} values and its pullback")
        for name, seconds in times.items():
            more = (seconds - times["autodiff"]) * 1e6
            print(f"  {name:16} {seconds * 1e6:9.0f} µs  {more:+9.0f} µs")


if __name__ == "__main__":
    main([int(size) for size in sys.argv[1:]] or [1_000, 1_000_000])

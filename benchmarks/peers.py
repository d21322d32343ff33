"""The other systems, each as a maker of a function that computes a workload's derivative."""

from __future__ import annotations

import types
from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks.workloads import Workload


def eager(work: Workload) -> Callable:
    """Return the derivative by this package, as it is called."""
    import autodiff

    f, chosen = work.make(np), _argnums(work)
    if work.kind == "hvp":
        return lambda x, v: autodiff.hvp(f, x, v)
    if work.kind == "jacobian":
        return lambda *args: autodiff.jacobian(f, *args, argnums=chosen)
    return lambda *args: autodiff.gradient(f, *args, argnums=chosen)


def traced(work: Workload) -> Callable:
    """Return the derivative by this package, traced in each call."""
    from autodiff import automatic_compile

    derivative = eager(work)

    def each(*args: Any) -> Any:
        before = automatic_compile(False)
        try:
            return derivative(*args)
        finally:
            automatic_compile(before)

    return each


def compiled(work: Workload) -> Callable:
    """Return the derivative by this package, compiled."""
    import autodiff

    return autodiff.compile(eager(work))


def by_autograd(work: Workload) -> Callable:
    """Return the derivative by HIPS autograd."""
    import autograd
    import autograd.numpy as xp

    f, chosen = work.make(xp), _argnums(work)
    if work.kind == "hvp":
        return autograd.hessian_vector_product(f)
    if work.kind == "jacobian":
        return autograd.jacobian(f, chosen)
    return autograd.grad(f, chosen)


def by_jax(work: Workload) -> Callable:
    """Return the derivative by ``jax.jit``, which waits for its result."""
    import jax
    import jax.numpy as xp

    jax.config.update("jax_enable_x64", True)
    f, chosen = work.make(xp), _argnums(work)
    if work.kind == "hvp":
        gradient = jax.grad(f)
        g = jax.jit(lambda x, v: jax.jvp(gradient, (x,), (v,))[1])
    elif work.kind == "jacobian":
        g = jax.jit(jax.jacrev(f, chosen))
    else:
        g = jax.jit(jax.grad(f, chosen))
    return lambda *args: jax.block_until_ready(g(*args))


def for_jax(args: tuple) -> tuple:
    """Return arguments as JAX has them, on its device."""
    import jax.numpy as xp

    return tuple([xp.asarray(a) for a in args])


def by_torch(work: Workload) -> Callable:
    """Return the derivative by PyTorch, eagerly."""
    import torch

    f = work.make(torch_as_numpy())
    if work.kind == "hvp":
        return lambda x, v: torch.autograd.functional.hvp(f, x, v)[1]
    if work.kind == "jacobian":
        return lambda x, *rest: torch.autograd.functional.jacobian(lambda z: f(z, *rest), x)

    def gradient(*args: Any) -> Any:
        given = list(args)
        for i in work.argnums:
            given[i] = args[i].detach().requires_grad_()
        return torch.autograd.grad(f(*given), [given[i] for i in work.argnums])

    return gradient


def for_torch(args: tuple) -> tuple:
    """Return arguments as tensors of float64."""
    import torch

    return tuple([torch.tensor(a, dtype=torch.float64) for a in args])


def torch_as_numpy() -> types.ModuleType:
    """Return what the workloads use of NumPy, on tensors."""
    import torch

    module: Any = types.ModuleType("torch_as_numpy")
    for name in ("exp", "log", "tanh", "dot", "matmul", "linalg", "diag"):
        setattr(module, name, getattr(torch, name))
    module.dot = torch.matmul
    module.sum = lambda x, axis=None, keepdims=False: (
        torch.sum(x) if axis is None else torch.sum(x, axis, keepdims)
    )
    module.max = lambda x, axis=None, keepdims=False: (
        torch.max(x) if axis is None else torch.amax(x, axis, keepdims)
    )
    module.mean = torch.mean
    module.eye = lambda n: torch.eye(n, dtype=torch.float64)
    module.zeros = lambda n: torch.zeros(n, dtype=torch.float64)
    module.logaddexp = lambda a, b: torch.logaddexp(torch.tensor(a, dtype=torch.float64), b)
    return module


def _argnums(work: Workload) -> Any:
    return work.argnums[0] if len(work.argnums) == 1 else work.argnums

"""rand_tangent: a random tangent for any value."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from chainrules_core.testing.inputs.domains import generator
from chainrules_core.testing.numeric.vectors import to_vector, vector_to_tangent


@functools.singledispatch
def rand_tangent(x: Any, rng: np.random.Generator | int | None = None) -> Any:
    """Return a random tangent of `x`, of short decimals between -9 and 9, none of them near zero.

    Parameters
    ----------
    x : value
        The primal.
    rng : Generator or int, optional
        Where the numbers come from; by default a stream that starts anew with each test.

    Returns
    -------
    tangent
        A number for a number, an array for an array, a ``Tangent`` for containers and objects,
        ``NoTangent()`` for what cannot be perturbed: integers, truth values, strings, functions,
        modules, types, and structures of nothing else.

    Notes
    -----
    ``@rand_tangent.register(Foo)`` registers a function of ``(x, rng)``. A class for which
    `to_vector` is registered needs that only if a tangent is not of the class itself.

    Examples
    --------
    >>> rand_tangent(1.5, rng=1)
    -4.66
    >>> rand_tangent(("text", 7))
    NoTangent()
    """
    return vector_to_tangent(x, _decimals(to_vector(x)[0].size, generator(rng)))


def _decimals(size: int, rng: np.random.Generator) -> np.ndarray:
    return rng.choice([-1.0, 1.0], size) * rng.integers(11, 900, size) / 100

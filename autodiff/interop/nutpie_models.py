"""nutpie: a log-density of a nest of parameters as a model that its NUTS samples from."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from nutpie.compiled_pyfunc import from_pyfunc

from autodiff.api.gradients import value_and_gradient
from autodiff.api.trees import Ravelling
from autodiff.errors import ArgumentError
from autodiff.trace.pytree import variables_at
from chainrules_core.rules import name_of


def to_nutpie(log_density: Callable, params0: Any, *, args: Any = (), jitter: float = 1.0) -> Any:
    """Turn a log-density into a model for nutpie.

    Parameters
    ----------
    log_density : callable
        ``log_density(params, *args)`` returns a real number, the logarithm of the density up to a
        constant. It must be finite for all real parameters, so use the logarithms of positive
        parameters.
    params0 : Any
        The starting point of the chains: a nest of floats and arrays of floats. Everything else in
        it is a constant.
    args : tuple
        Further arguments, such as data.
    jitter : float
        Each chain starts at `params0` with numbers between ``-jitter`` and ``jitter`` added.

    Returns
    -------
    nutpie.compiled_pyfunc.PyFuncModel
        A model for ``nutpie.sample``. Its variables have the names of the parts of the nest, joined
        by dots: ``{"scale": {"tau": 1.0}}`` has the variable ``scale.tau``. A single array without
        a name is called ``x``.

    Raises
    ------
    ArgumentError
        If there is nothing to sample, or if there are complex numbers.

    Examples
    --------
    >>> import nutpie
    >>> model = to_nutpie(lambda p: -0.5 * np.sum(p["z"] ** 2), {"z": np.zeros(2)})
    >>> draws = nutpie.sample(model, draws=500, seed=1, progress_bar=False)
    >>> bool(abs(float(draws.posterior["z"].std()) - 1) < 0.1)
    True
    """
    args = args if isinstance(args, tuple) else (args,)
    ravelling = Ravelling(params0, real=True)
    if not ravelling.size or any(dtype.kind == "c" for _, dtype, _ in ravelling.forms):
        raise ArgumentError(
            f"the parameters of {name_of(log_density)} must hold floats or arrays of them, and no "
            "complex numbers: make the real and imaginary parts two parameters."
        )
    start = ravelling.vector(params0)
    names = [".".join(map(str, keys)) or "x" for keys in variables_at(params0)]

    def evaluated(x: np.ndarray) -> tuple[float, np.ndarray]:
        value, slopes = value_and_gradient(log_density, ravelling.nest(x), *args, argnums=0)
        return float(value), ravelling.vector(slopes)

    def expanded(x: np.ndarray) -> dict[str, np.ndarray]:
        parts = zip(names, ravelling.places, ravelling.shapes, strict=True)
        return {name: x[place].reshape(shape) for name, place, shape in parts}

    return from_pyfunc(
        ravelling.size,
        lambda: evaluated,
        lambda *seeds: expanded,
        [np.dtype(float)] * len(names),
        ravelling.shapes,
        names,
        make_initial_point_fn=lambda seed: (
            start + np.random.default_rng(seed).uniform(-jitter, jitter, start.shape)
        ),
    )

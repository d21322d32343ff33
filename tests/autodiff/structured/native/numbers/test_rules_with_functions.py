"""Slopes that rules compute by functions given to functions, loops, and tuples, in machine code."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import special

from autodiff import gradient

FUNCTIONS = {
    "psi": lambda y: special.psi(y),
    "beta": lambda y: special.beta(y, 1.2),
    "poch": lambda y: special.poch(y, 0.5),
    "spence": lambda y: special.spence(y),
    "exprel": lambda y: special.exprel(y),
    "gammainc": lambda y: special.gammainc(1.5, y),
    "gammaincc": lambda y: special.gammaincc(1.5, y),
    "betainc": lambda y: special.betainc(1.5, 2.0, 0.1 * y),
    "boxcox": lambda y: special.boxcox(y, 0.5),
    "jv": lambda y: special.jv(2, y),
    "jv of a float": lambda y: special.jv(1.5, y),
    "yv": lambda y: special.yv(1, y),
    "iv": lambda y: special.iv(1, y),
    "kv": lambda y: special.kv(2, y),
    "i1": lambda y: special.i1(y),
    "j1": lambda y: special.j1(y),
    "i1 of what is small": lambda y: special.i1(1e-3 * y),
    "exprel of what is small": lambda y: special.exprel(1e-3 * y),
    "psi of what is negative": lambda y: special.psi(-0.1 * y),
    "logaddexp2": lambda y: np.logaddexp2(y, 0.5),
    "isinf": lambda y: 0.1 if np.isinf(y) else y * y,
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_numbers(name, check_machine_code, differences):
    g = FUNCTIONS[name]

    def f(x, w):
        y, total = 0.5 + x[0], w[0]
        for i in range(7):
            y = 1.0 + x[1] + 0.3 * np.tanh(0.1 * g(y)) + 0.1 * np.sin(x[0] * i)
            total = total + y * w[1]
        return total

    f.__qualname__ = "f"
    x, w = np.array([0.4, 0.9]), np.array([0.3, 1.2])
    check_machine_code(f, lambda: (x.copy(), w.copy()), rtol=1e-9)
    found = gradient(f, x, w)[0]
    for k in (0, 1):
        slope = differences(lambda t, k=k: f(x + t * np.eye(2)[k], w), 0.0)
        np.testing.assert_allclose(found[k], slope, rtol=1e-5, atol=1e-8)

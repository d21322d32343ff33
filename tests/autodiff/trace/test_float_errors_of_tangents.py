"""A program meets its own floating-point errors alone, not those of the derivative."""

import numpy as np
import pytest

import autodiff

X = np.array([0.4, 0.7, 0.4])
OPERATIONS = {
    "quotient": lambda x: 1.0 / (x * 1e160),
    "hypot": lambda x: np.hypot(x * 1e200, 1e200),
    "sum": lambda x: np.sum(x * 1e308),
    "det": lambda x: np.linalg.det(np.outer(x, x) * 1e150),
    "sqrt": lambda x: np.sqrt(x * 1e-300),
    "constants": lambda x: x * 1e-200 * 1e200 * 1e200,
    "overflows itself": lambda x: (x * 1e160) ** 2,
    "dot, which overflows": lambda x: np.dot(x * 1e200, x * 1e200),
    "prod, which underflows": lambda x: np.prod(x * 1e-200),
}


@pytest.mark.parametrize("operation", OPERATIONS.values(), ids=OPERATIONS)
@pytest.mark.parametrize("kind", ["raise", "call"])
def test_a_program_meets_the_errors_that_it_meets_plainly(operation, kind):
    def f(x):
        seen = []
        try:
            with np.errstate(all=kind, call=lambda error, flag: seen.append(error)):
                operation(x)
        except FloatingPointError as error:
            seen.append(str(error))
        met.append(seen)
        return np.sum(x * x) * (1.0 + len(seen))

    met = []
    f(X)
    autodiff.jvp(f, (X,), (np.array([1.0, -2.0, 0.5]),))
    autodiff.gradient(f, X)
    autodiff.hessian(f, X)
    assert len(met) > 3
    assert all(seen == met[0] for seen in met)

"""Every program of tests/programs, compiled: the same values and derivatives, on every branch.

Some are compiled as they are, with their Hessian-vector products or Jacobians, and called at
several points: the first is recorded, others may take another branch. The gradient of each is
compiled in `tests/autodiff/end_to_end/test_tiers.py`.
"""

import numpy as np
import pytest

import autodiff
from tests.helpers import load_programs

CATEGORIES = (
    "calls", "flow", "classes", "objects", "values", "mutation", "containers", "numerics", "models",
    "library",
)  # fmt: skip
# What writes into the world outside, or does not end, away from its own point.
NOT_PURE = {"global_statement"}
ONLY_HERE = {"newton_until_converged"}


def table(every=1):
    cases = []
    for category in CATEGORIES:
        for f, x in load_programs(category).PROGRAMS[::every]:
            if f.__name__ not in NOT_PURE:
                cases.append(pytest.param(f, np.array(x, float), id=f"{category}-{f.__name__}"))
    return cases


def points(f, x):
    return (x, x * 1.01, x) if f.__name__ in ONLY_HERE else (x, -x, x + 0.3, x)


def outcome(f, x):
    """What a call returns, or the name of the error that it raises."""
    try:
        with np.errstate(all="ignore"):
            return f(x)
    except Exception as error:
        return type(error).__name__


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("f, x", table(every=3))
def test_compiled_value_is_eager(f, x):
    same_everywhere(f, x, f)


def same_everywhere(f, x, g, backend="auto"):
    compiled = autodiff.compile(g, backend=backend)
    for at in points(f, x):
        expected, given = outcome(g, at.copy()), at.copy()
        found = outcome(compiled, given)
        assert type(found) is type(expected)
        if isinstance(expected, str):
            assert found == expected
        else:
            np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-12)
        np.testing.assert_array_equal(given, at)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("f, x", table(every=9))
def test_compiled_hessian_vector_product_is_eager(f, x):
    v = np.cos(1.0 + 2.0 * np.arange(x.size))
    same_everywhere(f, x, lambda z: autodiff.hvp(f, z, v))


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("f, x", table(every=11))
def test_compiled_jacobian_is_eager(f, x):
    same_everywhere(f, x, lambda z: autodiff.jacobian(lambda u: autodiff.gradient(f, u), z))


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("f, x", table(every=7))
def test_kernels_do_what_is_done_eagerly(f, x, interpreted):
    same_everywhere(f, x, lambda z: autodiff.gradient(f, z), backend="native")

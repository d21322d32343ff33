"""The code people already have: calls through installed packages, compared with differences.

Packages that are missing are skipped; ``make test-packages`` has them all.
"""

from __future__ import annotations

import importlib.metadata
import warnings

import numpy as np
import pytest

import autodiff
from chainrules_core import ChainRulesError
from tests.helpers import differences
from tests.packages import (  # noqa: F401 - each fills the table
    compiled,
    earth,
    engineering,
    further,
    geography,
    learning,
    money,
    motion,
    symbols,
    tables,
    third,
    units,
    wrappers,
)
from tests.packages.table import CALLS, Call

_DISTRIBUTIONS = importlib.metadata.packages_distributions()


def _version(package: str) -> str:
    return importlib.metadata.version(_DISTRIBUTIONS.get(package, [package])[0])


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("call", [pytest.param(c, id=f"{c.package}-{c.f.__name__}") for c in CALLS])
def test_the_gradient_through_a_package(call: Call, record_property):
    record_property("version", f"{call.package} {_version(call.package)}")
    if call.error:
        with pytest.raises(ChainRulesError, match=call.error):
            autodiff.gradient(call.f, call.x)
        return
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        expected = differences(lambda x: float(call.f(plain(x))), call.x, call.h)
        value, found = autodiff.value_and_gradient(call.f, call.x)
        expected_value = float(call.f(call.x))
    np.testing.assert_allclose(float(value), expected_value, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(
        found, expected, rtol=call.rtol, atol=1e-6 * max(1.0, float(np.max(np.abs(expected))))
    )


def plain(x):
    """Return a number as Python's own, as a user would give it."""
    return float(x) if np.ndim(x) == 0 else x

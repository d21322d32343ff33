"""Every program of tests/programs, differentiated often: what is shown to be pure is compiled."""

import importlib.util
import sys
from pathlib import Path

import numpy as np
import pytest

import autodiff
from autodiff import hot
from autodiff.hot import records

PROGRAMS = Path(__file__).parents[2] / "programs"
CATEGORIES = (
    "calls", "flow", "classes", "objects", "values", "mutation", "containers", "numerics", "models",
    "library", "construction", "protocols", "styles", "languages", "algorithms", "arrays",
)  # fmt: skip
ONLY_HERE = {"newton_until_converged"}  # it does not end away from its own point


def load(category):
    name = f"programs_{category}"
    if name not in sys.modules:
        spec = importlib.util.spec_from_file_location(name, PROGRAMS / f"{category}.py")
        sys.modules[name] = module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
    return sys.modules[name]


def table():
    return [
        pytest.param(f, np.array(x, float), id=f"{category}-{f.__name__}")
        for category in CATEGORIES
        for f, x in load(category).PROGRAMS
    ]


def outcome(f, x):
    """The gradient, or the name of the error that it raises."""
    try:
        with np.errstate(all="ignore"):
            return autodiff.gradient(f, x)
    except Exception as error:
        return type(error).__name__


def traced(f, x):
    before = autodiff.automatic_compile(False)
    try:
        return outcome(f, x)
    finally:
        autodiff.automatic_compile(before)


@pytest.mark.usefixtures("soon")
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("f, x", table())
def test_gradients_are_those_of_the_traced_function(f, x):
    if hot.why_not(f):
        for _ in range(4):
            outcome(f, x)
        assert not any(r.variants for r in records.records.values() if r.why)
        return
    points = (x, x * 1.01) if f.__name__ in ONLY_HERE else (x, -x, x + 0.3)
    expected = [traced(f, z) for z in points]
    for _ in range(4):
        for z, slope in zip(points, expected, strict=True):
            found = outcome(f, z)
            if isinstance(slope, str):
                assert found == slope
            else:
                np.testing.assert_allclose(found, slope, rtol=1e-9, atol=1e-12)


def test_more_than_half_are_shown_to_be_pure():
    pure = [not hot.why_not(case.values[0]) for case in table()]
    assert sum(pure) > 0.5 * len(pure)

"""Every program of tests/programs gives the same value and gradient however it is run.

Traced as it is written, by the automatic tier, compiled, and from text whose source nobody finds
(there a clear error will do). The automatic tier and compiled functions are called many times with
changing data, and each call is compared with the traced function at the same point.
"""

import numpy as np
import pytest

import autodiff
from autodiff import autocompile
from chainrules_core import ChainRulesError
from tests.helpers import ROOT, load_programs, one_in
from tools.fuzz import repeated

CATEGORIES = (
    "calls", "flow", "classes", "objects", "values", "mutation", "containers", "numerics", "models",
    "library", "construction", "protocols", "styles", "languages", "algorithms", "arrays",
)  # fmt: skip
CALLS = 50 // one_in(2)
ONLY_HERE = {"newton_until_converged"}  # it does not end away from its own point
WAITS = {"asyncio_tasks_queue"}  # an error in one task leaves the other one waiting, as in Python


def table():
    return [
        pytest.param(f, np.array(x, float), id=f"{category}-{f.__name__}")
        for category in CATEGORIES
        for f, x, *_ in [*load_programs(category).PROGRAMS, *load_programs(category).NOT_YET]
    ]


def calls(f, x):
    if f.__name__ in ONLY_HERE:
        return [(x * (1.0 + 0.01 * (call % 3)),) for call in range(CALLS)]
    return repeated.points((x,), 0, CALLS)


@pytest.fixture(autouse=True)
def quiet():
    with np.errstate(all="ignore"):
        yield


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("f, x", table())
def test_automatic_is_traced(f, x):
    assert repeated.automatic_difference(f, calls(f, x)) == ""


def test_more_than_half_are_compiled_by_themselves():
    pure = [not autocompile.why_not(case.values[0]) for case in table()]
    assert sum(pure) > 0.5 * len(pure)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("f, x", table())
def test_compiled_is_traced(f, x):
    assert repeated.compiled_difference(f, calls(f, x), "auto") == ""


def outcome(f, x):
    """Value and gradient, or the name of the error that is raised."""
    try:
        return autodiff.value_and_gradient(f, x.copy())
    except Exception as error:
        return type(error).__name__


@pytest.fixture(scope="module")
def unseen():
    """The functions of a category, made by `exec` of its text."""
    made = {}

    def load_unseen(category):
        if category not in made:
            source = (ROOT / "tests/programs" / f"{category}.py").read_text(encoding="utf-8")
            made[category] = {"__name__": f"unseen_{category}"}
            exec(compile(source, f"<text of {category}>", "exec"), made[category])
        return made[category]

    return load_unseen


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("f, x", [c for c in table() if c.values[0].__name__ not in WAITS])
def test_text_without_source_is_traced_or_an_error(f, x, unseen):
    category = f.__module__.removeprefix("programs_")
    same = unseen(category)[f.__name__]
    expected = outcome(f, x)
    try:
        value, slope = autodiff.value_and_gradient(same, x.copy())
    except ChainRulesError:
        return
    assert not isinstance(expected, str)
    np.testing.assert_allclose(value, expected[0], rtol=1e-12)
    np.testing.assert_allclose(slope, expected[1], rtol=1e-9, atol=1e-12)

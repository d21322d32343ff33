"""Each line of the tables of random calls, drawn once, differentiated in every mode."""

import pickle

import numpy as np
import pytest

from autodiff import ignore_derivatives
from tests.helpers import one_in
from tools.calls import numpy_calls, scipy_calls
from tools.calls.draw import Call, Draw, Line
from tools.calls.judge import judge

LINES = numpy_calls.LINES + scipy_calls.LINES
SEED = 20261122


@pytest.mark.parametrize(
    "number, line", list(enumerate(LINES)), ids=[f"{i}-{a.name}" for i, a in enumerate(LINES)]
)
def test_a_call_with_random_arguments(number, line):
    outcomes = judge(line, SEED + number, second=True)
    assert not [o for o in outcomes if o.kind in ("wrong", "error")]


def test_few_draws_are_no_reference():
    some = list(enumerate(LINES))[:: one_in(3)]
    found = [judge(line, SEED + number)[0].kind for number, line in some]
    assert found.count("discarded") < len(found) / 20


def test_a_wrong_derivative_is_noticed():
    for f, kind in ((np.square, "right"), (stopped, "wrong"), (refused, "error")):
        outcomes = judge(Line(f.__name__, f, lambda r: Call((r.array(3),))), 0, second=True)
        assert {o.kind for o in outcomes} == {kind}


def stopped(x):
    return ignore_derivatives(x) * x


def refused(x):
    return pickle.loads(pickle.dumps(x))


def test_draws_are_those_of_their_seed():
    for line in LINES[:20]:
        first, second = line.make(Draw(5)), line.make(Draw(5))
        assert repr(first) == repr(second)

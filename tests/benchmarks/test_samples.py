"""The calls that are timed: each has a rule, and none is listed twice."""

import inspect
from unittest import mock

import numpy as np
import pytest

import chainrules
from autodiff.dispatch.call import CONFIG
from benchmarks import pullback_cost
from benchmarks.samples import all_samples, sample
from benchmarks.swept import Drop, recorded_and_swept
from chainrules_core import rrule
from chainrules_core.rule import name_of

assert chainrules
SAMPLES = list(all_samples())


def title(topic, sample):
    return f"{topic}: {name_of(sample.f)} {sample.note}"


def test_each_has_a_rule():
    """A few of SciPy's are made of others that have, and traced."""
    missing = [
        title(topic, s)
        for topic, s in SAMPLES
        if rrule.resolve(s.f, s.args, s.options, CONFIG) is None
        and not (topic.startswith("scipy_") and inspect.isroutine(s.f))
    ]
    assert not missing


def test_none_is_listed_twice():
    titles = [title(topic, sample) for topic, sample in SAMPLES]
    assert len(titles) == len(set(titles))


@pytest.mark.parametrize("name", ["numpy.exp", "numpy.linalg.inv", "numpy.concatenate"])
def test_one_line_of_the_table(name):
    topic, sample = next((t, s) for t, s in SAMPLES if name_of(s.f) == name)
    row = pullback_cost.measure(topic, sample, 0.0)
    assert row["function"] == name
    assert row["primal"] > 0
    assert row["pulled"] > 0
    assert row["frule"] > 0


def test_what_is_swept_is_the_call_and_nothing_else():
    seen = []
    run = recorded_and_swept(np.multiply, (np.ones(3), np.full(3, 2.0)), {}, np.ones_like)
    with mock.patch.object(Drop, "hand_on", lambda self, bar, bars, strong: seen.append(bar)):
        run()
    np.testing.assert_array_equal(sorted(seen, key=np.sum), [[1, 1, 1], [2, 2, 2]])


def test_a_pullback_by_hand_moves_the_limit_only_where_it_is_over():
    x = np.random.default_rng(0).standard_normal(20_000)
    slow = sample(np.sort, x, limit=0.1, by_hand=lambda y_bar, y, x: [np.sort(x) for _ in range(5)])
    quick = sample(np.sort, x, limit=0.01, by_hand=lambda y_bar, y, x: None)
    assert pullback_cost.measure("topic", slow, 0.0)["within"]
    assert not pullback_cost.measure("topic", quick, 0.0)["within"]

"""The calls that are timed: each has a rule, and none is listed twice."""

import pytest

import chainrules
from autodiff.call import CONFIG
from benchmarks import pullback_cost
from benchmarks.samples import all_samples
from chainrules_core import rrule
from chainrules_core.rule import name_of

assert chainrules
SAMPLES = list(all_samples())


def title(topic, sample):
    return f"{topic}: {name_of(sample.f)} {sample.note}"


def test_each_has_a_rule():
    missing = [
        title(topic, s)
        for topic, s in SAMPLES
        if rrule.resolve(s.f, s.args, s.options, CONFIG) is None
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

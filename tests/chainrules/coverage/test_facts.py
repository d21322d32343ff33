"""What engines are told of rules: examples run, forms and rows are those of calls."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

from chainrules_core import frule, rrule
from chainrules_core.calling.frame import can_be_perturbed
from chainrules_core.define import LinearRule, ScalarRule
from chainrules_core.engine import (
    AbstractArray,
    AbstractZero,
    NotImplementedTangent,
    RuleFacts,
    abstract_value,
    named_projection,
    rules,
    unthunk,
)
from chainrules_core.projection.project_to import ProjectTo

PACKAGES = "special linalg fft signal ndimage spatial stats interpolate integrate optimize"


@pytest.fixture(scope="module")
def examples() -> list[tuple[RuleFacts, tuple]]:
    for package in PACKAGES.split():
        __import__(f"scipy.{package}")
    found = [(row, row.example()) for row in rules()]
    return [(row, example[0]) for row, example in found if example is not None]


@pytest.fixture(autouse=True)
def quietly() -> Any:
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def flat(y: Any) -> list:
    return [p for part in y for p in flat(part)] if isinstance(y, (tuple, list)) else [y]


def test_each_example_runs(examples):
    wrong, without_engine = [], 0
    for row, args in examples:
        expected = row.f(*args)
        if row.requires:
            continue
        without_engine += 1
        y, _ = rrule(row.f, *args)
        for a, b in zip(flat(y), flat(expected), strict=True):
            if not np.allclose(a, b, equal_nan=True, rtol=1e-12):
                wrong.append((row.name, a, b))
    assert wrong == [] or all("random" in name for name, *_ in wrong), wrong
    assert without_engine > 850
    assert len(examples) > 1000


def test_most_rules_that_need_no_engine_have_an_example(examples):
    asked = [row.reverse for row in rules() if row.positions and not row.requires and row.reverse]
    found = {id(row.reverse) for row, _ in examples}
    missing = [rule.name for rule in asked if id(rule) not in found]
    assert len(missing) < 0.25 * len(asked), missing


def abstractly(row: RuleFacts, args: tuple) -> tuple:
    """The arguments by which a rule differentiates as their forms, the others as they are."""
    rule, bound, _ = rrule.resolve(row.f, args, {})
    held = {id(bound[i]) for i in range(len(bound)) if rule.differentiates(i)}
    return tuple(
        AbstractArray.of(a)
        if id(a) in held and isinstance(a, (np.ndarray, np.floating)) and can_be_perturbed(a)
        else a
        for a in args
    )


@pytest.mark.parametrize("dtype", [float, np.float32, complex])
def test_the_form_of_an_output_is_that_of_a_call(examples, dtype):
    told, untold, wrong = 0, [], []
    for row, args in examples:
        if not isinstance(row.rule, ScalarRule) and not row.rule.shaped_by:
            continue
        args = tuple(
            np.asarray(a, dtype)[()] if isinstance(a, (float, np.ndarray)) else a for a in args
        )
        try:
            if rrule.resolve(row.f, args, {}) is None:
                continue
            expected = AbstractArray.of(row.f(*args))
        except (TypeError, ValueError):
            continue  # it takes no numbers of this kind
        given = abstractly(row, args)
        if not any(isinstance(a, AbstractArray) for a in given):
            continue
        found = abstract_value(row.f, *given)
        if found is None:
            untold.append(row.name)
        elif found != expected:
            wrong.append((row.name, found, expected))
        else:
            told += 1
    assert wrong == []
    assert told > 5 * len(untold), untold


def test_rows_are_what_each_cotangent_gives(examples):
    answered = {"scalar": 0, "linear": 0}
    for row, args in examples:
        rule = row.rule
        if not isinstance(rule, (ScalarRule, LinearRule)) or row.requires:
            continue
        rule, bound, options = rrule.resolve(row.f, args, {})
        wanted = tuple(i for i in row.positions if i < len(bound) and can_be_perturbed(bound[i]))
        y, pull = rule.record(bound, options, wanted)
        if isinstance(y, (tuple, list)) or not can_be_perturbed(y):
            continue
        rng = np.random.default_rng(0)
        y_bars = rng.normal(size=(3, *np.shape(y))).astype(np.asarray(y).dtype)
        rows = rule.pull_rows(y_bars, y, bound, options, wanted)
        if rows is None:
            continue
        answered[rule.kind] += 1
        one_by_one = [pull(y_bar) for y_bar in y_bars]
        for place, i in enumerate(wanted):
            space = ProjectTo(bound[i])
            for k in range(3):
                expected = named_projection(rule, i, space, unthunk(one_by_one[k][place]))
                if isinstance(expected, (AbstractZero, NotImplementedTangent)):
                    assert type(rows[place]) is type(expected), row.name
                    continue
                assert np.shape(rows[place][k]) == np.shape(bound[i]), row.name
                np.testing.assert_allclose(
                    space(rows[place][k]), expected, rtol=1e-12, atol=1e-13, err_msg=row.name
                )
    assert answered["scalar"] > 350
    assert answered["linear"] >= 5


def test_rows_of_broadcast_arguments_and_several_outputs():
    a, b = np.array([[0.5], [1.5]]), np.array([2.0, 3.0, 4.0])
    rule, bound, options = rrule.resolve(np.divide, (a, b), {})
    y_bars = np.random.default_rng(1).normal(size=(4, 2, 3))
    a_bars, b_bars = rule.pull_rows(y_bars, a / b, bound, options, (0, 1))
    np.testing.assert_allclose(a_bars, np.sum(y_bars / b, axis=2, keepdims=True))
    np.testing.assert_allclose(b_bars, np.sum(-y_bars * a / b**2, axis=1))
    rule, bound, options = rrule.resolve(np.divmod, (5.5, b), {})
    y = np.divmod(5.5, b)
    rows = np.random.default_rng(2).normal(size=(4, 3))
    (b_bars,) = rule.pull_rows((0 * rows, rows), y, bound, options, (1,))
    np.testing.assert_allclose(b_bars, -rows * y[0])


def test_listing():
    (row,) = [r for r in rules(np.where) if r.kind == "linear"]
    assert row.positions == (1, 2)
    assert row.modes == {"reverse", "forward"}
    assert row.reverse is row.forward
    assert row.defined_at.rpartition(":")[0].endswith("selection.py")
    (row,) = rules(np.floor)
    assert (row.kind, row.positions, row.example()) == ("non_differentiable", (), None)
    kinds = {row.kind for row in rules()}
    assert {"scalar", "linear", "lists", "rrule", "decompose", "refused"} <= kinds
    listed = [id(rule) for row in rules() for rule in (row.reverse, row.forward) if rule]
    registered = [id(rule) for table in (rrule, frule) for rule in table.methods()]
    assert sorted(listed) == sorted(registered)


def summed_up(f: Any, x: Any, others: tuple) -> np.ndarray:
    """The outputs of a call as one vector of real numbers."""
    parts = [np.ravel(np.asarray(part, float)) for part in flat(f(x, *others))]
    return np.concatenate(parts) if parts else np.zeros(0)


def is_linear(f: Any, args: tuple) -> bool:
    """Whether a function looks linear in its first argument."""
    x, *others = args
    z = x + np.random.default_rng(0).normal(size=np.shape(x))
    try:
        a, b, both = [summed_up(f, value, tuple(others)) for value in (x, z, 2 * x + 3 * z)]
    except Exception:  # not for numbers, or not at these
        return False
    if not a.shape == b.shape == both.shape or not np.any(a) or not np.all(np.isfinite(both)):
        return False
    return np.allclose(both, 2 * a + 3 * b, rtol=1e-9, atol=1e-12)


# Linear, or so at the example, but the elements decide the form: what is equal, zero or tiny is
# left out, or the strides of the array or an object decide, too.
FORMED_BY_VALUES = {
    "numpy.real_if_close", "numpy.unique", "numpy.unique_inverse", "numpy.unique_values",
    "numpy.lib.stride_tricks.as_strided",
}  # fmt: skip


def test_linear_functions_written_by_hand_tell_their_form(examples):
    known, untold = 0, set()
    for row, args in examples:
        is_public = not any(part.startswith("_") for part in row.name.split("."))
        by_hand = row.kind == "rrule" and not row.requires
        if not (is_public and by_hand and row.name.startswith(("numpy.", "math.", "ndarray."))):
            continue
        if isinstance(args[0], (float, np.ndarray)) and is_linear(row.f, args):
            form = abstract_value(row.f, AbstractArray.of(args[0]), *args[1:])
            if form is None:
                untold.add(row.name)
            else:
                assert form == AbstractArray.of(row.f(*args)), row.name
                known += 1
    assert untold <= FORMED_BY_VALUES
    assert known > 60

"""Searches, whose result depends on a variable only through comparisons, are warned of."""

from __future__ import annotations

import warnings
from collections.abc import Callable

import numpy as np
import pytest

import autodiff
from autodiff import gradient
from autodiff.structured import calls
from tools.fuzz import generators, judge

X = np.array([0.3, -0.4, 1.2])


def bisected(x):
    low, high = 0.0, 4.0
    for _ in range(20):
        middle = 0.5 * (low + high)
        if middle * middle > x:
            high = middle
        else:
            low = middle
    return low


LINE = bisected.__code__.co_firstlineno + 4


def test_a_result_of_comparisons_is_warned_of(runs: list[str]) -> None:
    with pytest.warns(
        autodiff.NoPathWarning, match=rf"in bisected at .*test_searches.py, line {LINE}"
    ):
        gradient(lambda x: bisected(x) * 1.0, 2.0)
    assert runs == ["bisected"]


def test_only_arguments_without_another_path_are_warned_of(runs: list[str]) -> None:
    with pytest.warns(autodiff.NoPathWarning) as caught:
        found = gradient(lambda x, y, z: bisected(x) * y + bisected(z) * z, 2.0, 3.0, 1.5)
    assert len(caught) == 1
    assert "argument 0" in str(caught[0].message)
    np.testing.assert_allclose(found, (0.0, 2.0**0.5, 1.5**0.5), atol=1e-5)
    assert runs == ["bisected"] * 2


def of_one(x, y):
    low, high = 0.0, 4.0
    for _ in range(20):
        middle = 0.5 * (low + high)
        if middle * middle > x:
            high = middle
        else:
            low = middle
    return low if y > 0.0 else high


def test_only_arguments_that_a_search_asks_for_are_warned_of(runs: list[str]) -> None:
    with pytest.warns(autodiff.NoPathWarning) as caught:
        gradient(lambda x, y, z: of_one(x, y) * z, 2.0, 3.0, 1.0)
    assert ["argument 0" in str(w.message) for w in caught] == [True]
    assert runs == ["of_one"]


def halvings(x):
    steps = 0
    while x > 0.1:
        x = 0.5 * x
        steps += 1
    return x, steps


def test_a_call_is_not_traced_again_if_each_argument_has_a_path(
    runs: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def never(run: calls.ProgramRun) -> None:
        raise AssertionError("it was traced")

    monkeypatch.setattr(calls.ProgramRun, "traced_again", never)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert gradient(lambda x: halvings(x)[0] * halvings(x)[1], 2.0) == 5 / 32
    assert runs == ["halvings"] * 2


def test_a_call_is_not_traced_again_for_an_argument_that_it_does_not_get(
    runs: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def never(run: calls.ProgramRun) -> None:
        raise AssertionError("it was traced")

    monkeypatch.setattr(calls.ProgramRun, "traced_again", never)
    assert gradient(lambda x, y: sum(halvings(x)) + 0.0, 2.0, 3.0) == (1 / 32, 0.0)
    assert runs == ["halvings"]


def means_of_rings(w, r, edges):
    s = 0.0
    for k in range(len(edges) - 1):
        ring = np.logical_and(edges[k] <= r, r < edges[k + 1])
        s = s + np.mean(w[ring]) ** 2
    return s


def means_until_few(w, r, edges):
    s = 0.0
    for k in range(len(edges) - 1):
        ring = np.logical_and(edges[k] <= r, r < edges[k + 1])
        if np.sum(ring) < 2:
            break
        s = s + np.mean(w[ring]) ** 2
    return s


@pytest.mark.parametrize("f", [means_of_rings, means_until_few])
def test_masks_that_decide_about_no_branch_are_no_search(
    f: Callable, runs: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    traced_again = []
    real = calls.ProgramRun.traced_again
    monkeypatch.setattr(
        calls.ProgramRun, "traced_again", lambda run: traced_again.append(1) or real(run)
    )
    w, r, edges = np.arange(9.0), np.linspace(0.1, 0.8, 9), np.array([0.0, 0.3, 0.6, 0.9])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", autodiff.NoPathWarning)
        found = gradient(lambda w, r: f(w, r, edges) * 1.0, w, r)
    np.testing.assert_allclose(found[0], np.repeat([2 / 3, 8 / 3, 14 / 3], 3), rtol=1e-12)
    np.testing.assert_array_equal(found[1], 0.0)
    assert bool(traced_again) == (f is means_until_few)
    assert runs == [f.__name__]


def bisected_by_masks(x):
    low, high = np.zeros(3), np.full(3, 4.0)
    for _ in range(30):
        middle = 0.5 * (low + high)
        is_above = [middle * middle > x]
        if np.any(is_above[0]):
            high = middle
        else:
            low = middle
    return low


def test_masks_that_decide_are_a_search(runs: list[str]) -> None:
    with pytest.warns(autodiff.NoPathWarning, match="bisected_by_masks"):
        gradient(lambda x: np.sum(bisected_by_masks(x) * 1.0), np.array([2.0, 3.0, 1.5]))
    assert runs == ["bisected_by_masks"]


@pytest.mark.parametrize("seed", range(60))
def test_written_searches(seed: int) -> None:
    program, arguments = judge.load(generators.write("decisions", seed))
    with pytest.warns(autodiff.NoPathWarning):
        gradient(lambda *args: program(*args), *arguments)


def bisected_by_signs(t):
    low, high = 0.0, 4.0
    for _ in range(60):
        middle = (low + high) / 2
        if np.sign(middle - t) > 0:
            high = middle
        else:
            low = middle
    return low


def test_a_search_that_compares_a_number_without_derivative(runs: list[str]) -> None:
    for _ in range(2):
        with pytest.warns(autodiff.NoPathWarning):
            gradient(lambda t: bisected_by_signs(t), 1.97)
    assert runs


def bisected_by_truth(x):
    low, high = 0.0, 4.0
    for _ in range(20):
        middle = 0.5 * (low + high)
        if abs(x - middle) + (x - middle):
            low = middle
        else:
            high = middle
    return low


def bisected_by_quotients(x):
    low, high = 0.0, 4.0
    for _ in range(20):
        middle = 0.5 * (low + high)
        whole, _rest = divmod(x, middle)
        if whole:
            low = middle
        else:
            high = middle
    return low


@pytest.mark.parametrize("f", [bisected_by_truth, bisected_by_quotients])
def test_a_search_that_asks_whether_a_number_is_zero(f, runs: list[str]) -> None:
    with pytest.warns(autodiff.NoPathWarning, match=f"in {f.__name__} at"):
        gradient(lambda x: f(x) * 1.0, 1.7)
    assert runs == [f.__name__]


def scaled(x, y):
    low, high = 0.0, 4.0
    for _ in range(20):
        middle = 0.5 * (low + high)
        if middle * middle > x:
            high = middle
        else:
            low = middle
    return middle * y


def stepped_by_signs(x, y):
    middle, step = 0.0, 2.0
    for _ in range(20):
        middle += step * np.sign(x - middle)
        step *= 0.5
    return middle * y


def stepped_by_choices(x, y):
    middle = 0.0
    for k in range(20):
        middle = middle + np.where(x > middle, 1.0, -1.0) * 0.5**k
    return middle * y


def stepped_by_signs_of_another(x, y):
    middle, step = 0.0, 2.0
    for _ in range(20):
        middle += step * np.copysign(1.0, x - middle) * np.sign(x - middle) + x
        step *= 0.5
    return middle * y


@pytest.mark.parametrize("f", [scaled, stepped_by_signs, stepped_by_choices])
def test_another_argument_may_have_a_path(f: Callable, runs: list[str]) -> None:
    with pytest.warns(autodiff.NoPathWarning, match="argument 0") as caught:
        slopes = gradient(lambda x, y: f(x, y) * 1.0, 1.7, 2.0)
    assert len(caught) == 1
    np.testing.assert_allclose(slopes, (0.0, f(1.7, 1.0)), rtol=1e-12)
    assert runs == [f.__name__]


def test_another_result_may_have_a_path(runs: list[str]) -> None:
    def f(x):
        low, high = 0.0, 4.0
        for _ in range(20):
            middle = 0.5 * (low + high)
            if middle * middle > x:
                high = middle
            else:
                low = middle
        return middle, middle * middle - x

    with pytest.warns(autodiff.NoPathWarning, match="argument 0"):
        assert gradient(lambda x: f(x)[0] * 1.0, 1.7) == 0.0
    with warnings.catch_warnings():
        warnings.simplefilter("error", autodiff.NoPathWarning)
        assert gradient(lambda x: f(x)[1] * 1.0, 1.7) == -1.0
    assert runs == ["f", "f"]
    for backend in ("python", "native"):
        compiled = autodiff.compile(
            lambda x: gradient(lambda x: f(x)[1] * f(x)[0], x), backend=backend
        )
        for x in (1.7, 1.9, 2.1):
            np.testing.assert_allclose(compiled(x), -f(x)[0], rtol=1e-12)


def test_a_path_beside_signs_is_one(runs: list[str]) -> None:
    f = stepped_by_signs_of_another
    with warnings.catch_warnings():
        warnings.simplefilter("error", autodiff.NoPathWarning)
        slopes = gradient(lambda x, y: f(x, y) * 1.0, 1.7, 2.0)
    np.testing.assert_allclose(slopes, (40.0, f(1.7, 1.0)), rtol=1e-12)
    assert runs == [f.__name__]


def chosen_by_an_index(x, y):
    ends = np.array([0.0, 4.0])
    for _ in range(40):
        middle = ends.mean()
        ends[int((np.array([middle, middle]) > x).all())] = middle
    return ends[0] * y


def decided_elsewhere(x, y):
    def step(low, high, above, n):
        if above[0]:
            high = 0.5 * (low + high)
        else:
            low = 0.5 * (low + high)
        return low if n == 0 else step(low, high, np.array([0.5 * (low + high)]) > x, n - 1)

    total = 0.0
    for _ in range(2):
        total += step(0.0, 4.0, np.array([2.0]) > x, 40)
    return total * y


@pytest.mark.parametrize("f", [chosen_by_an_index, decided_elsewhere])
def test_masks_may_decide_without_a_branch(f: Callable) -> None:
    with pytest.warns(autodiff.NoPathWarning, match="argument 0"):
        slopes = gradient(lambda x, y: f(x, y) * 1.0, 1.7, 2.0)
    np.testing.assert_allclose(slopes, (0.0, f(1.7, 1.0)), rtol=1e-12)


def labelled(w, edge):
    labels, kept = np.zeros(w.shape, dtype=int), w * 1.0
    for k in range(4):
        inside = np.less(kept, edge)
        labels[inside] = k
        kept[inside] = 1.5 * kept[inside]
        if not len(kept[inside]):
            break
    return kept, labels


def sum_of_labelled(w, edge):
    kept, labels = labelled(w, edge)
    return np.sum(kept * kept) + 0.0 * labels.sum()


def edge_of_all(w, x, unread=float):
    low, high = unread(0.0), 4.0
    for _ in range(20):
        middle = 0.5 * (low + high)
        if np.all(labelled(w * x, middle)[1]):
            high = middle
        else:
            low = middle
    return low


def test_labels_that_decide_about_no_branch_are_no_search(
    runs: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    traced_again = []
    monkeypatch.setattr(calls.ProgramRun, "traced_again", traced_again.append)
    w = np.array([0.3, 0.9, 1.4, 2.5])
    expected = 2 * w * np.array([1.5**4, 1.5**2, 1.5, 1.0]) ** 2
    derivative = autodiff.compile(lambda w, edge: gradient(sum_of_labelled, w, edge))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for run in (gradient, derivative, derivative):
            found = run(sum_of_labelled, w, 2.0) if run is gradient else run(w, 2.0)
            np.testing.assert_allclose(found[0], expected, rtol=1e-12)
            assert found[1] == 0.0
    assert not traced_again
    assert set(runs) == {"labelled"}


def test_labels_that_decide_in_the_caller_are_a_search(traced: Callable, runs: list[str]) -> None:
    w = np.array([0.3, 0.9, 1.4, 2.5])
    derivative = autodiff.compile(lambda w, x: gradient(edge_of_all, w, x))
    for run in (lambda w, x: traced(edge_of_all, w, x), derivative, derivative):
        with pytest.warns(autodiff.NoPathWarning, match="labelled"):
            run(w, 1.1)
    del runs[:]
    for _ in range(2):
        with pytest.warns(autodiff.NoPathWarning, match="labelled"):
            gradient(lambda w, x: edge_of_all(w, x, np.vectorize(abs)), w, 1.1)
    assert set(runs) == {"labelled"}

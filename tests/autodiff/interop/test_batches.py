"""Batches of ufuncs: all rows by one call, compared with the rows one by one."""

import itertools

import numpy as np
import pytest
from scipy import special

from autodiff.interop.flat_call import flat_call

AXES = [
    axes for axes in itertools.product([None, 0, 1], repeat=2) if any(a is not None for a in axes)
]
SIZE = 4


def positive(*shape, dtype=float):
    return np.random.default_rng([*shape, 1]).uniform(0.5, 2.0, shape).astype(dtype)


FUNCTIONS = {
    "hypot": (np.hypot, positive(3), positive(2, 3)),
    "single precision": (special.gammainc, positive(2, 1, dtype=np.float32),
                         positive(3, dtype=np.float32)),
    "complex": (np.multiply, positive(2, 3) + 1j * positive(2, 3), positive(3)),
}  # fmt: skip


class Batch:
    """A batch of calls of a ufunc, and its rows."""

    def __init__(self, f, *args, axes):
        self.arrays, self.call = flat_call(f, args, {})
        self.axes = axes
        self.given = [
            x
            if axis is None
            else np.moveaxis(np.stack([x * (1 + i / 9) for i in range(SIZE)]), 0, axis)
            for x, axis in zip(self.arrays, axes, strict=True)
        ]
        self.batched = self.call.batched(axes, SIZE)
        rng = np.random.default_rng(2)
        y = self.call.value(*self.arrays)[0]
        self.y_bars = rng.normal(size=(SIZE, *y.shape)).astype(y.dtype)
        self.dots = [rng.normal(size=(SIZE, *x.shape)).astype(x.dtype) for x in self.arrays]

    def row(self, i):
        taken = zip(self.given, self.axes, strict=True)
        return [np.asarray(x if axis is None else np.take(x, i, axis)) for x, axis in taken]

    def each(self, call, *more):
        """Stack what a call returns for each row."""
        rows = [call.value(*self.row(i), *(np.asarray(m[i]) for m in more)) for i in range(SIZE)]
        return [np.stack(y) for y in zip(*rows, strict=True)]


def assert_same(found, expected):
    for a, b in zip(found, expected, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-6)
        assert a.dtype == b.dtype


@pytest.fixture(params=FUNCTIONS)
def function(request):
    return FUNCTIONS[request.param]


@pytest.mark.parametrize("axes", AXES, ids=str)
def test_all_rows_at_once(function, axes):
    batch = Batch(*function, axes=axes)
    assert batch.batched.takes_rows
    assert_same(batch.batched.value(*batch.given), batch.each(batch.call))

    both, all_rows = (0, 1), (0, 0)
    pull = batch.call.pullback(both, (0,))
    expected = batch.each(pull, batch.y_bars)
    found = pull.batched((*axes, 0), SIZE).value(*batch.given, batch.y_bars)
    assert_same(found, expected)

    push = batch.call.pushforward(both)
    found = push.batched((*axes, *all_rows), SIZE).value(*batch.given, *batch.dots)
    assert_same(found, batch.each(push, *batch.dots))

    # The pullback of the batch adds what rows share, and has the axes of the others in place.
    summed = [
        bar.sum(0) if axis is None else np.moveaxis(bar, 0, axis)
        for bar, axis in zip(expected, axes, strict=True)
    ]
    whole = batch.batched.pullback(both, (0,))
    assert_same(whole.value(*batch.given, batch.y_bars), summed)

    # Batches of batches, and of second derivatives.
    twice = [np.stack([x, x * 1.05]) for x in (*batch.given, batch.y_bars)]
    found = whole.batched((0, 0, 0), 2).value(*twice)
    assert_same([bar[1] for bar in found], whole.value(*(x[1] for x in twice)))
    second = pull.pullback(both, both)
    found = second.batched((*axes, 0, *all_rows), SIZE)
    assert found.takes_rows
    assert_same(found.value(*batch.given, batch.y_bars, *batch.dots),
                batch.each(second, batch.y_bars, *batch.dots))  # fmt: skip


def test_numbers_and_constant_arrays_stay():
    constant = np.arange(6.0).reshape(2, 3)
    (x,), call = flat_call(np.multiply, (positive(3), constant), {}, lambda a: np.ndim(a) == 1)
    rows = np.stack([x, 2 * x])
    np.testing.assert_allclose(call.batched((0,), 2).value(rows)[0], rows[:, None] * constant)
    (x,), call = flat_call(np.power, (positive(3, dtype=np.float32), 2), {})
    assert call.batched((0,), 2).value(np.stack([x, x]))[0].dtype == np.float32


@pytest.mark.parametrize(
    "f, args, kwargs",
    [
        (lambda x: np.tanh(x), 1, {}),
        (np.matmul, 2, {}),
        (np.tanh, 1, {"where": True}),
        (np.sum, 1, {}),
    ],
    ids=["python", "gufunc", "keyword", "reduction"],
)
def test_what_is_called_row_by_row(f, args, kwargs):
    assert not flat_call(f, (np.eye(2),) * args, kwargs)[1].takes_rows


def test_one_call_for_all_rows():
    runs = []

    def counted(x):
        runs.append(x.shape)
        return x * x

    f = np.frompyfunc(counted, 1, 1)
    assert flat_call(f, (np.ones(2),), {})[1].takes_rows  # a ufunc, though of Python
    _, call = flat_call(np.tanh, (np.ones(2),), {})
    tanh, seen = call.run, []
    call.run = lambda *arrays: seen.append(arrays[0].shape) or tanh(*arrays)
    call.batched((0,), 5).value(np.ones((5, 2)))
    assert seen == [(5, 2)]

"""Flat calls: their values and derivatives against finite differences, and what they keep."""

import numpy as np
import pytest

from autodiff import ArgumentError, MutationError, OutputError
from autodiff.interop.flat_call import flat_call


def scaled(p, n, *, shift):
    y = np.tanh(p["x"]) * p["y"]
    return {"y": y + shift, "n": n, "both": (np.sum(y * y), "text")}


@pytest.fixture
def made():
    p = {"x": np.array([0.3, -0.2, 0.9]), "y": np.array(2.0)}
    return flat_call(scaled, (p, 3), {"shift": np.arange(3)})


@pytest.fixture
def bars():
    return [np.array([1.0, -2.0, 0.5]), np.array(0.7)]


def weighed(call, arrays, bars):
    return sum(np.sum(y * bar) for y, bar in zip(call.value(*arrays), bars, strict=True))


def differences(f, arrays, i, step=1e-6):
    """The gradient of a number by one of the arrays."""
    found = np.zeros(arrays[i].shape)
    for place in np.ndindex(arrays[i].shape):
        values = []
        for sign in (1, -1):
            moved = [x.astype(float) for x in arrays]
            moved[i][place] += sign * step
            values.append(f(moved))
        found[place] = (values[0] - values[1]) / (2 * step)
    return found


def test_arrays_are_taken_out_and_put_back(made):
    arrays, call = made
    assert [x.shape for x in arrays] == [(3,), (), (3,)]
    y, total = call.value(*arrays)
    assert call.outputs.constants() == [0, 3, 1, "text"]
    result = call.outputs.filled([y, total])
    expected = scaled({"x": arrays[0], "y": 2.0}, 3, shift=arrays[2])
    np.testing.assert_array_equal(result["y"], expected["y"])
    assert result["n"] == 3
    assert result["both"] == expected["both"]


def test_the_kept_pullback_and_that_of_a_fresh_run_agree_with_differences(made, bars):
    arrays, call = made
    _, back = call.recorded(arrays, (0, 1), is_frozen=True)
    fresh = call.pullback((0, 1), (0, 1)).value(*arrays, *bars)
    kept = call.pullback((0, 1), (0, 1), back).value(*arrays, *bars)
    for i, (a, b, c) in enumerate(zip(back(bars), fresh, kept, strict=True)):
        expected = differences(lambda moved: weighed(call, moved, bars), arrays, i)
        np.testing.assert_allclose(a, expected, rtol=1e-7)
        np.testing.assert_array_equal(a, b)
        np.testing.assert_array_equal(a, c)


def test_a_cotangent_that_is_left_out_is_zero(made, bars):
    arrays, call = made
    _, back = call.recorded(arrays, (0,), is_frozen=False)
    only = back([None, bars[1]])[0]
    np.testing.assert_array_equal(only, call.pullback((0,), (1,)).value(*arrays, bars[1])[0])
    np.testing.assert_array_equal(
        back(bars[:1])[0], call.pullback((0,), (0,), back).value(*arrays, bars[0])[0]
    )


def test_the_pullback_of_a_pullback(made, bars):
    arrays, call = made
    first = call.pullback((0, 1), (0, 1), call.recorded(arrays, (0, 1), True)[1])
    v = [np.array([0.2, 0.4, -1.0]), np.array(0.3)]
    given = [*arrays, *bars]
    _, back = first.recorded(given, (0, 1, 3), is_frozen=True)
    fresh = call.pullback((0, 1), (0, 1))
    for place, found in zip((0, 1, 3), back(v), strict=True):
        expected = differences(lambda moved: weighed(fresh, moved, v), given, place)
        np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-9)


def test_the_pushforward_is_the_adjoint_of_the_pullback(made, bars):
    arrays, call = made
    dots = [np.array([0.2, 0.4, -1.0]), np.array(0.3)]
    y_dots = call.pushforward((0, 1)).value(*arrays, *dots)
    x_bars = call.pullback((0, 1), (0, 1)).value(*arrays, *bars)
    forward = sum(np.sum(a * b) for a, b in zip(y_dots, bars, strict=True))
    reverse = sum(np.sum(a * b) for a, b in zip(x_bars, dots, strict=True))
    np.testing.assert_allclose(forward, reverse, rtol=1e-13)


def test_a_batch_is_the_stack_of_its_rows_in_value_and_pullback(made, bars):
    arrays, call = made
    rows = np.stack([arrays[0], 2 * arrays[0]], axis=1)
    batched = call.batched((1, None, None), 2)
    given = [rows, *arrays[1:]]
    y, total = batched.value(*given)
    singles = [call.value(rows[:, i], *arrays[1:]) for i in range(2)]
    np.testing.assert_array_equal(y, np.stack([s[0] for s in singles]))
    np.testing.assert_array_equal(total, np.stack([s[1] for s in singles]))
    y_bars = [np.stack([bars[0]] * 2), np.stack([bars[1]] * 2)]
    x_bar, scale_bar = batched.pullback((0, 1), (0, 1)).value(*given, *y_bars)
    single = [call.pullback((0, 1), (0, 1)).value(rows[:, i], *arrays[1:], *bars) for i in range(2)]
    np.testing.assert_allclose(x_bar, np.stack([s[0] for s in single], axis=1), rtol=1e-14)
    np.testing.assert_allclose(scale_bar, sum(s[1] for s in single), rtol=1e-14)


def test_a_batch_of_cotangents_runs_the_function_once(bars):
    runs = []

    def squared(x):
        runs.append(1)
        return x * x

    arrays, call = flat_call(squared, (np.arange(3.0),), {})
    rows = call.pullback((0,), (0,)).batched((None, 0), 3)
    np.testing.assert_array_equal(rows.value(*arrays, np.eye(3))[0], np.diag([0.0, 2.0, 4.0]))
    assert len(runs) == 1


def test_what_differs_among_the_rows_must_be_an_array():
    arrays, call = flat_call(lambda x: (x, bool(x > 0)), (np.array([1.0, -1.0]),), {})
    with pytest.raises(OutputError, match=r"differs among the rows"):
        call.batched((0,), 2).value(*arrays)
    with pytest.raises(OutputError, match=r"there is none"):
        call.batched((0,), 0).value(np.ones(0))


def test_the_same_array_in_two_places_is_one_input():
    x = np.arange(3.0)
    arrays, call = flat_call(lambda a, b: a * b, (x, x), {})
    assert len(arrays) == 1
    np.testing.assert_array_equal(call.recorded(arrays, (0,), True)[1]([np.ones(3)])[0], 2 * x)


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.complex64, np.complex128])
def test_dtypes_stay(dtype):
    arrays, call = flat_call(lambda x, s: x * s, (np.ones(3, dtype), np.ones((), dtype)), {})
    (y,), back = call.recorded(arrays, (0, 1), is_frozen=True)
    assert y.dtype == dtype
    assert [bar.dtype for bar in back([np.ones(3, dtype)])] == [dtype, dtype]


def test_writes_of_the_function_do_not_reach_the_caller():
    def writes(x):
        x *= 2
        return np.sum(x * x)

    small, call = flat_call(writes, (np.ones(3),), {})
    assert call.value(*small)[0] == 12
    (y,), back = call.recorded(small, (0,), is_frozen=True)
    assert y == 12
    np.testing.assert_array_equal(back([np.array(1.0)])[0], np.full(3, 8.0))
    np.testing.assert_array_equal(small[0], np.ones(3))
    large = np.ones(100_000)
    with pytest.raises(MutationError, match="written into a large array"):
        call.value(large)


def test_an_output_never_shares_memory_with_an_input():
    x = np.arange(4.0)
    arrays, call = flat_call(lambda x: (x, x[1:]), (x,), {})
    for found in (call.value(*arrays), call.recorded(arrays, (0,), is_frozen=True)[0]):
        assert not any(np.may_share_memory(y, x) for y in found)


@pytest.mark.parametrize("make", ["series", "frame", "part"])
def test_tables_of_pandas_are_no_arrays(make):
    pandas = pytest.importorskip("pandas")
    made = {
        "series": lambda x: pandas.Series(x),
        "frame": lambda x: pandas.DataFrame({"a": x}),
        "part": lambda x: {"y": x, "s": [pandas.Series(x)]},
    }[make]
    x = np.ones(3)
    (array,), call = flat_call(lambda x: made(2 * x), (x,), {})
    with pytest.raises(ArgumentError, match="a Series or DataFrame of pandas"):
        call.value(array)
    with pytest.raises(ArgumentError, match="a Series or DataFrame of pandas"):
        call.recorded([array], (0,), is_frozen=True)
    with pytest.raises(ArgumentError, match="a Series or DataFrame of pandas"):
        flat_call(np.sum, (made(x),), {})
    boxes, call = flat_call(lambda s, x: x, (made(x), "x"), {}, lambda leaf: isinstance(leaf, str))
    assert len(boxes) == 1  # the numbers of another system alone are taken out


def test_arrays_that_are_not_differentiated_are_lent():
    def f(x, c):
        c[:] = 2.0
        return np.sum(x * c)

    for n in (3, 20_000):
        x, c = np.ones(n), np.ones(n)
        _, call = flat_call(f, (x, c), {})
        runs = (
            lambda call=call, x=x, c=c: call.recorded([x, c], (0,), is_frozen=True)[1]([1.0])[0],
            lambda call=call, x=x, c=c: call.pushed([x, c], (0,), [x])[1][0] / len(x),
        )
        for run in runs:
            if n == 3:
                np.testing.assert_array_equal(run(), 2.0)
                np.testing.assert_array_equal(c, 1.0)
            else:
                c[:] = 1.0
                with pytest.raises(MutationError, match="written into a large array"):
                    run()

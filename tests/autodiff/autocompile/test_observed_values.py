"""What Python observes of values, in functions that are compiled by themselves."""

import math
import operator
import warnings

import numpy as np
import pytest

from autodiff import gradient, value_and_gradient
from autodiff.autocompile import call_records
from tools.fuzz.generators import observations
from tools.fuzz.judge import load

pytestmark = pytest.mark.usefixtures("soon")


def close(x):
    w = 2.0 * x if math.isclose(x, 1.5) is True else 3.0 * x
    return w * x


def in_between(x):
    ok = x > 1.0 and x < 5.0
    return 2.0 * x if ok is True else 3.0 * x


def no_integer(x):
    return 2.0 * x if x.is_integer() is False else 3.0 * x


def flagged(x):
    def scaled(flag=False):
        return 2.0 * x if flag is not False else 3.0 * x

    return scaled(bool(x > 1.0))


@pytest.mark.parametrize("f", [close, in_between, no_integer, flagged])
def test_identity(f):
    for x in [0.7] * 20 + [1.5, 2.0, 1.5, 0.7, 6.0, 1.0] * 3:
        found = gradient(f, x)
        call_records.Settings.enabled = False
        assert found == gradient(f, x)
        call_records.Settings.enabled = True


COUNTS = [
    lambda x: np.argmax(x), lambda x: np.sum(x > 0), lambda x: sum(x > 0),
    lambda x: np.count_nonzero(x > 0), lambda x: np.abs(3 * x).astype(int)[0],
]  # fmt: skip
WAYS = [
    lambda k: sum([2.0] * k), lambda k: sum(k * [2.0]), lambda k: sum((1.0, 2.0) * k),
    lambda k: np.sum(np.ones((2,) * k)), lambda k: np.polyval([1.0] * (k + 1), 0.5),
    lambda k: np.sum([1.0, 2.0] * k), lambda k: len(operator.mul([1.0], k)),
]  # fmt: skip


@pytest.mark.parametrize("count", COUNTS)
@pytest.mark.parametrize("way", WAYS)
def test_repetition(count, way):
    def f(x):
        return (1.0 + way(count(x))) * np.sum(x * x)

    x = np.array([0.5, -0.2, 0.9, -0.4])
    for given in [x] * 10 + [-x, np.abs(x), x[::-1].copy(), x] * 2:
        found = gradient(f, given)
        np.testing.assert_allclose(found, 2.0 * given * (1.0 + way(int(count(given)))))


@pytest.mark.parametrize("setting", [{"all": "raise"}, {"under": "raise"}])
def test_errors_that_raise(setting):
    def f(x):
        return np.exp(x[0]) * x[1]

    x = np.array([-1e3, 1.0])
    for _ in range(10):
        gradient(f, x)
    assert next(iter(call_records.records.values())).hits
    with np.errstate(**setting), pytest.raises(FloatingPointError):
        gradient(f, x)
    assert gradient(f, x).tolist() == [0.0, 0.0]


def test_errors_that_call():
    def f(x):
        return np.exp(x[0]) * x[1]

    x = np.array([-1e3, 1.0])
    for _ in range(10):
        gradient(f, x)
    seen = []
    with np.errstate(under="call", call=lambda *a: seen.append(a)):
        gradient(f, x)
    assert seen
    with np.errstate(under="warn"), pytest.warns(RuntimeWarning, match="underflow"):
        gradient(f, x)


def test_errors_that_raise_inside():
    def f(x):
        with np.errstate(under="raise"):
            return np.exp(x[0]) * x[1]

    for _ in range(10):
        gradient(f, np.array([1.0, 1.0]))
    with pytest.raises(FloatingPointError):
        gradient(f, np.array([-1e3, 1.0]))


def test_errors_of_results_that_nobody_reads():
    def f(x):
        np.linalg.cholesky(np.array([[x[0], 0.0], [0.0, 1.0]]))
        return x[0] * x[1]

    for _ in range(10):
        gradient(f, np.array([1.0, 1.0]))
    assert next(iter(call_records.records.values())).hits
    with pytest.raises(np.linalg.LinAlgError):
        gradient(f, np.array([-1.0, 1.0]))


@pytest.mark.parametrize("seed", range(60))
def test_generated_programs(seed):
    program, (x, s) = load(observations.write(seed))
    rng = np.random.default_rng(seed)
    points = [(x, s), *[(rng.uniform(-1, 1, 4), float(rng.uniform(-1, 1))) for _ in range(8)]]

    def outcomes():
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            for point in points * 2:
                try:
                    value, slopes = value_and_gradient(program, *point)
                except Exception as error:
                    yield type(error)
                else:
                    yield np.array([value, *slopes[0], slopes[1]])

    call_records.Settings.enabled = False
    expected = list(outcomes())
    call_records.Settings.enabled = True
    for found, wanted in zip(outcomes(), expected, strict=True):
        if type(wanted) is type:
            assert found is wanted
        else:
            np.testing.assert_allclose(found, wanted, rtol=1e-9, atol=1e-12)


class Asset:
    def __init__(self, volatility):
        self.volatility = volatility


@pytest.mark.parametrize("key", [lambda asset: asset, lambda asset: ("long", asset)])
def test_keys_that_are_objects(key):
    def risk(x, weights):
        total = 0.0
        for held, weight in weights.items():
            asset = held[1] if isinstance(held, tuple) else held
            total = total + weight * asset.volatility * x * x
        return total

    asset = Asset(0.5)
    for turn in range(40):
        asset.volatility = 0.5 if turn < 30 else 1.0
        assert gradient(risk, 3.0, {key(asset): 2.0}, argnums=0) == 12.0 * asset.volatility

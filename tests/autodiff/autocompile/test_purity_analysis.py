"""What is shown to be pure, and what is not."""

import functools
import math
import operator
import time

import numpy as np
import pytest
import scipy.special
from scipy import stats

from autodiff import automatic_compile, gradient
from autodiff.autocompile.purity_analysis import Impurity, Proof
from tests.helpers import run_python

RATE = 0.5
TABLE = np.arange(4.0)
LARGE = np.arange(1000.0)
OPTIONS = {"rate": 0.1}
MODELS = {"a": np.array([None, "b"])}
COUNTS = []
HELD = [1.0]


def helper(x, scale=2.0):
    return np.tanh(x) * scale


def with_attribute(x):
    return x * with_attribute.scale


with_attribute.scale = 3.0


class Model:
    def __getattr__(self, name):
        return 0.5 if name == "rate" else [0.5]


MODEL = Model()


class Plain:
    n = 0

    def __add__(self, other):
        return HELD

    def copy(self):
        return HELD

    @classmethod
    def counted(cls):
        cls.n += 1
        return cls.n


def branches(x):
    total = 0.0
    for i in range(len(x)):
        if x[i] > 0:
            total += x[i] ** 2
        elif x[i] < -1:
            continue
        else:
            total -= x[i]
    while total > 100:
        total = total / 2
    return total


def fills(x):
    out = np.zeros(len(x))
    for i, v in enumerate(x):
        out[i] = v * 2
        out[i] += 1.0
    rows = []
    for v in x:
        rows.append(v * out[0])
    return np.sum(out) + sum(rows)


def nested(x):
    def inner(y, k=3):
        return y**k

    doubled = [2 * v for v in x if v > 0]
    return sum(inner(v) for v in doubled) + (lambda z: z * RATE)(x[0])


def takes_gradients(x):
    return np.sum(gradient(lambda z: np.sum(z**3), x) * x)


def reads_outside(x):
    return np.sum(x * RATE + TABLE * OPTIONS["rate"]) + np.sum(LARGE) * x[0]


def uses_libraries(x):
    y = scipy.special.erf(x) + stats.norm.logpdf(x, 0.0, 2.0)
    z = functools.reduce(operator.add, [y[0], y[1]])
    return (
        math.sqrt(z * z)
        + np.nan_to_num(z)
        + np.linalg.norm(np.linalg.inv(np.eye(4) + np.outer(x, x)))
    )


def like_jax(x):
    out = np.zeros(2)
    if hasattr(out, "at"):
        out = out.at[0].set(x[0])
    else:
        out[0] = x[0]
    return out[0]


def raises(x):
    if len(x) > 100:
        raise ValueError(f"{len(x)} are too many")
    return x[0]


def as_users_write(x):
    if x.ndim != 1:
        raise ValueError(f"{x.ndim} axes")
    if isinstance(x, np.ndarray) and not isinstance(x, str):
        with np.errstate(divide="ignore"):
            y = np.log(x + np.finfo(float).eps)
    rows = np.c_[y, x][1:, np.newaxis]
    del y
    return np.sum(rows) + np.r_[x, 1.0][0]


class Layer:
    def __init__(self, mean, activation):
        self.mean, self.activation = mean, activation

    def forward(self, x, scale, shift):
        return self.activation(x * scale + shift - self.mean)


def holds_functions_of_numpy(x, activation=np.tanh):
    def apply(layer, x, scale):
        return activation(layer.forward(x, scale, shift=1.0))

    layers = [Layer(0.5, np.sin), Layer(x[0], np.tanh)]
    x = functools.reduce(lambda y, layer: apply(layer, y, 2.0), layers, x)
    return np.sum(layers[0].forward(x, 2.0, 1.0)) + layers[1].mean


@pytest.mark.parametrize(
    "f",
    [
        holds_functions_of_numpy,
        as_users_write,
        branches,
        fills,
        nested,
        takes_gradients,
        reads_outside,
        uses_libraries,
        like_jax,
        raises,
    ],
    ids=lambda f: f.__name__,
)
def test_pure(f):
    proof = Proof(f)
    assert [a is LARGE for a in proof.arrays] == [True] * (f is reads_outside)


def prints(x):
    print(x)
    return x * 2


def writes_an_argument(x, c):
    c[0] = 1.0
    return np.sum(x * c)


def adds_in_the_second_turn(x, c):
    y = np.zeros(3)
    for _ in range(2):
        y[0] = 1.0
        y = c
    return np.sum(x * y)


def adds_behind_a_break(x, c):
    y = np.zeros(3)
    for _ in range(2):
        y = c
        if len(c) > 1:
            break
        y = np.zeros(3)
    y[0] = 1.0
    return np.sum(x * y)


def adds_to_what_may_be_bound(x, c):
    y = c
    len(c) > 1 and (y := np.zeros(3))
    y[0] = 1.0
    return np.sum(x * y)


def adds_to_a_copy_of_what_a_function_is_given(x):
    def first(parts):
        held = parts.copy()
        held[0] += 1.0
        return held[0]

    return np.sum(first(np.split(x, 2)))


def hides_a_name(x, f=lambda MODEL: MODEL):
    return x * MODEL.rate


def adds_to_what_a_list_holds(x, c):
    held = [c]
    held[0] += 1.0
    return np.sum(x)


def appends_outside(x):
    COUNTS.append(1)
    return x * 2


def gives_out(x, c):
    np.multiply(x, 2.0, out=c)
    return np.sum(x)


def gives_out_by_place(x, c):
    np.multiply(x, 2.0, c)
    return np.sum(x)


def gives_out_to_a_method(x, c):
    x.sum(0, None, c)
    return np.sum(x)


def fills_an_argument(x, c):
    c.fill(0.0)
    return np.sum(x)


def writes_by_a_function(x, c):
    np.put(c, [0], 1.0)
    return np.sum(x)


def does_not_copy(x, c):
    np.nan_to_num(c, False)
    return np.sum(x)


def does_not_copy_by_name(x, c):
    np.nan_to_num(c, copy=False)
    return np.sum(x)


def adds_at(x, c):
    np.add.at(c, [0], 1.0)
    return np.sum(x)


def draws(x):
    return x * np.random.normal()  # noqa: NPY002 - it is to be refused


def reads_the_clock(x):
    return x * time.time()


def reads_an_object(x):
    return x * MODEL.rate


def reads_larger_nests(x):
    return x * MODELS["a"][0]


def writes_a_global(x):
    global RATE
    RATE = 2.0
    return x


def sets_an_attribute(x):
    np.something = 3.0
    return x


def looks_inside(x):
    return x * len(helper.__globals__)


async def waits(x):
    return x


def finds_the_class(x):
    return x * len(f"{Plain()}")


def assigns_outside(count):
    def inner(x):
        nonlocal count
        count = x
        return x

    return inner


assigns_outside = assigns_outside(1.0)


def appends_to_a_sum(x):
    y = Plain() + 1.0
    y.append(1.0)
    return x


def writes_into_a_copy(x):
    y = Plain().copy()
    y[0] = 1.0
    return x


def writes_into_what_a_handler_finds(x):
    y = []
    try:
        y = HELD
        y[2] = x
    except IndexError:
        pass
    y.append(1.0)
    return x


def writes_into_what_is_matched(x):
    y = []
    match (HELD, x):
        case (y, 1.0):
            pass
    y.append(1.0)
    return x


def writes_into_what_is_yielded(x):
    def inner():
        yield HELD

    for y in inner():
        y.append(1.0)
    return x


def writes_an_attribute_of_a_class(x):
    return x * Plain.counted()


def takes_names_for_a_function_given(x, f=np.add, **options):
    return f(x, x, **options)


def deletes_of_an_argument(x, c):
    del c[0]
    return x


def imports(x):
    import random

    return x * random.random()


def binds_in_a_comprehension(x):
    return sum([(last := v) for v in x]) + last


def reads_a_name_of_a_comprehension(x):
    return sum([x * MODEL for MODEL in MODEL.rates])


def uses_a_function_with_attributes(x):
    return with_attribute(x)


DOUBTS = [f for f in list(vars().values()) if callable(f) and hasattr(f, "__code__")]
DOUBTS = DOUBTS[DOUBTS.index(prints) :]
WRITES = (
    writes_an_argument, adds_in_the_second_turn, adds_behind_a_break, adds_to_what_may_be_bound,
    adds_to_what_a_list_holds, fills_an_argument, adds_at, deletes_of_an_argument,
)  # fmt: skip
OUTSIDE = (
    appends_outside, appends_to_a_sum, writes_into_a_copy, writes_into_what_a_handler_finds,
    writes_into_what_is_matched, writes_into_what_is_yielded,
    adds_to_a_copy_of_what_a_function_is_given,
)  # fmt: skip
DOUBTS = [f for f in DOUBTS if f not in WRITES + OUTSIDE]


@pytest.mark.parametrize("f", DOUBTS, ids=lambda f: f.__name__)
def test_doubts(f):
    with pytest.raises(Impurity):
        Proof(functools.partial(f, HELD))


@pytest.mark.parametrize("f", WRITES + OUTSIDE, ids=lambda f: f.__name__)
def test_writes_are_no_doubts(f):
    assert not Proof(f).arrays


def with_and_without(outcomes):
    """Compare what is found with and without programs."""
    found, before = outcomes(), automatic_compile(False)
    try:
        np.testing.assert_allclose(found, outcomes())
    finally:
        automatic_compile(before)


@pytest.mark.parametrize("reads", [False, True])
@pytest.mark.parametrize("f", WRITES[:-1], ids=lambda f: f.__name__)
def test_writes_into_what_is_not_differentiated_happen_at_each_call(f, reads, soon):
    def outcomes():
        x, c = np.array([0.5, 1.5, 2.5]), np.array([3.0, 1.0, 2.0])
        g = (lambda x, c: f(x, c) * HELD[0]) if reads else f
        return [[gradient(g, x * k, c, argnums=0), c.copy()] for k in range(1, 9)]

    with_and_without(outcomes)


@pytest.mark.parametrize("f", OUTSIDE[:-1], ids=lambda f: f.__name__)
def test_writes_into_what_is_outside_happen_at_each_call(f, soon):
    def outcomes():
        COUNTS.clear()
        HELD[:] = [1.0]
        found = [(gradient(f, 2.0), len(COUNTS), len(HELD)) for _ in range(8)]
        HELD[:] = [1.0]
        return found

    with_and_without(outcomes)


@pytest.mark.parametrize("n", [3, 3000])
def test_writes_into_outer_arrays_happen_at_each_call(n, soon):
    def outcomes():
        c, d = np.ones(n), [0.0]

        def f(x):
            c[1] += 1.0
            d[0] = float(c[1])
            return np.sum(x * c[:3])

        return [(*gradient(f, np.ones(3)), c[1], d[0]) for _ in range(8)]

    with_and_without(outcomes)


def test_what_closures_hold():
    def of(held):
        return lambda x: x * held

    assert not Proof(of(2.0)).arrays
    assert Proof(of(LARGE)).arrays
    for held in (Model(), np.zeros((99, 99)).T, np.zeros(1 << 20), [iter([1])], iter([1])):
        with pytest.raises(Impurity):
            Proof(of(held))


def test_a_doubt_names_the_line():
    with pytest.raises(Impurity, match=r"is given \(line \d+ of .*gives_out_by_place\)"):
        Proof(gives_out_by_place)
    with pytest.raises(Impurity, match="'print'"):
        Proof(prints)


def test_a_function_without_source():
    scope = {}
    exec("def f(x): return x * 2", scope)
    with pytest.raises(Impurity, match="source"):
        Proof(scope["f"])


@pytest.mark.parametrize("said, expected", [("", "True"), ("0", "False"), ("1", "True")])
def test_the_environment_turns_it_off(said, expected):
    command = "import autodiff; print(autodiff.autocompile.Settings.enabled)"
    assert run_python("-c", command, AUTODIFF_COMPILE=said).stdout.strip() == expected

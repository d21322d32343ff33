"""Arguments that hold no floats are copied as well: a function may write into them."""

import pytest

from autodiff import compile, gradient, pushforward


def doubled(xs, ys):
    for i in range(len(xs)):
        xs[i] = xs[i] * 2.0
        ys[i] = ys[i] + xs[i]
    return sum(y * y for y in ys)


def products(xs, ys):
    for i in range(len(xs)):
        xs[i] = xs[i] * ys[i]
    return sum(xs)


def shorter(xs, ys):
    xs.pop()
    return sum(ys) * len(xs)


def nested(xs, ys):
    xs[0][1] = 5 * ys[0]
    xs.append([ys[1]])
    return xs[0][1] * xs[-1][0]


def counted(d, ys):
    d["n"] += 1
    d["first"] = ys[0]
    return sum(ys) * d["n"]


YS = [0.3, -1.0, 2.0]
CASES = [
    (doubled, [1, 2, 3], [None] * 3, [4.6, 6.0, 16.0]),
    (products, [1, 2, 3], [None] * 3, [1.0, 2.0, 3.0]),
    (shorter, [1, 2, 3], [None] * 3, [2.0, 2.0, 2.0]),
    (nested, [[1, 2], [3]], [[None, None], [None]], [-5.0, 1.5, 0.0]),
    (counted, {"n": 1}, {"n": None}, [2.0, 2.0, 2.0]),
]


@pytest.mark.parametrize("is_compiled", [False, True])
@pytest.mark.parametrize("f, x, x_bar, y_bar", CASES)
def test_gradients(f, x, x_bar, y_bar, is_compiled):
    before = repr(x)
    derivative = compile(lambda x, y: gradient(f, x, y)) if is_compiled else gradient
    for _ in range(4):
        found = derivative(x, YS) if is_compiled else derivative(f, x, YS)
        assert found[0] == x_bar
        assert found[1] == pytest.approx(y_bar)
        assert repr(x) == before


@pytest.mark.parametrize("f, x, x_bar, y_bar", CASES)
def test_forward_mode(f, x, x_bar, y_bar):
    before = repr(x)
    _, forward = pushforward(f, x, YS)
    assert forward(None, [1.0, 0.0, 0.0]) == pytest.approx(y_bar[0])
    assert repr(x) == before

"""Methods and attributes of arrays, each as NumPy has it."""

import numpy as np
import pytest

import autodiff
from autodiff.trace.tracer import FloatTracer, Tracer
from tests.helpers import differences

V = np.array([0.7, -1.3, 2.1, 0.4])
W = np.array([0.3, 0.5, -0.8])
S = np.array(0.8)
M = np.array([[0.7, -1.3, 2.1], [0.4, 1.6, -0.9]])
SQUARE = np.array([[2.0, 0.3, 0.1], [0.4, 1.5, -0.2], [0.2, 0.5, 1.8]])
Z = np.array([0.7 + 0.2j, -1.3 + 0.5j, 2.1 - 0.3j])


def changed(change):
    """A copy that a method or an assignment has changed in place."""

    def result(x, *more):
        y = np.copy(x)
        change(y, *more)
        return y

    return result


def set_attribute(name):
    return changed(lambda y, value: setattr(y, name, value))


# fmt: off
METHODS = [
    ("clip below", lambda x: x.clip(1.0), V),
    ("clip above", lambda x: x.clip(max=1.0), V),
    ("clip None", lambda x: x.clip(None, 1.0), V),
    ("clip both", lambda x, a, b: x.clip(a, max=b), V, S * 0, S),
    ("clip out", changed(lambda y: y.clip(0.0, 1.0, out=y)), V),
    ("compress", lambda x: x.compress([True, False, True], axis=1), M),
    ("compress flat", lambda x: x.compress([True, False, True]), M),
    ("choose", lambda x: np.array([1, 0]).choose([x[:2], x[2:]]), V),
    ("searchsorted", lambda x: np.array([0.0, 1.0]).searchsorted(x) * x, V),
    ("searchsorted right", lambda x: np.sort(x).searchsorted([0.5, 1.0], "right") * x[:2], V),
    ("put", changed(lambda y, v: y.put([0, -1, 2], v)), V, W),
    ("put clip", changed(lambda y, v: y.put(indices=[9], values=v[0], mode="clip")), V, W),
    ("put into zeros", lambda v: changed(lambda y: y.put([0, 3], v[:2]))(np.zeros(4)), W),
    ("fill", changed(lambda y, v: y.fill(v)), M, S),
    ("sort", changed(lambda y: y.sort(axis=0, kind="stable")), M),
    ("partition", lambda x: changed(lambda y: y.partition(1))(x)[1], V),
    ("partition rows", lambda x: changed(lambda y: y.partition(kth=1, axis=-1))(x)[:, 1], M),
    ("resize", changed(lambda y: y.resize((2, 2), refcheck=False)), V),
    ("resize spread out", changed(lambda y: y.resize(3, 1, refcheck=False)), V),
    ("resize to more", changed(lambda y: y.resize(6, refcheck=False)), V),
    ("tolist", lambda x: [[b * b for b in row] for row in x.tolist()], M),
    ("tolist of a number", lambda x: x.tolist() * 2, S),
    ("tolist and back", lambda x: np.array(x.tolist()) * 2, M),
    ("item of an element", lambda x: x[1].item() * 2, V),
    ("view", lambda x: x.view(), V),
    ("view of a class", lambda x: x.view(np.ndarray), V),
    ("view as it is", lambda x: x.view(dtype=np.float64), V),
    ("view as complex", lambda x: x.view(complex), V),
    ("view as real", lambda x: x.view(float), Z),
    ("view written into", changed(lambda y, v: y.view().fill(v)), V, S),
    ("getfield", lambda x: x.getfield(float), V),
    ("getfield real", lambda x: x.getfield(float), Z),
    ("getfield imaginary", lambda x: x.getfield(float, 8), Z),
    ("setfield", changed(lambda y, v: y.setfield(v, float)), V, S),
    ("setfield imaginary", changed(lambda y, v: y.setfield(v, float, 8)), Z, W),
    ("real =", set_attribute("real"), Z, W),
    ("imag =", set_attribute("imag"), Z, W),
    ("real = of real", set_attribute("real"), V, W[:1]),
    ("real of zeros =", lambda v: set_attribute("real")(np.zeros(3, complex), v), W),
    ("shape =", changed(lambda y: setattr(y, "shape", (3, 2))), M),
    ("shape = -1", changed(lambda y: setattr(y, "shape", -1)), M),
    ("flat =", set_attribute("flat"), M, W),
    ("flat of zeros =", lambda v: set_attribute("flat")(np.zeros((2, 2)), v), V),
    ("base", lambda x: x if x.base is None else x.base * 2, V),
    ("base of a view", lambda x: (x * 2)[1:].base, V),
    ("to_device", lambda x: x.to_device("cpu"), V),
    ("__array_wrap__", lambda x: x.__array_wrap__(x * 2), V),
    ("__array_namespace__", lambda x: x.__array_namespace__().sin(x), V),
    ("unbound", lambda x: np.ndarray.sum(x, 0), M),
    ("dot", lambda x, y: x.dot(y), M, W),
    ("dot of a plain array", lambda y: M.dot(y), W),
    ("trace", lambda x: x.trace(1), SQUARE),
    ("max where", lambda x: x.max(axis=1, where=M < 2, initial=-9.0), M),
]
# fmt: on


@pytest.mark.parametrize("f, xs", [(r[1], r[2:]) for r in METHODS], ids=[r[0] for r in METHODS])
def test_method(f, xs, check_modes):
    check_modes(f, *xs)


@pytest.mark.parametrize("name", ["byteswap", "dumps", "tobytes"])
def test_what_would_lose_the_values_is_refused(name):
    with pytest.raises(autodiff.LostValueError, match=rf"x\.{name}\(\) would turn a traced"):
        autodiff.gradient(lambda x: np.sum(x) + len(getattr(x, name)()), V)


@pytest.mark.parametrize(
    "f, match",
    [
        (lambda x: x.view(np.int64), r"x\.view\(int64\) reads the bits .* as something else"),
        (lambda x: x.view(np.float32), r"x\.view\(float32\) reads the bits"),
        (lambda x: x.getfield(np.int32), r"x\.getfield\(int32\) reads the bits"),
    ],
)
def test_bits_read_as_something_else_have_no_derivative(f, match):
    with pytest.raises(autodiff.DifferentiationError, match=match):
        autodiff.gradient(lambda x: np.sum(f(x)), V)


@pytest.mark.parametrize(
    "change, match",
    [
        (lambda y: setattr(y, "dtype", np.int64), r"x\.dtype of a traced array is set"),
        (lambda y: setattr(y, "strides", (0,)), r"x\.strides of a traced array is set"),
        (lambda y: y[:2].resize((2, 2)), "shares its memory with another"),
        (lambda y: y.view(complex).fill(1.0), "in a way that is not followed"),
    ],
)
def test_changes_that_are_not_followed(change, match):
    with pytest.raises(autodiff.MutationError, match=match):
        autodiff.gradient(lambda x: np.sum(changed(change)(x)), V)


@pytest.mark.parametrize(
    "make",
    [
        lambda y: (y, y[:2]),  # it has a view
        lambda y: (y[1:3], y),  # it is one
        lambda y: (y[:2], y[1:]),
    ],
)
def test_the_shape_of_an_array_that_shares_its_memory_is_set(make):
    def f(x):
        y = x * 1.0
        reshaped, other = make(y)
        reshaped.shape = (-1, 1)
        reshaped[1] = 3.0 * x[0] ** 2
        other[1] *= x[1]
        return np.sum(reshaped**2) + np.sum(np.sin(other)) + np.sum(y**3)

    value, slope = autodiff.value_and_gradient(f, V)
    np.testing.assert_allclose(value, f(V))
    np.testing.assert_allclose(slope, differences(f, V), rtol=1e-6)
    np.testing.assert_allclose(autodiff.pushforward(f, V)[1](np.ones_like(V)), slope.sum())


def test_errors_are_those_of_numpy():
    with pytest.raises(TypeError, match="array does not have imaginary part to set"):
        autodiff.gradient(lambda x: np.sum(set_attribute("imag")(x, 1.0)), V)
    with pytest.raises(ValueError, match="cannot reshape array of size 4"):
        autodiff.gradient(lambda x: changed(lambda y: setattr(y, "shape", (3, 2)))(x)[0, 0], V)
    assert autodiff.gradient(lambda x: x * hasattr(x, "flat"), 2.0) == 0.0


@pytest.mark.parametrize("kind", [Tracer, FloatTracer])
def test_attributes_survive_code_that_asks_while_an_exception_is_pending(kind):
    """C code did so in one run of all tests: then traced floats had no attributes any more."""
    assert "__getattr__" in vars(kind)

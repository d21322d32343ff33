"""to_jax: by JAX's own checker on the table, under each transformation, and what it refuses."""

import threading

import numpy as np
import pytest
import scipy

import autodiff
from autodiff.errors import ArgumentError, OutputError
from tests.autodiff.interop.functions import FUNCTIONS

X = np.array([0.5, 2.0, 1.3])
Y = np.array([1.0, 0.3, 2.0])
A = np.array([[2.0, 0.3], [-0.4, 1.5]])


@pytest.fixture
def to_jax(jax):
    from autodiff.interop import to_jax

    return to_jax


@pytest.fixture
def gammainc(to_jax):
    return to_jax(scipy.special.gammainc)


def in_jax(jax, to_jax, entry):
    """Return a function of the table in JAX, and its arguments."""
    y = np.asarray(entry.function(*entry.arguments))
    f = to_jax(entry.function, out=jax.ShapeDtypeStruct(y.shape, y.dtype))
    return f, tuple(map(jax.numpy.asarray, entry.arguments))


def assert_equal(found, expected, rtol=1e-9):
    np.testing.assert_allclose(found, expected, rtol=rtol, atol=1e-12)


# ---------------------------------------------------------------------------------------- the table


# Second order in both modes compiles some twenty programs for each function: every other one.
@pytest.mark.parametrize("entry", FUNCTIONS[::2], ids=lambda entry: entry.name)
def test_second_order_compiled(jax, to_jax, entry):
    from jax.test_util import check_grads

    f, args = in_jax(jax, to_jax, entry)
    check_grads(jax.jit(f), args, order=2, atol=1e-4, rtol=1e-4)


@pytest.mark.parametrize("entry", FUNCTIONS[1::2], ids=lambda entry: entry.name)
def test_gradients_of_a_batch(jax, to_jax, entry):
    f, args = in_jax(jax, to_jax, entry)
    places = tuple(range(len(args)))
    gradient = jax.grad(lambda *args: jax.numpy.sum(f(*args)), argnums=places)
    batch = [jax.numpy.stack([a, a * 1.01]) for a in args]
    found = jax.jit(jax.vmap(gradient))(*batch)
    for row in range(2):
        given = [np.asarray(a[row]) for a in batch]
        expected = autodiff.gradient(
            lambda *args: np.sum(entry.function(*args)), *given, argnums=places
        )
        for bars, bar in zip(found, expected, strict=True):
            assert_equal(bars[row], bar)


# ---------------------------------------------------------------------------------- transformations


def test_first_and_second_order(jax, gammainc):
    total = lambda a, x: gammainc(a, x).sum()  # noqa: E731
    expected = autodiff.gradient(lambda a, x: np.sum(scipy.special.gammainc(a, x)), X, Y)
    curvature = autodiff.hessian(lambda a: np.sum(scipy.special.gammainc(a, Y)), X)
    for wrap in (lambda f: f, jax.jit):
        for found, bar in zip(wrap(jax.grad(total, (0, 1)))(X, Y), expected, strict=True):
            assert_equal(found, bar)
        assert_equal(wrap(jax.hessian(total))(X, Y), curvature)
        assert_equal(wrap(jax.jacrev(jax.jacrev(total)))(X, Y), curvature)
        assert_equal(wrap(jax.jacfwd(gammainc))(X, Y), np.diag(expected[0]))
        assert_equal(wrap(lambda a: jax.jvp(lambda a: total(a, Y), (a,), (X,))[1])(X),
                     expected[0] @ X)  # fmt: skip


def test_third_order(jax, to_jax):
    f = to_jax(np.tanh)
    found = jax.jit(jax.grad(jax.grad(jax.grad(f))))(0.3)
    y = np.tanh(0.3)
    assert_equal(found, (1 - y * y) * (6 * y * y - 2))


@pytest.mark.parametrize("is_compiled", [False, True])
def test_batches(jax, gammainc, is_compiled):
    wrap = jax.jit if is_compiled else lambda f: f
    slope = jax.grad(gammainc)
    expected = [[jax.grad(gammainc)(a, x) for a in X] for x in Y]
    found = wrap(jax.vmap(jax.vmap(slope, (0, None)), (None, 0)))(X, Y)
    assert_equal(found, expected)
    # An argument that all rows share gets the sum of their cotangents.
    total = lambda a, x: jax.vmap(gammainc, (None, 0))(a, x).sum()  # noqa: E731
    assert_equal(wrap(jax.grad(total))(0.5, Y), sum(jax.grad(gammainc)(0.5, x) for x in Y))
    along_1 = jax.vmap(lambda a, x: gammainc(a, x), (1, None), 1)
    assert_equal(wrap(along_1)(A**2, X[:2]), gammainc(A**2, X[:2, None]))


def test_loops_and_checkpoints(jax, gammainc):
    def looped(a):
        step = lambda c, x: (gammainc(c, x) + a, c.sum())  # noqa: E731
        return jax.lax.scan(step, a, jax.numpy.stack([Y, Y]))[0].sum()

    def plain(a):
        return (gammainc(gammainc(a, Y) + a, Y) + a).sum()

    expected = jax.grad(plain)(X)
    assert_equal(jax.jit(jax.grad(looped))(X), expected)
    assert_equal(jax.grad(jax.checkpoint(plain))(X), expected)
    assert_equal(jax.jit(jax.grad(jax.checkpoint(plain)))(X), expected)


def test_shard_map(jax, gammainc):
    mesh = jax.sharding.Mesh(np.array(jax.devices()[:1]), ("i",))
    spec = jax.sharding.PartitionSpec("i")
    f = jax.shard_map(gammainc, mesh=mesh, in_specs=(spec, spec), out_specs=spec, check_vma=False)
    assert_equal(jax.jit(f)(X, Y), scipy.special.gammainc(X, Y))


def test_transposes_of_transposes(jax, gammainc):
    a, x = map(jax.numpy.asarray, (X, Y))
    pushed = lambda t: jax.jvp(lambda a: gammainc(a, x), (a,), (t,))[1]  # noqa: E731
    pulled = lambda t: jax.linear_transpose(pushed, a)(t)[0]  # noqa: E731
    assert_equal(jax.linear_transpose(pulled, a)(a)[0], pushed(a))


def test_complex(jax, to_jax):
    from jax.test_util import check_grads

    f = to_jax(lambda z: np.abs(np.linalg.inv(z)) ** 2 + (z * z).imag, example=(np.eye(2),))
    z = jax.numpy.asarray(A + 1j * A.T)
    check_grads(f, (z,), order=2)
    check_grads(jax.jit(f), (z,), order=2)


def test_nested_arguments_and_results(jax, to_jax):
    def f(d, power, *, scale):
        return {"y": d["x"] ** power * scale, "count": 3, "pair": (d["x"].sum(), "text")}

    f_in_jax = to_jax(f)
    found = f_in_jax({"x": jax.numpy.asarray(X), "n": "name"}, 2, scale=0.5)
    assert (found["count"], found["pair"][1]) == (3, "text")
    assert_equal(found["y"], X**2 / 2)
    slope = jax.grad(lambda x: f_in_jax({"x": x}, 2, scale=0.5)["y"].sum())
    assert_equal(slope(X), X)


def test_integers_have_no_derivative(jax, to_jax):
    f = to_jax(lambda x, k: (x[k], np.argmax(x)), out=lambda x, k: (
        jax.ShapeDtypeStruct(k.shape, float), jax.ShapeDtypeStruct((), int)))  # fmt: skip
    k = jax.numpy.array([2, 0, 0])
    for wrap in (lambda f: f, jax.jit):
        assert_equal(wrap(jax.grad(lambda x: f(x, k)[0].sum()))(X), [2.0, 0.0, 1.0])
        assert wrap(f)(X, k)[1] == 1


# ------------------------------------------------------------------------ precision, copies, memory


def test_single_precision(jax32):
    from autodiff.interop import to_jax

    f = to_jax(lambda x: np.linspace(0.0, 1.0, 3) * np.sum(x) ** 2, example=(np.ones(3),))
    x = jax32.numpy.asarray(X)
    for wrap in (lambda f: f, jax32.jit):
        y = wrap(f)(x)
        bar = wrap(jax32.grad(lambda x: f(x).sum()))(x)
        assert (y.dtype, bar.dtype) == (np.float32, np.float32)
        assert_equal(bar, np.full(3, 3 * X.sum()), 1e-5)


def test_function_may_write_into_its_arguments(jax, to_jax):
    def f(x, y):
        y += x
        x[0] = 0.0
        return x * y

    f_in_jax = to_jax(f, out=lambda x, y: x)
    x, y = map(jax.numpy.asarray, (X, Y))
    large, ones = jax.numpy.ones(20_000), jax.numpy.ones(20_000)
    for wrap in (lambda f: f, jax.jit):
        assert_equal(wrap(f_in_jax)(x, y), [0.0, *(X * (X + Y))[1:]])
        assert_equal(wrap(jax.vmap(f_in_jax, (0, None)))(jax.numpy.stack([x, x]), y)[1, 1:],
                     (X * (X + Y))[1:])  # fmt: skip
        assert wrap(f_in_jax)(large, ones).sum() == 2 * 19_999
    assert_equal(x, X)


def test_an_array_in_two_places_is_two_arrays(jax, to_jax):
    """Under `jit` nobody can tell whether two arguments are one array."""

    def added(y, z):
        y += z
        return y * z

    run = to_jax(added, example=(np.ones(2), np.ones(2)))
    x = jax.numpy.array([0.3, 0.7])
    for call in (run, jax.jit(run)):
        np.testing.assert_allclose(call(x, x), 2 * x * x)
        np.testing.assert_allclose(jax.grad(lambda x, call=call: call(x, x).sum())(x), 4 * x)


def test_forward_pass_is_not_run_again(jax, to_jax):
    runs = []

    def f(x):
        runs.append(1)
        return np.sin(x) * 2.0

    f_in_jax = to_jax(f, out=lambda x: x)
    total = lambda x: f_in_jax(x).sum()  # noqa: E731
    for wrap in (lambda f: f, jax.jit):
        slope = wrap(jax.grad(total))
        slope(X)
        runs.clear()
        assert_equal(slope(X), 2 * np.cos(X))
        assert len(runs) == 1


def test_forward_mode_runs_the_function_once_where_nothing_is_traced(jax, to_jax):
    runs = []

    def f(x, k):
        runs.append(1)
        return np.sin(x) * k, k + 1

    x, k = jax.numpy.asarray(X), jax.numpy.array(2)
    (y, count), (y_dot, _) = jax.jvp(
        lambda x: to_jax(f)(x, k), (x,), (x,)
    )  # fmt: skip
    assert len(runs) == 1
    assert count == 3
    assert_equal(y, 2 * np.sin(X))
    assert_equal(y_dot, 2 * X * np.cos(X))


TOTAL = lambda f: lambda a, x: f(a, x).sum()  # noqa: E731
OF_BATCHES = {
    "vmap": lambda jax, f: jax.vmap(f),
    "shared": lambda jax, f: jax.vmap(lambda a, x: jax.vmap(f, (None, 0))(a[0], x)),
    "grad": lambda jax, f: jax.vmap(jax.vmap(jax.grad(f, (0, 1)))),
    "grad of both": lambda jax, f: jax.grad(
        lambda a, x: (jax.vmap(jax.vmap(f, (0, None)), (None, 0))(a[0], x[0]) ** 2).sum(), (0, 1)
    ),
    "jacrev": lambda jax, f: jax.vmap(jax.jacrev(f, (0, 1))),
    "jacrev of one point": lambda jax, f: lambda a, x: jax.jacrev(f, (0, 1))(a[0], x[0]),
    "jacrev of a batch": lambda jax, f: lambda a, x: jax.jacrev(jax.vmap(f, (0, None)))(a, x[0]),
    "jacfwd": lambda jax, f: jax.vmap(jax.jacfwd(f, (0, 1)), (0, None), 1),
    "hessian": lambda jax, f: jax.vmap(jax.hessian(TOTAL(f), (0, 1))),
    "checkpoint": lambda jax, f: jax.vmap(jax.grad(jax.checkpoint(TOTAL(f)), (0, 1))),
}


@pytest.mark.parametrize("is_compiled", [False, True])
@pytest.mark.parametrize("name", OF_BATCHES)
def test_all_rows_of_a_ufunc_are_those_of_a_function(jax, jax_calls, to_jax, name, is_compiled):
    wrap = jax.jit if is_compiled else lambda f: f
    a, x = np.stack([X, X + 0.1]), np.stack([Y, Y * 1.3])
    if name == "jacfwd":
        x = x[0]
    rows = to_jax(lambda a, x: np.arctan2(a, x), example=(0.5, 0.5))
    before = len(jax_calls.KEPT)
    found, expected = (wrap(OF_BATCHES[name](jax, f))(a, x) for f in (to_jax(np.arctan2), rows))
    jax.tree.map(assert_equal, found, expected)
    assert len(jax_calls.KEPT) == before


def test_a_batch_of_a_ufunc_is_one_call(jax, to_jax, monkeypatch):
    from autodiff.interop.flat_call import FlatCall

    calls, run = [], FlatCall.run
    monkeypatch.setattr(FlatCall, "run", lambda call, *xs: calls.append(1) or run(call, *xs))
    x = np.linspace(0.0, 1.0, 100)
    for wrap in (lambda f: f, jax.jit):
        calls.clear()
        assert_equal(wrap(jax.vmap(jax.grad(to_jax(np.tanh))))(x), 1 - np.tanh(x) ** 2)
        assert len(calls) == 1


def test_kept_pullbacks_go(jax, jax_calls, gammainc):
    before = len(jax_calls.KEPT)
    for wrap in (lambda f: f, jax.jit):
        slope = wrap(jax.grad(lambda a: gammainc(a, Y).sum()))
        for _ in range(5):
            slope(X)
    assert len(jax_calls.KEPT) == before
    _, back = jax.vjp(gammainc, X, Y)
    assert len(jax_calls.KEPT) == before + 1
    assert_equal(back(X)[0], back(X)[0])
    del back
    assert len(jax_calls.KEPT) == before


def test_dropped_pullbacks_are_made_again(jax, jax_calls, gammainc, monkeypatch):
    monkeypatch.setattr(type(jax_calls.KEPT), "MOST", 0)
    _, back = jax.vjp(gammainc, X, Y)
    expected = autodiff.pullback(scipy.special.gammainc, X, Y)[1](X)
    for found, bar in zip(back(jax.numpy.asarray(X)), expected, strict=True):
        assert_equal(found, bar)


@pytest.mark.parametrize("calls", [2500])  # ten thousand in four threads
def test_threads(jax, to_jax, calls):
    solve = to_jax(np.linalg.solve, out=lambda a, b: b)
    slope = jax.jit(jax.grad(lambda a, b: (solve(a, b) ** 2).sum()))
    expected = slope(A, X[:2])
    failures = []

    def work():
        for k in range(calls):
            run = slope if k % 10 else jax.vmap(slope, (None, 0))
            given = X[:2] if k % 10 else jax.numpy.stack([X[:2]] * 2)
            if not np.allclose(run(A, given), expected):
                failures.append(k)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(300)
    assert not any(thread.is_alive() for thread in threads)
    assert failures == []


# ------------------------------------------------------------------------------- shapes of results


def test_shapes_by_rule_by_declaration_by_example(jax, to_jax):
    struct = jax.ShapeDtypeStruct
    double = lambda x: 2 * x  # noqa: E731
    for f in (
        to_jax(np.sin), to_jax(double, out=struct((3,), float)), to_jax(double, out=X),
        to_jax(double, out=lambda x: x), to_jax(double, example=(1.0,)),
        to_jax(double, example=(Y,)),
    ):  # fmt: skip
        assert jax.eval_shape(f, X).shape == (3,)
        assert_equal(jax.jit(f)(X), f(X))
    assert jax.eval_shape(to_jax(np.hypot), X, A[:, :1]).shape == (2, 3)
    # JAX sorts the keys of dicts.
    f = to_jax(lambda d: {"b": d["x"] * 2, "a": d["p"][0]}, example=({"x": X, "p": (1.0, 2)},))
    found = jax.jit(f)({"x": X, "p": (jax.numpy.float64(3.0), 2)})
    assert_equal(found["b"], 2 * X)
    assert found["a"] == 3.0
    twice = struct((3,), float)
    found = jax.jit(to_jax(lambda x: (x, x * 2), out=(twice, twice)))(X)
    assert_equal(found[1], 2 * X)


def test_shapes_that_rules_tell(jax, to_jax):
    for f, args in (
        (np.sum, (A, 0)), (np.mean, (A,)), (np.cumsum, (X,)), (np.diff, (X,)), (np.ravel, (A,)),
        (np.max, (A, 1)), (np.concatenate, ([X, Y],)), (np.stack, ((X, Y), -1)),
        (np.split, (A, 2)), (np.reshape, (A, (4,))), (np.quantile, (X, 0.3)),
    ):  # fmt: skip
        numbers = args[1:]
        f_in_jax = to_jax(f)
        run = lambda x, f=f_in_jax, numbers=numbers: f(x, *numbers)  # noqa: E731
        found, expected = jax.jit(run)(args[0]), f(*args)
        assert type(found) is (list if isinstance(expected, list) else type(found))
        for a, b in zip(jax.tree.leaves(found), jax.tree.leaves(expected), strict=True):
            assert_equal(a, b)
        loss = lambda x, run=run: sum((y**2).sum() for y in jax.tree.leaves(run(x)))  # noqa: E731
        slopes = jax.tree.leaves(jax.jit(jax.grad(loss))(args[0]))
        for a, b in zip(slopes, jax.tree.leaves(jax.grad(loss)(args[0])), strict=True):
            assert_equal(a, b)


def refused(jax, f, *args):
    with pytest.raises(Exception) as caught:  # JAX wraps what a callback raises  # noqa: PT011
        jax.block_until_ready(jax.jit(f)(*args))
    return str(caught.value)


def test_shapes_that_are_not_known(jax, to_jax):
    with pytest.raises(OutputError, match="Give them, to_jax"):
        jax.jit(to_jax(lambda x: x[1:]))(X)
    with pytest.raises(OutputError, match="has a number in it"):
        jax.jit(to_jax(np.sum, out=1.0))(X)
    with pytest.raises(OutputError, match="that can be broadcast to it"):
        jax.jit(to_jax(lambda x: x, example=(np.ones(2),)))(X)
    with pytest.raises(OutputError, match="does not have the structure"):
        jax.jit(to_jax(lambda x, y: x, example=(1.0,)))(X, Y)


def test_results_that_differ_from_what_is_known(jax, to_jax):
    text = refused(jax, to_jax(lambda x: x[1:], out=lambda x: x), X)
    assert "has returned float64[2] where JAX expects float64[3]" in text
    f = to_jax(lambda x: (x, int(x[0] > 1)), example=(0.0,))
    assert "another structure, or with other values" in refused(jax, f, Y + 1)
    assert "no array twice" in refused(jax, to_jax(lambda x: (x, x), out=lambda x: (x, x)), X)


def test_bad_input(jax, to_jax):
    with pytest.raises(ArgumentError, match="to_jax takes a function, not float"):
        to_jax(1.0)
    with pytest.raises(ArgumentError, match="bfloat16"):
        to_jax(np.sin)(jax.numpy.ones(2, jax.numpy.bfloat16))

"""What a newcomer meets: names, arguments, errors and tracebacks of the public functions."""

from __future__ import annotations

import functools
import inspect
import traceback
import types
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.optimize

import autodiff
from autodiff import (
    ArgumentError,
    derivative,
    diag_hessian,
    full_tracebacks,
    grad,
    gradient,
    hessian,
    hvp,
    jacfwd,
    jacobian,
    jacrev,
    jvp,
    pullback,
    pushforward,
    value_and_grad,
    value_and_gradient,
    vhp,
)

RNG = np.random.default_rng(0)
X, Y = RNG.normal(size=(20, 3)), RNG.normal(size=20)
W, V = np.array([0.1, 0.2, -0.3]), RNG.normal(size=3)


def loss(w: Any, x: Any, y: Any) -> Any:
    return np.sum((np.tanh(x @ w) - y) ** 2)


def test_names_are_the_api() -> None:
    scope: dict[str, Any] = {}
    exec("from autodiff import *", scope)
    assert "compile" not in scope
    for name in dir(autodiff):
        assert not isinstance(getattr(autodiff, name), types.ModuleType), name
    assert {"gradient", "hvp", "compile", "full_tracebacks", "__version__"} <= set(dir(autodiff))


@pytest.mark.parametrize(
    "name", [n for n in dir(autodiff) if inspect.isfunction(getattr(autodiff, n))]
)
def test_our_parameters_do_not_take_the_users_names(name: str) -> None:
    parameters = inspect.signature(getattr(autodiff, name)).parameters.values()
    if any(p.kind is p.VAR_KEYWORD for p in parameters):
        assert not any(p.kind is p.POSITIONAL_OR_KEYWORD for p in parameters)


def named(
    x: Any, *, f: float = 1.0, v: float = 1.0, args: float = 1.0, primals: float = 1.0
) -> Any:
    return np.sum(x**3) * f * v * args * primals


@pytest.mark.parametrize(
    "take",
    [
        lambda **k: gradient(named, W, **k),
        lambda **k: value_and_gradient(named, W, **k)[1],
        lambda **k: pullback(named, W, **k)[1](1.0),
        lambda **k: pushforward(named, W, **k)[1](V),
        lambda **k: jacobian(named, W, **k),
        lambda **k: hessian(named, W, **k),
        lambda **k: hvp(named, W, V, **k),
        lambda **k: vhp(named, W, V, **k),
        lambda **k: diag_hessian(named, W, **k),
        lambda **k: grad(named)(W, **k),
        lambda **k: value_and_grad(named)(W, **k)[1],
        lambda **k: jacfwd(named)(W, **k),
        lambda **k: jacrev(named)(W, **k),
        lambda **k: derivative(named, 2.0, **k),
    ],
)
def test_keywords_go_to_the_function(take: Callable) -> None:
    times_24 = take(f=2.0, v=3.0, args=2.0, primals=2.0)
    np.testing.assert_allclose(times_24, 24.0 * np.asarray(take()))


def with_options(x: Any, mode: str = "sum", fallback: float = 1.0) -> Any:
    return np.sum(x * x) * fallback if mode == "sum" else np.mean(x)


def test_keywords_with_names_of_options() -> None:
    np.testing.assert_allclose(grad(with_options)(W, mode="sum", fallback=2.0), 4.0 * W)
    np.testing.assert_allclose(jacrev(with_options)(W, mode="mean"), np.full(3, 1 / 3))
    np.testing.assert_allclose(value_and_grad(with_options)(W, fallback=3.0)[1], 6.0 * W)
    with pytest.raises(ArgumentError, match="mode is one of"):
        jacobian(with_options, W, mode="sum")
    np.testing.assert_allclose(jacobian(functools.partial(with_options, mode="mean"), W), 1 / 3)


def test_products_with_a_hessian_take_further_arguments() -> None:
    whole = hessian(loss, W, X, Y, argnums=0)
    np.testing.assert_allclose(hvp(loss, W, V, X, Y), whole @ V)
    np.testing.assert_allclose(vhp(loss, W, V, X, Y), whole @ V)
    np.testing.assert_allclose(diag_hessian(loss, W, X, Y), np.diag(whole))
    np.testing.assert_allclose(hvp(loss, W, Y, X, Y, argnums=2), 2.0 * Y)
    np.testing.assert_allclose(diag_hessian(loss, W, X, Y, argnums=-1), np.full(20, 2.0))
    forward = hvp(loss, W, (V, Y), X, Y, argnums=(0, 2))
    reverse = vhp(loss, W, (V, Y), X, Y, argnums=(0, 2))
    for a, b in zip(forward, reverse, strict=True):
        np.testing.assert_allclose(a, b)
    cross = hessian(loss, W, X, Y, argnums=(0, 2))[0][1]
    np.testing.assert_allclose(forward[0], whole @ V + cross @ Y)


def test_scipy_takes_them() -> None:
    found = scipy.optimize.minimize(
        loss, W, args=(X, Y), jac=grad(loss), hessp=functools.partial(hvp, loss), method="trust-ncg"
    )
    np.testing.assert_allclose(gradient(loss, found.x, X, Y, argnums=0), 0.0, atol=1e-4)
    both = scipy.optimize.minimize(
        functools.partial(value_and_gradient, loss, argnums=0), W, args=(X, Y), jac=True
    )
    np.testing.assert_allclose(both.x, found.x, atol=1e-4)


def test_a_derivative_by_another_argument() -> None:
    assert derivative(lambda a, b: a * b**2, 2.0, 3.0) == 9.0
    assert derivative(lambda a, b: a * b**2, 2.0, 3.0, argnums=1) == 12.0
    with pytest.raises(ArgumentError, match="one real number, not ndarray"):
        derivative(loss, 1.0, X, Y, argnums=1)


def test_a_second_output_is_passed_through() -> None:
    assert gradient(lambda x: (x * x, x), 3.0, has_aux=True) == (6.0, 3.0)
    slopes, aux = gradient(lambda a, b: (a * b, "seen"), 2.0, 3.0, has_aux=True)
    assert (slopes, aux) == ((3.0, 2.0), "seen")


@pytest.mark.parametrize("take", [gradient, value_and_gradient, pullback, pushforward, jacobian])
@pytest.mark.parametrize("typo", ["argnum", "arg_nums", "has_au", "fallbak"])
def test_a_typo_in_an_option(take: Callable, typo: str) -> None:
    with pytest.raises(ArgumentError, match=f"{typo}= is no option .* Did you mean"):
        take(lambda x: np.sum(x), W, **{typo: 0})


def test_a_keyword_that_looks_like_an_option_and_is_none() -> None:
    def f(x: Any, argnum: float = 1.0) -> Any:
        return x * argnum

    assert gradient(f, 2.0, argnum=3.0) == 3.0
    assert gradient(lambda x, **rest: x * rest["modes"], 2.0, modes=3.0) == 3.0


@pytest.mark.parametrize("primals, tangents", [(1.0, (1.0,)), ((1.0,), 1.0), (W, W)])
def test_jvp_takes_tuples(primals: Any, tangents: Any) -> None:
    with pytest.raises(ArgumentError, match=r"as a tuple.*jvp\(f, \(x,\), \(x_dot,\)\)"):
        jvp(np.sin, primals, tangents)


def failing(x: Any) -> Any:
    y = np.sin(x)
    return inner_failing(y)


def inner_failing(y: Any) -> Any:
    return np.linalg.solve(np.zeros((3, 3)), y).sum()


TAKES = {
    "gradient": lambda: gradient(failing, W),
    "pullback": lambda: pullback(failing, W),
    "pushforward": lambda: pushforward(failing, W),
    "jacobian": lambda: jacobian(failing, W),
    "hvp": lambda: hvp(failing, W, V),
    "jvp": lambda: jvp(failing, (W,), (V,)),
    "grad": lambda: grad(failing)(W),
    "explain": lambda: autodiff.explain(failing, W),
}


def lines_of(take: Callable) -> list[traceback.FrameSummary]:
    with pytest.raises(np.linalg.LinAlgError) as caught:
        take()
    return list(traceback.extract_tb(caught.value.__traceback__))


@pytest.mark.parametrize("take", TAKES.values(), ids=TAKES)
def test_tracebacks_show_the_users_code(take: Callable) -> None:
    lines = lines_of(take)
    names = [line.name for line in lines]
    assert names.index("failing") < names.index("inner_failing")
    engine = str(Path(autodiff.__file__).parent)
    assert 1 <= sum(line.filename.startswith(engine) for line in lines) <= 2


def test_whole_tracebacks_on_demand() -> None:
    before = full_tracebacks(True)
    try:
        whole = lines_of(TAKES["gradient"])
    finally:
        full_tracebacks(before)
    assert len(whole) > 2 * len(lines_of(TAKES["gradient"]))


def test_a_list_of_whole_numbers_is_told_from_one_of_floats():
    with pytest.raises(ArgumentError, match=r"write 1\.0 for 1"):
        gradient(lambda x: x[0] * x[1], [1, 2])

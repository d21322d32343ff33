"""Compiled numerical code never meets a traced value: it is refused before anything is called."""

from __future__ import annotations

import ctypes
import functools
from typing import Any

import numpy as np
import pytest
from scipy import integrate, ndimage, optimize
from scipy.integrate import _quadpack
from scipy.optimize import _minpack, _zeros
from scipy.sparse import linalg as sparse_linalg

from autodiff import DifferentiationError, LostValueError, gradient, numeric_fallback
from chainrules_core import ChainRulesError
from tests.helpers import run_python
from tools.fuzz.generators import callbacks
from tools.fuzz.judge import judge

SHARED: dict[str, Any] = {}

# A later solver has the memory that an earlier one has left in disorder.
IN_ORDER = """
import numpy as np
from scipy import integrate
from autodiff import gradient
from chainrules_core import ChainRulesError

def solver(f, name):
    return integrate.ode(f).set_integrator(name)

def from_x(x):
    return solver(lambda t, u: -u, NAME).set_initial_value([x], 0.0).integrate(1.0)[0]

def to_x(x):
    return solver(lambda t, u: -u, NAME).set_initial_value([1.0], 0.0).integrate(x)[0]

def of_x(x):
    s = solver(lambda t, u, k: -k * u, NAME).set_initial_value([1.0], 0.0)
    return s.set_f_params(x).integrate(1.0)[0]

def state(x):
    s = solver(lambda t, u: -u, NAME).set_initial_value([1.0], 0.0)
    s._y = np.array([x])
    return s.integrate(1.0)[0]

def function(x):
    s = solver(lambda t, u: -u, NAME).set_initial_value([1.0], 0.0)
    s.f = lambda t, u: -x * u
    return s.integrate(1.0)[0]

def captured(x):
    return solver(lambda t, u: -x * u, NAME).set_initial_value([1.0], 0.0).integrate(1.0)[0]

for NAME in ("lsoda", "vode", "dopri5", "dop853"):
    for f in (from_x, to_x, of_x, state, function, captured):
        try:
            found = gradient(f, 0.7)
            expected = np.exp(-1.0) if f in (from_x, state) else -np.exp(-0.7)
            assert abs(found - expected) < 1e-5
        except ChainRulesError:
            pass
        for name in ("vode", "dopri5", "dop853", "lsoda"):
            s = solver(lambda t, u: -u, name).set_initial_value([1.0], 0.0)
            assert abs(s.integrate(1.0)[0] - np.exp(-1.0)) < 1e-4
print("in order")
"""


def test_scipy_works_after_an_integrator_was_differentiated_or_refused(tmp_path):
    file = tmp_path / "solvers.py"
    file.write_text(IN_ORDER, encoding="utf-8")
    assert run_python(file).stdout.strip() == "in order"


class Held:
    def __init__(self, k: Any) -> None:
        self.k = k

    def __call__(self, t: Any) -> Any:
        return self.k * t - 1.0

    value = __call__


def holding(k: Any) -> dict[str, Any]:
    """Functions of t that hold k in each way, k t - 1."""
    inner = lambda t: k * t  # noqa: E731
    box = [k]
    return {
        "closure": lambda t: k * t - 1.0,
        "nested": lambda t: inner(t) - 1.0,
        "default": lambda t, k=k: k * t - 1.0,
        "list": lambda t: box[0] * t - 1.0,
        "partial": functools.partial(lambda k, t: k * t - 1.0, k),
        "method": Held(k).value,
        "instance": Held(k),
    }


DIRECT = {
    "quadpack": lambda g: _quadpack._qagse(g, 0.0, 1.0, (), 0, 1e-10, 1e-10, 50)[0],
    "zeros": lambda g: _zeros._brentq(g, -2.0, 3.0, 1e-12, 1e-12, 100, (), False, True),
    "minpack": lambda g: _minpack._hybrd(
        lambda t: g(t), np.array([0.5]), (), 1, 1e-10, 0, -10, -10, 0.0, 100.0, None
    )[0][0],
}


@pytest.mark.parametrize("way", holding(1.0))
@pytest.mark.parametrize("routine", DIRECT)
def test_a_routine_without_a_rule_is_not_called(routine, way):
    called = []

    def f(k: Any) -> Any:
        held = holding(k)[way]
        called.clear()
        if routine == "minpack":
            return DIRECT[routine](held)
        return DIRECT[routine](held)

    with pytest.raises(DifferentiationError):
        gradient(f, 0.7)
    assert np.isfinite(f(0.7))


def of_global(t: Any) -> Any:
    return SHARED["k"] * t - 1.0


BY_GLOBAL = {
    "ridder": lambda: optimize.ridder(of_global, -2.0, 3.0),
    "brentq": lambda: optimize.brentq(of_global, -2.0, 3.0),
    "generic_filter": lambda: np.sum(
        ndimage.generic_filter(np.arange(5.0), lambda w: of_global(w[0]), 3)
    ),
    "quad": lambda: integrate.quad(of_global, 0.0, 1.0)[0],
}


@pytest.mark.parametrize("call", BY_GLOBAL)
def test_a_value_out_of_a_global_is_an_error_of_ours(call):
    def f(k: Any) -> Any:
        SHARED["k"] = k
        return BY_GLOBAL[call]()

    with pytest.raises(ChainRulesError):
        gradient(f, 0.7)
    assert np.isfinite(f(0.7))


def test_a_function_pointer_holds_no_traced_value():
    kind = ctypes.CFUNCTYPE(ctypes.c_double, ctypes.c_double)

    def f(x: Any) -> Any:
        return kind(lambda t: x * t)(0.5)

    with pytest.raises(LostValueError, match="compiled code calls"):
        gradient(f, 0.7)
    assert gradient(lambda x: kind(lambda t: 2.0 * t)(0.5) * x, 0.7) == 1.0


def test_the_numeric_fallback_comes_before_the_call():
    with numeric_fallback():
        found = gradient(lambda k: DIRECT["quadpack"](lambda t: np.exp(-k * t)), 0.7)
    steps = [DIRECT["quadpack"](lambda t, k=k: np.exp(-k * t)) for k in (0.7 - 1e-5, 0.7 + 1e-5)]
    assert found == pytest.approx((steps[1] - steps[0]) / 2e-5, rel=1e-6)


def test_compiled_functions_take_arrays_made_inside():
    numba = pytest.importorskip("numba")

    @numba.njit
    def fill(out, v):
        out[:] = v
        return out.sum()

    def f(x: Any) -> Any:
        out = np.zeros(3)
        total = fill(out, 2.0)
        return x * np.sum(out) + total * x

    assert gradient(f, 3.0) == 12.0


def test_a_sum_with_the_identity_is_an_operator():
    def f(x: Any) -> Any:
        a = sparse_linalg.aslinearoperator(x * np.eye(2)) - sparse_linalg.aslinearoperator(
            sparse_linalg.LinearOperator((2, 2), matvec=lambda v: 0.5 * v)
        )
        return np.sum(sparse_linalg.expm_multiply(a, np.ones(2), traceA=0.2))

    assert gradient(f, 0.3) == pytest.approx(2 * np.exp(-0.2), rel=1e-6)


MADE: dict[str, Any] = {
    "of a shape": lambda x: filled(np.ndarray((3,)), x),
    "of a number": lambda x: filled(np.ndarray(3, np.float64), x),
    "by name": lambda x: filled(np.ndarray(shape=(3,), dtype=float, order="F"), x),
}


def filled(a: Any, x: Any) -> Any:
    a.fill(0.0)
    a.__setitem__(0, x)
    a[1:] = x * x
    return np.sum(a)


@pytest.mark.parametrize("make", MADE)
def test_an_array_made_by_its_class(make):
    assert gradient(MADE[make], 3.0) == 13.0
    assert gradient(lambda x: x * np.sum(np.ndarray((2,), float, np.ones(2))), 3.0) == 2.0


def test_memory_of_an_array_made_inside_is_not_read_past_a_write():
    def by_buffer(x: Any) -> Any:
        a = np.zeros(3)
        view = np.ndarray((3,), buffer=a)
        a[0] = x
        return np.sum(view)

    def by_memoryview(x: Any) -> Any:
        a = np.zeros(3)
        view = memoryview(a)
        a[0] = x
        return view[0] + 0.0 * x

    for f in (by_buffer, by_memoryview):
        with pytest.raises(ChainRulesError):
            gradient(f, 3.0)


@pytest.mark.parametrize("seed", range(24))
def test_generated_callbacks(seed):
    outcomes = judge(callbacks.write(seed), seed)
    assert [o for o in outcomes if o.kind == "wrong" or "SystemError" in o.detail] == []

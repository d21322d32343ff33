"""Second order: an engine's gradient of a gradient is compared with differences of the gradient."""

from collections import namedtuple

import numpy as np
import pytest

from chainrules_core import NoTangent, Tangent, rrule, unthunk_deep
from chainrules_core.testing import RuleCheckError, check_rrule, vjp_fd

Pair = namedtuple("Pair", "a b")
X = np.array([0.5, -1.5, 2.0])


def gradient(f, *args):
    """An engine of sorts: finite differences."""
    bars = vjp_fd(f, args, 1.0)
    return bars[0] if len(args) == 1 else bars


def cube_rrule(f, *args):
    return args[0] ** 3, lambda v: (NoTangent(), 3 * args[0] ** 2 * unthunk_deep(v))


def cube(x):
    return x**3


LOOSE = {"rtol": 1e-3, "atol": 1e-3}


def test_passes():
    check_rrule(cube, X, rrule_f=cube_rrule, second_order=True, gradient=gradient, **LOOSE)
    check_rrule(cube, 2.0, rrule_f=cube_rrule, second_order=True, gradient=gradient, **LOOSE)
    z = np.array([1.0 + 2.0j, 0.5 - 1.0j])
    conj = lambda f, z: (z**3, lambda v: (NoTangent(), 3 * z.conj() ** 2 * unthunk_deep(v)))  # noqa: E731
    check_rrule(cube, z, rrule_f=conj, second_order=True, gradient=gradient, **LOOSE)


def test_structures():
    def f(p, n):
        return {"s": p.a * p.b[0], "t": Pair(p.b[1] * n, n)}

    def rule(f, p, n):
        def pullback(v):
            v = unthunk_deep(v)
            s, t = np.sum(1.0 * v["s"]), 1.0 * v["t"][0] if isinstance(v["t"], Tangent) else 0.0
            return (
                NoTangent(),
                Tangent[Pair](a=s * p.b[0], b=Tangent[list](s * p.a, t * n)),
                NoTangent(),
            )

        return f(p, n), pullback

    args = (Pair(2.0, [3.0, 4.0]), 2)
    check_rrule(f, *args, rrule_f=rule, second_order=True, gradient=gradient, **LOOSE)


def test_wrong_second_derivative():
    calls = []

    def wrong(f, *args):
        calls.append(f)
        found = gradient(f, *args)
        return -found if "second" in f.__name__ else found

    with pytest.raises(RuleCheckError, match="the second derivative differs"):
        check_rrule(cube, X, rrule_f=cube_rrule, second_order=True, gradient=wrong, **LOOSE)
    assert calls


def test_needs_an_engine():
    with pytest.raises(TypeError, match="pass gradient="):
        check_rrule(cube, X, rrule_f=cube_rrule, second_order=True)
    assert rrule(cube, X) is None

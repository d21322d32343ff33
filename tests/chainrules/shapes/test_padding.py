import numpy as np
import pytest

from chainrules.shapes.padding import added
from chainrules_core import rrule
from chainrules_core.testing import const
from chainrules_core.testing.checks.check import check_rule
from chainrules_core.testing.inputs.domains import COMPLEX, REAL

V = REAL.draw(4, rng=1)
X = REAL.draw((3, 4), rng=2)
X32 = REAL.draw((3, 4), np.float32, rng=3)
Z = COMPLEX.draw((2, 3), rng=4)
T = REAL.draw((2, 1, 3), rng=5)
STRIDED = REAL.draw((6, 8), rng=6)[::2, ::-2]
WIDTHS = ((1, 2), (0, 3))
LINEAR = ["constant", "edge", "linear_ramp", "mean", "reflect", "symmetric", "wrap"]
ORDERED = ["maximum", "median", "minimum"]


def case(f, *args, **kwargs):
    return pytest.param(args, kwargs)


CASES = [
    *[case(np.pad, V, 2, mode) for mode in LINEAR + ORDERED],
    *[case(np.pad, V, (9, 11), mode) for mode in LINEAR + ORDERED],
    *[case(np.pad, X, WIDTHS, mode=mode) for mode in LINEAR + ORDERED],
    *[case(np.pad, X, ((7, 0), (0, 8)), mode) for mode in LINEAR + ORDERED],
    *[case(np.pad, T, 1, mode) for mode in LINEAR + ORDERED],
    *[case(np.pad, X32, (1, 2), mode) for mode in LINEAR + ORDERED],
    *[case(np.pad, STRIDED, 1, mode) for mode in LINEAR + ORDERED],
    *[case(np.pad, Z, 2, mode) for mode in LINEAR],
    *[case(np.pad, X, 0, mode) for mode in [*LINEAR, *ORDERED, "empty"]],
    *[case(np.pad, X, WIDTHS, m, stat_length=2) for m in ["mean", *ORDERED]],
    *[case(np.pad, X, 1, m, stat_length=((1, 2), (3, 9))) for m in ["mean", *ORDERED]],
    *[case(np.pad, V, n, m, reflect_type="odd") for m in ("reflect", "symmetric") for n in (2, 9)],
    *[case(np.pad, X, WIDTHS, m, reflect_type="odd") for m in ("reflect", "symmetric")],
    *[case(np.pad, T, (3, 4), m, reflect_type="odd") for m in ("reflect", "symmetric")],
    case(np.pad, V, 2),
    case(np.pad, 1.5, 0),
    case(np.pad, V, (1, 0), "constant"),
    case(np.pad, V, 2, constant_values=1.5),
    case(np.pad, V, 2, "constant", constant_values=(1.5, 2.5)),
    case(np.pad, X, 1, constant_values=[[1.0, 2.0], [3.0, 4.0]]),
    case(np.pad, X, 1, constant_values=np.array([[1.0], [3.0]])),
    case(np.pad, X, 1, constant_values=np.array([1.5, 2.5])),
    case(np.pad, X32, 1, constant_values=1.5),
    case(np.pad, X, 1, "constant", constant_values=3),
    case(np.pad, np.zeros((0, 2)), 1),
    case(np.pad, array=V, pad_width=1, mode="edge"),
]


END_VALUES = [
    case(np.pad, V, 3, "linear_ramp", end_values=1.5),
    case(np.pad, X, WIDTHS, "linear_ramp", end_values=((1.0, 2.0), (3.0, 4.0))),
    case(np.pad, X, 2, mode="linear_ramp", end_values=np.array([1.5, 2.5])),
    case(np.pad, X32, 2, mode="linear_ramp", end_values=1),
]


@pytest.mark.parametrize("args, kwargs", CASES)
def test_rule(args, kwargs):
    check_rule(np.pad, *args, fkwargs=kwargs)


@pytest.mark.parametrize("args, kwargs", END_VALUES)
def test_end_values(args, kwargs):
    check_rule(np.pad, *args, fkwargs=kwargs)


@pytest.mark.parametrize("widths", [{0: 1}, {-1: (2, 1)}, {0: (0, 2), 1: 1}])
def test_widths_by_axis(widths):
    try:
        np.pad(X, widths)
    except TypeError:
        pytest.skip("this NumPy does not take widths by axis")
    check_rule(np.pad, X, widths)


def test_the_margins_of_empty_are_nobodys():
    _, pullback = rrule(np.pad, V, 2, "empty")
    assert pullback(np.arange(8.0))[1].tolist() == [2.0, 3.0, 4.0, 5.0]


def test_a_function_of_ones_own_has_no_rule():
    assert rrule(np.pad, V, 2, lambda vector, widths, axis, kwargs: None) is None


@pytest.mark.parametrize("mode", [*LINEAR, *ORDERED])
def test_engine(mode, check_engine):
    check_engine(lambda x: np.pad(x, ((1, 2), (0, 3)), mode), X)


def test_engine_with_options(check_engine):
    check_engine(lambda x: np.pad(x, 2, constant_values=1.5), X)
    check_engine(lambda x: np.pad(x, 2, "linear_ramp", end_values=1.5), X)
    check_engine(lambda x: np.pad(x, 2, "reflect", reflect_type="odd"), X)


@pytest.mark.parametrize(
    "mode, name", [("constant", "constant_values"), ("linear_ramp", "end_values")]
)
@pytest.mark.parametrize(
    "values", [lambda c: c, lambda c: (c, 1.0), lambda c: [[c, 1.0], [2.0, c]]]
)
def test_traced_values_for_the_margins(mode, name, values, check_engine):
    """np.pad takes them by **kwargs, which no rule names: its body is traced."""
    check_engine(lambda c: np.pad(X, 1, mode, **{name: values(c)}), 1.5)
    check_engine(lambda x: np.pad(x, 1, mode, **{name: values(x[0, 0])}), X)


def test_what_is_added_along_an_axis():
    whole, slab = REAL.draw((3, 4)), REAL.draw((3, 2))
    check_rule(added, whole, slab, const(1), const(1), const(3))
    check_rule(added, whole, REAL.draw((3, 4)), const(1), const(0), const(4))

import numpy as np
import pytest
from scipy import special

from autodiff import compile, gradient
from chainrules.scipy.special.probability import softmax as rules
from chainrules_core.engine import STEPS
from chainrules_core.testing import COMPLEX, POSITIVE, REAL, check_rule, const

A = REAL.draw((2, 3), rng=1)
B = POSITIVE.draw((2, 3), rng=2)
Z = COMPLEX.draw((2, 3), rng=3)
KEYWORDS = [
    {},
    {"axis": 0},
    {"axis": -1},
    {"axis": (0, 1)},
    {"axis": 1, "keepdims": True},
    {"keepdims": True},
    {"return_sign": True},
    {"axis": 1, "return_sign": True},
]


@pytest.mark.parametrize("keywords", KEYWORDS, ids=str)
@pytest.mark.parametrize("a", [A, A.astype(np.float32), Z, A[:, ::-2]], ids=lambda a: str(a.dtype))
def test_logsumexp(a, keywords):
    check_rule(special.logsumexp, a, fkwargs=keywords)


@pytest.mark.parametrize("keywords", KEYWORDS, ids=str)
@pytest.mark.parametrize("a, b", [(A, B), (A, B[0]), (A[0], B), (A, 2.0), (Z, Z * 0.5 + 0.1)])
def test_logsumexp_with_weights(a, b, keywords):
    check_rule(special.logsumexp, a, fkwargs={**keywords, "b": b})


@pytest.mark.parametrize(
    "args, keywords",
    [
        ((A, const(0), B), {}),
        ((A, const(None), const(None)), {"return_sign": False}),
        ((A,), {"b": -B, "return_sign": True}),
        ((2.3,), {}),
        (([1.0, 2.0],), {}),
        (([[1.0, 2.0], [3.0, 1.0]],), {"axis": 1}),
        (([1.0, 2.0],), {"b": [1.0, 3.0]}),
        ((np.array(1.5),), {}),
        ((np.array([1e3, 1e3 + 1.5, -1e3]),), {}),
        ((np.array([[-np.inf, 1.0, 0.5], [2.0, -np.inf, 0.0]]),), {"axis": 1}),
    ],
)
def test_logsumexp_in_other_forms(args, keywords):
    check_rule(special.logsumexp, *args, fkwargs=keywords)


@pytest.mark.parametrize("f", [special.softmax, special.log_softmax])
@pytest.mark.parametrize("axis", [None, 0, 1, (0, 1)], ids=str)
def test_softmax(f, axis):
    check_rule(f, A, fkwargs={"axis": axis})
    check_rule(f, A, const(axis))
    check_rule(f, A.astype(np.float32), fkwargs={"axis": axis})
    check_rule(f, A + 1j * A[::-1], fkwargs={"axis": axis})


@pytest.mark.parametrize("f", [special.softmax, special.log_softmax])
def test_softmax_in_other_forms(f):
    check_rule(f, [1.0, 2.0, -1.0])
    check_rule(f, 2.0)
    check_rule(f, np.array([1e3, 1e3 + 1.5, 990.0]))


@pytest.mark.parametrize(
    "f",
    [
        lambda x: special.logsumexp(x),
        lambda x: special.logsumexp(x, axis=1),
        lambda x: special.logsumexp(x, 0, x * x, True),
        lambda x: special.logsumexp(x, axis=1, b=-x * x, return_sign=True)[0],
        lambda x: special.logsumexp(x * (1 + 0.5j), axis=1),
        lambda x: special.logsumexp(x * (1 + 0.5j), axis=1, return_sign=True)[1],
        lambda x: special.logsumexp([x[0, 0], x[0, 1] * x[1, 2], 0.5]) * x,
        lambda x: special.softmax(x, axis=1),
        lambda x: special.softmax(x) * x,
        lambda x: special.log_softmax(x, axis=0),
        lambda x: special.log_softmax([x[0, 0], x[0, 1], 1.0]),
    ],
)
def test_engine(f, check_engine):
    check_engine(f, A)


TIES = np.array([[0.0, 0.0, -40.0], [1e3, -1e3, -np.inf], [-800.0, -800.0, -801.0]])


@pytest.mark.parametrize("axis", [None, 0, -1, (0, 1)])
@pytest.mark.parametrize("x", [A, TIES, A[:, ::-2], A[0], 1e-30 * A], ids=range(5))
@pytest.mark.parametrize("name", ["logsumexp", "softmax", "log_softmax"])
def test_in_steps(name, x, axis):
    axis = axis if x.ndim > 1 else None
    expected, found = getattr(special, name)(x, axis), STEPS[getattr(rules, name)](x, axis)
    assert type(found) is type(expected)
    np.testing.assert_allclose(found, expected, rtol=1e-14, atol=0)
    if name == "logsumexp":
        kept = STEPS[rules.logsumexp](x, axis, keepdims=True)
        np.testing.assert_allclose(kept, special.logsumexp(x, axis, keepdims=True), rtol=1e-14)


@pytest.mark.parametrize("x", [-np.inf, np.inf, np.nan])
@pytest.mark.parametrize("name", ["logsumexp", "softmax", "log_softmax"])
def test_no_steps_for_maxima_that_are_not_finite(name, x):
    steps = STEPS[getattr(rules, name)]
    assert steps(np.full(3, x)) is NotImplemented
    assert steps(np.float64(x)) is NotImplemented
    assert steps(np.zeros((0,))) is NotImplemented


def test_no_steps_with_weights():
    assert STEPS[rules.logsumexp](A, None, B) is NotImplemented
    assert STEPS[rules.logsumexp](A, return_sign=True) is NotImplemented


@pytest.mark.parametrize("name", ["logsumexp", "softmax", "log_softmax"])
def test_compiled_with_and_without_steps(name):
    f = getattr(special, name)
    compiled = compile(lambda x: gradient(lambda x: np.sum(np.sin(f(x, axis=1))), x))
    with np.errstate(all="ignore"):
        for x in (A, TIES[[0, 2]], np.full((2, 3), -np.inf), A, 2 * A):
            expected = gradient(lambda x: np.sum(np.sin(f(x, axis=1))), x)
            np.testing.assert_allclose(compiled(x), expected, rtol=1e-12, atol=1e-15)

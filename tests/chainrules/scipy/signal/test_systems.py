import numpy as np
import pytest
import scipy
from scipy import signal

from autodiff import gradient
from chainrules.scipy.signal.responses import states
from chainrules_core.testing.checks.check import check_rule
from tests.chainrules.scipy.signal.cases import case
from tests.helpers import differences

SCIPY = tuple(map(int, scipy.__version__.split(".")[:2]))

A, B = np.array([[-1.0, 0.3], [0.2, -2.0]]), np.array([[1.0], [0.5]])
C, D = np.array([[1.0, 0.2]]), np.array([[0.1]])
NUM, DEN = np.array([0.3, 0.5]), np.array([1.2, 0.3, 0.2])
Z, P = np.array([-0.3]), np.array([-1.0, -2.0])
T, W = np.linspace(0, 1, 6), np.array([0.3, 1.2, 2.5])
U = np.sin(T)


CASES = [
    case("tf2ss", lambda b, a: signal.tf2ss(b, a), NUM, DEN),
    case("zpk2ss", lambda z, p, k: signal.zpk2ss(z, p, k), Z, P, 0.4),
    case("ss2tf", lambda a, b, c, d: signal.ss2tf(a, b, c, d), A, B, C, D),
    case("abcd_normalize", lambda a, b: signal.abcd_normalize(a, b, C, D), A, B),
    case("TransferFunction", lambda b, a: signal.TransferFunction(b, a).freqresp(W)[1], NUM, DEN),
    case("bode", lambda b, a: signal.lti(b, a).bode(W)[1], NUM, DEN),
    case("zpk to tf", lambda z, p: signal.lti(z, p, 0.3).to_tf().num, Z, P),
    case("StateSpace", lambda a: signal.StateSpace(a, B, C, D).to_tf().den, A),
    case("product", lambda a: (signal.StateSpace(a, B, C, D) * signal.StateSpace(a, B, C, D)).A, A),
    case("dlti", lambda b, a: signal.dlti(b, a, dt=0.1).freqresp(W)[1], NUM, DEN),
    case("freqresp", lambda b, a: signal.freqresp((b, a), W)[1], NUM, DEN),
    case("dfreqresp", lambda b, a: signal.dfreqresp((b, a, 0.1), W)[1], NUM, DEN),
    case("dbode", lambda b, a: signal.dbode((b, a, 0.1), W)[1], NUM, DEN),
    case("dlsim", lambda a, u: signal.dlsim((a, B, C, D, 0.1), u)[1], A / 4, U),
    case("dimpulse", lambda a: signal.dimpulse((a, B, C, D, 0.1), n=5)[1], A / 4),
    case("dstep", lambda b, a: signal.dstep((b, a, 0.1), n=5)[1], NUM, DEN),
    case("lsim late", lambda a, u, x: signal.lsim((a, B, C, D), u, T + 0.3, x), A, U, B[:, 0]),
    case("lsim hold", lambda b, u: signal.lsim((A, b, C, D), u, T, interp=False)[1:], B, U),
    case("lsim at rest", lambda u: signal.lsim((A, B, C, D), u, T)[1], 0 * U),
    case("lsim alone", lambda a, x: signal.lsim((a, B, C, D), None, T, x)[1], A, B[:, 0]),
    case("lsim at once", lambda x, u: signal.lsim((A, B, C, D), u, T[:1], x)[1:], B[:, 0], U[:1]),
    case("lsim lti", lambda b: signal.lsim(signal.lti(b, DEN), np.stack([U], 1), T)[1], NUM),
    case("lsim input", lambda u: signal.lsim((A, B, C, D), u, T)[1], U),
    case("lsim state", lambda x: signal.lsim((A, B, C, D), U, T, x)[1], B[:, 0]),
]


@pytest.mark.parametrize("f, xs", CASES)
def test_traced(f, xs, check_traced):
    check_traced(f, *xs, step=1e-4)


@pytest.mark.parametrize("a", [A, A + 0.3j])
def test_states(a):
    first, pushes = B[:, 0] * a[0, 0], np.sin(np.arange(8.0)).reshape(4, 2) * a[0, 0]
    check_rule(states, first, a, pushes, second_order=True, gradient=gradient)


def test_a_matrix_of_integers():
    def f(u):
        return np.sum(signal.lsim((np.array([[-1]]), [[1]], [[1]], [[0]]), u, T)[1] ** 2)

    if SCIPY >= (1, 18):  # has states of floats
        np.testing.assert_allclose(gradient(f, U), differences(f, U), rtol=1e-6)
    else:  # truncates them without a word
        with pytest.raises(TypeError, match="type of A"):
            gradient(f, U)


@pytest.mark.parametrize(
    "f, words",
    [
        (lambda u: signal.lsim((A, B, C, D, 0.1), u, T), "instance of"),
        (lambda u: signal.lsim(signal.dlti(A, B, C, D), u, T), "not for dlti"),
        (lambda u: signal.lsim((A, B, C, D), u, T[None]), "one axis"),
        (lambda u: signal.lsim((A, B, C, D), u, T - 1), "before 0"),
        (lambda u: signal.lsim((A, B, C, D), u, T**2), "equally spaced"),
        (lambda u: signal.lsim((A, B, C, D), u[:3], T), "a row for each time"),
        (lambda u: signal.lsim((A, B, C, D), u * 1j, T), "type of A"),
    ],
)
@pytest.mark.filterwarnings("ignore:Casting complex values")  # of newer versions
def test_wrong_calls(f, words):
    errors = (ValueError, TypeError, AttributeError)
    try:
        f(U)
    except errors:
        with pytest.raises(errors, match=words):
            gradient(lambda u: np.sum(np.real(f(u)[1])), U)
        return
    if words == "type of A":  # SciPy truncates the states without a word
        with pytest.raises(errors, match=words):
            gradient(lambda u: np.sum(np.real(f(u)[1])), U)
    else:  # newer versions of SciPy take more
        assert SCIPY >= (1, 18)

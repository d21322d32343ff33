import datetime
import time

import numpy as np
import pytest
from scipy import linalg, optimize

import autodiff
from chainrules.refused import RefusedError, refuse
from chainrules_core import ChainRulesError, frule, rrule

X = np.array([0.3, 1.2, -0.5, 0.9])
M = np.array([[1.0, 2.0], [3.0, 5.0]])


def lottery(x, /, seed=0, *rest, **options):
    return 0.0


@pytest.fixture
def refused():
    refuse(lottery, "the reason.")
    yield
    rrule.unregister(lottery)
    frule.unregister(lottery)


@pytest.mark.usefixtures("refused")
@pytest.mark.parametrize(
    "call",
    [
        lambda x: lottery(x), lambda x: lottery(1, x), lambda x: lottery(1, seed=x),
        lambda x: lottery(1, 2, 3, x), lambda x: lottery([1, x]),
    ],
)  # fmt: skip
def test_a_traced_argument_is_refused_however_it_is_passed(call):
    with pytest.raises(RefusedError, match=r"lottery was given a traced value.*the reason\."):
        autodiff.gradient(call, 2.0)
    with pytest.raises(RefusedError, match="the reason"):
        autodiff.pushforward(call, 2.0)[1](1.0)


@pytest.mark.parametrize(
    "f, name",
    [
        (lambda x: datetime.timedelta(seconds=x).total_seconds(), r"datetime\.timedelta"),
        (lambda x: datetime.datetime.fromtimestamp(x).second, r"datetime\.datetime\.fromtimestamp"),
        (lambda x: time.gmtime(x).tm_sec, r"time\.gmtime"),
        (lambda x: np.random.default_rng(0).wald(x, 1.0), r"numpy\.random\.Generator\.wald"),
        (lambda x: optimize.bracket(lambda t: (t - x) ** 2)[0], r"scipy\.optimize\.bracket"),
        (
            lambda x: optimize.line_search(
                lambda u: np.sum((u - x) ** 2), lambda u: 2 * (u - x), np.zeros(1), np.ones(1)
            )[0],
            r"scipy\.optimize\.line_search",
        ),
        (
            lambda x: linalg.blas.daxpy(np.ones(2), np.ones(2), a=x)[0],
            r"scipy\.linalg\.blas\.daxpy",
        ),
    ],
)
def test_the_error_names_what_the_user_calls(f, name):
    with pytest.raises(RefusedError, match=f"^{name} was given a traced value"):
        autodiff.gradient(f, 1.5)


@pytest.mark.usefixtures("refused")
def test_a_plain_call_goes_on():
    assert autodiff.gradient(lambda x: lottery(1, b=2) + x, 2.0) == 1.0


@pytest.mark.usefixtures("refused")
def test_the_error_carries_its_data():
    with pytest.raises(RefusedError) as caught:
        rrule(lottery, 1.0)
    assert caught.value.name.endswith("lottery")
    assert caught.value.reason == "the reason."
    assert isinstance(caught.value, ChainRulesError)
    with pytest.raises(RefusedError):
        frule((1.0, 1.0), lottery, 1.0)


RECORD = [("a", float), ("b", float)]
with_matrices = pytest.mark.filterwarnings("ignore:the matrix subclass:PendingDeprecationWarning")


@with_matrices
@pytest.mark.parametrize(
    "f",
    [
        lambda x: np.ndarray((4,), buffer=x).sum(),
        lambda x: memoryview(x)[0],
        lambda x: np.frombuffer(bytes(x)).sum(),
        lambda x: np.frombuffer(x).sum(),
        lambda x: float(bytearray(x)[0]),
        lambda x: np.recarray((4,), dtype=[("a", float)], buf=x).a.sum(),
        lambda x: np.sum(list(np.nested_iters(x.reshape(2, 2), [[0], [1]]))),
        lambda x: np.sum(np.matrix(x)),
        lambda x: np.sum(np.asmatrix(x)),
        lambda x: np.sum(np.bmat([[x, x]])),
        lambda x: np.array([(x[0], x[1])], dtype=RECORD)["a"][0],
        lambda x: np.full(2, x[0], dtype=RECORD)["a"][0],
        lambda x: x.astype(RECORD)["a"][0],
        lambda x: np.rec.array([(x[0], x[1])], dtype=RECORD).a[0],
        lambda x: np.rec.fromrecords([(x[0], x[1])], dtype=RECORD).a[0],
        lambda x: datetime.timedelta(0, x[0]).total_seconds(),
    ],
)
def test_refused_functions_of_numpy_and_builtins(f):
    with pytest.raises(RefusedError):
        autodiff.gradient(f, X)
    with pytest.raises(RefusedError):
        autodiff.pushforward(f, X)[1](X)


@pytest.mark.parametrize(
    "f",
    [
        lambda x: np.rec.array(x).sum(),
        lambda x: np.rec.fromarrays([x, x], names="a,b").a.sum(),
        lambda x: np.char.mod("%f", x).astype(float).sum(),
        lambda x: np.sum({x[0], x[1]}),
        lambda x: np.sum(list(frozenset([x[0]]))),
        lambda x: hash(x[0]) * 1.0,
        lambda x: x.view(np.matrix).sum(),
    ],
)
def test_other_ways_to_lose_a_value_are_errors(f):
    with pytest.raises(ChainRulesError):
        autodiff.gradient(f, X)
    with pytest.raises(ChainRulesError):
        autodiff.pushforward(f, X)[1](X)


def test_plain_records_and_texts_are_constants():
    records = np.zeros(4, dtype=RECORD)
    records["a"] = [1, 2, 3, 4]
    found = autodiff.gradient(lambda x: np.sum(records["a"] * x), X)
    np.testing.assert_array_equal(found, [1, 2, 3, 4])
    found = autodiff.gradient(lambda x: np.sum(np.char.str_len(["a", "bb", "", "d"]) * x), X)
    np.testing.assert_array_equal(found, [1, 2, 0, 1])


MATRIX = M.view(np.matrix)


@with_matrices
@pytest.mark.parametrize(
    "f",
    [
        lambda x: np.sum(x * MATRIX),
        lambda x: (x * MATRIX)[0, 0],
        lambda x: np.sum(MATRIX * x),
        lambda x: np.sum(x @ MATRIX),
        lambda x: np.sum(MATRIX @ x),
        lambda x: np.sum(x + MATRIX),
        lambda x: np.sum(np.dot(MATRIX, x)),
        lambda x: np.sum(MATRIX.dot(x)),
        lambda x: np.sum((MATRIX * x[0, 0]) ** 2),
        lambda x: np.linalg.det(MATRIX + x),
    ],
)
def test_matrices_are_refused_by_the_engine(f):
    with pytest.raises(ChainRulesError):
        autodiff.gradient(f, M)
    with pytest.raises(ChainRulesError):
        autodiff.pushforward(f, M)[1](M)


@pytest.mark.parametrize("x", [MATRIX, {"m": MATRIX}, [MATRIX, 1.0]])
def test_a_matrix_is_no_argument(x):
    with pytest.raises(autodiff.ArgumentError, match=r"np\.matrix"):
        autodiff.gradient(lambda x: 1.0, x)


def test_a_pause_is_no_derivative():
    assert autodiff.gradient(lambda x: time.sleep(x * 1e-3) or x * x, 1.5) == 3.0

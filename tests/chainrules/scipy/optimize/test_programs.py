"""Linear programs, with and without integers."""

import numpy as np
import pytest
from scipy import optimize

from autodiff import gradient, pushforward
from chainrules.scipy.optimize.implicit import UnconvergedError
from chainrules_core import NotImplementedTangentError

X = np.array([0.8, 0.3])
C = np.array([-1.3, -2.1, -0.5])
A = np.array([[1.0, 1, 1], [1, 3, 0], [0, 1, 2]])
B = np.array([4.0, 6.0, 5.0])
I3 = np.arange(3)
W = np.array([1.0, 2.0, -1.0])
COST = np.array([[1.0, 2.3, 3.1], [2.2, 1.0, 4.7]])
SUMS = np.vstack([np.kron(np.eye(2), np.ones(3)), np.kron(np.ones(2), np.eye(3))])
linprog, milp = optimize.linprog, optimize.milp


def mixed(x, constraints, bounds):
    c = -np.array([x[0], x[1], 1.0])
    return milp(c, integrality=[1, 1, 0], constraints=constraints, bounds=bounds).fun


def all_marginals(result):
    parts = [result.eqlin, result.ineqlin, result.lower, result.upper]
    return sum(np.sum(np.sin(i + 1) * p.marginals[:2] ** 2) for i, p in enumerate(parts))


PROGRAMS = {
    "cost": lambda x: linprog(C * x[0], A, B).fun,
    "everything": lambda x: linprog(C * x[0], A * (1 + 0.1 * x[1]), B + x[1]).fun,
    "vertex": lambda x: np.sum(
        W * linprog(C * x[0], A_ub=A * (1 + 0.1 * x[1] * np.eye(3)), b_ub=B + x[1] * I3).x
    ),
    "bounds": lambda x: np.sum(
        W * linprog(C, A_ub=A, b_ub=B + x[1], bounds=[(0, x[0]), (0.1, None), (0, None)]).x
    ),
    "slack": lambda x: np.sum(W * linprog(C, A_ub=A, b_ub=B + x[1] * I3).slack),
    "equations": lambda x: linprog(C, A_eq=[[1.0, 1.0, x[0]]], b_eq=[3 + x[1]], bounds=(0, 2)).fun,
    "costs of transport": lambda x: linprog(
        np.ravel(COST * x[0] + x[1] * np.sqrt(COST)), A_eq=SUMS, b_eq=[0.4, 0.6, 0.3, 0.3, 0.4]
    ).fun,
    "marginals": lambda x: np.sum(
        W * linprog(C * x[0], A * (1 + 0.1 * x[1] * np.eye(3)), B + x[1]).ineqlin.marginals
    ),
    "all marginals": lambda x: all_marginals(linprog(
        C * x[0], [[1.0, x[1], 2.0]], [5.0], [[1.0, 1.0, x[0]]], [3.0], bounds=(0.1, 2)
    )),
    "integers": lambda x: linprog(C * x[0], A, B + x[1], integrality=[1, 0, 0]).fun,
    "milp": lambda x: mixed(
        x, optimize.LinearConstraint(A, -np.inf, B + 0.1 * x[1]), optimize.Bounds(0, 3)
    ),
    "milp triple": lambda x: mixed(x, (A, -np.inf, B + 0.1 * x[1]), (0, 3)),
    "milp list": lambda x: mixed(x, [(A, -np.inf, B + 0.1 * x[1])], None),
}  # fmt: skip


@pytest.mark.parametrize("name", PROGRAMS)
def test_programs(name, check_implicit):
    check_implicit(PROGRAMS[name], X, step=1e-5)


def test_the_value_moves_by_the_dual_solution():
    result = linprog(C, A, B)
    dual = gradient(lambda b: linprog(C, A, b).fun, B)
    np.testing.assert_allclose(dual, result.ineqlin.marginals, atol=1e-12)
    np.testing.assert_allclose(gradient(lambda c: linprog(c, A, B).fun, C), result.x, atol=1e-12)


@pytest.mark.parametrize("mode", [gradient, lambda f, x: pushforward(f, x)[1](np.ones(2))])
def test_several_optima(mode):
    # Every point between (1, 0) and (0, 1) is optimal.
    def vertex(c):
        return linprog(c, A_eq=[[1.0, 1.0]], b_eq=[1.0]).x[0]

    with pytest.raises(NotImplementedTangentError, match="not unique"):
        mode(vertex, np.array([1.0, 1.0]))


@pytest.mark.parametrize("mode", [gradient, lambda f, x: pushforward(f, x)[1](np.ones(3))])
def test_a_degenerate_vertex(mode):
    a = np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]])

    def value(b):
        return linprog([-1.0, -1.1], a, b).fun

    with pytest.raises(NotImplementedTangentError, match="degenerate"):
        mode(value, np.array([1.0, 1.0, 2.0]))
    # With respect to the costs it is smooth all the same.
    g = gradient(lambda c: linprog(c, a, [1.0, 1.0, 2.0]).fun, np.array([-1.0, -1.1]))
    np.testing.assert_allclose(g, [1.0, 1.0])


def test_no_optimum():
    with pytest.raises(UnconvergedError, match="no optimum"):
        gradient(lambda c: linprog(c, [[1.0]], [-1.0]).fun, np.array([1.0]))

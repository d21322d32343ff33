import numpy as np
import pytest
from scipy import linalg

from tests.chainrules.scipy.linalg.cases import case, single
from tests.helpers import normal_draws

_, real, compl = normal_draws(4)


EYE = np.eye(3)
A, Z = real(3, 3) + 4 * EYE, compl(3, 3) + 4 * EYE
S, P = A + A.T, A @ A.T + EYE
H, PZ = Z + Z.conj().T, Z @ Z.conj().T + EYE
B, BZ = real(3, 2), compl(3, 2)
STRIDED = np.asfortranarray(np.kron(A, np.ones((2, 2))))[::2, ::2]
GENERAL = [
    case(linalg.inv, A),
    case(linalg.inv, Z),
    case(linalg.inv, STRIDED),
    case(linalg.inv, np.zeros((0, 0))),
    case(linalg.inv, *single(A)),
    case(linalg.inv, A.tolist()),
    case(linalg.inv, A, check_finite=False),
    case(linalg.solve, A, B),
    case(linalg.solve, A, real(3)),
    case(linalg.solve, Z, BZ),
    case(linalg.solve, A, BZ),
    case(linalg.solve, A, real(3), transposed=True),
    case(linalg.solve, STRIDED, real(6, 2)[::2], check_finite=False),
    case(linalg.solve, *single(A, B)),
    case(linalg.solve, A.tolist(), B),
    case(linalg.solve, A.tolist(), B.tolist()),
    case(linalg.solve, A, B.tolist()),
]
STRUCTURED = [
    case(linalg.solve, m, b, assume_a=kind, lower=lower)
    for lower in (False, True)
    for kind, m, b in [
        ("gen", A, B), ("sym", S, B), ("sym", Z + Z.T, BZ), ("her", H, BZ), ("pos", P, B),
        ("pos", PZ, BZ), ("pos", P, real(3)),
    ]
]  # fmt: skip
TRIANGULAR = [
    case(linalg.solve_triangular, m, b, trans=trans, lower=lower, unit_diagonal=unit)
    for trans in (0, 1, 2, "N", "T", "C")
    for m, b, lower, unit in [(Z, BZ, False, False), (A, real(3), True, False), (A, B, True, True)]
] + [
    case(linalg.solve_triangular, *single(A, B)),
    case(linalg.solve_triangular, A.tolist(), B),
    case(linalg.solve_triangular, A.tolist(), B.tolist()),
    case(linalg.solve_triangular, A, B.tolist()),
]


@pytest.mark.parametrize("f, args, kwargs", GENERAL + STRUCTURED + TRIANGULAR)
def test_rule(f, args, kwargs, check_case):
    second = not isinstance(args[0], list) and not isinstance(args[-1], list)
    check_case(f, args, kwargs, second)


@pytest.mark.parametrize(
    "f",
    [
        lambda a, b: linalg.solve(a, b, True, False, False),
        lambda a, b: linalg.solve(b=b, a=a, assume_a="pos", lower=True),
        lambda a, b: linalg.solve([[a[0, 0], 1.0], [2.0, a[1, 1]]], [b[0], b[1]]),
        lambda a, b: linalg.solve(a[:1, :1], b),
        lambda a, b: linalg.inv(linalg.inv(a=a, check_finite=False)) @ b,
        lambda a, b: linalg.solve_triangular(a, b, "T", True),
        lambda a, b: linalg.solve_triangular(np.stack([a, a.T]), np.stack([b, 2 * b])[..., None])
        if hasattr(linalg.solve_triangular, "__wrapped__") else a,
        lambda a, b: b @ linalg.solve(a, np.eye(3)),
    ],
)  # fmt: skip
def test_engine(f, check_modes):
    check_modes(f, P, real(3))

"""Constants of every dtype beside the argument: integers that wrap, truth values, half precision.

NumPy computes in float64 whatever the constants are; so must the derivatives.
"""

import numpy as np
import pytest
from scipy import interpolate, linalg, special, stats
from scipy.spatial import distance

from autodiff import gradient, pushforward

DTYPES = [
    "bool", "int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64", "float16",
    "float32", "list",
]  # fmt: skip
ONES = [1, 0, 1, 1]  # in every dtype
GREY = [3, 100, 20, 4]  # not truth values
NODES = np.arange(4)

# Name → (function of a float and constants, the constants, where)
FUNCTIONS = {
    "power": (lambda x, c: np.power(x, c), ONES, 1.3),
    "power-base": (lambda x, c: np.power(c, x), GREY, 1.3),
    "float_power": (lambda x, c: np.float_power(c, x), GREY, 0.7),
    "operator": (lambda x, c: np.asarray(c) ** x, GREY, 0.7),
    "subtract": (lambda x, c: np.subtract(c, x) * np.subtract(x, c), GREY, 1.3),
    "divide": (lambda x, c: np.divide(x, c) + np.divide(c, x), GREY, 1.3),
    "hypot": (lambda x, c: np.hypot(x, c), GREY, 1.3),
    "arctan2": (lambda x, c: np.arctan2(c, x), GREY, 1.3),
    "logaddexp": (lambda x, c: np.logaddexp(c, x), ONES, 1.3),
    "maximum": (lambda x, c: np.maximum(x, c), GREY, 13.3),
    "where": (lambda x, c: np.where(np.asarray(c) > 0, x * x, -x), ONES, 1.3),
    "interp-values": (lambda x, c: np.interp(x, NODES, c), GREY, 1.3),
    "interp-truths": (lambda x, c: np.interp(x, NODES, c), ONES, 1.3),
    "interp-nodes": (lambda x, c: np.interp(x, c, [1.0, 5.0, 2.0]), [0, 1, 2], 1.3),
    "interp-array": (lambda x, c: np.interp([x, 2 * x], NODES, c), GREY, 0.8),
    "average": (lambda x, c: np.average(x * (NODES + 0.5) ** 2, weights=c), ONES, 1.3),
    "weighted": (lambda x, c: np.average(np.cos(x * NODES), weights=c), GREY, 1.3),
    "dot": (lambda x, c: np.dot(c, np.sin(x * NODES)), GREY, 1.3),
    "convolve": (lambda x, c: np.convolve(c, [x, x * x]), GREY, 1.3),
    "solve": (lambda x, c: np.linalg.solve(matrix(c), [1.0, x]), ONES, 1.3),
    "scipy-solve": (lambda x, c: linalg.solve(matrix(c), np.array([1.0, x])), ONES, 1.3),
    "triangular": (
        lambda x, c: linalg.solve_triangular(matrix(c), np.array([1.0, x]), lower=True), ONES, 1.3
    ),
    "lstsq": (lambda x, c: np.linalg.lstsq(tall(c), np.array([1.0, x, 3.0]))[0], GREY, 1.3),
    "scipy-lstsq": (lambda x, c: linalg.lstsq(tall(c), np.array([1.0, x, 3.0]))[0], GREY, 1.3),
    "spline": (lambda x, c: interpolate.CubicSpline(NODES, c)(x), GREY, 1.3),
    "huber": (lambda x, c: special.huber(c, x - 3), ONES, 1.3),
    "pseudo_huber": (lambda x, c: special.pseudo_huber(c, x - 3), GREY, 1.3),
    "agm": (lambda x, c: special.agm(c, x), GREY, 1.3),
    "xlogy": (lambda x, c: special.xlogy(x, c), GREY, 1.3),
    "xlog1py": (lambda x, c: special.xlog1py(x, c), ONES, 1.3),
    "rel_entr": (lambda x, c: special.rel_entr(c, x), GREY, 1.3),
    "kl_div": (lambda x, c: special.kl_div(x, c), GREY, 1.3),
    "boxcox": (lambda x, c: special.boxcox(c, x), GREY, 1.3),
    "boxcox1p": (lambda x, c: special.boxcox1p(c, x), ONES, 1.3),
    "inv_boxcox": (lambda x, c: special.inv_boxcox(x, c), ONES, 1.3),
    "owens_t": (lambda x, c: special.owens_t(c, x), ONES, 1.3),
    "hyperu": (lambda x, c: special.hyperu(c, c, x), ONES, 1.3),
    "elliprg": (lambda x, c: special.elliprg(c, 2.0, x), ONES, 1.3),
    "stdtr": (lambda x, c: special.stdtr(c, x), GREY, 1.3),
    "jv": (lambda x, c: special.jv(c, x), ONES, 1.3),
    "ive": (lambda x, c: special.ive(c, x), ONES, 1.3),
    "eval_legendre": (lambda x, c: special.eval_legendre(c, x), ONES, 0.3),
    "eval_jacobi": (lambda x, c: special.eval_jacobi(c, c, c, x), ONES, 0.3),
    "wright_bessel": (lambda x, c: special.wright_bessel(1.0, c, x), ONES, 1.3),
    "cosine": (lambda x, c: distance.cosine(np.exp(x * NODES), c), [1, 5, 2, 1], 0.3),
    "correlation": (lambda x, c: distance.correlation(np.exp(x * NODES), c), ONES, 0.3),
    "boxcox_llf": (lambda x, c: stats.boxcox_llf(x, c), GREY, 1.3),
}  # fmt: skip


def matrix(c):
    c = np.asarray(c)
    return np.array([[c[0], c[1]], [c[2], c[3]]], c.dtype)


def tall(c):
    c = np.asarray(c)
    return np.stack([c[:3], c[1:]], axis=1)


def constants(values, dtype):
    return list(values) if dtype == "list" else np.array(values).astype(dtype)


def cases():
    for name, (_, values, _) in FUNCTIONS.items():
        for dtype in DTYPES:
            if not (dtype == "bool" and max(values) > 1):
                yield name, dtype


@pytest.mark.filterwarnings("ignore:Calling .* with arguments of dtype:DeprecationWarning")
@pytest.mark.parametrize("name, dtype", list(cases()))
def test_derivatives_beside_constants(name, dtype):
    g, values, x = FUNCTIONS[name]
    c = constants(values, dtype)
    try:
        low = np.result_type(np.asarray(g(x, c))).itemsize < 8
    except (TypeError, ValueError, linalg.LinAlgError):
        pytest.skip("the function takes no such constants")  # as float16 in linear algebra
    narrow = dtype in ("uint8", "int8", "float16", "float32") and name == "boxcox_llf"
    if low or narrow:
        pytest.skip("the function itself computes in low precision")

    def f(x):
        return np.sum(g(x, c))

    h = 1e-5 * x
    step = (8 * (f(x + h) - f(x - h)) - (f(x + 2 * h) - f(x - 2 * h))) / (12 * h)
    scale = max(1.0, abs(step))
    assert gradient(f, x) == pytest.approx(step, abs=2e-8 * scale)
    assert pushforward(f, x)[1](1.0) == pytest.approx(step, abs=2e-8 * scale)

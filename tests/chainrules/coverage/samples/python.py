"""Sample calls of Python's own mathematics; see test_samples.py for what a row means."""

import functools
import itertools
import math
import operator
import sys

import numpy as np

V = np.array([0.3, -0.7, 0.55, 0.85])
W = np.array([0.5, 0.25, -0.35, 0.6])
M = np.array([[2.0, 0.3, -0.4], [0.1, 1.5, 0.2], [-0.3, 0.45, 1.8]])
L = [0.4, 1.7, 0.9, 2.3]
K = [1.3, 0.2, 0.8, 1.1]
C = 0.3 + 0.4j


class Pair:
    def __init__(self, a, b):
        self.a, self.b = a, b

    def weighted(self, w):
        return self.a * w + self.b * self.b

    @functools.cached_property
    def product(self):
        return self.a * self.b

    half = functools.partialmethod(weighted, 0.5)

    @functools.singledispatchmethod
    def kind(self, x):
        return x * self.a

    @kind.register
    def _(self, x: float):
        return x * self.b


@functools.singledispatch
def kind(x):
    return x


@kind.register
def _(x: float):
    return x * x


def in_place(f):
    return lambda x, y: f(np.copy(x), y)


def set_item(f, x, y):
    values = list(x)
    f(values, 1, y)
    return values


def del_item(f, x):
    values = list(x)
    f(values, 1)
    return values


def with_attribute(f, x):
    pair = Pair(1.0, 2.0)
    f(pair, "a", x * x)
    return pair.a * pair.b


def executed(f, x):
    scope = {"x": x}
    if f is eval:
        return f("x * x", {}, scope)
    f("y = x * x", {}, scope)
    return scope["y"]


def cut(a):
    return a < 1.5


def tens(a):
    return a * 10


# Ranks came with Python 3.12.
RANKED = (
    [("correlation", lambda f, x, y: f(x, y, method="ranked"), L, K)]
    if sys.version_info >= (3, 12)
    else []
)
SAMPLES = {
    "builtins": [
        ("abs float complex", -0.7),
        ("abs complex", C),
        ("divmod", 2.3, 0.9),
        ("pow", 1.3, 0.7),
        ("sum max min sorted list tuple", L),
        ("sum max min sorted list tuple", V),
        ("sum", lambda f, x, s: f(x, s), L, 0.7),
        ("max min sorted", lambda f, x: f(x, key=lambda a: (a - 1) ** 2), L),
        ("reversed iter", lambda f, x: [a * i for i, a in enumerate(f(x))], L),
        ("enumerate", lambda f, x: [i * a * a for i, a in f(x)], L),
        ("zip", lambda f, x, y: [a * b for a, b in f(x, y)], L, K),
        ("map", lambda f, x, y: list(f(operator.mul, x, y)), L, K),
        ("map", lambda f, x: f(lambda a: a * a, x), V),
        ("filter", lambda f, x: [a * a for a in f(cut, x)], L),
        ("next", lambda f, x: f(iter(x)), L),
        ("dict", lambda f, x: f(a=x, b=x * x), 0.7),
        ("getattr", lambda f, x: f(Pair(x, 2.0), "a") ** 2, 0.7),
        ("setattr", with_attribute, 0.7),
        ("eval exec", executed, 0.7),
    ],
    "math": [
        ("acos asin atan acosh asinh atanh cos cosh sin sinh tan tanh",
         lambda f, x: f(x + 1) if f.__name__ == "acosh" else f(x), 0.7),
        ("cbrt degrees radians erf erfc", 1.7),
        ("exp exp2 expm1 fabs frexp gamma lgamma log log10 log1p log2 modf sqrt", 1.7),
        ("log", 1.7, 2.5),
        ("atan2 copysign fmod hypot pow remainder", 1.7, 0.4),
        ("hypot", 0.3, 0.7, -0.4),
        ("ldexp", lambda f, x: f(x, 3), 0.7),
        ("nextafter", lambda f, x: f(x, 3.0), 0.7),
        ("fsum prod", L),
        ("fsum prod", lambda f, x: f(a * a for a in x), L),
        ("fsum prod", lambda f, x: f(a * a for a in x), V),
        ("dist sumprod", L, K),
        ("fma", 1.7, 0.4, -0.9),
        ("dist", V, W),
    ],
    "cmath": [
        ("acos acosh asin asinh atan atanh cos cosh exp log log10 sin sinh sqrt tan tanh", C),
        ("acos asin atan acosh asinh cos cosh exp log log10 sin sinh sqrt tan tanh", 0.7),
        ("phase polar", C),
        ("rect", 0.7, 0.4),
    ],
    "operator": [
        ("abs neg pos", -0.7),
        ("abs neg pos", V),
        ("add sub mul truediv mod", V, W),
        ("add sub mul truediv pow mod", 1.7, 0.4),
        ("pow", lambda f, x: f(x, 3), V),
        ("matmul", M, V[:3]),
        ("iadd isub imul itruediv imod", lambda f, x, y: in_place(f)(x, y), V, W),
        ("iadd isub imul itruediv ipow imod", 1.7, 0.4),
        ("ipow", lambda f, x: f(np.copy(x), 3), V),
        ("imatmul", lambda f, x, y: in_place(f)(x, y), M, M.T),
        ("concat iconcat", lambda f, x, y: f(list(x), list(y)), L, K),
        ("getitem", lambda f, x: f(x, 1) * f(x, 2), L),
        ("getitem", lambda f, x: f(x, slice(1, 3)), V),
        ("setitem", set_item, L, 0.35),
        ("delitem", del_item, L),
        ("itemgetter", lambda f, x: f(1, 2)(x), L),
        ("itemgetter", lambda f, x: f(1)(x), V),
        ("attrgetter", lambda f, x: f("a")(Pair(x, 2.0)) ** 2, 0.7),
        ("methodcaller", lambda f, x: f("sum")(x), V),
        ("methodcaller", lambda f, x: f("weighted", x)(Pair(x, 2.0)), 0.7),
        ("call", lambda f, x: f(tens, x) * f(math.sin, x), 0.7),
    ],
    "functools": [
        ("reduce", lambda f, x: f(lambda a, b: a * b + a, x), L),
        ("reduce", lambda f, x, s: f(operator.mul, x, s), L, 0.7),
        ("partial", lambda f, x: f(pow, x)(3.0) + f(lambda a, b: a * b, b=x)(2.0), 0.7),
        ("cache", lambda f, x: f(tens)(x) * x, 0.7),
        ("lru_cache", lambda f, x: f(maxsize=3)(tens)(x) * x, 0.7),
        ("cached_property", lambda f, x: Pair(x, x).product, 0.7),
        ("partialmethod", lambda f, x: Pair(x, x).half(), 0.7),
        ("singledispatch", lambda f, x: kind(x), 0.7),
        ("singledispatchmethod", lambda f, x: Pair(1.0, x).kind(x), 0.7),
        ("cmp_to_key", lambda f, x: sorted(x, key=f(lambda a, b: -1 if a > b else 1)), L),
    ],
    "itertools": [
        ("batched", lambda f, x: [a * b for a, b in f(x, 2)], L),
        ("chain", lambda f, x, y: [a * a for a in f(x, y)], L, K),
        ("combinations permutations combinations_with_replacement",
         lambda f, x: [a * b for a, b in f(x, 2)], L),
        ("compress", lambda f, x: f(x, [1, 0, 1, 1]), L),
        ("count", lambda f, a, b: itertools.islice(f(a, b), 3), 0.3, 0.7),
        ("cycle", lambda f, x: itertools.islice(f(x), 6), L),
        ("islice", lambda f, x: f(x, 1, 3), L),
        ("pairwise", lambda f, x: [a * b for a, b in f(x)], L),
        ("product", lambda f, x, y: [a * b for a, b in f(x, y)], L, K),
        ("repeat", lambda f, x: f(x, 3), 0.7),
        ("tee", lambda f, x: [a * b for a, b in zip(*f(x), strict=True)], L),
        ("zip_longest", lambda f, x, y, z: [a * b for a, b in f(x, y[:2], fillvalue=z)], L, K, 0.7),
        ("accumulate", lambda f, x: f(x), L),
        ("accumulate", lambda f, x: f(x, operator.mul, initial=2.0), L),
        ("dropwhile takewhile filterfalse", lambda f, x: f(cut, [a * a for a in x]), L),
        ("groupby", lambda f, x: [sum(g) * k for k, g in f(x, key=cut)], L),
        ("starmap", lambda f, x, y: f(pow, zip(x, y, strict=True)), L, K),
    ],
    "statistics": [
        ("mean fmean geometric_mean harmonic_mean median median_low median_high stdev pstdev", L),
        ("variance pvariance quantiles", L),
        ("mean fmean median stdev pstdev variance pvariance quantiles", V),
        ("median_grouped", lambda f, x: f(x, 0.7), [1.1, 1.3, 1.45, 1.7, 2.1]),
        ("fmean harmonic_mean", lambda f, x, w: f(x, w), L, K),
        ("variance stdev", lambda f, x, m: f(x, m), L, 1.2),
        ("pvariance pstdev", lambda f, x, m: f(x, m), L, 1.2),
        ("quantiles", lambda f, x: f(x, n=5, method="inclusive"), L),
        ("correlation covariance linear_regression", L, K),
        *RANKED,
        ("linear_regression", lambda f, x, y: f(x, y, proportional=True), L, K),
        ("NormalDist", lambda f, m, s, x: (f(m, s).pdf(x), f(m, s).cdf(x), f(m, s).zscore(x)),
         0.3, 1.2, 0.8),
        ("NormalDist", lambda f, m, s, p: (f(m, s).inv_cdf(p), f(m, s).quantiles(3)),
         0.3, 1.2, 0.8),
        ("NormalDist", lambda f, m, s: (f(m, s).mean, f(m, s).stdev, f(m, s).variance), 0.3, 1.2),
        ("NormalDist", lambda f, m, s: f(m, s).overlap(f(0.5, 1.0)), 0.3, 1.2),
        ("NormalDist", lambda f, m, s: (f(m, s) * 2 + f(0.1, s)).stdev, 0.3, 1.2),
        ("kde", lambda f, x, h, at: f(x, h)(at), L, 0.7, 1.1),
        ("kde_random", lambda f, x, h: f(x, h, seed=3)(), L, 0.7),
        ("NormalDist", lambda f, x: f.from_samples(x).stdev, L),
    ],
}  # fmt: skip

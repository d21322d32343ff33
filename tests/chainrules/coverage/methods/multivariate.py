"""Sample calls of the methods of multivariate distributions, and of those of the newer kind."""

import numpy as np
from scipy import stats

X = np.array([0.3, -0.7])
POINTS = np.array([[0.3, -0.7], [0.55, 0.85], [-0.2, 0.4]])
MEAN = np.array([0.15, -0.25])
COV = np.array([[1.7, 0.3], [0.3, 0.9]])
P3 = np.array([0.2, 0.5, 0.3])
ALPHA = np.array([1.4, 2.2, 0.9])
SQUARE = np.array([[1.9, 0.4], [0.4, 1.2]])
DATA = np.array([[0.3, -0.7], [0.55, 0.85], [-0.2, 0.4], [1.1, -0.3], [0.7, 0.1]])
UNIT = np.array([[0.6, 0.0, 0.8], [0.0, 0.6, 0.8], [0.36, 0.48, 0.8]])
OPEN = np.array([0.3, 0.45, 0.7])


def symmetric(m):
    return (m + m.T) / 2


def generator():
    return np.random.default_rng(3)


def of_normal(**options):
    def body(d, call, mean, cov):
        return call(d, mean, symmetric(cov), **options)

    return body


def at_normal(d, call, x, mean, cov):
    return call(d, x, mean, symmetric(cov))


def of_t(**options):
    def body(d, call, loc, shape):
        return call(d, loc, symmetric(shape), df=5, **options)

    return body


def at_t(d, call, x, loc, shape, df):
    return call(d, x, loc, symmetric(shape), df=df)


def of_wishart(d, call, df, scale):
    return call(d, df, symmetric(scale))


def at_wishart(d, call, x, df, scale):
    return call(d, symmetric(x), df, symmetric(scale))


def unit(x):
    return x / np.sqrt(np.sum(x * x, -1, keepdims=True))


NORMAL = [
    ("pdf logpdf cdf logcdf", at_normal, X, MEAN, COV),
    ("entropy", of_normal(), MEAN, COV),
    ("rvs", of_normal(size=3, random_state=7), MEAN, COV),
    ("marginal", lambda d, call, m, c: call(d, 1, m, symmetric(c)).logpdf(0.3), MEAN, COV),
    ("fit", lambda d, call, x: call(d, x), DATA),
    ("__call__", lambda d, call, m, c: call(d, m, symmetric(c)).logpdf(POINTS), MEAN, COV),
]
STUDENT = [
    ("pdf logpdf", at_t, X, MEAN, COV, 5.0),
    ("cdf", lambda d, call, x, m, c: call(d, x, m, symmetric(c), df=5, maxpts=200_000,
                                          random_state=generator()), X, MEAN, COV),
    ("entropy", of_t(), MEAN, COV),
    ("rvs", of_t(size=3, random_state=7), MEAN, COV),
    ("marginal", lambda d, call, m, c: call(d, 1, m, symmetric(c), 5).logpdf(0.3), MEAN, COV),
    ("__call__", lambda d, call, m, c: call(d, m, symmetric(c), 5).logpdf(POINTS), MEAN, COV),
]  # fmt: skip
WISHART = [
    ("pdf logpdf", at_wishart, SQUARE, 4.5, COV),
    ("entropy mean mode var", of_wishart, 7.5, COV),
    ("rvs", lambda d, call, s: call(d, 6, symmetric(s), random_state=generator()), COV),
    ("__call__", lambda d, call, n, s: call(d, n, symmetric(s)).logpdf(SQUARE), 7.5, COV),
]
MATRIX = np.array([[0.3, -0.7, 0.2], [0.55, 0.85, -0.4]])
COLUMNS = np.array([[1.4, 0.2, 0.1], [0.2, 1.1, -0.3], [0.1, -0.3, 0.9]])


def at_matrix(d, call, x, mean, rows, columns):
    return call(d, x, mean, symmetric(rows), symmetric(columns))


MATRIX_NORMAL = [
    ("pdf logpdf", at_matrix, MATRIX, MATRIX[:, ::-1].copy(), COV, COLUMNS),
    ("entropy", lambda d, call, r, c: call(d, symmetric(r), symmetric(c)), COV, COLUMNS),
    ("rvs", lambda d, call, m, r, c: call(d, m, symmetric(r), symmetric(c),
                                          random_state=generator()), MATRIX, COV, COLUMNS),
    ("__call__", lambda d, call, m, r, c: call(d, m, symmetric(r), symmetric(c)).logpdf(MATRIX),
     MATRIX[:, ::-1].copy(), COV, COLUMNS),
]  # fmt: skip
MATRIX_T = [
    ("pdf logpdf", lambda d, call, x, m, r, c, df: call(d, x, m, symmetric(r), symmetric(c), df),
     MATRIX, MATRIX[:, ::-1].copy(), COV, COLUMNS, 4.5),
    ("rvs", lambda d, call, m, c: call(d, m, COV, symmetric(c), 4, random_state=generator()),
     MATRIX, COLUMNS),
    ("__call__", lambda d, call, m, r, c: call(d, m, symmetric(r), symmetric(c), 4).logpdf(MATRIX),
     MATRIX[:, ::-1].copy(), COV, COLUMNS),
]  # fmt: skip


def simplex(p):
    return p / np.sum(p)


DIRICHLET = [
    ("pdf logpdf", lambda d, call, x, a: call(d, simplex(x), a), P3, ALPHA),
    ("entropy mean var cov", lambda d, call, a: call(d, a), ALPHA),
    ("__call__", lambda d, call, a: call(d, a).logpdf(P3), ALPHA),
]
COUNTS = np.array([2, 1, 3])
DIRICHLET_MULTINOMIAL = [
    ("pmf logpmf", lambda d, call, a: call(d, COUNTS, a, 6), ALPHA),
    ("mean var cov", lambda d, call, a: call(d, a, 6), ALPHA),
    ("__call__", lambda d, call, a: call(d, a, 6).logpmf(COUNTS), ALPHA),
]
MULTINOMIAL = [
    ("pmf logpmf", lambda d, call, p: call(d, COUNTS, 6, simplex(p)), P3),
    ("mean cov entropy", lambda d, call, p: call(d, 6, simplex(p)), P3),
    ("__call__", lambda d, call, p: call(d, 6, simplex(p)).logpmf(COUNTS), P3),
]
NORMAL_INVERSE_GAMMA = [
    ("pdf logpdf", lambda d, call, x, s, *p: call(d, x, s, *p), 0.4, 1.3, 0.2, 1.1, 3.4, 2.1),
    ("mean var", lambda d, call, *p: call(d, *p), 0.2, 1.1, 3.4, 2.1),
    ("rvs", lambda d, call, m, b: call(d, m, 1.1, 3, b, random_state=generator()), 0.2, 2.1),
    ("__call__", lambda d, call, *p: call(d, *p).logpdf(0.4, 1.3), 0.2, 1.1, 3.4, 2.1),
]
VON_MISES_FISHER = [
    ("pdf logpdf", lambda d, call, x, m, k: call(d, unit(x), unit(m), k), UNIT, UNIT[2], 2.3),
    ("entropy", lambda d, call, m, k: call(d, unit(m), k), UNIT[2], 2.3),
    ("fit", lambda d, call, x: call(d, unit(x)), UNIT),
    ("__call__", lambda d, call, m, k: call(d, unit(m), k).logpdf(UNIT), UNIT[2], 2.3),
]


def newer(make):
    """The rows of a distribution of the newer kind."""
    at = lambda cls, call, x, *p: call(make(cls, *p), x)  # noqa: E731
    of = lambda cls, call, *p: call(make(cls, *p))  # noqa: E731
    return at, of


def finite(end):
    return np.where(np.isfinite(end), end, 0.0)


def rows_of(make, x, q, *p):
    at, of = newer(make)
    log = np.log(q)
    return [
        ("pdf logpdf cdf ccdf logcdf logccdf", at, x, *p),
        ("icdf iccdf", at, q, *p),
        ("ilogcdf ilogccdf", at, log, *p),
        ("entropy logentropy mean median mode variance standard_deviation skewness kurtosis",
         lambda cls, call, *p: np.real(call(make(cls, *p))), *p),
        ("support", lambda cls, call, *p: [finite(end) for end in of(cls, call, *p)], *p),
        ("moment", lambda cls, call, *p: call(make(cls, *p), 3), *p),
        ("sample", lambda cls, call, *p: call(make(cls, *p), 4, rng=generator()), *p),
    ]  # fmt: skip


def logistic(cls, loc, scale):
    return scale * cls() + loc


def mixture(cls, m, s, w):
    parts = [stats.Normal(mu=m, sigma=s), stats.Normal(mu=1.3, sigma=0.7)]
    return cls(parts, weights=[w, 1 - w])


def halves(cls, m, s):
    return cls([stats.Normal(mu=m, sigma=s), stats.Normal(mu=1.3, sigma=0.7)])


KDE_DATA = np.array([0.3, -0.7, 0.55, 0.85, 1.6])


KDE = [
    ("__call__ evaluate pdf logpdf", lambda cls, call, x, p: call(cls(x), p), KDE_DATA, OPEN),
    ("integrate_gaussian", lambda cls, call, x, m, c: call(cls(x), m, c), KDE_DATA, 0.4, 0.7),
    ("integrate_box_1d", lambda cls, call, x, a, b: call(cls(x), a, b), KDE_DATA, -0.2, 0.9),
    ("integrate_box", lambda cls, call, x, a, b: call(cls(x.T), a, b), DATA, X - 1.0, X + 1.5),
    ("integrate_kde", lambda cls, call, x, y: call(cls(x), cls(y)), KDE_DATA, OPEN),
    ("inv_cov", lambda cls, call, x: call(cls(x)), KDE_DATA),
    ("neff weights", lambda cls, call, w: call(cls(KDE_DATA[:3], weights=w)), P3),
    ("marginal", lambda cls, call, x: call(cls(x.T), [1]).logpdf(OPEN), DATA),
    ("resample", lambda cls, call, x: call(cls(x), 4, seed=7), KDE_DATA),
    ("set_bandwidth", lambda cls, call, x, h: bandwidth(cls(x), call, h), KDE_DATA, 0.6),
]


def bandwidth(k, call, h):
    call(k, h)
    return k.logpdf(OPEN)


def of_precision(cls, m):
    return cls.from_precision(symmetric(m))


COVARIANCE = [
    ("from_cholesky", lambda cls, call, m: call(cls, np.linalg.cholesky(symmetric(m))).covariance,
     COV),
    ("from_diagonal", lambda cls, call, v: call(cls, v).log_pdet, ALPHA),
    ("from_eigendecomposition",
     lambda cls, call, m: call(cls, np.linalg.eigh(symmetric(m))).covariance, COV),
    ("from_precision", lambda cls, call, m: call(cls, symmetric(m)).log_pdet, COV),
    ("covariance log_pdet", lambda cls, call, m: call(of_precision(cls, m)), COV),
    ("colorize whiten", lambda cls, call, m, x: call(of_precision(cls, m), x), COV, POINTS),
]  # fmt: skip

SAMPLES = {
    "scipy.stats.multivariate_normal": NORMAL,
    "scipy.stats.multivariate_t": STUDENT,
    "scipy.stats.wishart": WISHART,
    "scipy.stats.invwishart": [row for row in WISHART if row[0] != "rvs"],
    "scipy.stats.matrix_normal": MATRIX_NORMAL,
    "scipy.stats.dirichlet": DIRICHLET,
    "scipy.stats.dirichlet_multinomial": DIRICHLET_MULTINOMIAL,
    "scipy.stats.multinomial": MULTINOMIAL,
    "scipy.stats.vonmises_fisher": VON_MISES_FISHER,
    "scipy.stats.gaussian_kde": KDE,
    "scipy.stats.Covariance": COVARIANCE,
}
if hasattr(stats, "matrix_t"):  # SciPy 1.15 has none of these
    SAMPLES["scipy.stats.matrix_t"] = MATRIX_T
    SAMPLES["scipy.stats.normal_inverse_gamma"] = NORMAL_INVERSE_GAMMA
if hasattr(stats, "Normal"):
    SAMPLES["scipy.stats.Normal"] = [
        *rows_of(lambda cls, m, s: cls(mu=m, sigma=s), OPEN, OPEN, 0.3, 1.4),
        ("mu sigma", lambda cls, call, m, s: call(cls(mu=m, sigma=s)), 0.3, 1.4),
    ]
    SAMPLES["scipy.stats.Uniform"] = [
        *rows_of(lambda cls, a, b: cls(a=a, b=b), OPEN, OPEN, -0.3, 1.4),
        ("a b ab", lambda cls, call, a, b: call(cls(a=a, b=b)), 0.3, 1.4),
    ]
    SAMPLES["scipy.stats.Mixture"] = [
        *[
            (names.replace(" logentropy", ""), *rest)
            for names, *rest in rows_of(mixture, OPEN, OPEN, 0.3, 1.4, 0.4)
            if names != "sample"  # how many come from each part is an integer
        ],
        *[
            (names, *rest)
            for names, *rest in rows_of(halves, OPEN, OPEN, 0.3, 1.4)
            if names == "sample"
        ],
        ("weights", lambda cls, call, m, s, w: call(mixture(cls, m, s, w)), 0.3, 1.4, 0.4),
    ]
if hasattr(stats, "Logistic"):
    SAMPLES["scipy.stats.Logistic"] = rows_of(logistic, OPEN, OPEN, 0.3, 1.4)
K = np.array([2, 3])


def binomial_rows():
    make = lambda cls, p: cls(n=7, p=p)  # noqa: E731
    return [
        ("pmf logpmf cdf ccdf logcdf logccdf", lambda cls, call, p: call(make(cls, p), K), 0.4),
        ("entropy logentropy mean variance standard_deviation skewness kurtosis p",
         lambda cls, call, p: np.real(call(make(cls, p))), 0.4),
        ("moment", lambda cls, call, p: call(make(cls, p), 2), 0.4),
    ]  # fmt: skip


if hasattr(stats, "Binomial"):
    SAMPLES["scipy.stats.Binomial"] = binomial_rows()

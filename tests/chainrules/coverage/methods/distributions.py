"""Sample calls of the methods of all distributions of one variable."""

import numpy as np
from scipy import optimize, stats

LOC, SCALE, PLACE = 0.3, 1.4, 2
# Those that are not named have no shapes.
SHAPES = {
    "alpha": (3.57,), "argus": (1.0,), "beta": (2.31, 1.63), "betaprime": (5.0, 6.0),
    "bradford": (0.3,), "burr": (10.5, 4.3), "burr12": (10.0, 4.0), "chi": (5.3,),
    "chi2": (6.2,), "crystalball": (2.0, 4.5), "dgamma": (1.6,),
    "dpareto_lognorm": (3.0, 1.2, 3.5, 2.0), "dweibull": (2.07,), "erlang": (3.0,),
    "exponnorm": (1.5,), "exponpow": (2.7,), "exponweib": (2.89, 1.95), "f": (9.0, 18.0),
    "fatiguelife": (1.5,), "fisk": (3.09,), "foldcauchy": (1.72,), "foldnorm": (1.95,),
    "gamma": (1.99,), "gausshyper": (3.76, 2.12, 1.51, 1.18), "genexpon": (9.1, 16.2, 3.28),
    "genextreme": (-0.1,), "gengamma": (4.42, 3.12), "genhalflogistic": (0.77,),
    "genhyperbolic": (0.5, 1.5, -0.5), "geninvgauss": (2.3, 1.5), "genlogistic": (0.41,),
    "gennorm": (1.3,), "genpareto": (0.1,), "gompertz": (0.95,), "halfgennorm": (0.67,),
    "invgamma": (5.3,), "invgauss": (0.145,), "invweibull": (10.58,), "irwinhall": (4,),
    "jf_skew_t": (8.0, 4.0), "johnsonsb": (4.32, 3.18), "johnsonsu": (2.55, 2.25),
    "kappa3": (9.0,), "kappa4": (0.3, 0.2), "ksone": (10,), "kstwo": (10,),
    "laplace_asymmetric": (2.0,), "levy_stable": (1.8, -0.5), "loggamma": (0.41,),
    "loglaplace": (3.25,), "lognorm": (0.95,), "loguniform": (0.2, 1.25), "lomax": (4.5,),
    "mielke": (10.4, 4.6), "nakagami": (4.97,), "ncf": (27.0, 27.0, 0.42), "nct": (14.0, 0.24),
    "ncx2": (21.0, 1.06), "norminvgauss": (1.25, 0.5), "pareto": (2.62,), "pearson3": (0.1,),
    "powerlaw": (1.66,), "powerlognorm": (2.14, 0.45), "powernorm": (4.45,), "rdist": (1.6,),
    "recipinvgauss": (0.63,), "reciprocal": (0.2, 1.25), "rel_breitwigner": (3.5,),
    "rice": (0.77,), "skewcauchy": (0.5,), "skewnorm": (4.0,), "studentized_range": (3.0, 10.0),
    "t": (2.74,), "trapezoid": (0.2, 0.8), "triang": (0.16,), "truncexpon": (4.69,),
    "truncnorm": (-1.1, 2.73), "truncpareto": (1.8, 5.3), "truncweibull_min": (2.5, 0.25, 1.75),
    "tukeylambda": (3.13,), "vonmises": (3.99,), "vonmises_line": (3.99,), "weibull_max": (2.87,),
    "weibull_min": (1.79,), "wrapcauchy": (0.31,),
    "bernoulli": (0.3,), "betabinom": (5, 2.3, 0.63), "betanbinom": (5, 9.3, 1.2),
    "binom": (5, 0.4), "boltzmann": (1.4, 19), "dlaplace": (0.8,), "geom": (0.5,),
    "hypergeom": (30, 12, 6), "logser": (0.6,), "nbinom": (2.4, 0.4),
    "nchypergeom_fisher": (14, 6, 8, 0.5), "nchypergeom_wallenius": (14, 6, 8, 0.5),
    "nhypergeom": (20, 7, 1), "planck": (0.51,), "poisson": (1.6,),
    "poisson_binom": (np.array([0.1, 0.6, 0.7]),), "randint": (7, 31), "skellam": (1.5, 0.8),
    "yulesimon": (11.0,), "zipf": (6.6,), "zipfian": (0.75, 15),
}  # fmt: skip
# What they draw by rejection moves with loc and scale alone.
SHAPES_ARE_FIXED = {
    "rvs": "argus beta betaprime chi chi2 dgamma erlang f gamma gengamma genhyperbolic gennorm "
    "halfgennorm invgamma invgauss jf_skew_t loggamma nakagami ncf nct ncx2 norminvgauss pearson3 "
    "rdist recipinvgauss rice t vonmises vonmises_line"
}
WITHOUT_FITS = ("irwinhall", "rv_histogram", "ksone", "kstwo")
# Their likelihood has no maximum by the scale.
ONLY_SHAPES_ARE_FITTED = ("bradford", "rv_continuous", "trapezoid", "tukeylambda", "wrapcauchy")


def finite(y):
    """The finite numbers of an output: what is infinite has no derivative."""
    if isinstance(y, tuple):
        return [finite(part) for part in y]
    y = np.asarray(y)
    return y[np.isfinite(y)]


def exact_search(f, start, args=(), disp=0):
    """A search that ends where differences of its result say something."""
    return optimize.fmin(f, start, args=args, disp=disp, xtol=1e-12, ftol=1e-15)


def function(x):
    return np.exp(-((x - 0.2) ** 2) / 8)


def with_shapes(name, values):
    """All shapes: the values are those of the real ones."""
    given = iter(values)
    return [next(given) if is_real(s) else s for s in SHAPES.get(name, ())]


def is_real(shape):
    return not isinstance(shape, int)


def reals(name):
    return [s for s in SHAPES.get(name, ()) if is_real(s)]


def continuous(name, distribution):
    """The sample calls of a continuous distribution."""
    given = reals(name)
    x = LOC + SCALE * distribution.ppf(np.array([0.21, 0.43, 0.83]), *SHAPES.get(name, ()))
    q = np.array([0.21, 0.43, 0.83])

    def by_points(f, x, *parameters):
        *shapes, loc, scale = parameters
        return f(x, *with_shapes(name, shapes), loc=loc, scale=scale)

    def by_parameters(f, *parameters):
        *shapes, loc, scale = parameters
        return finite(f(*with_shapes(name, shapes), loc=loc, scale=scale))

    def frozen(f, x, *parameters):
        *shapes, loc, scale = parameters
        return f(*with_shapes(name, shapes), loc, scale=scale).logpdf(x)

    def moment(f, *parameters):
        *shapes, loc, scale = parameters
        return finite(f(2, *with_shapes(name, shapes), loc=loc, scale=scale))

    def expect(f, *parameters):
        *shapes, loc, scale = parameters
        return f(function, tuple(with_shapes(name, shapes)), loc=loc, scale=scale)

    def nnlf(f, x, *parameters):
        return f((*with_shapes(name, parameters[:-2]), *parameters[-2:]), x)

    def fit(f, x):
        if name in ("loguniform", "reciprocal"):  # the most likely ends are at the data
            return f(x, floc=LOC, method="MM", optimizer=exact_search)
        if name in ONLY_SHAPES_ARE_FITTED:
            return f(x, floc=LOC, fscale=SCALE, optimizer=exact_search)
        shapes = {f"f{i}": shape for i, shape in enumerate(SHAPES.get(name, ()))}
        return f(x, **shapes, floc=LOC, optimizer=exact_search)

    def fit_loc_scale(f, x):
        return finite(f(x, *SHAPES.get(name, ())))

    def rvs(f, *parameters):
        *shapes, loc, scale = parameters
        shapes = with_shapes(name, shapes) if shapes else SHAPES.get(name, ())
        return f(*shapes, loc=loc, scale=scale, size=4, random_state=np.random.default_rng(5))

    fitted = np.array([*x, x[1] + 0.4 * (x[2] - x[1])])
    if name == "wrapcauchy":  # around both ends, where its density is largest
        fitted = LOC + SCALE * distribution.ppf(np.array([0.04, 0.1, 0.5, 0.93]), *given)
    drawn = [] if name in SHAPES_ARE_FIXED["rvs"].split() else given
    return [
        ("pdf logpdf cdf logcdf sf logsf", by_points, x, *given, LOC, SCALE),
        ("ppf isf", by_points, q, *given, LOC, SCALE),
        ("interval", by_points, 0.8, *given, LOC, SCALE),
        ("__call__ freeze", frozen, x, *given, LOC, SCALE),
        ("mean median std var stats support", by_parameters, *given, LOC, SCALE),
        *[("entropy", by_parameters, *given, LOC, SCALE)] * (name != "levy_stable"),  # SciPy fails
        ("moment", moment, *given, LOC, SCALE),
        *[("expect", expect, *given, LOC, SCALE)] * (name != "rv_histogram"),
        ("nnlf", nnlf, x, *given, LOC, SCALE),
        *[("fit", fit, fitted)] * (name not in WITHOUT_FITS),
        ("fit_loc_scale", fit_loc_scale, x),
        ("rvs", rvs, *drawn, LOC, SCALE),
    ]


def discrete(name, distribution):
    """The sample calls of a discrete distribution, by its real parameters."""
    given = reals(name)
    if not given:
        return [("expect", lambda f, a: f(lambda k: np.cos(a * k), SHAPES[name]), 0.4)]
    k = PLACE + distribution.ppf(np.array([0.21, 0.6, 0.9]), *SHAPES[name]).astype(int)

    def by_points(f, *parameters):
        return finite(f(k, *with_shapes(name, parameters), PLACE))

    def by_parameters(f, *parameters):
        return finite(f(*with_shapes(name, parameters), loc=PLACE))

    def frozen(f, *parameters):
        return finite(f(*with_shapes(name, parameters), PLACE).logpmf(k))

    def nnlf(f, *parameters):
        if name == "poisson_binom":  # SciPy takes one probability alone
            return f((parameters[0][:1], PLACE), PLACE + k % 2)
        return f((*with_shapes(name, parameters), PLACE), k)

    return [
        ("pmf logpmf cdf logcdf sf logsf", by_points, *given),
        ("__call__ freeze", frozen, *given),
        ("entropy mean std var stats", by_parameters, *given),
        ("moment", lambda f, *p: f(2, *with_shapes(name, p), PLACE), *given),
        ("expect", lambda f, *p: f(function, tuple(with_shapes(name, p)), PLACE), *given),
        ("nnlf", nnlf, *given),
    ]


class Power(stats.rv_continuous):
    """A distribution of a user's."""

    def _pdf(self, x, a):
        return a * x ** (a - 1)

    def _cdf(self, x, a):
        return x**a

    def _ppf(self, q, a):
        return q ** (1 / a)


class Steps(stats.rv_discrete):
    """A discrete distribution of a user's."""

    def _pmf(self, k, p):
        return (1 - p) * p**k


SHAPES["rv_continuous"], SHAPES["rv_discrete"] = (1.7,), (0.3,)
HISTOGRAM = np.array([1.0, 3.0, 2.0]), np.array([0.0, 0.5, 1.1, 2.0])
OF_CLASSES = {
    "rv_continuous": (Power(a=0, b=1, name="power"), continuous),
    "rv_discrete": (Steps(name="steps"), discrete),
    "rv_histogram": (stats.rv_histogram(HISTOGRAM, density=False), continuous),
}


def in_place_of_class(body, distribution):
    """A body that gets the method of a distribution of its class."""
    return lambda cls, call, *args: body(lambda *a, **k: call(distribution, *a, **k), *args)


def of_owner(body):
    """A body that gets the method of its distribution."""
    return lambda owner, call, *args: body(lambda *a, **k: call(owner, *a, **k), *args)


def samples():
    """The sample calls of each distribution: its public name → rows."""
    found = {}
    for name, (made, rows) in OF_CLASSES.items():
        found[f"scipy.stats.{name}"] = [
            (names, in_place_of_class(body, made), *args) for names, body, *args in rows(name, made)
        ]
    for name in dir(stats):
        distribution = getattr(stats, name)
        if not isinstance(distribution, (stats.rv_continuous, stats.rv_discrete)):
            continue
        rows = continuous if isinstance(distribution, stats.rv_continuous) else discrete
        found[f"scipy.stats.{name}"] = [
            (names, of_owner(body), *args) for names, body, *args in rows(name, distribution)
        ]
    return found


SAMPLES = samples()

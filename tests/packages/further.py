"""Fuzzy sets, meshes, shapes, statistics and what reads texts, in packages of other fields."""

import math

import numpy as np

from tests.packages.table import V, call, imported

quantities = imported("quantities")
skfuzzy = imported("skfuzzy")
dynesty = imported("dynesty.utils")
celerite = imported("celerite")
shapely = imported("shapely")
trimesh = imported("trimesh")
pingouin = imported("pingouin")
ephem = imported("ephem")
asteval = imported("asteval")
formulaic = imported("formulaic")
satellites = imported("sgp4.api")
satellites_in_python = imported("sgp4.model")
orbits = imported("sgp4.ext")
boltons = imported("boltons")
statistics = imported("boltons.statsutils")
seaborn = imported("seaborn._statistics")
pandas = imported("pandas")

U = np.linspace(0.0, 10.0, 50)
T = np.linspace(0.0, 3.0, 12)
W = np.array([1.0, 0.4, 2.0, 1.1, 3.0])
LINES = (
    "1 25544U 98067A   19343.69339541  .00001764  00000-0  38792-4 0  9991",
    "2 25544  51.6439 211.2001 0007417  17.6667  85.6398 15.50103472202482",
)
if trimesh is not None:
    box = trimesh.creation.box()


@call(quantities, 2.0)
def speed_in_units(x):
    return float((x * quantities.m / (3 * quantities.s)).rescale("km/h"))


@call(quantities, V)
def squares_in_units(x):
    return ((x * quantities.m) ** 2).sum().rescale("cm**2").item()


@call(quantities, V)
def mean_in_units(x):
    return np.mean(x * quantities.mm).rescale("m").magnitude * 1000


@call(quantities, 2.0)
def energy_in_units(m):
    v = 3 * quantities.m / quantities.s
    return float((m * quantities.kg * v**2 / 2).rescale(quantities.J).magnitude)


@call(skfuzzy, np.array([2.0, 5.0, 8.0]))
def triangle(p):
    return skfuzzy.trimf(U, p).sum()


@call(skfuzzy, 4.2)
def defuzzified(m):
    return skfuzzy.defuzz(U, skfuzzy.gaussmf(U, m, 1.3), "centroid")


@call(skfuzzy, 4.2)
def membership(x):
    return skfuzzy.interp_membership(U, skfuzzy.gaussmf(U, 5, 2), x)


@call(skfuzzy, 2.2)
def fuzzy_and(b):
    return skfuzzy.fuzzy_and(U, skfuzzy.sigmf(U, b, 1.0), U, skfuzzy.gaussmf(U, 5, 2))[1].sum()


@call(dynesty, V)
def weighted_covariance(x):
    samples = np.sqrt(np.arange(10.0)).reshape(5, 2)
    mean, covariance = dynesty.mean_and_cov(samples, np.exp(x) / np.exp(x).sum())
    return mean.sum() + covariance.sum()


@call(dynesty, V)
def weighted_quantile(x):
    return dynesty.quantile(np.array([1.0, 4.0, 2.0, 7.0, 5.0]), [0.3, 0.6], weights=x)[0]


@call(celerite, 0.3, r"celerite\.solver\.get_kernel_value has no rule")
def kernel_in_c(a):
    return celerite.terms.RealTerm(log_a=a, log_c=0.2).get_value(T).sum()


@call(celerite, 0.3, r"celerite\.solver\.compute has no rule")
def likelihood_in_c(a):
    process = celerite.GP(celerite.terms.RealTerm(log_a=a, log_c=0.2))
    process.compute(T, 0.1)
    return process.log_likelihood(np.sin(T))


@call(shapely, V[:3], "linearrings has no rule")
def area_of_a_polygon(x):
    return shapely.Polygon([(0, 0), (x[1], 0), (x[1], x[2]), (0, 1.0)]).area


@call(shapely, 0.7, "points has no rule")
def distance_of_points(x):
    return shapely.Point(x, 1.0).distance(shapely.Point(0, 0))


@call(trimesh, V[:3])
def unit_vector(x):
    return trimesh.util.unitize(x)[0]


@call(trimesh, V[:3])
def turned_by_angles(x):
    return trimesh.transformations.euler_matrix(*x)[:2].sum()


@call(trimesh, V[:3])
def moved_vertices(x):
    matrix = trimesh.transformations.translation_matrix(x)
    return trimesh.transform_points(box.vertices, matrix)[:, 0].sum()


@call(trimesh, V[:3])
def quaternion_of_angles(x):
    return trimesh.transformations.quaternion_from_euler(*x)[1]


@call(trimesh, V[:1], "TrackedArray")
def volume_of_a_mesh(x):
    return trimesh.Trimesh(box.vertices * x, box.faces, process=False).volume


@call(pingouin, V)
def effect_size(x):
    return pingouin.compute_effsize(x, W, eftype="cohen")


@call(pingouin, V)
def t_test(x):
    return float(pingouin.ttest(x, W)["T"].iloc[0])


@call(pingouin, V)
def correlation(x):
    return float(pingouin.corr(x, W)["r"].iloc[0])


@call(pingouin, V)
def circular_mean(x):
    return pingouin.circ_mean(x) + pingouin.circ_r(x)


@call(pingouin, 0.4)
def converted_effect(d):
    return pingouin.convert_effsize(d, "cohen", "eta_square")


@call(pingouin, 0.4)
def power_of_a_test(d):
    return pingouin.power_ttest(d=d, n=20)


@call(pingouin, V)
def bayes_factor(x):
    return float(np.log(pingouin.bayesfactor_ttest(x[0], 20)))


@call(pingouin, V)
def distance_correlation(x):
    return pingouin.distance_corr(x, W, n_boot=None)


@call(pingouin, V)
def shapiro(x):
    return float(pingouin.normality(x)["W"].iloc[0])


@call(ephem, 0.7, "C code that has no rule")
def separation_in_the_sky(x):
    return float(ephem.separation((x, 0.3), (0.1, 0.2)))


@call(ephem, 40000.0, "C code that has no rule")
def ascension_of_the_sun(date):
    sun = ephem.Sun()
    sun.compute(date)
    return float(sun.ra)


@call(asteval, 0.7)
def text_of_an_expression(x):
    interpreter = asteval.Interpreter()
    interpreter.symtable["x"] = x
    return interpreter("sin(x)*x**2 + 3")


@call(asteval, 0.7)
def text_of_a_loop(x):
    interpreter = asteval.Interpreter()
    interpreter.symtable["x"] = x
    interpreter("s = 0\nfor i in range(4):\n  s = s + x**i")
    return interpreter.symtable["s"]


@call(formulaic, V, "traced column of pandas")
def matrix_of_a_model(x):
    matrix = formulaic.model_matrix("x + I(x**2)", pandas.DataFrame({"x": x}))
    return (np.asarray(matrix) ** 2).sum()


@call(formulaic, V, "traced column of pandas")
def logarithm_in_a_model(x):
    formula = formulaic.Formula("0 + log(x)")
    return formula.get_model_matrix(pandas.DataFrame({"x": x})).sum().sum()


@call(satellites, 0.5, "C code that has no rule")
def orbit_in_c(day):
    return satellites.Satrec.twoline2rv(*LINES).sgp4(2458827.0, day)[1][0]


@call(satellites_in_python, 0.5)
def orbit_in_python(day):
    return satellites_in_python.Satrec.twoline2rv(*LINES).sgp4(2458827.0, day)[1][0]


@call(orbits, 0.5)
def anomaly(m):
    return orbits.newtonnu(0.1, m)[0]


@call(orbits, np.array([7000.0, 100.0, 50.0]), h=1e-2)
def elements_of_an_orbit(r):
    return orbits.rv2coe(r, [0.1, 7.5, 0.3], 398600.4)[1]


@call(statistics, V)
def deviation_of_a_list(x):
    numbers = statistics.Stats(list(x))
    return numbers.std_dev + numbers.median + numbers.trimean


@call(boltons, V)
def products_of_chunks(x):
    return sum(math.prod(c) for c in imported("boltons.iterutils").chunked(list(x), 2))


@call(boltons, 2.4)
def wrapped_by_boltons(x):
    def f(a, b=2):
        return a * b

    @imported("boltons.funcutils").wraps(f)
    def g(*args, **kwargs):
        return f(*args, **kwargs) ** 2

    return g(x)


@call(boltons, 2.4, "A set, dict key or cache")
def cached_by_boltons(x):
    caches = imported("boltons.cacheutils")
    return caches.cached(caches.LRU(4))(lambda y: y * y)(x)


@call(seaborn, V)
def density_of_seaborn(x):
    return seaborn.KDE()(x)[0].sum()


@call(seaborn, V)
def histogram_of_seaborn(x):
    return seaborn.Histogram(stat="density", bins=3)(x)[0].sum()


@call(seaborn, V)
def estimate_of_seaborn(x):
    aggregated = seaborn.EstimateAggregator("mean", "sd")(pandas.DataFrame({"v": x}), "v")
    return aggregated["v"] + aggregated["vmax"]

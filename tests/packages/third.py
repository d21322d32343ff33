"""Sound, finance, games, transport of mass, weather, geostatistics: a third set of packages."""

import math

import numpy as np

from tests.packages.table import M, V, call, imported

nashpy = imported("nashpy")
transport = imported("ot")
graphs = imported("pygsp.graphs")
proximal = imported("pyunlocbox.functions")
options = imported("vollib.black_scholes")
volatilities = imported("pysabr")
costs = imported("iminuit.cost")
resampy = imported("resampy")
librosa = imported("librosa")
loudness = imported("pyloudnorm")
spectrum = imported("spectrum")
antropy = imported("antropy")
riemann = imported("pyriemann.geometry.distance")
sensitivity = imported("SALib.analyze.sobol")
chaospy = imported("chaospy")
pylops = imported("pylops")
metpy = imported("metpy.calc")
gstools = imported("gstools")
pwlf = imported("pwlf")
scores = imported("properscoring")
csaps = imported("csaps")
warping = imported("tslearn.metrics")
heat = imported("thermofeel")
hmm = imported("hmmlearn.hmm")
returns = imported("quantstats.stats")
brain = imported("bct")
baselines = imported("pybaselines")
clifford = imported("clifford")
if options is not None:
    import vollib.black_scholes.implied_volatility
if metpy is not None:
    from metpy.units import units
if returns is not None:
    import pandas as pd
if clifford is not None:
    from clifford import g3
if hmm is not None:
    model = hmm.GaussianHMM(n_components=2)
    model.startprob_, model.transmat_ = np.array([0.6, 0.4]), np.array([[0.7, 0.3], [0.2, 0.8]])
    model.means_, model.covars_ = np.array([[0.0], [1.0]]), np.array([[0.5], [0.3]])
    model.n_features = 1

SIGNAL = np.sin(np.arange(64) * 0.3) + 0.2 * np.cos(np.arange(64) ** 1.3)
LONG = np.tile(SIGNAL, 8)
RETURNS = 0.01 * np.cos(np.arange(40.0) ** 1.5)
FIVE = np.arange(5.0)
FIFTH = np.full(5, 0.2)


@call(nashpy, M)
def value_of_a_game(a):
    strategies = np.array([0.2, 0.5, 0.3]), np.array([0.1, 0.6, 0.3])
    return nashpy.Game(a, -M.T)[strategies].sum()


@call(nashpy, M)
def dynamics_of_replicators(a):
    times = np.linspace(0, 2, 11)
    return nashpy.Game(a).replicator_dynamics(y0=np.full(3, 1 / 3), timepoints=times)[-1, 0]


@call(transport, (V[:, None] - V[::-1]) ** 2 + 0.1, rtol=1e-4)
def entropic_cost(c):
    return transport.sinkhorn2(FIFTH, FIFTH, c, 1.0)


@call(transport, V)
def transport_on_a_line(x):
    return transport.wasserstein_1d(x, V * 2, p=2)


@call(transport, V, r"emd_c has no rule")
def exact_cost(x):
    return transport.emd2(FIFTH, FIFTH, (x[:, None] - V[::-1]) ** 2)


@call(graphs, V)
def fourier_on_a_graph(x):
    graph = graphs.Path(5)
    graph.compute_fourier_basis()
    return (graph.gft(x) ** 3).sum() + graph.dirichlet_energy(x)


@call(proximal, V)
def proximal_operator(x):
    return proximal.norm_l1().prox(x, 0.5) @ V + proximal.norm_tv(dim=1).eval(x)


@call(options, 100.0, h=1e-4)
def price_of_a_call(s):
    return options.black_scholes("c", s, 95.0, 0.5, 0.02, 0.3)


@call(options, 9.0, h=1e-4)
def implied_volatility(price):
    find = vollib.black_scholes.implied_volatility.implied_volatility
    return find(price, 100.0, 105.0, 0.5, 0.02, "c")


@call(volatilities, 0.3)
def smile(v):
    smiling = volatilities.Hagan2002LognormalSABR(
        f=0.025, shift=0.03, t=1.0, v_atm_n=0.004, beta=0.5, rho=-0.2, volvol=v
    )
    return smiling.lognormal_vol(0.03)


@call(costs, np.array([0.4, 1.3]))
def cost_of_a_fit(p):
    return costs.LeastSquares(FIVE, V, 0.3, lambda x, a, b: a + b * x)(*p)


@call(resampy, SIGNAL)
def resampled(x):
    return (resampy.resample(x, 64, 32) ** 2).sum()


@call(librosa, LONG, h=1e-5)
def cepstrum(y):
    found = librosa.feature.mfcc(y=y, sr=8000, n_fft=128, hop_length=64, n_mels=10, n_mfcc=5)
    return found.sum()


@call(librosa, SIGNAL, h=1e-5)
def there_and_back_by_stft(y):
    frames = librosa.stft(y, n_fft=64, hop_length=16)
    return librosa.istft(frames, n_fft=64, hop_length=16) @ SIGNAL + np.abs(frames).sum()


@call(loudness, 0.5)
def integrated_loudness(gain):
    tone = 0.3 * np.sin(np.arange(8000) * 0.2)
    return loudness.Meter(8000).integrated_loudness(tone * gain)


@call(spectrum, SIGNAL)
def autoregression(x):
    return spectrum.arburg(x, 3)[0].real.sum() + spectrum.aryule(x, 3)[0].sum()


@call(antropy, SIGNAL)
def complexity(x):
    return sum(antropy.hjorth_params(x)) + antropy.spectral_entropy(x, 1.0, method="fft")


@call(antropy, SIGNAL)
def fractal_dimension(x):
    return antropy.higuchi_fd(x) + antropy.detrended_fluctuation(x)


@call(riemann, M)
def distance_of_covariances(m):
    other = M.T @ M + np.eye(3)
    return riemann.distance_riemann(m @ m.T, other) + riemann.distance_logeuclid(m @ m.T, other)


@call(sensitivity, np.cos(np.arange(64.0) ** 1.2), h=1e-5)
def indices_of_sobol(y):
    problem = {"num_vars": 3, "names": ["a", "b", "c"], "bounds": [[0, 1]] * 3}
    return sensitivity.analyze(problem, y, num_resamples=2, seed=1)["S1"].sum()


@call(chaospy, 0.5)
def distribution_of_chaospy(m):
    return chaospy.Normal(m, 1.2).cdf(V).sum() + chaospy.Gamma(2.0 + m).inv(V / 3).sum()


# An array of records, or a function that some releases of numpoly have in Cython.
@call(chaospy, V, "does not keep it as it is|cfrom_attributes has no rule")
def expansion_in_a_structured_array(x):
    return chaospy.generate_expansion(2, chaospy.Uniform(-1, 1))(x).sum()


@call(pylops, V)
def linear_operators(x):
    derivative = pylops.FirstDerivative(5) * x
    return derivative @ V + np.abs(pylops.signalprocessing.FFT(5, nfft=8) * x).sum()


@call(metpy, 25.0)
def dew_point_with_units(t):
    return metpy.dewpoint_from_relative_humidity(t * units.degC, 0.5).m


@call(metpy, np.linspace(280.0, 260.0, 5))
def thickness_of_a_layer(t):
    return metpy.thickness_hydrostatic(np.linspace(1000, 600, 5) * units.hPa, t * units.K).m


@call(gstools, 1.5)
def variogram(length):
    return gstools.Exponential(dim=1, var=2.0, len_scale=length).variogram(V).sum()


@call(gstools, V, "gstools_cython")
def kriging_in_cython(z):
    kriging = gstools.krige.Ordinary(gstools.Gaussian(dim=1, var=0.5, len_scale=2), FIVE, z)
    return kriging(np.array([1.5, 2.5]), return_var=False).sum()


@call(pwlf, 2.1)
def piecewise_fit(place):
    return pwlf.PiecewiseLinFit(FIVE, V).fit_with_breaks([0, place, 4.0])


@call(scores, V)
def score_of_an_ensemble(x):
    return scores.crps_ensemble(0.8, x) + scores.crps_gaussian(x, 0.5, 1.2).sum()


@call(csaps, V)
def smoothing_spline(y):
    return csaps.csaps(FIVE, y, [1.5, 2.5], smooth=0.8).sum()


@call(warping, V)
def soft_warping(x):
    return warping.soft_dtw(x, V[::-1], gamma=0.5) + warping.dtw(x, V[::-1])


@call(heat, 300.0)
def felt_temperature(t):
    return heat.calculate_wbt(t, 60.0) + heat.calculate_saturation_vapour_pressure(t)


@call(hmm, V, r"hmmlearn\._hmmc\.forward_log has no rule")
def chain_in_pybind11(x):
    return model.score(x[:, None])


@call(returns, RETURNS)
def deepest_drawdown(r):
    return returns.max_drawdown(pd.Series(r, index=pd.date_range("2020-01-01", periods=40)))


@call(returns, RETURNS, "Finding equal numbers")
def cache_by_a_hash_of_numbers(r):
    return returns.sharpe(pd.Series(r, index=pd.date_range("2020-01-01", periods=40)))


@call(brain, M)
def clustering_of_a_brain(w):
    return brain.clustering_coef_wu((w + w.T) / 6).sum() + brain.efficiency_wei((w + w.T) / 6)


@call(baselines, SIGNAL)
def baseline(y):
    fitter = baselines.Baseline(np.arange(64.0))
    return (fitter.asls(y, lam=10, p=0.1, max_iter=3)[0] @ SIGNAL) + fitter.poly(y, 2)[0].sum()


@call(clifford, 0.7)
def rotor(a):
    plane = g3.blades["e1"] ^ g3.blades["e2"]
    turning = math.cos(a / 2) - math.sin(a / 2) * plane
    return (turning * g3.blades["e1"] * ~turning)[1]

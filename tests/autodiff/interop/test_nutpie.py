"""NUTS by nutpie on eight schools and on a differential equation, against known posteriors."""

import numpy as np
import pytest
from scipy import integrate

from autodiff import ArgumentError
from autodiff.optimize import covariance, minimize

pytestmark = pytest.mark.filterwarnings("ignore")  # of arviz, on its next version


@pytest.fixture
def sampled(nutpie):
    from autodiff.interop import to_nutpie

    def sample(f, start, draws=1000, tune=500, chains=2, **options):
        model = to_nutpie(f, start, **options)
        return nutpie.sample(
            model, draws=draws, tune=tune, chains=chains, seed=3, progress_bar=False
        ).posterior

    return sample


EFFECTS = np.array([28.0, 8.0, -3.0, 7.0, -1.0, 1.0, 18.0, 12.0])
ERRORS = np.array([15.0, 10.0, 16.0, 11.0, 9.0, 11.0, 10.0, 18.0])


def eight_schools(p):
    """Rubin's eight schools, not centred; tau has a half-normal prior of scale 5."""
    tau = np.exp(p["log_tau"])
    effects = p["mu"] + tau * p["z"]
    prior = -0.5 * (p["mu"] / 5) ** 2 - 0.5 * np.sum(p["z"] ** 2) - 0.5 * (tau / 5) ** 2
    return prior + p["log_tau"] - 0.5 * np.sum(((EFFECTS - effects) / ERRORS) ** 2)


def by_integration():
    """The posterior means of mu and tau: given tau, mu and the effects are normal."""
    tau = np.linspace(1e-3, 40, 20001)[:, None]
    variance = tau**2 + ERRORS**2
    precision = np.sum(1 / variance, axis=1) + 1 / 25
    mean = np.sum(EFFECTS / variance, axis=1) / precision
    log = -0.5 * np.sum(np.log(variance) + EFFECTS**2 / variance, axis=1)
    log += 0.5 * (mean**2 * precision - np.log(precision)) - 0.5 * (tau[:, 0] / 5) ** 2
    weights = np.exp(log - log.max())
    return np.sum(weights * mean) / weights.sum(), np.sum(weights * tau[:, 0]) / weights.sum()


def test_eight_schools(sampled):
    start = {"mu": 0.0, "log_tau": 0.0, "z": np.zeros(8), "name": "schools"}
    draws = sampled(eight_schools, start, draws=2000)
    assert set(draws.data_vars) == {"mu", "log_tau", "z"}
    mean, tau = by_integration()
    assert float(draws["mu"].mean()) == pytest.approx(mean, abs=0.4)
    assert float(np.exp(draws["log_tau"]).mean()) == pytest.approx(tau, abs=0.4)


def test_rates_of_a_differential_equation(sampled):
    times = np.linspace(0, 5, 12)

    def decay(p):
        rate, gain = np.exp(p["log"]["rate"]), np.exp(p["log"]["gain"])

        def change(t, z):
            return [gain - rate * z[0]]

        return integrate.solve_ivp(change, (0, 5), [0.2], t_eval=times, rtol=1e-6, atol=1e-6).y[0]

    true = {"log": {"rate": np.log(0.8), "gain": np.log(1.5)}}
    seen = decay(true) + 0.02 * np.sin(7 * np.arange(12.0) ** 2)

    def misfit(p):
        return 0.5 * np.sum(((decay(p) - seen) / 0.02) ** 2)

    draws = sampled(lambda p: -misfit(p), true, draws=150, tune=100, chains=1, jitter=0.05)
    fit = minimize(misfit, true, method="L-BFGS-B")
    spread = np.sqrt(np.diag(covariance(misfit, fit.params)))
    for i, name in enumerate(["log.rate", "log.gain"]):
        assert float(draws[name].mean()) == pytest.approx(fit.x[i], abs=0.5 * spread[i])
        assert float(draws[name].std()) == pytest.approx(spread[i], rel=0.35)


def test_one_array_and_what_cannot_be_sampled(sampled):
    draws = sampled(lambda x, s: -0.5 * np.sum((x / s) ** 2), np.zeros(3), draws=2000, args=(2.0,))
    assert draws["x"].shape == (2, 2000, 3)
    assert float(draws["x"].std()) == pytest.approx(2.0, rel=0.05)
    for start in ({"z": 1j}, {"n": 3}):
        with pytest.raises(ArgumentError, match="must hold floats"):
            sampled(lambda p: 0.0, start)

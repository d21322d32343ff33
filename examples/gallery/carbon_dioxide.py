"""
A Gaussian process on the carbon dioxide of Mauna Loa
=====================================================

We subtract a parabola from the measurements and model the rest as a Gaussian process with a slow
part and a season. The marginal likelihood determines its hyperparameters. It needs a Cholesky
factorisation and a linear solve, which both have rules.
"""

from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from scipy.linalg import cho_factor, cho_solve

from autodiff.optimize import minimize

DATA = Path("../data/mauna_loa_co2.csv")
year, ppm = np.loadtxt(DATA, delimiter=",", skiprows=1, unpack=True)[:, ::3]
x, learn = year - 1980, year < 1995
line = np.polynomial.Polynomial.fit(x[learn], ppm[learn], 2)

# %%
# The kernel has a slow part, a season whose shape drifts slowly, and noise.


def kernel(p, a, b):
    d = a[:, None] - b[None, :]
    size, length, season, drift, width = np.exp(p["log"])
    slow = size**2 * np.exp(-0.5 * (d / length) ** 2)
    wave = np.exp(-0.5 * (d / drift) ** 2 - 2 * (np.sin(np.pi * d) / width) ** 2)
    return slow + season**2 * wave


def covariance(p, x):
    return kernel(p, x, x) + np.exp(2 * p["noise"]) * np.eye(len(x))


def loss(p, x, y):
    factor = cho_factor(covariance(p, x), lower=True)
    return 0.5 * y @ cho_solve(factor, y) + np.sum(np.log(np.diag(factor[0])))


start = {"log": np.log([2.0, 5.0, 3.0, 50.0, 1.5]), "noise": np.log(0.5)}
fit = minimize(loss, start, args=(x[learn], ppm[learn] - line(x[learn])), method="L-BFGS-B")
print(f"{fit.nfev} evaluations; noise of {np.exp(fit.params['noise']):.2f} ppm")

# %%
# Predict the years from 1995 on.

new = np.linspace(1958, 2005, 500) - 1980
inverse = np.linalg.inv(covariance(fit.params, x[learn]))
across = kernel(fit.params, new, x[learn])
predicted = line(new) + across @ inverse @ (ppm[learn] - line(x[learn]))
spread = np.exp(2 * fit.params["log"][0]) + np.exp(2 * fit.params["log"][2])
error = np.sqrt(np.maximum(spread - np.sum((across @ inverse) * across, axis=1), 0))
figure, axis = plt.subplots(figsize=(9, 4), layout="constrained")
axis.fill_between(1980 + new, predicted - 2 * error, predicted + 2 * error, alpha=0.3)
axis.plot(1980 + new, predicted, linewidth=1, label="prediction")
axis.plot(year[learn], ppm[learn], ".", markersize=3, label="used for the fit")
axis.plot(year[~learn], ppm[~learn], ".", markersize=3, label="held out")
axis.set_ylabel("CO₂, ppm")
axis.legend()
held_out = np.interp(year[~learn], 1980 + new, predicted)
rmse = np.sqrt(np.mean((held_out - ppm[~learn]) ** 2))
axis.set_title(f"seven years ahead: {rmse:.1f} ppm off")
plt.show()

"""
Lynx and hare: fitting a differential equation
==============================================

The data are the furs, in thousands, that the Hudson's Bay Company collected from 1900 to 1920. We
fit the equations of Lotka and Volterra for predators and prey. ``solve_ivp`` has a rule, which
differentiates the solution through the steps that the solver takes.
"""

from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from scipy.integrate import solve_ivp

from autodiff.optimize import least_squares

DATA = Path("../data/lynx_hare.csv")
year, lynx, hare = np.loadtxt(DATA, delimiter=",", skiprows=1, unpack=True)
t = year - year[0]

# %%
# All parameters are positive, so we fit their logarithms.


def populations(p, t):
    birth, eaten, growth, death = np.exp(p["rates"])

    def change(t, y):
        hare, lynx = y
        return [birth * hare - eaten * hare * lynx, growth * hare * lynx - death * lynx]

    return solve_ivp(change, (t[0], t[-1]), np.exp(p["start"]), t_eval=t, rtol=1e-7).y


def residuals(p):
    return np.log(populations(p, t)) - np.log([hare, lynx])


start = {"rates": np.log([0.5, 0.03, 0.03, 0.8]), "start": np.log([30.0, 4.0])}
fit = least_squares(residuals, start)
birth, eaten, growth, death = np.exp(fit.params["rates"])
print(f"a hare has {birth:.2f} young a year; a lynx dies at a rate of {death:.2f}")
print("evaluations:", fit.nfev)

# %%
# The data and the fit.

fine = np.linspace(0, t[-1], 400)
model = populations(fit.params, fine)
figure, axis = plt.subplots(figsize=(8, 4), layout="constrained")
for data, curve, name, colour in [(hare, model[0], "hare", "C0"), (lynx, model[1], "lynx", "C1")]:
    axis.plot(year, data, "o", color=colour, label=f"{name}, furs")
    axis.plot(year[0] + fine, curve, color=colour, label=f"{name}, fitted")
axis.set_xlabel("year")
axis.set_ylabel("thousands")
axis.legend(ncols=2)
plt.show()

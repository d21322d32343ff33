"""
Where is the heater? An inverse problem of the heat equation
============================================================

A plate has a cold edge, a heater in an unknown place, and twelve thermometers. Its steady
temperature is the solution of a sparse linear system. The rule for the solver solves once with the
transposed matrix.
"""

import matplotlib.pyplot as plt
import numpy as np
import scipy.sparse as sp
from scipy.sparse.linalg import spsolve

from autodiff.optimize import least_squares

n = 40
line = (np.arange(n) + 1) / (n + 1)
second = sp.diags_array([-1.0, 2.0, -1.0], offsets=[-1, 0, 1], shape=(n, n)) * (n + 1) ** 2
eye = sp.eye_array(n)
laplacian = (sp.kron(second, eye) + sp.kron(eye, second)).tocsc()
x, y = np.meshgrid(line, line, indexing="ij")

# %%
# The model, and the readings of the thermometers.


def temperature(p):
    heat = np.exp(p["strength"] - ((x - p["x"]) ** 2 + (y - p["y"]) ** 2) / (2 * 0.05**2))
    return spsolve(laplacian, heat.ravel()).reshape(n, n)


rng = np.random.default_rng(3)
places = tuple(rng.integers(2, n - 2, size=(2, 12)))
true = {"x": 0.68, "y": 0.31, "strength": 4.0}
shown = temperature(true)[places] + 1e-3 * rng.normal(size=12)

fit = least_squares(lambda p: temperature(p)[places] - shown, {"x": 0.5, "y": 0.5, "strength": 3.0})
print({name: round(float(value), 2) for name, value in fit.params.items()}, "in", fit.nfev, "steps")

# %%
# The temperature that we found.

figure, axis = plt.subplots(figsize=(5.5, 4.5), layout="constrained")
shades = axis.pcolormesh(line, line, temperature(fit.params).T, cmap="inferno")
figure.colorbar(shades, label="temperature")
axis.plot(line[places[0]], line[places[1]], "wo", markersize=5, label="thermometers")
axis.plot(true["x"], true["y"], "c+", markersize=16, label="the heater")
axis.plot(fit.params["x"], fit.params["y"], "cx", markersize=12, label="found")
axis.set_aspect("equal")
axis.legend(loc="upper left")
plt.show()

"""
pvlib: which way to turn a solar panel
======================================

How much energy does a panel in Turin collect in a year without clouds? pvlib computes the position
of the sun, the monthly turbidity of the air, and the light on a tilted plane. We differentiate
through pvlib's own code, which does not change. This example needs ``pip install pvlib``.
"""

import warnings

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pvlib

from autodiff import gradient
from autodiff.optimize import minimize

warnings.filterwarnings("ignore", "DatetimeIndex.dayofyear")  # pvlib's, with a new pandas
turin = pvlib.location.Location(45.07, 7.69, tz="UTC", altitude=240)
hours = pd.date_range("2023-01-01", "2024-01-01", freq="2h", inclusive="left", tz="UTC")
sky = turin.get_clearsky(hours)
sun = turin.get_solarposition(hours)
shines = sun["apparent_zenith"].to_numpy() < 88
sky, sun, extra = sky[shines], sun[shines], pvlib.irradiance.get_extra_radiation(hours[shines])
direct, level, diffuse = sky["dni"].to_numpy(), sky["ghi"].to_numpy(), sky["dhi"].to_numpy()
zenith, azimuth = sun["apparent_zenith"].to_numpy(), sun["azimuth"].to_numpy()

# %%
# Two angles in degrees: the tilt, and the direction (180 is south).


def yearly(p):
    light = pvlib.irradiance.get_total_irradiance(
        p["tilt"], p["facing"], zenith, azimuth, direct, level, diffuse,
        dni_extra=extra.to_numpy(), model="haydavies",
    )  # fmt: skip
    return 2 * np.sum(light["poa_global"]) / 1000  # kWh for each square metre


flat = {"tilt": 10.0, "facing": 120.0}
print("one degree more:", {name: round(slope, 2) for name, slope in gradient(yearly, flat).items()})
fit = minimize(lambda p: -yearly(p) / 1000, flat, method="BFGS")
best = fit.params
print(f"{yearly(flat):.0f} kWh, and {yearly(best):.0f} at the best angles: {best}")

# %%
# The energy for all angles, and the path of the solver.

tilts, facings = np.linspace(0, 90, 11), np.linspace(90, 270, 13)
energy = [[yearly({"tilt": tilt, "facing": facing}) for facing in facings] for tilt in tilts]
figure, axis = plt.subplots(figsize=(7, 4), layout="constrained")
shown = axis.contourf(facings, tilts, energy, 15)
figure.colorbar(shown, label="kWh for each square metre and year")
axis.plot(flat["facing"], flat["tilt"], "wo", label="before")
axis.plot(best["facing"], best["tilt"], "w*", markersize=14, label="best")
axis.set_xlabel("facing (180: south)")
axis.set_ylabel("tilt")
axis.legend()
plt.show()

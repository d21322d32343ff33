"""
A PyTorch model with a SciPy layer
==================================

The carbon dioxide above Mauna Loa has a season and a slow trend. A PyTorch network models the
season. The trend is a smoothing spline, computed by SciPy's solver for banded equations:
``to_torch`` makes it a layer like any other. PyTorch's optimiser trains the network and the
stiffness of the spline together. This example needs ``pip install 'chainrules-autodiff[torch]'``.
These pages are built without PyTorch, so the output of the script is shown at its end. ``make
systems`` runs it.
"""

from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import torch
from scipy.linalg import solveh_banded

from autodiff.interop import to_torch

DATA = Path("../data/mauna_loa_co2.csv")
year, co2 = np.loadtxt(DATA, delimiter=",", skiprows=1).T
n = len(co2)
known = np.random.default_rng(0).random(n) < 0.7  # the other months are for the loss
second = np.diff(np.eye(n), 2, axis=0)
roughness = np.array([np.pad(np.diagonal(second.T @ second, k), (k, 0)) for k in (2, 1, 0)])


@to_torch
def trend(stiffness, rest):
    """The smooth curve through what is known of the rest."""
    bands = np.exp(stiffness) * roughness
    bands[2] += known
    return solveh_banded(bands, np.where(known, rest, 0.0))


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.stiffness = torch.nn.Parameter(torch.zeros(()))
        self.season = torch.nn.Sequential(
            torch.nn.Linear(2, 16), torch.nn.Tanh(), torch.nn.Linear(16, 1)
        )

    def forward(self, phase, seen):
        season = self.season(phase)[:, 0]
        season = season - season.mean()
        return season, trend(self.stiffness, seen - season)


# %%
# Train: the loss counts only the months that the spline has not seen.

torch.manual_seed(0)
torch.set_default_dtype(torch.float64)
model = Model()
angle = 2 * np.pi * (year % 1)
phase = torch.tensor(np.stack([np.cos(angle), np.sin(angle)], axis=1))
seen, hidden = torch.tensor(co2), torch.tensor(~known)
optimiser = torch.optim.Adam(model.parameters(), lr=0.05)
for _step in range(100):
    optimiser.zero_grad()
    season, smooth = model(phase, seen)
    loss = torch.mean((season + smooth - seen)[hidden] ** 2)
    loss.backward()
    optimiser.step()
rmse = loss.item() ** 0.5
stiffness = np.exp(model.stiffness.item())
print(f"months that were left out: ± {rmse:.2f} ppm; stiffness {stiffness:.1f}")
torch.set_default_dtype(torch.float32)

# %%
# The trend and the season.

season, smooth = season.detach().numpy(), smooth.detach().numpy()
figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3.6), layout="constrained")
left.plot(year, co2, ".", markersize=3, color="grey", label="measured")
left.plot(year, smooth, "C0", label="trend, by SciPy")
left.set_ylabel("ppm")
left.legend()
month = np.argsort(year % 1)
right.plot((year % 1)[month], (co2 - smooth)[month], ".", markersize=3, color="grey")
right.plot((year % 1)[month], season[month], "C1", label="season, by PyTorch")
right.set_xlabel("part of the year")
right.legend()
plt.show()

# %%
# .. image:: /_static/torch_and_scipy.png
#    :alt: The trend through the measurements, and the season around it
#
# .. code-block:: text
#
#     months that were left out: ± 0.28 ppm; stiffness 0.4
#
# sphinx_gallery_thumbnail_path = "_static/torch_and_scipy.png"

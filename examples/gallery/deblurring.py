"""
Deblurring an image
===================

We take an MRI slice of a head (it comes with Matplotlib), blur it with ``scipy.ndimage`` and add
noise. Then we look for the image with few edges that explains the blurred one.
"""

import matplotlib.pyplot as plt
import numpy as np
from matplotlib import cbook
from scipy import ndimage
from scipy.optimize import minimize

from autodiff import value_and_gradient

with cbook.get_sample_data("s1045.ima.gz") as file:  # Matplotlib opens what is compressed
    raw = file.read()
picture = np.frombuffer(raw, np.uint16).reshape(256, 256)[40:168, 60:188].astype(float)
picture /= picture.max()

# %%
# Add blur and noise.


def blur(x):
    return ndimage.gaussian_filter(x, 2.0)


rng = np.random.default_rng(0)
seen = blur(picture) + 0.005 * rng.normal(size=picture.shape)


# %%
# The loss: the misfit, and a smoothed total variation.


def loss(x):
    edges = np.sqrt(np.diff(x, axis=0)[:, :-1] ** 2 + np.diff(x, axis=1)[:-1] ** 2 + 1e-4)
    return 0.5 * np.sum((blur(x) - seen) ** 2) + 2e-4 * np.sum(edges)


def flat(v):
    value, slope = value_and_gradient(loss, v.reshape(seen.shape))
    return value, slope.ravel()


fit = minimize(flat, seen.ravel(), jac=True, method="L-BFGS-B", options={"maxiter": 40})
sharp = fit.x.reshape(seen.shape)


def error(x):
    return np.sqrt(np.mean((x - picture) ** 2))


print(f"root mean square error: {error(seen):.3f} before, {error(sharp):.3f} after")

# %%
# Before and after.

figure, axes = plt.subplots(1, 3, figsize=(10, 3.7), layout="constrained")
for axis, x, title in zip(
    axes, [seen, sharp, picture], ["blurred", "made sharp", "the original"], strict=True
):
    axis.imshow(x, cmap="gray", vmin=0, vmax=1)
    axis.set_title(title)
    axis.axis("off")
plt.show()

"""
Handwritten digits by a network in NumPy
========================================

The data are 1,797 images of 8 by 8 pixels. The network consists of two matrix products and a
``tanh``. Its parameters are a dict, and ``train`` makes steps on minibatches.
"""

from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from scipy.special import logsumexp

from autodiff.optimize import adam, train

# %%
# The data: the last column is the digit.

DATA = Path("../data/digits.csv.gz")
table = np.loadtxt(DATA, delimiter=",")
pixels, labels = table[:, :-1] / 16, table[:, -1].astype(int)
order = np.random.default_rng(0).permutation(len(labels))
learn, test = order[:1400], order[1400:]

# %%
# Write the model without thinking of derivatives.


def scores(p, x):
    return np.tanh(x @ p["w1"] + p["b1"]) @ p["w2"] + p["b2"]


def loss(p, x, y):
    z = scores(p, x)
    return np.mean(logsumexp(z, axis=1) - z[np.arange(len(y)), y])


rng = np.random.default_rng(1)
start = {
    "w1": rng.normal(size=(64, 32)) / 8,
    "b1": np.zeros(32),
    "w2": rng.normal(size=(32, 10)) / 6,
    "b2": np.zeros(10),
}

# %%
# Train the network, and test it on images that it has not seen.

fit = train(
    loss,
    start,
    (pixels[learn], labels[learn]),
    batch_size=100,
    epochs=40,
    optimiser=adam(0.01),
)
guesses = scores(fit.params, pixels[test]).argmax(axis=1)
accuracy = np.mean(guesses == labels[test])
print(f"{accuracy:.1%} of {len(test)} new pictures are read correctly")

figure, axes = plt.subplots(3, 8, figsize=(8, 3.6))
for axis, row, guess in zip(axes.flat, test[:24], guesses[:24], strict=True):
    axis.imshow(pixels[row].reshape(8, 8), cmap="gray_r")
    axis.set_title(str(guess), color="black" if guess == labels[row] else "red")
    axis.axis("off")
figure.suptitle(f"Read by the network: {accuracy:.1%} are right")
plt.show()

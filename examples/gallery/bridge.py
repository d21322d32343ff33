"""
How a chain of springs rings: the sensitivity of eigenvalues
============================================================

How does each spring change the lowest frequencies of a chain of masses and springs? The gradient
of an eigenvalue says where to make the chain stiffer.
"""

import matplotlib.pyplot as plt
import numpy as np
from scipy.linalg import eigh

from autodiff import jacobian

n = 24


def frequencies(springs):
    stiffness = np.zeros((n, n))
    for i in range(n):
        stiffness[i, i] += springs[i] + springs[i + 1]
        if i + 1 < n:
            stiffness[i, i + 1] -= springs[i + 1]
            stiffness[i + 1, i] -= springs[i + 1]
    return np.sqrt(eigh(stiffness, np.diag(masses), eigvals_only=True)[:3])


masses = 1 + 0.5 * np.linspace(0, 1, n)
springs = np.ones(n + 1)
slopes = jacobian(frequencies, springs)

# %%
# Does the gradient agree with an actual change?

changed = springs.copy()
changed[0] += 1e-3
measured = (frequencies(changed) - frequencies(springs)) / 1e-3
print("by the gradient:", slopes[:, 0].round(5), " by trying:", measured.round(5))

# %%
# Which spring to stiffen for which tone.

figure, axis = plt.subplots(figsize=(7, 4), layout="constrained")
for k, slope in enumerate(slopes):
    axis.plot(slope, "o-", markersize=4, label=f"tone {k + 1}")
axis.set_xlabel("spring")
axis.set_ylabel("change of the frequency for a stiffer spring")
axis.legend()
plt.show()

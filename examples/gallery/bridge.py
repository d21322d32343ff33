"""
How a beam rings: the sensitivity of eigenvalues
================================================

The lowest frequencies of a chain of masses and springs, and how each spring changes them: one
gradient of an eigenvalue says where to stiffen.
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
# Does it agree with a change that is really made?

changed = springs.copy()
changed[0] += 1e-3
measured = (frequencies(changed) - frequencies(springs)) / 1e-3
print("by the gradient:", slopes[:, 0].round(5), " by trying:", measured.round(5))

# %%
# Where to stiffen for which tone.

figure, axis = plt.subplots(figsize=(7, 4), layout="constrained")
for k, slope in enumerate(slopes):
    axis.plot(slope, "o-", markersize=4, label=f"tone {k + 1}")
axis.set_xlabel("spring")
axis.set_ylabel("change of the frequency for a stiffer spring")
axis.legend()
plt.show()

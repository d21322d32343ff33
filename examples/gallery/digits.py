"""
Handwritten digits by a network in NumPy
========================================

The network is two matrix products and a ``tanh``.
"""

import matplotlib.pyplot as plt
import numpy as np

from autodiff import gradient

# %%
# The loss is plain NumPy.


def loss(x):
    return np.sum(np.sin(x) ** 2)


x = np.linspace(0, 3, 50)
plt.plot(x, gradient(loss, x))
plt.show()

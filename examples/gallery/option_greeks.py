"""
Greeks of an American option by a binomial tree
===============================================

We compute the price of an American put by backward induction, in a loop that overwrites its
array. A single gradient gives delta, vega, rho and theta (the slope with respect to maturity).
"""

import matplotlib.pyplot as plt
import numpy as np

from autodiff import value_and_gradient


def put(spot, volatility, rate, maturity, strike=100.0, steps=100):
    dt = maturity / steps
    up = np.exp(volatility * np.sqrt(dt))
    chance = (np.exp(rate * dt) - 1 / up) / (up - 1 / up)
    powers = np.arange(steps, -steps - 1, -2)
    value = np.maximum(strike - spot * up**powers, 0.0)
    for step in range(steps - 1, -1, -1):
        powers = np.arange(step, -step - 1, -2)
        held = np.exp(-rate * dt) * (chance * value[:-1] + (1 - chance) * value[1:])
        value = np.maximum(held, strike - spot * up**powers)
    return value[0]


price, greeks = value_and_gradient(put, 100.0, 0.2, 0.05, 1.0)
print(f"price {price:.3f}")
print(dict(zip(["delta", "vega", "rho", "by maturity"], np.round(greeks, 3).tolist(), strict=True)))

# %%
# Price and delta as functions of the share price.

spots = np.linspace(70, 130, 41)
curves = [value_and_gradient(put, s, 0.2, 0.05, 1.0) for s in spots]
figure, axes = plt.subplots(1, 3, figsize=(10, 3.3), layout="constrained")
axes[0].plot(spots, [value for value, _ in curves])
axes[1].plot(spots, [slopes[0] for _, slopes in curves], "C1")
axes[2].plot(spots, [slopes[1] for _, slopes in curves], "C2")
for axis, title in zip(axes, ["price", "delta", "vega"], strict=True):
    axis.set_title(title)
    axis.set_xlabel("price of the share")
plt.show()

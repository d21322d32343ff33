"""
A hanging cloth: a simulation that changes its own state
========================================================

The cloth consists of points that are joined by springs. As usual in such code, the simulation
writes positions and speeds in place. We differentiate it as it is, to find the pull that brings
the middle of the cloth to a given point.
"""

import matplotlib.pyplot as plt
import numpy as np

from autodiff.optimize import minimize


class Cloth:
    def __init__(self, n):
        self.n = n
        grid = np.linspace(0.0, 1.0, n)
        self.position = np.zeros((n, n, 2))
        self.position[:, :, 0], self.position[:, :, 1] = np.meshgrid(grid, -grid)
        self.speed = np.zeros((n, n, 2))
        self.rest = grid[1]

    def step(self, wind, dt=0.02):
        force = np.zeros_like(self.position)
        force[:, :, 1] -= 1.0
        force[self.n // 2, self.n // 2] += wind
        for axis in (0, 1):
            d = np.diff(self.position, axis=axis)
            length = np.sqrt(np.sum(d**2, axis=2, keepdims=True))
            pull = 40.0 * (length - self.rest) * d / length
            first, last = [slice(None)] * 2, [slice(None)] * 2
            first[axis], last[axis] = slice(None, -1), slice(1, None)
            force[tuple(first)] += pull
            force[tuple(last)] -= pull
        self.speed += dt * force
        self.speed *= 0.99
        self.speed[0] = 0.0  # the upper edge is held
        self.position += dt * self.speed


def simulate(wind, n=7, steps=80):
    cloth = Cloth(n)
    for _ in range(steps):
        cloth.step(wind)
    return cloth.position


# %%
# After 80 steps, the middle should be at `goal`.

goal = np.array([0.7, -0.4])


def miss(wind):
    p = simulate(wind)
    return np.sum((p[3, 3] - goal) ** 2)


fit = minimize(miss, np.array([1.0, 1.0]), method="BFGS", options={"gtol": 1e-4})
wind = fit.params
print("pull:", wind.round(2), " distance from the goal:", round(fit.fun**0.5, 4))
print("simulations:", fit.nfev)

# %%
# The cloth at rest, and with the pull that we found.

figure, axes = plt.subplots(1, 2, figsize=(8, 4), layout="constrained", sharey=True)
for axis, pull, title in [(axes[0], np.zeros(2), "no pull"), (axes[1], wind, "the pull found")]:
    p = simulate(pull)
    axis.plot(p[:, :, 0], p[:, :, 1], "C0")
    axis.plot(p[:, :, 0].T, p[:, :, 1].T, "C0")
    axis.plot(*goal, "r+", markersize=14)
    axis.set_title(title)
    axis.set_aspect("equal")
plt.show()

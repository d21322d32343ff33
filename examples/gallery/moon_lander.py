"""
Optimal control: a soft landing
===============================

A lander of mass 1 is falling. We look for the thrust over time that brings it to rest on the
ground with the least effort (the integral of the squared thrust). The simulation is a loop over
steps. One backward sweep gives the derivative with respect to all thrusts.
"""

import matplotlib.pyplot as plt
import numpy as np

from autodiff.optimize import minimize

STEPS, DT, GRAVITY = 60, 0.1, 1.62


def fly(thrust):
    height, speed, path = 20.0, -4.0, [20.0]
    for push in thrust:
        speed = speed + (push - GRAVITY) * DT
        height = height + speed * DT
        path.append(height)
    return height, speed, np.array(path)


def cost(p):
    height, speed, path = fly(p["thrust"])
    below = np.minimum(path, 0.0)
    return DT * np.sum(p["thrust"] ** 2) + 100 * (height**2 + speed**2) + 100 * np.sum(below**2)


fit = minimize(cost, {"thrust": np.full(STEPS, 1.0)}, bounds={"thrust": (0.0, 6.0)})
height, speed, path = fly(fit.params["thrust"])
print(f"lands at {height:.3f} m with {speed:.3f} m/s, after {fit.nfev} simulations")

# %%
# Height and thrust.

time = DT * np.arange(STEPS + 1)
figure, (top, bottom) = plt.subplots(2, 1, figsize=(7, 5), sharex=True, layout="constrained")
top.plot(time, path)
top.set_ylabel("height, m")
bottom.step(time[:-1], fit.params["thrust"], where="post", color="C1")
bottom.axhline(GRAVITY, color="grey", linestyle=":", label="gravity")
bottom.set_ylabel("thrust")
bottom.set_xlabel("time, s")
bottom.legend()
plt.show()

"""
Eight schools by NUTS
=====================

How much did training help in eight schools (Rubin 1981), and how much do the schools differ? The
No-U-Turn sampler (Hoffman and Gelman 2014) follows the gradient of the posterior's log-density.
Here it is written in plain NumPy. For real work, pass the same density to
``autodiff.interop.to_nutpie``.
"""

import matplotlib.pyplot as plt
import numpy as np

from autodiff import value_and_gradient

effect = np.array([28.0, 8.0, -3.0, 7.0, -1.0, 1.0, 18.0, 12.0])
error = np.array([15.0, 10.0, 16.0, 11.0, 9.0, 11.0, 10.0, 18.0])

# %%
# The model: each school has its own effect, around a common mean. We write it as
# ``mean + spread * z``, which makes the posterior easier to explore.


def log_density(v):
    mean, log_spread, z = 10 * v[0], v[1], v[2:]
    spread = np.exp(log_spread)
    likelihood = -0.5 * np.sum(((effect - mean - spread * z) / error) ** 2)
    prior = -0.5 * np.sum(z**2) - 0.5 * (mean / 10) ** 2
    return likelihood + prior + log_spread - np.log1p((spread / 10) ** 2)


# %%
# The sampler makes leapfrog steps forwards or backwards in time, each time twice as many, until the
# path turns back on itself. It then draws one of the points on the path.


def leap(point, size):
    v, momentum, _, up = point
    momentum = momentum + 0.5 * size * up
    v = v + size * momentum
    value, up = value_and_gradient(log_density, v)
    return v, momentum + 0.5 * size * up, value, up


def energy(point):
    return point[2] - 0.5 * point[1] @ point[1]


def turns(left, right):
    way = right[0] - left[0]
    return way @ left[1] < 0 or way @ right[1] < 0


def path(start, size, depth, level, rng):
    """Return the ends of a path of 2**depth steps, a draw, how many count, and if it is fine."""
    if depth == 0:
        point = leap(start, size)
        return point, point, point, int(energy(point) > level), energy(point) > level - 1000
    near, far, draw, count, fine = path(start, size, depth - 1, level, rng)
    if fine:
        _, far, other, more, fine = path(far, size, depth - 1, level, rng)
        count += more
        if more and rng.uniform() < more / count:
            draw = other
        fine = fine and not turns(*((near, far) if size > 0 else (far, near)))
    return near, far, draw, count, fine


def sample(v, count, rng, step=0.3):
    value, up = value_and_gradient(log_density, v)
    chain, steps = [], 0
    for _ in range(count):
        left = right = draw = (v, rng.normal(size=v.shape), value, up)
        level = energy(draw) - rng.exponential()
        fine, among, depth = True, 1, 0
        while fine and depth < 10:
            if rng.uniform() < 0.5:
                _, left, other, more, fine = path(left, -step, depth, level, rng)
            else:
                _, right, other, more, fine = path(right, step, depth, level, rng)
            if fine and rng.uniform() < more / among:
                draw = other
            among, depth, steps = among + more, depth + 1, steps + 2**depth
            fine = fine and not turns(left, right)
        v, _, value, up = draw
        chain.append(v)
    return np.array(chain), steps / count


chain, steps = sample(np.zeros(10), 2000, np.random.default_rng(0))
chain = chain[500:]
mean, spread = 10 * chain[:, 0], np.exp(chain[:, 1])
schools = mean[:, None] + spread[:, None] * chain[:, 2:]
print(f"{steps:.0f} steps for each draw; mean effect {mean.mean():.1f} ± {mean.std():.1f}")

# %%
# Each school's own estimate, and that of the model, which pulls them towards the common mean.

figure, axis = plt.subplots(figsize=(7, 4), layout="constrained")
row = np.arange(8)
axis.errorbar(effect, row + 0.12, xerr=error, fmt="o", label="each school alone")
axis.errorbar(schools.mean(0), row - 0.12, xerr=schools.std(0), fmt="s", label="the model")
axis.axvline(mean.mean(), color="grey", linestyle=":")
axis.set_yticks(row, [f"school {c}" for c in "ABCDEFGH"])
axis.set_xlabel("effect of the training, points")
axis.legend()
plt.show()

"""
Eight schools by Hamiltonian Monte Carlo
========================================

What training did for the results of eight schools (Rubin 1981), and how much the schools differ.
A sampler of a few lines follows the gradient of the logarithm of the posterior density.
"""

import matplotlib.pyplot as plt
import numpy as np

from autodiff import value_and_gradient

effect = np.array([28.0, 8.0, -3.0, 7.0, -1.0, 1.0, 18.0, 12.0])
error = np.array([15.0, 10.0, 16.0, 11.0, 9.0, 11.0, 10.0, 18.0])

# %%
# The model: each school has an effect of its own around a common mean. The schools' effects are
# written as ``mean + spread * z``, which makes the posterior easy to walk through.


def log_density(v):
    mean, log_spread, z = 10 * v[0], v[1], v[2:]
    spread = np.exp(log_spread)
    likelihood = -0.5 * np.sum(((effect - mean - spread * z) / error) ** 2)
    prior = -0.5 * np.sum(z**2) - 0.5 * (mean / 10) ** 2
    return likelihood + prior + log_spread - np.log1p((spread / 10) ** 2)


# %%
# The sampler: leapfrog steps, and acceptance by the energy.


def sample(v, count, rng, step=0.3, leaps=10):
    value, slope = value_and_gradient(log_density, v)
    chain, accepted = [], 0
    for _ in range(count):
        momentum = rng.normal(size=v.shape)
        energy = value - 0.5 * momentum @ momentum
        w, new, up, size = v, value, slope, step * rng.uniform(0.5, 1.0)
        for _ in range(leaps):
            momentum = momentum + 0.5 * size * up
            w = w + size * momentum
            new, up = value_and_gradient(log_density, w)
            momentum = momentum + 0.5 * size * up
        if np.log(rng.uniform()) < new - 0.5 * momentum @ momentum - energy:
            v, value, slope, accepted = w, new, up, accepted + 1
        chain.append(v)
    return np.array(chain), accepted / count


chain, rate = sample(np.zeros(10), 3000, np.random.default_rng(0))
chain = chain[500:]
mean, spread = 10 * chain[:, 0], np.exp(chain[:, 1])
schools = mean[:, None] + spread[:, None] * chain[:, 2:]
print(f"{rate:.0%} accepted; mean effect {mean.mean():.1f} ± {mean.std():.1f}")

# %%
# The schools' own estimates, and what the model makes of them: they are drawn to the mean.

figure, axis = plt.subplots(figsize=(7, 4), layout="constrained")
row = np.arange(8)
axis.errorbar(effect, row + 0.12, xerr=error, fmt="o", label="each school alone")
axis.errorbar(schools.mean(0), row - 0.12, xerr=schools.std(0), fmt="s", label="the model")
axis.axvline(mean.mean(), color="grey", linestyle=":")
axis.set_yticks(row, [f"school {c}" for c in "ABCDEFGH"])
axis.set_xlabel("effect of the training, points")
axis.legend()
plt.show()

"""
A fit on a cluster: handwritten digits
======================================

The loss and the gradient of softmax regression are sums over parts of the data. The parts stay in
the memory of the workers of a Dask cluster. Here, the cluster is two processes on one machine; on
a real cluster, use ``Client("scheduler:8786")``. This example needs
``pip install 'chainrules-autodiff[cluster]'``.
"""

from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from dask.distributed import Client, LocalCluster

from autodiff.optimize import minimize

DATA = Path("../data/digits.csv.gz")
table = np.loadtxt(DATA, delimiter=",")
order = np.random.default_rng(0).permutation(len(table))
pixels, digit = table[order, :-1] / 16, table[order, -1].astype(int)
learn, test = slice(0, 1400), slice(1400, None)


def loss(p, x, kind):
    score = x @ p["weights"] + p["offsets"]
    highest = np.max(score, axis=1, keepdims=True)
    total = np.log(np.sum(np.exp(score - highest), axis=1)) + highest[:, 0]
    return np.sum(total - score[np.arange(len(kind)), kind])


# %%
# Workers import the script that started them, so guard the code that starts workers.

if __name__ == "__main__":
    with (
        LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster,
        Client(cluster) as client,
    ):
        parts = np.array_split(pixels[learn], 8), np.array_split(digit[learn], 8)
        shards = list(zip(*map(client.scatter, parts), strict=True))
        start = {"weights": np.zeros((64, 10)), "offsets": np.zeros(10)}
        fit = minimize(
            loss, start, shards=shards, executor=client, method="L-BFGS-B", options={"maxiter": 20}
        )
    score = pixels[test] @ fit.params["weights"] + fit.params["offsets"]
    accuracy = np.mean(score.argmax(axis=1) == digit[test])
    print(f"{accuracy:.1%} of {len(score)} new digits, after {fit.nfev} sums over 8 shards")

    # What each digit has been found to be made of.
    figure, axes = plt.subplots(2, 5, figsize=(8, 3.6), layout="constrained")
    for k, axis in enumerate(axes.flat):
        axis.imshow(fit.params["weights"][:, k].reshape(8, 8), cmap="RdBu_r", vmin=-3, vmax=3)
        axis.set_title(k)
        axis.axis("off")
    plt.show()

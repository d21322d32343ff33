"""
Logistic regression: malignant or benign?
=========================================

We classify 569 tumours by thirty measurements of their cell nuclei. The loss is plain NumPy.
``minimize`` computes its gradient and the products with its Hessian.
"""

from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

from autodiff.optimize import minimize

DATA = Path("../data/breast_cancer.csv")
table = np.loadtxt(DATA, delimiter=",", skiprows=1)
names = DATA.read_text().partition("\n")[0].split(",")[:-1]
features = (table[:, :-1] - table[:, :-1].mean(axis=0)) / table[:, :-1].std(axis=0)
malignant = table[:, -1]
order = np.random.default_rng(0).permutation(len(malignant))
learn, test = order[:426], order[426:]

# %%
# The loss is the negative log-likelihood, with a penalty on the weights.


def loss(p, x, y):
    score = x @ p["weights"] + p["offset"]
    return np.mean(np.logaddexp(0, score) - y * score) + 0.01 * np.sum(p["weights"] ** 2)


start = {"weights": np.zeros(30), "offset": 0.0}
fit = minimize(loss, start, args=(features[learn], malignant[learn]), method="trust-ncg")
score = features[test] @ fit.params["weights"] + fit.params["offset"]
accuracy = np.mean((score > 0) == (malignant[test] == 1))
print(f"{accuracy:.1%} of {len(test)} new tumours, after {fit.nit} iterations")

# %%
# Which measurements matter?

strongest = np.argsort(np.abs(fit.params["weights"]))[-10:]
figure, (left, right) = plt.subplots(1, 2, figsize=(9, 4), layout="constrained")
left.barh([names[i].replace("_", " ") for i in strongest], fit.params["weights"][strongest])
left.set_title("strongest weights")
for kind, label in [(0, "benign"), (1, "malignant")]:
    right.hist(score[malignant[test] == kind], bins=25, alpha=0.7, label=label)
right.set_xlabel("score")
right.set_title(f"new tumours: {accuracy:.1%} right")
right.legend()
plt.show()

"""From a table to a fitted model and a report of it: what the two models do with the data."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Protocol

import gaussian_process
import logistic
import numpy as np
from tables import DataError, Table
from training import Fit, gradient_difference, train

HELD_OUT = 0.25  # the part of the rows that is kept for the test
FEWEST_ROWS = {"logistic": 10, "gp": 20}
MOST_POINTS, MOST_POINTS_QUICK = 200, 150  # a Gaussian process costs the cube of this
MOST_PREDICTIONS = 2000


class Progress(Protocol):
    """Where a task says how far it is."""

    def training(self, iteration: int, evaluations: int, loss: float) -> None:
        """Called after each evaluation of the loss and its gradient, and after each iteration."""

    def checking(self, total: int) -> Callable[[], None]:
        """Called once before the check of the gradient; the result after each component."""


@dataclass
class Report:
    """What there is to tell about one fitted model.

    Attributes
    ----------
    model, data : str
        Their names.
    rows : str
        How many were trained and tested on.
    fit : Fit
    train_score, test_score : str
    learnt : str
        The parameters that mean something to a reader.
    differences : tuple of float
        Largest relative difference of the gradient from finite differences, at the start and at
        a random point near it.
    picture : dict
        What the plot needs.
    """

    model: str
    data: str
    rows: str
    fit: Fit
    train_score: str
    test_score: str
    learnt: str
    differences: tuple[float, float]
    picture: dict[str, Any] = field(repr=False)


def choose_model(table: Table, target: str, model: str) -> str:
    """The model that suits the table, or the one that was asked for.

    Parameters
    ----------
    table : Table
    target : str
        The column to predict.
    model : {"auto", "logistic", "gp"}

    Returns
    -------
    {"logistic", "gp"}
    """
    values = table.column(target)
    if len(table.columns) < 2:
        raise DataError(f"{table.name} has one column only, {target!r}; there is nothing to fit")
    if model != "auto":
        return model
    if np.isin(values, (0, 1)).all():
        return "logistic"
    if len(table.columns) == 2:
        return "gp"
    raise DataError(
        f"{table.name}: {target!r} is not a column of 0 and 1 (for that pass --target), "
        f"and {len(table.columns)} columns are too many for a Gaussian process (it takes two)"
    )


def fit_logistic(
    table: Table, target: str, *, quick: bool, rng: np.random.Generator, progress: Progress
) -> Report:
    """Fit `logistic` to the table and test it on the rows held out.

    Parameters
    ----------
    table : Table
    target : str
        A column of 0 and 1; all others are features.
    quick : bool
        Changes nothing here: this takes a moment anyway.
    rng : numpy.random.Generator
        Chooses the rows held out and the point of the second check.
    progress : Progress

    Returns
    -------
    Report
    """
    names, features = table.without(target)
    labels = table.column(target)
    _check_labels(table, target, labels)
    train_rows, test_rows = logistic.split(labels, HELD_OUT, rng)
    centre, scale = logistic.standardiser(features[train_rows])
    features = (features - centre) / scale
    known, known_labels = features[train_rows], labels[train_rows]
    new, new_labels = features[test_rows], labels[test_rows]

    def loss(theta):
        return logistic.loss(theta, known, known_labels)

    start = np.zeros(len(names) + 1)
    fit = train(loss, start, report=progress.training)
    strongest = np.argsort(-np.abs(fit.theta[:-1]))[:3]
    return Report(
        model="Logistic regression",
        data=f"{table.name}:\n{target} from {_plural(len(names), 'column')}",
        rows=f"{len(train_rows)} / {len(test_rows)}",
        fit=fit,
        train_score=f"accuracy {logistic.accuracy(fit.theta, known, known_labels):.1%}",
        test_score=f"accuracy {logistic.accuracy(fit.theta, new, new_labels):.1%}",
        learnt="\n".join(f"{names[i]} {fit.theta[i]:+.2f}" for i in strongest),
        differences=_check_gradient(loss, start, rng, progress),
        picture={
            "kind": "logistic",
            "target": target,
            "scores": logistic.score(fit.theta, new),
            "labels": new_labels,
        },
    )


def fit_gaussian_process(
    table: Table, target: str, *, quick: bool, rng: np.random.Generator, progress: Progress
) -> Report:
    """Fit `gaussian_process` to a table of two columns and test it on the end of the series.

    Parameters
    ----------
    table : Table
    target : str
        The column with the observations; the other says where they were made.
    quick : bool
        Fewer points.
    rng : numpy.random.Generator
        Chooses the point of the second check.
    progress : Progress

    Returns
    -------
    Report
    """
    names, others = table.without(target)
    if len(names) != 1:
        raise DataError(
            f"{table.name}: a Gaussian process takes two columns, x and y, "
            f"and this file has {len(table.columns)}"
        )
    order = np.argsort(others[:, 0], kind="stable")
    x, y = others[order, 0], table.column(target)[order]
    _check_series(table, names[0], target, x)
    known = round((1 - HELD_OUT) * len(x))
    chosen = _thin(known, MOST_POINTS_QUICK if quick else MOST_POINTS)
    tested = known + _thin(len(x) - known, MOST_PREDICTIONS)
    line = np.polynomial.Polynomial.fit(x[chosen], y[chosen], 1)
    x_known, y_known = x[chosen], y[chosen] - line(x[chosen])
    if np.std(y_known) <= 1e-12 * np.max(np.abs(y)):
        raise DataError(f"{table.name}: {target!r} is a straight line, there is nothing to learn")

    def loss(theta):
        return gaussian_process.loss(theta, x_known, y_known)

    start, bounds = gaussian_process.start(x_known, y_known)
    try:
        fit = train(loss, start, bounds=bounds, report=progress.training)
    except np.linalg.LinAlgError:
        raise DataError(f"{table.name}: the covariance of these points is singular") from None

    def predict(new):
        mean, deviation = gaussian_process.predict(fit.theta, x_known, y_known, new)
        return mean + line(new), deviation

    mean, deviation = predict(x[tested])
    error = np.abs(mean - y[tested])
    inside = np.mean(error <= 1.96 * deviation)
    values = dict(zip(gaussian_process.NAMES, np.exp(fit.theta), strict=True))
    future = np.linspace(x[0], x[-1] + 0.25 * (x[-1] - x[0]), MOST_PREDICTIONS)
    return Report(
        model="Gaussian process",
        data=f"{table.name}:\n{target} over {names[0]}",
        rows=f"{len(chosen)}{'' if len(chosen) == known else f' of {known}'} / {len(tested)}",
        fit=fit,
        train_score=f"log likelihood {-fit.end:.4f}\nper point",
        test_score=f"RMSE {np.sqrt(np.mean(error**2)):.3g},\n{inside:.0%} in the 95% band",
        learnt="\n".join(f"{name} {values[name]:.4g}" for name in ("period", "noise")),
        differences=_check_gradient(loss, start, rng, progress),
        picture={
            "kind": "gp",
            "names": (names[0], target),
            "known": (x_known, y[chosen]),
            "new": (x[tested], y[tested]),
            "future": (future, *predict(future)),
        },
    )


FIT = {"logistic": fit_logistic, "gp": fit_gaussian_process}


def _check_labels(table, target, labels):
    """Complain of labels that logistic regression cannot learn."""
    wrong = np.flatnonzero(~np.isin(labels, (0, 1)))
    if len(wrong):
        raise DataError(
            f"{table.name}: logistic regression needs a target of 0 and 1, "
            f"but {target!r} holds {labels[wrong[0]]:g} in row {wrong[0] + 1}"
        )
    if len(labels) < FEWEST_ROWS["logistic"]:
        raise DataError(
            f"{table.name} has {_plural(len(labels), 'row')}; "
            f"logistic regression needs at least {FEWEST_ROWS['logistic']}"
        )
    for label in (0, 1):
        count = int(np.sum(labels == label))
        if count == 0:
            raise DataError(
                f"{table.name}: {target!r} is {1 - label} in every row; "
                "logistic regression needs rows of both classes, 0 and 1"
            )
        if count == 1:
            raise DataError(
                f"{table.name}: {target!r} is {label} in one row only; "
                "logistic regression needs two of each class, to train and to test"
            )


def _check_series(table, name, target, x):
    """Complain of points that a Gaussian process cannot learn from."""
    if len(x) < FEWEST_ROWS["gp"]:
        raise DataError(
            f"{table.name} has {_plural(len(x), 'row')}; "
            f"the Gaussian process needs at least {FEWEST_ROWS['gp']}"
        )
    places = len(np.unique(x[: round((1 - HELD_OUT) * len(x))]))
    if places < FEWEST_ROWS["gp"] // 2:
        raise DataError(
            f"{table.name}: {name!r} takes {_plural(places, 'value')} in the first three quarters "
            f"of its range; to fit {target!r} over it, {FEWEST_ROWS['gp'] // 2} are needed"
        )


def _thin(count, most):
    """At most `most` of the numbers below `count`, evenly spread, the first and last among them."""
    if count <= most:
        return np.arange(count)
    return np.linspace(0, count - 1, most).round().astype(int)


def _check_gradient(loss, start, rng, progress):
    """Differences from finite differences at the start and at a random point near it."""
    near = start + 0.1 * rng.standard_normal(len(start))
    report = progress.checking(2 * len(start))
    return gradient_difference(loss, start, report), gradient_difference(loss, near, report)


def _plural(count, word):
    """``1 row``, ``2 rows``."""
    return f"{count} {word}{'' if count == 1 else 's'}"

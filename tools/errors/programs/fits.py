"""Fits of parameters in nests."""

import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
from scipy import optimize

from autodiff import ArgumentError
from autodiff.optimize import (
    covariance,
    curve_fit,
    least_squares,
    minimize,
    multistart,
    profile,
    profile_interval,
    root,
    sgd,
    train,
)
from tools.errors.entries import entry

X = np.linspace(0, 1, 5)


def bowl(p):
    return np.sum((p["b"] - 1) ** 2) + p["a"] ** 2


START = {"a": 1.0, "b": np.zeros(2)}


@entry("A value in place of the function to minimise", ArgumentError)
def value_to_minimise() -> None:
    minimize(bowl(START), START)


@value_to_minimise.instead("Give the function itself")
def function_to_minimise() -> None:
    assert minimize(bowl, START).success


@entry("Parameters without floats", ArgumentError)
def whole_numbers_to_fit() -> None:
    minimize(lambda p: (p["a"] - 2) ** 2, {"a": 1})


@whole_numbers_to_fit.instead("Write 1.0 for 1")
def floats_to_fit() -> None:
    assert minimize(lambda p: (p["a"] - 2) ** 2, {"a": 1.0}).success


@entry("Residuals without floats", ArgumentError)
def text_as_residuals() -> None:
    least_squares(lambda p: str(p["a"]), {"a": 1.0})


@text_as_residuals.instead("Return numbers or arrays")
def numbers_as_residuals() -> None:
    assert least_squares(lambda p: {"first": p["a"] - 2}, {"a": 1.0}).success


@entry("Bounds of a complex number", ArgumentError)
def complex_bounds() -> None:
    minimize(lambda p: abs(p["z"] - 3) ** 2, {"z": 1j}, bounds={"z": (0, 1)})


@complex_bounds.instead("Make its parts two parameters")
def bounds_of_parts() -> None:
    minimize(
        lambda p: abs(p["x"] + 1j * p["y"] - 3) ** 2, {"x": 0.0, "y": 1.0}, bounds={"x": (0, 1)}
    )


@complex_bounds.instead("Bound its size by a constraint")
def bounded_size() -> None:
    disc = {"type": "ineq", "fun": lambda p: 1 - abs(p["z"]) ** 2}
    minimize(lambda p: abs(p["z"] - 3) ** 2, {"z": 0.1j}, constraints=disc)


@entry("Bounds that are no pair", ArgumentError)
def bounds_without_pair() -> None:
    minimize(bowl, START, bounds={"b": (0, 1, 2)})


@bounds_without_pair.instead("Give (lowest, highest)")
def bounds_as_pair() -> None:
    assert minimize(bowl, START, bounds={"b": (0, 0.5)}).success


@bounds_without_pair.instead("Give a pair for each element")
def bounds_for_each() -> None:
    assert minimize(bowl, START, bounds={"b": [(0, 0.5), (None, 2)]}).success


@entry("A bound of another shape", ArgumentError)
def bound_of_another_shape() -> None:
    minimize(bowl, START, bounds={"b": (np.zeros(3), None)})


@bound_of_another_shape.instead("Give one for each element")
def bound_of_the_shape() -> None:
    assert minimize(bowl, START, bounds={"b": (np.zeros(2), None)}).success


@entry("A constraint that is none", ArgumentError)
def constraint_without_function() -> None:
    minimize(bowl, START, constraints={"type": "eq"})


@constraint_without_function.instead("Give type and function")
def constraint_with_function() -> None:
    fixed = {"type": "eq", "fun": lambda p: p["a"] - 0.5}
    assert minimize(bowl, START, constraints=fixed).success


@entry("A constraint with a derivative", ArgumentError)
def constraint_with_derivative() -> None:
    fixed = optimize.NonlinearConstraint(lambda p: p["a"], 0.5, 0.5, jac=lambda p: 1.0)
    minimize(bowl, START, constraints=fixed)


@constraint_with_derivative.instead("Leave it out")
def constraint_without_derivative() -> None:
    fixed = optimize.NonlinearConstraint(lambda p: p["a"], 0.5, 0.5)
    assert minimize(bowl, START, constraints=fixed).success


@entry("More equations than unknowns", ArgumentError)
def too_many_equations() -> None:
    root(lambda p: [p["a"] - 1, 2 * p["a"] - 2], {"a": 0.0})


@too_many_equations.instead("Use least_squares")
def least_squares_for_equations() -> None:
    assert least_squares(lambda p: [p["a"] - 1, 2 * p["a"] - 2], {"a": 0.0}).success


@entry("A model that predicts another number of values", ArgumentError)
def short_prediction() -> None:
    curve_fit(lambda x, p: p["a"] * x[:3], X, 2 * X, {"a": 1.0})


@short_prediction.instead("Return an array of the shape of the data")
def whole_prediction() -> None:
    assert curve_fit(lambda x, p: p["a"] * x, X, 2 * X, {"a": 1.0}).success


@entry("Standard deviations of another shape than the data", ArgumentError)
def short_sigma() -> None:
    curve_fit(lambda x, p: p["a"] * x, X, 2 * X, {"a": 1.0}, sigma=np.ones(3))


@short_sigma.instead("Give one for each element")
def sigma_for_each() -> None:
    assert curve_fit(lambda x, p: p["a"] * x, X, 2 * X, {"a": 1.0}, sigma=np.ones(5)).success


def mean_error(p, x, y):
    return np.mean((p["a"] * x - y) ** 2)


@entry("A checkpoint of another optimiser", ArgumentError)
def checkpoint_of_another_optimiser() -> None:
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "fit.npz")
        train(mean_error, {"a": 1.0}, (X, 2 * X), checkpoint=file)
        train(mean_error, {"a": 1.0}, (X, 2 * X), checkpoint=file, resume=True, optimiser=sgd())


@checkpoint_of_another_optimiser.instead("Delete the file, or give another name")
def checkpoint_of_its_own() -> None:
    with tempfile.TemporaryDirectory() as folder:
        train(mean_error, {"a": 1.0}, (X, 2 * X), checkpoint=Path(folder, "adam.npz"))
        train(
            mean_error, {"a": 1.0}, (X, 2 * X), checkpoint=Path(folder, "sgd.npz"), resume=True,
            optimiser=sgd(),
        )  # fmt: skip


@entry("Examples of different numbers", ArgumentError)
def missing_example() -> None:
    train(mean_error, {"a": 1.0}, (X, 2 * X[1:]))


@missing_example.instead("Give as many of each")
def whole_examples() -> None:
    assert train(mean_error, {"a": 1.0}, (X, 2 * X)).nit == 1


@entry("Batches without examples", ArgumentError)
def empty_batch() -> None:
    train(mean_error, {"a": 1.0}, (X, 2 * X), batch_size=0)


@empty_batch.instead("Give at least one")
def batch_of_two() -> None:
    assert train(mean_error, {"a": 1.0}, (X, 2 * X), batch_size=2).nit == 3


@entry("A checkpoint of a training on other data", ArgumentError)
def checkpoint_of_other_data() -> None:
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "fit.npz")
        train(mean_error, {"a": 1.0}, (X, 2 * X), checkpoint=file)
        train(mean_error, {"a": 1.0}, (X, 2 * X), checkpoint=file, resume=True, batch_size=2)


@checkpoint_of_other_data.instead("Give the same data and options")
def checkpoint_of_the_same_data() -> None:
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "fit.npz")
        train(mean_error, {"a": 1.0}, (X, 2 * X), checkpoint=file)
        train(mean_error, {"a": 1.0}, (X, 2 * X), checkpoint=file, resume=True, epochs=2)


@entry("The covariance away from a minimum", ArgumentError)
def covariance_of_a_sum() -> None:
    covariance(lambda p: (p["a"] + p["b"] - 1) ** 2, {"a": 1.0, "b": 0.0})


@covariance_of_a_sum.instead("Leave out what is redundant")
def covariance_of_one() -> None:
    covariance(lambda p: (p["a"] - 1) ** 2, {"a": 1.0})


@covariance_of_a_sum.instead("Add a prior")
def covariance_with_a_prior() -> None:
    covariance(lambda p: (p["a"] + p["b"] - 1) ** 2 + 0.1 * p["b"] ** 2, {"a": 1.0, "b": 0.0})


@entry("A level in per cent", ArgumentError)
def level_in_per_cent() -> None:
    profile_interval(bowl, {"a": 0.0, "b": np.ones(2)}, "a", level=95)


@level_in_per_cent.instead("Give a probability")
def level_as_probability() -> None:
    profile_interval(bowl, {"a": 0.0, "b": np.ones(2)}, "a", level=0.95)


@entry("The profile of an array", ArgumentError)
def profile_of_an_array() -> None:
    profile(bowl, {"a": 0.0, "b": np.ones(2)}, "b")


@profile_of_an_array.instead("Name one number")
def profile_of_a_number() -> None:
    profile(bowl, {"a": 0.0, "b": np.ones(2)}, ("b", 0))


def distance(p, x):
    return np.mean((x - p) ** 2)


@entry("A training with data and shards", ArgumentError)
def data_and_shards() -> None:
    with ThreadPoolExecutor(1) as pool:
        train(distance, 0.0, X, shards=[X], executor=pool)


@data_and_shards.instead("Give one of them")
def shards_alone() -> None:
    with ThreadPoolExecutor(1) as pool:
        train(distance, 0.0, shards=[X], executor=pool, epochs=2)


@entry("A training without data", ArgumentError)
def no_data() -> None:
    train(distance, 0.0, None)


@no_data.instead("Give arrays")
def some_data() -> None:
    train(distance, 0.0, X, epochs=2)


@entry("A checkpoint of other parameters", ArgumentError)
def checkpoint_of_others() -> None:
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "fit.ckpt")
        minimize(lambda p: p["a"] ** 2, {"a": 1.0}, checkpoint=file)
        minimize(lambda p: p["b"] ** 2, {"b": 1.0}, checkpoint=file, resume=True)


@checkpoint_of_others.instead("Delete the file, or give another name")
def checkpoint_of_these() -> None:
    with tempfile.TemporaryDirectory() as folder:
        minimize(lambda p: p["a"] ** 2, {"a": 1.0}, checkpoint=Path(folder, "a.ckpt"))
        minimize(lambda p: p["b"] ** 2, {"b": 1.0}, checkpoint=Path(folder, "b.ckpt"), resume=True)


@entry("A checkpoint of another method", ArgumentError)
def checkpoint_of_another_method() -> None:
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "fit.ckpt")
        minimize(bowl, START, checkpoint=file)
        minimize(bowl, START, checkpoint=file, resume=True, method="CG")


@checkpoint_of_another_method.instead("Give the same method")
def checkpoint_of_the_method() -> None:
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "fit.ckpt")
        minimize(bowl, START, checkpoint=file, method="CG")
        minimize(bowl, START, checkpoint=file, resume=True, method="CG")


@entry("A checkpoint of another start", ArgumentError)
def checkpoint_of_another_start() -> None:
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "fit.ckpt")
        minimize(bowl, START, checkpoint=file)
        minimize(bowl, {"a": 2.0, "b": np.zeros(2)}, checkpoint=file, resume=True)


@checkpoint_of_another_start.instead("Give the same start; a limit may be higher")
def checkpoint_of_the_start() -> None:
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "fit.ckpt")
        minimize(bowl, START, checkpoint=file, options={"maxiter": 1})
        minimize(bowl, START, checkpoint=file, resume=True, options={"maxiter": 50})


def bowl_at(p, place):
    return bowl(p) + (p["a"] - place) ** 2


@entry("A checkpoint of other data", ArgumentError)
def checkpoint_of_another_function() -> None:
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "fit.ckpt")
        minimize(bowl_at, START, args=(2.0,), checkpoint=file)
        minimize(bowl_at, START, args=(3.0,), checkpoint=file, resume=True)


@checkpoint_of_another_function.instead("Give another name, and start where the other fit ended")
def checkpoint_of_the_function() -> None:
    with tempfile.TemporaryDirectory() as folder:
        fit = minimize(bowl_at, START, args=(2.0,), checkpoint=Path(folder, "2.ckpt"))
        minimize(bowl_at, fit.params, args=(3.0,), checkpoint=Path(folder, "3.ckpt"))


@entry("A file that is no checkpoint of a fit", ArgumentError)
def damaged_checkpoint() -> None:
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "fit.ckpt")
        file.write_text("")
        minimize(bowl, START, checkpoint=file, resume=True)


@damaged_checkpoint.instead("Delete the file, or give another name")
def checkpoint_begun_again() -> None:
    with tempfile.TemporaryDirectory() as folder:
        minimize(bowl, START, checkpoint=Path(folder, "other.ckpt"), resume=True)


@entry("A file that is no checkpoint of a training", ArgumentError)
def damaged_checkpoint_of_training() -> None:
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "fit.npz")
        file.write_text("")
        train(mean_error, {"a": 1.0}, (X, 2 * X), checkpoint=file, resume=True)


@damaged_checkpoint_of_training.instead("Delete the file, or give another name")
def checkpoint_of_training_begun_again() -> None:
    with tempfile.TemporaryDirectory() as folder:
        train(mean_error, {"a": 1.0}, (X, 2 * X), checkpoint=Path(folder, "other.npz"), resume=True)


@entry("A folder in place of a checkpoint", ArgumentError)
def folder_as_checkpoint() -> None:
    minimize(bowl, START, checkpoint="tools")


@folder_as_checkpoint.instead("Give the name of a file")
def file_as_checkpoint() -> None:
    with tempfile.TemporaryDirectory() as folder:
        minimize(bowl, START, checkpoint=Path(folder, "fit.ckpt"))


@entry("A checkpoint in a folder that does not exist", ArgumentError)
def checkpoint_without_folder() -> None:
    minimize(bowl, START, checkpoint="missing/fit.ckpt")


@checkpoint_without_folder.instead("Make the folder first")
def checkpoint_with_folder() -> None:
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "runs").mkdir()
        minimize(bowl, START, checkpoint=Path(folder, "runs", "fit.ckpt"))


@entry("No places to start from", ArgumentError)
def no_starts() -> None:
    multistart(bowl, [])


@no_starts.instead("Give at least one")
def one_start() -> None:
    assert len(multistart(bowl, [START]).runs) == 1


@entry("Several starts, and shards", ArgumentError)
def starts_and_shards() -> None:
    shards, pool = [np.ones(2)], ThreadPoolExecutor
    multistart(lambda a, x: np.sum((a * x - 1) ** 2), [0.0, 2.0], shards=shards, executor=pool)


@starts_and_shards.instead("Minimise the sum from each start")
def sum_from_each_start() -> None:
    shards, pool = [np.ones(2)], ThreadPoolExecutor
    for start in (0.0, 2.0):
        minimize(lambda a, x: np.sum((a * x - 1) ** 2), start, shards=shards, executor=pool)

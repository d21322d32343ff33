"""The main job: its data, its two models, its complaints, and one run of the whole."""

import ast
import re
from pathlib import Path

import demo
import gaussian_process
import logistic
import numpy as np
import pytest
import scipy.stats
import training
from tables import DataError, read_table

from tests.helpers import run_python

EXAMPLES = Path(demo.__file__).parent
PNG = b"\x89PNG\r\n\x1a\n"


@pytest.fixture(scope="module")
def cancer():
    """Standardised features and labels of the breast-cancer table."""
    path, target = demo.SHIPPED["logistic"]
    table = read_table(path)
    _, features = table.without(target)
    centre, scale = logistic.standardiser(features)
    return (features - centre) / scale, table.column(target)


@pytest.fixture(scope="module")
def carbon():
    """Every fourth month of the CO2 series, less its straight line."""
    table = read_table(demo.SHIPPED["gp"][0])
    x, y = table.values[::4].T
    return x, y - np.polynomial.Polynomial.fit(x, y, 1)(x)


# ------------------------------------------------------------------------------------- the data


def test_breast_cancer_table_is_whole():
    table = read_table(demo.SHIPPED["logistic"][0])
    assert table.values.shape == (569, 31)
    assert table.columns[-1] == "malignant"
    assert table.column("malignant").sum() == 212
    assert table.column("mean_radius").min() == 6.981
    assert table.column("worst_area").max() == 4254.0


def test_carbon_dioxide_series_is_whole():
    table = read_table(demo.SHIPPED["gp"][0])
    assert table.columns == ("year", "co2")
    assert len(table) == 521
    years, co2 = table.values.T
    assert (np.diff(years) > 0).all()
    assert (years[0], years[-1]) == (1958.2083, 2001.9583)
    assert (co2 > 310).all()
    assert (co2 < 376).all()


@pytest.mark.parametrize("module", ["logistic.py", "gaussian_process.py"])
def test_models_import_numpy_alone(module):
    tree = ast.parse((EXAMPLES / module).read_text(encoding="utf-8"))
    imports = [node for node in ast.walk(tree) if isinstance(node, ast.Import | ast.ImportFrom)]
    assert [ast.unparse(node) for node in imports] == ["import numpy as np"]


# ------------------------------------------------------------------------------ reading a table


@pytest.mark.parametrize("separator", [",", ";", "\t"])
def test_table_of_each_separator(tmp_path, separator):
    path = tmp_path / "my.csv"
    text = "\ufeff x ,y\n1,2.5\n\n-3e2, 4 \n".replace(",", separator)
    path.write_text(text, encoding="utf-8")
    table = read_table(path)
    assert table.columns == ("x", "y")
    assert table.values.tolist() == [[1.0, 2.5], [-300.0, 4.0]]


def test_missing_column_lists_those_there(tmp_path):
    path = tmp_path / "my.csv"
    path.write_text("x,y\n1,2\n")
    with pytest.raises(DataError, match=r"no column 'z'; its columns are x, y"):
        read_table(path).column("z")


SERIES = "x,y\n" + "".join(f"{i},{i % 5}\n" for i in range(40))
LABELS = "a,b,t\n" + "".join(f"{i},{i * i},{i % 3 % 2}\n" for i in range(40))

COMPLAINTS = {
    "empty": ("", [], "my.csv is empty"),
    "blank": ("\n \n", [], "my.csv is empty"),
    "header only": ("a,b\n", [], "holds a header and no rows"),
    "no header": ("1,2\n3,4\n", [], "the first line must name the columns, but it holds '1', '2'"),
    "nameless column": ("a,,c\n1,2,3\n", [], "column 2 of the header has no name"),
    "same name twice": ("a,a\n1,2\n", [], "two columns are named 'a'"),
    "text": ("a,b\n1,2\n3,high\n", [], "column 'b', row 2 (line 3): 'high' is not a number"),
    "decimal comma": ("a;b\n1,5;2\n", [], "column 'a', row 1 (line 2): '1,5' is not a number"),
    "underscore": ("a,b\n1_0,2\n", [], "column 'a', row 1 (line 2): '1_0' is not a number"),
    "nan": ("a,b\n1,2\n\n3,NaN\n", [], "column 'b', row 2 (line 4): NaN is not a finite number"),
    "infinity": ("a,b\n-inf,2\n", [], "column 'a', row 1 (line 2): -inf is not a finite number"),
    "too large": ("a,b\n1,1e200\n", [], "column 'b', row 1 (line 2): 1e200 is too large"),
    "empty cell": ("a,b\n1,2\n ,4\n", [], "column 'a', row 2 (line 3): the cell is empty"),
    "short row": ("a,b\n1,2\n3\n", [], "row 2 (line 3): 1 cells, but the header names 2 columns"),
    "open quote": ('a,b\n"1,2\n', [], "line 2: not a CSV file"),
    "one column": ("a\n1\n2\n", [], "has one column only, 'a'"),
    "unknown target": (LABELS, ["--target", "z"], "no column 'z'; its columns are a, b, t"),
    "neither model": (LABELS, ["--target", "a"], "'a' is not a column of 0 and 1"),
    "not 0 and 1": (
        LABELS,
        ["--target", "a", "--model", "logistic"],
        "a target of 0 and 1, but 'a' holds 2 in row 3",
    ),
    "one class": ("a,t\n" + "1,1\n2,1\n" * 10, [], "'t' is 1 in every row"),
    "one of a class": ("a,t\n" + "1,1\n2,1\n" * 10 + "3,0\n", [], "'t' is 0 in one row only"),
    "few labels": ("a,t\n1,0\n2,1\n3,0\n", [], "3 rows; logistic regression needs at least 10"),
    "few points": ("x,y\n1,2\n2,7\n", [], "2 rows; the Gaussian process needs at least 20"),
    "three columns": (LABELS, ["--model", "gp"], "takes two columns, x and y, and this file has 3"),
    "constant x": ("x,y\n" + "1,2\n1,3\n" * 20, [], "'x' takes 1 value"),
    "straight line": (
        "x,y\n" + "".join(f"{i},{2 * i + 3}\n" for i in range(40)),
        [],
        "'y' is a straight line",
    ),
}


def complaint(capsys, *arguments):
    """The one line that the demo says on stderr before it gives up."""
    assert demo.main([str(argument) for argument in arguments]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("demo: ")
    assert err.count("\n") == 1
    return err


@pytest.mark.parametrize("text, options, message", COMPLAINTS.values(), ids=COMPLAINTS.keys())
def test_data_that_cannot_be_used(tmp_path, capsys, text, options, message):
    path = tmp_path / "my.csv"
    path.write_text(text)
    output = tmp_path / "out.png"
    assert message in complaint(capsys, "--data", path, "--output", output, *options)
    assert not output.exists()


def test_missing_file(tmp_path, capsys):
    assert "there is no file" in complaint(capsys, "--data", tmp_path / "none.csv")


def test_directory(tmp_path, capsys):
    assert "is a directory; pass a CSV file" in complaint(capsys, "--data", tmp_path)


def test_binary_file(tmp_path, capsys):
    path = tmp_path / "my.csv"
    path.write_bytes(PNG + b"\xff\xfe")
    assert "is not a text file in UTF-8" in complaint(capsys, "--data", path)


def test_output_that_cannot_be_written(tmp_path, capsys):
    (tmp_path / "file").touch()
    assert "ends in .png" in complaint(capsys, "--output", tmp_path / "plot.jpg")
    assert "is a directory" in complaint(capsys, "--output", tmp_path)
    assert "cannot be written" in complaint(capsys, "--output", tmp_path / "file" / "plot.png")


@pytest.mark.parametrize("arguments", [["--target", "y"], ["--seed", "-1"], ["--model", "tree"]])
def test_options_that_make_no_sense(arguments, capsys):
    with pytest.raises(SystemExit) as stop:
        demo.main(arguments)
    assert stop.value.code == 2
    assert "demo: error: " in capsys.readouterr().err


def test_interrupt_ends_cleanly(monkeypatch, capsys):
    def run(options):
        raise KeyboardInterrupt

    monkeypatch.setattr(demo, "run", run)
    assert demo.main([]) == 130
    assert capsys.readouterr().err == "demo: interrupted\n"


# ----------------------------------------------------------------------------------- the models


def test_logistic_loss_is_the_likelihood_and_the_penalty(cancer):
    features, labels = cancer
    theta = 0.3 * np.random.default_rng(0).standard_normal(31)
    probability = 1 / (1 + np.exp(-(features @ theta[:-1] + theta[-1])))
    likelihood = np.where(labels == 1, probability, 1 - probability)
    expected = -np.mean(np.log(likelihood)) + 0.05 * np.sum(theta[:-1] ** 2)
    assert logistic.loss(theta, features, labels, penalty=0.1) == pytest.approx(expected)
    np.testing.assert_allclose(logistic.probability(theta, features), probability)


def test_constant_column_is_standardised_to_zeros():
    features = np.column_stack([np.arange(7.0), np.full(7, 0.1), np.zeros(7)])
    centre, scale = logistic.standardiser(features)
    standard = (features - centre) / scale
    np.testing.assert_allclose(standard.mean(axis=0), 0, atol=1e-15)
    np.testing.assert_allclose(standard.std(axis=0), [1, 0, 0], atol=1e-15)


def test_split_keeps_the_proportion_of_the_classes():
    labels = np.repeat([0, 1], [60, 20])
    train, test = logistic.split(labels, 0.25, np.random.default_rng(0))
    assert np.bincount(labels[train]).tolist() == [45, 15]
    assert np.bincount(labels[test]).tolist() == [15, 5]
    assert sorted([*train, *test]) == list(range(80))


def test_gaussian_process_loss_is_the_likelihood(carbon):
    x, y = carbon
    theta, _ = gaussian_process.start(x, y)
    covariance = gaussian_process.noisy_kernel(theta, x)
    expected = -scipy.stats.multivariate_normal(cov=covariance).logpdf(y) / len(y)
    assert gaussian_process.loss(theta, x, y) == pytest.approx(expected)


def test_gaussian_process_predicts_by_conditioning(carbon):
    x, y = carbon
    theta, _ = gaussian_process.start(x, y)
    new = x[-1] + np.array([0.1, 5.0])
    covariance = gaussian_process.noisy_kernel(theta, np.concatenate([x, new]))
    n = len(x)
    weights = np.linalg.solve(covariance[:n, :n], covariance[:n, n:])
    mean, deviation = gaussian_process.predict(theta, x, y, new)
    np.testing.assert_allclose(mean, weights.T @ y, rtol=1e-6)
    variance = np.diag(covariance[n:, n:] - covariance[n:, :n] @ weights)
    np.testing.assert_allclose(deviation**2, variance, rtol=1e-6)


@pytest.mark.parametrize("period", [1.0, 0.3])
def test_strongest_period(period):
    x = np.linspace(3.0, 15.0, 240)
    y = 0.1 * x**2 + np.sin(2 * np.pi * x / period)
    assert gaussian_process.strongest_period(x, y)[0] == pytest.approx(period, rel=0.02)


# -------------------------------------------------------------------------------- the gradients


def assert_gradient_agrees(loss, theta):
    """Each component agrees with finite differences to 1e-6 of itself."""
    value, gradient = training.autodiff.value_and_gradient(loss, theta)
    assert float(value) == pytest.approx(float(loss(theta)), rel=1e-12)
    assert isinstance(gradient, np.ndarray)
    expected = training.finite_differences(loss, theta)
    np.testing.assert_allclose(gradient, expected, rtol=1e-6)


@pytest.mark.parametrize("spread", [0.0, 0.1, 1.0])
def test_gradient_of_logistic(cancer, spread):
    features, labels = cancer
    theta = spread * np.random.default_rng(1).standard_normal(31)
    assert_gradient_agrees(lambda theta: logistic.loss(theta, features, labels), theta)


@pytest.mark.parametrize("spread", [0.0, 0.1, 0.2])
def test_gradient_of_gaussian_process(carbon, spread):
    x, y = carbon
    theta, _ = gaussian_process.start(x, y)
    theta = theta + spread * np.random.default_rng(1).standard_normal(len(theta))
    assert_gradient_agrees(lambda theta: gaussian_process.loss(theta, x, y), theta)


def test_finite_differences_of_a_known_gradient():
    theta = np.array([0.3, -2.0, 1.5])
    found = training.finite_differences(lambda t: np.sin(40 * t[0]) + np.exp(t[1]) * t[2], theta)
    exact = [40 * np.cos(12.0), 1.5 * np.exp(-2.0), np.exp(-2.0)]
    np.testing.assert_allclose(found, exact, rtol=1e-9)


def test_gradient_difference_sees_a_wrong_gradient(monkeypatch):
    def wrong(loss, theta):
        return loss(theta), 2 * theta * np.array([1.0, 1.0, 1.001])

    monkeypatch.setattr(training.autodiff, "value_and_gradient", wrong)
    difference = training.gradient_difference(lambda t: np.sum(t**2), np.array([1.0, 2.0, 3.0]))
    assert difference == pytest.approx(1e-3, rel=1e-6)


# ------------------------------------------------------------------------------------ the whole


def run(capsys, *arguments):
    """What a successful run prints."""
    assert demo.main([str(argument) for argument in arguments]) == 0
    return capsys.readouterr().out


def test_quick_run_of_both_models(tmp_path, capsys):
    output = tmp_path / "new" / "demo.png"
    printed = run(capsys, "--quick", "--output", output)
    assert output.read_bytes().startswith(PNG)
    assert output.stat().st_size > 20_000
    assert "breast_cancer.csv" in printed
    assert "mauna_loa_co2.csv" in printed
    assert printed.count("converged") == 2
    assert min(map(float, re.findall(r"accuracy ([\d.]+)%", printed))) > 95
    assert float(re.search(r"RMSE ([\d.]+)", printed)[1]) < 3
    assert float(re.search(r"period ([\d.]+)", printed)[1]) == pytest.approx(1, abs=0.01)
    differences = [float(number) for number in re.findall(r"\d\.\de[-+]\d\d", printed)]
    assert len(differences) == 4
    assert max(differences) < 1e-6


def test_a_table_larger_than_memory(tmp_path, capsys):
    output = tmp_path / "demo.png"
    given = ["--quick", "--model", "logistic", "--output", output, "--shards"]
    printed = run(capsys, *given, 48, "--memory", 16, "--workers", 2)
    assert "64 MB" in printed
    assert "16 MB" in printed
    assert float(re.search(r"largest error of a weight +([\d.]+)", printed)[1]) < 0.02
    assert demo.main([str(a) for a in [*given, 39]]) == 2
    assert "--shards 39: one must fit into memory; give 40" in capsys.readouterr().err


LIMITED = """\
import sys

import numpy as np

sys.path.insert(0, "examples")  # as the tests have it
import larger

with larger.limited_here(32) as is_kept:
    if is_kept:
        np.ones(2**20)
        print("2**20")
        try:
            np.ones(16 * 2**20)
        except MemoryError:
            print("MemoryError")
    else:
        print("no limit")
if is_kept:
    np.ones(16 * 2**20)
    print("16 * 2**20")
"""


def test_the_limit_of_memory_holds():
    # In a fresh process: what tests before have freed is there beyond the limit.
    done = run_python("-c", LIMITED)
    if done.stdout == "no limit\n":
        pytest.skip("this system has no such limit")
    assert done.stdout == "2**20\nMemoryError\n16 * 2**20\n"


def test_own_labels(tmp_path, capsys):
    path, output = tmp_path / "[red]my$.csv", tmp_path / "demo.png"
    rows = "".join(f"{i % 3 % 2},{i},{i * i},7\n" for i in range(40))
    path.write_text("$x_{,[b],t,constant\n" + rows)
    printed = run(capsys, "--data", path, "--output", output, "--target", "$x_{")
    assert "$x_{ from 3 columns" in printed
    assert output.read_bytes().startswith(PNG)


def test_own_series(tmp_path, capsys):
    path, output = tmp_path / "my.csv", tmp_path / "demo.png"
    path.write_text(SERIES)
    printed = run(capsys, "--data", path, "--output", output)
    assert "y over x" in printed
    assert "period 5" in printed
    assert output.read_bytes().startswith(PNG)

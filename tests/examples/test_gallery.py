"""Each script of the gallery runs, draws a picture, and finds what it looks for."""

import importlib
import os
import runpy

import matplotlib as mpl
import numpy as np
import pytest
from matplotlib import pyplot as plt

from autodiff import gradient
from tests.helpers import ROOT

GALLERY = ROOT / "examples" / "gallery"

# What must be true of the variables of a script when it has run.
FINDS = {
    "breast_cancer": lambda v: v["accuracy"] > 0.95,
    "bridge": lambda v: np.allclose(v["slopes"][:, 0], v["measured"], rtol=2e-3),
    "carbon_dioxide": lambda v: v["rmse"] < 3.0,
    "cloth": lambda v: v["fit"].fun < 1e-4,
    "deblurring": lambda v: v["error"](v["sharp"]) < 0.8 * v["error"](v["seen"]),
    "digits": lambda v: v["accuracy"] > 0.95,
    "eight_schools": lambda v: abs(v["mean"].mean() - 6.3) < 1.0 and 4 < v["steps"] < 40,
    "heat_source": lambda v: abs(v["fit"].params["x"] - v["true"]["x"]) < 0.02,
    "lynx_and_hare": lambda v: abs(v["birth"] - 0.55) < 0.05 and abs(v["death"] - 0.80) < 0.05,
    "moon_lander": lambda v: abs(v["height"]) < 0.05 and abs(v["speed"]) < 0.1,
    "option_greeks": lambda v: abs(v["price"] - 6.09) < 0.05 and abs(v["greeks"][0] + 0.41) < 0.03,
}


def is_best(v):
    """Whether the angles of the panel are the best ones, and its slopes those of differences."""
    yearly, flat = v["yearly"], v["flat"]
    for name, slope in gradient(yearly, flat).items():
        more, less = ({**flat, name: flat[name] + step} for step in (1e-3, -1e-3))
        np.testing.assert_allclose(slope, (yearly(more) - yearly(less)) / 2e-3, rtol=1e-5)
    return 35 < v["best"]["tilt"] < 45 and abs(v["best"]["facing"] - 180) < 5


# Scripts that need a package which the other tests do not, and the variable that is set where it
# must be there: by `make systems` and `make cluster`.
FINDS_WITH = {
    "cluster_of_digits": (
        "distributed",
        "CHAINRULES_CLUSTER",
        lambda v: v["fit"].nit > 10 and v["accuracy"] > 0.93,
    ),
    "solar_panel": ("pvlib", "CHAINRULES_SYSTEMS", is_best),
    "torch_and_scipy": ("torch", "CHAINRULES_SYSTEMS", lambda v: v["rmse"] < 0.5),
}


def test_every_script_is_tested():
    assert {path.stem for path in GALLERY.glob("*.py")} == {*FINDS, *FINDS_WITH}


@pytest.fixture
def run(monkeypatch):
    monkeypatch.chdir(GALLERY)  # as sphinx-gallery does
    mpl.use("Agg")
    monkeypatch.setattr(plt, "show", lambda: None)

    def run(name):
        found = runpy.run_path(str(GALLERY / f"{name}.py"), run_name="__main__")
        assert plt.get_fignums()
        plt.gcf().canvas.draw()
        return found

    yield run
    plt.close("all")


@pytest.mark.parametrize("name", FINDS)
def test_script(name, run):
    assert FINDS[name](run(name))


@pytest.mark.parametrize("name", FINDS_WITH)
def test_script_with_packages(name, run):
    package, variable, is_found = FINDS_WITH[name]
    if os.environ.get(variable):
        importlib.import_module(package)
    else:
        pytest.importorskip(package)
    assert is_found(run(name))

"""Each script of the gallery runs, draws a picture, and finds what it looks for."""

import runpy

import matplotlib as mpl
import numpy as np
import pytest
from matplotlib import pyplot as plt

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
    "eight_schools": lambda v: abs(v["mean"].mean() - 6.3) < 1.5 and v["rate"] > 0.8,
    "heat_source": lambda v: abs(v["fit"].params["x"] - v["true"]["x"]) < 0.02,
    "lynx_and_hare": lambda v: abs(v["birth"] - 0.55) < 0.05 and abs(v["death"] - 0.80) < 0.05,
    "moon_lander": lambda v: abs(v["height"]) < 0.05 and abs(v["speed"]) < 0.1,
    "option_greeks": lambda v: abs(v["price"] - 6.09) < 0.05 and abs(v["greeks"][0] + 0.41) < 0.03,
}


def test_every_script_is_tested():
    assert {path.stem for path in GALLERY.glob("*.py")} == set(FINDS)


@pytest.mark.parametrize("name", FINDS)
def test_script(name, monkeypatch):
    monkeypatch.chdir(GALLERY)  # as sphinx-gallery does
    mpl.use("Agg")
    monkeypatch.setattr(plt, "show", lambda: None)
    try:
        found = runpy.run_path(str(GALLERY / f"{name}.py"), run_name="__main__")
        assert plt.get_fignums()
        plt.gcf().canvas.draw()
    finally:
        plt.close("all")
    assert FINDS[name](found)

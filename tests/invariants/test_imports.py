"""Importing stays cheap: what a fresh process has loaded after one statement."""

from tests.helpers import run_python


def modules_after(statement: str) -> set[str]:
    """Names of all modules that a fresh interpreter has loaded after `statement`."""
    code = f"{statement}\nimport sys; print(*sys.modules, sep='\\n')"
    return set(run_python("-c", code).stdout.split())


def family(modules: set[str], *packages: str) -> set[str]:
    return {name for name in modules if name.partition(".")[0] in packages}


def test_core_loads_no_scipy():
    assert family(modules_after("import chainrules_core"), "scipy") == set()


def test_core_loads_no_scipy_to_project_dense_values():
    statement = (
        "import numpy as np; from chainrules_core import ProjectTo\n"
        "ProjectTo(np.ones(3))(np.ones(3)); ProjectTo(1.0)(1 + 2j)"
    )
    assert family(modules_after(statement), "scipy") == set()


def test_autodiff_loads_no_scipy_subpackage_and_nothing_to_draw_with():
    loaded = modules_after("import autodiff")
    assert "chainrules" in loaded
    assert family(loaded, "scipy") <= family(modules_after("import scipy"), "scipy")
    assert family(loaded, "matplotlib", "rich") == set()


def test_modules_of_rules_may_be_imported_by_name():
    # Their registrations must not load others that need them as a whole.
    modules_after("import scipy.interpolate, chainrules.scipy.linalg.factors.cholesky")


def test_rules_may_be_loaded_where_floating_point_errors_are_raised():
    modules_after(
        "import numpy; numpy.seterr(all='raise'); import autodiff, chainrules.scipy.special"
    )


def test_autodiff_loads_only_what_most_programs_need():
    # 100 ms together: what is known of them waits until somebody else has imported them.
    late = {
        "autodiff.structured.runtime", "decimal", "difflib", "fractions", "importlib.metadata",
        "json", "numpy.fft", "numpy.random", "pathlib", "socket", "zipfile",
    }  # fmt: skip
    first = "autodiff.gradient(lambda x: np.sum(np.tanh(x) ** 2), np.ones(3))"
    loaded = modules_after(f"import numpy as np, autodiff\n{first}")
    assert late & (loaded - modules_after("import numpy")) == set()

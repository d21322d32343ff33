"""Check the whole registry after a run of all tests: no ambiguity, no alias, no untested rule.

    python tools/check_registry.py FOLDER

FOLDER is where the test processes wrote the rules that they checked (CHAINRULES_EXERCISED).
"""

import importlib
import sys
from importlib.util import find_spec
from pathlib import Path

import chainrules
from chainrules_core.registry import pending
from chainrules_core.testing import load_exercised, registry_problems

# Rules that no check by finite differences has to cover, and why.
UNTESTED = {
    "numpy.nextafter": "a step of one unit in the last place: differences see nothing else",
    "math.nextafter": "likewise",
    "functools.reduce": "it needs an engine: the tests compare with differences through ours",
    "itertools.accumulate": "likewise",
    "map": "likewise",
    "numpy.delete": "the tests of inserting go by the engine for integers that are traced",
    "numpy.piecewise": "decomposed: there is no rule to check; the engine's tests cover the body",
    "statistics._mean_stdev": "likewise",
    "numpy.unique_values": "its order is not defined; the engine's tests cover it",
    "numpy.clongdouble": "finite differences are taken in double precision",
}
# In reverse mode an engine traces their bodies.
FORWARD_ONLY = ("chainrules.scipy.integrate.states.pulled_states",)
# Made by the same code as those of add, multiply and maximum, which are tested.
METHODS = tuple(
    f"{ufunc}.{method}"
    for ufunc in ("copysign", "heaviside", "ldexp", "nextafter")
    for method in ("reduce", "accumulate", "reduceat", "outer")
)
# Helpers of pullbacks, checked by the second derivatives of the functions that use them, and the
# functions behind the public ones of the same name.
INNER = (
    # Draws: no two calls give the same. Their tests compare through the engine, with seeds.
    "numpy.random.",
    "chainrules.shapes.padding.folded",
    "chainrules.reductions.differences.diff_adjoint",
    "chainrules.reductions.permutations.put_back",
    # They need the engine, or hold at a solution only: the tests of scipy.optimize cover them.
    "chainrules.scipy.optimize.",
    # Likewise of scipy.integrate.
    "chainrules.scipy.integrate.",
    # Of functions, and of Hermitian arguments only: the tests of scipy.linalg go by the engine.
    "scipy.linalg._matfuncs.funm",
    "scipy.linalg._solvers.solve_continuous_are",
    "scipy.linalg._solvers.solve_discrete_are",
    # Their first argument keeps a structure that perturbations would break: the tests compare the
    # pushforward with differences that keep it, and the pullback with the pushforward.
    "chainrules.scipy.linalg.factors.schur.below_blocks",
    "chainrules.scipy.linalg.factors.pencils.solve_below",
    "chainrules.scipy.signal.filters.cascades.cascade",
    # Its value is given to it: what SciPy has selected. The filters are compared with differences.
    "chainrules.scipy.ndimage.chosen.chosen",
    # Likewise: the factors are given to it. The tests of splu compare them with differences.
    "chainrules.scipy.sparse.linalg.factorised._unpivoted",
    "_zeta",
    "_riemann_zeta",
    "scipy.special._basic.zeta",
    "scipy.special._logsumexp.",
    # Methods of the distributions' classes, compared with differences through the engine.
    "scipy.stats.",
    "chainrules.scipy.stats.",
)


# Constants, and bodies that the engine traces: its tests cover them.
FORMLESS = ("non_differentiable", "opt_out", "refused", "decompose")
# Made by the same code for each function: a list becomes an array, whose rule is asked.
BY_ARRAYS = ("lists",)


def is_allowed(problem: object) -> bool:
    """Whether a problem is known and stated above; constants have no formula to be checked."""
    if problem.kind == "partner":
        return problem.name in FORWARD_ONLY
    if problem.kind != "untested":
        return False
    if any(f" {kind} " in problem.text for kind in (*FORMLESS, *BY_ARRAYS)):
        return True
    name = problem.name
    return name in UNTESTED or name.endswith(METHODS) or any(part in name for part in INNER)


def main() -> int:
    """Print the problems; return 1 if there are any."""
    assert chainrules, "imported for the rules it brings"
    for package, _ in [*pending._pending]:
        if find_spec(package.partition(".")[0]):  # some are optional
            importlib.import_module(package)  # so that its rules load
    tested = load_exercised(Path(sys.argv[1]).glob("*.json"))
    problems = [p for p in registry_problems(tested=tested) if not is_allowed(p)]
    for problem in problems:
        print(problem)
    print(f"registry: {len(tested)} rules checked by tests, {len(problems)} problems")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())

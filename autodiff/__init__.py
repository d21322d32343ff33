"""Derivatives of ordinary Python and NumPy code.

Differentiate a function at its arguments:

==================================== ===========================================================
`gradient`, `value_and_gradient`     of a function that returns one real number
`derivative`                         of a function of one real number
`jacobian`, `hessian`                whole matrices
`hvp`, `vhp`, `diag_hessian`         products with a Hessian, and its diagonal
`pullback`, `pushforward`            of any function, applied to cotangents or tangents
`captured_gradient`                  with respect to captured variables
==================================== ===========================================================

The interface of JAX and HIPS autograd: `grad`, `value_and_grad`, `jacfwd`, `jacrev`,
`elementwise_grad`, `vjp`, `jvp`. These differentiate with respect to the first argument by default,
the functions in the table with respect to all of them.

Work with nests of parameters: `ravel` turns them into one vector; `tree_map`, `tree_add` and
`tree_scale` change them variable by variable. `autodiff.optimize` fits them. `autodiff.distributed`
computes sums over data that do not fit in memory, or on one machine.

Change how a function is differentiated: `custom_gradient`, `custom_vjp`, `custom_jvp`,
`ignore_derivatives` (`stop_gradient`), `cotangent_hook`, `checkpoint`, `checkpoint_loops`,
`numeric_fallback`. Make it fast: `compile`, `automatic_compile`. Find out what happens:
`explain`, `debug_nans`, `full_tracebacks`. Define rules for your own functions with
``chainrules_core``.
"""

import importlib
from typing import TYPE_CHECKING, Any

from autodiff.trace.checks import threads as threads  # before all else: it may refuse to go on

# isort: split
import chainrules as chainrules
from autodiff import wiring as wiring
from autodiff.api.checkpoint import checkpoint as checkpoint, checkpoint_loops as checkpoint_loops
from autodiff.api.closure_gradients import captured_gradient as captured_gradient
from autodiff.api.cotangent_hooks import cotangent_hook as cotangent_hook
from autodiff.api.custom_derivatives import (
    custom_gradient as custom_gradient,
    custom_jvp as custom_jvp,
    custom_vjp as custom_vjp,
)
from autodiff.api.debug_nans import NonFiniteError as NonFiniteError, debug_nans as debug_nans
from autodiff.api.functional import (
    elementwise_grad as elementwise_grad,
    grad as grad,
    jacfwd as jacfwd,
    jacrev as jacrev,
    jvp as jvp,
    value_and_grad as value_and_grad,
    vjp as vjp,
)
from autodiff.api.gradients import (
    derivative as derivative,
    gradient as gradient,
    pullback as pullback,
    pushforward as pushforward,
    value_and_gradient as value_and_gradient,
)
from autodiff.api.jacobians import (
    diag_hessian as diag_hessian,
    hessian as hessian,
    hvp as hvp,
    jacobian as jacobian,
    vhp as vhp,
)
from autodiff.api.numeric_fallback import numeric_fallback as numeric_fallback
from autodiff.api.stop_gradient import ignore_derivatives as ignore_derivatives
from autodiff.api.tracebacks import full_tracebacks as full_tracebacks
from autodiff.api.trees import (
    ravel as ravel,
    tree_add as tree_add,
    tree_map as tree_map,
    tree_scale as tree_scale,
)
from autodiff.autocompile import automatic_compile as automatic_compile
from autodiff.compiler import CompileError as CompileError, compile as compile
from autodiff.errors import (
    ArgumentError as ArgumentError,
    DifferentiationError as DifferentiationError,
    LeakedTracerError as LeakedTracerError,
    LostValueError as LostValueError,
    MissingRuleError as MissingRuleError,
    MutationError as MutationError,
    OutputError as OutputError,
    SeedError as SeedError,
    ShardError as ShardError,
    SourceError as SourceError,
)
from autodiff.fastpath import scalar_methods as scalar_methods
from autodiff.numpy_api import methods as methods, operators as operators, protocols as protocols
from autodiff.trace.checks.decisions import NoPathWarning as NoPathWarning
from chainrules_core._version import __version__ as __version__

if TYPE_CHECKING:
    from autodiff import distributed as distributed, optimize as optimize
    from autodiff.explanation import Explanation as Explanation, explain as explain

stop_gradient = ignore_derivatives

__all__ = [
    "ArgumentError",
    "automatic_compile",
    "captured_gradient",
    "checkpoint",
    "checkpoint_loops",
    "CompileError",
    "cotangent_hook",
    "custom_gradient",
    "custom_jvp",
    "custom_vjp",
    "debug_nans",
    "derivative",
    "diag_hessian",
    "DifferentiationError",
    "elementwise_grad",
    "explain",
    "Explanation",
    "full_tracebacks",
    "grad",
    "gradient",
    "hessian",
    "hvp",
    "ignore_derivatives",
    "jacfwd",
    "jacobian",
    "jacrev",
    "jvp",
    "LeakedTracerError",
    "LostValueError",
    "MissingRuleError",
    "MutationError",
    "NonFiniteError",
    "NoPathWarning",
    "numeric_fallback",
    "OutputError",
    "pullback",
    "pushforward",
    "ravel",
    "SeedError",
    "ShardError",
    "SourceError",
    "stop_gradient",
    "tree_add",
    "tree_map",
    "tree_scale",
    "value_and_grad",
    "value_and_gradient",
    "vhp",
    "vjp",
]


def __getattr__(name: str) -> Any:
    # Loaded at first use: SciPy's optimisers, and what Python has for HTML, files and memory.
    if name in ("distributed", "optimize"):
        return importlib.import_module(f"autodiff.{name}")
    if name not in ("Explanation", "explain", "explanation"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    explanation = importlib.import_module("autodiff.explanation")
    globals().update(Explanation=explanation.Explanation, explain=explanation.explain)
    return globals()[name]


def __dir__() -> list[str]:
    # `from autodiff import *` leaves Python's own `compile` alone.
    return sorted([*__all__, "compile", "__version__"])

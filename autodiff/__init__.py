"""Derivatives of Python and NumPy code as it is written."""

from autodiff import threads as threads  # before all else: it may refuse to go on

# isort: split
import chainrules as chainrules
from autodiff import (
    floats as floats,
    methods as methods,
    operators as operators,
    protocols as protocols,
    wiring as wiring,
)
from autodiff.captured import captured_gradient as captured_gradient
from autodiff.checkpoint import checkpoint as checkpoint
from autodiff.compile import CompileError as CompileError, compile as compile
from autodiff.custom import (
    custom_gradient as custom_gradient,
    custom_jvp as custom_jvp,
    custom_vjp as custom_vjp,
)
from autodiff.decisions import NoPathWarning as NoPathWarning
from autodiff.derivatives import (
    derivative as derivative,
    gradient as gradient,
    pullback as pullback,
    pushforward as pushforward,
    value_and_gradient as value_and_gradient,
)
from autodiff.errors import (
    ArgumentError as ArgumentError,
    DifferentiationError as DifferentiationError,
    LeakedTracerError as LeakedTracerError,
    LostValueError as LostValueError,
    MissingRuleError as MissingRuleError,
    MutationError as MutationError,
    OutputError as OutputError,
    SeedError as SeedError,
    SourceError as SourceError,
)
from autodiff.explain import Explanation as Explanation, explain as explain
from autodiff.fallback import numeric_fallback as numeric_fallback
from autodiff.hooks import cotangent_hook as cotangent_hook
from autodiff.hot import automatic_compile as automatic_compile
from autodiff.ignore import ignore_derivatives as ignore_derivatives
from autodiff.matrices import (
    diag_hessian as diag_hessian,
    hessian as hessian,
    hvp as hvp,
    jacobian as jacobian,
    vhp as vhp,
)
from autodiff.nans import NonFiniteError as NonFiniteError, debug_nans as debug_nans
from autodiff.transforms import (
    elementwise_grad as elementwise_grad,
    grad as grad,
    jacfwd as jacfwd,
    jacrev as jacrev,
    jvp as jvp,
    value_and_grad as value_and_grad,
    vjp as vjp,
)
from chainrules_core._version import __version__ as __version__

stop_gradient = ignore_derivatives

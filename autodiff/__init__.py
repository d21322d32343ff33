"""Derivatives of Python and NumPy code as it is written."""

import chainrules as chainrules
from autodiff import methods as methods
from autodiff import operators as operators
from autodiff import protocols as protocols
from autodiff import floats as floats
from autodiff.derivatives import derivative as derivative
from autodiff.derivatives import gradient as gradient
from autodiff.derivatives import pullback as pullback
from autodiff.derivatives import value_and_gradient as value_and_gradient
from autodiff.errors import ArgumentError as ArgumentError
from autodiff.errors import DifferentiationError as DifferentiationError
from autodiff.errors import LeakedTracerError as LeakedTracerError
from autodiff.errors import LostValueError as LostValueError
from autodiff.errors import MissingRuleError as MissingRuleError
from autodiff.errors import MutationError as MutationError
from autodiff.errors import OutputError as OutputError
from autodiff.errors import SeedError as SeedError
from chainrules_core import ignore_derivatives as ignore_derivatives
from chainrules_core._version import __version__ as __version__

stop_gradient = ignore_derivatives

"""The calls that go against the direction of imports, all in one place.

A lower module may have to call an upper one: the dispatch of a call traces the body of a function,
the tracing of bodies dispatches calls. The lower one has a function `connect`, and here it is given
what it calls.
"""

from autodiff import errors
from autodiff.api import functional, gradients, jacobians, numeric_fallback
from autodiff.closures import cached_derivatives, closures
from autodiff.dispatch import arguments, call, plan_cache
from autodiff.intercept.runtime import replacements
from autodiff.intercept.source import original_code, rewritten_code
from autodiff.intercept.syntax import syntax_ops
from autodiff.numpy_api import array_subclass_methods, array_subclasses
from autodiff.structured import calls as structured_calls
from autodiff.structured.callables import inner_derivatives
from autodiff.trace import jvp_trace
from autodiff.trace.checks import number_classes
from chainrules_core.interpreter.places import add_engine

add_engine("autodiff", entries="autodiff.api")
errors.connect(source_of=rewritten_code.source_of)
replacements.connect(calling=structured_calls.calling)
syntax_ops.connect(intercept=replacements.intercept)
call.connect(
    planned=plan_cache.planned,
    body_of=replacements.traced_body,
    as_written=original_code.as_written,
    converted=syntax_ops.converted,
    with_closures=closures.with_closures,
    numerically=numeric_fallback.numerically,
    push_of=jvp_trace.push,
    pullback_of=gradients.pullback,
    pushforward_of=jvp_trace.Pushed,
    repeated=cached_derivatives.repeated,
)
inner_derivatives.connect(
    parts_of_derivative=functional.parts_of_derivative,
    gradient=gradients.gradient,
    value_and_gradient=gradients.value_and_gradient,
    derivative=gradients.derivative,
    pullback=gradients.pullback,
    cotangents=gradients.cotangents,
    jacobian=jacobians.jacobian,
    hessian=jacobians.hessian,
    hvp=jacobians.hvp,
    vhp=jacobians.vhp,
    diag_hessian=jacobians.diag_hessian,
    jvp=functional.jvp,
    vjp=functional.vjp,
    tangent_of=functional.tangent_of,
    grad=functional.grad,
    value_and_grad=functional.value_and_grad,
    jacfwd=functional.jacfwd,
    jacrev=functional.jacrev,
)
number_classes.connect(numbers=arguments.cells_as_numbers)
array_subclasses.connect(methods=array_subclass_methods.ArrayMethods)

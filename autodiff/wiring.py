"""The calls that go against the direction of imports, all in one place.

A lower module may have to call an upper one: the dispatch of a call traces the body of a function,
the tracing of bodies dispatches calls. The lower one has a function `connect`, and here it is given
what it calls.
"""

from autodiff import (
    call,
    closures,
    derivatives,
    errors,
    fallback,
    forward,
    fused,
    plans,
    repeated,
)
from autodiff.intercept import bodies, expressions, functions, plain, syntax

errors.connect(source_of=bodies.source_of)
syntax.connect(intercept=functions.intercept)
expressions.connect(write_way=fused.write_way)
call.connect(
    planned=plans.planned,
    body_of=functions.traced_body,
    as_written=plain.as_written,
    converted=syntax.converted,
    with_closures=closures.with_closures,
    numerically=fallback.numerically,
    push_of=forward.push,
    pullback_of=derivatives.pullback,
    pushforward_of=forward.Pushed,
    repeated_pullback=repeated.repeated_pullback,
    repeated_pushforward=repeated.repeated_pushforward,
)

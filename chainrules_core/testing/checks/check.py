"""check_rrule, check_frule, check_rule, check_scalar: test whether a rule is right.

They compare a rule with finite differences of the function, never with a formula. If something is
wrong, they raise an AssertionError that names the rule, the argument and the problem. Otherwise
they return a `CheckResult`.

How is a gradient compared? If an argument has up to 12 coordinates, each of them is perturbed and
the whole cotangent is compared. A larger argument is perturbed in one random direction x_dot, and
Re⟨y_bar, J x_dot⟩, from finite differences, is compared with Re⟨x_bar, x_dot⟩. Except by
coincidence of random numbers, this finds an error in any entry. If it does, the whole gradient is
computed, to say which entry is wrong.

With ``CHAINRULES_TEST_STRICT=1`` in the environment, up to 200 coordinates are perturbed, larger
arguments are perturbed in three directions, and a Python number does not pass for a NumPy scalar.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from typing import Any, TypeVar, cast

import numpy as np

from chainrules_core.config import RuleConfig
from chainrules_core.rules import frule, rrule
from chainrules_core.tangents import NoTangent
from chainrules_core.testing.checks.case import Case, CheckResult
from chainrules_core.testing.checks.forward import ForwardCheck
from chainrules_core.testing.checks.reverse import ReverseCheck
from chainrules_core.testing.checks.second_order import check_second_order
from chainrules_core.testing.comparison.compare import Tolerance
from chainrules_core.testing.failures import RuleCheckError
from chainrules_core.testing.inputs.seeds import AUTO, unpaired, with_tangent
from chainrules_core.testing.numeric.differences import FiniteDifferences

F = TypeVar("F", bound=Callable)


def _check(check: F) -> F:
    """Let Inf and NaN be compared without warnings, and a failure's traceback be short."""

    @functools.wraps(check)
    def checked(*args: Any, **options: Any) -> CheckResult:
        __tracebackhide__ = True
        try:
            with np.errstate(all="ignore"):
                return check(*args, **options)
        except RuleCheckError as error:
            # What happened inside the kit is no news; what the rule raised is the cause.
            raise error.with_traceback(None) from error.__cause__

    return cast(F, checked)


@_check
def check_rrule(
    f: Any,
    *args: Any,
    output_tangent: Any = AUTO,
    fkwargs: Mapping[str, Any] | None = None,
    config: RuleConfig | None = None,
    rrule_f: Callable = rrule,
    fdm: FiniteDifferences | None = None,
    rtol: float | None = None,
    atol: float | None = None,
    equal_nan: bool = False,
    check_thunked: bool = True,
    call_twice: bool = True,
    check_dtype: bool = True,
    check_inputs_unchanged: bool = True,
    second_order: bool = False,
    gradient: Callable | None = None,
    on_missing: str = "warn",
) -> CheckResult:
    """Check the rrule of `f` at these arguments.

    The rule must exist and return a pair, whose first element is the value of `f`, with the same
    type. The pullback must return one cotangent for the function itself and one for each argument.
    Each cotangent must have the shape, kind and precision of its argument and agree with finite
    differences, or be ``NoTangent()`` if the argument cannot be perturbed. The pullback is called
    again, with a cotangent that is a thunk, or an array that is read-only, strided or 0-d, and with
    each part of a structured cotangent alone. Neither the arguments nor y_bar may change. The
    cotangents must allow accumulation in place, and must be available one by one.

    Parameters
    ----------
    f : callable
        A function, class, method, bound method or callable object. Objects with fields are
        perturbed as well.
    *args : values
        The arguments. Floating-point numbers in them are perturbed, also inside containers and
        objects. Wrap an argument in `const` to prevent that, or in `with_tangent` to choose a
        direction. Integers are constants, unless the rule returns a cotangent for them, which is
        then checked.
    output_tangent : tangent
        The cotangent of the output to use; a random one by default.
    fkwargs : mapping, optional
        Keyword arguments of the call.
    config : RuleConfig, optional
        The configuration for the rule, such as `TestConfig()`.
    rrule_f : callable
        A function to call in place of ``rrule``, to test an engine or a rule that is not
        registered.
    fdm : FiniteDifferences, optional
        `central_fdm()` by default; `forward_fdm()` or `backward_fdm()` at kinks and edges.
    rtol, atol : float, optional
        Tolerances (see `assert_tangents_close`).
    equal_nan : bool
        Whether a cotangent may be NaN where the finite differences are.
    check_thunked : bool
        Whether to try other forms of y_bar.
    call_twice : bool
        Whether to call the pullback a second time.
    check_dtype : bool
        Whether to check the precision of the primal and the cotangents.
    check_inputs_unchanged : bool
        Whether the rule must leave the arguments as `f` leaves them.
    second_order : bool
        Whether to differentiate the pullback too, which needs `gradient`.
    gradient : callable, optional
        An engine's ``gradient(f, *args)``.
    on_missing : str
        What to do about a derivative that the rule declares as not implemented: "warn", "allow" or
        "fail". It is never compared, and the result lists it.

    Returns
    -------
    CheckResult
        The primal, the rules used, and the derivatives that are missing.

    Raises
    ------
    RuleCheckError
        An AssertionError that says what is wrong.

    Examples
    --------
    >>> def half_square(x):
    ...     return x * x / 2
    >>> @rrule.register(half_square)
    ... def half_square_rrule(x):
    ...     def half_square_pullback(y_bar):
    ...         return -x * y_bar
    ...
    ...     return half_square(x), half_square_pullback
    >>> check_rrule(half_square, 3.0)
    Traceback (most recent call last):
        ...
    chainrules_core.testing.failures.RuleCheckError: rrule of ...half_square(float), ...: the
    cotangent of argument 1 (x) differs from finite differences: ... is a sign missing?
    >>> rrule.unregister(half_square)
    """
    tolerance = Tolerance(rtol, atol, equal_nan)
    case = Case(
        "rrule", f, args, fkwargs, config, rrule_f,
        fdm=fdm, tolerance=tolerance, on_missing=on_missing,
    )  # fmt: skip
    check = ReverseCheck(case, output_tangent, check_dtype)
    check.check_primal()
    check.check_cotangents()
    if call_twice:
        check.check_twice()
    if check_thunked:
        check.check_seed_forms()
    check.check_parts_of_seed()
    check.check_accumulation()
    check.check_alone()
    if check_inputs_unchanged:
        check.check_inputs_unchanged()
    if second_order:
        check_second_order(check, gradient)
    return case.finish()


@_check
def check_frule(
    f: Any,
    *args: Any,
    output_tangent: Any = AUTO,
    fkwargs: Mapping[str, Any] | None = None,
    config: RuleConfig | None = None,
    frule_f: Callable = frule,
    fdm: FiniteDifferences | None = None,
    rtol: float | None = None,
    atol: float | None = None,
    equal_nan: bool = False,
    check_thunked: bool = True,
    check_dtype: bool = True,
    on_missing: str = "warn",
) -> CheckResult:
    """Check the frule of `f` at these arguments.

    The rule must exist and return a pair, whose first element is the value of `f`, with the same
    type. The tangent must have the shape, kind and precision of the output and agree with finite
    differences. The tangents of arguments may be zeros and thunks. Neither arguments nor tangents
    may change. The tangent must allow accumulation in place.

    The parameters are those of `check_rrule`, except for

    Parameters
    ----------
    f, *args
        The call; the direction in which an argument is perturbed is random, or given by
        `with_tangent`.
    output_tangent : tangent
        The accumulator to which the output's tangent is added.
    frule_f : callable
        Called in place of ``frule``.
    fkwargs, config, fdm, rtol, atol, equal_nan, check_thunked, check_dtype, on_missing
        See `check_rrule`.

    Returns
    -------
    CheckResult
        The primal, the rules used, and the derivatives that are missing.

    Raises
    ------
    RuleCheckError
        An AssertionError that says what is wrong.
    """
    tolerance = Tolerance(rtol, atol, equal_nan)
    case = Case(
        "frule", f, args, fkwargs, config, frule_f,
        fdm=fdm, tolerance=tolerance, on_missing=on_missing,
    )  # fmt: skip
    check = ForwardCheck(case, output_tangent, check_dtype)
    check.check_primal()
    check.check_form()
    check.check_value()
    check.check_zeros()
    if check_thunked:
        check.check_thunks()
    check.check_accumulation()
    return case.finish()


# What only one of the two takes.
_REVERSE_ONLY = frozenset(
    {"call_twice", "check_inputs_unchanged", "gradient", "output_tangent", "rrule_f",
     "second_order"}
)  # fmt: skip
_FORWARD_ONLY = frozenset({"frule_f"})


def check_rule(f: Any, *args: Any, **options: Any) -> CheckResult:
    """Check both rules of `f` at these arguments: `check_frule`, then `check_rrule`.

    Parameters
    ----------
    f, *args
        The call.
    **options
        Options of `check_frule` and `check_rrule`; each goes where it belongs.

    Returns
    -------
    CheckResult
        Of both.

    Examples
    --------
    >>> from chainrules_core import scalar_rule
    >>> def cube(x):
    ...     return x * x * x
    >>> scalar_rule(cube, lambda y, x: 3 * x * x)
    >>> check_rule(cube, np.array([1.0, -2.0])).missing
    []
    >>> rrule.unregister(cube), frule.unregister(cube)
    (None, None)
    """
    __tracebackhide__ = True
    forward = check_frule(f, *args, **_without(options, _REVERSE_ONLY))
    reverse = check_rrule(f, *args, **_without(options, _FORWARD_ONLY))
    missing = dict.fromkeys([*forward.missing, *reverse.missing])
    return CheckResult(reverse.y, forward.rules + reverse.rules, list(missing))


def _without(options: dict[str, Any], names: frozenset[str]) -> dict[str, Any]:
    return {name: value for name, value in options.items() if name not in names}


def check_scalar(f: Any, z: Any, **options: Any) -> CheckResult:
    """Check both rules of a function of one number that returns one number.

    The tangents are units: 1, and i where the argument or the output is complex. Where the output
    is complex, a real cotangent must have the same effect as the same number as a complex one.

    Parameters
    ----------
    f : callable
        The function.
    z : number
        Its argument.
    **options
        As for `check_rule`, without `output_tangent`.

    Returns
    -------
    CheckResult
        Of all checks.

    Examples
    --------
    >>> from chainrules_core import scalar_rule
    >>> def reciprocal(z):
    ...     return 1 / z
    >>> scalar_rule(reciprocal, lambda y, z: -y * y)
    >>> check_scalar(reciprocal, 2.0 + 1.0j).y
    (0.4-0.2j)
    >>> rrule.unregister(reciprocal), frule.unregister(reciprocal)
    (None, None)
    """
    __tracebackhide__ = True
    z = unpaired(z).primal
    result = CheckResult()
    for unit in _units(z):
        part = check_frule(f, with_tangent(z, unit), **_without(options, _REVERSE_ONLY))
        result.rules += part.rules
        result.missing += part.missing
    reverse = _without(options, _FORWARD_ONLY)
    for unit in _units(part.y):
        part = check_rrule(f, z, output_tangent=unit, **reverse)
        result.y = part.y
        result.rules += part.rules
        result.missing += part.missing
    result.missing = list(dict.fromkeys(result.missing))
    return result


def _units(x: Any) -> list:
    """Return 1, and i for a complex number, in the type of `x`."""
    if np.iscomplexobj(x):
        return [type(x)(1), type(x)(1j)]
    if isinstance(x, (float, np.floating)):
        return [type(x)(1)]
    return [NoTangent()]

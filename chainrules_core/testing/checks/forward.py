"""The steps of `check_frule`, in the order in which they are taken."""

from __future__ import annotations

from typing import Any

from chainrules_core.operations.accumulation import add_inplace
from chainrules_core.operations.arithmetic import add
from chainrules_core.tangents import AbstractZero, NotImplementedTangent, ZeroTangent, unthunk_deep
from chainrules_core.testing.checks.case import Case, is_strict
from chainrules_core.testing.checks.variants import CountingThunk
from chainrules_core.testing.comparison.compare import assert_tangents_close
from chainrules_core.testing.comparison.forms import primal_problem, same_value, tangent_problem
from chainrules_core.testing.comparison.unknown import is_zero, where_known, without_missing
from chainrules_core.testing.failures import RuleCheckError, described, shown
from chainrules_core.testing.inputs.draw import rand_tangent
from chainrules_core.testing.inputs.seeds import AUTO
from chainrules_core.testing.numeric.vectors import (
    fresh,
    is_constant,
    tangent_to_vector,
    vector_to_tangent,
)


class ForwardCheck:
    """One check of an frule; the counterpart of `ReverseCheck`."""

    def __init__(self, case: Case, output_tangent: Any, check_dtype: bool) -> None:
        self.case = case
        self.check_dtype = check_dtype
        self.output_tangent = output_tangent
        self.dots = [argument.direction(case.rng) for argument in case.arguments]
        self.after_f = case.copies()
        self.expected_y = case.function(*self.after_f)
        self.y_dot: Any = None

    def push(self, dots: list) -> tuple[Any, Any]:
        """Call the rule on fresh copies of the arguments."""
        case = self.case
        values, before = case.copies(), fresh(dots)
        y, y_dot = case.call_rule(tuple(dots), values=values)
        case.unchanged(self.after_f, values, "the rule")
        for b, d, argument in zip(before, dots, case.arguments, strict=True):
            if not isinstance(d, CountingThunk) and not same_value(b, d):
                case.fail(f"the rule changes the tangent of {argument.label} in place.")
        return y, case.attempt("a thunk of the rule", lambda: unthunk_deep(y_dot))

    def check_primal(self) -> None:
        """The rule's primal is what the function returns."""
        case = self.case
        y, self.y_dot = self.push(self.dots)
        case.result.y = y
        case.compare(
            lambda: assert_tangents_close(
                y, self.expected_y, **(case.tolerance._asdict() | {"equal_nan": True})
            ),
            "its primal differs from what the function returns",
        )
        problem = primal_problem(y, self.expected_y, is_strict()) if self.check_dtype else ""
        if problem:
            case.fail(f"its primal is of another type: {problem}.")

    def check_form(self) -> None:
        """The tangent has the type, shape and precision of the output."""
        case, y, y_dot = self.case, self.expected_y, self.y_dot
        if y_dot is None:
            case.fail(
                "its tangent is None, which is no tangent: NoTangent() where the output cannot be "
                "perturbed, ZeroTangent() where it does not depend on the arguments."
            )
        if is_constant(y):
            if not isinstance(y_dot, AbstractZero):
                case.fail(
                    f"its output is a {described(y)}, which cannot be perturbed: the tangent must "
                    f"be NoTangent(), and is {shown(y_dot)}."
                )
            return
        problem = tangent_problem(y, y_dot, check_dtype=self.check_dtype, real_for_complex=True)
        if problem:
            case.fail(f"its tangent has the wrong form: {problem}.")

    def check_value(self) -> None:
        """The tangent agrees with finite differences; where not, see which argument it is."""
        y_dot = self.y_dot
        if is_constant(self.expected_y):
            return
        y_dot, missing = without_missing(y_dot)
        if missing:
            self.check_one_by_one()
            return
        try:
            self.compare(self.dots, y_dot)
        except RuleCheckError:
            if len(self.active) > 1:
                self.check_one_by_one()
            raise

    @property
    def active(self) -> list[int]:
        """The numbers of the arguments that are perturbed."""
        return [n for n, dot in enumerate(self.dots) if not isinstance(dot, AbstractZero)]

    def alone(self, number: int) -> list:
        """Return the tangents with that of one argument alone not zero."""
        zero = ZeroTangent()
        return [
            dot if n == number or isinstance(dot, AbstractZero) else zero
            for n, dot in enumerate(self.dots)
        ]

    def check_one_by_one(self) -> None:
        """Compare with finite differences, one perturbed argument at a time."""
        for number in self.active:
            label = self.case.arguments[number].label
            dots = self.alone(number)
            _, y_dot = self.push(dots)
            y_dot, missing = without_missing(y_dot)
            for marker in missing:
                self.case.report_missing(label, marker)
            if isinstance(unthunk_deep(y_dot), ZeroTangent) and missing:
                continue
            self.compare(dots, y_dot, number)

    def compare(self, dots: list, y_dot: Any, number: int | None = None) -> None:
        """Compare a tangent with finite differences along `dots`."""
        case = self.case
        point = case.point
        directions = [
            tangent_to_vector(argument.value, dot) if vector.size else vector
            for argument, dot, vector in zip(case.arguments, dots, point.vectors, strict=True)
        ]
        derivative, error = point.derivative(directions)
        expected = where_known(vector_to_tangent(self.expected_y, derivative), y_dot)
        rtol, atol = case.tolerance.of(case.epsilon(self.expected_y))
        whose = "" if number is None else f" where only {case.arguments[number].label} is perturbed"
        case.compare(
            lambda: assert_tangents_close(
                y_dot, expected, rtol=rtol, atol=atol, equal_nan=case.tolerance.equal_nan
            ),
            f"its tangent differs from finite differences{whose}",
            number,
            lambda: point.doubt(directions, derivative, error, rtol),
        )

    # -- the same by other ways ------------------------------------------------------------------

    def same_as_before(self, y_dot: Any, what: str) -> None:
        """Compare a tangent got in another way with the first one."""
        tolerance = self.case.tolerance
        if isinstance(self.y_dot, AbstractZero) and is_zero(y_dot):
            return
        self.case.compare(
            lambda: assert_tangents_close(
                y_dot, self.y_dot, rtol=tolerance.rtol, atol=tolerance.atol, equal_nan=True
            ),
            what,
        )

    def check_zeros(self) -> None:
        """Arguments may have a zero tangent while others have not; the parts add up."""
        if len(self.active) < 2 or without_missing(self.y_dot)[1] or is_constant(self.expected_y):
            return
        total: Any = ZeroTangent()
        for number in self.active:
            try:
                total = add(total, self.push(self.alone(number))[1])
            except AssertionError as error:
                error.add_note("The tangents of the other arguments were ZeroTangent().")
                raise
        self.same_as_before(
            total, "when the arguments are perturbed one by one, the sum of the tangents is another"
        )

    def check_thunks(self) -> None:
        """The tangents may be thunks."""
        if isinstance(self.y_dot, NotImplementedTangent):
            return
        dots = [dot if isinstance(dot, AbstractZero) else CountingThunk(dot) for dot in self.dots]
        try:
            _, y_dot = self.push(dots)
        except AssertionError as error:
            error.add_note("The tangents of the arguments were thunks.")
            raise
        self.same_as_before(y_dot, "when the tangents of the arguments are thunks, it is another")
        for dot, argument in zip(dots, self.case.arguments, strict=True):
            if isinstance(dot, CountingThunk) and dot.forced > 1:
                self.case.fail(
                    f"the rule forces the thunk for {argument.label} {dot.forced} times: each "
                    "time, its value is computed anew. Take it once: x_dot = unthunk(x_dot)."
                )

    def check_accumulation(self) -> None:
        """Adding the tangent into an accumulator is the same as adding it."""
        case = self.case
        if is_constant(self.expected_y) or without_missing(self.y_dot)[1]:
            return
        acc = self.output_tangent
        if acc is AUTO:
            acc = rand_tangent(self.expected_y, case.rng)
        expected = add(acc, self.y_dot)
        case.compare(
            lambda: assert_tangents_close(
                add_inplace(fresh(acc), self.y_dot), expected, equal_nan=True
            ),
            "add_inplace(acc, y_dot) is not acc + y_dot",
        )

"""Comparing the cotangent of one argument with finite differences."""

from __future__ import annotations

from typing import Any

import numpy as np

from chainrules_core.projection.project_to import ProjectTo
from chainrules_core.tangents import Tangent, ZeroTangent
from chainrules_core.testing.checks.case import Case, is_strict
from chainrules_core.testing.comparison.compare import assert_tangents_close
from chainrules_core.testing.comparison.unknown import where_known, without_missing
from chainrules_core.testing.failures import TangentMismatchError, sentence, shown
from chainrules_core.testing.inputs.draw import rand_tangent
from chainrules_core.testing.inputs.seeds import AUTO
from chainrules_core.testing.numeric.differences import Point, dot
from chainrules_core.testing.numeric.precision import promote, promote_where
from chainrules_core.testing.numeric.vectors import tangent_to_vector, vector_to_tangent

# Arguments with so few coordinates get their whole gradient checked; larger ones a direction.
FEW = 12
FEW_STRICT = 200
# Where a direction is wrong, the whole gradient tells where; up to so many coordinates.
SEARCHED = 1000
# Of still larger ones, so many coordinates are looked at.
SAMPLED = 20


def compare_with_differences(
    case: Case, number: int, bar: Any, y_bar: Any, expected_y: Any
) -> None:
    """Compare a cotangent: coordinate by coordinate, or in random directions if it is large.

    Parameters
    ----------
    case : Case
        The call.
    number : int
        Which of its arguments.
    bar : tangent
        The cotangent that the rule gives it.
    y_bar, expected_y : value
        The cotangent of the output, and the output.
    """
    comparison = _Comparison(case, number, bar, y_bar, expected_y)
    size = comparison.point.vectors[number].size
    if comparison.is_partial or size <= (FEW_STRICT if is_strict() else FEW):
        comparison.compare_gradient()
    else:
        for direction in comparison.directions():
            comparison.compare_direction(direction)


class _Comparison:
    def __init__(self, case: Case, number: int, bar: Any, y_bar: Any, expected_y: Any) -> None:
        self.case, self.number = case, number
        self.argument = case.arguments[number]
        self.label = self.argument.label
        self.bar, missing = without_missing(bar)
        self.is_partial = bool(missing)
        for marker in missing:
            case.report_missing(self.label, marker)
        # Integers to which the rule gives a derivative are perturbed as floats.
        self.value = self.argument.value
        if isinstance(self.bar, ZeroTangent):
            self.value = promote(self.value) if self.argument.is_integer else self.value
        else:
            self.value = promote_where(self.value, self.bar)
        self.point = case.point if self.value is self.argument.value else self._with_floats()
        self.y_vector = tangent_to_vector(self.point.y, y_bar)
        self.rtol, self.atol = case.tolerance.of(case.epsilon(expected_y))

    def _with_floats(self) -> Point:
        values = [a.value for a in self.case.arguments]
        values[self.number] = self.value
        try:
            return self.case.point_at(values)
        except Exception as error:
            self.case.fail(
                f"the cotangent of {self.label} is {shown(self.bar)}, but it is an integer that "
                "cannot be perturbed: with a float in its place the function raises "
                f"{type(error).__name__}. Its cotangent is NoTangent().",
                self.number,
            )

    def compare_gradient(self) -> None:
        """Compare all coordinates."""
        gradient, error = self.point.gradient(self.number, self.y_vector)
        expected = vector_to_tangent(self.value, gradient)
        if not isinstance(expected, Tangent):
            expected = ProjectTo(self.value)(expected)
        if self.is_partial:
            expected = where_known(expected, self.bar)
        self.case.compare(
            lambda: assert_tangents_close(
                self.bar,
                expected,
                rtol=self.rtol,
                atol=self.atol,
                equal_nan=self.case.tolerance.equal_nan,
            ),
            f"the cotangent of {self.label} differs from finite differences",
            self.number,
            lambda: self.point.doubt(
                self._along(self.case.rng.uniform(1, 2, gradient.size)), gradient, error, self.rtol
            ),
        )

    def directions(self) -> list:
        """Return the directions in which a large argument is perturbed."""
        n = 3 if is_strict() else 1
        directions = [rand_tangent(self.value, self.case.rng) for _ in range(n)]
        return directions if self.argument.tangent is AUTO else [*directions, self.argument.tangent]

    def _along(self, x_dot: np.ndarray) -> list[np.ndarray]:
        directions = [np.zeros(v.size) for v in self.point.vectors]
        directions[self.number] = x_dot
        return directions

    def compare_direction(self, direction: Any) -> None:
        """Compare Re⟨y_bar, J x_dot⟩ with Re⟨x_bar, x_dot⟩."""
        x_dot = tangent_to_vector(self.value, direction)
        x_bar = tangent_to_vector(self.value, self.bar)
        along = self._along(x_dot)
        y_dot, error = self.point.derivative(along)
        expected, actual = dot(self.y_vector, y_dot), dot(x_dot, x_bar)
        # What the terms of a sum over random numbers amount to.
        terms = (self.y_vector * y_dot, x_dot * x_bar, expected)
        scale = max(float(np.linalg.norm(t)) for t in terms)
        allowed = self.rtol * scale + self.atol * max(1.0, scale)
        if abs(actual - expected) <= allowed or actual == expected:
            return
        if self.case.tolerance.equal_nan and np.isnan(actual) and np.isnan(expected):
            return
        if x_bar.size <= SEARCHED:
            self.compare_gradient()
        self.case.fail(
            f"the cotangent of {self.label} differs from finite differences: along a random "
            f"direction x_dot, <x_bar, x_dot> is {actual:.12g}, and <y_bar, J x_dot> is "
            f"{expected:.12g} (a difference of {abs(actual - expected):.3g}, where {allowed:.3g} "
            f"is allowed).{self._sample(x_bar)}{self.point.doubt(along, y_dot, error, self.rtol)}",
            self.number,
        )

    def _sample(self, x_bar: np.ndarray) -> str:
        """Return what is wrong with some of the coordinates of a cotangent that has very many."""
        some = sorted(self.case.rng.choice(x_bar.size, SAMPLED, replace=False).tolist())
        gradient, _ = self.point.gradient(self.number, self.y_vector, some)
        try:
            assert_tangents_close(x_bar[some], gradient, rtol=self.rtol, atol=self.atol)
        except TangentMismatchError as mismatch:
            looked_at = f"{some[0]}, {some[1]}, ..., {some[-1]}"
            return f" Of its coordinates {looked_at}: {sentence(str(mismatch))}"
        return f" {SAMPLED} of its coordinates, at random, are right."

"""The steps of `check_rrule`, in the order in which they are taken."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from chainrules_core.define.linear import LinearRule
from chainrules_core.operations.accumulation import add_inplace
from chainrules_core.operations.arithmetic import add, scale
from chainrules_core.operations.broadcasting import unbroadcast
from chainrules_core.projection.project_to import ProjectTo
from chainrules_core.tangents import (
    AbstractZero,
    InplaceableThunk,
    NoTangent,
    NotImplementedTangent,
    Tangent,
    ZeroTangent,
    unthunk_deep,
)
from chainrules_core.testing.checks.case import Case, Status, is_strict
from chainrules_core.testing.checks.gradient import compare_with_differences
from chainrules_core.testing.checks.variants import CountingThunk, parts_alone, seed_variants
from chainrules_core.testing.comparison.compare import assert_tangents_close
from chainrules_core.testing.comparison.forms import primal_problem, same_value, tangent_problem
from chainrules_core.testing.comparison.unknown import is_zero
from chainrules_core.testing.failures import described, shown
from chainrules_core.testing.inputs.draw import rand_tangent
from chainrules_core.testing.inputs.seeds import AUTO
from chainrules_core.testing.numeric.precision import promote
from chainrules_core.testing.numeric.vectors import fresh
from chainrules_core.testing.record import Used, places, pulled_alone


class ReverseCheck:
    """One check of an rrule.

    The primal, the pullback and the cotangents are computed once; each `check_` method looks at
    one property of them.
    """

    def __init__(self, case: Case, output_tangent: Any, check_dtype: bool) -> None:
        self.case = case
        self.check_dtype = check_dtype
        # What f itself makes of its arguments is what the rule may make of them.
        self.after_f = case.copies()
        self.expected_y = case.function(*self.after_f)
        self.values = case.copies()
        self.y, self.pullback = case.call_rule(values=self.values)
        case.result.y = self.y
        if not callable(self.pullback):
            case.fail(f"its second result, {described(self.pullback)}, is no pullback to call.")
        self.y_before = fresh(self.y)
        if output_tangent is AUTO:
            output_tangent = rand_tangent(self.expected_y, case.rng)
        self.y_bar = output_tangent
        self.bars: tuple = ()

    @property
    def is_constant(self) -> bool:
        """Whether the seed is a zero: there is nothing to pull back."""
        return isinstance(self.y_bar, AbstractZero)

    # -- the primal ------------------------------------------------------------------------------

    def check_primal(self) -> None:
        """The rule's primal is what the function returns."""
        case = self.case
        case.compare(
            lambda: assert_tangents_close(
                self.y, self.expected_y, **(case.tolerance._asdict() | {"equal_nan": True})
            ),
            "its primal differs from what the function returns",
        )
        problem = primal_problem(self.y, self.expected_y, is_strict()) if self.check_dtype else ""
        if problem:
            case.fail(f"its primal is of another type: {problem}.")

    # -- the cotangents --------------------------------------------------------------------------

    def pull(self, y_bar: Any) -> tuple:
        """Call the pullback; check the number of cotangents and force them."""
        case = self.case
        bars = case.attempt("the pullback", lambda: self.pullback(y_bar))
        expected = len(case.arguments)
        if not isinstance(bars, tuple):
            case.fail(
                f"the pullback must return a tuple of {expected} cotangents, for the function "
                f"itself and for each argument; it returned {described(bars)}."
            )
        if len(bars) != expected:
            case.fail(
                f"the pullback returned {len(bars)} cotangents; it must be {expected}: one for "
                f"the function itself and one for each of the {expected - 1} arguments."
            )
        return case.attempt("a thunk of the pullback", lambda: tuple(map(unthunk_deep, bars)))

    def check_cotangents(self) -> None:
        """Every cotangent has the right form, and agrees with finite differences."""
        seed = fresh(self.y_bar)
        self.bars = self.pull(self.y_bar)
        self.check_seed_unchanged(seed)
        for number, bar in enumerate(self.bars):
            self.check_form(number, bar)
            self.check_value(number, bar)

    def check_seed_unchanged(self, seed: Any) -> None:
        """The pullback leaves the cotangent that it is given, and the output, as they are."""
        if not same_value(seed, self.y_bar):
            self.case.fail(
                "the pullback changes its cotangent y_bar in place; others may need it still. Let "
                "it make a new array."
            )
        if not same_value(self.y_before, self.y):
            self.case.fail("the pullback changes the output y in place.")

    def check_form(self, number: int, bar: Any) -> None:
        """A cotangent has the type, shape and precision of its argument."""
        case, argument = self.case, self.case.arguments[number]
        if bar is None:
            case.fail(
                f"the cotangent of {argument.label} is None, which is no tangent: NoTangent() "
                "where it cannot be perturbed, ZeroTangent() where nothing depends on it.",
                number,
            )
        if argument.status is Status.FIXED and not self.is_constant:
            if not isinstance(bar, NoTangent):
                case.fail(
                    f"{argument.label} is a {described(argument.value)}, which cannot be "
                    f"perturbed: its cotangent must be NoTangent(), and is {shown(bar)}.",
                    number,
                )
        elif argument.status in (Status.PERTURBED, Status.INTEGER):
            problem = tangent_problem(promote(argument.value), bar, check_dtype=self.check_dtype)
            if problem:
                case.fail(
                    f"the cotangent of {argument.label} has the wrong form: {problem}.", number
                )

    def check_value(self, number: int, bar: Any) -> None:
        """A cotangent agrees with finite differences."""
        case, argument = self.case, self.case.arguments[number]
        if isinstance(bar, NotImplementedTangent):
            if argument.status is not Status.EXCLUDED:  # there nobody asks for it
                case.report_missing(argument.label, bar)
        elif argument.status is Status.EXCLUDED or self.is_constant:
            if not is_zero(bar):
                why = (
                    "the test marks it as constant" if not self.is_constant else "the seed is zero"
                )
                case.fail(
                    f"the cotangent of {argument.label} must be zero, since {why}; it is "
                    f"{shown(bar)}.",
                    number,
                )
        elif argument.status is Status.PERTURBED or not isinstance(bar, NoTangent):
            compare_with_differences(case, number, bar, self.y_bar, self.expected_y)

    # -- the same by other ways ------------------------------------------------------------------

    def same_as_before(self, bars: tuple, what: str) -> None:
        """Compare cotangents got in another way with the first ones."""
        self.same(bars, self.bars, what)

    def same(self, bars: tuple, others: tuple, what: str) -> None:
        """Compare the cotangents of two pulls."""
        case = self.case
        for number, (again, bar) in enumerate(zip(bars, others, strict=True)):
            label = case.arguments[number].label
            case.compare(
                partial(self._same, again, bar),
                f"{what}, the cotangent of {label} is another",
                number,
            )

    def _same(self, again: Any, bar: Any) -> None:
        if isinstance(bar, NotImplementedTangent) and isinstance(again, NotImplementedTangent):
            return
        if isinstance(bar, AbstractZero) and is_zero(again):
            return
        tolerance = self.case.tolerance
        assert_tangents_close(again, bar, rtol=tolerance.rtol, atol=tolerance.atol, equal_nan=True)

    def check_twice(self) -> None:
        """The pullback can be called again, with the same and with another cotangent."""
        case = self.case
        self.same_as_before(self.pull(self.y_bar), "when the pullback is called a second time")
        if self.is_constant:
            return
        before = fresh(self.bars)
        twice = self.pull(scale(self.y_bar, 2.0))
        for number, (b, a) in enumerate(zip(before, self.bars, strict=True)):
            if not same_value(b, a):
                case.fail(
                    "a later call of the pullback changes the cotangent of "
                    f"{case.arguments[number].label} that an earlier one returned: each call must "
                    "make its own.",
                    number,
                )
        halves = tuple(scale(bar, 0.5) for bar in twice)
        self.same_as_before(halves, "the pullback is not linear: when y_bar is twice as large")

    def check_seed_forms(self) -> None:
        """The pullback takes its cotangent in every form: thunk, read-only, strided, 0-d, …."""
        case = self.case
        for name, seed in seed_variants(self.expected_y, self.y_bar):
            counted = seed if isinstance(seed, CountingThunk) else None
            try:
                bars = self.pull(seed)
            except AssertionError as error:
                error.add_note(f"The cotangent y_bar was {name}.")
                raise
            if counted is not None and counted.forced > 1:
                case.fail(
                    f"the pullback forces a thunk {counted.forced} times: each time, its value is "
                    "computed anew. Take it once: y_bar = unthunk(y_bar)."
                )
            self.same_as_before(bars, f"when y_bar is {name}")
            for number, bar in enumerate(bars):
                if not isinstance(bar, Tangent):  # whose parts are not projected
                    self.check_form(number, bar)
        self.check_real_seed()

    def check_real_seed(self) -> None:
        """A real cotangent of a complex output has the same effect as it has as a complex one."""
        if not isinstance(self.y_bar, (np.ndarray, complex, np.complexfloating)):
            return
        if not np.iscomplexobj(self.expected_y) or not np.iscomplexobj(self.y_bar):
            return
        real = self.y_bar.real.copy() if isinstance(self.y_bar, np.ndarray) else self.y_bar.real
        bars, embedded = self.pull(real), self.pull(real + 0 * self.y_bar)
        self.same(bars, embedded, "when y_bar is real, and not the same number as complex")

    def check_parts_of_seed(self) -> None:
        """Outputs of several parts: each may have a cotangent while the others have none."""
        seeds = parts_alone(self.y_bar)
        if len(seeds) < 2:
            return
        total: list[Any] = [ZeroTangent()] * len(self.bars)
        for key, seed in seeds:
            try:
                bars = self.pull(seed)
            except AssertionError as error:
                error.add_note(f"Only part {key!r} of y_bar was not ZeroTangent().")
                raise
            total = [add(t, b) for t, b in zip(total, bars, strict=True)]
        self.same_as_before(
            tuple(total), "when the parts of y_bar are pulled back one by one and added"
        )

    def check_accumulation(self) -> None:
        """Adding a cotangent into an accumulator is the same as adding it."""
        case = self.case
        raw = case.attempt("the pullback", lambda: self.pullback(self.y_bar))
        for number, (bar, argument) in enumerate(zip(raw, case.arguments, strict=True)):
            if argument.status is not Status.PERTURBED or isinstance(
                self.bars[number], NotImplementedTangent
            ):
                continue
            acc = argument.direction(case.rng)
            expected = add(acc, self.bars[number])
            total = add_inplace(fresh(acc), bar)
            case.compare(
                partial(self._same, total, expected),
                f"add_inplace(acc, x_bar) with the cotangent of {argument.label} is not "
                "acc + x_bar",
                number,
            )

    def check_alone(self) -> None:
        """An engine that wants one cotangent only gets the same one."""
        case, used = self.case, self.case.used
        if used is None or self.is_constant:
            return
        offset = 0 if case.own else 1
        for place, number in enumerate(places(used, case.n + len(case.own))):
            argument = case.arguments[place + offset]
            bar = self.bars[place + offset]
            if number is None or argument.status is Status.FIXED:
                continue
            if argument.status is Status.EXCLUDED and isinstance(bar, NotImplementedTangent):
                continue
            again = used._replace(bound=tuple(map(fresh, used.bound)))
            raw, projected = case.attempt(
                f"the rule, asked for the cotangent of {argument.label} alone,",
                partial(pulled_alone, again, number, case.config, self.y_bar),
            )
            case.compare(
                partial(self._same, projected, bar),
                f"when only the cotangent of {argument.label} is asked for, it is another",
                place + offset,
            )
            if isinstance(raw, InplaceableThunk):
                self.check_add_into(place + offset, raw)
            if isinstance(used.rule, LinearRule):
                self.check_rows(used, number, place + offset)

    def check_rows(self, used: Used, number: int, place: int) -> None:
        """What a linear rule makes of many cotangents at once is what it makes of each."""
        case, rule = self.case, used.rule
        rows = rule.rows[rule.argnums.index(number)] if rule.differentiates(number) else None
        if rows is None or not isinstance(self.y_bar, (np.ndarray, np.generic, float, complex)):
            return
        factors = (1.0, 0.0, -2.0)
        y_bars = np.stack([factor * np.asarray(self.y_bar) for factor in factors])
        label = case.arguments[place].label
        made = case.attempt(
            f"the rows of the cotangent of {label}",
            lambda: rows(y_bars, *rule.spaces_for(number, used.bound), **used.options),
        )
        if made is None:
            return
        space = ProjectTo(used.bound[number])
        for factor, x_bar in zip(factors, made, strict=True):
            case.compare(
                partial(self._same_row, x_bar, scale(self.bars[place], factor), space, rule),
                f"of many cotangents at once, the cotangent of {label} is another",
                place,
            )

    def _same_row(self, x_bar: Any, expected: Any, space: Any, rule: LinearRule) -> None:
        if rule.broadcasts and np.shape(x_bar) != space.shape:
            x_bar = unbroadcast(x_bar, space.shape)
        self._same(space(x_bar), expected)

    def check_add_into(self, number: int, raw: InplaceableThunk) -> None:
        """The two forms of an InplaceableThunk agree."""
        case, argument = self.case, self.case.arguments[number]
        if not isinstance(argument.value, np.ndarray) or argument.status is not Status.PERTURBED:
            return
        buffer = rand_tangent(argument.value, case.rng)
        expected = add(buffer, self.bars[number])
        returned = case.attempt("add_into of an InplaceableThunk", lambda: raw.add_into(buffer))
        if returned is not buffer:
            case.fail(
                f"add_into of the InplaceableThunk for {argument.label} must return the buffer "
                f"that it is given; it returned another {described(returned)}.",
                number,
            )
        case.compare(
            lambda: self._same(buffer, expected),
            f"add_into of the InplaceableThunk for {argument.label} adds something else than the "
            "thunk's value",
            number,
        )

    def check_inputs_unchanged(self) -> None:
        """Neither rule nor pullback changes the arguments, unless the function itself does."""
        self.case.unchanged(self.after_f, self.values, "the rule or its pullback")

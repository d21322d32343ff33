"""One call by a structured program: its values, its reverse sweep, and what is traced instead."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from autodiff.structured.form.ir import Named, is_nest, parts_of
from autodiff.structured.forms import nest_of
from autodiff.structured.runtime_calls import is_finite
from autodiff.structured.whole_lists import Copies, GivenList, ListOutputs, check_apart, lists_in
from autodiff.trace.linearize import Linearised
from autodiff.trace.tracer import TRACERS
from chainrules_core.interpreter.quiet import quiet

if TYPE_CHECKING:
    from autodiff.structured.runtime import Structured


class Run:
    """One call by a program: its values, and what its reverse sweep needs.

    Attributes
    ----------
    outs : list
        What the function returns, what arrays hold that it has written into, and what lists hold
        that it has changed: numbers and arrays, one after the other.
    is_active_output : list of bool
        Which of these depend on the variables.
    """

    def __init__(self, program: Structured, body: Callable, form: tuple, values: tuple) -> None:
        self.program = program
        self.body = body
        self.form = form
        self.values = values
        self.state: tuple | None
        self.outs, self.state = program.run(values)
        self.is_active_output = program.is_active_output
        self.lists: ListOutputs | None = None
        if program.list_classes:
            first = program.first_changed
            states = dict(zip(program.changed_lists, self.outs[first:], strict=True))
            self.copies = Copies(values, states)
            outs = [*self.outs[:first], *[[xs for xs, _ in of_one] for of_one in states.values()]]
            self.lists = self._flattened(outs, self.copies.unchanged)
            check_apart(self.lists.flat, values)
            self.outs, self.is_active_output = self.lists.flat, self.lists.is_active

    def _flattened(self, outs: list, unchanged: list) -> ListOutputs:
        program = self.program
        return ListOutputs(
            outs, program.n_outputs, program.is_active_output, program.list_classes, unchanged
        )

    def with_lists(self, outs: list) -> list:
        """Return the outputs of the program again, whose numbers are traced now."""
        if self.lists is None:
            return outs
        return self.lists.with_lists(outs, self.copies)

    def cotangents(self, bars: list[Any]) -> list:
        """Pull cotangents of all outputs back to all variables."""
        if not any(type(b) in TRACERS for b in bars):
            try:
                with quiet():
                    found = self.swept(bars)
                if found is not None:
                    self.program.failure = None
                    return self.of_variables(found, bars)
            except Exception as error:  # tracing says what is wrong, if anything is
                self.program.failure = f"its sweep failed ({type(error).__name__}: {error})"
        return self.traced(bars)

    def of_variables(self, found: tuple, bars: list[Any]) -> list:
        """Return the cotangents of the variables, among those of all arguments.

        One that has no way to an output with a cotangent has none.
        """
        result: list = []
        ways = self.program.ways
        seeds = self.lists.seeds(bars) if ways and self.lists is not None else bars
        for i in self.program.active:
            x = self.values[i]
            own = x.cotangents(found[i]) if type(x) is GivenList else [found[i]]
            has_way = i not in ways or any(seeds[k] is not None for k in ways[i])
            result += own if has_way else [None] * len(own)
        return result

    def swept(self, bars: list[Any]) -> tuple | None:
        """Run the reverse sweep of the program, if need be with strong products.

        None if there is something in the cotangents that is not finite.
        """
        if self.lists is not None:
            bars = self.lists.seeds(bars)
        found: tuple | None
        try:
            found = self._swept(bars)
        except ArithmeticError:  # of Python's floats, which divide by no zero
            found = None
        if found is not None and all(map(is_finite, found)):
            return found
        found = self.program.with_strong_products(lambda: self._swept(bars))
        return found if found is not None and all(map(is_finite, found)) else None

    def _swept(self, bars: list[Any]) -> tuple:
        state, self.state = self.state, None  # a sweep uses up what the forward function left
        program = self.program
        if state is None:
            _, state = program.run(self.values)
        try:
            return program.sweep(state, bars)
        except (ValueError, ArithmeticError) as error:
            # Arrays were broadcast against each other, or Python's floats divided by zero: that
            # takes other code, which another run may have had written.
            is_other = not program.is_current(state)
            if isinstance(error, ArithmeticError):
                is_other = program.with_numpy_floats() or is_other
            elif not is_other:
                is_other = program.with_broadcasting(self.values)
                is_other = is_other or program.with_numpy_floats()  # `math` raises, too
            if not is_other:
                raise
            _, state = program.run(self.values)
            return program.sweep(state, bars)

    def traced(self, bars: list[Any]) -> list:
        """Trace the function, and pull the cotangents back by its tape."""
        chosen = [k for k, bar in enumerate(bars) if bar is not None]
        if not chosen:
            return [None] * len(self._variables())
        found = self.linearised(chosen).cotangents(tuple([bars[k] for k in chosen]))
        return list(found)

    def traced_again(self) -> Linearised:
        """Trace the function; all outputs are the result."""
        return self.linearised(list(range(len(self.outs))))

    def _variables(self) -> list:
        """Return the values of the variables."""
        result: list = []
        for i in self.program.active:
            x = self.values[i]
            result += x.values() if type(x) is GivenList else [x]
        return result

    def linearised(self, chosen: list[int]) -> Linearised:
        """Trace the function; the outputs at these places are the result."""
        program = self.program

        def again(*variables: Any) -> Any:
            args = list(self.values[: program.n])
            rest = iter(variables)
            for i, x in enumerate(args):
                if type(x) is GivenList:
                    args[i] = x.with_variables(rest)
                elif i in program.active:
                    args[i] = next(rest)
            for i in program.written:
                args[i] = np.array(args[i], order="K")
            lists = {i: lists_in(args[i]) for i, x in enumerate(self.values[: program.n])
                     if type(x) is GivenList}  # fmt: skip
            unchanged = [x for i in lists.keys() - set(program.changed_lists) for x in lists[i]]
            given = iter(args)
            objects: list = []
            nests = [nest_of(part, given, objects) for part in self.form]
            result = self.body(*nests)
            if program.bound:
                result = (result, *[vars(objects[k])[name] for k, name in program.bound])
            outs = parts_like(program.returned, result)
            outs += [args[i] for i in program.written]
            outs += [lists[i] for i in program.changed_lists]
            if self.lists is not None:
                outs = self._flattened(outs, unchanged).flat
            return tuple([outs[k] for k in chosen])

        return Linearised(again, tuple(self._variables()), {}, None)


def parts_like(form: Any, x: Any) -> list:
    """Return the parts of a nest in the places of a form that has no further parts."""
    if not is_nest(form):
        return [x]
    parts = x.values() if isinstance(form, Named) else x
    return [y for f, part in zip(parts_of(form), parts, strict=True) for y in parts_like(f, part)]

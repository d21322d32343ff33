"""One run of a structured program: its outputs, its reverse sweep, and the fallback to tracing."""

from __future__ import annotations

import contextlib
import types
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from autodiff.structured.argument_forms import rebuilt_from
from autodiff.structured.form.function_ir import Named, is_nest, parts_of
from autodiff.structured.list_arguments import (
    ListArgument,
    ListCopies,
    ListOutputs,
    check_apart,
    lists_in,
)
from autodiff.structured.message_queue import (
    messages_of_run,
    show_messages,
    without_messages,
)
from autodiff.structured.runtime_library import is_finite
from autodiff.trace.linearize import Linearised
from autodiff.trace.tracer import TRACERS
from chainrules_core.interpreter.quiet import quiet

if TYPE_CHECKING:
    from autodiff.structured.runtime import Structured


class ProgramRun:
    """One run of a program: its outputs, and what its reverse sweep needs.

    Attributes
    ----------
    outs : list
        The results, then the arrays that the function has written into, then the contents of the
        lists that it has changed: a flat list of numbers and arrays.
    is_active_output : list of bool
        Which of these depend on the variables.
    """

    def __init__(
        self, program: Structured, g: types.FunctionType, body: Callable, form: tuple,
        values: tuple,
    ) -> None:  # fmt: skip
        self.program = program
        self.g = g
        self.body = body
        self.form = form
        self.values = values
        self.state: tuple | None
        with messages_of_run() as (messages, self.times):
            self._run(values)
        show_messages(messages)

    def _run(self, values: tuple) -> None:
        program = self.program
        self.outs, self.state = program.run(values)
        self.is_active_output = program.is_active_output
        self.lists: ListOutputs | None = None
        if program.list_classes:
            first = program.first_changed
            states = dict(zip(program.changed_lists, self.outs[first:], strict=True))
            self.copies = ListCopies(values, states)
            outs = self.outs[:first] + [[xs for xs, _ in pairs] for pairs in states.values()]
            self.lists = self._flattened(outs, self.copies.unchanged)
            check_apart(self.lists.flat, values)
            self.outs, self.is_active_output = self.lists.flat, self.lists.is_active

    def _flattened(self, outs: list, unchanged: list) -> ListOutputs:
        program = self.program
        return ListOutputs(
            outs, program.n_outputs, program.is_active_output, program.list_classes, unchanged
        )

    def with_lists(self, outs: list) -> list:
        """Rebuild the lists among the outputs from `outs`, whose numbers may be traced by now."""
        return outs if self.lists is None else self.lists.with_lists(outs, self.copies)

    def cotangents(self, bars: list[Any]) -> list:
        """Pull cotangents of all outputs back to all variables."""
        if not any(type(b) in TRACERS for b in bars):
            try:
                with quiet():
                    found = self.swept(bars)
                if found is not None:
                    self.program.failure = None
                    return self.of_variables(found, bars)
            except Exception as error:  # if it is the user's, tracing raises it again
                self.program.failure = f"its sweep failed ({type(error).__name__}: {error})"
        return self.traced(bars)

    def of_variables(self, found: tuple, bars: Sequence) -> list:
        """Select the cotangents of the variables from those of all arguments.

        A variable without a differentiable path to an output with a cotangent gets None.
        """
        program, ways = self.program, self.program.ways
        if not (ways or program.takes_lists):
            return [found[i] for i in program.active]
        result: list = []
        seeds = self.lists.seeds(bars) if ways and self.lists is not None else bars
        for i in program.active:
            x, bar = self.values[i], found[i]
            own = x.cotangents(bar) if type(x) is ListArgument else [bar]
            if i in ways and all(seeds[k] is None for k in ways[i]):
                own = [None] * len(own)
            result += own
        return result

    def swept(self, bars: Sequence) -> tuple | None:
        """Run the reverse sweep of the program, if necessary with strong products (0 * inf = 0).

        None if a cotangent is not finite.
        """
        if self.lists is not None:
            bars = self.lists.seeds(bars)
        found: tuple | None
        try:
            found = self._swept(bars)
        except ArithmeticError:  # Python floats raise when they are divided by zero
            found = None
        if found is not None and all(map(is_finite, found)):
            return found
        found = self.program.with_strong_products(lambda: self._swept(bars))
        return found if found is not None and all(map(is_finite, found)) else None

    def _swept(self, bars: Sequence) -> tuple:
        state, self.state = self.state, None  # a sweep consumes the tape
        program = self.program
        if state is None:
            state = self._run_again()
        try:
            return program.sweep(state, bars)
        except (ValueError, ArithmeticError) as error:
            # Arrays were broadcast, or a Python float was divided by zero. Respecialize the code,
            # unless another run has done so already.
            is_new = not program.is_current(state)
            if isinstance(error, ArithmeticError):
                is_new = program.specialize_for_numpy_floats() or is_new
            elif not is_new:
                is_new = program.specialize_for_broadcasting(self.values)
                is_new = is_new or program.specialize_for_numpy_floats()  # `math` may have raised
            if not is_new:
                raise
            return program.sweep(self._run_again(), bars)

    def _run_again(self) -> tuple:
        """Run the program once more, without its messages; return what its sweep needs."""
        with messages_of_run(self.times):
            return self.program.run(self.values)[1]

    def traced(self, bars: list[Any]) -> list:
        """Trace the function, and pull the cotangents back through its tape."""
        chosen = [k for k, bar in enumerate(bars) if bar is not None]
        if not chosen:
            return [None] * len(self._variables())
        self.program.reads.check(self.g, self.values[self.program.n :])
        return list(self.linearised(chosen).cotangents(tuple([bars[k] for k in chosen])))

    def traced_again(self) -> Linearised:
        """Trace the function with all outputs as the result."""
        return self.linearised(list(range(len(self.outs))))

    def _variables(self) -> list:
        """Return the values of the variables."""
        result: list = []
        for i in self.program.active:
            x = self.values[i]
            result += x.values() if type(x) is ListArgument else [x]
        return result

    def linearised(self, chosen: list[int]) -> Linearised:
        """Trace the function with the outputs at these positions as the result."""
        program = self.program

        def again(*variables: Any) -> Any:
            args = list(self.values[: program.n])
            rest = iter(variables)
            for i, x in enumerate(args):
                if type(x) is ListArgument:
                    args[i] = x.with_variables(rest)
                elif i in program.active:
                    args[i] = next(rest)
            for i in program.written:
                args[i] = np.array(args[i], order="K")
            lists = {i: lists_in(args[i]) for i, x in enumerate(self.values[: program.n])
                     if type(x) is ListArgument}  # fmt: skip
            unchanged = [x for i in lists.keys() - set(program.changed_lists) for x in lists[i]]
            given = iter(args)
            objects: list = []
            nests = [rebuilt_from(part, given, objects) for part in self.form]
            with without_messages() if program.program.has_messages else contextlib.nullcontext():
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
    """Return the parts of a pytree that correspond to the leaves of a form."""
    if not is_nest(form):
        return [x]
    parts = x.values() if isinstance(form, Named) else x
    return [y for f, part in zip(parts_of(form), parts, strict=True) for y in parts_like(f, part)]

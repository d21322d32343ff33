"""One call by a structured program: its values, its reverse sweep, and what is traced instead."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from autodiff.structured.form.ir import flat
from autodiff.structured.forms import nest_of
from autodiff.structured.runtime_calls import is_finite
from autodiff.trace.linearize import Linearised
from autodiff.trace.tracer import TRACERS
from chainrules_core.interpreter.quiet import quiet

if TYPE_CHECKING:
    from autodiff.structured.runtime import Structured


class Run:
    """One call by a program: its values, and what its reverse sweep needs."""

    def __init__(self, program: Structured, body: Callable, form: tuple, values: tuple) -> None:
        self.program = program
        self.body = body
        self.form = form
        self.values = values
        self.state: tuple | None
        self.result, self.written, self.state = program.run(values)
        self.outs = [*flat(self.result), *self.written]

    def cotangents(self, bars: list[Any]) -> tuple:
        """Pull cotangents of all outputs back to all arguments."""
        if not any(type(b) in TRACERS for b in bars):
            try:
                with quiet():
                    found = self.swept(bars)
                if found is not None:
                    self.program.failure = None
                    return found
            except Exception as error:  # tracing says what is wrong, if anything is
                self.program.failure = f"its sweep failed ({type(error).__name__}: {error})"
        return self.traced(bars)

    def swept(self, bars: list[Any]) -> tuple | None:
        """Run the reverse sweep of the program, if need be with strong products.

        None if there is something in the cotangents that is not finite.
        """
        found = self._swept(bars)
        if all(map(is_finite, found)):
            return found
        found = self.program.with_strong_products(lambda: self._swept(bars))
        return found if found is not None and all(map(is_finite, found)) else None

    def _swept(self, bars: list[Any]) -> tuple:
        state, self.state = self.state, None  # a sweep uses up what the forward function left
        program = self.program
        if state is None:
            _, _, state = program.run(self.values)
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
            _, _, state = program.run(self.values)
            return program.sweep(state, bars)

    def traced(self, bars: list[Any]) -> tuple:
        """Trace the function, and pull the cotangents back by its tape."""
        chosen = [k for k, bar in enumerate(bars) if bar is not None]
        if not chosen:
            return (None,) * len(self.values)
        found = self.linearised(chosen).cotangents(tuple([bars[k] for k in chosen]))
        result = [None] * len(self.values)
        for i, x in zip(self.program.active, found, strict=True):
            result[i] = x
        return tuple(result)

    def traced_again(self) -> Linearised:
        """Trace the function; all outputs are the result."""
        return self.linearised(list(range(len(self.outs))))

    def linearised(self, chosen: list[int]) -> Linearised:
        """Trace the function; the outputs at these places are the result."""
        program = self.program

        def again(*variables: Any) -> Any:
            args = list(self.values[: program.n])
            for i, x in zip(program.active, variables, strict=True):
                args[i] = x
            for i in program.written:
                args[i] = np.array(args[i], order="K")
            given = iter(args)
            objects: list = []
            nests = [nest_of(part, given, objects) for part in self.form]
            result = self.body(*nests)
            if program.bound:
                result = (result, *[vars(objects[k])[name] for k, name in program.bound])
            outs = [*flat(result), *[args[i] for i in program.written]]
            return tuple([outs[k] for k in chosen])

        return Linearised(again, tuple([self.values[i] for i in program.active]), {}, None)

"""Calls of functions with loops in forward mode and at several trace levels.

Levels are peeled one by one, the innermost first; the call on the remaining levels is treated in
the same way. At a forward level, the tangent function of the program
(`autodiff.structured.writing.tangents`) replaces the function. At a reverse level, the call is one
node, but its pullback x̄ = Jᵀȳ is itself a differentiable function of x and ȳ. All its derivatives
follow from the tangent function t(x, ẋ) = (y, J ẋ):

* forward over reverse: one sweep of t gives x̄ and its tangent. Seed J ẋ with ȳ, and y with the
  tangent of ȳ. Then ẋ gets x̄, and x gets the tangent of x̄;
* reverse over reverse: let x̄ have the cotangent w. Then ȳ gets J w, and x gets what the sweep of
  t(x, w) gives it for the seed ȳ of J w.

Sweeps of t that are differentiated in turn use the tangent function of t.
"""

from __future__ import annotations

import itertools
import linecache
import types
import weakref
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from autodiff.dispatch.arguments import as_it_is, constant_array, innermost, of_level
from autodiff.intercept.runtime.replacements import traced_body
from autodiff.structured.argument_forms import Flattener, rebuilt_from
from autodiff.structured.call_nodes import as_node, can_run, finished, kept_of
from autodiff.structured.form.kinds import UnsupportedError
from autodiff.structured.form.plain_classes import TANGENT_MARK
from autodiff.structured.list_arguments import ListArgument
from autodiff.structured.program_runs import ProgramRun, parts_like
from autodiff.structured.runtime_library import FloatErrorRecorder, is_finite
from autodiff.trace.linearize import Linearised
from autodiff.trace.tape import CONSTANT, Forward, InsideProgram, Tape
from autodiff.trace.trace_stack import active_tapes, is_recording, program_tape
from autodiff.trace.tracer import TRACERS, bare, wrap
from chainrules_core import ChainRulesError, NotImplementedTangent, ProjectTo

if TYPE_CHECKING:
    from autodiff.structured.runtime import Structured

_serials = itertools.count(1)


class Callee:
    """A function, and the program that runs calls of it.

    Attributes
    ----------
    programs : Programs
        All programs of the function.
    g, body : callable
        The function, and its traced form.
    form : tuple
        The form of its arguments.
    program : Structured
        The program for arguments of these kinds.
    outside : list
        The captured and global arrays that the function reads.
    is_current : bool
        Whether the guards on captured and global variables hold.
    """

    def __init__(
        self, programs: Any, g: types.FunctionType, body: Callable, form: tuple, program: Structured
    ) -> None:  # fmt: skip
        self.programs = programs
        self.g = g
        self.body = body
        self.form = form
        self.program = program
        outside = program.reads.values(g)
        self.is_current = outside is not None
        self.outside = outside or []

    def hold(self, level: Tape) -> None:
        """Keep the captured and global arrays alive, unchanged, for the pullback of a level."""
        self.outside = [level.kept(x) if type(x) is np.ndarray else x for x in self.outside]

    def run(self, leaves: Sequence) -> ProgramRun | None:
        """Run a call by the program; None if it fails."""
        try:
            values = (*leaves, *self.outside)
            return ProgramRun(self.program, self.g, self.body, self.form, values)
        except Exception as error:  # if it is the user's, tracing raises it again
            self.program.failure = f"it failed ({type(error).__name__}: {error})"
            return None

    def traced(self, leaves: Sequence) -> list:
        """Trace the function and return its outputs."""
        own = self._own(leaves)
        rest = iter(own)
        result = self.body(*[rebuilt_from(part, rest, []) for part in self.form])
        return self._outputs(result, own)

    def beneath(self, leaves: Sequence) -> list | None:
        """Return the outputs of a call at the levels of these leaves; None if no program can.

        The function itself does not run, because its side effects would happen twice.
        """
        own = self._own(leaves)
        result = self.programs.beneath(self.g, self.body, tuple(own), self.form)
        return None if result is NotImplemented else self._outputs(result, own)

    def _own(self, leaves: Sequence) -> list:
        """Return the leaves with copies of those that the function writes into."""
        own = list(leaves)
        for i in self.program.written:
            own[i] = constant_array(own[i].copy("K"))
        return own

    def _outputs(self, result: Any, own: list) -> list:
        """Return the parts of a result, and the arrays that the call has written into."""
        outs = parts_like(self.program.returned, result) + [own[i] for i in self.program.written]
        return [of_level(y, CONSTANT) for y in outs]

    def tangent(self) -> types.FunctionType | None:
        """Return the tangent function of the program; None if it has none."""
        program = self.program
        if program.tangent is None:
            program.tangent = _tangent_function(program) or False
            if program.tangent:
                self.programs.of_tangent(program.tangent)
        return program.tangent or None

    def sweeps_tangent(self, leaves: Sequence) -> bool:
        """Whether a program can run the reverse sweep of the tangent function."""
        program = self.program
        if program.sweeps_tangent is None:
            found = self.of_tangent(self.given_to_tangent(leaves, {}))
            program.sweeps_tangent = found is not None
        return program.sweeps_tangent

    def given_to_tangent(self, leaves: Sequence, dots: dict[int, Any]) -> list:
        """Return the arguments of the tangent function.

        `dots` maps positions of arguments to their tangents; other tangents are zero.
        """
        given = [*leaves, *self.outside]
        at = self.program.positions
        values = [given[i] for i in at]
        return values + [dots.get(at[k], _zero(values[k])) for k in self.program.variables]

    def pushed(self, given: Sequence) -> list:
        """Call the tangent function."""
        return list(self.programs.call_tangent(self.tangent(), given))

    def of_tangent(self, given: Sequence) -> Callee | None:
        """Return the tangent function with a program that differentiates it fully."""
        g = self.tangent()
        if g is None:
            return None
        programs, n = self.programs.of_tangent(g), len(self.program.positions)
        form = Flattener().forms_of(tuple(given))
        active = (*self.program.variables, *range(n, len(given)))
        program = programs.program_with(g, form, tuple(map(bare, given)), active)
        if program is None or program.written:  # its arguments are not its own to write
            return None
        return Callee(programs, g, traced_body(g), form, program)


def _tangent_function(program: Structured) -> types.FunctionType | None:
    """Generate the tangent function of a program; None if it has none."""
    from autodiff.structured.form.known_functions import has_own_frule  # loads the reader
    from autodiff.structured.writing.tangents import TangentWriter  # loads the code generator

    if any(map(has_own_frule, program.called)):
        return None
    name = "tangent_of_" + "".join(c if c.isalnum() else "_" for c in program.name)
    try:
        text, scope = TangentWriter(program.without_calls(), frozenset()).tangent(name)
    except UnsupportedError:
        return None
    file = f"<{name} {next(_serials)}>"
    linecache.cache[file] = (len(text), None, text.splitlines(True), file)
    namespace = {**scope, TANGENT_MARK: True}
    exec(compile(text, file, "exec"), namespace)
    weakref.finalize(namespace[name], linecache.cache.pop, file, None)
    return namespace[name]


def has_levels(leaves: Iterable) -> bool:
    """Whether one of the leaves is traced."""
    return any(type(a) in TRACERS and a._tape is not CONSTANT for a in leaves)


def call_at_levels(callee: Callee, leaves: tuple) -> Any:
    """Run a call in forward mode or at several levels; NotImplemented if programs cannot."""
    level = innermost(leaves, {})
    program = callee.program
    if (
        level is None
        or level.is_closed
        or not (type(level) is Forward or is_recording(level))
        or any(tape.observer is not None for tape in (level, *active_tapes()))
        or program.may_search
        or program.bound
        or any(type(a) is ListArgument for a in leaves)
        or not callee.is_current
        or not can_run(program, leaves, callee.outside)
        or callee.tangent() is None
    ):
        return NotImplemented
    if type(level) is Forward:
        return _at_forward_level(callee, leaves, level)
    if type(level) in (Tape, InsideProgram):
        return _at_reverse_level(callee, leaves, level)
    return NotImplemented


def _at_forward_level(callee: Callee, leaves: tuple, level: Forward) -> Any:
    """Push the tangents of a forward level through a call."""
    given = _tangent_arguments(callee, leaves, level)
    if given is None:
        return NotImplemented
    try:
        with FloatErrorRecorder(program_tape() is None) as noted:
            found = callee.pushed(given)
    except Exception as error:
        if isinstance(error, ChainRulesError) or program_tape() is not None:
            raise
        return NotImplemented  # the user's: tracing raises it again
    outs = None if noted.found else _with_tangents(callee, found, leaves, level)
    return NotImplemented if outs is None else finished(callee.program, outs, leaves)


def _tangent_arguments(callee: Callee, leaves: Sequence, level: Forward) -> list | None:
    """Return the arguments of the tangent function without a forward level.

    None if a tangent is not known.
    """
    dots = {i: a._index for i, a in enumerate(leaves) if _is_at(a, level)}
    if any(isinstance(dot, NotImplementedTangent) for dot in dots.values()):
        return None
    return callee.given_to_tangent([of_level(a, level) for a in leaves], dots)


def _with_tangents(callee: Callee, found: list, leaves: Sequence, level: Forward) -> list | None:
    """Wrap the results of the tangent function as outputs at a forward level.

    None if the call must be traced, because a result may be a view or a tangent is not finite.
    """
    program = callee.program
    n = program.first_changed
    outs, rest = found[:n], found[n:]
    if not is_finite(list(map(bare, rest))) or _may_share(outs, [*leaves, *rest]):
        return None
    remaining = iter(rest)
    for k, is_active in enumerate(program.is_active_output):
        if is_active:
            outs[k] = wrap(outs[k], level, ProjectTo(outs[k])(next(remaining)))
    return outs


def _at_reverse_level(callee: Callee, leaves: tuple, level: Tape) -> Any:
    """Record a call as one node of a reverse level; the outer levels run the call itself."""
    program = callee.program
    values = [
        kept_of(program, i, a, level) if type(a) is np.ndarray else as_it_is(of_level(a, level))
        for i, a in enumerate(leaves)
    ]
    # With a single level, the caller has decided against a program.
    if not has_levels(values) or not callee.sweeps_tangent(values):
        return NotImplemented
    callee.hold(level)
    below = _innermost_of(values)
    run, outs = _tangent_run(callee, values, below) if type(below) is Forward else (None, None)
    if outs is None:
        run, outs = None, callee.beneath(values)
    if outs is None:
        return NotImplemented
    new = [y for y, same in zip(outs, program.same, strict=False) if same is None]
    if _may_share(new, leaves):  # writes into a view change the argument
        return NotImplemented
    variables = [(leaves[i], i) for i in program.active if _is_at(leaves[i], level)]
    places = [program.active.index(i) for _, i in variables]
    level.nested = True

    def cotangents(bars: list) -> list:
        found: Any = NotImplemented
        if run is not None and _innermost_of(values, bars) is below:
            found = _pulled_at_forward_level(callee, values, bars, below, run)
        if found is NotImplemented:
            found = pulled(callee, values, bars)
        return [found[k] for k in places]

    outs = as_node(outs, program.is_active_output, program.rule, variables, level, cotangents)
    return finished(program, outs, leaves)


def _tangent_run(callee: Callee, values: list, level: Forward) -> tuple[Any, list | None]:
    """Run the tangent function once, for the outputs at a forward level and for its sweep.

    Return the run and the outputs; None for both if that fails, because of further levels, say.
    """
    given = _tangent_arguments(callee, values, level)
    tangent = None if given is None else callee.of_tangent(given)
    if given is None or tangent is None:
        return None, None
    with FloatErrorRecorder(program_tape() is None) as noted:
        run = _run_of(tangent, given, _innermost_of(given))
    if run is None or noted.found:
        return None, None
    return run, _with_tangents(callee, list(run.outs), values, level)


def _run_of(callee: Callee, values: list, level: Any) -> Any:
    """Run a program on plain values, or as a step of a recording; None at other levels."""
    if level is None:
        return callee.run(list(map(bare, values)))
    return level.run_of(callee, values) if level.program else None


def _innermost_of(values: Sequence, bars: Sequence = ()) -> Any:
    return innermost((*values, *[bar for bar in bars if bar is not None]), {})


def pulled(callee: Callee, values: list, bars: list) -> list:
    """Return the cotangents of the variables of a call, in the order of ``program.active``.

    The values and the cotangents of the outputs may be traced; None stands for no cotangent.
    """
    level = _innermost_of(values, bars)
    found: Any = NotImplemented
    bars = [of_level(bar, CONSTANT) for bar in bars]
    run = _run_of(callee, values, level)
    if run is not None:
        found = run.cotangents(bars)
    elif type(level) is Forward:
        found = _pulled_at_forward_level(callee, values, bars, level)
    elif type(level) in (Tape, InsideProgram):
        found = _pulled_at_reverse_level(callee, values, bars, level)
    return _traced_cotangents(callee, values, bars) if found is NotImplemented else found


def _traced_cotangents(callee: Callee, values: Sequence, bars: Sequence) -> list:
    """Trace a call, and return the cotangents of its variables."""
    active = callee.program.active
    chosen = [k for k, bar in enumerate(bars) if bar is not None]
    if not chosen:
        return [None] * len(active)
    callee.program.reads.check(callee.g, callee.outside)

    def again(*variables: Any) -> tuple:
        leaves = list(values)
        for i, x in zip(active, variables, strict=True):
            leaves[i] = x
        outs = callee.traced(leaves)
        return tuple([outs[k] for k in chosen])

    run = Linearised(again, tuple([values[i] for i in active]), {}, None)
    return list(run.cotangents(tuple([bars[k] for k in chosen])))


def _pulled_at_forward_level(
    callee: Callee, values: list, bars: list, level: Forward, run: Any = None
) -> Any:
    """Return the cotangents and their tangents, by one sweep of the tangent function.

    The sweep continues `run`, if the tangent function has run already.
    """
    given = _tangent_arguments(callee, values, level)
    bar_dots = [bar._index if _is_at(bar, level) else None for bar in bars]
    if given is None or any(isinstance(x, NotImplementedTangent) for x in bar_dots):
        return NotImplemented
    both = _tangent_swept(callee, given, bar_dots, [of_level(bar, level) for bar in bars], run)
    if both is None:
        return NotImplemented
    return [
        x_bar if dot is None or x_bar is None else wrap(x_bar, level, ProjectTo(x_bar)(dot))
        for dot, x_bar in zip(*both, strict=True)
    ]


def _pulled_at_reverse_level(callee: Callee, values: list, bars: list, level: Tape) -> Any:
    """Record the pullback of a call as one node of a reverse level, and return its outputs."""
    program = callee.program
    plain = [of_level(a, level) for a in values]
    seeds = [of_level(bar, level) for bar in bars]
    if not callee.sweeps_tangent(plain):
        return NotImplemented
    found = pulled(callee, plain, seeds)
    of_values = [k for k, i in enumerate(program.active) if _is_at(values[i], level)]
    of_bars = [k for k, bar in enumerate(bars) if _is_at(bar, level)]
    variables = [(values[program.active[k]], k) for k in of_values]
    variables += [(bars[k], len(values) + k) for k in of_bars]
    level.nested = True

    def cotangents(ws: list) -> list:
        dots = {i: w for i, w in zip(program.active, ws, strict=True) if w is not None}
        given = callee.given_to_tangent(plain, dots)
        both = _tangent_swept(callee, given, [None] * len(seeds), seeds)
        if both is None:
            return _traced_twice(callee, plain, seeds, of_values, of_bars, ws)
        result = [both[0][k] for k in of_values]
        if of_bars:
            tangents = iter(callee.pushed(given)[program.first_changed :])
            dots_out = [next(tangents) if is_one else None for is_one in program.is_active_output]
            result += [dots_out[k] for k in of_bars]
        return result

    active = [x is not None for x in found]
    return as_node(found, active, callee.program.rule, variables, level, cotangents)


def _traced_twice(
    callee: Callee, values: list, bars: list, of_values: list, of_bars: list, ws: list
) -> list:  # fmt: skip
    """Trace a pullback, and return the cotangents of its arguments: values, then seeds."""
    active = callee.program.active
    chosen = [k for k, w in enumerate(ws) if w is not None]

    def again(*variables: Any) -> tuple:
        leaves, seeds, rest = list(values), list(bars), iter(variables)
        for k in of_values:
            leaves[active[k]] = next(rest)
        for k in of_bars:
            seeds[k] = next(rest)
        found = _traced_cotangents(callee, leaves, seeds)
        return tuple([found[k] for k in chosen])

    given = [*[values[active[k]] for k in of_values], *[bars[k] for k in of_bars]]
    run = Linearised(again, tuple(given), {}, None)
    return list(run.cotangents(tuple([ws[k] for k in chosen])))


def _tangent_swept(
    callee: Callee, given: list, of_values: list, of_tangents: list, run: Any = None
) -> tuple | None:
    """Sweep the tangent function; return the cotangents of the variables and of their tangents.

    Parameters
    ----------
    callee : Callee
        The function.
    given : list
        The arguments of its tangent function.
    of_values, of_tangents : list
        The cotangents of its outputs, and of their tangents.
    run : optional
        A run of the tangent function whose sweep is still to come.
    """
    program = callee.program
    seeds = of_values + [
        bar for bar, is_one in zip(of_tangents, program.is_active_output, strict=True) if is_one
    ]
    seeds = [of_level(bar, CONSTANT) for bar in seeds]
    if run is not None and _innermost_of(given, seeds) is _innermost_of(given):
        found = run.cotangents(seeds)
    else:
        tangent = callee.of_tangent(given)
        if tangent is None:
            return None
        found = pulled(tangent, given, seeds)
    if not is_finite(list(map(bare, found))):
        return None
    n = len(program.variables)
    at = [program.positions[k] for k in program.variables]
    chosen = [at.index(i) for i in program.active]
    return [found[k] for k in chosen], [found[n + k] for k in chosen]


def _is_at(a: Any, level: Tape) -> bool:
    return type(a) in TRACERS and a._tape is level


def _zero(x: Any) -> Any:
    """Return a zero tangent of a number or array."""
    x = bare(x)
    return np.zeros_like(x) if type(x) is np.ndarray else type(x)(0)


def _may_share(outs: list, others: Iterable) -> bool:
    """Whether an output may alias another value."""
    values = [bare(x) for x in outs]
    arrays = [x for x in (*values, *map(bare, others)) if type(x) is np.ndarray]
    return any(
        type(x) is np.ndarray and any(y is not x and np.may_share_memory(x, y) for y in arrays)
        for x in values
    )

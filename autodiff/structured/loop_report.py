"""Report how the loops of a function run: as machine code, as NumPy source, or traced."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from autodiff.structured.calls import Programs
from autodiff.structured.form.function_ir import For, While, bodies_of
from autodiff.structured.runtime import Structured
from autodiff.structured.settings import has_llvm

MACHINE_CODE, SOURCE, TRACED, STEPS = "machine code", "NumPy source", "traced", "straight line"


class LoopState(NamedTuple):
    """How a loop runs.

    Attributes
    ----------
    function : str
        The function that contains it.
    where : str
        File and line.
    state : str
        ``"machine code"``, ``"NumPy source"`` (generated from the source of the function),
        ``"traced"`` (each operation of each iteration), or ``"straight line"`` (a recording holds
        the operations of all iterations).
    why : str
        Why it does not run faster; empty for machine code.
    """

    function: str
    where: str
    state: str
    why: str


def loops_of(programs: Programs, is_recorded: bool = False) -> list[LoopState]:
    """Return the loops of a function in source order.

    Parameters
    ----------
    programs : Programs
        The programs of the function.
    is_recorded : bool
        Whether a recording holds all iterations of its loops.
    """

    def state(line: int, what: str, why: str, function: str = programs.name) -> LoopState:
        return LoopState(function, f"{programs.file}:{line}", what, why)

    own = [loop.programs for loop in programs.separate_loops if any(loop.programs.known.values())]
    separate = [] if is_recorded else [row for one in own for row in loops_of(one)]
    known = [program for program in programs.known.values() if program is not None]
    if is_recorded or not known:
        what, why = TRACED, "a call takes too little time for a program to save any"
        if is_recorded:
            what, why = STEPS, "short enough to be recorded"
        if programs.why is not None:
            why = f"not read from its source: {programs.why}"
        elsewhere = {line for one in own for line in one.lines}
        return separate + [state(n, what, why) for n in programs.lines if n not in elsewhere]
    program = known[-1]
    return [
        state(node.line, *_state_of(program, node, is_inside), node.function or programs.name)
        for node, is_inside in _loops(program.program.body, program)
    ]


def _loops(
    nodes: list, program: Structured, is_inside: bool = False
) -> Iterator[tuple[For | While, bool]]:
    """Yield all loops, each with whether it runs as machine code."""
    native = program.native
    for node in nodes:
        is_native = is_inside or (native is not None and node in native.loops)
        if isinstance(node, (For, While)):
            yield node, is_native
        for inner in bodies_of(node):
            yield from _loops(inner, program, is_native)


def _state_of(program: Structured, node: For | While, is_native: bool) -> tuple[str, str]:
    """Return how a loop runs, and why not faster."""
    if program.failure is not None:
        return TRACED, f"at the last call of the program made of its source, {program.failure}"
    if is_native:
        return MACHINE_CODE, ""
    if program.native is not None and node in program.native.why:
        return SOURCE, f"machine code has no form of this: {program.native.why[node]}"
    if not has_llvm():
        return SOURCE, 'machine code needs llvmlite: pip install "chainrules-autodiff[native]"'
    if program.why is not None:
        return SOURCE, f"machine code was given up: {program.why}"
    return SOURCE, f"it has not run for {program.due:.1f} s yet"

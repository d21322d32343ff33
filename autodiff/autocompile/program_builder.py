"""Build programs for functions that are differentiated often."""

from __future__ import annotations

from typing import Any

import numpy as np

from autodiff.autocompile import call_records, pure_functions
from autodiff.autocompile.call_records import CallRecord, DerivativeCall
from autodiff.autocompile.purity_analysis import Impurity, Proof
from autodiff.autocompile.user_classes import held_by, is_member, is_plain_class
from autodiff.compiler.call_recording import FirstArgument, recorded
from autodiff.compiler.compile_errors import MISMATCH, BudgetExceededError
from autodiff.compiler.tiering import promotion
from autodiff.compiler.tiering.budget import Budget, clock
from autodiff.compiler.variants import AUTOMATIC
from autodiff.trace.pytree import leaves_of, parts_of
from chainrules_core.interpreter.collector import uncollected
from chainrules_core.interpreter.noticed import mark, restore
from chainrules_core.interpreter.quiet import quiet, raising
from chainrules_core.registry.pending import load_imported

load_imported()  # rules of packages that came with the compiler would drop the first program
_PLAIN = (int, float, complex, str, bool, type(None))
# Relative to the largest element of an array, and to the largest number in all results: where terms
# of a gradient cancel, rounding errors are relative to the terms.
_TOLERANCES = {
    np.dtype(np.float16): (0.1, 0.01),
    np.dtype(np.float32): (1e-3, 1e-5),
    np.dtype(np.complex64): (1e-3, 1e-5),
}
_TOLERANCE = (1e-7, 1e-12)


def make(record: CallRecord, expected: Any, call: DerivativeCall) -> None:
    """Make a program of a call if the function is pure and the program gives `expected`."""
    given = (*call.args, *call.kwargs.values())
    objects: dict[int, Any] = {}
    if not _is_plain(given, objects):
        record.wait()
        return
    try:
        proof = Proof(call.f, [*objects.values()], record.is_shared)
    except Impurity as doubt:
        record.why = str(doubt)
        return
    except Exception as error:  # code that the analysis does not expect: keep tracing
        record.why = f"its code could not be analysed: {error!r}"
        return
    start, before = clock(), mark()
    try:
        with quiet(), uncollected:  # tracing has warned already; a recording has no garbage
            variant = _recorded(record, call, proof)
            is_right = _matches(variant, (call.f, *given), expected)
        if not is_right:
            record.why = "its values depend on the order of operations"
        elif not variant.leaves_arguments:
            record.why = "it writes into an argument that it is not differentiated for"
        elif proof.has_new_attributes():
            record.why = "it writes an attribute of a function"
    except BudgetExceededError as error:  # `record.recorded` delays the next attempt
        if _stall(record) == call_records.LONGEST_STALL:  # which will have no more time
            record.note_failure(str(error))
    except Exception as error:  # not the user's: tracing has just succeeded
        restore(before)
        record.note_failure(f"it cannot be recorded: {error}")
    else:
        if record.why:
            variant.forget()
        else:
            _keep(record, variant, call.f)
    record.recorded += clock() - start


def _keep(record: CallRecord, variant: Any, f: Any) -> None:
    """Add a program to a record."""
    _make_room(f)
    record.parts = call_records.parts_of(f, record.is_shared)
    record.note_program(variant)


def _make_room(f: Any) -> None:
    """Drop the oldest programs, which keep their functions, objects and arrays alive.

    Keep fewer programs of functions with the same code, such as methods of one class.
    """
    entries = list(call_records.records.items())  # at once: another thread may add one meanwhile
    keys = [key for key, record in entries if record.variants]
    old = keys[: max(0, len(keys) - call_records.MOST_PROGRAMS + 1)]
    code = id(call_records.parts_of(f, is_shared=False)[0])
    alike = [key for key in keys if key[1] == code]
    old += alike[: max(0, len(alike) - call_records.MOST_ALIKE + 1)]
    for key in old:
        record = call_records.records.pop(key, None)
        if record is not None:
            record.forget(0)


def _recorded(record: CallRecord, call: DerivativeCall, proof: Proof) -> Any:
    """Record a program of a call."""
    transform, f, _, _, chosen = call

    def derivative(f: Any, *args: Any, **kwargs: Any) -> Any:
        return transform(f, args, kwargs, *chosen)

    exact = any(v.program.exact for v in record.variants)
    budget = Budget(_stall(record), call_records.MOST_BYTES, is_automatic=True)
    first = FirstArgument(record.is_shared, proof.names_all_code)
    return recorded(
        derivative, (f, *call.args), call.kwargs, AUTOMATIC, exact=exact, budget=budget,
        varying=record.varying, first=first,
    )[0]  # fmt: skip


def _stall(record: CallRecord) -> float:
    """Return how many seconds a call may wait for its program."""
    return min(max(call_records.STALL, 2.0 * record.spent), call_records.LONGEST_STALL)


def make_machine_code(record: CallRecord, variant: Any, given: tuple, expected: Any) -> None:
    """Let a program be machine code, if compiling has paid and it is faster.

    A run of the machine code must give `expected`, and raise no error where NumPy would warn.
    """
    made = promotion.paid(variant, record.hits * record.fastest, call_records.LONGEST_STALL)
    if made is None:
        return
    try:
        y = raising(made[0], *given)  # it gets memory, which takes long
        if y is MISMATCH or not agree(y, expected, record.scale):
            return
        for _ in range(promotion.TRIALS):
            start = clock()
            raising(made[0], *given)
            seconds = clock() - start
            if seconds < record.fastest:
                promotion.use(variant, made)
                record.begin_again(seconds)
                return
    except Exception:  # NumPy has not warned, so these are errors of the processor alone
        return


def _matches(variant: Any, given: tuple, expected: Any) -> bool:
    """Whether a program gives the expected result."""
    y = variant.run(*given)
    return y is not MISMATCH and agree(y, expected, size_of(expected))


def _is_plain(x: Any, objects: dict[int, Any]) -> bool:
    """Whether an argument is plain data: numbers, texts, arrays, enumerations, containers of them.

    Objects of the user's classes are plain if what they hold is. They are added to `objects` by
    their identities: the proof is about the code of their classes, too.
    """
    kind = type(x)
    if kind in _PLAIN:
        return True
    if kind is np.ndarray:
        return x.dtype.kind in "fciub"
    if kind is tuple or kind is list:
        return all(_is_plain(part, objects) for part in x)
    if kind is dict:
        in_keys: dict[int, Any] = {}
        has_plain_keys = _is_plain([*x], in_keys) and not in_keys
        return has_plain_keys and _is_plain([*x.values()], objects)
    if is_plain_class(kind) and not issubclass(kind, BaseException):
        if id(x) in objects:
            return True
        objects[id(x)] = x
        return _is_plain([*(x if isinstance(x, tuple) else held_by(x).values())], objects)
    return is_member(x) or pure_functions.is_number(x)


def agree(a: Any, b: Any, scale: float) -> bool:
    """Whether two results are equal up to rounding errors, relative to themselves or to `scale`."""
    if type(a) is not type(b):
        return False
    parts, others = parts_of(a), parts_of(b)
    if parts is not None and others is not None:
        return [key for key, _ in parts] == [key for key, _ in others] and all(
            agree(x, y, scale) for (_, x), (_, y) in zip(parts, others, strict=True)
        )
    if not isinstance(a, _INEXACT):
        return bool(a == b)
    return _are_near(np.asarray(a), np.asarray(b), scale)


_INEXACT = (float, complex, np.ndarray, np.inexact)


def size_of(x: Any) -> float:
    """Return the largest modulus of the finite numbers in a result."""
    sizes = [_size(np.asarray(leaf)) for leaf in leaves_of(x) if isinstance(leaf, _INEXACT)]
    return max(sizes, default=0.0)


def _size(x: np.ndarray) -> float:
    if x.dtype.kind not in "fc":
        return 0.0
    return float(np.max(np.abs(x), initial=0.0, where=np.isfinite(x)))


def _are_near(a: np.ndarray, b: np.ndarray, scale: float) -> bool:
    if a.shape != b.shape or a.dtype != b.dtype:
        return False
    if a.dtype.kind not in "fc":
        return np.array_equal(a, b)
    relative, absolute = _TOLERANCES.get(b.dtype, _TOLERANCE)
    with quiet():
        near = np.abs(a - b) <= max(relative * _size(b), absolute * scale)
    same = (a == b) | (np.isnan(a) & np.isnan(b))
    return bool(np.all(np.where(np.isfinite(b), near, same)))

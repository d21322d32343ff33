"""Calls of a compiled function beside calls of the function: what may change between them does.

Values, sizes, dtypes, layouts, flags; arguments that share memory; results that are written into.
"""

from __future__ import annotations

import concurrent.futures
import copy
import dataclasses
import functools
import itertools
import random
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

import autodiff
from chainrules_core import ChainRulesError
from tools.fuzz.users import Box

REFUSED = "what the engine refuses"
_NOT_GIVEN = ("k", "flag")


# -- nests with objects ---------------------------------------------------------------------------


def parts(x: Any) -> list | None:
    """Return the parts of a nest; None for a leaf."""
    if isinstance(x, (list, tuple)):
        return list(x)
    if isinstance(x, dict):
        return list(x.values())
    return [x.a, x.b] if isinstance(x, Box) else None


def leaves(x: Any) -> list:
    """Return the leaves of a nest."""
    inner = parts(x)
    return [x] if inner is None else [leaf for part in inner for leaf in leaves(part)]


def mapped(f: Callable, x: Any) -> Any:
    """Return a nest with `f` applied to its leaves."""
    if isinstance(x, (list, tuple)):
        return type(x)([mapped(f, part) for part in x])
    if isinstance(x, dict):
        return {key: mapped(f, part) for key, part in x.items()}
    return Box(mapped(f, x.a), mapped(f, x.b)) if isinstance(x, Box) else f(x)


# -- what is compiled -----------------------------------------------------------------------------


def total(y: Any) -> Any:
    """Return a number that all inexact leaves count in."""
    found = 0.0
    for k, leaf in enumerate(leaves(y)):
        if isinstance(leaf, (float, complex)) or (
            isinstance(leaf, (np.ndarray, np.generic)) and leaf.dtype.kind in "fc"
        ):
            found = found + (1.0 + 0.1 * k) * np.sum(np.real(leaf * np.conj(leaf)))
    return found


def forms(f: Callable, names: list[str]) -> dict[str, Callable]:
    """Return what can be made of a function: itself, and its derivatives."""
    places = tuple([i for i, name in enumerate(names) if name not in _NOT_GIVEN])

    def measured(*args: Any) -> Any:
        return total(f(*args))

    def of_first(x: Any, rest: tuple) -> Any:
        return measured(x, *rest)

    inner = autodiff.compile(measured, backend="python")
    return {
        "itself": f,
        "gradient": lambda *args: autodiff.gradient(measured, *args, argnums=places),
        "value": lambda *args: autodiff.value_and_gradient(measured, *args, argnums=places),
        "jvp": lambda *args: autodiff.jvp(
            lambda x: f(x, *args[1:]), (args[0],), (np.ones_like(args[0]),)
        ),
        "hvp": lambda *args: autodiff.hvp(
            lambda x: measured(x, *args[1:]), args[0], np.ones_like(args[0])
        ),
        "hessian": lambda *args: autodiff.hessian(lambda x: measured(x, *args[1:]), args[0]),
        "of the first": lambda *args: autodiff.gradient(measured, *args, argnums=0),
        "of a compiled": lambda *args: autodiff.gradient(inner, *args, argnums=places),
        "of a gradient": lambda *args: autodiff.gradient(
            lambda x: np.sum(np.real(autodiff.gradient(of_first, x, args[1:], argnums=0)) ** 2),
            args[0],
        ),
    }


# -- calls ----------------------------------------------------------------------------------------


def _numbers(f: Callable) -> Callable:
    return lambda x: f(x) if isinstance(x, (float, np.ndarray)) else x


def _arrays(f: Callable) -> Callable:
    return lambda x: f(x) if isinstance(x, np.ndarray) else x


def _scaled(c: float) -> Callable:
    def scaled(x: Any) -> Any:
        return np.asarray(x * c, x.dtype) if isinstance(x, np.ndarray) else x * c

    return _numbers(scaled)


def _frozen(x: np.ndarray) -> np.ndarray:
    x = x.copy()
    x.flags.writeable = False
    return x


def _holding(value: float) -> Callable:
    def holding(x: np.ndarray) -> np.ndarray:
        x = x.copy()
        x.reshape(-1)[:1] = value
        return x

    return holding


def _spread(x: np.ndarray) -> np.ndarray:
    return np.repeat(x, 2, axis=-1)[..., ::2]


def _turned(x: np.ndarray) -> np.ndarray:
    return x[::-1].copy()[::-1]


def _longer(x: np.ndarray) -> np.ndarray:
    return np.pad(x, [(0, 0)] * (x.ndim - 1) + [(0, 1)], mode="reflect") if x.shape[-1] > 1 else x


def _unaligned(x: np.ndarray) -> np.ndarray:
    y = np.zeros(x.nbytes + 1, np.uint8)[1:].view(x.dtype).reshape(x.shape)
    y[...] = x
    return y


_CHANGES: dict[str, Callable] = {
    "scaled": _scaled(0.7),
    "negative": _scaled(-1.2),
    "small": _scaled(1e-3),
    "zero": _scaled(0.0),
    "huge": _scaled(1e160),
    "ties": _numbers(lambda x: np.round(x) + 0.0 if isinstance(x, np.ndarray) else float(round(x))),
    "NaN": _arrays(_holding(np.nan)),
    "Inf": _arrays(_holding(np.inf)),
    "negative zero": _arrays(_holding(-0.0)),
    "by columns": _arrays(np.asfortranarray),
    "spread": _arrays(_spread),
    "turned": _arrays(_turned),
    "frozen": _arrays(_frozen),
    "single": _arrays(lambda x: x.astype(np.float32)),
    "longer": _arrays(_longer),
    "one": _arrays(lambda x: x[..., :1]),
    "empty": _arrays(lambda x: x[..., :0]),
    "integers": _arrays(lambda x: np.round(x * 3).astype(int)),
    "complex": _arrays(lambda x: x * (1 + 0.5j)),
    "swapped": _arrays(lambda x: x.astype(">f8")),
    "numbers": lambda x: np.float64(x) if isinstance(x, float) else x,
    "whole": lambda x: round(x) if isinstance(x, float) else x,
    "without axes": lambda x: np.array(x) if isinstance(x, float) else x,
    "half precision": _arrays(lambda x: x.astype(np.float16) if x.dtype.kind == "f" else x),
    "repeated": _arrays(lambda x: np.broadcast_to(x[:1], x.shape)),
    "unaligned": _arrays(_unaligned),
    "lists": _arrays(lambda x: x.tolist()),
}


def calls(
    names: list[str], given: dict[str, Any], rng: random.Random
) -> Iterator[tuple[str, Callable[[], list]]]:
    """Yield what makes the arguments of a call, and in words what they are."""
    yield "first", functools.partial(_made, given, [])
    yield "again", functools.partial(_made, given, [])
    for _ in range(7):
        words: list[str] = []
        changes: list[Callable[[dict], dict]] = []
        if rng.random() < 0.3:
            words.append("0.9")
            changes.append(_changing(_scaled(0.9), None))
        change = rng.choice([*_CHANGES, "k", "flag", "same", "same memory"])
        if change in _CHANGES:
            only = rng.choice([None, None, *names])
            words.append(change if only is None else f"{only} {change}")
            changes.append(_changing(_CHANGES[change], only))
        if change == "k" or rng.random() < 0.15:
            k = rng.choice([1, 2, 3, np.int64(2)])
            words.append(f"k = {k!r}")
            changes.append(functools.partial(_setting, "k", k))
        if change == "flag" or rng.random() < 0.15:
            flag = rng.choice([False, True, 0, 1, np.True_])
            words.append(f"flag = {flag!r}")
            changes.append(functools.partial(_setting, "flag", flag))
        if change == "same memory":
            words.append(change)
            changes.append(functools.partial(_joining, rng.choice([1, -1])))
        yield ", ".join(words) or "same", functools.partial(_made, given, changes)


def _made(given: dict[str, Any], changes: list[Callable[[dict], dict]]) -> list:
    """Return arguments in memory of their own, but for what shares it on purpose."""
    now = copy.deepcopy(given)
    for change in changes:
        now = change(now)
    return list(now.values())


def _changing(change: Callable, only: str | None) -> Callable[[dict], dict]:
    def changed(now: dict) -> dict:
        return {
            n: mapped(change, v) if only in (None, n) and n not in _NOT_GIVEN else v
            for n, v in now.items()
        }

    return changed


def _setting(name: str, value: Any, now: dict) -> dict:
    return {**now, name: value}


def _joining(step: int, now: dict) -> dict:
    """Have arguments share the memory of the first."""
    if "y" in now:
        now["y"] = now["x"] if step == 1 else now["x"][::-1]
    if "d" in now:
        now["d"] = {**now["d"], "a": now["x"]}
    return now


# -- comparisons ----------------------------------------------------------------------------------


def different(expected: Any, found: Any, close: float) -> str:
    """Say how a result differs from what it should be; nothing if it does not."""
    if type(expected) is not type(found):
        return f"{type(found).__name__} for {type(expected).__name__}"
    inner = parts(expected)
    if inner is not None:
        others = parts(found) or []
        if isinstance(expected, dict) and list(expected) != list(found):
            return f"keys {list(found)} for {list(expected)}"
        if len(inner) != len(others):
            return f"{len(others)} parts for {len(inner)}"
        return next(filter(None, map(different, inner, others, itertools.repeat(close))), "")
    if isinstance(expected, (np.ndarray, np.generic)):
        if (expected.dtype, expected.shape) != (found.dtype, found.shape):
            return f"{found.dtype}{found.shape} for {expected.dtype}{expected.shape}"
        if isinstance(expected, np.ndarray) and expected.flags.writeable > found.flags.writeable:
            return "it cannot be written into"
        if expected.dtype.kind in "fc":
            close = max(
                close,
                2e-3 if expected.dtype.itemsize // (1 + (expected.dtype.kind == "c")) == 4 else 0,
            )
            finite = np.abs(expected[np.isfinite(expected)]) if expected.ndim else np.abs(expected)
            scale = max(1.0, float(np.max(finite, initial=0.0)))
            is_same = np.allclose(expected, found, rtol=close, atol=close * scale, equal_nan=True)
        else:
            is_same = np.array_equal(expected, found)
    elif isinstance(expected, (float, complex)):
        is_same = np.allclose(expected, found, rtol=close, atol=close, equal_nan=True)
    else:
        is_same = bool(expected == found)
    return "" if is_same else f"{found}, eagerly {expected}"


def _changed(before: Any, now: Any) -> bool:
    """Whether a nest is not bit for bit what it was."""
    pairs = zip(leaves(before), leaves(now), strict=True)
    return any(np.asarray(a).tobytes() != np.asarray(b).tobytes() for a, b in pairs)


def _sharing(result: Any, given: list) -> set[tuple[int, int]]:
    """Return the pairs of arrays of a result and the arguments that share memory."""
    arrays = [x for x in (*leaves(result), *leaves(given)) if isinstance(x, np.ndarray)]
    pairs = itertools.combinations(range(len(arrays)), 2)
    return {(i, j) for i, j in pairs if np.shares_memory(arrays[i], arrays[j])}


def _call(f: Callable, given: list) -> tuple[Any, str]:
    try:
        return f(*given), ""
    except autodiff.CompileError:
        raise
    except ChainRulesError:  # a recording follows more: writes into what is a constant eagerly
        return None, REFUSED
    except Exception as error:
        return None, type(error).__name__


@dataclasses.dataclass
class Session:
    """A function, its compiled form, and what the calls of this have returned."""

    plain: Callable
    compiled: Any
    is_single: bool = False

    def __post_init__(self) -> None:
        self.kept: list[tuple[str, Any, Any]] = []

    def difference(self, words: str, make: Callable[[], list]) -> str:
        """Call both; say how they differ."""
        given, mine, others = make(), make(), make()
        expected, error = _call(self.plain, mine)
        if error == REFUSED:
            return ""
        found, raised = _call(self.compiled, others)
        failed = getattr(self.compiled, "eager_because", None) or ""
        if failed.startswith("a program fails"):
            return f"{words}: {failed}"
        if error != raised:
            return f"{words}: raises {raised or 'nothing'}, eagerly {error or 'nothing'}"
        if error:
            return ""
        message = different(expected, found, 2e-3 if self.is_single or "single" in words else 1e-6)
        if message:
            return f"{words}: {message}"
        if _changed(given, others) and _changed(mine, others):
            return f"{words}: an argument is changed"
        more = _sharing(found, others) - _sharing(expected, mine)
        if more:
            return f"{words}: results share memory: {more}"
        if len(self.kept) % 2:  # nobody else is to see this
            for x in leaves(found):
                if isinstance(x, np.ndarray) and x.flags.writeable and x.dtype.kind in "fc":
                    x[...] = np.nan
        self.kept.append((words, found, copy.deepcopy(found)))
        return ""

    def changed(self) -> str:
        """Say which result has changed since it was returned."""
        for words, found, before in self.kept:
            if _changed(before, found):
                return f"{words}: a result has changed later"
        return ""


def session_difference(
    f: Callable, arguments: dict[str, Any], form: str, backend: str, seed: int
) -> str:
    """Return how a compiled function differs from the function in a session of calls."""
    names = list(arguments)
    plain = forms(f, names)[form]
    is_single = any(getattr(x, "dtype", None) == np.float32 for x in leaves(arguments))
    session = Session(plain, autodiff.compile(plain, backend=backend), is_single)
    for words, make in calls(names, arguments, random.Random(seed)):
        try:
            message = session.difference(words, make)
        except autodiff.CompileError:
            return ""
        if message:
            return message
    return session.changed()


def threads_difference(
    f: Callable, arguments: dict[str, Any], form: str, backend: str, seed: int
) -> str:
    """Return how a compiled function that several threads call at once differs."""
    names = list(arguments)
    plain = forms(f, names)[form]
    compiled = autodiff.compile(plain, backend=backend)
    made = [make for _, make in calls(names, arguments, random.Random(seed))]
    expected = [_call(plain, make()) for make in made]

    def at_once(k: int) -> str:
        value, error = expected[k]
        found, raised = _call(compiled, made[k]())
        if REFUSED in (error, raised):
            return ""
        if error != raised:
            return f"call {k}: raises {raised or 'nothing'}, alone {error or 'nothing'}"
        return "" if error else different(value, found, 2e-3)

    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        try:
            return next(filter(None, pool.map(at_once, list(range(len(made))) * 4)), "")
        except autodiff.CompileError:
            return ""


FORMS = (
    "itself", "gradient", "value", "jvp", "hvp", "hessian", "of the first", "of a compiled",
    "of a gradient",
)  # fmt: skip

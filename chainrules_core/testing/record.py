"""Which rules the checks have exercised, so that a test can fail on those that none has."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, NamedTuple

from chainrules_core.registry.entries import key_of
from chainrules_core.rules import frule, rrule

_exercised: set[str] = set()


class Used(NamedTuple):
    """The rule that a call uses, and how its arguments are placed."""

    rule: Any
    bound: tuple
    options: dict[str, Any]
    keywords: tuple[str, ...] = ()


def rule_used(
    mode: str, f: Callable, args: tuple, kwargs: dict[str, Any], config: Any
) -> Used | None:
    """Return the rule that answers for a call, or None."""
    found = (frule if mode == "frule" else rrule).resolve(f, args, dict(kwargs), config)
    return None if found is None else Used(*found, tuple(kwargs))


def own_argument(f: Callable) -> tuple:
    """Return the object that comes along with a bound method or callable instance, if any."""
    return key_of(f)[1]


def place(defined_at: str) -> str:
    """Return ``file.py:12`` without the folders.

    Examples
    --------
    >>> place("/home/me/project/rules.py:12")
    'rules.py:12'
    """
    path, _, line = defined_at.rpartition(":")
    return f"{Path(path).name}:{line}"


def rule_id(mode: str, rule: Any) -> str:
    """Return a name for a rule that is the same in every process.

    The kind, the function, the types, and the file and line of the registration.
    """
    types = ", ".join(_type_name(t) for t in rule.types)
    return f"{mode} {rule.kind} {rule.name}({types}) {place(rule.defined_at)}"


def _type_name(t: Any) -> str:
    if isinstance(t, (tuple, list)):
        return "|".join(_type_name(u) for u in t)
    return t.__name__


def record(mode: str, rule: Any) -> None:
    """Remember that a check has exercised a rule."""
    _exercised.add(rule_id(mode, rule))


def exercised_rules() -> frozenset[str]:
    """Return the rules that the checks of this process have exercised (see `rule_id`).

    Each worker of a parallel test run has its own: `save_exercised` and `load_exercised` bring
    them together.
    """
    return frozenset(_exercised)


def forget_exercised() -> None:
    """Start the record anew."""
    _exercised.clear()


def save_exercised(path: str | Path) -> None:
    """Write the record to a file.

    Parameters
    ----------
    path : str or Path
        The file; its folder is made if there is none.
    """
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(sorted(_exercised), indent=1), encoding="utf-8")


def load_exercised(paths: Iterable[str | Path]) -> frozenset[str]:
    """Return what all these files and this process have exercised.

    Examples
    --------
    A worker ends with ``save_exercised(folder / f"{worker}.json")``, and the test that runs last
    asks for ``load_exercised(folder.glob("*.json"))``.
    """
    together = set(_exercised)
    for path in paths:
        together.update(json.loads(Path(path).read_text(encoding="utf-8")))
    return frozenset(together)


# The rest knows how the frame around rules works; nothing else here does.


def keyword_arguments(used: Used, given: int) -> list[tuple[str, Any]]:
    """Return name and value of the arguments behind the positional ones in a pullback's result.

    Parameters
    ----------
    used : Used
        The rule and the bound arguments.
    given : int
        How many positional arguments the rule was given, the object of a method included.
    """
    from chainrules_core.calling.frame import call_order

    # The positional ones come first, and may have no place; all others have one.
    found = call_order(used.rule, used.bound, given, used.keywords)
    order = [i for i in found[given:] if i is not None]
    # The rule may have its own names for parameters of the function.
    original = {ours: theirs for theirs, ours in getattr(used.rule.binder, "_rename", {}).items()}
    names = [used.rule.signature.positional[i] for i in order]
    return [(original.get(n, n), used.bound[i]) for n, i in zip(names, order, strict=True)]


def places(used: Used, given: int) -> list[int | None]:
    """Return, for each cotangent of a pullback's result, the place of its bound argument."""
    from chainrules_core.calling.frame import call_order

    return call_order(used.rule, used.bound, given, used.keywords)


def pulled_alone(used: Used, position: int, config: Any, y_bar: Any) -> tuple[Any, Any]:
    """Pull back to one bound argument alone, as an engine does.

    Returns
    -------
    tuple
        The cotangent as the rule gives it, and projected.
    """
    from chainrules_core.calling.frame import named_projection
    from chainrules_core.projection.project_to import ProjectTo

    recorded = used.rule.record(used.bound, used.options, (position,), config)
    (bar,) = recorded[1](y_bar)
    return bar, named_projection(used.rule, position, ProjectTo(used.bound[position]), bar)

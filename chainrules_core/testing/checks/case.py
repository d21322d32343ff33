"""One call whose derivative is checked: its arguments, its rule, its finite differences."""

from __future__ import annotations

import os
import types
import warnings
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from enum import Enum
from functools import cached_property
from typing import Any, NoReturn

import numpy as np

from chainrules_core.calling.signatures import signature_of
from chainrules_core.errors import NoRuleError
from chainrules_core.registry.entries import key_of
from chainrules_core.rule import name_of
from chainrules_core.rules import frule, rrule
from chainrules_core.tangents import NoTangent, NotImplementedTangent
from chainrules_core.testing.comparison.compare import Tolerance
from chainrules_core.testing.comparison.forms import same_value
from chainrules_core.testing.failures import (
    MissingDerivativeWarning,
    RuleCheckError,
    TangentMismatchError,
    described,
    sentence,
)
from chainrules_core.testing.inputs.domains import SEED
from chainrules_core.testing.inputs.draw import rand_tangent
from chainrules_core.testing.inputs.seeds import AUTO, unpaired
from chainrules_core.testing.numeric.differences import FiniteDifferences, Point
from chainrules_core.testing.numeric.precision import coarsest, promote
from chainrules_core.testing.numeric.vectors import fresh, is_constant
from chainrules_core.testing.record import Used, keyword_arguments, place, record, rule_used


def is_strict() -> bool:
    """Whether the environment asks for slower, stricter checks: ``CHAINRULES_TEST_STRICT=1``."""
    return os.environ.get("CHAINRULES_TEST_STRICT", "") not in ("", "0")


class Status(Enum):
    """What a check may do with an argument."""

    PERTURBED = "perturbed"
    INTEGER = "integer"  # a constant, unless the rule says that it is none
    FIXED = "fixed"  # nothing in it can be perturbed
    EXCLUDED = "excluded"  # by the test


class Argument:
    """An argument of the call, or the object that its function belongs to."""

    def __init__(self, value: Any, tangent: Any, label: str) -> None:
        self.tangent = tangent
        self.label = label
        if isinstance(tangent, NoTangent):
            self.status = Status.EXCLUDED
        elif tangent is not AUTO:
            value = promote(value)
            self.status = Status.PERTURBED
        elif not is_constant(value):
            self.status = Status.PERTURBED
        else:
            self.status = Status.FIXED if is_constant(promote(value)) else Status.INTEGER
        self.value = value

    @property
    def is_integer(self) -> bool:
        """Whether it is an integer that a rule may perturb or not."""
        return self.status is Status.INTEGER

    def direction(self, rng: np.random.Generator) -> Any:
        """Return the tangent to use for this argument."""
        if self.status is not Status.PERTURBED:
            return NoTangent()
        return rand_tangent(self.value, rng) if self.tangent is AUTO else self.tangent


@dataclass
class CheckResult:
    """The result of a successful check.

    Attributes
    ----------
    y : value
        The primal.
    rules : list of Rule
        The rules that the check used.
    missing : list of tuple
        The derivatives that the rule declares as not implemented, which were not checked: pairs of
        the name of the argument and the ``NotImplementedTangent``.
    """

    y: Any = None
    rules: list[Any] = field(default_factory=list)
    missing: list[tuple[str, NotImplementedTangent]] = field(default_factory=list)


class Case:
    """A call to check, with everything that both modes need."""

    def __init__(
        self,
        mode: str,
        f: Any,
        args: tuple,
        fkwargs: Mapping[str, Any] | None,
        config: Any,
        rule_f: Callable,
        *,
        fdm: FiniteDifferences | None = None,
        tolerance: Tolerance | None = None,
        on_missing: str = "warn",
    ) -> None:
        if on_missing not in ("warn", "allow", "fail"):
            raise ValueError(f"on_missing is 'warn', 'allow' or 'fail', not {on_missing!r}.")
        self.mode = mode
        pair = unpaired(f)
        self.f = pair.primal
        self.config, self.rule_f, self.fdm = config, rule_f, fdm
        self.tolerance = tolerance or Tolerance()
        self.on_missing = on_missing
        self.rng = np.random.default_rng(SEED)
        self.result = CheckResult()
        key, self.own = key_of(self.f)
        self.name = name_of(key)
        self.n = len(args)
        pairs = [unpaired(a) for a in args]
        self.kwargs = {name: unpaired(value).primal for name, value in (fkwargs or {}).items()}
        self.arguments = [self._itself(pair.tangent)]
        for p, label in zip(pairs, self._labels(key), strict=True):
            self.arguments.append(Argument(p.primal, p.tangent, label))
        self.used = self._rule(tuple(a.value for a in self.arguments[1:]))
        self.keywords: list[str] = []
        for name, value in self._keyword_arguments():
            tangent = unpaired((fkwargs or {}).get(name)).tangent
            self.keywords.append(name)
            self.arguments.append(Argument(value, tangent, f"keyword argument {name}"))
            self.kwargs.pop(name, None)

    def _itself(self, tangent: Any) -> Argument:
        if not self.own:
            if tangent is not AUTO and not isinstance(tangent, NoTangent):
                raise ValueError(
                    f"{self.name} has no fields to perturb: with_tangent is for objects that can "
                    "be called, not for functions."
                )
            itself = Argument(self.f, tangent, "the function itself")
            itself.status = Status.FIXED if tangent is AUTO else Status.EXCLUDED
            return itself
        label = f"the object itself ({type(self.own[0]).__name__})"
        return Argument(self.own[0], tangent, label)

    def _labels(self, key: Callable) -> list[str]:
        signature = signature_of(key)
        parameters = [] if signature is None else list(signature.parameters.values())
        names = [
            p.name for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)
        ]
        names = names[len(self.own) :]
        return [
            f"argument {i + 1} ({names[i]})" if i < len(names) else f"argument {i + 1}"
            for i in range(self.n)
        ]

    def _rule(self, args: tuple) -> Used | None:
        if self.rule_f is not (frule if self.mode == "frule" else rrule):
            return None
        used = rule_used(self.mode, self.f, args, self.kwargs, self.config)
        if used is not None:
            record(self.mode, used.rule)
            self.result.rules.append(used.rule)
        return used

    def _keyword_arguments(self) -> list[tuple[str, Any]]:
        if self.used is None or self.mode == "frule":
            return []
        return keyword_arguments(self.used, self.n + len(self.own))

    # -- the function ----------------------------------------------------------------------------

    def copies(self) -> list:
        """Return fresh copies of all arguments."""
        return [fresh(argument.value) for argument in self.arguments]

    def split(self, values: list) -> tuple[Any, list, dict[str, Any]]:
        """Return the function, positional and keyword arguments with these values."""
        f = self._bound_to(values[0]) if self.own else self.f
        kwargs = {name: fresh(value) for name, value in self.kwargs.items()}
        kwargs |= dict(zip(self.keywords, values[1 + self.n :], strict=True))
        return f, values[1 : 1 + self.n], kwargs

    def _bound_to(self, own: Any) -> Any:
        if self.f is self.own[0]:
            return own
        if isinstance(self.f, types.MethodType):
            return types.MethodType(self.f.__func__, own)
        return getattr(own, self.f.__name__)

    def function(self, *values: Any) -> Any:
        """Call the function with these values in place of `arguments`."""
        f, args, kwargs = self.split(list(values))
        return f(*args, **kwargs)

    @cached_property
    def point(self) -> Point:
        """The finite differences around the arguments."""
        return self.point_at([a.value for a in self.arguments])

    def point_at(self, values: list) -> Point:
        """Return the finite differences around other arguments."""
        own = values[0] if self.own else None
        return Point(self.function, (own, *values[1:]), {}, self.fdm)

    # -- the rule --------------------------------------------------------------------------------

    @cached_property
    def subject(self) -> str:
        """The rule and the call, for messages."""
        # A pullback's keyword arguments stand behind the positional ones.
        kinds = [described(a.value) for a in self.arguments[1 : 1 + self.n]]
        kinds += [f"{k}={described(a.value)}" for k, a in self._named()]
        where = f", {place(self.used.rule.defined_at)}" if self.used else ""
        return f"{self.mode} of {self.name}({', '.join(kinds)}){where}"

    def _named(self) -> Iterable[tuple[str, Argument]]:
        return zip(self.keywords, self.arguments[1 + self.n :], strict=True)

    def call_rule(self, *leading: Any, values: list) -> Any:
        """Call the rule with these arguments; no rule is a failure, and so is an exception."""
        f, args, kwargs = self.split(values)
        config = () if self.config is None else (self.config,)
        result = self.attempt(
            "the rule", lambda: self.rule_f(*config, *leading, f, *args, **kwargs)
        )
        if result is None:
            self.fail(self._no_rule(args))
        if not isinstance(result, tuple) or len(result) != 2:
            second = "y_dot" if self.mode == "frule" else "pullback"
            self.fail(f"it must return a pair (y, {second}), and returned {described(result)}.")
        return result

    def _no_rule(self, args: list) -> str:
        table = frule if self.mode == "frule" else rrule
        if self.rule_f is not table:
            return f"{getattr(self.rule_f, '__name__', self.rule_f)!s} returned None: no rule."
        if table.is_opted_out(self.f, *[type(a) for a in (*self.own, *args)]):
            return "there is no rule: these types are opted out."
        rules = table.methods(self.f)
        hint = ""
        if self.config is None and any(rule.takes_config for rule in rules):
            hint = " There are rules that call back into the engine: pass config=TestConfig()."
        return f"there is no rule. {NoRuleError(self.mode, self.name, tuple(args), rules)}{hint}"

    def attempt(self, what: str, call: Callable[[], Any]) -> Any:
        """Call something of the rule's; an exception is a failure of the check."""
        try:
            return call()
        except RuleCheckError:
            raise
        except Exception as error:
            problem = f"{what} raised {type(error).__name__}: {error}"
            raise RuleCheckError(problem, self.subject) from error

    # -- verdicts --------------------------------------------------------------------------------

    def fail(self, problem: str, argument: int | None = None) -> NoReturn:
        """Raise the error that says that the rule is wrong."""
        raise RuleCheckError(problem, self.subject, argument)

    def compare(
        self,
        close: Callable[[], None],
        what: str,
        argument: int | None = None,
        remark: Callable[[], str] = str,
    ) -> None:
        """Run a comparison; where it fails, say what has been compared, and remark on it."""
        try:
            close()
        except TangentMismatchError as error:
            problem = f"{what}: {sentence(str(error))}{remark()}"
            raise RuleCheckError(problem, self.subject, argument) from None

    def unchanged(self, before: list, after: list, what: str) -> None:
        """Fail where an argument is not what it was."""
        for number, (b, a, argument) in enumerate(zip(before, after, self.arguments, strict=True)):
            if not same_value(b, a):
                self.fail(f"{what} changes {argument.label} in place. Work on a copy.", number)

    def epsilon(self, *values: Any) -> float:
        """Return the precision of the least precise of the arguments and of `values`."""
        return max(coarsest([a.value for a in self.arguments]), *map(coarsest, values))

    def report_missing(self, label: str, marker: NotImplementedTangent) -> None:
        """Remember a derivative that the rule does not have."""
        if (label, marker.reason) in [(seen, m.reason) for seen, m in self.result.missing]:
            return
        self.result.missing.append((label, marker))

    def finish(self) -> CheckResult:
        """Warn about missing derivatives, or fail, as the caller wishes."""
        if self.result.missing and self.on_missing != "allow":
            listed = "; ".join(f"{label}: {m.reason}" for label, m in self.result.missing)
            problem = f"derivatives are not implemented, and so not checked: {listed}."
            problem += " Write them, or pass on_missing='allow'."
            if self.on_missing == "fail":
                self.fail(problem)
            warnings.warn(f"{self.subject}: {problem}", MissingDerivativeWarning, stacklevel=4)
        return self.result

"""Every exception of the package; each carries the values that its message prints.

The values are the exception's ``args``, and attributes by name; the sentence is made from them when
it is asked for. So an exception can be pickled, and a caller can use its values.
"""

from __future__ import annotations

from typing import Any

from chainrules_core.interpreter.noticed import ChainRulesError as ChainRulesError


def counted(number: int, noun: str) -> str:
    """Return a number with what it counts: ``"1 argument"``, ``"2 arguments"``."""
    return f"{number} {noun}{'' if number == 1 else 's'}"


# ------------------------------------------------------------------------- tangents, projection


class MutateThunkError(ChainRulesError, TypeError):
    """An attempt to write into a thunk.

    Attributes
    ----------
    action : str
        What was attempted, e.g. ``"thunk += x"``.
    """

    def __init__(self, action: str) -> None:
        super().__init__(action)
        self.action = action

    def __str__(self) -> str:
        return (
            f"A thunk stands for a value and cannot be changed in place ({self.action}). Take its "
            "value with unthunk(thunk) and copy that, or accumulate with "
            "buffer = add_inplace(buffer, thunk)."
        )


class NotImplementedTangentError(ChainRulesError, NotImplementedError):
    """A derivative that nobody has written was needed after all.

    Attributes
    ----------
    reason : str
        What the author of the rule said about it.
    location : str
        ``file:line`` of the call of `not_implemented`.
    function : str
        The function that made this call.
    issue : str or None
        Where the missing derivative is discussed.
    """

    def __init__(self, reason: str, location: str, function: str, issue: str | None = None) -> None:
        super().__init__(reason, location, function, issue)
        self.reason, self.location = reason, location
        self.function, self.issue = function, issue

    def __str__(self) -> str:
        see = f" See {self.issue}." if self.issue else ""
        return (
            f"A derivative is needed that is not implemented: {self.reason} (declared in "
            f"{self.function}, {self.location}).{see} Write the missing partial derivative there, "
            "or keep this argument constant."
        )


class MissingTangentAttributeError(NotImplementedTangentError, AttributeError):
    """An attribute was read of a derivative that nobody has written.

    For ``hasattr``, and for ``getattr`` with a default, the attribute is just absent.
    """


class ProjectionError(ChainRulesError, ValueError):
    """A cotangent does not fit the tangent space of the argument that it belongs to.

    Attributes
    ----------
    expected, found : object
        The two shapes, lengths, sets of keys or types which differ.
    what : str
        What differs: "shape", "length" or "keys".
    hint : str
        What to do about it.
    problem : str
        The sentence that says what is wrong, where it is not about a cotangent.
    """

    def __init__(
        self, expected: Any, found: Any, what: str = "shape", hint: str = "", problem: str = ""
    ) -> None:
        super().__init__(expected, found, what, hint, problem)
        self.expected, self.found, self.what = expected, found, what
        self.hint, self.problem = hint, problem

    def __str__(self) -> str:
        if self.problem:
            return f"{self.problem} {self.hint}"
        hint = self.hint or (
            "Return from the pullback a cotangent like the argument; where the function broadcasts "
            "its arguments, sum the cotangent with unbroadcast(x_bar, shape), or register the rule "
            "with broadcasts=True."
        )
        return (
            f"An argument of {self.what} {self.expected} cannot have a cotangent of "
            f"{self.what} {self.found}. {hint}"
        )


class TangentTypeError(ChainRulesError, TypeError):
    """A tangent is of the wrong kind, or has a field that its primal has not.

    Attributes
    ----------
    problem : str
        The sentence that says what is wrong.
    types : tuple
        The types it is about.
    """

    def __init__(self, problem: str, *types: type) -> None:
        super().__init__(problem, *types)
        self.problem, self.types = problem, types

    def __str__(self) -> str:
        return self.problem


class PrimalAdditionError(ChainRulesError, TypeError):
    """Primal + tangent: the primal's type could not be built from its new fields.

    Attributes
    ----------
    primal_type : type
        The type that could not be built.
    reason : str
        What went wrong.
    hint : str
        What to do about it.
    """

    def __init__(self, primal_type: type, reason: str, hint: str = "") -> None:
        super().__init__(primal_type, reason, hint)
        self.primal_type, self.reason, self.hint = primal_type, reason, hint

    def __str__(self) -> str:
        name = self.primal_type.__qualname__
        hint = self.hint or (
            f"Say how to build a {name} from its fields with @construct.register({name}), a "
            "function of (primal, fields)."
        )
        return f"A tangent cannot be added to a {name}: {self.reason}. {hint}"


class BadInplaceError(ChainRulesError):
    """A function that adds in place returned something else than its buffer.

    Attributes
    ----------
    add_into : callable
        The function.
    returned : object
        What it returned.
    """

    def __init__(self, add_into: Any, returned: Any) -> None:
        super().__init__(add_into, returned)
        self.add_into, self.returned = add_into, returned

    def __str__(self) -> str:
        name = getattr(self.add_into, "__qualname__", repr(self.add_into))
        return (
            f"{name}, which adds in place, must add into the buffer that it is given and return "
            f"that very buffer; it returned {type(self.returned).__name__} "
            f"{self.returned!r:.60}. End it with `return buffer`."
        )


# --------------------------------------------------------------------------------------- rules


class RuleDefinitionError(ChainRulesError, TypeError):
    """A rule cannot be registered as it was written."""


class RuleResultError(ChainRulesError, TypeError):
    """A rule returned something else than a value and what belongs to it.

    Attributes
    ----------
    rule : Rule
        The rule.
    result : object
        What it returned.
    """

    def __init__(self, rule: Any, result: Any) -> None:
        super().__init__(rule, result)
        self.rule, self.result = rule, result

    def __str__(self) -> str:
        results = ", ".join(self.rule.returns)
        several = "pair" if len(self.rule.returns) == 2 else "triple"
        kind = type(self.result).__name__
        found = f"a {kind}" if callable(self.result) else f"{kind} {self.result!r:.60}"
        return (
            f"The {self.rule.kind} for {self.rule.name} ({self.rule.defined_at}) must return a "
            f"{several} ({results}), or None to decline; it returned {found}. End it with "
            f"`return {results}`, where y is the value of the function."
        )


class PullbackArityError(ChainRulesError, TypeError):
    """A pullback returned the wrong number of cotangents.

    Attributes
    ----------
    rule : Rule
        Whose pullback.
    pullback : callable
        The pullback itself.
    expected, found : int
        The number of arguments, and of cotangents.
    kind : type
        What was returned: a tuple of cotangents, or a single value.
    """

    def __init__(
        self, rule: Any, pullback: Any, expected: int, found: int, kind: type = tuple
    ) -> None:
        super().__init__(rule, pullback, expected, found, kind)
        self.rule, self.pullback = rule, pullback
        self.expected, self.found, self.kind = expected, found, kind

    def __str__(self) -> str:
        cotangents = counted(self.found, "cotangent")
        if self.kind is tuple:
            cause = ""
            if self.expected == 1:
                cause = " The cotangent of a tuple argument is Tangent[tuple](...), not a tuple."
        elif self.kind is type(None):
            cotangents = "None"
            cause = " Is a return statement missing?"
        else:
            cause = f" It returned a single {self.kind.__name__}: several go into one tuple."
        arguments = counted(self.expected, "argument")
        return (
            f"{getattr(self.pullback, '__name__', 'the pullback')} of {self.rule.name} (rule at "
            f"{self.rule.defined_at}) returned {cotangents} for {arguments}.{cause} Return one "
            f"for each argument, {self.expected}, or one for the function itself before them, "
            f"{self.expected + 1}."
        )


class CotangentError(ChainRulesError, ValueError):
    """A pullback returned something that cannot be the cotangent of its argument.

    Attributes
    ----------
    rule : Rule or None
        Whose pullback.
    position : int
        Which argument; -1 is the function itself.
    cotangent : object
        What was returned.
    reason : object
        Why it does not fit.
    """

    def __init__(self, rule: Any, position: int, cotangent: Any, reason: Any = None) -> None:
        super().__init__(rule, position, cotangent, reason)
        self.rule, self.position = rule, position
        self.cotangent, self.reason = cotangent, reason

    @property
    def argument(self) -> str:
        """The argument's name, or its number where it has none."""
        names = () if self.rule is None else self.rule.signature.positional
        if self.position < 0:
            return "the function itself"
        if self.position < len(names):
            return f"argument {names[self.position]!r}"
        return f"argument {self.position}"

    def __str__(self) -> str:
        whose = "A pullback" if self.rule is None else f"The pullback of {self.rule.name}"
        where = "" if self.rule is None else f" (rule at {self.rule.defined_at})"
        if self.cotangent is None:
            reason = (
                "None is not a tangent. Return NoTangent() where the argument cannot be perturbed, "
                "ZeroTangent() where nothing depends on it; or is a return statement missing?"
            )
        elif self.reason is None:
            kind = type(self.cotangent).__name__
            reason = (
                f"a {kind} is not a tangent. The cotangent of a {kind} is Tangent[{kind}](...); "
                "the cotangents of several arguments go into one tuple."
            )
        else:
            reason = str(self.reason)
        return f"{whose}{where} returned a wrong cotangent for {self.argument}: {reason}"


class NoRuleError(ChainRulesError, LookupError):
    """There is no rule for a function on these arguments.

    Attributes
    ----------
    mode : str
        ``"rrule"`` or ``"frule"``.
    name : str
        The function.
    arguments : tuple
        The arguments.
    rules : list of Rule
        The rules the function does have.
    """

    def __init__(self, mode: str, name: str, arguments: tuple, rules: list) -> None:
        super().__init__(mode, name, arguments, rules)
        self.mode, self.name = mode, name
        self.arguments, self.rules = arguments, rules

    def __str__(self) -> str:
        kinds = ", ".join(type(a).__name__ for a in self.arguments)
        if not self.rules:
            near = f"{self.name} has no {self.mode} at all."
        else:
            near = "It has: " + "; ".join(repr(r) for r in self.rules) + "."
        return (
            f"No {self.mode} of {self.name} takes ({kinds}). {near} Register one with "
            f"@{self.mode}.register({self.name}, ...)."
        )


class AmbiguousRuleError(ChainRulesError, TypeError):
    """Two rules match the same arguments equally well.

    Attributes
    ----------
    function : callable
        The function.
    classes : tuple of type
        The classes of the arguments.
    rules : tuple of Rule
        The two rules.
    """

    def __init__(self, function: Any, classes: tuple, first: Any, second: Any) -> None:
        super().__init__(function, classes, first, second)
        self.function, self.classes, self.rules = function, classes, (first, second)

    def __str__(self) -> str:
        kinds = ", ".join(c.__name__ for c in self.classes)
        return (
            f"Two rules match {self.rules[0].name}({kinds}) equally well: {self.rules[0]!r} and "
            f"{self.rules[1]!r}. Register one for just these types, or narrow one of the two."
        )


class MissingCapabilityError(ChainRulesError, NotImplementedError):
    """A rule asked an engine for something that it cannot do.

    Attributes
    ----------
    config : RuleConfig
        The engine's configuration.
    capability : type
        What is missing.
    """

    def __init__(self, config: Any, capability: type, method: str) -> None:
        super().__init__(config, capability, method)
        self.config, self.capability, self.method = config, capability, method

    def __str__(self) -> str:
        if self.config.has(self.capability):
            return (
                f"{type(self.config).__name__} lists {self.capability.__name__} among its "
                f"capabilities, but has no method {self.method}. Write this method, or leave the "
                "capability out."
            )
        return (
            f"{type(self.config).__name__} does not offer {self.method}: it lacks "
            f"{self.capability.__name__}. Register the rule with "
            f"requires={self.capability.__name__}, so that only engines that have it use it."
        )

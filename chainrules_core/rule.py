"""A rule: one way to differentiate one callable on arguments of some types."""

from __future__ import annotations

import inspect
import re
import sys
import types
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from chainrules_core.calling.frame import call_pullback, checked_pair, materialised
from chainrules_core.calling.lists import frule_on_arrays, rrule_on_arrays, widened
from chainrules_core.calling.signatures import Binder, Signature
from chainrules_core.config import RuleConfig
from chainrules_core.registry.entries import check_types, expand, key_of


def name_of(f: Any) -> str:
    """Return the name under which a user knows `f`, with its module.

    Examples
    --------
    >>> import math
    >>> name_of(math.sin)
    'math.sin'
    """
    name = getattr(f, "__qualname__", None) or getattr(f, "__name__", None) or _shown(f)
    if name.startswith(("PyCapsule.", "pybind11_detail_")):  # of a module made by pybind11
        name = f.__name__
    owner = getattr(f, "__self__", None)
    if owner is not None and hasattr(owner, "__name__") and not inspect.ismodule(owner):
        return f"{name_of(owner)}.{f.__name__}"
    module = getattr(f, "__module__", None)
    if isinstance(f, np.ufunc) and module is None:
        known = ("numpy", "scipy.special")
        found = [m for m in known if getattr(sys.modules.get(m), name, None) is f]
        module = found[0] if found else None
    if module in (None, "builtins", "__main__") or (name.startswith("<") and name != "<lambda>"):
        return name
    public = sys.modules.get(module[1:]) if module.startswith("_") else None
    return f"{module[1:] if getattr(public, name, None) is f else module}.{name}"


def _shown(f: Any) -> str:
    """Return the repr of an object without its address."""
    return re.sub(r" at 0x[0-9a-fA-F]+", "", repr(f))


def names_of(f: Any) -> str:
    """Return the name of a function, or those of several that a rule is defined for at once."""
    return ", ".join(map(name_of, f)) if isinstance(f, tuple) else name_of(f)


EVERY = range(sys.maxsize)
"""The positions of all arguments, however many there are."""


class Rule:
    """One way to differentiate `f`; the subclasses say how.

    Attributes
    ----------
    f : callable
        The key: a function, a class, or the function of a method.
    types : tuple
        The types of the leading arguments for which the rule holds.
    kind : str
        ``"rrule"``, ``"frule"``, ``"scalar"``, ``"linear"``, ``"non_differentiable"``,
        ``"opt_out"`` or ``"decompose"``.
    requires : frozenset of type
        Capabilities that the engine must have.
    defined_at : str
        ``file:line`` of the registration.
    shaped_by : sequence of int
        The positions of arguments that decide the shapes and dtypes of the outputs by their own
        shapes and dtypes alone, whatever their elements are.
    expressions : mapping of (str, int) to ScalarRule
        The same derivatives as expressions: of what arguments (see ``define.expression``), and of
        how many.
    """

    kind = "rule"
    shaped_by: Sequence[int] = ()
    expressions: Mapping[tuple[str, int], Any] = types.MappingProxyType({})
    # Whether it computes with the arguments, which must then be of a kind that NumPy knows.
    has_formula = True

    def __init__(
        self,
        f: Callable,
        types: tuple,
        signature: Callable[[], Signature],
        *,
        requires: frozenset[type] = frozenset(),
        config_type: type[RuleConfig] | None = None,
    ) -> None:
        self.f = f
        self.name = name_of(f)
        self.types = check_types(types, f"A rule for {self.name}")
        self._make_signature = signature
        self._signature: Signature | None = None
        self.requires = requires
        self.config_type = config_type
        self.takes_config = bool(requires) or config_type is not None
        self.defined_at = _caller()
        self._binder: Binder | None = None

    @property
    def signature(self) -> Signature:
        """The parameters of the rule (read on demand, since that is slow)."""
        if self._signature is None:
            self._signature = self._make_signature()
        return self._signature

    @property
    def identity(self) -> tuple:
        """What a second registration must share with this one to replace it."""
        types = tuple(tuple(t) if isinstance(t, list) else t for t in self.types)
        variadic = bool(self.types) and isinstance(self.types[-1], list)
        return types, variadic, self.requires, self.config_type

    @property
    def binder(self) -> Binder:
        """The binder for calls of `f`."""
        if self._binder is None:
            self._binder = Binder(self.signature, self.f)
        return self._binder

    def bind(
        self, f: Callable, args: tuple, kwargs: dict[str, Any]
    ) -> tuple[tuple, dict[str, Any]] | None:
        """Return the arguments of a call of `f` in the places that the rule gives them.

        Parameters
        ----------
        f : callable
            What is called: what the rule is for, or a method bound to an object, which comes
            first then.
        args, kwargs
            The arguments of the call; they may be whatever an engine has in the place of values.

        Returns
        -------
        tuple or None
            ``(positional, options)``; None where the call does not fit the rule.

        Examples
        --------
        >>> from chainrules_core import rrule
        >>> def scaled(x, factor, *, axis=0): return x * factor
        >>> @rrule.register(scaled)
        ... def scaled_rrule(x, factor, *, axis=0): return scaled(x, factor), lambda y_bar: None
        >>> rrule.methods(scaled)[0].bind(scaled, (3.0,), {"axis": 1, "factor": 2.0})
        ((3.0, 2.0), {'axis': 1})
        >>> rrule.unregister(scaled)
        """
        return self.binder.bind(key_of(f)[1] + args, kwargs)

    def accepts(self, config: RuleConfig) -> bool:
        """Whether an engine with this configuration may use the rule."""
        return config.has(*self.requires) and isinstance(config, self.config_type or RuleConfig)

    def _takes(self, n: int) -> bool:
        """Whether the rule takes `n` positional arguments."""
        signature = self.signature
        return signature.required <= n and (n <= len(signature.positional) or signature.varargs)

    def expanded_signatures(self, n: int) -> Iterator[tuple[type, ...]]:
        """Yield the signatures, configuration first, for calls with `n` - 1 arguments."""
        if self._takes(n - 1):
            yield from expand((self.config_type or object, *self.types), n)

    def matches(self, classes: tuple[type, ...]) -> bool:
        """Whether the rule is for a configuration and arguments of these classes."""
        types: tuple = (self.config_type or object, *self.types)
        if not self._takes(len(classes) - 1):
            return False
        if isinstance(types[-1], list):
            types = types[:-1] + (tuple(types[-1]),) * (len(classes) - len(types) + 1)
        return len(types) <= len(classes) and all(map(issubclass, classes, types))

    def type_at(self, position: int) -> tuple[type, ...]:
        """Return the classes that the rule names for an argument; ``(object,)`` if it names none.

        Examples
        --------
        >>> import numpy as np
        >>> from chainrules_core import rrule
        >>> rule = Rule(max, (float, [int, np.ndarray]), lambda: None)
        >>> rule.type_at(0), rule.type_at(7)
        ((<class 'float'>,), (<class 'int'>, <class 'numpy.ndarray'>))
        """
        types = self.types
        if types and position >= len(types) and isinstance(types[-1], list):
            position = len(types) - 1
        named = types[position] if position < len(types) else object
        return tuple(named) if isinstance(named, (tuple, list)) else (named,)

    def differentiates(self, position: int) -> bool:
        """Whether the bound argument at a position may have a cotangent."""
        return True

    def primal(self, args: tuple, options: dict[str, Any], config: RuleConfig | None) -> Any:
        """Compute the primal, in the engine's way if it has one."""
        if config is None or config.primal is None:
            return self.f(*args, **options)
        return config.primal(self.f, args, options)

    def record(
        self,
        args: tuple,
        options: dict[str, Any],
        wanted: tuple[int, ...] | None = None,
        config: RuleConfig | None = None,
    ) -> tuple[Any, Callable] | None:
        """Compute the primal, and a function that pulls a cotangent back.

        Parameters
        ----------
        args, options
            Bound arguments (see ``chainrules_core.calling.signatures``).
        wanted : tuple of int, optional
            The positions whose cotangents are wanted; all, and that of `f` itself first, if None.
        config : RuleConfig, optional
            The engine, for rules that ask for it.

        Returns
        -------
        tuple or None
            ``(y, pull)``; ``pull(y_bar)`` returns a tuple of cotangents, not projected, maybe
            thunks. None where the rule declines after all.
        """
        raise NotImplementedError

    def push(
        self,
        dots: tuple,
        args: tuple,
        options: dict[str, Any],
        config: RuleConfig | None = None,
    ) -> tuple[Any, Any] | None:
        """Compute the primal and its tangent from the tangents of `args`."""
        raise NotImplementedError

    def pull_rows(
        self,
        y_bars: Any,
        y: Any,
        args: tuple,
        options: dict[str, Any],
        wanted: tuple[int, ...],
    ) -> tuple | None:
        """Pull many cotangents back at once.

        Parameters
        ----------
        y_bars : ndarray
            The cotangents, one behind the other: an axis for them in front of those of `y`. For a
            function of several outputs a tuple of such arrays.
        y : value
            The output.
        args, options
            Bound arguments.
        wanted : tuple of int
            The positions whose cotangents are wanted.

        Returns
        -------
        tuple or None
            For each of `wanted` an array with the same axis in front, not projected, or a zero;
            None where the rule knows no way but to pull them back one by one.
        """
        return None

    def __repr__(self) -> str:
        """Name the rule, its types and where it was made."""
        types = ", ".join(_type_name(t) for t in self.types)
        return f"<{self.kind} for {self.name}({types}) at {self.defined_at}>"


class HandRule(Rule):
    """A rule written by hand: the function given to ``register``.

    Attributes
    ----------
    function : callable
        What the engine calls. Where the rule takes lists, its ``without_lists`` is the author's.
    returns : tuple of str
        What the function returns.
    """

    returns: tuple[str, ...]

    def __init__(
        self,
        f: Callable,
        types: tuple,
        function: Callable,
        *,
        mode: str,
        broadcasts: bool = False,
        lists: bool = False,
        shaped_by: Sequence[int] = (),
        **traits: Any,
    ) -> None:
        takes_config = bool(traits.get("requires")) or traits.get("config_type") is not None
        skip = int(takes_config) + (mode == "frule")
        types = widened(types) if lists else types
        super().__init__(f, types, lambda: Signature.of_rule(function, skip), **traits)
        self.kind = mode
        self.returns = ("y", "pullback" if mode == "rrule" else "y_dot")
        self.broadcasts = broadcasts
        self.takes_lists = lists
        self.shaped_by = shaped_by
        self.function = function
        if lists:
            on_arrays = rrule_on_arrays if mode == "rrule" else frule_on_arrays
            self.function = on_arrays(function, int(takes_config))

    def record(
        self,
        args: tuple,
        options: dict[str, Any],
        wanted: tuple[int, ...] | None = None,
        config: RuleConfig | None = None,
    ) -> tuple[Any, Callable] | None:
        """Call the author's function."""
        leading = (config,) if self.takes_config else ()
        function = self.function
        if config is not None and config.body is not None:
            function = config.body(function)
        result = function(*leading, *args, **options)
        if result is None:
            return None
        y, pullback = checked_pair(self, result)
        n = len(args)

        def pull(y_bar: Any) -> tuple:
            bars = call_pullback(self, pullback, n, y_bar)
            return bars if wanted is None else tuple([bars[i + 1] for i in wanted])

        pull.pullback = pullback  # type: ignore[attr-defined] # for its name
        return y, pull

    def push(
        self,
        dots: tuple,
        args: tuple,
        options: dict[str, Any],
        config: RuleConfig | None = None,
    ) -> tuple[Any, Any] | None:
        """Call the author's function with zero tangents made concrete."""
        leading = (config,) if self.takes_config else ()
        dots = tuple([materialised(d, a) for d, a in zip(dots, args, strict=True)])
        function = self.function
        if config is not None and config.body is not None:
            function = config.body(function)
        result = function(*leading, dots, *args, **options)
        return None if result is None else checked_pair(self, result)


def _type_name(t: Any) -> str:
    if isinstance(t, list):
        return f"*{_type_name(tuple(t))}"
    if isinstance(t, tuple):
        return " | ".join(_type_name(u) for u in t)
    return t.__name__


def _caller() -> str:
    """Return ``file:line`` of the first frame outside this package's rule machinery."""
    frame: types.FrameType | None = sys._getframe(1)
    while frame is not None and frame.f_globals.get("__name__", "").startswith("chainrules_core."):
        frame = frame.f_back
    return "?" if frame is None else f"{frame.f_code.co_filename}:{frame.f_lineno}"

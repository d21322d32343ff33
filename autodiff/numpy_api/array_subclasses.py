"""Instances of subclasses of ``np.ndarray`` whose elements are traced: units, labelled signals.

A subclass may give operators, ufuncs and functions of NumPy another meaning
(``__array_ufunc__``, ``__array_function__``). So its instance is no tracer, which rules would take
for a plain array, but an `ArrayInstance`: a traced array together with an instance of the class,
which carries its attributes. The class's own Python code runs, rewritten, on the `ArrayInstance`;
what it leaves to ``np.ndarray`` is done with the traced array
(:mod:`autodiff.numpy_api.array_subclass_methods`). Of which class the result is, and which
attributes it has, is asked of NumPy by the same operation on the plain instances, and the numbers
of both are compared.

``super()`` in a method of the class has to find methods for an `ArrayInstance` where it would find
those of ``np.ndarray``, which take no other objects. So an `ArrayInstance` passes for an instance
of a class made here, with two bases: the class, and one that comes just before ``np.ndarray`` in
the order of methods.
"""

from __future__ import annotations

import types
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from autodiff import caches
from autodiff.dispatch import call as calls
from autodiff.errors import DifferentiationError, OutputError, lost_value
from autodiff.trace.checks.number_classes import INSTANCES, check_matrix, computes_itself
from autodiff.trace.sequence_patterns import mark
from autodiff.trace.tape import CONSTANT
from autodiff.trace.tracer import Tracer, bare, is_tracer
from chainrules_core.interpreter.quiet import quiet
from chainrules_core.tangents.fields import in_class

MEANING = ("__array_ufunc__", "__array_wrap__", "__mul__", "__add__")
"""What gives the numbers of an instance a meaning that a plain array would lose."""


@mark
class ArrayInstance:
    """An instance of a subclass of ``np.ndarray`` whose elements are traced.

    Attributes
    ----------
    _traced : Tracer
        The elements, as a traced array.
    _shell : ndarray
        A plain instance of the class, for its attributes; its elements may be out of date.
    """

    __slots__ = ("__weakref__", "_shell", "_traced")

    def __init__(self, traced: Any, shell: np.ndarray) -> None:
        assert np.shape(bare(traced)) == shell.shape  # what is kept of elements, such as a mask
        object.__setattr__(self, "_traced", traced)
        object.__setattr__(self, "_shell", shell)

    @property  # type: ignore[misc] # object's is writeable; this one is not
    def __class__(self) -> type:
        """A class that stands for that of the instance; see :mod:`numpy_api.array_subclasses`."""
        return _class_above_base(type(self._shell))

    @property
    def __dict__(self) -> dict[str, Any]:  # type: ignore[override] # likewise
        """The attributes of the instance."""
        return self._shell.__dict__

    def __getattr__(self, name: str) -> Any:
        kind = self.__class__
        found = in_class(kind, name)
        if type(found) is types.FunctionType:
            return types.MethodType(body_of(found), self)
        if isinstance(found, property) and found.fget is not None:
            return body_of(found.fget)(self)
        if name in self._shell.__dict__:
            return self._shell.__dict__[name]
        if found is None:
            fallback = in_class(kind, "__getattr__")
            if type(fallback) is types.FunctionType:
                return body_of(fallback)(self, name)
            return getattr(self._shell, name)  # raises the class's own AttributeError
        get = getattr(type(found), "__get__", None)
        if type(get) is types.FunctionType:
            return body_of(get)(found, self, type(self._shell))
        if isinstance(found, (classmethod, staticmethod)):
            return found.__get__(None, type(self._shell))
        if get is None:
            return found
        if name.startswith("__array_"):  # NumPy goes on with `__array__`
            raise AttributeError(f"a traced {type(self._shell).__name__} has no attribute {name!r}")
        raise not_followed(self, name)

    def __setattr__(self, name: str, value: Any) -> None:
        found = in_class(type(self._shell), name)
        put = getattr(type(found), "__set__", None)
        if isinstance(found, property):
            if found.fset is None:
                raise AttributeError(f"can't set attribute {name!r}")
            body_of(found.fset)(self, value)
        elif type(put) is types.FunctionType:
            body_of(put)(found, self, value)
        elif found is not None and hasattr(np.ndarray, name):
            raise not_followed(self, name)
        else:
            setattr(self._shell, name, value)

    def __array__(self, *args: Any, **kwargs: Any) -> Any:
        raise lost_value("Converting to an array", type(self._shell).__name__)

    def __array_ufunc__(self, f: np.ufunc, method: str, *inputs: Any, **kwargs: Any) -> Any:
        return call_ufunc(f, method, inputs, kwargs)

    def __array_function__(self, f: Any, kinds: Any, args: tuple, kwargs: dict[str, Any]) -> Any:
        return call_function(f, kinds, args, kwargs)

    def given_out(self) -> Any:
        """Return the plain array, as an output; raise if the class says what its numbers mean."""
        kind = type(self._shell)
        if isinstance(self._shell, np.ma.MaskedArray):
            if np.ma.is_masked(self._shell):
                raise OutputError(
                    "the function returns a masked array with masked elements, which have no "
                    "value. Return x.filled(0.0), or x.compressed()."
                )
            return self._traced
        if any(in_class(kind, name) not in (None, in_class(np.ndarray, name)) for name in MEANING):
            raise OutputError(
                f"the function returns a {kind.__qualname__}, a class of arrays with arithmetic of "
                "its own: a gradient is that of plain numbers. Return those, in the unit that is "
                "meant (x.to_value(unit), x.value, x.magnitude)."
            )
        return self._traced

    def __repr__(self) -> str:
        return repr(bare(self._traced).view(type(self._shell)))

    def __reduce_ex__(self, protocol: Any) -> Any:
        raise lost_value("pickle", type(self._shell).__name__)

    def __copy__(self) -> Any:
        return self.copy()

    def __deepcopy__(self, memo: dict) -> Any:
        return self.copy()


INSTANCES.add(ArrayInstance)


_OURS = "autodiff.numpy_api."


def body_of(f: Callable) -> Any:
    """Return a function of a class with its calls seen."""
    return f if (getattr(f, "__module__", None) or "").startswith(_OURS) else calls.body_of(f)


base: type = np.ndarray


def connect(methods: type) -> None:
    """Put in the class with the methods of ``np.ndarray``; see :mod:`autodiff.wiring`."""
    globals().update(base=methods)


_classes: dict[type, type] = caches.register("classes of traced subclasses", {}, of_classes=True)


def _class_above_base(kind: type) -> type:
    """Return the class that instances of a subclass pass for."""
    if kind not in _classes:
        names = {"__module__": kind.__module__, "__qualname__": kind.__qualname__, "__slots__": ()}
        _classes[kind] = types.new_class(
            kind.__name__, (kind, base), exec_body=lambda scope: scope.update(names)
        )
    return _classes[kind]


def original(kind: type) -> type:
    """Return the subclass that one of our classes stands for; any other class unchanged."""
    return kind.__mro__[1] if _classes.get(kind.__mro__[1]) is kind else kind


def view(data: Any, kind: type) -> Any:
    """Do ``x.view(kind)`` for a traced array: ``__array_finalize__`` of the class is called."""
    kind = original(kind)
    check_matrix(kind)
    shell = bare(data).view(kind)
    is_instance = isinstance(shell, np.ndarray) and type(shell) is not np.ndarray
    return ArrayInstance(data, shell) if is_instance else data


def is_instance_of_subclass(x: Any) -> bool:
    """Whether `x` is an `ArrayInstance`, or a plain instance of such a class."""
    return type(x) is ArrayInstance or computes_itself(type(x))


def _as_instance(x: Any) -> Any:
    """Return a plain instance of a subclass as an `ArrayInstance`; anything else as it is."""
    if type(x) is not ArrayInstance and computes_itself(type(x)):
        return ArrayInstance(Tracer(np.asarray(x), CONSTANT, -1), x)
    return x


def data_of(x: Any) -> Any:
    """Return the traced array of an `ArrayInstance`, also in a list; anything else as it is."""
    if type(x) is ArrayInstance:
        return x._traced
    return [data_of(v) for v in x] if type(x) in (list, tuple) else x


def shell_of(x: Any) -> Any:
    """Return the plain instance of an `ArrayInstance`, also in a list; of a tracer its value."""
    if type(x) is ArrayInstance:
        return x._shell
    if type(x) in (list, tuple):
        return type(x)([shell_of(v) for v in x])
    return bare(x)


def not_followed(x: ArrayInstance, name: str) -> DifferentiationError:
    """Build the error for what a class leaves to ``np.ndarray`` and is not followed."""
    kind = type(x._shell).__qualname__
    return DifferentiationError(
        f"x.{name} of a {kind} whose elements are traced is not followed: {kind}, a class of "
        "arrays of its own, leaves it to np.ndarray, which would read the memory of the array. "
        f"Use a function of NumPy (np.{name}(x)), or take the plain array out first "
        "(np.asarray(x), or x.value for units)."
    )


def result_like(made: Any, ask: Callable[[], Any]) -> Any:
    """Return a traced result as NumPy's would be: an `ArrayInstance` if ``ask()`` gives one.

    Parameters
    ----------
    made : Any
        The result of the traced arrays, or a tuple of results.
    ask : callable
        Does the same with plain instances.
    """
    with quiet():
        shell = ask()
    if type(made) is tuple:
        return tuple([_with_shell(*pair) for pair in zip(made, shell, strict=True)])
    return _with_shell(made, shell)


def _with_shell(made: Any, shell: Any) -> Any:
    kind = type(shell)
    if not is_tracer(made):
        return shell
    if isinstance(shell, np.ma.MaskedArray):
        made = _with_hidden(made, shell)
    plain = bare(made)
    if not np.allclose(np.asarray(shell), plain, _NEAR[plain.dtype.itemsize > 4], 0, True):
        raise DifferentiationError(
            "an operation on an array of a class with arithmetic of its own gives other numbers "
            "than that of np.ndarray: what the class does there (__array_wrap__, say) is not "
            "followed. Take the plain array out first (np.asarray(x), or x.value for units)."
        )
    is_instance = isinstance(shell, np.ndarray) and kind is not np.ndarray
    return ArrayInstance(made, shell) if is_instance else made


def _with_hidden(made: Any, shell: np.ma.MaskedArray) -> Any:
    """Replace numbers under a mask by those that NumPy leaves there."""
    other = np.ma.getmaskarray(shell) & (shell.data != bare(made))
    return np.where(other, shell.data, made) if other.any() else made


_NEAR = (1e-3, 1e-9)


# -- NumPy's protocols --------------------------------------------------------------------------


def by_class(name: str, values: list) -> Iterator[tuple[ArrayInstance, types.FunctionType]]:
    """Yield whose method of a protocol is to be asked, subclasses first, each class once."""
    instances = [x for x in map(_as_instance, values) if type(x) is ArrayInstance]
    instances.sort(key=lambda x: -len(type(x._shell).__mro__))
    seen = set()
    for x in instances:
        own = in_class(type(x._shell), name)
        if type(own) is types.FunctionType and type(x._shell) not in seen:
            seen.add(type(x._shell))
            yield x, own


def call_ufunc(f: np.ufunc, method: str, inputs: tuple, kwargs: dict[str, Any]) -> Any:
    """Call a ufunc, or a method of one, on instances of subclasses."""
    inputs = tuple(map(_as_instance, inputs))
    out = kwargs.get("out")
    outs = () if out is None else out if type(out) is tuple else (out,)
    if out is not None:
        kwargs = {**kwargs, "out": outs}
    asked = False
    for x, own in by_class("__array_ufunc__", [*inputs, *outs]):
        asked = True
        made = body_of(own)(x, f, method, *inputs, **kwargs)
        if made is not NotImplemented:
            return made
    if asked:
        raise TypeError(f"no operand of {f.__name__} implements it for the types of the others")
    return ufunc_of_arrays(f, method, inputs, kwargs)


def ufunc_of_arrays(f: np.ufunc, method: str, inputs: tuple, kwargs: dict[str, Any]) -> Any:
    """Call a ufunc as ``np.ndarray.__array_ufunc__`` does."""
    target: Any = f if method == "__call__" else getattr(f, method)
    if kwargs.get("out") is not None and any(type(x) is ArrayInstance for x in kwargs["out"]):
        raise DifferentiationError(
            f"{f.__name__} writes into an instance of a class of arrays of its own whose elements "
            "are traced (out= or an operator such as *=), which is not followed. Make a new array "
            "(x = x * y)."
        )
    args = tuple(map(data_of, inputs))
    made = calls.call(target, args, kwargs)
    if all(type(x) is not ArrayInstance for x in inputs):
        return made
    return result_like(made, lambda: target(*map(shell_of, inputs), **kwargs))


def call_function(f: Any, kinds: Any, args: tuple, kwargs: dict[str, Any]) -> Any:
    """Call a function of NumPy on instances of subclasses."""
    args = _instances_in(args)
    kwargs = dict(zip(kwargs, _instances_in(kwargs.values()), strict=True))
    given = _given(args, kwargs)
    kinds = {x.__class__ for x in given if type(x) is ArrayInstance}
    asked = False
    for x, own in by_class("__array_function__", given):
        asked = True
        made = body_of(own)(x, f, kinds, args, kwargs)
        if made is not NotImplemented:
            return made
    if asked:
        raise TypeError(f"no implementation found for {f.__name__} with the types of its arguments")
    return function_of_arrays(f, args, kwargs)


_STRUCTURAL = frozenset({np.broadcast_arrays, np.broadcast_to})
"""Functions whose body asks NumPy for the memory of arrays."""


def _instances_in(values: Any) -> tuple:
    return tuple(
        [
            type(v)(map(_as_instance, v)) if type(v) in (list, tuple) else _as_instance(v)
            for v in values
        ]
    )


def _given(args: tuple, kwargs: dict[str, Any]) -> list[Any]:
    """Return the arguments of a call, and those that are in a list or tuple."""
    values = (*args, *kwargs.values())
    return [x for v in values for x in (v if type(v) in (list, tuple) else [v])]


def function_of_arrays(f: Any, args: tuple, kwargs: dict[str, Any]) -> Any:
    """Call a function of NumPy as ``np.ndarray.__array_function__`` does: its body runs."""
    if all(type(x) is not ArrayInstance for x in _given(args, kwargs)):
        return calls.call(f, args, kwargs)
    if f in _STRUCTURAL:
        made = calls.call(f, tuple(map(data_of, args)), kwargs)
        return result_like(made, lambda: f._implementation(*map(shell_of, args), **kwargs))
    body = getattr(f, "_implementation", None)
    if type(body) is types.FunctionType:
        return calls.body_of(body)(*args, **kwargs)
    made = calls.call(f, tuple(map(data_of, args)), {n: data_of(v) for n, v in kwargs.items()})
    plainly: Any = f if body is None else body
    return result_like(
        made, lambda: plainly(*map(shell_of, args), **{n: shell_of(v) for n, v in kwargs.items()})
    )


CONVERTED: dict[type, Callable[[Any], Any]] = {ArrayInstance: lambda x: x._traced}
"""Class → function that returns the traced array in an object; None if there is none."""


def plain_array(x: Any) -> Any:
    """Return the traced array in an object, or that of its plain numbers; others as they are."""
    get = CONVERTED.get(type(x))
    if get is None or type(x) is ArrayInstance:
        return x
    traced = get(x)
    return np.asarray(x) if traced is None else traced


def converted(
    f: Any, x: Any, dtype: Any = None, *, copy: Any = True, subok: bool = False, **options: Any
) -> Any:
    """Do ``np.array``, ``np.asarray`` or ``np.asanyarray`` of an object that holds a traced array.

    Return None if it holds a plain one.
    """
    traced = CONVERTED[type(x)](x)
    if traced is None:
        return None
    if f is np.array:
        options["subok"] = subok
    elif f is np.asanyarray:
        subok = True
    if f is np.array or copy is not True:
        options["copy"] = copy
    made = calls.call(f, (traced, dtype), options)
    if not subok or type(x) is not ArrayInstance:
        return made
    if made is traced:
        return x
    n = options.get("ndmin", 0)
    return result_like(made, lambda: np.array(x._shell, dtype, subok=True, ndmin=n))

"""Instances of subclasses of ``np.ndarray`` whose elements are traced: units, labelled signals.

A subclass may give operators, ufuncs and functions of NumPy another meaning
(``__array_ufunc__``, ``__array_function__``). So its instance is no tracer, which rules would take
for a plain array, but an `Instance`: a traced array together with an instance of the class that
carries its attributes. The class's own Python code runs, rewritten, on the `Instance`; what it
leaves to ``np.ndarray`` is done with the traced array by `_Base`. Of which class the result is, and
which attributes it has, is asked of NumPy by the same operation on the plain instances.

``super()`` in a method of the class has to find `_Base` where it would find ``np.ndarray``, whose
own methods take no other objects. So an `Instance` passes for an instance of a class made here,
with the class and `_Base` as its bases: `_Base` comes just before ``np.ndarray`` in the order of
methods.
"""

from __future__ import annotations

import types
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from autodiff import caches
from autodiff.dispatch import call as calls
from autodiff.errors import DifferentiationError, OutputError, lost_value
from autodiff.trace.number_classes import INSTANCES, check_mask_or_matrix, computes_itself
from autodiff.trace.tape import CONSTANT
from autodiff.trace.tracer import Tracer, bare, is_tracer
from chainrules_core.quiet import quiet
from chainrules_core.tangents.fields import in_class


class Instance:
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
        object.__setattr__(self, "_traced", traced)
        object.__setattr__(self, "_shell", shell)

    @property  # type: ignore[misc] # object's is writeable; this one is not
    def __class__(self) -> type:
        """A class that stands for that of the instance; see :mod:`numpy_api.array_subclasses`."""
        return _class_above_base(type(self._shell))

    @property  # type: ignore[misc]
    def __dict__(self) -> dict[str, Any]:
        """The attributes of the instance."""
        return self._shell.__dict__

    def __getattr__(self, name: str) -> Any:
        kind = self.__class__
        found = in_class(kind, name)
        if type(found) is types.FunctionType:
            return types.MethodType(_body(found), self)
        if isinstance(found, property):
            return _body(found.fget)(self)
        if name in self._shell.__dict__:
            return self._shell.__dict__[name]
        if found is None:
            fallback = in_class(kind, "__getattr__")
            if type(fallback) is types.FunctionType:
                return _body(fallback)(self, name)
            return getattr(self._shell, name)  # raises the class's own AttributeError
        get = getattr(type(found), "__get__", None)
        if type(get) is types.FunctionType:
            return _body(get)(found, self, type(self._shell))
        if isinstance(found, (classmethod, staticmethod)):
            return found.__get__(None, type(self._shell))
        if get is None:
            return found
        if name.startswith("__array_"):  # NumPy goes on with `__array__`
            raise AttributeError(f"a traced {type(self._shell).__name__} has no attribute {name!r}")
        raise _not_followed(self, name)

    def __setattr__(self, name: str, value: Any) -> None:
        found = in_class(type(self._shell), name)
        put = getattr(type(found), "__set__", None)
        if isinstance(found, property):
            if found.fset is None:
                raise AttributeError(f"can't set attribute {name!r}")
            _body(found.fset)(self, value)
        elif type(put) is types.FunctionType:
            _body(put)(found, self, value)
        elif found is not None and hasattr(np.ndarray, name):
            raise _not_followed(self, name)
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
        if any(in_class(kind, name) not in (None, in_class(np.ndarray, name)) for name in _MEANING):
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


INSTANCES.add(Instance)


def _body(f: Callable) -> Any:
    """Return a function of a class with its calls seen."""
    return f if getattr(f, "__module__", None) == __name__ else calls.body_of(f)


_classes: dict[type, type] = caches.register("classes of traced subclasses", {}, of_classes=True)


def _class_above_base(kind: type) -> type:
    """Return the class that instances of a subclass pass for."""
    if kind not in _classes:
        names = {"__module__": kind.__module__, "__qualname__": kind.__qualname__, "__slots__": ()}
        _classes[kind] = types.new_class(
            kind.__name__, (kind, _Base), exec_body=lambda scope: scope.update(names)
        )
    return _classes[kind]


def original(kind: type) -> type:
    """Return the subclass that a class of ours stands for; any other class as it is."""
    return kind.__mro__[1] if _Base in kind.__mro__[:-2] and kind is not _Base else kind


def view(data: Any, kind: type) -> Any:
    """Do ``x.view(kind)`` for a traced array: ``__array_finalize__`` of the class is called."""
    kind = original(kind)
    check_mask_or_matrix(kind)
    return data if kind is np.ndarray else Instance(data, bare(data).view(kind))


def is_instance_of_subclass(x: Any) -> bool:
    """Whether `x` is an `Instance`, or a plain instance of a class with arithmetic of its own."""
    return type(x) is Instance or computes_itself(type(x))


def _as_instance(x: Any) -> Any:
    """Return a plain instance of a subclass as an `Instance`; anything else as it is."""
    if type(x) is not Instance and computes_itself(type(x)):
        return Instance(Tracer(np.asarray(x), CONSTANT, -1), x)
    return x


def _data(x: Any) -> Any:
    if type(x) is Instance:
        return x._traced
    return [_data(v) for v in x] if type(x) in (list, tuple) else x


def _shell(x: Any) -> Any:
    if type(x) is Instance:
        return x._shell
    if type(x) in (list, tuple):
        return type(x)([_shell(v) for v in x])
    return bare(x)


def _not_followed(x: Instance, name: str) -> DifferentiationError:
    kind = type(x._shell).__qualname__
    return DifferentiationError(
        f"x.{name} of a {kind} whose elements are traced is not followed: {kind}, a class of "
        "arrays of its own, leaves it to np.ndarray, which would read the memory of the array. "
        f"Use a function of NumPy (np.{name}(x)), or take the plain array out first "
        "(np.asarray(x), or x.value for units)."
    )


def result_like(made: Any, ask: Callable[[], Any]) -> Any:
    """Return a traced result as NumPy's would be: an `Instance` if ``ask()`` gives an instance.

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
    if is_tracer(made) and isinstance(shell, np.ndarray) and kind is not np.ndarray:
        return Instance(made, shell)
    return made


# -- NumPy's protocols --------------------------------------------------------------------------


def _by_class(name: str, values: list) -> Iterator[tuple[Instance, types.FunctionType]]:
    """Yield whose method of a protocol is to be asked, subclasses first, each class once."""
    instances = [x for x in map(_as_instance, values) if type(x) is Instance]
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
    for x, own in _by_class("__array_ufunc__", [*inputs, *outs]):
        asked = True
        made = _body(own)(x, f, method, *inputs, **kwargs)
        if made is not NotImplemented:
            return made
    if asked:
        raise TypeError(f"no operand of {f.__name__} implements it for the types of the others")
    return _ufunc_of_arrays(f, method, inputs, kwargs)


def _ufunc_of_arrays(f: np.ufunc, method: str, inputs: tuple, kwargs: dict[str, Any]) -> Any:
    """Call a ufunc as ``np.ndarray.__array_ufunc__`` does."""
    target: Any = f if method == "__call__" else getattr(f, method)
    if kwargs.get("out") is not None and any(type(x) is Instance for x in kwargs["out"]):
        raise DifferentiationError(
            f"{f.__name__} writes into an instance of a class of arrays of its own whose elements "
            "are traced (out= or an operator such as *=), which is not followed. Make a new array "
            "(x = x * y)."
        )
    args = tuple(map(_data, inputs))
    made = calls.call(target, args, kwargs)
    if all(type(x) is not Instance for x in inputs):
        return made
    return result_like(made, lambda: target(*map(_shell, inputs), **kwargs))


def call_function(f: Any, kinds: Any, args: tuple, kwargs: dict[str, Any]) -> Any:
    """Call a function of NumPy on instances of subclasses."""
    given: list[Any] = []
    for value in (*args, *kwargs.values()):
        given += value if type(value) in (list, tuple) else [value]
    args, kwargs = _instances_in(args), dict(zip(kwargs, _instances_in(kwargs.values()), strict=True))
    kinds = {x.__class__ for x in map(_as_instance, given) if type(x) is Instance}
    asked = False
    for x, own in _by_class("__array_function__", given):
        asked = True
        made = _body(own)(x, f, kinds, args, kwargs)
        if made is not NotImplemented:
            return made
    if asked:
        raise TypeError(f"no implementation found for {f.__name__} with the types of its arguments")
    return _function_of_arrays(f, args, kwargs)


_STRUCTURAL = frozenset({np.broadcast_arrays, np.broadcast_to})
"""Functions whose body asks NumPy for the memory of arrays."""


def _instances_in(values: Any) -> tuple:
    return tuple(
        [
            type(v)(map(_as_instance, v)) if type(v) in (list, tuple) else _as_instance(v)
            for v in values
        ]
    )


def _function_of_arrays(f: Any, args: tuple, kwargs: dict[str, Any]) -> Any:
    """Call a function of NumPy as ``np.ndarray.__array_function__`` does: its body runs."""
    given: list[Any] = []
    for value in (*args, *kwargs.values()):
        given += value if type(value) in (list, tuple) else [value]
    if all(type(x) is not Instance for x in given):
        return calls.call(f, args, kwargs)
    if f in _STRUCTURAL:
        made = calls.call(f, tuple(map(_data, args)), kwargs)
        return result_like(made, lambda: f._implementation(*map(_shell, args), **kwargs))
    body = getattr(f, "_implementation", None)
    if type(body) is types.FunctionType:
        return calls.body_of(body)(*args, **kwargs)
    made = calls.call(f, tuple(map(_data, args)), {n: _data(v) for n, v in kwargs.items()})
    return result_like(
        made, lambda: body(*map(_shell, args), **{n: _shell(v) for n, v in kwargs.items()})
    )


CONVERTED: dict[type, Callable[[Any], Any]] = {Instance: lambda x: x._traced}
"""Class → function that returns the traced array in an object; None if there is none."""


def plain_array(x: Any) -> Any:
    """Return the traced array in an object, or that of its plain numbers; others as they are."""
    get = CONVERTED.get(type(x))
    if get is None or type(x) is Instance:
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
    if not subok or type(x) is not Instance:
        return made
    return x if made is traced else Instance(made, x._shell.copy())


# -- what the class leaves to np.ndarray --------------------------------------------------------


class _Base(np.ndarray):
    """The methods of ``np.ndarray`` for instances of subclasses whose elements are traced.

    There are no instances of it: an `Instance` passes for one.
    """

    __slots__ = ()

    def __array_finalize__(self, obj: Any) -> None:
        pass

    def __array_ufunc__(self, f: Any, method: str, *inputs: Any, **kwargs: Any) -> Any:
        others = (*inputs, *(kwargs.get("out") or ()))
        if next(_by_class("__array_ufunc__", list(others)), None) is not None:
            return NotImplemented
        return _ufunc_of_arrays(f, method, inputs, kwargs)

    def __array_function__(self, f: Any, kinds: Any, args: Any, kwargs: Any) -> Any:
        return _function_of_arrays(f, args, kwargs)

    def __array_wrap__(self, array: Any, context: Any = None, return_scalar: bool = False) -> Any:
        return view(array, type(self._shell)) if is_tracer(array) else array

    def view(self, dtype: Any = None, type: Any = None) -> Any:
        if isinstance(dtype, _type) and issubclass(dtype, np.ndarray):
            dtype, type = None, dtype
        if dtype is not None and np.dtype(dtype) != self._traced.dtype:
            raise _not_followed(self, "view")
        kind = _type(self._shell) if type is None else original(type)
        data = self._traced.view()
        return data if kind is np.ndarray else Instance(data, self._shell.view(kind))

    def __getitem__(self, index: Any) -> Any:
        index = bare(index)
        made = self._traced[index]
        return result_like(made, lambda: np.ndarray.__getitem__(self._shell, index))

    def __setitem__(self, index: Any, value: Any) -> None:
        self._traced[index] = _data(value)

    def __len__(self) -> int:
        return len(self._traced)

    def __iter__(self) -> Iterator:
        return (self[i] for i in range(len(self._traced)))

    def __contains__(self, value: Any) -> bool:
        return bool(np.any(self == value))

    def __float__(self) -> float:
        raise lost_value("float(), or a C function that takes a float,", type(self._shell).__name__)

    def setflags(self, *args: Any, **kwargs: Any) -> None:
        self._traced.setflags(*args, **kwargs)

    def item(self, *args: Any) -> Any:
        return self._traced.item(*args)

    def tolist(self) -> Any:
        return self._traced.tolist()

    def mean(self, axis: Any = None, dtype: Any = None, out: Any = None, **options: Any) -> Any:
        if out is not None or options.get("where") is not None:
            raise _not_followed(self, "mean")
        total = np.add.reduce(self, axis=axis, dtype=dtype, **options)
        return total / (self._traced.size / max(np.size(_shell(total)), 1))


_MEANING = ("__array_ufunc__", "__array_wrap__", "__mul__", "__add__")
_type = type
_CONSTANT = ("shape", "ndim", "size", "dtype", "itemsize", "nbytes", "flags", "strides", "base")
_SELECTING = (
    "astype", "compress", "copy", "diagonal", "flatten", "ravel", "repeat", "reshape", "squeeze",
    "swapaxes", "take", "transpose",
)  # fmt: skip
_REDUCING: dict[str, tuple[np.ufunc, str]] = {
    "sum": (np.add, "reduce"), "prod": (np.multiply, "reduce"), "max": (np.maximum, "reduce"),
    "min": (np.minimum, "reduce"), "any": (np.logical_or, "reduce"),
    "all": (np.logical_and, "reduce"), "cumsum": (np.add, "accumulate"),
    "cumprod": (np.multiply, "accumulate"),
}  # fmt: skip
_BINARY: dict[str, np.ufunc] = {
    "add": np.add, "sub": np.subtract, "mul": np.multiply, "truediv": np.true_divide,
    "floordiv": np.floor_divide, "mod": np.remainder, "pow": np.power, "matmul": np.matmul,
}  # fmt: skip
_COMPARING: dict[str, np.ufunc] = {
    "lt": np.less, "le": np.less_equal, "eq": np.equal, "ne": np.not_equal, "gt": np.greater,
    "ge": np.greater_equal,
}  # fmt: skip
_UNARY: dict[str, np.ufunc] = {"neg": np.negative, "pos": np.positive, "abs": np.absolute}
_OF_FUNCTION = ("argmax", "argmin", "argsort", "clip", "dot", "nonzero", "std", "trace", "var")


def _constant(name: str) -> property:
    return property(lambda self: getattr(self._traced, name))


def _part(name: str) -> property:
    descriptor = getattr(np.ndarray, name)
    return property(
        lambda self: result_like(
            getattr(self._traced, name), lambda: descriptor.__get__(self._shell)
        )
    )


def _selecting(name: str) -> Callable:
    def method(self: Any, *args: Any, **kwargs: Any) -> Any:
        args = tuple(map(bare, args))
        made = getattr(self._traced, name)(*args, **kwargs)
        return result_like(made, lambda: getattr(np.ndarray, name)(self._shell, *args, **kwargs))

    return method


def _reducing(f: np.ufunc, kind: str) -> Callable:
    def method(self: Any, axis: Any = None, *args: Any, **kwargs: Any) -> Any:
        if kind == "accumulate" and axis is None:
            return method(self.ravel(), 0, *args, **kwargs)
        return call_ufunc(f, kind, (self,), dict(_named(args), axis=axis, **kwargs))

    return method


def _named(args: tuple) -> dict[str, Any]:
    """Return ``dtype`` and ``out`` of a reduction, given by their places."""
    return {name: v for name, v in zip(("dtype", "out"), args, strict=False) if v is not None}


def _binary(f: np.ufunc, is_reflected: bool) -> Callable:
    def method(self: Any, other: Any, modulo: None = None) -> Any:
        if getattr(type(other), "__array_ufunc__", f) is None:
            return NotImplemented  # it wants to be asked itself
        return call_ufunc(f, "__call__", (other, self) if is_reflected else (self, other), {})

    return method


def _unary(f: np.ufunc) -> Callable:
    return lambda self: call_ufunc(f, "__call__", (self,), {})


def _in_place(f: np.ufunc) -> Callable:
    return lambda self, other: call_ufunc(f, "__call__", (self, other), {"out": (self,)})


def _of_function(name: str) -> Callable:
    f = getattr(np, name)
    body = f._implementation
    return lambda self, *args, **kwargs: (
        _function_by_class(f, body, self, args, kwargs)
    )


def _function_by_class(f: Any, body: Any, x: Any, args: tuple, kwargs: dict[str, Any]) -> Any:
    """Do a method of an array that is not overridden as NumPy's function of the plain array."""
    if f in (np.argmax, np.argmin, np.argsort, np.nonzero):
        return f(x._traced, *args, **kwargs)
    made = calls.call(f, (x._traced, *map(_data, args)), kwargs)
    return result_like(made, lambda: getattr(np.ndarray, f.__name__)(x._shell, *map(_shell, args), **kwargs))


def _delegating(name: str) -> Callable:
    """Return a special method of `Instance`, which calls the method of the class it passes for."""

    def method(self: Instance, *args: Any) -> Any:
        found: Any = in_class(self.__class__, name)
        if found is None:
            return NotImplemented
        return _body(found)(self, *args)

    method.__name__ = name
    return method


def _install() -> None:
    base: Any = _Base
    for name in _CONSTANT:
        setattr(base, name, _constant(name))
    for name in ("T", "mT", "real", "imag"):
        setattr(base, name, _part(name))
    for name in _SELECTING:
        setattr(base, name, _selecting(name))
    for name, (f, kind) in _REDUCING.items():
        setattr(base, name, _reducing(f, kind))
    for name in _OF_FUNCTION:
        setattr(base, name, _of_function(name))
    for name in ("conj", "conjugate"):
        setattr(base, name, _unary(np.conjugate))
    for name, f in _BINARY.items():
        setattr(base, f"__{name}__", _binary(f, False))
        setattr(base, f"__r{name}__", _binary(f, True))
        setattr(base, f"__i{name}__", _in_place(f))
    for name, f in _COMPARING.items():
        setattr(base, f"__{name}__", _binary(f, False))
    for name, f in _UNARY.items():
        setattr(base, f"__{name}__", _unary(f))
    base.__bool__ = lambda self: bool(self._traced)
    base.__hash__ = None
    specials = (
        *(f"__{side}{name}__" for name in _BINARY for side in ("", "r", "i")),
        *(f"__{name}__" for name in (*_COMPARING, *_UNARY)),
        *("__len__", "__iter__", "__getitem__", "__setitem__", "__contains__", "__bool__"),
        *("__float__", "__int__", "__index__", "__complex__", "__round__", "__lshift__"),
        *("__rlshift__", "__rshift__", "__rrshift__", "__divmod__", "__rdivmod__"),
    )
    for name in specials:
        setattr(Instance, name, _delegating(name))
    for name in ("__int__", "__index__", "__complex__"):
        setattr(base, name, base.__float__)


_install()

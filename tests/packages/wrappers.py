"""Wrappers, checkers and helpers around the user's function: the function underneath is traced."""

import dataclasses
import functools
import math
import typing

import numpy as np

from tests.packages.table import V, call, imported

beartype = imported("beartype")
typeguard = imported("typeguard")
wrapt = imported("wrapt")
deprecated = imported("deprecated")
decorator = imported("decorator")
pydantic = imported("pydantic")
cachetools = imported("cachetools")
toolz = imported("toolz")
more_itertools = imported("more_itertools")
attr = imported("attr")
networkx = imported("networkx")
joblib = imported("joblib")
tqdm = imported("tqdm")
glom = imported("glom")
simpy = imported("simpy")
numexpr = imported("numexpr")

if beartype is not None:

    @beartype.beartype
    def checked(x: float, y: float) -> float:
        return math.sin(x) * y

    @beartype.beartype
    def checked_array(x: np.ndarray) -> np.ndarray:
        return np.sin(x) ** 2

    @beartype.beartype
    class Checked:
        def __init__(self, a: float):
            self.a = a

        def scaled(self, x: float) -> float:
            return self.a * x**2

    @beartype.beartype
    def summed(numbers: list[float]) -> float:
        return sum(v * v for v in numbers)


if typeguard is not None:

    @typeguard.typechecked
    def guarded(x: float) -> float:
        y: float = math.sin(x) * x
        return y

    @typeguard.typechecked
    def whole(n: int) -> float:
        return 2.0 * n

    @typeguard.typechecked
    class Guarded:
        def __init__(self, a: float) -> None:
            self.a = a

        def scaled(self, x: float, *factors: float) -> float:
            for factor in factors:
                x = x * factor
            return self.a * x

        @staticmethod
        def total(numbers: list[float]) -> float:
            return sum(numbers)

        @property
        def squared(self) -> float:
            return self.a**2


if wrapt is not None:

    @wrapt.decorator
    def doubling(wrapped, instance, args, kwargs):
        return 2 * wrapped(*args, **kwargs)

    @doubling
    def doubled(x):
        return math.sin(x)

    class Doubled:
        @doubling
        def method(self, x):
            return math.cos(x)


if deprecated is not None:

    @deprecated.deprecated(reason="use another", action="ignore")
    def old(x):
        return math.sin(x)

    @deprecated.deprecated(reason="use another", action="ignore")
    class Old:
        def __init__(self, x):
            self.x = x


if decorator is not None:

    @decorator.decorator
    def logged(f, *args, **kwargs):
        return f(*args, **kwargs) + 1.0

    @logged
    def logged_sine(x):
        return math.sin(x)


if pydantic is not None:

    @pydantic.validate_call
    def validated(x: float, n: int = 2) -> float:
        return math.sin(x) ** n

    class Model(pydantic.BaseModel):
        a: float
        b: float = 2.0

    @pydantic.validate_call(config={"arbitrary_types_allowed": True})
    def squares(x: np.ndarray) -> float:
        return (x**2).sum()

    class Strict(pydantic.BaseModel, validate_assignment=True):
        a: float = 1.0

    @pydantic.dataclasses.dataclass
    class Point:
        a: float
        b: float

    class Nest(pydantic.BaseModel, arbitrary_types_allowed=True):
        model: Model
        parts: dict[str, list[float]]
        array: np.ndarray
        anything: typing.Any = None

        @pydantic.computed_field
        @property
        def total(self) -> float:
            return sum(self.parts["a"]) * self.model.a + self.array.sum()

    class Doubling(pydantic.BaseModel):
        a: float

        @pydantic.field_validator("a")
        @classmethod
        def doubled(cls, v):
            return 2 * v

    class Totalling(pydantic.BaseModel):
        a: float
        total: float = 0.0

        @pydantic.model_validator(mode="after")
        def totalled(self):
            self.total = 2 * self.a
            return self


if cachetools is not None:

    class Remembering:
        def __init__(self):
            self.cache = cachetools.LRUCache(4)

        @cachetools.cachedmethod(lambda self: self.cache)
        def cube(self, x):
            return x**3

    @cachetools.cached(cachetools.LRUCache(8))
    def cached(x):
        return math.sin(x)


if attr is not None:

    @attr.define
    class Circle:
        radius: float = attr.field(converter=float)

        def area(self):
            return math.pi * self.radius**2

    @attr.define
    class Square:
        side: float = attr.field(validator=attr.validators.instance_of(float))


@call(beartype, 0.7)
def beartype_numbers(x):
    return checked(x, 2.0)


@call(beartype, V)
def beartype_arrays(x):
    return checked_array(x).sum()


@call(typeguard, 0.7)
def typeguard_function(x):
    return guarded(x)


@call(typeguard, 0.7)
def typeguard_class(x):
    made = Guarded(x)
    return made.scaled(x, x, 2.0) * made.squared + Guarded.total([x, x**2])


@call(typeguard, 0.7)
def typeguard_refuses(x):
    try:
        return whole(x)
    except typeguard.TypeCheckError:
        return 5.0 * x


@call(wrapt, 0.7)
def wrapt_function(x):
    return doubled(x)


@call(wrapt, 0.7)
def wrapt_method(x):
    return Doubled().method(x)


@call(deprecated, 0.7)
def deprecated_function(x):
    return old(x)


@call(decorator, 0.7)
def decorator_function(x):
    return logged_sine(x) ** 2


@call(pydantic, 0.7, "ValidateCallWrapper")
def pydantic_function(x):
    return validated(x)


@call(pydantic, 0.7)
def pydantic_model(x):
    model = Model(a=x)
    return model.a * model.b


@call(pydantic, 0.7)
def pydantic_dataclass(x):
    return Point(x, 2.0).a ** 2


@call(pydantic, V)
def pydantic_nest(x):
    model = Model(a=np.sin(x[1]))
    shared = [x[2], 1.0]
    nest = Nest(model={"a": x[0]}, parts={"a": [x[1], x[2]]}, array=x**2, anything=shared)
    other = Nest(model=model, parts={"a": [1.0]}, array=x)
    model.a, shared[1] = x[3], x[4]  # both are shared
    return nest.total * nest.anything[1] + other.total


@call(pydantic, 0.7, "validate_python has no rule")
def pydantic_validator_in_python(x):
    return Doubling(a=x).a


@call(pydantic, 0.7, "validate_python has no rule")
def pydantic_total_in_python(x):
    return Totalling(a=x).total


@call(cachetools, 0.7)
def cachetools_function(x):
    return cached(x)


@call(cachetools, 0.7)
def cachetools_method(x):
    return Remembering().cube(x)


@call(cachetools, 0.7)
def cachetools_cache(x):
    cache = cachetools.LRUCache(4)
    cache["a"] = x
    return cache["a"] ** 2


@call(beartype, 0.7)
def beartype_class(x):
    return Checked(x).scaled(x)


@call(beartype, 0.7)
def beartype_containers(x):
    return summed([x, x * x])


@call(typeguard, 0.7)
def typeguard_check(x):
    return typeguard.check_type(x, float) ** 2


@call(wrapt, 0.7)
def wrapt_proxy(x):
    return wrapt.ObjectProxy(x) * wrapt.ObjectProxy({"a": x})["a"]


@call(deprecated, 0.7)
def deprecated_class(x):
    return Old(x).x ** 2


@call(pydantic, V)
def pydantic_arrays(x):
    return squares(x)


@call(pydantic, 0.7)
def pydantic_assignment(x):
    model = Model(a=1.0)
    model.a = x
    return model.a * model.model_copy(update={"b": x}).b


@call(pydantic, 0.7)
def pydantic_validated_assignment(x):
    model = Strict()
    model.a = x
    return model.a**2


@call(numexpr, V, r"numexpr\.necompiler")
def numexpr_text(x):
    return numexpr.evaluate("x**2 + 1").sum()


@call(numexpr, V, r"numexpr\.necompiler")
def numexpr_variables(x):
    return numexpr.evaluate("sin(y)*k", local_dict={"y": x, "k": 2.0}).sum()


@call(toolz, 0.7)
def toolz_pipe(x):
    return toolz.pipe(x, math.sin, lambda v: v**2, toolz.curry(lambda a, b: a * b)(3.0))


@call(toolz, V)
def toolz_reduce(x):
    return toolz.compose(sum, functools.partial(toolz.accumulate, lambda a, b: a * b))(x)


@call(more_itertools, V)
def more_itertools_windows(x):
    return sum(a * b for a, b in more_itertools.pairwise(x))


@call(more_itertools, V)
def more_itertools_dot(x):
    return more_itertools.dotproduct(x, V) + sum(map(math.prod, more_itertools.chunked(x, 2)))


@call(attr, 0.7)
def attrs_converter(x):
    return Circle(x).area()


@call(attr, 0.7)
def attrs_validator(x):
    return Square(x).side ** 2


@call(networkx, V)
def shortest_path(w):
    graph = networkx.DiGraph()
    for (a, b), weight in zip([(0, 1), (1, 2), (0, 2), (2, 3), (1, 3)], w, strict=True):
        graph.add_edge(a, b, weight=weight)
    return networkx.shortest_path_length(graph, 0, 3, weight="weight")


@call(networkx, V)
def page_rank(w):
    graph = networkx.DiGraph()
    for (a, b), weight in zip([(0, 1), (1, 2), (0, 2), (2, 0), (1, 3)], w, strict=True):
        graph.add_edge(a, b, weight=weight)
    return networkx.pagerank(graph, weight="weight", tol=1e-12)[2]


@call(networkx, V)
def laplacian(w):
    graph = networkx.Graph()
    for (a, b), weight in zip([(0, 1), (1, 2), (0, 2), (2, 3), (1, 3)], w, strict=True):
        graph.add_edge(a, b, weight=weight)
    return np.linalg.eigvalsh(networkx.laplacian_matrix(graph).toarray())[1]


@call(networkx, V)
def minimum_cut(w):
    graph = networkx.DiGraph()
    for (a, b), weight in zip([(0, 1), (1, 2), (0, 2), (2, 3), (1, 3)], w, strict=True):
        graph.add_edge(a, b, capacity=weight)
    return networkx.maximum_flow_value(graph, 0, 3)


@call(networkx, V)
def clustering(w):
    graph = networkx.Graph()
    for (a, b), weight in zip([(0, 1), (1, 2), (0, 2), (2, 3), (1, 3)], w, strict=True):
        graph.add_edge(a, b, weight=weight)
    return networkx.average_clustering(graph, weight="weight")


@call(joblib, V)
def parallel(x):
    return sum(joblib.Parallel(n_jobs=1)(joblib.delayed(math.sin)(v) for v in x))


@call(tqdm, V)
def progress(x):
    total = 0.0
    for v in tqdm.tqdm(x, disable=True):
        total += math.sin(v)
    return total


@call(glom, 0.7)
def glom_path(x):
    return glom.glom({"a": {"b": x}}, "a.b") ** 2


@call(simpy, 0.7)
def simulation(x):
    env = simpy.Environment()

    def process():
        yield env.timeout(x)
        yield env.timeout(2 * x)

    env.process(process())
    env.run()
    return env.now**2


@call(attr, 0.7)
def replaced_dataclass(x):
    return attr.evolve(Square(1.0), side=x).side * 2 + dataclasses.replace(Pair(x, 1.0), b=x).b


@dataclasses.dataclass
class Pair:
    a: float
    b: float

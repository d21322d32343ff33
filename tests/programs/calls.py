"""Programs of calls: functions in every form in which Python has them."""

import functools
import math
import operator
from functools import partial

import numpy as np

X = [0.7, -1.3, 2.1, 0.4]
P = [0.6, 1.7, 2.2, 0.9]
SCALE = 1.5


def square(x):
    return x * x


def helper(x, y=2.0, *, power=2):
    return x**power + y * math.sin(x)


def function_of_function(x):
    return helper(square(x[0])) + helper(x[1], power=3) + helper(x[2], x[3])


def lambdas_on_a_line(x):
    f, g, h = lambda a: a * a, lambda a: math.exp(a), lambda a, b=2.0: a * math.sin(b * a)
    return f(x[0]) + g(x[1]) + h(x[2]) + h(x[3], b=x[0])


def lambda_in_lambda(x):
    twice = lambda f: lambda a: f(f(a))  # noqa: E731
    return twice(lambda a: math.sin(a))(x[0]) * twice(lambda a: a * a)(x[1])


LIST_OF_LAMBDAS = [lambda a: math.sin(a), lambda a: math.cos(a), lambda a: a**3, lambda a: -a]


def lambdas_in_a_list(x):
    return sum(f(a) * a for f, a in zip(LIST_OF_LAMBDAS, x, strict=True))


def closure(x):
    def scaled(a):
        return factor * math.tanh(a)

    factor = x[0] * 2.0
    return scaled(x[1]) + scaled(x[2])


def closure_factory(x):
    def make(a, b):
        def line(t):
            return a * t + b * math.cos(t)

        return line

    return make(x[0], x[1])(x[2]) * make(x[3], 1.0)(0.5)


def logged(f):
    @functools.wraps(f)
    def wrapper(*args, **kwargs):
        return f(*args, **kwargs) * 2.0

    return wrapper


@logged
def decorated_helper(a):
    return math.sin(a) * a


def decorated(x):
    return decorated_helper(x[0]) + decorated_helper(x[1])


def scaled_by(factor):
    def decorate(f):
        @functools.wraps(f)
        def wrapper(a):
            return factor * f(a)

        return wrapper

    return decorate


@scaled_by(3.0)
@logged
def decorated_twice_helper(a):
    return math.log(a)


@logged
def decorated_program(x):
    return np.sum(np.sin(x) * x)


def decorated_with_arguments(x):
    return decorated_twice_helper(x[0]) + decorated_twice_helper(x[1] * x[2])


@functools.lru_cache
def cached_constant(n):
    return float(sum(range(n)))


@functools.cache
def cached_helper(a):
    return a * math.sin(a)


def lru_cache_of_constant(x):
    return cached_constant(5) * x[0] + cached_constant(3) * math.exp(x[1])


def lru_cache_of_traced(x):
    return cached_helper(x[0]) + cached_helper(x[1]) * cached_helper(x[0])


def partials(x):
    cubed = partial(helper, y=x[1], power=3)
    scaled = partial(operator.mul, x[2])
    return cubed(x[0]) + scaled(x[3]) + partial(pow, x[0])(2)


def partial_of_partial(x):
    f = partial(partial(lambda a, b, c: a * b + math.sin(c), x[0]), x[1])
    return f(x[2]) * f(0.5)


def operator_functions(x):
    y = operator.add(operator.mul(x[0], x[1]), operator.neg(x[2]))
    return operator.truediv(y, operator.pow(x[3], 2)) + operator.itemgetter(1)(x)


def default_arguments(x):
    def f(a, b=2.0, c=SCALE):
        return a * b + math.exp(c)

    return f(x[0]) + f(x[1], x[2]) + f(1.0, c=x[3])


def default_is_traced(x):
    def f(a, b=x[1] * x[1]):
        return a * b

    return f(x[0]) + f(2.0)


def keyword_only(x):
    def f(a, *, gain, bias=0.5):
        return gain * math.tanh(a) + bias

    return f(x[0], gain=x[1]) * f(x[2], gain=2.0, bias=x[3])


def positional_only(x):
    def f(a, b, /, c):
        return a * b**2 + c

    return f(x[0], x[1], c=x[2])


def star_args(x):
    def total(first, *rest):
        return first * sum(rest)

    return total(*x) + total(x[0], *x[1:3])


def star_kwargs(x):
    def f(**named):
        return sum(named[k] ** i for i, k in enumerate(sorted(named), 1))

    return f(a=x[0], b=x[1], c=x[2], d=x[3])


def passed_through(x):
    def outer(f, *args, **kwargs):
        return f(*args, **kwargs)

    return outer(helper, x[0], power=3) + outer(helper, x[1], y=x[2])


PROGRAMS = [(f, X) for f in [
    function_of_function, lambdas_on_a_line, lambda_in_lambda, lambdas_in_a_list, closure,
    closure_factory, decorated, decorated_program, lru_cache_of_constant, lru_cache_of_traced,
    partials, partial_of_partial, operator_functions, default_arguments, default_is_traced,
    keyword_only, positional_only, star_args, star_kwargs, passed_through,
]]  # fmt: skip
PROGRAMS += [(f, P) for f in [
    decorated_with_arguments,
]]  # fmt: skip
NOT_YET = []
NOT_TWICE = set()

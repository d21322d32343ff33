"""The derivative of an explicit Runge-Kutta solution: that of its steps.

A step of size h from y at t has the stages Yⱼ = y + h Σ aⱼₗ kₗ, kⱼ = f(t + cⱼ h, Yⱼ; θ), ends in
y + h Σ bⱼ kⱼ, and passes through y + h Σ wⱼ(x) kⱼ at t + x h, where the polynomials w are those of
the dense output. With the sizes of the steps held fixed, which is what the solution depends on
within its tolerance only, the tangents of the stages are

    Yⱼ' = s + h Σ aⱼₗ kₗ',   kⱼ' = f_y Yⱼ' + f_θ dθ,

and read backward, for a cotangent λ of the end and ȳ of the place x,

    k̄ⱼ = h bⱼ λ + h wⱼ(x) ȳ + h Σ aₗⱼ Ȳₗ,   (Ȳⱼ, θ̄ⱼ) = (f_y, f_θ)ᴴ k̄ⱼ,   λ ← λ + ȳ + Σ Ȳⱼ:

one pullback of the right-hand side for each stage (Hairer, Nørsett, Wanner, Solving Ordinary
Differential Equations I, II.4 and II.6; for the adjoint Hager, Numer. Math. 87, 2000). Of a
solution the states at the steps are kept, and the stages as long as they are few; else they are
found anew.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from scipy import integrate

EXPLICIT = {f.__name__: f for f in (integrate.RK23, integrate.RK45, integrate.DOP853)}
MOST_NUMBERS = 4_000_000
"""How many numbers the stages of a solution may be, to be kept."""


class Tableau(NamedTuple):
    """The coefficients of a method with those of its dense output.

    Attributes
    ----------
    a, b, c : array
        Of all stages, those of the dense output included, for which `b` is 0.
    n : int
        How many stages the end of the step needs.
    f : array
        ``f[p]`` are the weights of the stages in part p of the dense output.
    nested : bool
        Whether the dense output is Σ fₚ x^(p+1), or f₀ x + f₁ x (1-x) + f₂ x² (1-x) + …
    """

    a: Any
    b: Any
    c: list
    n: int
    f: Any
    nested: bool

    def weights(self, x: Any) -> Any:
        """The weights of the stages in the state at the places `x`, one row for each."""
        if not self.nested:
            return np.power(x[:, None], np.arange(1, len(self.f) + 1)) @ self.f
        w = np.zeros((len(x), len(self.b)))
        for i, part in enumerate(reversed(self.f)):
            w = (w + part) * (x if i % 2 == 0 else 1 - x)[:, None]
        return w


def tableau(method: Any) -> Tableau:
    """The coefficients of a class of SciPy's."""
    n = method.n_stages
    extra = getattr(method, "C_EXTRA", ())
    size = n + 1 + len(extra)
    a = np.zeros((size, size))
    a[:n, : method.A.shape[1]] = method.A
    a[n, :n] = method.B
    b = a[n].copy()
    c = [float(c) for c in (*method.C, 1.0, *extra)]
    if not len(extra):
        return Tableau(a, b, c, n, np.transpose(method.P), nested=False)
    a[n + 1 :] = method.A_EXTRA
    first, last = np.eye(size)[[0, n]]
    return Tableau(a, b, c, n, np.stack([b, first - b, 2 * b - last - first, *method.D]), True)


TABLEAUS = {name: tableau(method) for name, method in EXPLICIT.items()}


class Step(NamedTuple):
    """A step from `y` at `t` of the size `h`, and its stages if they were kept."""

    t: float
    h: float
    y: Any
    k: Any


def explicit_name(method: Any) -> str | None:
    """The name of a method if it is an explicit one of SciPy's."""
    name = method if isinstance(method, str) else getattr(method, "__name__", "")
    known = EXPLICIT.get(name)
    return name if known is not None and method in (name, known) else None


def recording(name: str, steps: list) -> type:
    """The class of a method, to be given to solve_ivp, that notes each step in `steps`."""

    class Recorded(EXPLICIT[name]):  # type: ignore[misc]
        def step(self) -> Any:
            message = super().step()
            if self.status != "failed":
                keep = self.K.size * (len(steps) + 1) <= MOST_NUMBERS
                k = self.K.copy() if keep else None
                steps.append(Step(float(self.t_old), float(self.t - self.t_old), self.y_old, k))
            return message

    Recorded.__name__ = Recorded.__qualname__ = name
    return Recorded


def places(steps: list, times: Any, at: Any, moving: bool) -> list:
    """For each step the numbers of the times at its end, of those inside, and where these are.

    The first time is that of the beginning. `at` are the values of the times; if these are `moving`
    (traced by another level), an end is a place too.
    """
    if not steps:
        return []
    starts = np.array([s.t for s in steps])
    sign = 1.0 if steps[0].h > 0 else -1.0
    of_step = np.searchsorted(sign * starts, sign * at, side="left") - 1
    found: list = [([], [], []) for _ in steps]
    for i in range(1, len(at)):
        n = max(of_step[i], 0) if moving else of_step[i]
        if n < 0:
            continue
        ends, inside, xs = found[n]
        t, h = steps[n].t, steps[n].h
        # What rounding leaves between the ends of two steps belongs to the end.
        is_end = at[i] == t + h or (n + 1 < len(steps) and at[i] == steps[n + 1].t)
        if is_end and not moving:
            ends.append(i)
        else:
            inside.append(i)
            xs.append((times[i] - t) / h)
    return found


def stages(f: Callable, tab: Tableau, step: Step, size: int, y: Any) -> tuple:
    """The states and slopes of the first `size` stages of a step from `y`."""
    t, h = step.t, step.h
    ha = h * tab.a
    k = step.k
    if k is None:
        states, slopes = [], []
    elif size <= len(k):
        return y + ha[:size, : len(k)] @ k, k
    else:
        states, slopes = list(y + ha[: len(k), : len(k)] @ k), list(k)
    for j in range(len(slopes), size):
        state = y + ha[j, :j] @ np.stack(slopes) if j else y
        states.append(state)
        slopes.append(f(t + tab.c[j] * h, state))
    return states, np.stack(slopes)


def walked(f: Callable, tab: Tableau, steps: list, t0: Any, y0: Any) -> list:
    """The steps taken again from `y0` at `t0`; their ends stay where they are."""
    made, y = [], y0
    for i, step in enumerate(steps):
        if i == 0:
            step = step._replace(t=t0, h=step.t + step.h - t0)
        k = stages(f, tab, step._replace(k=None), tab.n, y)[1]
        made.append(Step(step.t, step.h, y, k))
        y = y + step.h * (tab.b[: tab.n] @ k)
    return made


def pushed_steps(push: Callable, f: Callable, tab: Tableau, steps: list, found: list, s: Any,
                 n: int) -> Any:  # fmt: skip
    """The tangents of the states at all times from that at the beginning.

    ``push(t, y, s)`` is the tangent of the right-hand side; `found` are the `places` of the times.
    """
    last = max([i for i, p in enumerate(found) if p[0] or p[1]], default=-1)
    at: list = [s] * n
    for step, (ends, inside, xs) in zip(steps[: last + 1], found, strict=False):
        size = len(tab.b) if inside else tab.n
        states, _ = stages(f, tab, step, size, step.y)
        ha = step.h * tab.a
        dots: list = []
        for j in range(size):
            state_dot = s + ha[j, :j] @ np.stack(dots) if j else s
            dots.append(push(step.t + tab.c[j] * step.h, states[j], state_dot))
        dots = np.stack(dots)
        for i, w in zip(inside, step.h * tab.weights(np.stack(xs)) if inside else (), strict=True):
            at[i] = s + w @ dots
        s = s + (step.h * tab.b[: tab.n]) @ dots[: tab.n]
        for i in ends:
            at[i] = s
    return np.stack(at, axis=1)


def pulled_steps(
    pull: Callable, f: Callable, tab: Tableau, steps: list, found: list, y_bar: Any, total: list
) -> tuple:
    """The cotangent of the state at the beginning, and those of what `f` has captured.

    ``pull(t, y, k_bar)`` gives the cotangents of the state and of what `f` has captured, which are
    added to `total`.
    """
    last = max([i for i, p in enumerate(found) if p[0] or p[1]], default=-1)
    taken = {i for ends, inside, _ in found for i in (*ends, *inside)}
    bar = np.zeros(np.shape(y_bar)[0])
    for step, (ends, inside, xs) in reversed(list(zip(steps, found, strict=True))[: last + 1]):
        for i in ends:
            bar = bar + y_bar[:, i]
        size = len(tab.b) if inside else tab.n
        states, _ = stages(f, tab, step, size, step.y)
        ha = step.h * tab.a
        k_bar = (step.h * tab.b[:size])[:, None] * bar
        if inside:
            at = y_bar[:, inside]
            k_bar = k_bar + np.transpose(at @ (step.h * tab.weights(np.stack(xs))))
            bar = bar + np.sum(at, axis=1)
        for j in range(size - 1, -1, -1):
            state_bar, parts = pull(step.t + tab.c[j] * step.h, states[j], k_bar[j])
            bar = bar + state_bar
            if j:
                k_bar = k_bar + ha[j, :size, None] * state_bar
            total = [a + b for a, b in zip(total, parts, strict=True)]
    for i in range(np.shape(y_bar)[1]):
        if i not in taken:
            bar = bar + y_bar[:, i]
    return bar, total

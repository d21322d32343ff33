"""Programs of numerical mathematics: equations, integrals, matrices, fits."""

import math

import numpy as np

X = [0.7, -1.3, 2.1, 0.4]
P = [0.6, 1.7, 2.2, 0.9]


def spd(x):
    return np.outer(x, x) + np.diag(1.0 + x**2)


def newton_root(x):
    t = 1.0
    for _ in range(20):
        t = t - (t**3 + x[0] * t - x[1]) / (3 * t**2 + x[0])
    return t * x[2]


def newton_until_converged(x):
    t = x[0]
    while abs(t * t - x[1]) > 1e-13:
        t = 0.5 * (t + x[1] / t)
    return t


def secant_method(x):
    def g(t):
        return math.exp(t) - x[1] - x[0]

    a, b = 0.0, 1.0
    for _ in range(6):
        a, b = b, b - g(b) * (b - a) / (g(b) - g(a))
    return b


def bisection_then_newton(x):
    lo, hi = 0.0, 5.0
    for _ in range(8):
        mid = (lo + hi) / 2
        if mid**3 > x[1]:
            hi = mid
        else:
            lo = mid
    t = (lo + hi) / 2
    for _ in range(4):
        t -= (t**3 - x[1]) / (3 * t**2)
    return t


def fixed_point(x):
    y = np.zeros(4)
    for _ in range(60):
        y = np.cos(0.5 * y + 0.2 * x)
    return np.sum(y)


def euler_pendulum(x):
    theta, omega, dt = x[0], x[1], 0.05
    for _ in range(20):
        theta, omega = theta + dt * omega, omega - dt * 9.81 * math.sin(theta) * x[3]
    return theta**2 + omega


def runge_kutta(x):
    def rhs(y):
        return np.array([x[0] * y[0] - x[1] * y[0] * y[1], 0.5 * y[0] * y[1] - x[2] * y[1]])

    y, h = np.array([1.0, 0.5]), 0.1
    for _ in range(8):
        k1 = rhs(y)
        k2 = rhs(y + h / 2 * k1)
        k3 = rhs(y + h / 2 * k2)
        k4 = rhs(y + h * k3)
        y = y + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
    return y[0] * y[1]


def trajectory_in_a_buffer(x):
    path = np.zeros((12, 2))
    path[0] = x[:2]
    for n in range(11):
        p, v = path[n]
        path[n + 1, 0] = p + 0.1 * v
        path[n + 1, 1] = v - 0.1 * (x[2] * p + 0.1 * v**3)
    return np.mean(path**2)


def leapfrog(x):
    q, p = x[:2], x[2:]
    for _ in range(6):
        p = p - 0.05 * np.sin(q)
        q = q + 0.1 * p
        p = p - 0.05 * np.sin(q)
    return 0.5 * p @ p - np.cos(q).sum()


def implicit_heat(x):
    n = 4
    A = np.eye(n) * 2.0 - np.eye(n, k=1) - np.eye(n, k=-1)
    u = x
    for _ in range(3):
        u = np.linalg.solve(np.eye(n) + 0.1 * x[0] ** 2 * A, u)
    return np.sum(u**2)


def finite_difference_laplacian(x):
    u = np.pad(x, 1)
    for _ in range(4):
        u = u + 0.1 * (np.roll(u, 1) - 2 * u + np.roll(u, -1))
    return np.sum(u * u)


def power_iteration(x):
    A = spd(x)
    v = np.ones(4)
    for _ in range(40):
        v = A @ v
        v = v / np.linalg.norm(v)
    return v @ A @ v


def gram_schmidt(x):
    A = np.vander(x, 3)
    basis = []
    for column in A.T:
        for b in basis:
            column = column - (b @ column) * b
        basis.append(column / np.sqrt(column @ column))
    return basis[2] @ np.arange(4.0)


def cholesky_likelihood(x):
    L = np.linalg.cholesky(spd(x))
    z = np.linalg.solve(L, np.array([1.0, -1.0, 0.5, 2.0]))
    return 0.5 * z @ z + np.sum(np.log(np.diag(L)))


def cholesky_by_hand(x):
    A = spd(x)
    L = np.zeros((4, 4))
    for i in range(4):
        for j in range(i + 1):
            s = A[i, j] - L[i, :j] @ L[j, :j]
            L[i, j] = math.sqrt(s) if i == j else s / L[j, j]
    return np.log(np.diag(L)).sum() + L[3, 1]


def gaussian_elimination(x):
    A, b = spd(x), x.copy()
    n = len(b)
    for k in range(n):
        for i in range(k + 1, n):
            m = A[i, k] / A[k, k]
            A[i, k:] -= m * A[k, k:]
            b[i] -= m * b[k]
    y = np.zeros(n)
    for i in reversed(range(n)):
        y[i] = (b[i] - A[i, i + 1 :] @ y[i + 1 :]) / A[i, i]
    return np.sum(y**2)


def thomas_algorithm(x):
    a, b, c, d = -1.0, 4.0 + x[0], list(x), list(x * x)
    for i in range(1, 4):
        m = a / b
        b = 4.0 + x[i] - m * c[i - 1]
        d[i] = d[i] - m * d[i - 1]
    return d[-1] / b


def conjugate_gradient(x):
    A, b = spd(x), np.array([1.0, 2.0, -1.0, 0.5])
    y = np.zeros(4)
    r = b - A @ y
    p = r
    for _ in range(3):
        alpha = (r @ r) / (p @ A @ p)
        y = y + alpha * p
        new = r - alpha * (A @ p)
        p = new + (new @ new) / (r @ r) * p
        r = new
    return b @ y


def jacobi_sweeps(x):
    A = np.diag(3.0 + x**2) + 0.3
    y = np.zeros(4)
    for _ in range(10):
        for i in range(4):
            y[i] = (x[i] - A[i] @ y + A[i, i] * y[i]) / A[i, i]
    return np.sum(y)


def determinant_and_trace(x):
    A = spd(x)
    return np.linalg.det(A) + np.trace(A @ A) + np.linalg.slogdet(A)[1]


def matrix_exponential_series(x):
    A = x.reshape(2, 2)
    term, total = np.eye(2), np.eye(2)
    for n in range(1, 15):
        term = term @ A / n
        total = total + term
    return np.sum(total**2) * 0.1


def eigenvalues(x):
    w, V = np.linalg.eigh(spd(x))
    return w[0] * w[-1] + np.sum(np.log(w)) + V[0, 3] ** 2


def singular_values(x):
    return np.sum(np.sqrt(np.linalg.svd(np.vander(x, 3), compute_uv=False)))


def least_squares(x):
    A = np.vander(np.linspace(0.0, 1.0, 4), 2)
    coef = np.linalg.lstsq(A, np.exp(x), rcond=None)[0]
    return coef @ coef


def normal_equations(x):
    A = np.stack([np.ones(4), x, x**2], axis=1)
    coef = np.linalg.solve(A.T @ A, A.T @ np.array([1.0, 0.0, 2.0, 1.0]))
    return np.sum(coef**2)


def polynomial_horner(x):
    t, y = 0.8, 0.0
    for c in x:
        y = y * t + c
    return y**2


def polynomial_values(x):
    return np.polyval(x, 0.7) * np.polyval([1.0, -2.0, 0.5], x[0])


def lagrange_interpolation(x):
    nodes, t, total = [0.0, 1.0, 2.0, 3.0], 1.3, 0.0
    for i, a in enumerate(nodes):
        weight = math.prod((t - b) / (a - b) for b in nodes if b != a)
        total += weight * x[i] ** 2
    return total


def linear_interpolation(x):
    grid = np.linspace(0.0, 3.0, 7)
    i = np.searchsorted(grid, x[1]) - 1
    w = (x[1] - grid[i]) / (grid[i + 1] - grid[i])
    table = np.sin(grid * x[0])
    return (1 - w) * table[i] + w * table[i + 1]


def interpolation_of_values(x):
    return np.sum(np.interp([0.3, 1.2, 2.7], [0.0, 1.0, 2.0, 3.0], x) ** 2)


def cumulative_products(x):
    return np.sum(np.cumprod(x)) + np.cumsum(x**2)[2] * np.prod(1 + x)


def survival_curve(x):
    hazard = 1 / (1 + np.exp(-x))
    alive = np.concatenate([[1.0], np.cumprod(1 - hazard)[:-1]])
    return np.sum(alive * hazard * np.arange(1.0, 5.0))


def trapezoid_rule(x):
    t = np.linspace(0.0, 1.0, 21)
    y = np.exp(-x[0] * t) * np.sin(x[1] * t + x[2])
    return np.sum((y[1:] + y[:-1]) / 2 * np.diff(t))


def numpy_trapezoid(x):
    t = np.linspace(0.0, 2.0, 15)
    return np.trapezoid(np.cos(np.outer(t, x)).sum(axis=1), t)


def simpson_rule(x):
    def f(t):
        return math.exp(-x[0] * t * t) * x[1]

    n, h = 10, 0.1
    inner = sum((4 if k % 2 else 2) * f(k * h) for k in range(1, n))
    return (f(0.0) + inner + f(n * h)) * h / 3


def gauss_legendre(x):
    nodes, weights = np.polynomial.legendre.leggauss(6)
    t = 0.5 * (x[1] - x[0]) * nodes + 0.5 * (x[1] + x[0])
    return 0.5 * (x[1] - x[0]) * np.sum(weights * np.exp(-(t**2)))


def adaptive_quadrature(x):
    def f(t):
        return math.sin(x[0] * t) / (1 + x[1] * t * t)

    def area(a, b, depth):
        m = (a + b) / 2
        if depth == 0:
            return (b - a) / 6 * (f(a) + 4 * f(m) + f(b))
        return area(a, m, depth - 1) + area(m, b, depth - 1)

    return area(0.0, 2.0, 3)


def arithmetic_geometric_mean(x):
    a, b = x[0], x[1]
    for _ in range(6):
        a, b = (a + b) / 2, math.sqrt(a * b)
    return a


def continued_fraction(x):
    y = x[0]
    for n in range(8, 0, -1):
        y = x[1] + n / (y + x[2])
    return y


def chebyshev_recurrence(x):
    a, b = 1.0, x[0]
    total = a * x[1] + b * x[2]
    for _ in range(5):
        a, b = b, 2 * x[0] * b - a
        total += b * x[3]
    return total


def aitken_extrapolation(x):
    s = np.cumsum(0.5 ** np.arange(6) * np.sin(x[0] * np.arange(6)))
    return s[5] - (s[5] - s[4]) ** 2 / (s[5] - 2 * s[4] + s[3])


def gradient_descent(x):
    w = np.zeros(2)
    A = np.array([[2.0, 0.5], [0.5, 1.0]])
    for _ in range(15):
        w = w - x[3] * 0.2 * (A @ w - x[:2])
    return w @ w


def fourier_power(x):
    return np.sum(np.abs(np.fft.fft(x)) ** 2) + np.real(np.fft.fft(x)[1])


def fourier_by_hand(x):
    k = np.arange(4)
    W = np.exp(-2j * np.pi * np.outer(k, k) / 4)
    return np.sum(np.abs(W @ x) ** 3)


def fourier_filter(x):
    spectrum = np.fft.rfft(x)
    spectrum[2:] = 0
    return np.sum(np.fft.irfft(spectrum, 4) ** 3)


def convolution(x):
    return np.sum(np.convolve(x, [0.25, 0.5, 0.25], "same") ** 2)


def savings_of_work(x):
    y = np.einsum("i,ij,j->", x, np.outer(x, np.sin(x)), x)
    return y + np.tensordot(x, x, 1) + np.kron(x, x)[5] + np.inner(x, x) * np.vdot(x, x)


PROGRAMS = [(f, P) for f in [
    newton_root, newton_until_converged, secant_method, bisection_then_newton, fixed_point,
    euler_pendulum, runge_kutta, trajectory_in_a_buffer, leapfrog, implicit_heat,
    finite_difference_laplacian, power_iteration, gram_schmidt, cholesky_likelihood,
    cholesky_by_hand, gaussian_elimination, thomas_algorithm, conjugate_gradient, jacobi_sweeps,
    determinant_and_trace, matrix_exponential_series, eigenvalues, singular_values,
    least_squares, normal_equations, polynomial_horner, polynomial_values,
    lagrange_interpolation, linear_interpolation, cumulative_products, survival_curve,
    trapezoid_rule, numpy_trapezoid, simpson_rule, gauss_legendre, adaptive_quadrature,
    arithmetic_geometric_mean, continued_fraction, chebyshev_recurrence, aitken_extrapolation,
    gradient_descent, fourier_power, fourier_by_hand, fourier_filter, convolution,
    savings_of_work, interpolation_of_values,
]]  # fmt: skip
NOT_YET = []
NOT_TWICE = set()

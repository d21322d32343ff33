"""Programs of models: statistics, learning, filters, physics, finance."""

import math
from dataclasses import dataclass

import numpy as np

X = [0.7, -1.3, 2.1, 0.4]
P = [0.6, 1.7, 2.2, 0.9]
INPUTS = np.array([[0.5, -1.0], [1.5, 0.3], [-0.7, 0.8], [0.2, 2.0], [1.0, 1.0]])
LABELS = np.array([1, 0, 1, 2, 0])
SERIES = [0.2, 0.5, 0.1, -0.4, 0.3, 0.8]


def logsumexp(x):
    top = np.max(x)
    return top + np.log(np.sum(np.exp(x - top)))


def softmax_cross_entropy(x):
    logits = INPUTS @ np.stack([x[:2], x[2:], x[::3]], axis=1)
    logits -= logits.max(axis=1, keepdims=True)
    logp = logits - np.log(np.exp(logits).sum(axis=1, keepdims=True))
    return -np.mean(logp[np.arange(5), LABELS])


def logistic_loss(x):
    z = INPUTS @ x[:2] + x[2]
    y = (LABELS == 0).astype(float)
    return np.mean(np.logaddexp(0.0, z) - y * z) + 0.1 * np.sum(x**2)


def perceptron(x):
    hidden = np.tanh(INPUTS @ x.reshape(2, 2) + x[:2])
    out = hidden @ x[2:]
    return np.mean((out - LABELS) ** 2)


def relu_network(x):
    h = np.maximum(0.0, INPUTS @ x.reshape(2, 2))
    return np.sum(np.where(h > 1.0, h**2, 0.5 * h))


def recurrent_network(x):
    W, h = x.reshape(2, 2) * 0.5, np.zeros(2)
    losses = []
    for u in SERIES:
        h = np.tanh(W @ h + np.array([u, 1.0]))
        losses.append((h[0] - u) ** 2)
    return np.mean(losses)


def gated_unit(x):
    def sigmoid(a):
        return 1 / (1 + math.exp(-a))

    h = 0.0
    for u in SERIES:
        z, r = sigmoid(x[0] * u + x[1] * h), sigmoid(x[2] * u)
        h = (1 - z) * h + z * math.tanh(x[3] * u + r * h)
    return h


def attention(x):
    Q, K, V = INPUTS * x[0], INPUTS * x[1], INPUTS * x[2] + x[3]
    S = Q @ K.T / np.sqrt(2)
    A = np.exp(S - S.max(axis=-1, keepdims=True))
    A /= A.sum(axis=-1, keepdims=True)
    return np.sum((A @ V) ** 2)


def layer_norm(x):
    y = (x - x.mean()) / np.sqrt(x.var() + 1e-5)
    return np.sum(y**3 * np.arange(4.0))


def k_means_loss(x):
    centres = x.reshape(2, 2)
    d = ((INPUTS[:, None, :] - centres[None]) ** 2).sum(axis=-1)
    nearest = np.argmin(d, axis=1)
    return d[np.arange(len(d)), nearest].sum()


def nearest_neighbour(x):
    d = np.sqrt(np.sum((INPUTS - x[:2]) ** 2, axis=1))
    return d.min() * d[np.argsort(d)[1]]


def gaussian_process(x):
    t = np.linspace(0.0, 1.0, 5)
    d = (t[:, None] - t[None, :]) ** 2
    K = x[0] ** 2 * np.exp(-d / (2 * x[1] ** 2)) + (x[3] ** 2 + 1e-2) * np.eye(5)
    L = np.linalg.cholesky(K)
    alpha = np.linalg.solve(L.T, np.linalg.solve(L, np.sin(3 * t) * x[2]))
    return np.sum(np.log(np.diag(L))) + 0.5 * np.sum(alpha * np.sin(3 * t))


def ridge_regression(x):
    A = INPUTS * x[:2]
    w = np.linalg.inv(A.T @ A + x[3] ** 2 * np.eye(2)) @ A.T @ LABELS
    return np.sum((A @ w - LABELS) ** 2)


def poisson_likelihood(x):
    rate = np.exp(INPUTS @ x[:2] * 0.3)
    factorials = np.array([math.factorial(k) for k in LABELS.tolist()])
    return np.sum(rate - LABELS * np.log(rate) + np.log(factorials))


def mixture_likelihood(x):
    weights = np.exp([x[0], 0.0]) / np.sum(np.exp([x[0], 0.0]))
    total = 0.0
    for t in SERIES:
        parts = [math.exp(-((t - m) ** 2) / 2) for m in (x[1], x[2])]
        total += math.log(sum(w * p for w, p in zip(weights, parts, strict=True)))
    return total


def normal_likelihood(x):
    mu, sigma = x[0], math.exp(x[1])
    return sum(-(((t - mu) / sigma) ** 2) / 2 - math.log(sigma) for t in SERIES)


def multivariate_normal(x):
    S = np.array([[1.0 + x[0] ** 2, x[1] * 0.3], [x[1] * 0.3, 1.0 + x[2] ** 2]])
    d = INPUTS - x[2:]
    return 0.5 * np.einsum("ni,ij,nj->", d, np.linalg.inv(S), d) + np.log(np.linalg.det(S))


def weighted_statistics(x):
    w = np.abs(x) / np.sum(np.abs(x))
    m = np.average([1.0, 2.0, 4.0, 8.0], weights=w)
    return m + np.sum(w * (np.arange(4) - m) ** 2) - np.sum(w * np.log(w))


def correlation(x):
    y = np.sin(x) + 0.1 * np.arange(4)
    a, b = x - x.mean(), y - y.mean()
    return (a @ b) / np.sqrt((a @ a) * (b @ b))


def autoregression(x):
    previous, loss = 0.0, 0.0
    for t in SERIES:
        loss += (t - x[0] * previous - x[1]) ** 2 / x[2] ** 2 + math.log(x[2] ** 2)
        previous = t
    return loss


def exponential_smoothing(x):
    level, trend, error = x[0], x[1], 0.0
    for t in SERIES:
        error += (t - level - trend) ** 2
        new = x[3] * t + (1 - x[3]) * (level + trend)
        level, trend = new, 0.3 * (new - level) + 0.7 * trend
    return error


def garch(x):
    omega, alpha, beta = np.exp(x[:3] - 2.0)
    variance, total = 0.5, 0.0
    for r in SERIES:
        variance = omega + alpha * r * r + beta * variance
        total += 0.5 * (np.log(variance) + r * r / variance)
    return total


def kalman_scalar(x):
    m, p, total = 0.0, 1.0, 0.0
    q, r = math.exp(x[0]), math.exp(x[1])
    for t in SERIES:
        p = x[3] ** 2 * p + q
        s = p + r
        v = t - x[3] * m
        total += 0.5 * (math.log(s) + v * v / s)
        gain = p / s
        m, p = x[3] * m + gain * v, (1 - gain) * p
    return total


def kalman_matrix(x):
    F = np.array([[1.0, x[0]], [0.0, 1.0]])
    H = np.array([[1.0, 0.0]])
    Q, R = np.eye(2) * x[1] ** 2, np.array([[x[2] ** 2]])
    m, P, total = np.zeros(2), np.eye(2), 0.0
    for t in SERIES:
        m, P = F @ m, F @ P @ F.T + Q
        S = H @ P @ H.T + R
        K = P @ H.T @ np.linalg.inv(S)
        v = np.array([t]) - H @ m
        total += 0.5 * (v @ np.linalg.solve(S, v) + np.log(np.linalg.det(S)))
        m = m + K @ v
        P = (np.eye(2) - K @ H) @ P
    return total


def hidden_markov_forward(x):
    T = np.exp(x.reshape(2, 2))
    T /= T.sum(axis=1, keepdims=True)
    log_alpha = np.log(np.array([0.6, 0.4]))
    for t in SERIES:
        emission = -((t - x[:2]) ** 2)
        scores = log_alpha[:, None] + np.log(T)
        log_alpha = np.logaddexp.reduce(scores, axis=0) + emission
    return np.logaddexp(*log_alpha)


def viterbi_score(x):
    T = x.reshape(2, 2)
    score = np.zeros(2)
    for t in SERIES:
        score = np.max(score[:, None] + T, axis=0) - (t - x[:2]) ** 2
    return np.max(score)


def edit_distance(x):
    a, b = "kitten", "sitting"
    D = np.zeros((len(a) + 1, len(b) + 1))
    D[:, 0] = np.arange(len(a) + 1) * x[0]
    D[0, :] = np.arange(len(b) + 1) * x[1]
    for i, p in enumerate(a, 1):
        for j, q in enumerate(b, 1):
            swap = D[i - 1, j - 1] + (0.0 if p == q else x[2])
            D[i, j] = min(D[i - 1, j] + x[0], D[i, j - 1] + x[1], swap)
    return D[-1, -1] ** 2


def shortest_path(x):
    edges = {(0, 1): x[0], (0, 2): x[1], (1, 3): x[2], (2, 3): x[3] * 0.5}
    best = {0: 0.0}
    for _ in range(3):
        for (a, b), w in edges.items():
            if a in best:
                best[b] = min(best.get(b, math.inf), best[a] + w * w)
    return best[3]


def projectile(x):
    t_end = 2 * x[1] * math.sin(x[0]) / 9.81
    return x[1] * math.cos(x[0]) * t_end - 0.5 * x[3] * t_end**2


def projectile_with_drag(x):
    position, velocity = np.zeros(2), x[:2] * 5.0
    for _ in range(15):
        drag = 0.1 * np.linalg.norm(velocity) * velocity
        velocity = velocity + 0.05 * (np.array([0.0, -9.81]) - drag)
        position = position + 0.05 * velocity
    return position @ position


@dataclass
class Particle:
    place: np.ndarray
    speed: np.ndarray

    def step(self, force, dt):
        self.speed = self.speed + dt * force
        self.place = self.place + dt * self.speed


def two_bodies(x):
    a, b = Particle(x[:2], np.zeros(2)), Particle(x[2:], np.array([0.1, 0.0]))
    for _ in range(5):
        d = b.place - a.place
        force = d / (d @ d + 0.1) ** 1.5
        a.step(force, 0.1)
        b.step(-force, 0.1)
    return np.sum((a.place - b.place) ** 2)


def lennard_jones(x):
    energy = 0.0
    for i in range(4):
        for j in range(i):
            r = np.sqrt((x[i] - x[j]) ** 2 + (i - j) ** 2)
            energy += 4 * (1 / r**12 - 1 / r**6)
    return energy


def spring_chain(x):
    stretch = np.diff(np.concatenate([[0.0], x, [5.0]])) - 1.0
    return 0.5 * np.sum(stretch**2) + 9.81 * 0.01 * np.sum(x)


def rotation(x):
    c, s = np.cos(x[0]), np.sin(x[0])
    R = np.array([[c, -s], [s, c]])
    return np.sum((R @ x[1:3] - np.array([1.0, 2.0])) ** 2)


def quaternion_rotation(x):
    w, a, b, c = x / np.linalg.norm(x)
    R = np.array(
        [
            [1 - 2 * (b * b + c * c), 2 * (a * b - c * w), 2 * (a * c + b * w)],
            [2 * (a * b + c * w), 1 - 2 * (a * a + c * c), 2 * (b * c - a * w)],
            [2 * (a * c - b * w), 2 * (b * c + a * w), 1 - 2 * (a * a + b * b)],
        ]
    )
    return R @ np.array([1.0, 2.0, 3.0]) @ np.array([0.5, -1.0, 0.2])


def robot_arm(x):
    angles = np.cumsum(x)
    tip = np.array([np.cos(angles).sum(), np.sin(angles).sum()])
    return np.hypot(*(tip - np.array([1.0, 1.0])))


def ideal_gas_mixture(x):
    moles, total = x / x.sum(), 0.0
    for n, v in zip(moles, (1.0, 2.0, 3.0, 4.0), strict=True):
        total += n * (math.log(n) + v)
    return total


def black_scholes(x):
    spot, strike, vol, years = x * 2.0
    rate = 0.03
    d1 = (math.log(spot / strike) + (rate + vol**2 / 2) * years) / (vol * math.sqrt(years))
    d2 = d1 - vol * math.sqrt(years)

    def cdf(z):
        return 0.5 * (1 + math.erf(z / math.sqrt(2)))

    return spot * cdf(d1) - strike * math.exp(-rate * years) * cdf(d2)


def binomial_option(x):
    up = math.exp(0.3 * x[0])
    p = (1.01 - 1 / up) / (up - 1 / up)
    prices = x[1] * up ** np.arange(5, -6, -2)
    values = np.maximum(prices - x[3], 0.0)
    while len(values) > 1:
        values = (p * values[:-1] + (1 - p) * values[1:]) / 1.01
    return values[0]


def net_present_value(x):
    return sum(cash / (1 + 0.1 * x[0]) ** year for year, cash in enumerate(x))


def internal_rate(x):
    rate = 0.1
    for _ in range(12):
        value = sum(c / (1 + rate) ** n for n, c in enumerate([-3.0, *x]))
        slope = sum(-n * c / (1 + rate) ** (n + 1) for n, c in enumerate([-3.0, *x]))
        rate = rate - value / slope
    return rate


def mean_variance_portfolio(x):
    w = np.exp(x) / np.exp(x).sum()
    S = np.diag([0.1, 0.2, 0.3, 0.4]) + 0.05
    return w @ np.array([0.05, 0.1, 0.07, 0.12]) - 0.5 * w @ S @ w


def annuity(x):
    balance = x[0] * 100
    for _ in range(10):
        balance *= 1 + 0.01 * x[1]
        balance -= x[2]
    return balance


def epidemic(x):
    s, i, r = 0.9, 0.1, 0.0
    history = []
    for _ in range(10):
        new, healed = x[0] * s * i, 0.1 * x[1] * i
        s, i, r = s - new, i + new - healed, r + healed
        history.append(i)
    return max(history) + sum(history) * r


def huber_loss(x):
    r = x - np.array([0.5, 0.5, 0.5, 0.5])
    return np.sum(np.where(np.abs(r) < 1.0, 0.5 * r**2, np.abs(r) - 0.5))


def soft_threshold(x):
    return np.sum(np.sign(x) * np.maximum(np.abs(x) - 0.5, 0.0) * np.arange(1.0, 5.0))


PROGRAMS = [(f, P) for f in [
    logsumexp, softmax_cross_entropy, logistic_loss, perceptron, relu_network,
    recurrent_network, gated_unit, attention, layer_norm, k_means_loss, nearest_neighbour,
    gaussian_process, ridge_regression, poisson_likelihood, normal_likelihood,
    multivariate_normal, weighted_statistics, correlation, autoregression,
    exponential_smoothing, garch, kalman_scalar, kalman_matrix, hidden_markov_forward,
    viterbi_score, edit_distance, shortest_path, projectile, projectile_with_drag, two_bodies,
    lennard_jones, spring_chain, rotation, quaternion_rotation, robot_arm, ideal_gas_mixture,
    black_scholes, binomial_option, net_present_value, internal_rate, mean_variance_portfolio,
    annuity, epidemic, huber_loss, soft_threshold, mixture_likelihood,
]]  # fmt: skip
NOT_YET = []
NOT_TWICE = set()

"""Each eval on a small input, as GradBench asks for it, against values found in other ways."""

import itertools
import math

import numpy as np
import pytest
from scipy import sparse, stats
from scipy.spatial.transform import Rotation

from benchmarks.gradbench import ba, descent, ht, table, workloads
from benchmarks.gradbench.protocol import EVALS, evaluated, tasks_of
from tests.helpers import differences


def output_of(module, function, given):
    """What the tool answers."""
    return evaluated(tasks_of(module)[function], given)["output"]


def close(found, expected, rtol=1e-6):
    np.testing.assert_allclose(np.array(found), expected, rtol=rtol, atol=rtol)


@pytest.fixture
def rng():
    return np.random.default_rng(5)


def test_all_twelve_are_there():
    assert len(EVALS) == 12
    assert all(tasks_of(name) for name in EVALS)


@pytest.mark.parametrize("module", ["hello", "llsq"])
def test_the_table_on_a_workload(rng, module):
    session = table.Session()
    given = {"hello": 3.0, "llsq": workloads.llsq(rng, 5, 3)}[module]
    found = table.times(session, module, given, 0.0)
    session.close()
    assert found.keys() == tasks_of(module).keys()
    assert all(ms > 0 for runs in found.values() for ms in runs)


def test_each_eval_has_a_workload():
    assert sorted(name for name, _, _ in workloads.WORKLOADS) == sorted(EVALS)


# -- vectors -------------------------------------------------------------------------------------


@pytest.mark.parametrize("x", [[0.3], [0.1, -2.0, 1.0], [700.0, 710.0, 710.0]])
def test_lse(x):
    largest = max(x)
    parts = [math.exp(e - largest) for e in x]
    close(output_of("lse", "primal", {"x": x}), largest + math.log(sum(parts)))
    close(output_of("lse", "gradient", {"x": x}), np.array(parts) / sum(parts))


@pytest.mark.parametrize("n, m", [(2, 3), (5, 4), (9, 6)])
def test_llsq(rng, n, m):
    def expected(x):
        t = [-1 + i * 2 / (n - 1) for i in range(n)]
        return sum((np.sign(a) - np.polyval(x[::-1], a)) ** 2 for a in t) / 2

    x = rng.normal(size=m)
    given = {"x": x.tolist(), "n": n}
    close(output_of("llsq", "primal", given), expected(x))
    close(output_of("llsq", "gradient", given), differences(expected, x))


@pytest.mark.parametrize("n, s", [(1, 1), (4, 1), (4, 5), (3, 20)])
def test_ode(rng, n, s):
    """Runge and Kutta's method is exact for polynomials of degree four."""
    x = rng.uniform(0.5, 1.5, n)
    y = [np.prod(x[: i + 1]) * 2.0 ** (i + 1) / math.factorial(i + 1) for i in range(n)]
    given = {"x": x.tolist(), "s": s}
    close(output_of("ode", "primal", given), y)
    close(output_of("ode", "gradient", given), y[-1] / x)


def test_ode_of_many_elements_by_differences(rng):
    x = rng.uniform(0.5, 1.5, 9)
    given = {"x": x.tolist(), "s": 3}
    last = differences(lambda x: output_of("ode", "primal", given | {"x": x})[-1], x)
    close(output_of("ode", "gradient", given), last)


@pytest.mark.parametrize("n", [1, 2, 3, 5, 9])
def test_det(rng, n):
    A = rng.normal(size=(n, n))
    given = {"A": A.ravel().tolist(), "ell": n}
    close(output_of("det", "primal", given), np.linalg.det(A))
    close(output_of("det", "gradient", given), (np.linalg.det(A) * np.linalg.inv(A).T).ravel())


@pytest.mark.parametrize("k, n, d", [(1, 3, 2), (3, 20, 2), (7, 50, 4)])
def test_kmeans(rng, k, n, d):
    """Newton's step leads from a centroid to the mean of its points."""
    points = rng.random((n, d))
    centroids = points[-k:]
    squares = ((points[:, None] - centroids) ** 2).sum(axis=2)
    nearest = squares.argmin(axis=1)
    given = {"points": points.tolist(), "centroids": centroids.tolist()}
    close(output_of("kmeans", "cost", given), squares.min(axis=1).sum())
    means = [points[nearest == j].mean(axis=0) for j in range(k)]
    close(output_of("kmeans", "dir", given), centroids - means)


# -- models --------------------------------------------------------------------------------------


@pytest.mark.parametrize("d, k, n, m, gamma", [(2, 1, 3, 0, 1.0), (3, 2, 5, 2, 0.7)])
def test_gmm(rng, d, k, n, m, gamma):
    sizes = {"alpha": (k,), "mu": (k, d), "q": (k, d), "l": (k, d * (d - 1) // 2)}
    free = {name: rng.normal(size=size) for name, size in sizes.items()}
    x = rng.normal(size=(n, d))

    def expected(alpha, mu, q, l):  # noqa: E741
        weights = np.exp(alpha) / np.exp(alpha).sum()
        density, prior = np.zeros(n), 0.0
        for i in range(k):
            Q = np.diag(np.exp(q[i]))
            Q[np.triu_indices(d, 1)[::-1]] = l[i]
            precision = Q.T @ Q
            normal = stats.multivariate_normal(mu[i], np.linalg.inv(precision))
            density += weights[i] * normal.pdf(x)
            prior += stats.wishart(d + m + 1, np.eye(d) / gamma**2).logpdf(precision)
        return np.log(density).sum() + prior

    given = {name: a.tolist() for name, a in free.items()}
    given |= {"d": d, "k": k, "n": n, "x": x.tolist(), "m": m, "gamma": gamma}
    close(output_of("gmm", "objective", given), expected(**free))
    found = output_of("gmm", "jacobian", given)
    for name, a in free.items():
        close(found[name], differences(lambda a, name=name: expected(**free | {name: a}), a), 1e-5)


def lstm_by_units(main, extra, state, sequence):
    """The specification's loss, unit by unit."""

    def sigmoid(x):
        return 1 / (1 + math.exp(-x))

    b = extra.shape[1]
    state, total = state.copy(), 0.0
    for now, after in itertools.pairwise(sequence):
        x = now * extra[0]
        for w, bias, hidden, cell in zip(
            main[::2], main[1::2], state[::2], state[1::2], strict=True
        ):
            for i in range(b):
                forget = sigmoid(x[i] * w[i] + bias[i])
                into = sigmoid(hidden[i] * w[b + i] + bias[b + i])
                out = sigmoid(x[i] * w[2 * b + i] + bias[2 * b + i])
                change = math.tanh(hidden[i] * w[3 * b + i] + bias[3 * b + i])
                cell[i] = cell[i] * forget + into * change
                hidden[i] = out * math.tanh(cell[i])
            x = hidden
        y = x * extra[1] + extra[2]
        total += (after * (y - math.log(np.exp(y).sum() + 2))).sum()
    return -total / ((len(sequence) - 1) * b)


@pytest.mark.parametrize("layers, steps", [(1, 3), (2, 36)])
def test_lstm(rng, layers, steps):
    b = 2
    main, state = rng.random((2 * layers, 4 * b)), rng.random((2 * layers, b))
    extra, sequence = rng.random((3, b)), rng.integers(0, 2, (steps, b)) * 1.0
    given = {"main_params": main, "extra_params": extra, "state": state, "sequence": sequence}
    given = {name: a.tolist() for name, a in given.items()}
    close(output_of("lstm", "objective", given), lstm_by_units(main, extra, state, sequence))
    of_main = differences(lambda a: lstm_by_units(a, extra, state, sequence), main)
    of_extra = differences(lambda a: lstm_by_units(main, a, state, sequence), extra)
    found = output_of("lstm", "jacobian", given)
    close(found, np.concatenate([of_main.ravel(), of_extra.ravel()]), 1e-5)


# -- ba ------------------------------------------------------------------------------------------


def reprojected(camera, point, w, feat):
    x, y, z = Rotation.from_rotvec(camera[:3]).apply(point - camera[3:6])
    seen = np.array([x, y]) / z
    squared = seen @ seen
    seen = seen * (1 + camera[9] * squared + camera[10] * squared**2)
    return w * (seen * camera[6] + camera[7:9] - feat)


def ba_errors(x, n, m, obs, feats):
    """All errors, of the parameters of all cameras, points and weights in one vector."""
    cameras, points = x[: 11 * n].reshape(n, 11), x[11 * n : 11 * n + 3 * m].reshape(m, 3)
    w = x[11 * n + 3 * m :]
    pairs = [reprojected(cameras[c], points[p], w[i], feats[i]) for i, (c, p) in enumerate(obs.T)]
    return np.concatenate([*pairs, 1 - w**2])


@pytest.mark.parametrize("p", [1, 7, 60])
def test_ba_of_different_cameras(rng, p):
    n, m = 2, 3
    cameras, points = rng.normal(size=(n, 11)), rng.normal(size=(m, 3)) + 4
    cameras[1, :3] = 0.0
    w, feats = rng.normal(size=p), rng.normal(size=(p, 2))
    obs = np.stack([np.arange(p) % n, rng.integers(0, m, p)]).astype(np.int32)
    x = np.concatenate([cameras.ravel(), points.ravel(), w])
    expected = differences(lambda x: ba_errors(x, n, m, obs, feats), x)
    rows, cols, vals = ba.jacobian(cameras, points, w, feats, obs)
    found = sparse.csr_array((vals, cols, rows), shape=expected.shape)
    close(found.toarray(), expected, 1e-5)
    of_observations, weights = ba.objective(cameras, points, w, feats, obs)
    close(np.concatenate([of_observations.ravel(), weights]), ba_errors(x, n, m, obs, feats))


def test_ba_as_it_is_asked_for(rng):
    n, m, p = 2, 3, 5
    camera, point, feat = rng.normal(size=11), rng.normal(size=3) + 4, rng.normal(size=2)
    given = {"n": n, "m": m, "p": p, "w": 0.3}
    given |= {"cam": camera.tolist(), "x": point.tolist(), "feat": feat.tolist()}
    errors = output_of("ba", "objective", given)
    close(errors["reproj_error"]["elements"], reprojected(camera, point, 0.3, feat))
    assert errors["reproj_error"]["repeated"] == errors["w_err"]["repeated"] == p
    close(errors["w_err"]["element"], 1 - 0.3**2)
    found = output_of("ba", "jacobian", given)
    assert found["rows"] == [*range(0, 150, 15), *range(150, 156), 155]
    assert found["cols"] == [*range(11), 22, 23, 24, 31] * 2 + [35]
    close(found["vals"][-1], -0.6)
    assert len(found["vals"]) == 31


# -- ht ------------------------------------------------------------------------------------------


def hand_errors(theta, us, data):
    """The specification's distances, bone by bone."""
    model = data["model"]
    angles = np.zeros((len(model["parents"]), 2))
    for finger in range(5):
        bone, own = 2 + 4 * finger, theta[6 + 4 * finger : 10 + 4 * finger]
        angles[bone], angles[bone + 1, 0], angles[bone + 2, 0] = own[:2], own[2], own[3]
    rest, weights = np.array(model["base_positions"]), np.array(model["weights"])
    absolutes, positions = [], np.zeros((len(rest), 3))
    for i, parent in enumerate(model["parents"]):
        bent = np.eye(4)
        x, z = angles[i]
        bent[:3, :3] = (
            Rotation.from_rotvec([0, 0, z]) * Rotation.from_rotvec([x, 0, 0])
        ).as_matrix()
        own = np.array(model["base_relatives"][i]) @ bent
        absolutes.append(own if parent == -1 else absolutes[parent] @ own)
        transform = absolutes[i] @ np.array(model["inverse_base_absolutes"][i])
        positions += weights[:, i : i + 1] * (rest @ transform.T)[:, :3]
    if model["is_mirrored"]:
        positions[:, 0] *= -1
    positions = Rotation.from_rotvec(theta[:3]).apply(positions) + theta[3:6]
    found = positions[data["correspondences"]]
    if len(us):
        corners = positions[np.array(model["triangles"])[data["correspondences"]]]
        parts = np.column_stack([us, 1 - us.sum(axis=1)])
        found = (parts[:, :, None] * corners).sum(axis=1)
    return (np.array(data["points"]) - found).ravel()


@pytest.mark.parametrize(
    "is_complicated, is_mirrored, turn", [(False, True, 0.5), (True, False, 0.5), (False, False, 0)]
)
def test_ht(rng, is_complicated, is_mirrored, turn):
    model = workloads.hand(rng, 5, 2) | {"is_mirrored": is_mirrored}
    theta = rng.normal(size=26)
    theta[:3] *= turn
    data = {
        "model": model,
        "correspondences": [1, 0, 1],
        "points": rng.normal(size=(3, 3)).tolist(),
    }
    us = rng.random((3, 2)) if is_complicated else np.zeros((0, 2))
    given = {"theta": theta.tolist(), "data": data, "us": us.tolist()}
    close(output_of("ht", "objective", given), hand_errors(theta, us, data))
    found = np.array(output_of("ht", "jacobian", given))
    expected = differences(lambda theta: hand_errors(theta, us, data), theta)
    if not turn:  # the rotation by no angle is a constant, by the specification
        expected[:, :3] = 0.0
    if is_complicated:
        for k in range(2):
            step = 1e-6 * np.eye(2)[k]
            up, down = (hand_errors(theta, us + s, data) for s in (step, -step))
            close(found[:, k], (up - down) / 2e-6, 1e-5)
    close(found[:, -26:], expected, 1e-5)


def test_bones_are_put_in_the_order_of_their_depth(rng):
    order, levels = ht.by_depth([-1, 0, 1, 0, -1])
    assert order.tolist() == [0, 4, 1, 3, 2]
    assert [(s.start, s.stop, p.tolist()) for s, p in levels] == [(2, 4, [0, 0]), (4, 5, [0])]


# -- derivatives in derivatives -------------------------------------------------------------------


def missed_by(w):
    """The flight with the force written by hand."""
    at, speed = np.array([0.0, 8.0]), np.array([0.75, 0.0])
    charges = np.array([[10.0, 10.0 - w], [10.0, 0.0]])
    while True:
        away = at - charges
        force = (away / np.linalg.norm(away, axis=1)[:, None] ** 3).sum(axis=0)
        at = at + 0.1 * speed
        if at[1] <= 0:
            return (at[0] - at[1] / speed[1] * speed[0]) ** 2
        speed = speed + 0.1 * force


@pytest.mark.parametrize("modes", ["rr", "ff"])
def test_particle(modes):
    start = 0.2069
    expected = descent.argmin(
        lambda w: missed_by(w[0]),
        lambda w: [(missed_by(w[0] + 1e-6) - missed_by(w[0] - 1e-6)) / 2e-6],
        [start],
    )
    close(output_of("particle", modes, {"w": start}), expected[0], 1e-5)


@pytest.mark.parametrize("modes", ["fr", "rf"])
def test_saddle(modes):
    start = [0.9, -0.6]
    low = descent.argmin(lambda x: x[0] ** 2 + x[1] ** 2, lambda x: [2 * a for a in x], start)
    found = output_of("saddle", modes, {"start": start})
    assert low != start
    close(found, low + low, 1e-9)

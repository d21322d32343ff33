"""Series and DataFrames of pandas as arguments: the gradient has their labels and dtypes."""

from __future__ import annotations

import numpy as np
import pytest

import autodiff
from autodiff import ArgumentError, MutationError, SeedError, gradient, pullback, pushforward

pd = pytest.importorskip("pandas")

V = np.array([0.3, 1.2, 0.7, 2.1, 1.6])
LABELS = pd.Index(list("abcde"), name="key")
PAIRS = pd.MultiIndex.from_product([["x", "y"], [1, 2, 3]], names=["u", "v"])[:5]
DAYS = pd.date_range("2020-01-01", periods=5)
S = pd.Series(V, index=LABELS, name="s")
FRAME = pd.DataFrame({"a": V, "b": V**2}, index=LABELS)
MIXED = pd.DataFrame(
    {"a": V, "n": range(5), "t": list("ppqqq"), "c": pd.Categorical(list("xxyyy")), "w": DAYS}
)


def changed(x, i, step):
    """Return a Series or a DataFrame with a step in its i-th float."""
    x = x.copy()
    if isinstance(x, pd.Series):
        x.iloc[i] += step
    else:
        x.iloc[i % len(x), i // len(x)] += step
    return x


def by_differences(f, x, n):
    h = 1e-2 if "32" in str(np.ravel(x.dtypes)[0]) else 1e-6
    slopes = [(f(changed(x, i, h)) - f(changed(x, i, -h))) / (2 * h) for i in range(n)]
    return np.array(slopes, float), 2e-2 if h == 1e-2 else 1e-5


def squares(s):
    return (s**2).sum()


def added_up(values):
    return sum(v**2 for v in values)


SERIES = {
    "float64": (S, squares),
    "float32": (S.astype(np.float32), squares),
    "nullable": (S.astype("Float64"), squares),
    "nullable float32": (S.astype("Float32"), squares),
    "two levels": (pd.Series(V, index=PAIRS),
                   lambda s: s.loc["x"].sum() ** 2 + s.xs(2, level=1).sum()),
    "unstacked": (pd.Series(V, index=PAIRS), lambda s: (s.unstack().fillna(0.0) ** 2).sum().sum()),
    "resampled": (pd.Series(V, index=DAYS), lambda s: (s.resample("2D").sum() ** 2).sum()),
    "numpy": (S, lambda s: np.sum(np.sin(s) * s) + s.dot(s)),
    "array": (S, lambda s: (np.asarray(s) ** 3).sum() + (s.values * V).sum()),
    "loop": (S, lambda s: added_up(s) + added_up(v for _, v in s.items())),
    "dict": (S, lambda s: added_up(s.to_dict().values()) + added_up(s.to_list())),
    "where": (S, lambda s: (s.where(s > 1, s * 3) ** 2).sum() + (s.mask(s > 1, 0.0) ** 2).sum()),
    "aligned": (S, lambda s: (s * pd.Series(V, index=LABELS[::-1])).sum()),
    "filled": (S, lambda s: (s.shift(1).fillna(s.mean()) ** 2).sum()),
    # pandas tries each number first, and then the Series: Python's floats have no mean.
    "transformed": (S, lambda s: s.transform(lambda t: t - t.mean()).pow(2).sum()),
}  # fmt: skip
FRAMES = {
    "columns": (FRAME, lambda d: (d["a"] * d.b).sum()),
    "places": (FRAME, lambda d: d.loc["a", "b"] * d.iloc[1, 0] + d.at["b", "a"] * d.iat[2, 1]),
    "rows": (FRAME, lambda d: d.apply(lambda r: r["a"] * r["b"], axis=1).sum()),
    "tuples": (FRAME, lambda d: sum(r.a * r.b for r in d.itertuples())),
    "product": (FRAME, lambda d: (d.T @ d).to_numpy().sum()),
    "text": (FRAME, lambda d: d.eval("a * b").sum() + (d.query("a > 1")["b"] ** 2).sum()),
    "same names": (pd.DataFrame(np.outer(V, [1.0, 2.0]), columns=["a", "a"]),
                   lambda d: (d.iloc[:, 0] * d.iloc[:, 1]).sum()),
}  # fmt: skip


@pytest.mark.parametrize("case", [*SERIES, *FRAMES])
def test_the_gradient_has_the_labels_and_the_dtype(case):
    x, f = (SERIES | FRAMES)[case]
    before = x.copy()
    expected, rtol = by_differences(f, x, x.size)
    value, found = autodiff.value_and_gradient(f, x)
    assert value == pytest.approx(f(x), rel=1e-6)
    assert type(found) is type(x)
    assert np.all(found.dtypes == x.dtypes)
    numbers = found.to_numpy(float)
    np.testing.assert_allclose(numbers.ravel("F"), expected, rtol=rtol, atol=1e-6)
    pushed = pushforward(f, x)[1](x * 0 + 1)
    assert float(pushed) == pytest.approx(expected.sum(), rel=rtol, abs=1e-5)
    for labels, given in zip(found.axes, x.axes, strict=True):
        pd.testing.assert_index_equal(labels, given)
    assert x.equals(before)


@pytest.mark.parametrize(
    "f",
    [
        lambda d: (d["a"] * d["n"]).sum(),
        lambda d: (d.groupby("t")["a"].mean() ** 2).sum(),
        lambda d: (d.groupby("c", observed=True)["a"].sum() ** 2).sum(),
        lambda d: (d.set_index("w")["a"] ** 2).loc["2020-01-02":].sum(),
        lambda d: (d.loc[d["t"] == "q", "a"] ** 2).sum(),
        lambda d: d.iloc[0]["a"] ** 2,
    ],
)
def test_columns_without_floats_are_constant(f):
    expected, _ = by_differences(f, MIXED, 5)
    found = gradient(f, MIXED)
    np.testing.assert_allclose(found["a"], expected, rtol=1e-5, atol=1e-6)
    assert found.drop(columns="a").isna().all(axis=None)
    assert list(found.columns) == list(MIXED.columns)
    dots = MIXED.assign(a=1.0)
    assert pushforward(f, MIXED)[1](dots) == pytest.approx(expected.sum(), rel=1e-5)


def test_many_calls_and_compiled_ones():
    compiled = autodiff.compile(squares)
    for _ in range(220):
        np.testing.assert_allclose(gradient(squares, S), 2 * V)
        np.testing.assert_allclose(gradient(compiled, S), 2 * V)


@pytest.mark.parametrize("mode", ["reverse", "forward"])
@pytest.mark.parametrize("x", [S, FRAME["a"], FRAME, MIXED], ids=["s", "column", "frame", "mixed"])
def test_a_write_that_another_name_would_see(x, mode):
    def f(first, second):
        if first.ndim == 1:
            first["a"] = 5.0
        else:
            first["a"] = first["a"] * 5.0
        return (first["a"] * second["a"]).sum()

    run = gradient if mode == "reverse" else pushforward
    with pytest.raises(MutationError, match="reaches in another way"):
        run(f, x, x)
    assert run(f, x, x.copy()) is not None


@pytest.mark.parametrize(
    "x",
    [
        pd.Series([1, 2]), pd.Series(["a"]), pd.Series([1.0, None], dtype="Float64"),
        pd.DataFrame({"a": [1, 2]}), pd.Series(V + 1j), type("Own", (pd.Series,), {})(V),
    ],
)  # fmt: skip
def test_what_holds_no_floats_names_the_way_out(x):
    with pytest.raises(ArgumentError, match=r"pd\.Series\(s\)\.astype\(float\)"):
        gradient(squares, x)


@pytest.mark.parametrize("ask", [autodiff.hessian, autodiff.jacobian])
def test_a_matrix_of_derivatives_has_no_place_in_a_series(ask):
    with pytest.raises(ArgumentError, match=r"s\.to_numpy\(\)"):
        ask(squares if ask is autodiff.hessian else (lambda s: s**2), S)
    found = ask(lambda v: (pd.Series(v, index=LABELS) ** 2).to_numpy().sum(), V)
    np.testing.assert_allclose(found, 2 * (np.eye(5) if ask is autodiff.hessian else V))


def test_seeds_have_the_same_labels():
    _, back = pullback(lambda s: s**2, S)
    np.testing.assert_allclose(back(pd.Series([1, 0, 0, 0, 2], index=LABELS)), [0.6, 0, 0, 0, 6.4])
    with pytest.raises(SeedError, match="Series whose labels are not those"):
        back(S[::-1])
    _, push = pushforward(lambda d: (d**2).sum(), FRAME)
    with pytest.raises(SeedError, match="DataFrame whose labels are not those"):
        push(FRAME[["b", "a"]])

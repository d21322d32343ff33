"""Labelled tables and arrays: pandas, xarray."""

import numpy as np

from tests.packages.table import V, call, imported

pd = imported("pandas")
xr = imported("xarray")


@call(pd, V)
def series_mean(x):
    return pd.Series(x).mean()


@call(pd, V)
def series_arithmetic(x):
    s = pd.Series(x, index=list("abcde"))
    return (s * 2 + s**2 / 3).sum()


@call(pd, V)
def series_function_of_numpy(x):
    return np.exp(-pd.Series(x)).sum()


@call(pd, V)
def series_by_label(x):
    s = pd.Series(x, index=list("abcde"))
    return s["b"] * s.loc["d"] + s.iloc[0]


@call(pd, V)
def series_standard_deviation(x):
    return pd.Series(x).std() + pd.Series(x).var()


@call(pd, V)
def series_cumulative(x):
    return (pd.Series(x).cumsum() * V).sum()


@call(pd, V)
def series_rolling_mean(x):
    return (pd.Series(x).rolling(2).mean().dropna() ** 2).sum()


@call(pd, V)
def series_shift(x):
    s = pd.Series(x)
    return (s * s.shift(1)).sum()


@call(pd, V)
def series_pct_change(x):
    return (pd.Series(x).pct_change().dropna() ** 2).sum()


@call(pd, V)
def series_mask(x):
    s = pd.Series(x)
    return (s[s > 1.0] ** 2).sum()


@call(pd, V)
def series_alignment(x):
    a = pd.Series(x, index=list("abcde"))
    b = pd.Series(V, index=list("edcba"))
    return (a * b * b.index.get_indexer(list("abcde"))).sum()


@call(pd, V)
def series_values(x):
    return np.dot(pd.Series(x).values, V) + pd.Series(x).to_numpy()[1] ** 2


@call(pd, V)
def series_apply(x):
    return pd.Series(x).apply(lambda v: v**2).sum()


@call(pd, V)
def frame_columns(x):
    df = pd.DataFrame({"a": x, "b": x**2})
    return (df["a"] * df["b"]).sum()


@call(pd, V)
def frame_new_column(x):
    df = pd.DataFrame({"a": V})
    df["b"] = x * df["a"]
    return (df["b"] ** 2).sum()


@call(pd, V)
def frame_mean(x):
    df = pd.DataFrame({"a": x, "b": 2 * x})
    return (df.mean() * np.array([1.0, 3.0])).sum()


@call(pd, V)
def frame_from_array(x):
    df = pd.DataFrame(np.outer(x, V), columns=list("abcde"))
    return (df["c"] * df["a"]).sum()


@call(pd, V)
def frame_groupby_sum(x):
    df = pd.DataFrame({"key": list("aabba"), "v": x})
    return (df.groupby("key")["v"].sum() ** 2).sum()


@call(pd, V)
def frame_groupby_mean(x):
    df = pd.DataFrame({"key": list("aabba"), "v": x})
    return (df.groupby("key")["v"].mean() ** 2).sum()


@call(pd, 1.5)
def frame_of_data_by_parameter(a):
    df = pd.DataFrame({"t": V, "y": 2 * V + 1})
    return ((df["y"] - a * df["t"]) ** 2).sum()


@call(pd, 1.5)
def frame_of_data_exponential(a):
    df = pd.DataFrame({"t": V})
    return np.exp(-a * df["t"]).mean()


@call(pd, V)
def frame_dot(x):
    df = pd.DataFrame({"a": V, "b": V**2})
    return (df.T.dot(x) ** 2).sum()


@call(pd, V)
def series_correlation(x):
    s, other = pd.Series(x), pd.Series(V[::-1] ** 2)
    return s.corr(other) + s.cov(other) + s.autocorr(1)


@call(pd, V)
def frame_correlation(x):
    df = pd.DataFrame({"a": x, "b": x**2, "c": V[::-1]})
    return (df.corr() * df.cov()).to_numpy()[:, 1:].sum()


@call(pd, V)
def frame_covariance_with_missing(x):
    df = pd.DataFrame({"a": x, "b": pd.Series(x**2).shift(1)})
    return df.cov(min_periods=2).loc["a", "b"] + df.corr().loc["a", "b"]


@call(pd, V)
def series_exponential_mean(x):
    s = pd.Series(x).where(V != 0.7)
    return sum(
        (s.ewm(**how).mean() * V).sum()
        for how in ({"alpha": 0.3}, {"span": 3, "adjust": False}, {"com": 1.0, "ignore_na": True})
    )


@call(pd, V)
def series_moments(x):
    return pd.Series(x).skew() + pd.Series(x).kurt() + pd.DataFrame({"a": x}).skew().iloc[0]


@call(pd, V)
def series_windows(x):
    s = pd.Series(x)
    return (
        s.rolling(4).skew().sum()
        + s.rolling(3).quantile(0.4).sum()
        + (s.rolling(2).apply(lambda w: (w**2).sum()) * V).sum()
        + s.expanding().apply(lambda w: w[0] * w[-1], raw=True).sum()
    )


@call(pd, V)
def series_cumulative_extremes(x):
    return (pd.Series(x).cummax() * V).sum() + (pd.Series(x).cummin() * V).sum()


@call(pd, V)
def frame_groupby_cumulative(x):
    df = pd.DataFrame({"key": list("abbab"), "v": x})
    return (df.groupby("key")["v"].cumsum() * V).sum() + df.groupby("key")["v"].cumprod().sum()


@call(xr, V)
def array_mean(x):
    return xr.DataArray(x, dims="t").mean().item()


@call(xr, V)
def array_arithmetic(x):
    a = xr.DataArray(x, dims="t", coords={"t": np.arange(5)})
    return float_of((a * 2 + a**2).sum())


@call(xr, V)
def array_by_label(x):
    a = xr.DataArray(x, dims="t", coords={"t": list("abcde")})
    return float_of(a.sel(t="b") * a.isel(t=3))


@call(xr, V)
def array_broadcast(x):
    a = xr.DataArray(x, dims="t")
    b = xr.DataArray(V, dims="s")
    return float_of((a * b).sum("t").max())


@call(xr, V)
def array_function_of_numpy(x):
    return float_of(np.sin(xr.DataArray(x, dims="t")).sum())


@call(xr, V)
def dataset(x):
    data = xr.Dataset({"a": ("t", x), "b": ("t", V)})
    return float_of((data["a"] * data.b).sum())


@call(xr, 1.5)
def array_of_data_by_parameter(p):
    a = xr.DataArray(V, dims="t")
    return float_of(((a - p) ** 2).mean())


def float_of(a):
    """The value of a DataArray without axes."""
    return a.values


@call(pd, V)
def column_of_a_text(x):
    return pd.DataFrame({"a": x, "b": V}).eval("c = a * b**2")["c"].sum()


@call(pd, 2.0)
def variable_in_a_text(x):
    return pd.DataFrame({"a": V}).eval("a * @x ** 2").sum()


@call(pd, 1.1)
def variable_in_a_query(x):
    frame = pd.DataFrame({"a": V})
    return (frame.query("a < @x")["a"] * x).sum()


@call(pd, 2.0)
def text_of_variables(x):
    return pd.eval("x * x")


@call(pd, V)
def arrays_in_cells(x):
    frame = pd.DataFrame({"all": [x, x**2], "sum": [x.sum(), 1.0]})
    return frame["all"].iloc[1].sum() * frame["sum"].iloc[0]

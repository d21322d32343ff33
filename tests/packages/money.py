"""Finance and colours: mibian, empyrical, ta, coloraide, colorspacious, bottleneck."""

import numpy as np

from tests.packages.table import V, call, imported

mibian = imported("mibian")
curves = imported("nelson_siegel_svensson")
empyrical = imported("empyrical")
trend = imported("ta.trend")
momentum = imported("ta.momentum")
coloraide = imported("coloraide")
colorspacious = imported("colorspacious")
bottleneck = imported("bottleneck")

RETURNS = np.array([0.01, -0.02, 0.015, 0.003, -0.004, 0.02, -0.011])
PRICES = np.array([10.0, 10.5, 10.2, 11.0, 11.4, 11.1, 11.9, 12.3, 12.0, 12.5])
COLOUR = np.array([0.2, 0.5, 0.7])


@call(mibian, 1.45)
def price_of_an_option(s):
    return mibian.BS([s, 1.40, 2.0, 60], volatility=20).callPrice


@call(mibian, 52.0)
def delta_of_an_option(s):
    return mibian.Me([s, 50.0, 2.0, 1.0, 60], volatility=20).callDelta


@call(curves, 2.0)
def rates(tau):
    return curves.NelsonSiegelCurve(0.04, -0.02, 0.01, tau)(np.array([1.0, 5.0, 10.0])).sum()


@call(empyrical, RETURNS)
def sharpe(r):
    return empyrical.sharpe_ratio(r)


@call(empyrical, RETURNS)
def drawdown(r):
    return empyrical.max_drawdown(r)


@call(empyrical, RETURNS)
def beta(r):
    return empyrical.beta(r, RETURNS[::-1] * 2)


@call(trend, PRICES)
def moving_average(p):
    import pandas as pd

    return trend.ema_indicator(pd.Series(p), window=3).iloc[-1]


@call(momentum, PRICES)
def relative_strength(p):
    import pandas as pd

    return momentum.rsi(pd.Series(p), window=3).iloc[-1]


@call(coloraide, 0.4)
def lightness(red):
    return coloraide.Color("srgb", [red, 0.5, 0.2]).convert("lab")["l"]


@call(coloraide, 0.4)
def difference_of_colours(red):
    other = coloraide.Color("srgb", [0.1, 0.2, 0.8])
    return coloraide.Color("srgb", [red, 0.5, 0.2]).delta_e(other, method="2000")


@call(colorspacious, COLOUR)
def appearance(c):
    return colorspacious.cspace_convert(c, "sRGB1", "CAM02-UCS").sum()


@call(bottleneck, V)
def deviation(x):
    return bottleneck.nanstd(x, ddof=1) * bottleneck.nanmedian(x)


@call(bottleneck, V)
def windows(x):
    return (bottleneck.move_std(x, 3, min_count=2)[1:] ** 2).sum()


@call(bottleneck, V)
def filled_forward(x):
    return (bottleneck.push(x * x) * V).sum()

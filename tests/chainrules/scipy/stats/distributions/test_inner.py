"""The ufuncs behind scipy.stats."""

import pytest
from scipy import special, stats

from chainrules.scipy.stats.distributions.inner import ufuncs
from chainrules.scipy.stats.distributions.limits import log1p_over, log_i0
from chainrules_core.testing import check_rule, const

CASES = [
    ("_log1mexp", -0.7),
    ("_scaled_exp1", 0.7),
    ("_beta_pdf", 0.3, 1.2, 2.7),
    ("_beta_ppf", 0.3, 1.2, 2.7),
    ("_cauchy_ppf", 0.3, 0.2, 1.7),
    ("_cauchy_isf", 0.3, 0.2, 1.7),
    ("_cosine_cdf", 0.7),
    ("_cosine_invcdf", 0.7),
    ("_ncx2_sf", 1.3, 2.3, 0.7),
    ("_ncx2_isf", 0.3, 2.3, 0.7),
    ("_ncf_sf", 1.3, 2.3, 4.2, 0.7),
    ("_ncf_isf", 0.3, 2.3, 4.2, 0.7),
    ("_nct_pdf", 1.3, 2.3, 0.7),
    ("_nct_sf", 1.3, 2.3, 0.7),
    ("_nct_isf", 0.3, 2.3, 0.7),
    ("_binom_pmf", const(2), const(5), 0.4),
    ("_binom_pmf", const(0), const(5), 0.4),
    ("_binom_pmf", const(5), const(5), 0.4),
    ("_binom_cdf", const(2), const(5), 0.4),
    ("_binom_cdf", const(5), const(5), 0.4),
    ("_binom_sf", const(2), const(5), 0.4),
    ("_nbinom_pmf", const(2), 5.3, 0.4),
    ("_nbinom_cdf", const(2), 5.3, 0.4),
    ("_nbinom_sf", const(2), 5.3, 0.4),
    ("_normalized_gen_harmonic", const(2), const(4), const(7), 1.3),
    ("_kolmogc", 0.7),
    ("_kolmogci", 0.7),
    ("_kolmogp", 0.7),
    ("_smirnovc", const(5), 0.3),
    ("_smirnovci", const(5), 0.3),
    ("_smirnovp", const(5), 0.3),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case[0])
def test_ufunc(case, value_of):
    name, *args = case
    check_rule(value_of(getattr, special._ufuncs, name), *args, rtol=1e-5)


@pytest.mark.parametrize("c", [0.0, 1e-3, -0.04, 0.4])
def test_log1p_over(c):
    check_rule(log1p_over, c, 1.7)


def test_log_i0():
    check_rule(log_i0, 0.0)
    check_rule(log_i0, 40.0)


@pytest.mark.parametrize("name", ["_cdf", "_ppf"])
def test_methods(name):
    """The rules of SciPy's defaults, by themselves."""
    f = getattr(stats.rv_continuous, name)
    check_rule(f, const(stats.rel_breitwigner), 0.6, 2.0, rtol=1e-5)


MOMENTS = [
    *[(f"_nct_{kind}", (9.3, 0.8)) for kind in ("mean", "variance", "skewness")],
    ("_nct_kurtosis_excess", (9.3, 0.8)),
    *[(f"_ncf_{kind}", (5.2, 13.3, 0.9)) for kind in ("mean", "variance", "skewness")],
    ("_ncf_kurtosis_excess", (5.2, 13.3, 0.9)),
    *[(f"_nbinom_{kind}", (4.5, 0.4)) for kind in ("mean", "variance", "skewness")],
    ("_nbinom_kurtosis_excess", (4.5, 0.4)),
]


@pytest.mark.parametrize("name, args", MOMENTS)
def test_moments(name, args):
    for f in ufuncs(name):
        check_rule(f, *args, rtol=1e-6)


def test_generalised_harmonic_numbers():
    for f in ufuncs("_gen_harmonic"):
        check_rule(f, const(7.0), 1.7, rtol=1e-6)

import pytest
from scipy import special

CASES = [
    (special.pbdv, 1.3, 0.7),
    (special.pbdv, 1, 0.7),
    (special.pbdv, 1.3, -0.7),
    (special.pbdv, -1.3, 1.6),
    (special.pbvv, 1.3, 0.7),
    (special.pbwa, 1.3, 0.7),
    (special.mathieu_a, 2, 1.3),
    (special.mathieu_a, 0, 8.3),
    (special.mathieu_b, 1, 1.3),
    (special.mathieu_cem, 2, 1.3, 30.0),
    (special.mathieu_sem, 3, 1.3, 130.0),
    (special.mathieu_modcem1, 2, 1.3, 0.7),
    (special.mathieu_modcem2, 2, 1.3, 0.7),
    (special.mathieu_modsem1, 2, 1.3, 0.7),
    (special.mathieu_modsem2, 2, 1.3, 0.7),
    (special.pro_cv, 1, 2, 0.7),
    (special.obl_cv, 0, 3, 2.7),
    (special.pro_ang1, 1, 2, 0.7, 0.3),
    (special.pro_ang1_cv, 1, 2, 0.7, 6.2, 0.3),
    (special.pro_rad1, 1, 2, 0.7, 1.3),
    (special.pro_rad1_cv, 1, 2, 0.7, 6.2, 1.3),
    (special.pro_rad2, 1, 2, 0.7, 1.3),
    (special.pro_rad2_cv, 1, 2, 0.7, 6.2, 1.3),
    (special.obl_ang1, 1, 2, 0.7, 0.3),
    (special.obl_ang1_cv, 1, 2, 0.7, 5.5, 0.3),
    (special.obl_rad1, 1, 2, 0.7, 1.3),
    (special.obl_rad1_cv, 1, 2, 0.7, 5.5, 1.3),
    (special.obl_rad2, 1, 2, 0.7, 1.3),
    (special.obl_rad2_cv, 1, 2, 0.7, 5.5, 1.3),
    (special._ufuncs._ellip_harm, 5.0, 8.0, 2, 3, 4.0, 1, 1),
    (special._ufuncs._ellip_harm, 5.0, 8.0, 2, 3, 2.5, -1, -1),
]


# In single precision some of these are NaN, and SciPy's spheroidal ones do not return.
@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case[0].__name__}-{case[1:]}")
def test_rule(case, check_elementwise):
    check_elementwise(*case, slow=True, rtol=1e-6)


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case[0].__name__}-{case[1:]}")
def test_engine(case, check_curvature):
    check_curvature(*case)


def test_ellip_harm(check_curvature):
    check_curvature(special.ellip_harm, 5.0, 8.0, 2, 3, 2.5, -1, -1)

"""Units and uncertainties: astropy, pint, unyt, uncertainties."""

import numpy as np

from tests.packages.table import V, call, imported

astropy_units = imported("astropy.units")
pint = imported("pint")
unyt = imported("unyt")
uncertainties = imported("uncertainties")
if astropy_units is not None:
    import astropy.constants as const
    import astropy.units as u
    from astropy.coordinates import SkyCoord
    from astropy.cosmology import FlatLambdaCDM, Planck18
    from astropy.modeling import models
    from astropy.modeling.physical_models import BlackBody
    from astropy.stats import sigma_clip
    from astropy.timeseries import LombScargle
if pint is not None:
    ureg = pint.UnitRegistry()
if uncertainties is not None:
    from uncertainties import ufloat, umath


@call(astropy_units, 3.0)
def quantity_value(x):
    return (x * u.km).to(u.m).value


@call(astropy_units, V)
def quantity_arithmetic(x):
    speed = (x * u.km) / (2.0 * u.hour)
    return np.sum(speed.to(u.m / u.s).value ** 2)


@call(astropy_units, V)
def quantity_to_value(x):
    return u.Quantity(x, u.deg).to_value(u.rad).sum()


@call(astropy_units, V)
def quantity_function_of_numpy(x):
    return np.sin(x * u.deg).sum().value


@call(astropy_units, V)
def quantity_of_data(x):
    return ((V * u.m) * x).sum().to(u.cm).value


@call(astropy_units, 3.0)
def quantity_constant(x):
    return (0.5 * const.m_e * (x * u.km / u.s) ** 2).to(u.eV).value


@call(astropy_units, 3.0)
def quantity_equivalency(x):
    return (x * u.um).to(u.eV, equivalencies=u.spectral()).value


@call(astropy_units, 0.5)
def cosmology_distance(z):
    return Planck18.luminosity_distance(z).value


@call(astropy_units, 70.0)
def cosmology_parameter(h0):
    return FlatLambdaCDM(H0=h0, Om0=0.3).efunc(0.5) * h0


@call(astropy_units, 0.3)
def cosmology_matter(om):
    return FlatLambdaCDM(H0=70.0, Om0=om).efunc(0.5)


@call(astropy_units, V)
def model_gaussian(x):
    return models.Gaussian1D(amplitude=2.0, mean=1.0, stddev=0.7)(x).sum()


@call(astropy_units, 0.8)
def model_parameter(p):
    return models.Gaussian1D(amplitude=2.0, mean=1.0, stddev=p)(V).sum()


@call(astropy_units, 5000.0, "array of dtype object", h=1e-2)
def model_black_body(t):
    return BlackBody(temperature=t * u.K)(1e15 * u.Hz).value * 1e5


@call(astropy_units, 12.0)
def sky_separation(ra):
    a = SkyCoord(ra * u.deg, 41.0 * u.deg)
    b = SkyCoord(10.0 * u.deg, 40.0 * u.deg)
    return a.separation(b).deg


@call(astropy_units, V)
def sigma_clipped(x):
    return sigma_clip(x, masked=False).mean()


@call(astropy_units, V)
def lomb_scargle(y):
    return LombScargle(np.arange(5.0), y, center_data=False).power(0.17, method="slow")


@call(pint, 3.0)
def pint_magnitude(x):
    return (x * ureg.km).to("m").magnitude


@call(pint, V)
def pint_array(x):
    return ((x * ureg.km) / (2.0 * ureg.hour)).to("m/s").magnitude.sum()


@call(pint, V)
def pint_quantity_class(x):
    return np.sum(ureg.Quantity(x, "inch").to("cm").m ** 2)


@call(pint, 25.0)
def pint_offset(t):
    return ureg.Quantity(t, "degC").to("kelvin").magnitude ** 2


@call(pint, V)
def pint_function_of_numpy(x):
    return np.sin(x * ureg.degree).magnitude.sum()


@call(pint, 2.0)
def pint_wraps(x):
    @ureg.wraps(ureg.joule, (ureg.kg, ureg.meter / ureg.second))
    def energy(m, v):
        return m * v**2 / 2

    return energy(2 * ureg.kg, x * ureg.km / ureg.hour).magnitude


@call(unyt, V)
def unyt_array(x):
    return (x * unyt.km).to("m").sum().value


@call(unyt, 3.0)
def unyt_quantity(x):
    return (unyt.unyt_quantity(x, "km") ** 2).to("m**2").value


@call(uncertainties, 3.0)
def uncertain_value(x):
    y = ufloat(x, 0.1) ** 2 * 2
    return y.nominal_value


@call(uncertainties, 3.0)
def uncertain_spread(x):
    return umath.sin(ufloat(x, 0.1)).std_dev

"""Earth, sky and colour: geopy, pyproj, erfa, skyfield, sgp4, colour-science, periodictable."""

import numpy as np

from tests.packages.table import V, call, imported

geopy = imported("geopy.distance")
geographiclib = imported("geographiclib.geodesic")
pyproj = imported("pyproj")
skyfield = imported("skyfield.api")
colour = imported("colour")
periodictable = imported("periodictable")
if skyfield is not None:
    from skyfield.functions import angle_between, from_spherical, to_spherical
    from skyfield.positionlib import ICRF


@call(geopy, 48.5)
def great_circle(latitude):
    return geopy.great_circle((latitude, 2.3), (51.5, -0.1)).km


@call(geopy, np.array([48.5, 2.3]))
def geodesic(place):
    return geopy.geodesic(place, (51.5, -0.1)).km


@call(geopy, 48.5)
def geodesic_of_point(latitude):
    return geopy.geodesic(geopy.Point(latitude, 2.3), geopy.Point(51.5, -0.1)).km


@call(geographiclib, 48.5)
def geodesic_inverse(latitude):
    return geographiclib.Geodesic.WGS84.Inverse(latitude, 2.3, 51.5, -0.1)["s12"] * 1e-3


@call(pyproj, 48.5, "_crs|pyproj")
def mercator(latitude):
    return pyproj.Transformer.from_crs(4326, 3857).transform(latitude, 2.3)[1] * 1e-3


@call(skyfield, np.array([1.0, 0.4, 0.2]))
def spherical(x):
    r, theta, phi = to_spherical(x)
    return r * theta + phi


@call(skyfield, 0.4)
def from_spherical_angles(theta):
    return from_spherical(2.0, theta, 0.3).sum()


@call(skyfield, np.array([1.0, 0.4, 0.2]))
def angle(x):
    return angle_between(x, np.array([0.3, 0.1, 0.9]))


@call(skyfield, np.array([1.0, 0.4, 0.2]))
def position(x):
    return ICRF(x).separation_from(ICRF(np.array([0.3, 0.1, 0.9]))).degrees


@call(colour, np.array([0.3, 0.5, 0.2]))
def lab(xyz):
    return colour.XYZ_to_Lab(xyz).sum()


@call(colour, np.array([0.3, 0.5, 0.2]))
def srgb(xyz):
    return colour.XYZ_to_sRGB(xyz).sum()


@call(colour, np.array([50.0, 10.0, 20.0]))
def difference(lab):
    return colour.delta_E(lab, np.array([45.0, 12.0, 24.0]), method="CIE 2000")


@call(colour, V / 3)
def transfer(x):
    return colour.models.eotf_inverse_sRGB(x).sum()


@call(periodictable, 2.2)
def scattering(density):
    sld, _, _ = periodictable.neutron_sld("SiO2", density=density, wavelength=4.75)
    return sld


@call(periodictable, 2.2)
def mass_of_formula(density):
    return periodictable.formula("SiO2", density=density).density ** 2

"""Air, water, maps and stars: psychrolib, pyXSteam, pymap3d, utm, colossus, …"""

import numpy as np

from tests.packages.table import call, imported

psychrolib = imported("psychrolib")
steam_tables = imported("pyXSteam.XSteam")
pymap3d = imported("pymap3d")
geodesic = imported("geographiclib.geodesic")
haversine = imported("haversine")
utm = imported("utm")
pygeodesy = imported("pygeodesy")
ambiance = imported("ambiance")
chempy = imported("chempy.kinetics.arrhenius")
cosmology = imported("colossus.cosmology.cosmology")
extinction = imported("dust_extinction.parameter_averages")
wind = imported("windpowerlib.wind_speed")
wind_power = imported("windpowerlib.power_output")
tmm = imported("tmm")
miepython = imported("miepython")
anastruct = imported("anastruct")
if psychrolib is not None:
    psychrolib.SetUnitSystem(psychrolib.SI)
if steam_tables is not None:
    steam = steam_tables.XSteam(steam_tables.XSteam.UNIT_SYSTEM_MKS)
if pymap3d is not None:
    import pymap3d.vincenty
if cosmology is not None:
    cosmology.setCosmology("planck18", persistence="")


@call(psychrolib, 0.5)
def wet_bulb(humidity):
    return psychrolib.GetTWetBulbFromRelHum(25.0, humidity, 101325.0)


@call(psychrolib, 25.0)
def dew_point(t):
    return psychrolib.GetTDewPointFromRelHum(t, 0.4)


@call(steam_tables, 5.0)
def enthalpy_of_steam(p):
    return steam.h_pt(p, 250.0)


@call(steam_tables, 3.0)
def saturation(p):
    return steam.tsat_p(p)


@call(pymap3d, 42.1, h=1e-5)
def east_north_up(lat):
    return pymap3d.geodetic2enu(lat, -82.0, 200.0, 42.0, -82.1, 100.0)[1]


@call(pymap3d, 10.0, h=1e-5)
def distance_by_vincenty(lat):
    return pymap3d.vincenty.vdist(lat, 20.0, 12.0, 22.0)[0]


@call(geodesic, 30.0, h=1e-4)
def destination(azimuth):
    return geodesic.Geodesic.WGS84.Direct(40.0, 10.0, azimuth, 1e6)["lat2"]


@call(geodesic, 40.0, h=1e-5)
def area(lat):
    polygon = geodesic.Geodesic.WGS84.Polygon()
    for point in ((lat, 0.0), (41.0, 1.0), (42.0, -1.0)):
        polygon.AddPoint(*point)
    return polygon.Compute()[2] / 1e9


@call(haversine, np.array([45.7, 46.0]), h=1e-5)
def distances(lat):
    places = np.stack([lat, lat * 0 + 4.8], 1)
    return haversine.haversine_vector(places, np.array([[48.8, 2.3], [40.7, -74.0]])).sum()


@call(utm, 51.2, h=1e-5)
def northing(lat):
    return utm.from_latlon(lat, 7.5)[1]


@call(pygeodesy, 52.0, "_NamedUnit")
def a_class_of_floats(lat):
    return pygeodesy.haversine(lat, 0.1, 48.8, 2.3)


@call(ambiance, np.array([1000.0, 12000.0]), h=0.1)
def temperature(height):
    return ambiance.Atmosphere(height).temperature.sum()


@call(chempy, 300.0)
def rate_of_a_reaction(t):
    return chempy.arrhenius_equation(1e10, 40000.0, t)


@call(cosmology, 0.5)
def comoving_distance(z):
    return cosmology.getCurrent().comovingDistance(0.0, z)


@call(cosmology, 0.5)
def growth(z):
    return cosmology.getCurrent().growthFactor(z)


@call(extinction, 3.1)
def extinction_curve(rv):
    from astropy import units

    return extinction.CCM89(Rv=rv)(np.array([0.5, 1.5, 3.0]) / units.micron).sum()


@call(wind, 80.0)
def wind_profile(height):
    return wind.logarithmic_profile(5.0, 10.0, height, 0.15)


@call(wind_power, np.array([5.5, 6.2]))
def power_of_a_turbine(speed):
    import pandas as pd

    curve = pd.Series([0.0, 5.0, 10.0, 15.0]), pd.Series([0.0, 100.0, 900.0, 1000.0])
    return wind_power.power_curve(pd.Series(speed), *curve).sum()


@call(tmm, 120.0)
def reflected(thickness):
    layers = [1, 2.2, 3.3 + 0.3j, 1], [np.inf, thickness, 300.0, np.inf]
    return tmm.coh_tmm("s", *layers, 0.3, 500.0)["R"]


@call(miepython, 2.0)
def scattered(size):
    return miepython.efficiencies_mx(1.5 - 0.1j, size)[0]


@call(anastruct, 5000.0, h=1.0)
def deflection(stiffness):
    beam = anastruct.SystemElements(EI=stiffness)
    beam.add_element([[0, 0], [2, 0]])
    beam.add_element([[2, 0], [4, 0]])
    beam.add_support_hinged(1)
    beam.add_support_roll(3)
    beam.point_load(2, Fy=-10.0)
    beam.solve()
    return beam.get_node_displacements(2)["uy"]

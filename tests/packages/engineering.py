"""Engineering: control, fluids, thermo, ht, filterpy, pvlib, ahrs, iapws, scikit-rf, scikit-fem."""

import numpy as np

from tests.packages.table import M, V, call, imported

control = imported("control")
fluids = imported("fluids")
ht = imported("ht")
thermo = imported("thermo")
filterpy = imported("filterpy")
pvlib = imported("pvlib")
ahrs = imported("ahrs")
iapws = imported("iapws")
skfem = imported("skfem")
skrf = imported("skrf")
if fluids is not None:
    import fluids.numerics
    import fluids.vectorized
if thermo is not None:
    from chemicals.vapor_pressure import Antoine
    from thermo.eos import PR, SRK
    from thermo.eos_mix import PRMIX
    from thermo.nrtl import NRTL
if filterpy is not None:
    from filterpy.common import Q_discrete_white_noise
    from filterpy.kalman import ExtendedKalmanFilter, KalmanFilter, MerweScaledSigmaPoints
if pvlib is not None:
    import pandas as pd


@call(control, 2.0)
def transfer_function(k):
    return abs(control.tf([k], [1.0, 2.0, k])(1j * 0.5))


@call(control, 2.0)
def closed_loop(k):
    loop = control.feedback(control.tf([k], [1.0, 3.0, 1.0]), 1)
    return np.real(loop(0.3j))


@call(control, M)
def state_space_response(a):
    system = control.ss(a, np.ones((3, 1)), np.ones((1, 3)), 0.0)
    return np.abs(system(0.7j))


@call(control, 2.0)
def dc_gain(k):
    return control.dcgain(control.ss([[-k]], [[1.0]], [[3.0]], [[0.0]]))


@call(control, 1.5)
def regulator(q):
    gain, _, _ = control.lqr(
        np.array([[0.0, 1.0], [-2.0, -3.0]]), np.array([[0.0], [1.0]]), q * np.eye(2), [[1.0]]
    )
    return gain.sum()


@call(control, -M)
def lyapunov(a):
    return control.lyap(a, np.eye(3)).sum()


@call(control, 2.0)
def step_response(k):
    system = control.ss([[-k]], [[1.0]], [[3.0]], [[0.0]])
    return control.step_response(system, np.linspace(0.0, 2.0, 9)).outputs.sum()


@call(fluids, 1e5, h=1.0)
def friction_factor(re):
    return fluids.friction_factor(Re=re, eD=1e-4)


@call(fluids, 2.5)
def reynolds(v):
    return fluids.Reynolds(V=v, D=0.25, rho=1.1613, mu=1.9e-5) * 1e-4


@call(fluids, 3.0)
def atmosphere(z):
    return fluids.ATMOSPHERE_1976(z * 1000).P * 1e-3


@call(fluids, 0.6)
def orifice(beta):
    return fluids.C_Reader_Harris_Gallagher(
        D=0.07, Do=0.07 * beta, rho=1.1, mu=2e-5, m=0.12, taps="flange"
    )


@call(fluids, V + 1)
def friction_vectorized(re):
    return fluids.vectorized.friction_factor(Re=re * 1e4, eD=1e-4).sum()


@call(fluids, 2.0)
def horner(x):
    return fluids.numerics.horner([1.0, 2.0, -0.5, 0.2], x)


@call(ht, 1e4, h=1e-1)
def nusselt(re):
    return ht.Nu_conv_internal(Re=re, Pr=0.7)


@call(ht, 350.0, h=1e-3)
def mean_temperature(t):
    return ht.LMTD(t, 330.0, 290.0, 300.0)


@call(thermo, 300.0, h=1e-3)
def equation_of_state(t):
    return SRK(Tc=507.6, Pc=3025000.0, omega=0.2975, T=t, P=1e6).V_l * 1e4


@call(thermo, 300.0, h=1e-3)
def equation_of_state_fugacity(t):
    return PR(Tc=507.6, Pc=3025000.0, omega=0.2975, T=t, P=1e6).phi_l


@call(thermo, 115.0, h=1e-3)
def equation_of_state_mixture(t):
    eos = PRMIX(
        T=t, P=1e6, Tcs=[126.1, 190.6], Pcs=[33.94e5, 46.04e5], omegas=[0.04, 0.011], zs=[0.5, 0.5]
    )
    return eos.V_l * 1e4


@call(thermo, 300.0, h=1e-3)
def activity(t):
    model = NRTL(
        T=t, xs=[0.25, 0.75], tau_bs=[[0.0, 50.0], [80.0, 0.0]], alpha_cs=[[0.0, 0.3], [0.3, 0.0]]
    )
    return model.GE() + sum(model.gammas())


@call(thermo, 350.0, h=1e-3)
def vapour_pressure(t):
    return Antoine(t, 8.95894, 510.595, -15.95) * 1e-3


@call(filterpy, 0.7)
def kalman_filter(q):
    kf = KalmanFilter(dim_x=2, dim_z=1)
    kf.F = np.array([[1.0, 1.0], [0.0, 1.0]])
    kf.H = np.array([[1.0, 0.0]])
    kf.Q = np.eye(2) * q
    for z in V:
        kf.predict()
        kf.update(z)
    return kf.x[0, 0] + kf.P[0, 1]


@call(filterpy, V)
def kalman_filter_of_data(z):
    kf = KalmanFilter(dim_x=1, dim_z=1)
    kf.F = kf.H = np.eye(1)
    for value in z:
        kf.predict()
        kf.update(value)
    return kf.x[0, 0] ** 2


@call(filterpy, 0.5)
def process_noise(dt):
    return Q_discrete_white_noise(dim=3, dt=dt, var=0.2).sum()


@call(filterpy, np.array([1.0, 2.0]))
def sigma_points(x):
    return (MerweScaledSigmaPoints(2, 0.1, 2.0, 1.0).sigma_points(x, np.eye(2)) ** 2).sum()


@call(filterpy, 1.4)
def extended_kalman_filter(r):
    kf = ExtendedKalmanFilter(1, 1)
    kf.x = np.array([[1.0]])
    kf.R = np.array([[1.0]]) * r
    kf.update(np.array([[1.3]]), lambda x: 2 * x, lambda x: x**2)
    return kf.x[0, 0]


@call(pvlib, 30.0)
def air_mass(zenith):
    return pvlib.atmosphere.get_relative_airmass(zenith, model="simple")


@call(pvlib, V * 20)
def clear_sky(zenith):
    return pvlib.irradiance.dni(V * 100, V * 30, zenith).sum()


@call(pvlib, 30.0)
def incidence(tilt):
    return pvlib.irradiance.aoi(tilt, 180.0, 45.0, 160.0)


@call(pvlib, 800.0, h=1e-3)
def cell_temperature(poa):
    return pvlib.temperature.sapm_cell(poa, 20.0, 2.0, -3.56, -0.075, 3)


@call(pvlib, V * 100)
def haydavies(dni):
    return pvlib.irradiance.haydavies(30.0, 180.0, 100.0, dni, 1350.0, 45.0, 160.0).sum()


@call(pvlib, 0.5)
def single_diode(voltage):
    return pvlib.pvsystem.i_from_v(voltage, 7.0, 1e-7, 0.1, 300.0, 0.6)


@call(pvlib, 0.5)
def clear_sky_of_series(scale):
    zenith = pd.Series(V * 20)
    return pvlib.clearsky.haurwitz(zenith * scale).sum().item()


@call(ahrs, np.array([0.7, 0.1, 0.3, 0.2]))
def quaternion_product(q):
    return ahrs.common.orientation.q_prod(q, np.array([0.5, 0.5, 0.1, 0.2])).sum()


@call(ahrs, 0.4)
def rotation(angle):
    return ahrs.common.frames.ecef2geodetic(6.0e6 * np.cos(angle), 1.0e6, 2.0e6)[0]


@call(iapws, 500.0, h=1e-3)
def steam(t):
    return iapws.iapws97._Region2(t, 1.0)["h"]


@call(skfem, 2.0)
def finite_elements(k):
    from skfem import Basis, BilinearForm, ElementLineP1, MeshLine
    from skfem.helpers import dot, grad

    basis = Basis(MeshLine(np.linspace(0, 1, 5)), ElementLineP1())
    stiffness = BilinearForm(lambda u, v, _: k * dot(grad(u), grad(v))).assemble(basis)
    return stiffness.toarray()[1, 1]


@call(skrf, V)
def decibels(x):
    return skrf.mathFunctions.magnitude_2_db(x).sum()

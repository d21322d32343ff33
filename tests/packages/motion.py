"""Rotations, orbits and shapes: transforms3d, pyquaternion, spatialmath, ase, vector, trueskill."""

import numpy as np

from tests.packages.table import M, call, imported

transforms3d = imported("transforms3d")
pyquaternion = imported("pyquaternion")
spatialmath = imported("spatialmath")
rotations = imported("pytransform3d.rotations")
ase = imported("ase")
vector = imported("vector")
simple_pid = imported("simple_pid")
trueskill = imported("trueskill")
openskill = imported("openskill.models")
pyasl = imported("PyAstronomy.pyasl")
if ase is not None:
    import ase.build
    import ase.calculators.lj
if spatialmath is not None:
    import spatialmath.base

Q = np.array([0.9, 0.1, 0.3, 0.2])


@call(transforms3d, 0.4)
def euler_angles(a):
    return transforms3d.euler.euler2mat(a, 0.2, 0.3).sum()


@call(transforms3d, Q)
def matrix_of_a_quaternion(q):
    return (transforms3d.quaternions.quat2mat(q) ** 2 * M).sum()


@call(transforms3d, 0.4)
def there_and_back(a):
    return transforms3d.euler.mat2euler(transforms3d.euler.euler2mat(a, 0.2, 0.3))[0]


@call(pyquaternion, 0.4)
def turned(a):
    q = pyquaternion.Quaternion(axis=[1.0, 0, 1.0], angle=a)
    return q.rotate(np.array([1.0, 2.0, 3.0])).sum()


@call(pyquaternion, 0.4)
def between(a):
    make = pyquaternion.Quaternion
    first, last = make(axis=[1, 0, 0], angle=0.1), make(axis=[0, 1, 0], angle=1.0)
    return make.slerp(first, last, a).elements.sum()


@call(spatialmath, 0.4)
def pose(a):
    return (spatialmath.SE3.Rz(a) * np.array([1.0, 2.0, 3.0])).sum()


@call(spatialmath, 0.4)
def exponential(a):
    return spatialmath.base.trexp([0.1, a, 0.3, 0.1, 0.2, a]).sum()


@call(rotations, np.array([1.0, 0.2, 0.3, 0.4]))
def axis_and_angle(a):
    return rotations.matrix_from_axis_angle(a)[0].sum()


@call(rotations, Q)
def vector_by_quaternion(q):
    return rotations.q_prod_vector(q / np.linalg.norm(q), [1.0, 2.0, 3.0]).sum()


@call(ase, 1.2)
def energy_of_two_atoms(d):
    atoms = ase.Atoms("Ar2", positions=[[0, 0, 0], [0, 0, d]])
    atoms.calc = ase.calculators.lj.LennardJones()
    return atoms.get_potential_energy()


@call(ase, 1.1)
def distance_of_atoms(d):
    atoms = ase.Atoms("CO2", positions=[[0, 0, 0], [0, 0, d], [0, 0.3, -d]])
    return atoms.get_distance(0, 2) + atoms.get_center_of_mass()[2]


@call(ase, 3.6, "known by several names")
def volume_of_a_crystal(a):
    return ase.build.bulk("Cu", "fcc", a=a).get_volume()


@call(vector, 1.1)
def mass_of_a_pair(x):
    first, second = vector.obj(px=x, py=2.0, pz=3.0, E=10.0), vector.obj(px=1, py=0, pz=1, E=5.0)
    return (first + second).mass


@call(vector, 0.3)
def boost(b):
    return vector.obj(px=1.0, py=2.0, pz=3.0, E=10.0).boostZ(beta=b).pz


@call(vector, np.array([1.1, 1.2]), "dtype")
def columns(x):
    return vector.array({"px": x, "py": x * 2, "pz": x, "E": x * 5}).mass.sum()


@call(simple_pid, 1.0)
def controlled(gain):
    controller = simple_pid.PID(gain, 0.1, 0.05, setpoint=1.0, sample_time=None)
    y = 0.0
    for _ in range(10):
        y += 0.1 * (controller(y, dt=0.1) - y)
    return y


@call(trueskill, 26.0)
def rating_after_a_match(mu):
    return trueskill.rate_1vs1(trueskill.Rating(mu, 8.0), trueskill.Rating(24.0, 7.0))[0].mu


@call(openskill, 26.0, "rating has no rule")
def made_by_mypyc(mu):
    return openskill.PlackettLuce().rating(mu=mu, sigma=8.0).mu


@call(pyasl, 0.3)
def orbit(e):
    return pyasl.KeplerEllipse(1.0, 1.0, e=e, Omega=30.0, i=60.0, w=10.0).xyzPos(0.3).sum()

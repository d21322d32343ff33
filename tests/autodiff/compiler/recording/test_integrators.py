"""An integrator of scipy.integrate.ode goes on from where it stands: no program repeats that."""

import numpy as np
import pytest
from scipy import integrate

import autodiff


@pytest.mark.parametrize("name", ["lsoda", "vode", "dopri5"])
def test_a_compiled_run_starts_at_its_own_state(name):
    def f(a):
        solver = integrate.ode(lambda t, u: -u).set_integrator(name, rtol=1e-9, atol=1e-10)
        solver.set_initial_value([a], 0.0)
        return solver.integrate(0.5)[0]

    compiled = autodiff.compile(lambda a: autodiff.value_and_gradient(f, a))
    for a in (1.317, 1.0, 2.0):
        value, slope = compiled(a)
        np.testing.assert_allclose(value, f(a), rtol=1e-12)
        np.testing.assert_allclose(slope, np.exp(-0.5), rtol=1e-6)

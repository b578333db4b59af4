"""Energies against first principles."""

import numpy as np
import pytest
from compare import CASES, COUPLINGS, reference_case

from flex_robot_sim.dynamics.energy import set_energies
from flex_robot_sim.model.workspace import make_workspace

pytestmark = pytest.mark.slow


@pytest.mark.parametrize('case', CASES)
@pytest.mark.parametrize('coupling', COUPLINGS)
def test_energies_agree_with_first_principles(case, coupling):
    sample = reference_case(case, coupling)
    reference, q, qd = sample.reference, sample.q, sample.qd
    now, zero = np.empty(3), np.empty(3)
    work = make_workspace(sample.arm.arrays)
    set_energies(sample.arm.arrays, q, qd, work, now)
    set_energies(sample.arm.arrays, 0 * q, qd, work, zero)
    expected = (
        reference.kinetic_energy(q, qd),
        reference.spring_energy(q),
        # bodies fixed to the base add a constant potential energy
        reference.gravity_energy(q) - reference.gravity_energy(0 * q),
    )
    np.testing.assert_allclose([now[0], now[1], now[2] - zero[2]], expected, rtol=1e-11)

"""Frequencies of an arm with one beam at rest, compared with closed forms to 1e-4."""

from math import pi

import numba
import numpy as np
import pytest
from beam_arms import (
    EI,
    LENGTH,
    MASS,
    MASS_PER_LENGTH,
    POLAR,
    RATE,
    STIFFNESS,
    as_beta_L,
    beam_arm,
    with_elements,
    with_modes,
)

from flex_robot_sim.analysis.natural_modes import frequencies

# without compiled code, thousands of mass matrices take an hour
pytestmark = [pytest.mark.slow] * bool(numba.config.DISABLE_JIT)

# Coordinates needed for 1e-4 in the highest frequency under test: the static
# shapes x^2 and x^3 and one clamped-free mode more than frequencies; cubic elements about five
# per half wave. The tables have seven digits at most.
DISCRETISATIONS = {
    'modes': lambda direction: with_modes(**{direction: 6}),
    'segments': lambda direction: with_modes(**{direction: 4}, segments=5),
    'elements': lambda direction: with_elements(20, **{direction: 'all'}),
}
CONVERGED = pytest.mark.parametrize(
    'discretisation', [way('bending_y') for way in DISCRETISATIONS.values()], ids=DISCRETISATIONS
)


@pytest.mark.parametrize('direction', ['bending_y', 'bending_z'])
@pytest.mark.parametrize('way', DISCRETISATIONS.values(), ids=DISCRETISATIONS)
def test_clamped_free_bending(way, direction):
    np.testing.assert_allclose(
        as_beta_L(frequencies(beam_arm(way(direction))))[:4],
        [1.875104, 4.694091, 7.854757, 10.995541],
        rtol=1e-4,
    )


@CONVERGED
@pytest.mark.parametrize(
    'mu, roots',
    [
        (0.1, [1.722742]),
        (0.5, [1.419964]),
        (1.0, [1.247917, 4.031139, 7.134132]),
        (10.0, [0.735782]),
    ],
)
def test_bending_with_a_mass_at_the_tip(discretisation, mu, roots):
    found = as_beta_L(frequencies(beam_arm(discretisation, tip_mass=mu * MASS)))
    np.testing.assert_allclose(found[: len(roots)], roots, rtol=1e-4)


@CONVERGED
@pytest.mark.parametrize('kappa, root', [(1.0, 1.247917), (10.0, 1.722742)])
def test_locked_rotor_behind_a_spring(discretisation, kappa, root):
    gear = f'stiffness="{kappa * EI / LENGTH!r}" rotor_inertia="1"'
    found = as_beta_L(frequencies(beam_arm(discretisation, gear=gear)))
    assert found[0] == pytest.approx(root, rel=1e-4)


@CONVERGED
@pytest.mark.parametrize('j, rate', [(0.0, 15.4182), (0.1, 6.9639), (1.0, 4.0401)])
@pytest.mark.parametrize('as_rotor', [False, True], ids=['hub', 'rotor'])
def test_pinned_free_with_hub_inertia(discretisation, j, rate, as_rotor):
    inertia = j * MASS * LENGTH**2  # J / (rho A L^3) = j
    arm = (
        beam_arm(discretisation, gear=f'rotor_inertia="{inertia!r}"' if j else '')
        if as_rotor
        else beam_arm(discretisation, hub=inertia)
    )
    found = 2 * pi * frequencies(arm, joints='free') / RATE
    assert found[0] == 0.0  # the arm rotates freely
    assert found[1] == pytest.approx(rate, rel=1e-4)


@pytest.mark.parametrize(
    'direction, rate',
    [
        ('torsion', (STIFFNESS['GJ'] / POLAR) ** 0.5 / LENGTH),
        ('stretch', (STIFFNESS['EA'] / MASS_PER_LENGTH) ** 0.5 / LENGTH),
    ],
)
def test_torsion_and_stretch_of_a_rod(direction, rate):
    exact = (np.arange(1, 4) - 0.5) * pi * rate
    found = 2 * pi * frequencies(beam_arm(with_modes(**{direction: 4})))
    np.testing.assert_allclose(found[:3], exact, rtol=1e-10)  # natural modes are exact
    # linear elements: (pi/2 (2n - 1) / count)^2 / 24, 4e-5 for the first
    found = 2 * pi * frequencies(beam_arm(with_elements(50, **{direction: 'all'})))
    assert found[0] == pytest.approx(exact[0], rel=1e-4)


@CONVERGED
def test_one_link_with_a_flexible_joint(discretisation):
    arm = beam_arm(discretisation, gear='stiffness="100" rotor_inertia="1"')
    found = 2 * pi * frequencies(arm, joints='free')
    np.testing.assert_allclose(found[:4], [0.0, 3.2781, 17.2251, 48.0235], rtol=1e-4)

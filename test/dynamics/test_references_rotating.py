"""Steadily rotating beams: frequencies, stretch, and the effect of the shortening."""

from math import pi, tan

import numpy as np
import pytest
from beam_arms import RATE, beam_arm, with_elements, with_modes

from flex_robot_sim.analysis.deflection import tip_deflection
from flex_robot_sim.analysis.linear import linearise
from flex_robot_sim.analysis.natural_modes import frequencies
from flex_robot_sim.analysis.statics import equilibrium
from flex_robot_sim.util.exceptions import SettingError

pytestmark = pytest.mark.slow

TABLE = {
    0: (3.5160, 22.0345, 61.6972, 3.5160),
    2: (4.1373, 22.6149, 62.2732, 3.6218),
    6: (7.3604, 26.8091, 66.6839, 4.2632),
    12: (13.1702, 37.6031, 79.6145, 5.4270),
}

# At gamma = 12 the beam is almost a chain with a short curve at the root, which modes of
# the beam at rest approximate slowly: with 6 / 7 / 9 / 12, chord 1 is 4.6e-3 / 2.1e-3 / 5.8e-4 /
# 1.3e-4 too high, and flap 8e-4 / 4e-4 / 1e-4 / 3e-5. Elements and segments converge faster.
CONVERGED = pytest.mark.parametrize(
    'discretise',
    [
        lambda direction: with_modes(**{direction: 12}),
        lambda direction: with_modes(**{direction: 3}, segments=6),
        lambda direction: with_elements(12, **{direction: 'all'}),
    ],
    ids=['modes', 'segments', 'elements'],
)


def rotating_frequencies(arm, gamma):
    """Return the normalised frequencies of the steadily rotating arm, ascending."""
    A = linearise(arm, v=[gamma * RATE], joints='locked').A
    rates = np.linalg.eigvals(A).imag / RATE
    return np.sort(rates[rates > 0])


@pytest.mark.long(after=8)
@CONVERGED
@pytest.mark.parametrize('gamma', TABLE)
@pytest.mark.parametrize(
    'axis, flap, chord', [('0 0 1', 'bending_z', 'bending_y'), ('0 1 0', 'bending_y', 'bending_z')]
)
def test_frequencies_of_a_rotating_cantilever(discretise, gamma, axis, flap, chord):
    found = rotating_frequencies(beam_arm(discretise(flap), axis=axis), gamma)
    np.testing.assert_allclose(found[:3], TABLE[gamma][:3], rtol=1e-3)
    found = rotating_frequencies(beam_arm(discretise(chord), axis=axis), gamma)
    assert found[0] == pytest.approx(TABLE[gamma][3], rel=1e-3)


@pytest.mark.parametrize('gamma', [2, 6])
def test_a_free_heavy_hub_is_equivalent_to_a_driven_one(gamma):
    # Coriolis forces of the chord motion act on the hub: below 1e-6 of its inertia
    arm = beam_arm(with_elements(8, bending_y='all', bending_z='all'), hub=1e6)
    found = np.linalg.eigvals(linearise(arm, v=[gamma * RATE]).A).imag / RATE
    for rate in TABLE[gamma]:
        assert np.abs(found - rate).min() < 1e-3 * rate


def test_without_shortening_a_rotating_beam_is_softer_by_the_centrifugal_force():
    # inertia alone: chord^2 = rest^2 - gamma^2, flap = rest, until the chord reaches zero
    chord, flap = (
        beam_arm(with_modes(**{name: 4}), coupling='zero_order')
        for name in ('bending_y', 'bending_z')
    )
    rest = frequencies(chord)[0] * 2 * pi / RATE
    assert rotating_frequencies(flap, 3.0)[0] == pytest.approx(rest, rel=1e-9)
    assert rotating_frequencies(chord, 3.0)[0] ** 2 == pytest.approx(rest**2 - 9.0, rel=1e-9)
    share = (rest / 4) ** 2
    with pytest.raises(SettingError, match=f'buckles at about {share:.1%}'):
        equilibrium(chord, v=[4 * RATE])


@pytest.mark.parametrize(
    'discretisation',
    [with_modes(bending_y=2, stretch=3), with_elements(10, bending_y='all', stretch='all')],
    ids=['modes', 'elements'],
)
def test_a_rotating_beam_stretches(discretisation):
    # 10 m, EA 2.8e7, rho A 1.2, at 6 rad/s; the second law is EA u'' = -rho A w^2 (x + u)
    arm = beam_arm(discretisation, length=10.0, mass_per_length=1.2, EIz=1.4e4, EA=2.8e7)
    stretch = tip_deflection(arm, 'arm', equilibrium(arm, v=[6.0]).q)[0]
    k = 6.0 * (1.2 / 2.8e7) ** 0.5
    assert stretch == pytest.approx(tan(10 * k) / k - 10, rel=1e-6)
    assert stretch == pytest.approx(5.143e-4, rel=1e-3)  # where u is small compared with x

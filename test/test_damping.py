"""The damping that a description asks for is what the modes of the arm have."""

import numpy as np
import pytest
from beam_arms import beam_arm, with_elements, with_modes

from flex_robot_sim.linear import modes

RATIO = 0.02


@pytest.mark.parametrize('discretisation', [
    with_modes(3, 2, 2, 1), with_modes(3, 2, boundary='free'), with_modes(2, 2, boundary='mass'),
    with_elements(4, bending_y='all', torsion='all')])
@pytest.mark.parametrize('tip_mass', [0.0, 0.3])
def test_every_mode_of_a_beam_in_one_piece_has_the_ratio(discretisation, tip_mass):
    arm = beam_arm(f'{discretisation}<damping ratio="{RATIO}"/>', tip_mass=tip_mass)
    # the end load that shapes the damping is the tip itself, so that only rounding is left
    np.testing.assert_allclose(modes(arm).damping_ratios, RATIO, rtol=1e-6)


def test_a_time_constant_damps_a_mode_by_half_its_rate():
    time = 1e-4
    found = modes(beam_arm(f'{with_modes(3, 2)}<damping time_constant="{time}"/>'))
    np.testing.assert_allclose(found.damping_ratios, np.pi * found.frequencies * time, rtol=1e-6)


def test_the_first_mode_of_a_beam_in_segments_has_the_ratio():
    arm = beam_arm(f'{with_modes(2, segments=4)}<damping ratio="{RATIO}"/>')
    # its first frequency is taken from a whole beam of three shapes
    assert modes(arm).damping_ratios[0] == pytest.approx(RATIO, rel=1e-3)

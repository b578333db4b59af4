"""Meshes that do not fit the robot are refused, with the remedy in the same line."""

import numpy as np
import pytest

from flex_robot_sim.reduction.plausibility import check_memory, check_size, density_factor
from flex_robot_sim.reduction.supports import ReductionError

BOX = np.array([[0.0, 0.0, 0.0], [0.4, 0.03, 0.02]])
TIP = [np.zeros(3), np.array([0.4, 0.0, 0.0])]


@pytest.mark.parametrize('places, gyration', [(TIP, 0.0), (TIP[:1], 0.12)])
def test_units_are_compared_with_the_robot(places, gyration):
    check_size(BOX, places, gyration)
    with pytest.raises(ReductionError, match=r'measures 401.6 m, .* Choose --unit mm'):
        check_size(BOX * 1e3, places, gyration)
    with pytest.raises(ReductionError, match=r'measures 0.0004016 m, .* Choose --unit m, mm or'):
        check_size(BOX / 1e3, places, gyration)


def test_a_link_without_joints_and_inertial_has_any_size():
    check_size(BOX * 1e3, [np.zeros(3)], 0.0)


def test_a_skin_is_refused_and_other_masses_are_noted():
    assert density_factor(1.0, 0.0, False) == (1.0, '')
    assert density_factor(1.005, 1.0, False) == (1.0, '')
    factor, note = density_factor(1.2, 1.0, False)
    assert factor == 1.0 and note == (
        'the mass of the mesh is 1.2 kg, that of <inertial> 1 kg; --mass inertial scales the '
        'density'
    )
    with pytest.raises(ReductionError, match='the solid mass 14.5 kg is 1.73 times that of'):
        density_factor(14.5, 8.39, False)
    assert density_factor(14.5, 8.39, True) == (pytest.approx(8.39 / 14.5), '')


def test_a_mesh_beyond_the_memory_is_refused():
    check_memory(1000)
    with pytest.raises(ReductionError, match='the mesh has 100000000 nodes, which need about'):
        check_memory(100_000_000)

"""Friction law: force, slope, and the parameters of a described joint."""

import numpy as np
import pytest
from arms import flexibility, joint, link, robot
from reference import along

import flex_robot_sim as frs
from flex_robot_sim.model.friction import (
    friction_level,
    has_dry_friction,
    has_friction,
    smoothed_friction,
    smoothed_slopes_at_rest,
    static_friction,
    static_frictions,
    without_dry_friction,
)

COULOMB_ONLY = np.array([0.0, 0.2, 0.0, 1.0, 0.01, 0.0])
STRIBECK = np.array([0.0, 1.0, 0.5, 0.02, 0.01, 0.0])
CREEPING = np.array([0.0, 0.3, 0.0, 1.0, 0.01, 0.04])


def test_smoothed_friction_opposes_motion_and_its_slope_is_its_derivative():
    for rate in (0.1, 1.0, 20.0):  # ten times the rate of smoothing: 1 - tanh(10) = 4e-9
        assert smoothed_friction(rate, COULOMB_ONLY)[0] == pytest.approx(0.2, rel=1e-8)
        assert smoothed_friction(-rate, COULOMB_ONLY)[0] < 0.0
    for rate in (0.0, 3e-3, 1e-2, -2e-2):
        slope = along(lambda t, rate=rate: smoothed_friction(rate + t, COULOMB_ONLY)[0], 1e-4)
        assert smoothed_friction(rate, COULOMB_ONLY)[1] == pytest.approx(slope, rel=1e-8)


def test_friction_that_creeps_grows_with_the_rate_up_to_its_level():
    for rate, force, slope in (
        (0.0, 0.0, 7.5),
        (0.01, 0.075, 7.5),
        (-0.03, -0.225, 7.5),
        (0.05, 0.3, 0.0),
        (-9.0, -0.3, 0.0),
    ):
        assert smoothed_friction(rate, CREEPING) == pytest.approx((force, slope))
    assert smoothed_slopes_at_rest(CREEPING[None]) == pytest.approx([7.5])


def test_friction_falls_from_static_to_kinetic():
    assert friction_level(0.0, STRIBECK) == static_friction(STRIBECK) == 1.5
    assert friction_level(0.02, STRIBECK) == pytest.approx(1.0 + 0.5 / np.e)
    assert friction_level(1.0, STRIBECK) == pytest.approx(1.0)


def test_the_row_of_a_joint_has_the_numbers_of_its_description():
    inside = '<axis xyz="0 0 1"/><dynamics damping="0.3" friction="1.5"/>'
    words = '<joint name="hinge" static_friction="2.5" stribeck_rate="0.04"/>'
    table = frs.load(robot(joint(inside=inside), link(), flexibility(words))).arrays.friction
    assert table.tolist() == [[0.3, 1.5, 1.0, 0.04, 0.01, 0.0]]
    assert static_frictions(table).tolist() == [2.5] and has_dry_friction(table)
    assert smoothed_slopes_at_rest(table) == pytest.approx(
        [along(lambda t: smoothed_friction(t, table[0])[0], 1e-6)], rel=1e-6
    )
    smooth = without_dry_friction(table)
    assert not has_dry_friction(smooth) and has_friction(smooth)


def test_an_arm_without_joints_has_a_table_without_rows():
    table = frs.load(robot(joint(kind='fixed'), link())).arrays.friction
    assert table.shape == (0, 6) and not has_friction(table)

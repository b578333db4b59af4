"""Joint types: properties, and refusal of a type that the table does not have."""

from dataclasses import replace

import numpy as np
import pytest
from arms import joint, link, robot

from flex_robot_sim import load
from flex_robot_sim.description.joint_types import JOINT_TYPES
from flex_robot_sim.elastic.shapes import Direction, assumed_shapes


def arm_with(kind):
    limit = '<limit lower="-1" upper="1" effort="1" velocity="1"/>'
    return load(robot(joint(kind=kind, inside=f'<axis xyz="0 1 0"/>{limit}'), link()))


@pytest.mark.parametrize(
    'kind, unit, effort_unit, screw',
    [
        ('revolute', 'rad', 'N m', [0, 1, 0, 0, 0, 0]),
        ('continuous', 'rad', 'N m', [0, 1, 0, 0, 0, 0]),
        ('prismatic', 'm', 'N', [0, 0, 0, 0, 1, 0]),
    ],
)
def test_a_joint_has_the_screw_and_the_units_of_its_type(kind, unit, effort_unit, screw):
    arm = arm_with(kind)
    assert (arm.units, arm.effort_units) == ((unit,), (effort_unit,))
    assert arm.arrays.screw.tolist() == [screw]
    assert np.isfinite(arm.arrays.upper[0]) == JOINT_TYPES[kind].needs_limit


def test_a_joint_of_an_unknown_type_is_refused():
    with pytest.raises(AssertionError, match="unknown joint type 'helical'"):
        replace(arm_with('revolute').description.joint('hinge'), kind='helical')


def test_shapes_of_an_unknown_boundary_are_refused():
    bending = Direction('bending_y', 2, 20.0, 1.0, 0.0, np.zeros((2, 2)))
    with pytest.raises(AssertionError, match="unknown boundary 'clamped'"):
        assumed_shapes(bending, 1.0, 2, 'clamped')

"""Constraints from code: those of the URDF of the same arm, and the line about every mistake."""

import numpy as np
import pytest
from refusals import refusal

import flex_robot_sim as frs
from flex_robot_sim.util.exceptions import SettingError

ROWS = ('kind', 'point', 'axis', 'length')


def four_bar():
    """Return a builder of the four-bar with a beam as its coupler."""
    builder = frs.ArmBuilder('four_bar').add_rigid('crank', mass=0.1, centre=(0.1, 0, 0))
    builder.add_rigid('rocker', mass=0.2, centre=(0, 0, 0.2))
    builder.add_beam(
        'coupler', end=(0.3, 0, 0.4), material='steel', section=frs.Rectangle(0.02, 0.004)
    )
    builder.add_joint('crank_joint', parent='base', child='crank', axis='-y', effort=5)
    builder.add_joint(
        'coupler_joint', parent='crank', child='coupler', axis='-y', xyz=(0.2, 0, 0), effort=0
    )
    return builder.add_joint(
        'rocker_joint', parent='base', child='rocker', axis='-y', xyz=(0.5, 0, 0), effort=0
    )


def closed(builder, **others):
    arguments = {
        'type': 'revolute',
        'parent': 'rocker',
        'child': 'coupler',
        'parent_xyz': (0, 0, 0.4),
        'parent_axis': '-y',
        'child_axis': (0, -1, 0),
        **others,
    }
    return builder.add_constraint('coupler_end', **arguments)


def test_a_loop_from_code_is_that_of_the_urdf():
    arm, shipped = closed(four_bar()).build(), frs.load('four_bar')
    for name in ROWS:
        one, other = (getattr(a.arrays, f'constraint_{name}') for a in (arm, shipped))
        assert one == pytest.approx(other, abs=1e-15), name
    assert arm.description.actuated_joint_names == ['crank_joint']
    again = frs.load(closed(four_bar()).to_urdf())
    assert np.array_equal(again.arrays.constraint_point, arm.arrays.constraint_point)


def test_springs_from_code_are_those_of_the_urdf():
    springs = {'stiffness': 3e4, 'damping': 20, 'rotational_stiffness': 9, 'rotational_damping': 1}
    arm = closed(four_bar(), **springs).build()
    assert arm.arrays.constraint_stiffness.tolist() == [3e4] * 3 + [9.0] * 2
    assert arm.arrays.constraint_damping.tolist() == [20.0] * 3 + [1.0] * 2
    again = frs.load(closed(four_bar(), **springs).to_urdf())
    assert np.array_equal(again.arrays.constraint_stiffness, arm.arrays.constraint_stiffness)


def test_an_attached_arm_keeps_its_loops():
    row = frs.ArmBuilder('row')
    for k in range(2):
        row.attach(closed(four_bar()), parent='base', xyz=(0, k, 0), prefix=f'{k}_')
    arm = row.build()
    assert [*arm.closed_loops] == ['0_coupler_end', '1_coupler_end']
    assert frs.Simulation(arm).position == pytest.approx(np.zeros(6), abs=1e-9)


MISTAKES = {
    ('type', 'ball'): 'type = \'ball\' of constraint "coupler_end" is unknown. Known: fixed, '
    'revolute, spherical, universal, prismatic, distance',
    ('type', 'distance'): 'distance constraint "coupler_end" has a parent_axis, which it does '
    'not use. Remove it, or choose another type',
    ('length', 1.0): 'revolute constraint "coupler_end" has a length. Remove length',
    ('parent_axis', None): 'revolute constraint "coupler_end" has no parent_axis. '
    'Give parent_axis',
    ('parent', 'roker'): 'parent = \'roker\' is unknown. Did you mean "rocker"?',
    ('parent_axis', 'w'): "parent_axis = 'w' of constraint \"coupler_end\" must be 'x', 'y', "
    "'z', '-x', ... or three numbers",
    ('child_xyz', 3): 'child_xyz = 3 of constraint "coupler_end" must be three finite numbers [m]',
}


@pytest.mark.parametrize('mistake', MISTAKES)
def test_a_mistake_is_one_line_about_the_argument(mistake):
    argument, value = mistake
    line = refusal(SettingError, closed, four_bar(), **{argument: value})
    assert line.rstrip('.') == MISTAKES[mistake]


def test_a_name_is_used_once():
    assert refusal(SettingError, closed, closed(four_bar())) == (
        'name = "coupler_end": the arm has a constraint of this name. Give another one'
    )

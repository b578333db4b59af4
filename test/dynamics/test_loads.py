"""Forces and moments on links, against the Jacobian from first principles."""

import numpy as np
import pytest
from compare import CASES, arm_of, reference_case
from refusals import refusal

from flex_robot_sim.dynamics.forward_dynamics import inverse_dynamics
from flex_robot_sim.dynamics.loads import Push, make_loads, set_loads
from flex_robot_sim.model.workspace import make_workspace
from flex_robot_sim.util.exceptions import SettingError

pytestmark = pytest.mark.slow

FORCE, MOMENT, POINT = np.array([[3.0, -1.0, 2.0], [0.4, 0.7, -0.2], [0.1, 0.3, -0.2]])


def generalised_forces(arm, q, pushes):
    """Return the generalised forces (n,) of pushes: the change of the static motor forces."""
    work, rest = make_workspace(arm.arrays), np.zeros(arm.size)
    without, force = np.zeros((2, arm.size))
    inverse_dynamics(arm.arrays, q, rest, rest, work, without)
    set_loads(arm.arrays, make_loads(arm, pushes), q, work)
    inverse_dynamics(arm.arrays, q, rest, rest, work, force)
    return without - force


@pytest.mark.long(after=5)
@pytest.mark.parametrize('case', CASES)
@pytest.mark.parametrize('follows', [False, True])
def test_a_push_does_the_work_of_force_and_moment(case, follows):
    sample = reference_case(case)
    for name in sample.arm.frames:
        R = sample.reference.place(sample.q)[0][name][0].real
        turn = np.eye(3) if follows else R.T
        force, moment = turn @ FORCE, turn @ MOMENT
        wrench = np.concatenate([moment + np.cross(POINT, force), force])
        expected = sample.reference.jacobian(sample.q, name).T @ wrench
        found = generalised_forces(
            sample.arm, sample.q, [Push(name, FORCE, MOMENT, POINT, follows)]
        )
        np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-9)


def test_pushes_add_up_and_a_push_on_the_base_has_no_effect():
    sample = reference_case(0)
    first, last = Push(list(sample.arm.frames)[1], FORCE), Push(list(sample.arm.frames)[-1], FORCE)
    separate = [generalised_forces(sample.arm, sample.q, [push]) for push in (first, last)]
    combined = generalised_forces(sample.arm, sample.q, [first, Push('base', FORCE), last])
    np.testing.assert_allclose(combined, sum(separate), rtol=1e-9, atol=1e-9)
    assert not generalised_forces(sample.arm, sample.q, []).any()


def test_an_invalid_push_is_rejected():
    arm = arm_of('<robot name="test"><link name="base"/></robot>')
    vectors = (
        'the push at "base" needs a force [N], a moment [N m] and a point [m] of three finite '
        'numbers each'
    )
    for push, message in (
        (Push('bse', FORCE), 'no link "bse" to push at. Known: base'),
        (Push('base', FORCE, follows=[True]), 'follows = [True] must be True or False'),
        (Push('base', FORCE[:2]), vectors),
        (Push('base', FORCE, [np.nan, 0, 0]), vectors),
        (Push('base', FORCE, MOMENT, [[0, 0, 0]]), vectors),
    ):
        assert refusal(SettingError, make_loads, arm, [push]) == message

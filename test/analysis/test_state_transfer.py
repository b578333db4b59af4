"""State transfer to an arm with other parameters keeps positions and velocities."""

import numpy as np
import pytest
from refusals import refusal

import flex_robot_sim as frs
from flex_robot_sim.analysis.state_transfer import refuse_other_structure, state_map
from flex_robot_sim.description.robot_parameters import with_parameters
from flex_robot_sim.model.assembly import build_arm
from flex_robot_sim.util.exceptions import SettingError


def with_changes(arm, **values):
    return build_arm(
        with_parameters(
            arm.description, {name.replace('__', '.'): value for name, value in values.items()}
        )
    )


def simulate_at(arm, q, qd):
    simulation = frs.Simulation(arm)
    simulation.set_state(q=q, v=qd)
    return simulation


@pytest.fixture(scope='module')
def arm():
    return frs.load('two_link')


@pytest.mark.parametrize('seed', range(3))
@pytest.mark.parametrize(
    'values',
    [
        {'forearm__stiffness': 0.8, 'upper_arm__stiffness': 1.1, 'forearm__damping_ratio': 0.02},
        {'forearm__mass': 1.4, 'tool__mass': 0.7, 'shoulder__coulomb': 0.3},
    ],
)
def test_tips_joints_and_velocities_stay_in_random_moving_states(arm, values, seed):
    rng = np.random.default_rng(seed)
    q, qd = rng.uniform(-0.7, 0.7, arm.size), rng.normal(size=arm.size)
    joints = len(arm.joint_names) + len(arm.motor_names)
    q[joints:] *= 0.02
    qd[joints:] *= 0.2
    other = with_changes(arm, **values)
    to_other = state_map(arm, other)
    before, after = simulate_at(arm, q, qd), simulate_at(other, to_other @ q, to_other @ qd)
    assert after.q[:joints].tolist() == q[:joints].tolist()
    # static shapes and clamped modes span the same shapes for any end load
    assert after.pose('tool') == pytest.approx(before.pose('tool'), abs=1e-9)
    for link in ('upper_arm', 'forearm'):
        assert after.deflection[link] == pytest.approx(before.deflection[link], abs=1e-9)
    twist, other_twist = (frs.twist(sim.arm, sim.q, sim.v, link='tool') for sim in (before, after))
    assert other_twist == pytest.approx(twist, abs=1e-8)


def test_strain_energy_scales_with_stiffness_and_kinetic_energy_stays(arm):
    rng = np.random.default_rng(5)
    q, qd = rng.uniform(-0.5, 0.5, arm.size), rng.normal(size=arm.size)
    joints = len(arm.joint_names) + len(arm.motor_names)
    q[:joints], q[joints:] = 0.0, 0.01 * q[joints:]
    other = with_changes(
        arm,
        forearm__stiffness=0.9,
        forearm__GJ=0.9 * arm.description.beam('forearm').GJ,
        upper_arm__stiffness=0.9,
        upper_arm__GJ=0.9 * arm.description.beam('upper_arm').GJ,
    )
    to_other = state_map(arm, other)
    energy, new = (
        simulate_at(model, *state).energy()
        for model, state in ((arm, (q, qd)), (other, (to_other @ q, to_other @ qd)))
    )
    assert new.kinetic == pytest.approx(energy.kinetic, rel=1e-12)
    assert new.strain == pytest.approx(0.9 * energy.strain, rel=1e-9)


def test_equal_parameters_keep_the_state_exactly(arm):
    assert np.array_equal(state_map(arm, with_changes(arm)), np.eye(arm.size))


@pytest.mark.parametrize(
    'robot, said',
    [
        (
            'single_link',
            'single_link.urdf: is of another structure: of its joints, "waist" is missing.'
            ' Give the same robot with other numbers',
        )
    ],
)
def test_another_structure_is_a_one_line_error(arm, robot, said):
    assert refusal(SettingError, refuse_other_structure, arm, frs.load(robot)).endswith(said)


def test_another_number_of_shapes_is_rejected(arm):
    text = arm.description.text.replace('bending_y="2"', 'bending_y="3"', 1)
    assert text != arm.description.text
    with pytest.raises(SettingError, match='of its shapes, "upper_arm/bending_y_3" is new'):
        refuse_other_structure(arm, frs.load(text))

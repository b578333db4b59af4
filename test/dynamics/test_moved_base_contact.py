"""Contact of an arm whose base moves: against a prescribed joint that carries the base."""

import numpy as np
import pytest
from contact_arms import reaching_arm, slider
from moved_bases import Roll, on_a_joint
from numpy.testing import assert_allclose

import flex_robot_sim as frs

LAW = 'stiffness="2e4" damping="60" friction="0.4"'
BASE = '<collision><geometry><cylinder radius="0.05" length="0.3"/></geometry></collision>'


@pytest.mark.parametrize('axis', [(0, 1, 0), (1, 0, 0), (0.6, 0.0, 0.8)])
@pytest.mark.parametrize(
    ('contact', 'pose'),
    [
        ('tool', [0.15, 0.3]),  # ground and post stay in the world
        ('self', [0.2, np.pi + 0.1]),  # the post of the base moves with it
    ],
)
def test_an_arm_touches_as_on_a_prescribed_joint(contact, pose, axis):
    world = (
        '<ground height="-0.4" friction="0.3"/><obstacle name="post"><origin xyz="0.9 0 -0.45"/>'
    )
    world += '<geometry><box size="0.3 0.4 0.2"/></geometry></obstacle>'
    text, motion = reaching_arm(LAW, world), Roll(axis)
    carried = on_a_joint(text, axis).replace('<link name="base">', f'<link name="base">{BASE}')
    settings = frs.SimulationSettings(iterations=12)  # converged
    moved = frs.Simulation(frs.load(text), settings)
    driven = frs.Simulation(frs.load(carried), settings)
    moved.move_base(motion.base)
    driven.prescribe('roll', motion.drive)
    moved.set_state(moved_pose(moved.arm, pose))
    driven.set_state(moved_pose(driven.arm, pose))
    forces = []
    index = [driven.arm.coordinate_names.index(name) for name in moved.arm.coordinate_names]
    for _ in range(60):
        moved.step(5)
        driven.step(5)
        forces.append(moved.contact(contact).force)
        assert_allclose(moved.q, driven.q[index], rtol=0, atol=1e-9)
        assert_allclose(forces[-1], driven.contact(contact).force, rtol=0, atol=1e-5)
    assert np.abs(forces).max() > 1.0
    assert not moved.reports and not driven.reports


@pytest.mark.parametrize('robot', ['world', 'deck'])
def test_a_ball_on_a_heaving_base_carries_its_weight(robot):
    k, mass, amplitude, w = 1e4, 2.0, 0.3, 2.0
    text = slider(f'stiffness="{k}" damping="500"', mass=mass, joints='z')
    if robot == 'deck':
        deck = '<origin xyz="0 0 -0.5"/><geometry><box size="4 4 1"/></geometry>'
        base = f'<link name="base"><collision>{deck}</collision></link>'
        text = text.replace('<link name="base"/>', base)
        text = text.replace('link="ball"', 'link="ball" with="base"').replace('<ground/>', '')
    sim = frs.Simulation(frs.load(text))
    sim.set_state([0.1 - mass * 9.81 / k])

    def heave(t):
        s, c = amplitude * np.sin(w * t), amplitude * np.cos(w * t)
        return (
            [0, 0, amplitude - c, 0, 0, 0, 1],
            [0, 0, 0, 0, 0, w * s],
            [0, 0, 0, 0, 0, w * w * c],
        )

    sim.move_base(heave)
    for time in np.arange(1.0, 4.0, 0.25):
        sim.advance_to(time)
        acceleration = w * w * amplitude * np.cos(w * (time - sim.settings.time_step / 2))
        weight = mass * (9.81 + (acceleration if robot == 'deck' else 0.0))
        assert sim.contact('tool').force[2] == pytest.approx(weight, rel=1e-3)
        assert abs(sim.energy().balance) < 1e-5 * mass * w * w * amplitude**2
    assert not sim.reports


def moved_pose(arm, pose):
    """Coordinates of an arm whose joints `shoulder` and `elbow` have these positions."""
    q = np.zeros(arm.size)
    for name, value in zip(('shoulder', 'elbow'), pose):
        q[arm.coordinate_names.index(name)] = value
        if f'{name}/motor' in arm.coordinate_names:
            q[arm.coordinate_names.index(f'{name}/motor')] = value
    return q

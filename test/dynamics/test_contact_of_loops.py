"""Contacts of robots with closed loops and mimic joints: against trees, statics and energy."""

import re

import numpy as np
import pytest
from closed_loops import ONE_LOOP, closed_robot, opening
from public_robots import plain_robot
from scipy.spatial.transform import Rotation

import flex_robot_sim as frs

SHAPE = '<collision><origin xyz="{} 0 0"/><geometry><sphere radius="{}"/></geometry></collision>'
MASS = 2.0  # of the body that touches                                                   [kg]
POINTS = '<contact name="tool" link="coupler" stiffness="2e4" {}/><ground height="{}"/>'


def parallelogram(contact='damping="0" friction="0"', has_loop=True, offset=0.0, radius=1e-9):
    """
    Return two parallel bars of 0.5 m that carry a body with a ball, which does not turn.

    The ground is 0.25 m below the hinges. Without the loop, one bar carries the body. It moves
    in the same way, because a force at its hinge has no moment about it.
    """

    def body(name, mass, centre, inertia, shape=''):
        values = ' '.join(f'{axis}="{inertia}"' for axis in ('ixx', 'iyy', 'izz'))
        return (
            f'<link name="{name}"><inertial><origin xyz="{centre} 0 0"/><mass value="{mass}"/>'
            f'<inertia {values} ixy="0" ixz="0" iyz="0"/></inertial>{shape}</link>'
        )

    def hinge(name, parent, child, xyz, kind='continuous', effort=0):
        limit = f'<limit effort="{effort}" velocity="99"/>' if kind == 'continuous' else ''
        return (
            f'<joint name="{name}" type="{kind}"><origin xyz="{xyz}"/><parent link="{parent}"/>'
            f'<child link="{child}"/><axis xyz="0 1 0"/>{limit}</joint>'
        )

    parts = [
        '<link name="base"/>',
        body('bar', 0.3, 0.25, 1e-6),
        hinge('drive', 'base', 'bar', '0 0 0', effort=1e3),
        body('coupler', MASS, 0.0, 0.01 if has_loop else 1e-12, SHAPE.format(offset, radius)),
        hinge('end', 'bar', 'coupler', '0.5 0 0', 'continuous' if has_loop else 'fixed'),
    ]
    if has_loop:
        parts += [
            body('other_bar', 1e-9, 0.25, 1e-15),
            hinge('passive', 'base', 'other_bar', '0 0 0.2'),
            '<constraint name="close" type="revolute"><parent link="coupler"/>'
            '<parent_origin xyz="0 0 0.2"/><parent_axis xyz="0 1 0"/><child link="other_bar"/>'
            '<child_origin xyz="0.5 0 0"/><child_axis xyz="0 1 0"/></constraint>',
        ]
    points = POINTS.format(contact, -0.25 - radius)
    return f'<robot name="bars">{"".join(parts)}<flexibility>{points}</flexibility></robot>'


def closed_and_tree(**options):
    """Return the parallelogram, and the single bar that moves as it does."""
    return [frs.load(parallelogram(has_loop=has_loop, **options)) for has_loop in (True, False)]


def positions(arm, angle):
    """Return positions of the parallelogram, or of the single bar."""
    return [angle, -angle, angle][: arm.size]


@pytest.mark.parametrize('scheme', ['implicit_midpoint', 'rk4', 'reference'])
def test_ball_on_parallel_bars_bounces_like_one_on_a_single_bar(scheme):
    settings = frs.SimulationSettings(time_step=5e-4, scheme=scheme)
    closed, tree = (frs.Simulation(arm, settings) for arm in closed_and_tree())
    touched = 0
    for _ in range(30):
        for sim in (closed, tree):
            sim.advance_to(sim.time + 0.02)
        touched += closed.energy().strain > 0.1
        # the bar of 1e-9 kg that only the parallelogram has
        assert closed.position == pytest.approx(positions(closed.arm, tree.position[0]), abs=1e-8)
    assert touched


def test_models_at_a_pressed_state_are_those_of_the_single_bar():
    closed, tree = closed_and_tree(contact='damping="30" friction="0.5"')
    angle = np.arcsin(0.252 / 0.5)  # 2 mm deep
    at = [(arm, positions(arm, angle)) for arm in (closed, tree)]
    poles, accelerations = [], []
    for arm, q in at:
        poles.append(np.sort_complex(np.linalg.eigvals(frs.linearise(arm, q).A)))
        accelerations.append(frs.forward_dynamics(arm, q)[0])
    assert poles[0] == pytest.approx(poles[1], rel=1e-7)
    assert accelerations[0] == pytest.approx(accelerations[1], rel=1e-7)
    lever = 0.5 * np.cos(angle)
    moment = 9.81 * (MASS * lever + 0.3 * lever / 2) - 2e4 * 0.002 * lever
    inertia = MASS * 0.25 + 0.3 * 0.0625 + 1e-6
    assert accelerations[0] == pytest.approx(moment / inertia, rel=1e-7)
    # the missing force of a motion with these accelerations is zero
    q, a = at[0][1], np.array(positions(closed, accelerations[0]))
    assert abs(frs.inverse_dynamics(closed, q, np.zeros(3), a)[0]) < 1e-6


@pytest.mark.parametrize('torque', [0.0, 5.0])
def test_constraint_force_carries_the_moment_of_the_contact(torque):
    offset = 0.06
    sim = frs.Simulation(frs.load(parallelogram('friction="0" damping="300"', offset=offset)))
    sim.effort = [torque, 0.0, 0.0]
    sim.advance_to(3.0)
    angle, normal = sim.position[0], sim.contact('tool').normal_force
    lever = 0.5 * np.cos(angle)
    weight = 9.81 * (MASS + 0.3 / 2)
    assert normal == pytest.approx(weight + torque / lever, rel=1e-6)
    # the second bar pulls along its axis, 0.2 m above the hinge of the first one
    force = sim.constraint_force('close')[3:]
    assert np.linalg.norm(force) == pytest.approx(
        normal * offset / (0.2 * np.cos(angle)), rel=1e-6
    )


def test_ball_on_parallel_bars_rests_by_friction_without_creep():
    sim = frs.Simulation(frs.load(parallelogram('friction="0.9" damping="300"')))
    sim.advance_to(3.0)
    rest = sim.position.copy()
    for _ in range(10):
        sim.step(1000)
        assert abs(sim.position - rest).max() < 1e-12
    assert sim.energy().kinetic < 1e-20


def test_states_continue_bit_for_bit_and_batches_follow():
    arm = frs.load(parallelogram('friction="0.3" damping="50"'))
    sim, batch = frs.Simulation(arm), frs.Batch([arm, arm])
    sim.step(232)
    other = frs.Simulation(arm)
    other.restore_state(sim.save_state())
    for one in (sim, other):
        one.step(8)
    batch.step(240)
    assert np.array_equal(other.q, sim.q) and np.array_equal(batch.q[1], sim.q)
    forces = np.array(batch.contact('tool').normal_force)
    assert forces[0] == sim.contact('tool').normal_force > 0.0


def with_balls(text, rng):
    """Return a robot whose moving links carry balls, and the ground next to the lowest one."""
    arm = frs.load(text)
    links = [joint.child for joint in arm.description.joints if joint.moves]
    radius, law = (
        0.05,
        f'stiffness="{10 ** rng.uniform(3, 6)}" damping="{10 ** rng.uniform(0, 3)}"',
    )
    ball = f'<collision><geometry><sphere radius="{radius}"/></geometry></collision></link>'
    for link in links:
        text = re.sub(f'(<link name="{link}">.*?)</link>', rf'\g<1>{ball}', text, flags=re.DOTALL)
    lowest = min(frs.pose(arm, np.zeros(arm.size), link=link)[2, 3] for link in links) - radius
    contacts = ''.join(
        f'<contact name="{link}" link="{link}" friction="{rng.uniform(0, 1)}" {law}/>'
        for link in links
    )
    ground = f'<ground height="{lowest + rng.uniform(-0.02, 0.002)}"/>'
    if '</flexibility>' in text:
        return text.replace('</flexibility>', f'{contacts}{ground}</flexibility>')
    return text.replace('</robot>', f'<flexibility>{contacts}{ground}</flexibility></robot>')


@pytest.mark.long(after=3)
@pytest.mark.parametrize('seed', range(40))
def test_random_loops_that_fall_gain_no_energy_and_stay_closed(seed):
    rng = np.random.default_rng([seed, 11])
    kind = ONE_LOOP[seed % len(ONE_LOOP)]
    arm = frs.load(with_balls(closed_robot(seed, kind, damping=seed % 2 == 0), rng))
    step = rng.choice([5e-4, 1e-3, 2e-3])
    sim = frs.Simulation(arm, frs.SimulationSettings(time_step=step))
    last = scale = rise = hits = 0.0
    for number in range(400):
        energy = sim.energy()
        now = energy.kinetic + energy.strain + energy.gravity
        scale = max(scale, energy.kinetic + energy.strain + abs(energy.gravity))
        rise, last = max(rise, now - last) if number else 0.0, now
        hits += any(sim.contact(name).normal_force > 0.0 for name in arm.contacts)
        sim.step()
    assert rise < 1e-12 * scale
    # 1e-12 m in a step; a pose sums the rounding of its joints
    assert abs(np.array(opening(arm, sim.q, 'loop'))).max() < 1e-11
    assert hits or seed > 2


@pytest.mark.parametrize('multiplier', [1.0, 0.4])
def test_fingers_of_a_public_gripper_share_their_force_on_a_post(multiplier):
    force = 20.0  # of the drive of the first finger                                      [N]
    text = plain_robot('panda_description/urdf/panda.urdf')
    text = text.replace(
        '<mimic joint="panda_finger_joint1"/>',
        f'<mimic joint="panda_finger_joint1" multiplier="{multiplier}"/>',
    )
    arm = frs.load(text)
    fingers = ['panda_leftfinger', 'panda_rightfinger']
    pad = '<collision><geometry><sphere radius="0.005"/></geometry></collision></link>'
    for finger in fingers:
        text = re.sub(f'(<link name="{finger}">.*?)</link>', rf'\g<1>{pad}', text, flags=re.DOTALL)
    # a post between the fingers, which touch it when they are open by 0.02 and 0.02 multiplier
    q = np.array([0.3, -0.5, 0.2, -2.0, 0.1, 1.6, 0.8, 0.0, 0.0])  # within the limits
    T = frs.pose(arm, q, link='panda_hand')
    grips = [frs.pose(arm, q, link=finger)[:3, 3] for finger in fingers]
    width = 0.02 * (1.0 + multiplier) - 0.01
    middle = np.mean(grips, axis=0) + T[:3, 1] * 0.01 * (1.0 - multiplier)
    rpy = Rotation.from_matrix(T[:3, :3]).as_euler('xyz')
    numbers = [' '.join(map(str, one)) for one in (middle, rpy)]
    law = 'stiffness="1e5" damping="30"'
    contacts = ''.join(f'<contact name="{one}" link="{one}" {law}/>' for one in fingers)
    post = (
        f'<obstacle name="post"><origin xyz="{numbers[0]}" rpy="{numbers[1]}"/><geometry>'
        f'<box size="0.1 {width} 0.1"/></geometry></obstacle>'
    )
    flexibility = f'<flexibility>{contacts}{post}</flexibility></robot>'
    gripping = frs.load(text.replace('</robot>', flexibility), gravity=(0, 0, 0))
    sim = frs.Simulation(gripping)
    drive = gripping.joint_names.index('panda_finger_joint1')
    start, (stiffness, effort) = q.copy(), np.zeros((2, q.size))
    start[drive], stiffness[:7], effort[drive] = 0.025, 1e11, -force
    sim.set_state(start)
    sim.hold(start, stiffness, damping=0.01 * stiffness)
    sim.effort = effort
    sim.advance_to(1.0)
    # both springs of the contacts are pressed in proportion to the motion of their finger
    first = force / (1.0 + multiplier**2)
    assert sim.contact(fingers[0]).normal_force == pytest.approx(first, rel=1e-6)
    assert sim.contact(fingers[1]).normal_force == pytest.approx(multiplier * first, rel=1e-6)
    assert sim.position[drive] == pytest.approx(0.02 - first / 1e5, rel=1e-6)

"""
Loops that pass singular poses: by momentum, on their branch, without energy from nowhere.

Two linkages reach poses in which all links lie on one line, and from which two branches leave: a
parallelogram, and a slider-crank whose rod is as long as its crank.
"""

import numpy as np
import pytest

import flex_robot_sim as frs

pytestmark = pytest.mark.slow

CRANK, FRAME = 0.2, 0.5  # [m]
SINGULAR = {'parallelogram': 0.0, 'slider': np.pi / 2}  # angle of the crank [rad]


def bar(name, length, mass=0.3):
    inertia = mass * length**2 / 12
    return (
        f'<link name="{name}"><inertial><origin xyz="{length / 2} 0 0"/><mass value="{mass}"/>'
        f'<inertia ixx="1e-4" iyy="{inertia}" izz="{inertia}" ixy="0" ixz="0" iyz="0"/>'
        '</inertial></link>'
    )


def joint(name, parent, child, x, kind='continuous', axis='0 -1 0'):
    limits = ' lower="-5" upper="5"' if kind == 'prismatic' else ''
    return (
        f'<joint name="{name}" type="{kind}"><origin xyz="{x} 0 0"/><parent link="{parent}"/>'
        f'<child link="{child}"/><axis xyz="{axis}"/>'
        f'<limit effort="0" velocity="99"{limits}/></joint>'
    )


def constraint(parent, child, parent_x, child_x):
    return (
        f'<constraint name="loop" type="revolute"><parent link="{parent}"/>'
        f'<parent_origin xyz="{parent_x} 0 0"/><parent_axis xyz="0 -1 0"/>'
        f'<child link="{child}"/><child_origin xyz="{child_x} 0 0"/>'
        '<child_axis xyz="0 -1 0"/></constraint>'
    )


LINKAGES = {
    'parallelogram': [
        *(bar('crank', CRANK), bar('coupler', FRAME), bar('rocker', CRANK)),
        joint('crank_joint', 'base', 'crank', 0.0),
        joint('coupler_joint', 'crank', 'coupler', CRANK),
        joint('rocker_joint', 'base', 'rocker', FRAME),
        constraint('rocker', 'coupler', CRANK, FRAME),
    ],
    'slider': [
        *(bar('crank', CRANK), bar('rod', CRANK), bar('slider', 0.05)),
        joint('crank_joint', 'base', 'crank', 0.0),
        joint('rod_joint', 'crank', 'rod', CRANK),
        joint('slider_joint', 'base', 'slider', 0.0, 'prismatic', '1 0 0'),
        constraint('slider', 'rod', 0.0, CRANK),
    ],
}


def positions(linkage, angle):
    """Joint positions on the branch of a linkage at an angle of its crank."""
    if linkage == 'parallelogram':
        return np.array([angle, -angle, angle])
    return np.array([angle, -2.0 * angle, 2.0 * CRANK * np.cos(angle)])


def velocities(linkage, angle, rate):
    if linkage == 'parallelogram':
        return rate * np.array([1.0, -1.0, 1.0])
    return rate * np.array([1.0, -2.0, -2.0 * CRANK * np.sin(angle)])


def simulation_of(linkage, angle, rate, step, gravity):
    text = '<robot name="linkage"><link name="base"/>' + ''.join(LINKAGES[linkage]) + '</robot>'
    arm = frs.load(text, gravity=gravity)
    simulation = frs.Simulation(arm, frs.SimulationSettings(time_step=step))
    simulation.set_state(positions(linkage, angle), v=velocities(linkage, angle, rate))
    return simulation


def random_passes(count):
    """Linkage, distance to the singular pose in steps, rate of the crank [rad/s], and step [s]."""
    rng = np.random.default_rng(42)
    for k in range(count):
        exact = (0.5, 1.0, 1.5, 2.0, 40.0)[k % 5]  # also poses hit by the middle or end of a step
        steps = exact if k % 2 else rng.uniform(0.5, 5.0)
        yield [*LINKAGES][k // 2 % 2], steps, rng.uniform(0.3, 8.0), 10.0 ** rng.uniform(-4, -2.3)


@pytest.mark.parametrize('gravity', [0.0, 9.81])
@pytest.mark.parametrize(('linkage', 'steps', 'rate', 'step'), [*random_passes(20)])
def test_a_loop_passes_a_singular_pose_on_its_branch(linkage, steps, rate, step, gravity):
    start = SINGULAR[linkage] - steps * rate * step
    simulation = simulation_of(linkage, start, rate, step, (0.0, 0.0, -gravity))
    energy = sum(simulation.energy()[:3])
    for _ in range(int(steps) + 10):
        before = simulation.velocity
        simulation.step()
        assert np.abs(simulation.velocity - before).max() < 0.2 * rate + 200.0 * step  # no jump
        now = sum(simulation.energy()[:3])
        assert now <= energy + 1e-10
        energy = now
        angle = simulation.position[0]
        assert simulation.position == pytest.approx(positions(linkage, angle), abs=1e-6)
    assert simulation.hard_steps[1] == 0
    if gravity == 0.0:
        assert angle > SINGULAR[linkage]


@pytest.mark.parametrize('step', [2e-4, 1e-3, 5e-3])
def test_a_parallelogram_turns_evenly_through_its_singular_poses(step):
    # coupler and cranks have the same inertia in every pose, so that nothing changes the rate
    simulation = simulation_of('parallelogram', -1.0, 3.0, step, (0.0, 0.0, 0.0))
    simulation.advance_to(1.5)
    assert simulation.position == pytest.approx([3.5, -3.5, 3.5], abs=1e-8)
    assert simulation.velocity == pytest.approx([3.0, -3.0, 3.0], abs=1e-8)
    assert simulation.hard_steps == (0, 0)


def test_a_flat_parallelogram_falls_from_rest_as_a_pendulum():
    simulation = simulation_of('parallelogram', 0.0, 0.0, 1e-3, (0.0, 0.0, -9.81))
    start = sum(simulation.energy()[:3])
    simulation.advance_to(0.3)
    angle, rate = simulation.position[0], simulation.velocity[0]
    # two cranks about their ends, and a coupler that does not turn
    inertia = 0.3 * CRANK**2 * (2 / 3 + 1)
    moment = 0.3 * 9.81 * CRANK * 2
    assert 0.5 * inertia * rate**2 == pytest.approx(-moment * np.sin(angle), rel=1e-6)
    assert sum(simulation.energy()[:3]) == pytest.approx(start, abs=1e-9)


PASSED = 'the closed loops reach a singular pose at '


@pytest.mark.parametrize('gravity', [0.0, 9.81])
@pytest.mark.parametrize(('linkage', 'steps', 'rate', 'step'), [*random_passes(8)])
def test_a_singular_pose_is_reported_once_with_its_time(linkage, steps, rate, step, gravity):
    steps += 3.0 + round(0.02 / (rate * step))  # from poses that are not singular
    start = SINGULAR[linkage] - steps * rate * step
    simulation = simulation_of(linkage, start, rate, step, (0.0, 0.0, -gravity))
    passed = 0
    while simulation.position[0] < SINGULAR[linkage] and passed < 400:
        simulation.step()
        passed += 1
    simulation.step(10)
    (line,) = [one for one in simulation.reports if one.startswith(PASSED)]
    time = float(line.removeprefix(PASSED).split(' s: ')[0])
    assert time == pytest.approx(passed * step, abs=2.1 * step)


@pytest.mark.parametrize('turn', [0.0, 1.0])
def test_a_parallelogram_keeps_its_rate_where_a_step_ends_in_a_singular_pose(turn, monkeypatch):
    # rows across and along the links, or both oblique
    turned = constraint('rocker', 'coupler', CRANK, FRAME).replace(
        'parent_origin', f'parent_origin rpy="0 {turn} 0"', 1
    )
    monkeypatch.setitem(LINKAGES, 'parallelogram', [*LINKAGES['parallelogram'][:-1], turned])
    rng = np.random.default_rng(7)
    for _ in range(24):
        rate, step, steps = rng.uniform(0.3, 8.0), 10.0 ** rng.uniform(-4.0, -2.3), rng.integers(9)
        start = -float(steps + 1) * rate * step
        simulation = simulation_of('parallelogram', start, rate, step, (0.0, 0.0, 0.0))
        simulation.step(int(steps) + 6)
        assert simulation.velocity == pytest.approx(rate * np.array([1, -1, 1]), rel=1e-5)

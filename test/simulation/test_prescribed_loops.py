"""Prescribed drives, motor efforts and schemes of arms with closed loops."""

import numpy as np
import pytest
from closed_loops import ONE_LOOP, closed_robot, opening
from refusals import refusal

import flex_robot_sim as frs
from flex_robot_sim.util.exceptions import SettingError, SimulationError

pytestmark = pytest.mark.slow


def crank_motion(t):
    return 0.2 + 0.5 * np.sin(3 * t) ** 2, 1.5 * np.sin(6 * t)


def gap(simulation, name='coupler_end'):
    return np.abs(opening(simulation.arm, simulation.q, name)).max()


def rigid_rocker_drive():
    """Text of the four-bar without flexibility, with the motor at its rocker."""
    text, _, _ = frs.read_description('four_bar').text.partition('<flexibility>')
    text = text.replace('effort="5"', 'effort="0"') + '</robot>'
    head, name, tail = text.partition('<joint name="rocker_joint"')
    return head + name + tail.replace('effort="0"', 'effort="5"')


def test_the_efforts_of_a_prescribed_crank_drive_the_same_motion():
    prescribed, driven = (frs.Simulation(frs.load('four_bar')) for _ in range(2))
    for simulation in (prescribed, driven):
        simulation.set_state([0.2, 0.0, 0.0])
    prescribed.prescribe('crank_joint', crank_motion)
    for _ in range(100):
        prescribed.step()
        driven.effort = prescribed.mean_effort
        driven.step()
        assert prescribed.position[0] == crank_motion(prescribed.time)[0]
        assert gap(prescribed) < 1e-12
    assert driven.position == pytest.approx(prescribed.position, abs=1e-5)
    assert abs(prescribed.energy().balance) < 1e-4 * prescribed.energy().work


@pytest.mark.slow
@pytest.mark.parametrize('seed', range(6))
def test_the_same_holds_for_any_joint_of_random_loops(seed):
    arm = frs.load(closed_robot(seed, ONE_LOOP[seed % len(ONE_LOOP)]))
    prescribed, driven = frs.Simulation(arm), frs.Simulation(arm)
    row = seed % len(arm.joint_names)
    start = prescribed.q[arm.motor_q[row]]
    prescribed.prescribe(
        arm.joint_names[row], lambda t: (start + 0.05 * np.sin(5 * t) ** 2, 0.25 * np.sin(10 * t))
    )
    for _ in range(30):
        prescribed.step()
        driven.effort = prescribed.mean_effort
        driven.step()
    assert gap(prescribed, 'loop') < 1e-12
    assert driven.q == pytest.approx(prescribed.q, abs=1e-6)


def test_followed_samples_move_the_loop_as_a_prescribed_crank_does():
    times = 1e-3 * np.arange(31)
    position, velocity, effort = np.zeros((3, 31, 3))
    position[:, 0], velocity[:, 0] = crank_motion(times)
    prescribed, followed = (frs.Simulation(frs.load('four_bar')) for _ in range(2))
    for simulation in (prescribed, followed):
        simulation.set_state([0.2, 0.0, 0.0])
    prescribed.prescribe('crank_joint', crank_motion)
    prescribed.step(30)
    followed.follow(position, velocity, effort)
    assert followed.q == pytest.approx(prescribed.q, abs=1e-12)
    assert (
        effort[-1] == pytest.approx(prescribed.mean_effort, abs=1e-9) and not effort[-1, 1:].any()
    )


def test_a_motion_that_the_loop_cannot_follow_stops_at_the_dead_point():
    arm = frs.load(rigid_rocker_drive())
    simulation = frs.Simulation(arm)
    assert arm.actuated.tolist() == [False, False, True]
    simulation.prescribe('rocker_joint', lambda t: (2 * t, 2.0))
    line = refusal(SimulationError, simulation.step, 600)
    assert line.startswith(
        'the loops cannot follow the prescribed motion: constraint "coupler_end" does not close: '
    )
    # crank and coupler in line: the distance from crank to rocker tip is 0.5 - 0.2 m
    dead_point = np.arcsin((0.5**2 + 0.4**2 - 0.3**2) / (2 * 0.5 * 0.4))
    assert simulation.position[2] == pytest.approx(dead_point, abs=2e-3)
    assert simulation.time == pytest.approx(dead_point / 2, abs=1e-3) and gap(simulation) < 1e-12
    simulation = frs.Simulation(arm)
    line = refusal(SettingError, simulation.prescribe, 'rocker_joint', lambda t: (1.5, 0.0))
    tip = [0.5 - 0.4 * np.sin(1.5), 0.4 * np.cos(1.5)]
    left = 0.5 - 0.2 - np.hypot(*tip)
    assert line.startswith(
        'the loops cannot follow "rocker_joint": constraint "coupler_end" does not close: '
        f'{left:.3g} m are left'
    )
    assert not simulation.position.any()
    times = 1e-3 * np.arange(600)[:, None] * [0.0, 0.0, 1.0]
    line = refusal(SimulationError, simulation.follow, 2 * times, np.sign(times) * 2)
    assert line.startswith('the loops cannot follow the drives at sample 464: constraint "')
    assert gap(simulation) < 1e-12


def test_a_new_state_keeps_prescribed_drives_on_their_motion_and_loops_closed():
    simulation = frs.Simulation(frs.load('four_bar'))
    simulation.prescribe('crank_joint', crank_motion)
    simulation.set_state([-0.4, 0.0, 0.0])
    assert simulation.position[0] == 0.2 and gap(simulation) < 1e-12


def test_passive_joints_take_no_efforts_gains_and_motions():
    simulation = frs.Simulation(frs.load('four_bar'))
    passive = 'must be 0: it is passive'
    for values in ([0.1, 0.2, 0.0], [0.0, 0.2, 0.3]):
        with pytest.raises(SettingError, match=f'effort of joint "coupler_joint" {passive}'):
            simulation.effort = values
    simulation.effort[2] = 0.1
    assert refusal(SettingError, simulation.step) == f'effort of joint "rocker_joint" {passive}'
    simulation.effort = 0.0, 0.0, 0.0
    line = refusal(SettingError, simulation.hold, [0.0] * 3, [1.0, 0.0, 0.0], [0.0, 0.0, 1.0])
    assert line == f'damping of joint "rocker_joint" {passive}'
    simulation.hold([0.3, 9.0, 9.0], stiffness=20.0, damping=1.0)  # one number: the crank
    simulation.advance_to(1.0)
    assert simulation.position[0] == pytest.approx(0.3, abs=0.05)
    assert not simulation.applied_effort[1:].any()
    line = refusal(SettingError, simulation.prescribe, 'rocker_joint', crank_motion)
    assert line == 'joint "rocker_joint" is passive: it has no drive to prescribe'


@pytest.mark.parametrize(
    'scheme, step, tolerance',
    [('implicit_midpoint', 1e-4, 1e-6), ('rk4', 1e-4, 1e-9), ('semi_implicit_euler', 5e-5, 5e-5)],
)
def test_all_schemes_agree_with_the_reference(scheme, step, tolerance):
    position = []
    for name, length in (('reference', 1e-3), (scheme, step)):
        settings = frs.SimulationSettings(scheme=name, time_step=length)
        simulation = frs.Simulation(frs.load('four_bar'), settings)
        simulation.set_state(v=[5.0, 0.0, 0.0])
        simulation.advance_to(0.02)
        assert gap(simulation) < 1e-12
        position.append(simulation.q)
    assert position[1] == pytest.approx(position[0], abs=tolerance)


def test_two_prescribed_joints_are_too_many_for_one_degree_of_freedom():
    text = frs.read_description('four_bar').text.replace('effort="0"', 'effort="5"')
    simulation = frs.Simulation(frs.load(text))
    simulation.prescribe('crank_joint', lambda t: (t, 1.0))
    line = refusal(SettingError, simulation.prescribe, 'rocker_joint', lambda t: (0.0, 0.0))
    assert line.startswith('the loops cannot follow "rocker_joint": v opens the constraint')
    simulation.step(5)  # the first one goes on
    assert simulation.position[0] == pytest.approx(0.005)
    assert gap(simulation) < 1e-12

"""Drives: limits, prescribed motions, moving targets, springs; and queries during a run."""

import threading

import numpy as np
import pytest
from arms import beam, flexibility, joint, link, robot
from refusals import refusal

import flex_robot_sim as frs
from flex_robot_sim import read_description
from flex_robot_sim.model.assembly import build_arm
from flex_robot_sim.simulation.simulation import Simulation
from flex_robot_sim.util.exceptions import SettingError
from flex_robot_sim.util.settings import SimulationSettings

INERTIA = 1 / 6 + 2 * 0.25  # of the link of arms.py about the hinge                [kg m2]


LIMIT = '<limit lower="-9" upper="9" effort="10" velocity="2"/>'


def hinge(flexible='', kind='revolute', gravity=(0.0, 0.0, 0.0), **settings):
    arm = build_arm(
        read_description(
            robot(
                joint(kind=kind, inside=f'<axis xyz="0 1 0"/>{LIMIT}'),
                link(),
                *([flexibility(flexible)] if flexible else []),
            )
        ),
        gravity=gravity,
    )
    return Simulation(arm, SimulationSettings(**settings))


def test_a_servo_respects_the_joint_limits_if_enabled():
    simulation = hinge(drive_limits=True)
    simulation.hold([5.0], 1e5, 10.0)
    simulation.advance_to(0.1)
    assert simulation.mean_effort == pytest.approx([10.0])
    assert simulation.velocity == pytest.approx([10.0 * 0.1 / INERTIA], rel=1e-9)
    simulation.advance_to(0.5)
    # where the drive no longer pushes
    assert 2.0 < simulation.velocity[0] < 2.0 * 1.02 * (1 + 1e-9)


def test_a_released_drive_moves_while_another_one_stays_prescribed():
    simulation = Simulation(frs.load('two_link'))
    for name in ('waist', 'elbow'):
        simulation.prescribe(name, lambda t: (0.1 * t, 0.1))
    simulation.step(10)
    simulation.prescribe('waist')
    simulation.effort = [5.0, 0.0, 0.0]
    simulation.step(200)
    # 5 N m turn the waist, with less than 1 kg m2, by more than 0.5 * 5 * 0.2^2 rad
    assert simulation.motor_position[0] > 0.1
    assert simulation.motor_position[2] == pytest.approx(0.1 * simulation.time, rel=1e-12)


@pytest.mark.parametrize('scheme', ['implicit_midpoint', 'rk4', 'reference'])
def test_the_effort_of_a_prescribed_motion_is_that_of_the_inverse_dynamics(scheme):
    simulation = hinge(gravity=(0.0, 0.0, -9.81), scheme=scheme)
    simulation.prescribe('hinge', lambda t: (0.4 * np.sin(3 * t), 1.2 * np.cos(3 * t)))
    for _ in range(20):
        simulation.step(25)
        t = simulation.time
        assert simulation.position == pytest.approx([0.4 * np.sin(3 * t)], abs=1e-12)
        assert simulation.velocity == pytest.approx([1.2 * np.cos(3 * t)], abs=1e-12)
        middle = t - 5e-4
        expected = -INERTIA * 3.6 * np.sin(3 * middle) - 2 * 9.81 * 0.5 * np.cos(
            0.4 * np.sin(3 * middle)
        )
        # a step has one acceleration; explicit schemes report the effort at an edge of the step
        assert simulation.mean_effort == pytest.approx(
            [expected], abs=1e-3 if scheme == 'implicit_midpoint' else 2e-2
        )
    simulation.prescribe('hinge')
    speed = simulation.velocity
    simulation.step()
    assert simulation.velocity == pytest.approx(speed, abs=0.05)


def test_a_recorded_motion_of_the_motor_side_swings_the_link_behind_its_gear():
    flexible = '<joint name="hinge" stiffness="200" rotor_inertia="0.01"/>'
    simulation = hinge(flexible)
    times = np.linspace(0.0, 1.0, 21)
    simulation.prescribe('hinge', (times, 0.3 * (1 - np.cos(np.pi * times)) / 2))
    simulation.advance_to(1.0)
    work = simulation.energy().work
    simulation.advance_to(3.0)
    assert simulation.motor_position == pytest.approx([0.3], abs=1e-12)
    # a drive at rest does no work
    assert simulation.energy().work == pytest.approx(work, abs=1e-12)
    # the motion deviates from the spline within each step
    assert abs(simulation.energy().balance) < 1e-4 * work
    swing = []
    for _ in range(400):
        simulation.step()
        swing.append(simulation.position[0] - 0.3)
    turns = np.flatnonzero(np.diff(np.sign(swing)))
    period = 2e-3 * np.diff(turns).mean()
    assert 2 * np.pi / period == pytest.approx(np.sqrt(200 / INERTIA), rel=0.02)


def test_an_invalid_motion_is_refused():
    simulation = hinge()
    for motion in ([1.0, 2.0], ([0.0, 0.0], [1.0, 2.0]), ([0.0, 1.0], [1.0, np.nan]), 3):
        assert refusal(SettingError, simulation.prescribe, 'hinge', motion) == (
            'the motion of "hinge" must be a function of time or a pair of arrays of one length: '
            'times that rise [s], positions [rad]'
        )
    assert refusal(SettingError, simulation.prescribe, 'hinge', lambda t: np.nan) == (
        'the motion of "hinge" at 0 s must be a finite position [rad] and velocity [rad/s]'
    )
    assert refusal(SettingError, simulation.prescribe, 'knee', None) == (
        'no joint "knee" moves. Known: hinge'
    )


def test_a_servo_damps_against_the_rate_of_its_target():
    simulation = hinge()
    simulation.set_state(v=[0.7])
    for _ in range(500):
        simulation.hold([0.7 * simulation.time], 50.0, 20.0, [0.7])
        simulation.step()
    # it starts on the moving target, which is held during a step at its value in the middle
    assert simulation.position == pytest.approx([0.7 * simulation.time], abs=0.7 * 1e-3)
    assert simulation.velocity == pytest.approx([0.7], abs=1e-3)


def test_a_spring_across_a_joint_swings_it_without_a_motor():
    simulation = hinge('<joint name="hinge" spring_stiffness="30" spring_reference="0.2"/>')
    simulation.set_state([0.5])
    simulation.advance_to(1.0)
    rate = np.sqrt(30 / INERTIA)
    assert simulation.position == pytest.approx([0.2 + 0.3 * np.cos(rate)], abs=1e-5)
    assert simulation.energy().strain + simulation.energy().kinetic == pytest.approx(1.35)
    (frequency,) = frs.frequencies(simulation.arm, joints='free')
    assert frequency == pytest.approx(rate / (2 * np.pi), rel=1e-9)


def test_a_payload_that_makes_the_step_unstable_is_refused_without_effect():
    light = '<section EIz="30"/><modes bending_y="1" bending_z="0" torsion="0"/>'
    arm = build_arm(read_description(robot(joint(), link(), flexibility(beam(light)))))
    simulation = Simulation(arm, SimulationSettings(scheme='rk4', time_step=2e-3))
    simulation.hold([0.0], 2e4, 0.0)
    energy = simulation.energy()
    simulation.set_payload('arm', 2.0)
    with pytest.raises(SettingError, match='too long for rk4'):
        simulation.hold([0.0], 2e8, 0.0)
    simulation.set_payload('arm', 0.0)
    assert simulation.energy().kinetic == energy.kinetic


@pytest.mark.slow
def test_queries_during_motion_change_nothing():
    def final_coordinates(with_queries):
        simulation = Simulation(frs.load('two_link'))
        simulation.set_state([0.3, -0.4, 0.8])
        end, results = threading.Event(), []

        def query():
            while not end.is_set():
                results.append(
                    (
                        simulation.pose('tool'),
                        simulation.energy(),
                        simulation.jacobian('tool'),
                        simulation.wrench('elbow'),
                        simulation.twist('tool'),
                    )
                )

        thread = threading.Thread(target=query)
        if with_queries:
            thread.start()
        simulation.step(20000)
        end.set()
        if with_queries:
            thread.join()
            assert results
        return simulation.q

    np.testing.assert_array_equal(final_coordinates(True), final_coordinates(False))


def free_hinge(place=0.0, rate=0.0):
    """Kinetic and potential energy of the hinge of arms.py [J]."""
    return 0.5 * INERTIA * rate**2 + 2 * 9.81 * 0.5 * np.sin(-place)


def jump(place, time, before, where):
    return (
        f'the motion of "hinge" is at {place:g} rad at {time:g} s, where {before} {where:g} '
        'rad: the drive jumps. Prescribe a motion that goes on from there'
    )


DOWN = (0.0, 0.0, -9.81)


def test_a_motion_that_starts_elsewhere_is_reported_and_counted_as_work():
    simulation = hinge(gravity=DOWN)
    simulation.prescribe('hinge', lambda t: (0.4, 0.0))
    assert simulation.reports == [jump(0.4, 0, 'its drive is at', 0)]
    # only gravity acts, along a turn about y
    energy = simulation.energy()
    assert energy.work == pytest.approx(free_hinge(0.4) - free_hinge(), rel=1e-12)
    assert abs(energy.balance) < 1e-12 * abs(energy.work)
    simulation.step(100)
    assert len(simulation.reports) == 1 and simulation.position == pytest.approx([0.4], abs=0)


@pytest.mark.parametrize('scheme', ['implicit_midpoint', 'rk4'])
def test_a_jump_of_a_motion_is_reported_once_and_counted_as_work(scheme):
    simulation = hinge(gravity=DOWN, scheme=scheme)
    simulation.prescribe(
        'hinge', lambda t: (0.0 if t < 0.0995 else 0.5 if t < 0.1995 else 0.1, 0.0)
    )
    simulation.step(150)
    assert simulation.reports == [jump(0.5, 0.1, 'its velocity leads to', 0)]
    assert simulation.energy().work == pytest.approx(free_hinge(0.5) - free_hinge(), rel=1e-9)
    simulation.step(100)
    assert len(simulation.reports) == 1
    assert simulation.energy().work == pytest.approx(free_hinge(0.1) - free_hinge(), rel=1e-9)
    assert abs(simulation.energy().balance) < 1e-9


def test_an_inconsistent_velocity_is_reported_once_and_counted_as_work():
    simulation = hinge(gravity=DOWN)
    simulation.prescribe('hinge', lambda t: (0.5 * t, 0.0))
    simulation.step(500)
    assert simulation.reports == [jump(0.0005, 0.001, 'its velocity leads to', 0)]
    assert simulation.position == pytest.approx([0.25], rel=1e-12)
    assert simulation.energy().work == pytest.approx(free_hinge(0.25) - free_hinge(), rel=1e-9)


def test_a_new_state_has_its_prescribed_drives_on_their_motion():
    def course(t):
        return 0.2 * np.sin(t), 0.2 * np.cos(t)

    simulation = hinge('<joint name="hinge" stiffness="200" rotor_inertia="0.01"/>')
    simulation.prescribe('hinge', course)
    simulation.step(500)
    assert simulation.reports == []
    simulation.set_state([-0.3])
    place, rate = course(0.5)
    assert simulation.reports == [jump(float(f'{place:.6g}'), 0.5, 'its drive was put to', -0.3)]
    for position, velocity in (
        (simulation.motor_position, simulation.motor_velocity),
        (simulation.position, simulation.velocity),
    ):  # straight
        assert position == pytest.approx([place], abs=1e-15)
        assert velocity == pytest.approx([rate], abs=1e-15)
    assert simulation.energy().strain == 0.0
    simulation.step(300)
    assert simulation.motor_position == pytest.approx([course(0.8)[0]], abs=1e-12)
    # the drive turns a load of 0.7 kg m2 by 0.06 rad; midpoints err by h2 of that
    assert abs(simulation.energy().balance) < 1e-6


def test_smooth_motions_and_those_with_kinks_are_no_jumps():
    for course in (
        lambda t: (0.3 * np.sin(300 * t), 90 * np.cos(300 * t)),  # 20 steps a turn
        lambda t: (max(0.0, 0.5 * (t - 0.1)), 0.5 * (t > 0.1)),  # its rate jumps
        lambda t: (max(0.0, 0.5 * (t - 0.0997)), 0.5 * (t > 0.0997)),
    ):
        simulation = hinge()
        simulation.prescribe('hinge', course)
        simulation.step(200)
        assert simulation.reports == []
        # the energy of the initial jump in rate also counts
        energy = simulation.energy()
        assert abs(energy.balance) < 1e-9 * max(1.0, energy.kinetic)


def test_jumps_of_samples_are_counted_as_work():
    simulation = hinge(gravity=DOWN)
    simulation.follow([[0.1]] + 5 * [[0.1]] + 5 * [[0.4]], np.zeros((11, 1)))
    energy = simulation.energy()
    assert energy.work == pytest.approx(free_hinge(0.4) - free_hinge(), rel=1e-9)
    assert abs(energy.balance) < 1e-9


def test_the_applied_effort_respects_the_velocity_limit():
    simulation = hinge(drive_limits=True)
    # its limit is 2 rad/s, and its torque fades over 2 % of that
    for rate, share in ((1.0, 1.0), (2.0, 1.0), (2.02, 0.5), (2.5, 0.0), (-2.5, 1.0)):
        simulation.set_state(v=[rate])
        simulation.hold([0.0], 0.0, 0.0)
        simulation.effort = [8.0]
        assert simulation.applied_effort == pytest.approx([8.0 * share], rel=1e-9)
        simulation.effort = [0.0]
        simulation.hold([1.0], 0.0, 2.0, [rate + 4.0])
        assert simulation.applied_effort == pytest.approx([8.0 * share], rel=1e-9)
        simulation.effort = [80.0]
        assert simulation.applied_effort == pytest.approx([10.0 * share], rel=1e-9)
    simulation.set_state(v=[2.5])
    simulation.step()
    assert simulation.velocity == pytest.approx([2.5]) and not simulation.mean_effort.any()
    simulation.reset()
    assert not simulation.applied_effort.any() and not simulation.mean_effort.any()

"""Integration schemes against scipy, the energy balance, and their theory."""

import re
from math import floor, log2, pi, sqrt

import numpy as np
import pytest
from arms import beam, flexibility, joint, link, robot
from moving_arms import WEIGHTLESS, clamped_arm, swinging_arm
from scipy.integrate import solve_ivp

from flex_robot_sim import read_description
from flex_robot_sim.analysis.natural_modes import frequencies
from flex_robot_sim.analysis.statics import equilibrium
from flex_robot_sim.dynamics.forward_dynamics import forward_dynamics
from flex_robot_sim.dynamics.loads import Push
from flex_robot_sim.dynamics.stability import longest_step
from flex_robot_sim.model.assembly import build_arm
from flex_robot_sim.model.workspace import make_workspace
from flex_robot_sim.simulation.simulation import Simulation
from flex_robot_sim.util.exceptions import SettingError, SimulationError
from flex_robot_sim.util.settings import SimulationSettings

EFFORT = np.array([3.0, -2.0])
EXPLICIT = ('rk4', 'semi_implicit_euler', 'forward_euler')
ORDERS = {'implicit_midpoint': 2, 'rk4': 4, 'semi_implicit_euler': 1, 'forward_euler': 1}


def released(arm, step, scheme, **more):
    """Return a Simulation that starts bent and moving, with an effort."""
    simulation = Simulation(arm, SimulationSettings(time_step=step, scheme=scheme, **more))
    q, qd = start(arm)
    simulation.set_state(q=q, v=qd)
    simulation.effort = EFFORT[: len(arm.joint_names)]
    return simulation


def start(arm):
    """Coordinates and rates (n,) of a fast initial state."""
    rng = np.random.default_rng(3)
    q, qd = rng.uniform(-1, 1, (2, arm.size)) * 0.02
    q[:2], qd[:2] = [0.4, -0.3], [1.0, -0.7]
    return q, qd


def geared_arm():
    """Return an arm with damping, which forward_euler needs, and gears, to include motors."""
    gear = 'stiffness="400" damping="3" rotor_inertia="1" gear_ratio="1"'
    return swinging_arm(damping='0.02', friction='0.3', gear=gear)


def integrate_with_scipy(arm, seconds):
    """Coordinates (n,) after a time, by the eighth-order Dormand-Prince scheme of scipy."""
    n, work, qdd = arm.size, make_workspace(arm.arrays), np.zeros(arm.size)

    def slopes(_, state):
        forward_dynamics(arm.arrays, state[:n].copy(), state[n:].copy(), EFFORT, work, qdd)
        return np.concatenate([state[n:], qdd])

    return solve_ivp(
        slopes, (0.0, seconds), np.concatenate(start(arm)), method='DOP853', rtol=1e-12, atol=1e-13
    ).y[:n, -1]


@pytest.mark.slow
@pytest.mark.parametrize(
    'scheme, iterations, steps',
    [
        ('implicit_midpoint', 2, 1600),
        ('implicit_midpoint', 9, 800),
        ('rk4', 2, 800),
        ('semi_implicit_euler', 2, 3200),
        ('forward_euler', 2, 6400),
    ],
)
def test_orders_of_convergence(scheme, iterations, steps):
    arm = geared_arm()
    truth, errors = integrate_with_scipy(arm, 0.5), []
    for count in (steps, 2 * steps):
        simulation = released(arm, 0.5 / count, scheme, iterations=iterations)
        simulation.step(count)
        errors.append(np.abs(simulation.q - truth).max())
    # the next error term is 2 % of the first at these steps, which is 0.03 in the order
    assert log2(errors[0] / errors[1]) == pytest.approx(ORDERS[scheme], abs=0.04)
    assert errors[1] < 2e-3


@pytest.mark.parametrize('steps', [250, 1000])
def test_a_step_iterates_until_its_truncation_error_dominates(steps):
    arm = geared_arm()
    truth, ends = integrate_with_scipy(arm, 0.5), []
    for iterations in (2, 12):
        simulation = released(arm, 0.5 / steps, 'implicit_midpoint', iterations=iterations)
        simulation.step(steps)
        ends.append(simulation.q)
    # two iterations leave a small part of the error of the midpoint rule (T43)
    assert np.abs(ends[0] - ends[1]).max() < 0.05 * np.abs(ends[1] - truth).max()


@pytest.mark.slow
def test_torsion_and_stretch_at_kilohertz_do_not_limit_the_midpoint_step():
    arm = swinging_arm(
        modes='<modes bending_y="2" bending_z="2" torsion="2" stretch="2"/>',
        section='EA="2e8" GJ="9e3"',
    )
    assert (frequencies(arm) > 2000).sum() >= 4  # a step of 1 ms is more than two periods
    simulation = released(arm, 1e-3, 'implicit_midpoint')
    # stretched by the rotation; the start of the other tests would store 100 kJ
    simulation.set_state(q=[0.4, -0.3], v=[1.0, -0.7])
    scale = 0.0
    for _ in range(20):
        simulation.step(500)
        energy = simulation.energy()
        scale = max(scale, energy.kinetic, energy.strain, abs(energy.work))
        # second order at a third of the fastest bending period: an oscillating scheme would be
        # far above its initial energy after these ten thousand steps
        assert abs(energy.balance) < 0.01 * scale


ONE_MODE = (
    '<section EIz="30"/><modes bending_y="1" bending_z="0" torsion="0" boundary="free"/>'
    '<damping ratio="{}"/>'
)
RATE = 1.8751040687**2 * sqrt(30 / 2)  # of a clamped beam, EI 30 N m2, 2 kg/m, 1 m [rad/s]


@pytest.mark.parametrize('scheme, edge', [('rk4', 2 * sqrt(2)), ('semi_implicit_euler', 2.0)])
def test_a_step_too_long_for_an_undamped_beam_is_rejected(scheme, edge):
    arm, longest = clamped_arm(ONE_MODE.format(0)), edge / RATE
    # the limit of rk4 permits a growth of 1e-9 per step, which shifts it by some 1e-9
    assert longest_step(arm.arrays, scheme) == pytest.approx(longest, rel=1e-7)
    with pytest.raises(SettingError) as caught:
        Simulation(arm, SimulationSettings(time_step=0.5, scheme=scheme))
    step = floor(longest * 1e3) / 1e3  # rounded down, so the printed value is accepted
    assert str(caught.value) == (
        f'time_step = 0.5 s is too long for {scheme}: with straight '
        'links, in the poses looked at, the longest step that works is '
        f'{step:.3g} s'
    )
    Simulation(arm, SimulationSettings(time_step=step, scheme=scheme))


def test_forward_euler_works_with_damping_only():
    undamped, damped = (clamped_arm(ONE_MODE.format(ratio)) for ratio in (0, 0.05))
    with pytest.raises(SettingError) as caught:
        Simulation(undamped, SimulationSettings(time_step=1e-6, scheme='forward_euler'))
    assert str(caught.value) == (
        'time_step = 1e-06 s is too long for forward_euler: no step '
        'works, because some mode is undamped'
    )
    assert longest_step(damped.arrays, 'forward_euler') == pytest.approx(0.1 / RATE, rel=1e-7)


def test_a_servo_too_stiff_for_the_step_is_rejected():
    # a rigid arm of 2/3 kg m2 behind a spring and a damper
    arm = build_arm(read_description(robot(link(), joint())), gravity=WEIGHTLESS)
    inertia = 1 / 6 + 2 * 0.25
    simulation = Simulation(arm, SimulationSettings(time_step=0.02, scheme='semi_implicit_euler'))
    simulation.hold([0.0], 100.0, 0.0)
    with pytest.raises(SettingError) as caught:
        simulation.hold([1.0], 1e5, 0.0)
    longest = floor(2e5 / sqrt(1e5 / inertia)) / 1e5
    assert str(caught.value) == (
        'time_step = 0.02 s is too long for semi_implicit_euler: with '
        'straight links, in the poses looked at, the longest step that '
        f'works is {longest:.3g} s'
    )
    # the previous hold is unchanged
    assert simulation.applied_effort == pytest.approx([0.0])
    simulation.set_state(q=[0.1])
    assert simulation.applied_effort == pytest.approx([-10.0])


def geared_and_damped():
    """One joint with a gear and friction, and two links with all kinds of deflection."""
    modes = '<modes bending_y="2" bending_z="1" torsion="1" stretch="1"/><damping ratio="0.03"/>'
    section = '<section EIy="60" EIz="90" GJ="10" EA="1e4"/>'
    return build_arm(
        read_description(
            robot(
                joint(inside='<axis xyz="0 0 1"/><dynamics damping="2" friction="0.5"/>'),
                link(),
                joint('elbow', 'fixed', 'arm', 'forearm', '<origin xyz="1 0 0" rpy="0 1 0"/>'),
                link('forearm'),
                flexibility(
                    beam(section + modes),
                    beam(section + modes, name='forearm'),
                    '<joint name="hinge" stiffness="900" damping="4" rotor_inertia="0.1" '
                    'gear_ratio="1"/>',
                ),
            )
        ),
        gravity=WEIGHTLESS,
    )


@pytest.mark.long
@pytest.mark.parametrize('scheme', EXPLICIT)
def test_the_longest_step_is_stable_and_a_longer_one_is_not(scheme):
    arm = geared_and_damped()
    step, sizes = longest_step(arm.arrays, scheme), []
    for share in (0.999, 1.05):
        simulation = Simulation(arm, SimulationSettings(time_step=0.9 * step, scheme=scheme))
        simulation._simulated.step_settings.time_step[0] = share * step  # without its check
        # small enough for a linear response
        simulation.set_state(v=1e-9 * np.random.default_rng(1).normal(size=arm.size))
        try:
            simulation.step(100000)
            sizes.append(np.abs(simulation.v).max())
        except SimulationError:
            sizes.append(np.inf)
    # rates start at 1e-9; an unstable mode grows by at least 1e-4 per step
    assert sizes[0] < 5e-9
    assert sizes[1] > 1e-6


def test_a_rigid_arm_without_springs_has_no_step_limit():
    # a rigid arm has no highest frequency
    arm = build_arm(read_description(robot(link(), joint())), gravity=WEIGHTLESS)
    for scheme in EXPLICIT:
        assert longest_step(arm.arrays, scheme) == np.inf
        simulation = Simulation(arm, SimulationSettings(time_step=1.0, scheme=scheme))
        simulation.set_state(v=[2.0])
        simulation.step(10)
        assert simulation.position == pytest.approx([20.0], rel=1e-14)


@pytest.mark.slow
@pytest.mark.parametrize('robot_name, steps', [('two_link', 14000), ('dual_screw_arm', 11000)])
def test_energy_adds_up_to_1e_8_in_a_second(robot_name, steps):
    arm = build_arm(read_description(robot_name))
    n = len(arm.joint_names)
    pose, speed = np.array([0.0, 0.52, 2.09, 0.52])[:n], np.array([0.5, 0.3, -0.2, 0.4])[:n]
    push = Push('tool', force=(1.0, 2.0, 3.0), moment=(0.0, 0.0, 0.1), point=(0.1, 0.0, 0.0))
    rest = equilibrium(arm, pose, pushes=[push])
    simulation = Simulation(arm, SimulationSettings(time_step=1 / steps, scheme='rk4'))
    # it starts in static equilibrium: a jolt would excite modes of kHz, which need shorter steps
    simulation.set_state(q=rest.q, v=_rates(arm, speed))
    simulation.effort = rest.effort
    simulation.hold(pose, [20.0, 20.0, 5.0, 0.1][:n], [0.1, 0.1, 0.01, 1e-3][:n])
    simulation.push(*push)
    scale = 0.0
    for _ in range(10):
        simulation.step(steps // 10)
        energy = simulation.energy()
        scale = max(scale, energy.kinetic + energy.strain)
    assert not simulation.reports
    # steps of half the limit: rounding and the fifth order of the local error leave 1e-10
    assert abs(energy.balance) < 1e-8 * scale
    assert abs(energy.work) > 0.1 * scale


def _rates(arm, speed):
    rates = np.zeros(arm.size)
    rates[arm.motor_q] = rates[: speed.size] = speed
    return rates


@pytest.mark.slow
def test_the_midpoint_does_not_drift_in_a_minute():
    # undamped spatial motion of more than 1 rad; ten iterations converge completely
    arm = swinging_arm(modes='<modes bending_y="2" bending_z="2" torsion="1"/>')
    simulation = Simulation(arm, SimulationSettings(iterations=10))
    simulation.set_state(q=[0.4, -0.3], v=[1.0, -0.7])
    errors, largest, times = [], 0.0, np.arange(600) * 0.1
    for _ in times:
        simulation.step(100)
        energy = simulation.energy()
        errors.append(energy.balance)
        largest = max(largest, energy.kinetic + energy.strain)
    trend = np.polyfit(times, errors, 1)[0] * 60
    # the error oscillates with the motion; the drift of a minute is below its amplitude
    assert abs(trend) < np.ptp(errors) / 3
    # the motion is chaotic, so the energy at a single time is no measure
    assert np.ptp(errors) < 5e-3 * largest


@pytest.mark.parametrize('scheme, is_reported', [('forward_euler', True), ('rk4', False)])
def test_energy_gain_of_an_explicit_scheme_is_reported_once(scheme, is_reported):
    # a pendulum has no spring, so no step is rejected; its amplitude is a twentieth of a radian
    hinge = joint(kind='continuous', inside='<axis xyz="0 1 0"/>')
    arm = build_arm(read_description(robot(link(), hinge)), gravity=(0.0, 0.0, -9.81))
    simulation = Simulation(arm, SimulationSettings(time_step=5e-3, scheme=scheme))
    square = 2 * 9.81 * 0.5 / (1 / 6 + 2 * 0.25)  # of its rate
    simulation.set_state([pi / 2 + 0.05])
    simulation.step(1000)
    assert len(simulation.reports) == is_reported
    if is_reported:
        found = re.fullmatch(
            r'by (\S+) s forward_euler has made (\S+) J out of nothing: '
            r'time_step = 0.005 s is too long for it here. Take a shorter one, '
            r'or the scheme implicit_midpoint',
            simulation.reports[0],
        )
        time, gain = map(float, found.groups())
        # each Euler step multiplies the energy of the oscillation by 1 + (omega h)^2
        grown = 0.5 * 2 * 9.81 * 0.5 * 0.05**2 * ((1 + square * 5e-3**2) ** (time / 5e-3) - 1)
        # small-angle error (0.05 rad)^2 / 16; the message has three digits
        assert gain == pytest.approx(grown, rel=5e-3)


def test_a_step_too_long_for_joints_in_their_stops_is_reported():
    bounded = joint(
        kind='revolute',
        inside='<axis xyz="0 1 0"/><limit lower="-1" upper="1" effort="9" velocity="9"/>',
    )
    arm = build_arm(read_description(robot(link(), bounded)), gravity=WEIGHTLESS)
    # stops have 40 Hz; rk4 is stable up to h omega = sqrt(8) without damping, and
    # never up to 1.3 times that
    edge = sqrt(8.0) / (2 * pi * 40)
    assert Simulation(arm, SimulationSettings(time_step=0.99 * edge, scheme='rk4')).reports == []
    simulation = Simulation(arm, SimulationSettings(time_step=1.3 * edge, scheme='rk4'))
    (report,) = simulation.reports
    assert report.startswith(
        f'time_step = {1.3 * edge:g} s is too long for rk4 where joints '
        'lean on their stops, even without damping: it takes '
    )
    # 1/4096 of the damping remains; three digits
    assert float(report.split()[-5]) == pytest.approx(edge, rel=5e-3)
    simulation.reset()
    assert simulation.reports == [report]

"""The measured frequency of the links, on a closed-form oscillator and on arms with payloads."""

import numpy as np
import pytest
from scipy.signal import lsim

import flex_robot_sim as frs
from flex_robot_sim.feedback.frequency_monitor import FrequencyMonitor
from flex_robot_sim.feedback.lqg import Lqg
from flex_robot_sim.feedback.lqg_design import design_lqg
from flex_robot_sim.feedback.simulated_sensors import sensor_feedback
from flex_robot_sim.model.arm_model import with_stiffness
from flex_robot_sim.motion.joint_motion import minimum_jerk_motion
from flex_robot_sim.simulation.rollout import rollout

PERIOD = 2e-3
PAYLOAD = 0.15  # of single_link, in addition to a tip mass of 0.1                  [kg]


def oscillator(frequency, motion, ratio=0.01):
    """Response of s'' + 2 z w s' + w^2 s = -q'' to base motions (t, joints), by SciPy."""
    rate = 2 * np.pi * frequency
    base = motion.sum(axis=1)
    times = PERIOD * np.arange(len(base))
    acceleration = np.gradient(np.gradient(base, PERIOD), PERIOD)
    system = ([-1.0], [1.0, 2 * ratio * rate, rate**2])
    return lsim(system, acceleration, times)[1]


@pytest.mark.parametrize('noise', [0.0, 1e-2])
@pytest.mark.parametrize('frequency', [1.2, 1.8, 2.6])
def test_frequency_of_an_oscillator_on_a_moving_base_is_found(frequency, noise):
    random = np.random.default_rng(3)
    times = PERIOD * np.arange(2500)
    shares = [np.clip((times - begin) / 0.35, 0.0, 1.0) for begin in (0.5, 2.5)]
    steps = np.array([10 * u**3 - 15 * u**4 + 6 * u**5 for u in shares]).T
    motion = steps @ np.array([[0.4, -0.1], [-0.2, 0.3]])
    strain = oscillator(frequency, motion) + 0.1
    strain += noise * np.ptp(strain) * random.standard_normal(strain.size)
    monitor = FrequencyMonitor(1.8, 2, PERIOD)
    for value, position in zip(strain, motion):
        monitor.update(value, position)
    assert monitor.frequency == pytest.approx(frequency, rel=0.01 if noise == 0.0 else 0.03)
    assert abs(monitor.frequency - frequency) < max(4 * monitor.std, 0.01 * frequency)


def test_noise_alone_gives_no_frequency():
    random, monitor = np.random.default_rng(4), FrequencyMonitor(2.0, 1, PERIOD)
    for value in random.standard_normal(2500):
        monitor.update(value, np.zeros(1))
    assert not monitor.std < 0.01 * 2.0


def moved(arm, law, seconds=6.0):
    """Distance of the tip from its goal after a move, over that at the start, and times."""
    simulation, goal = frs.Simulation(arm), np.array([0.6])
    motion = minimum_jerk_motion(np.zeros(1), goal, duration=0.8, begin=0.1)
    simulation.set_state(q=goal)
    there = simulation.pose('tool')[:3, 3]
    simulation.set_state(q=np.zeros(1))

    def control(seen):
        if not law.is_on:
            law.start(seen.position, effort=np.zeros(1))
        return law.update(seen.position, seen.velocity, seen.curvature, motion.sample(seen.time))

    log = rollout(
        simulation,
        duration=seconds,
        controller=sensor_feedback(arm, control),
        record={'tip': lambda simulation: simulation.pose('tool')[:3, 3]},
        **law.design.loop._asdict(),
    )
    away = np.linalg.norm(log.tip - there, axis=1)
    return log.time, away / away[0]


@pytest.fixture(scope='module')
def single_link():
    arm = frs.load('single_link')
    return arm, design_lqg(arm, [0.0], period=5e-3, delay=50e-3, modes=1)


@pytest.mark.slow
def test_a_payload_that_the_design_does_not_know_is_reported_and_designed_for(single_link, caplog):
    arm, design = single_link
    loaded, law = frs.with_payload(arm, 'tool', PAYLOAD), Lqg(arm, design)
    time, away = moved(loaded, law)
    assert law.frequency == pytest.approx(frs.frequencies(loaded)[0], rel=0.01)
    assert law.payload('tool') == pytest.approx(PAYLOAD, rel=0.05)
    assert caplog.messages == [law.warning]
    assert law.warning.startswith(f'the links vibrate at {law.frequency:.2g}')
    assert 'redesigned("<its link>")' in law.warning
    better = law.redesigned('tool')
    _, away_then = moved(loaded, better)
    late = time > 0.9 + 1 / frs.frequencies(loaded)[0]
    assert away_then[late].max() < 0.02 and away_then[late].max() < 0.5 * away[late].max()
    assert better.warning == ''


@pytest.mark.slow
@pytest.mark.parametrize('factor', [0.82, 1.0, 1.22])
def test_a_stiffness_within_the_range_of_the_design_is_not_reported(single_link, factor):
    arm, design = single_link
    law = Lqg(arm, design)
    moved(with_stiffness(arm, factor), law, 4.0)
    assert law.warning == ''


@pytest.mark.slow
@pytest.mark.parametrize('mass, warns', [(0.0, False), (0.6, True)])
def test_an_arm_with_two_bending_planes_is_reported_with_a_heavy_payload_only(mass, warns):
    arm = frs.load('two_link')
    axes = [[0.0], [0.2, 0.7, 1.2], [-2.0, -1.2, -0.4]]
    law = Lqg(arm, design_lqg(arm, axes, period=4e-3, delay=4e-3))
    plant = frs.with_payload(arm, 'tool', mass)
    start, goal = np.array([0.0, 0.2, -0.5]), np.array([0.5, 1.1, -1.9])
    motion = minimum_jerk_motion(start, goal, duration=1.0, begin=0.1)
    rest, simulation = frs.equilibrium(plant, start), frs.Simulation(plant)
    simulation.set_state(q=rest.q)
    law.start(start, effort=rest.effort)

    def control(seen):
        return law.update(seen.position, None, seen.curvature, motion.sample(seen.time))

    for force in ((0.0, 0.5, 0.5), (0.0, 0.0, 0.0)):
        simulation.push('tool', force=force)
        loop = sensor_feedback(plant, control)
        rollout(simulation, duration=1.6, controller=loop, **law.design.loop._asdict())
    assert bool(law.warning) == warns


@pytest.mark.slow
def test_without_gauges_or_motion_no_frequency_is_known(single_link):
    arm, _ = single_link
    law = Lqg(arm, design_lqg(arm, [0.0], period=5e-3, delay=50e-3, modes=1, sensors='encoders'))
    with pytest.raises(frs.SettingError, match='^the frequency of the links is not known yet'):
        law.payload('tool')

"""PD and computed torque: errors in closed form, plants and dynamics of Pinocchio."""

import numpy as np
import pytest
from project_files import ROOT
from refusals import refusal
from scipy.integrate import solve_ivp

import flex_robot_sim as frs
from flex_robot_sim.control import ComputedTorque, PdControl, design_servo
from flex_robot_sim.feedback import Measurement, measure

UR5 = ROOT / 'examples' / 'ur5.urdf'
GENEROUS = np.full(6, 1e9)


@pytest.fixture(scope='module')
def ur5():
    """The arm, and its Pinocchio model."""
    pin = pytest.importorskip('pinocchio')
    model = pin.buildModelFromUrdf(str(UR5))
    return frs.load(str(UR5)), pin, model, model.createData()


def moving(t):
    """Reference within all joint limits: positions, velocities, accelerations (3, 6)."""
    size, w = np.linspace(0.2, 0.5, 6), np.linspace(1.0, 2.0, 6)
    return np.array([size * np.sin(w * t), size * w * np.cos(w * t), -size * w**2 * np.sin(w * t)])


def test_errors_of_computed_torque_are_those_of_oscillators(ur5):
    arm, pin, model, data = ur5
    frequency, ratio = np.linspace(0.8, 2.0, 6), np.linspace(0.3, 0.8, 6)
    law = ComputedTorque(
        arm, reference=moving, frequency=frequency, damping_ratio=ratio, limits=GENEROUS
    )
    e, de = np.random.default_rng(3).uniform(-0.3, 0.3, (2, 6))

    def rate(t, x):
        effort = law.step(Measurement(t, x[:6], x[6:]))
        return np.concatenate([x[6:], pin.aba(model, data, x[:6], x[6:], effort)])

    times = np.linspace(0.0, 1.0, 11)
    start = np.concatenate([moving(0.0)[0] - e, moving(0.0)[1] - de])
    found = solve_ivp(rate, (0.0, 1.0), start, t_eval=times, rtol=1e-9, atol=1e-10).y[:6].T
    w = 2 * np.pi * frequency
    damped = w * np.sqrt(1 - ratio**2)
    for t, q in zip(times, found):
        error = np.exp(-ratio * w * t) * (
            e * np.cos(damped * t) + (de + ratio * w * e) / damped * np.sin(damped * t)
        )
        np.testing.assert_allclose(moving(t)[0] - q, error, atol=1e-6)


def test_pd_holds_the_weight_that_pinocchio_computes(ur5):
    arm, pin, model, data = ur5
    random = np.random.default_rng(4)
    stiffness, damping = random.uniform(1.0, 50.0, (2, 6))
    for _ in range(10):
        target, position, velocity = random.uniform(-2.0, 2.0, (3, 6))
        law = PdControl(arm, reference=target, gains=(stiffness, damping), limits=GENEROUS)
        expected = (
            pin.computeGeneralizedGravity(model, data, target)
            + stiffness * (target - position)
            - damping * velocity
        )
        np.testing.assert_allclose(
            law.step(Measurement(0.0, position, velocity)), expected, rtol=1e-9, atol=1e-9
        )


def test_elastic_arm_follows_a_slow_motion_by_computed_torque():
    arm = frs.load('two_link')
    motion = frs.planning.minimum_jerk_motion([0.0, 0.5, -0.8], [0.3, 0.8, -0.5], duration=1.0)
    law, simulation = ComputedTorque(arm, reference=motion, frequency=1.0), frs.Simulation(arm)
    simulation.set_state(frs.equilibrium(arm, [0.0, 0.5, -0.8]).q)
    errors = []
    for _ in range(1000):
        simulation.effort = law.step(measure(simulation))
        simulation.step()
        errors.append(simulation.position - motion.sample(simulation.time)[0])
    # links bend and move the joints
    assert np.abs(errors).max() < 0.05


@pytest.mark.parametrize(
    'line, act',
    {
        'reference must be 3 finite positions, or positions, velocities and accelerations (3, '
        '3), in this order: waist, shoulder, elbow': lambda arm: PdControl(
            arm, reference=[0.0], gains=(1.0, 1.0)
        ),
        'damping must be >= 0': lambda arm: PdControl(arm, reference=[0.0] * 3, gains=(1.0, -1.0)),
        'frequency must be 3 finite numbers, in this order: waist, shoulder, elbow': lambda arm: (
            ComputedTorque(arm, reference=[0.0] * 3, frequency=[1.0, 2.0])
        ),
        'velocity must be 3 finite numbers, in this order: waist, shoulder, elbow': lambda arm: (
            ComputedTorque(arm, reference=[0.0] * 3).step(Measurement(0.0, [0.0] * 3))
        ),
        'limits must be > 0, one per joint': lambda arm: ComputedTorque(
            arm, reference=[0.0] * 3, limits=[1.0, 1.0, 0.0]
        ),
        'frequency = -1.0 must be above 0 and finite': lambda arm: design_servo(
            arm, frequency=-1.0
        ),
        'delay = 0.005 must be 0 or the period of 0.001 s': lambda arm: design_servo(
            arm, period=1e-3, delay=5e-3
        ),
    }.items(),
)
def test_mistake_is_one_line(act, line):
    assert refusal(frs.SettingError, act, frs.load('two_link')) == line

"""Designed laws on plants that share no code with the package: finite elements, two masses."""

from functools import cache

import numpy as np
import pytest
from arms import flexibility, joint, link, robot
from hub_beam import HubBeam, clamped_frequencies
from refusals import refusal
from scipy.integrate import solve_ivp
from scipy.linalg import expm, solve_discrete_are

import flex_robot_sim as frs
from flex_robot_sim.feedback import (
    Lqg,
    Lqr,
    Measurement,
    StrainFeedback,
    design_damping,
    design_lqg,
    measure,
    sensor_feedback,
)
from flex_robot_sim.util.share import shipped_robots

SERVO = 60.0, 0.18  # first mode: 0.5 % damping
PERIOD = 1e-3
WANTED = 0.2  # damping ratio of the first mode


@pytest.fixture(scope='module')
def arm():
    """The arm with three modes; the second one of two modes is a third too fast."""
    text = shipped_robots()['single_link'].read_text('utf-8')
    return frs.load(text.replace('bending_y="2"', 'bending_y="3"'))


@cache
def damping_design(arm, kind):
    return design_damping(arm, [0.0], gains=SERVO, kind=kind, damping_ratio=WANTED)


@pytest.fixture(scope='module')
def lqg(arm):
    return design_lqg(arm, [0.0], period=5e-3, delay=5e-3)


def swing_of_pushed_beam(law, seconds=2.5):
    """Tip deflections after a push of 50 ms; efforts act one period late."""
    plant, effort, rows = HubBeam(PERIOD), 0.0, []
    for k in range(round((0.5 + seconds) / PERIOD)):
        t = k * PERIOD
        measured = Measurement(t, plant.position, plant.velocity, plant.curvature)
        new = -SERVO[0] * plant.position[0] - SERVO[1] * plant.velocity[0]
        if law is not None:
            new += law.step(measured)[0]
        plant.step(effort, 0.2 if 0.5 <= t < 0.55 else 0.0)
        effort = new
        if t >= 0.55:
            rows.append(plant.bending)
    return np.array(rows)


def decay_rate(swing, periods):
    """Decay rate [1/s] of a vibration, from its peak in each period of the first mode."""
    count = round(1 / clamped_frequencies()[0] / PERIOD)
    peaks = [np.abs(swing[k * count : (k + 1) * count]).max() for k in range(periods)]
    return -np.polyfit(count * PERIOD * np.arange(periods), np.log(peaks), 1)[0]


@pytest.mark.slow
@pytest.mark.parametrize('kind', ['strain', 'ppf'])
def test_finite_elements_get_the_damping_of_the_design(arm, kind):
    design = damping_design(arm, kind)
    assert design.damping_ratio > 0.95 * WANTED and design.warning == ''
    swing = swing_of_pushed_beam(StrainFeedback(arm, design))
    first = 2 * np.pi * frs.modes(arm, [0.0], gains=SERVO).frequencies[0]
    assert decay_rate(swing_of_pushed_beam(None), 4) < 0.01 * first
    slow = design.poles_after[
        (design.poles_after.imag > 0.0) & (np.abs(design.poles_after) < 3 * first)
    ]
    assert (-slow.real / np.abs(slow) > 0.95 * WANTED).all()
    # the mode and its filter beat; the envelope decays about as fast as the slower one
    assert 0.8 < decay_rate(swing, 4) / -slow.real.max() < 1.4


def test_lqg_moves_finite_elements_and_leaves_them_at_rest(arm, lqg):
    motion = frs.planning.minimum_jerk_motion([0.0], [0.4], duration=0.8, begin=0.2)
    law, plant, effort, rows = Lqg(arm, lqg, reference=motion), HubBeam(5e-3), 0.0, []
    for k in range(600):
        new = law.step(Measurement(5e-3 * k, plant.position, curvature=plant.curvature))[0]
        plant.step(effort)
        effort = new
        rows.append((plant.position[0], plant.bending))
    hub, bending = np.array(rows).T
    assert np.abs(hub[400:] - 0.4).max() < 2e-3
    assert np.abs(bending[400:]).max() < 0.02 * np.abs(bending).max()
    assert np.abs(bending).max() > 5e-3


@pytest.mark.parametrize('kind', ['strain', 'lqg'])
def test_reset_law_repeats_its_efforts(arm, lqg, kind):
    is_lqg = kind == 'lqg'
    law = Lqg(arm, lqg) if is_lqg else StrainFeedback(arm, damping_design(arm, kind))
    random = np.random.default_rng(2)
    samples = [
        Measurement(
            5e-3 * k, 0.1 * random.standard_normal(1), np.zeros(1), random.standard_normal(2)
        )
        for k in range(50)
    ]
    first = [law.step(sample) for sample in samples]
    law.reset()
    again = [law.step(sample) for sample in samples]
    np.testing.assert_array_equal(again, first)
    assert np.ptp(first) > 0.0


# two masses: a drive behind an elastic gear
LINK, ROTOR, SPRING, RATTLE = 0.4, 0.05, 30.0, 0.01
A = np.block(
    [
        [np.zeros((2, 2)), np.eye(2)],
        [
            np.array([[-SPRING / LINK, SPRING / LINK], [SPRING / ROTOR, -SPRING / ROTOR]]),
            np.array([[-RATTLE / LINK, RATTLE / LINK], [RATTLE / ROTOR, -RATTLE / ROTOR]]),
        ],
    ]
)
B = np.array([[0.0], [0.0], [0.0], [1 / ROTOR]])


@pytest.fixture(scope='module')
def two_masses():
    """Arm with the coordinates of the link, then of the motor."""
    text = robot(
        joint('hinge', inside='<axis xyz="0 0 1"/>'),
        link(mass=1.0, centre='0 0 0', inertia=(LINK,) * 3),
        flexibility(
            f'<joint name="hinge" stiffness="{SPRING}" damping="{RATTLE}" '
            f'rotor_inertia="{ROTOR}"/>'
        ),
    )
    return frs.load(text, gravity=(0.0, 0.0, 0.0))


def sampled(period):
    step = expm(period * np.block([[A, B], [np.zeros((1, 5))]]))
    return step[:4, :4], step[:4, 4:]


def test_gain_is_that_of_the_riccati_equation_of_two_masses(two_masses):
    Q, R = np.diag([100.0, 3.0, 0.5, 0.2]), np.array([[0.7]])
    law = Lqr(two_masses, [0.0], period=2e-3, state_cost=Q, effort_cost=R)
    Ad, Bd = sampled(2e-3)
    X = solve_discrete_are(Ad, Bd, Q, R)
    np.testing.assert_allclose(
        law.gain, np.linalg.solve(R + Bd.T @ X @ Bd, Bd.T @ X @ Ad), rtol=1e-6, atol=1e-8
    )


@pytest.mark.parametrize('bandwidth', [0.5, 1.0, None])
def test_two_masses_come_to_rest_as_fast_as_the_poles_say(two_masses, bandwidth):
    law = Lqr(two_masses, [0.0], period=2e-3, bandwidth=bandwidth)
    Ad, Bd = sampled(2e-3)
    values = np.linalg.eigvals(Ad - Bd @ law.gain)
    slowest = -np.log(np.abs(values).max()) / 2e-3
    assert -law.poles.real.max() == pytest.approx(slowest, rel=1e-6)
    x, start = np.array([0.1, -0.05, 0.0, 0.3]), np.hypot(0.1, 0.05)
    seconds = 8 / slowest
    for k in range(round(seconds / 2e-3)):
        u = law.step(Measurement(2e-3 * k, q=x[:2], v=x[2:]))
        if k % 50 == 0:  # the integrator of SciPy if it is cheap, otherwise exact steps
            x = solve_ivp(lambda t, y, u=u: A @ y + B @ u, (0, 2e-3), x, rtol=1e-10, atol=1e-14).y[
                :, -1
            ]
        else:
            x = Ad @ x + Bd @ u
    assert np.linalg.norm(x[:2]) < 0.02 * start
    free = np.sqrt(SPRING * (1 / LINK + 1 / ROTOR)) * RATTLE / SPRING / 2  # without a law
    rate = np.abs(law.poles[np.abs(law.poles.imag) > 0.0])
    assert (-law.poles.real[np.abs(law.poles.imag) > 0.0] / rate > 5 * free).all()


def test_lqr_holds_a_bent_arm_with_weight_in_its_nonlinear_simulation():
    arm, pose = frs.load('two_link'), np.array([0.0, 0.5, -0.8])
    law, rest = Lqr(arm, pose), frs.equilibrium(arm, pose)
    simulation = frs.Simulation(arm)
    simulation.set_state(rest.q)
    controller, away = sensor_feedback(arm, law.step), []
    simulation.push('tool', force=(2.0, 2.0, 2.0))
    for k in range(1500):
        if k == 50:
            simulation.push('tool')
        simulation.effort = np.asarray(controller(simulation.time, simulation))
        simulation.step()
        away.append(np.linalg.norm(simulation.q - rest.q))
    assert max(away) > 0.01 and away[-1] < 0.1 * max(away)


def test_measurement_of_a_simulation_has_its_sensors():
    arm = frs.load('two_link')
    simulation = frs.Simulation(arm)
    random = np.random.default_rng(5)
    q, v = 0.1 * random.standard_normal((2, arm.size))
    simulation.set_state(q, v)
    measured = measure(simulation)
    np.testing.assert_array_equal(measured.position, simulation.motor_position)
    np.testing.assert_allclose(measured.curvature, [*frs.curvatures(arm, q).values()])
    np.testing.assert_array_equal((measured.q, measured.v), (q, v))


@pytest.mark.parametrize(
    'line, act',
    {
        'q must be 1 finite numbers, in this order: motor': lambda arm: Lqr(arm, [0.0, 1.0]),
        'bandwidth = 600.0 must be > 0 and below a quarter of the 1000 samples per second '
        '[Hz]': lambda arm: Lqr(arm, [0.0], bandwidth=600.0),
        'effort_cost must be a symmetric matrix (1, 1); give state_cost and effort_cost, or '
        'none of them': lambda arm: Lqr(arm, [0.0], state_cost=np.eye(8)),
        'no regulator was found for these costs: effort_cost must be positive definite, and '
        'state_cost positive semidefinite': lambda arm: Lqr(
            arm, [0.0], state_cost=np.eye(8), effort_cost=[[-1.0]]
        ),
        'limits must be > 0, one per joint': lambda arm: Lqr(arm, [0.0], limits=[0.0]),
        'measurement = [0.0] must be a flex_robot_sim.feedback.Measurement': lambda arm: Lqr(
            arm, [0.0]
        ).step([0.0]),
        'q must be 4 finite numbers, in this order: motor, arm/bending_y_1, arm/bending_y_2, '
        'arm/bending_y_3': lambda arm: Lqr(arm, [0.0]).step(Measurement(0.0, [0.0], [0.0])),
        'curvature must be 2 finite numbers, one per flex sensor [1/m]': lambda arm: Lqg(
            arm, design_lqg(arm, [0.0])
        ).step(Measurement(0.0, [0.0], curvature=[1.0])),
        'reference must be 1 finite positions, or positions, velocities and accelerations (3, '
        '1), in this order: motor': lambda arm: Lqg(
            arm, design_lqg(arm, [0.0]), reference=[0.0, 1.0]
        ),
        'reference at 0.5 s must be 1 finite positions, or positions, velocities and '
        'accelerations (3, 1), in this order: motor': lambda arm: Lqg(
            arm, design_lqg(arm, [0.0]), reference=lambda t: [np.nan]
        ).step(Measurement(0.5, [0.0], curvature=[0.0, 0.0])),
        "stiffness_range = 'wide' must be two factors, the one > 0 and at most 1, the other "
        'at least 1': lambda arm: design_lqg(arm, [0.0], stiffness_range='wide'),
        'gains must be (stiffness, damping)': lambda arm: design_damping(arm, [0.0], gains=60.0),
    }.items(),
)
def test_mistake_is_one_line(arm, act, line):
    assert refusal(frs.SettingError, act, arm) == line

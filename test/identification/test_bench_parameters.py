"""Parameters of a bench, against closed forms."""

import numpy as np
import pytest
from refusals import refusal

import flex_robot_sim as frs
from flex_robot_sim.identification.fit import Problem, solve
from flex_robot_sim.identification.log_file import Column, Log
from flex_robot_sim.identification.parameters import unknowns_of
from flex_robot_sim.identification.prediction import Setup, tilted
from flex_robot_sim.identification.sequences import make_data_set
from flex_robot_sim.util.exceptions import UsageError

GRAVITY, MASS, RADIUS = (0.0, 0.0, -9.81), 0.4, 0.3
RATE = 200.0  # of the logs [Hz]


def make_pendulum():
    """Return a point mass that turns about the y axis of the base."""
    builder = frs.ArmBuilder('pendulum')
    builder.add_rigid('rod', mass=MASS, centre=(0.0, 0.0, -RADIUS))
    builder.add_joint('turn', parent='base', child='rod', axis=(0, 1, 0), effort=5.0)
    return builder.build(gravity=GRAVITY)


def test_tilted_gravity_is_that_of_rotation_matrices():
    roll, pitch, yaw = 0.3, -0.2, 0.5
    c, s = np.cos([roll, pitch, yaw]), np.sin([roll, pitch, yaw])
    x = np.array([[1, 0, 0], [0, c[0], -s[0]], [0, s[0], c[0]]])
    y = np.array([[c[1], 0, s[1]], [0, 1, 0], [-s[1], 0, c[1]]])
    z = np.array([[c[2], -s[2], 0], [s[2], c[2], 0], [0, 0, 1]])
    expected = (z @ y @ x).T @ GRAVITY
    np.testing.assert_allclose(tilted(GRAVITY, (roll, pitch, yaw)), expected, atol=1e-12)


@pytest.mark.parametrize('pitch', [0.05, -0.12])
def test_pitch_of_a_pendulum_follows_from_its_static_torque(pitch):
    # efforts hold the pendulum against gravity at every angle of a slow motion
    time = np.arange(0.0, 6.0, 1 / RATE)
    w, size = 2 * np.pi * 0.25, 0.4
    q = size * (1 - np.cos(w * time))
    inertia = MASS * RADIUS**2 * size * w**2 * np.cos(w * time)
    effort = inertia + MASS * 9.81 * RADIUS * np.sin(q + pitch)
    columns = {'position/turn': Column(time, q), 'effort/turn': Column(time, effort)}
    robot = make_pendulum()
    data = make_data_set([Log('slow', columns, [])], robot)
    unknowns = unknowns_of(robot, data, ['base.pitch'])
    problem = Problem(Setup(robot.description, data, gravity=GRAVITY), unknowns)
    found = problem.values(solve(problem, problem.initial_point()).z)
    assert found['base.pitch'] == pytest.approx(pitch, abs=2e-4)


def make_gauge_data():
    """Return data of a moved strip whose gauges read noise."""
    time, random = np.arange(0.0, 3.0, 1 / RATE), np.random.default_rng(2)
    robot = frs.load('single_link')
    columns = {'position/motor': 0.3 * np.sin(5 * time)}
    for name in ('arm/root', 'arm/tip'):
        columns[name] = np.sin(9 * time) + 0.01 * random.standard_normal(time.size)
    log = Log('strip', {name: Column(time, row) for name, row in columns.items()}, [])
    return robot, make_data_set([log], robot)


def test_terms_of_gauges_are_those_of_a_formula_and_their_slopes_differences():
    robot, data = make_gauge_data()
    free = ['gains', 'crosstalk', 'rate_sign']
    unknowns = unknowns_of(robot, data, free)
    problem = Problem(Setup(robot.description, data, time_step=5e-3), unknowns)
    z = np.random.default_rng(4).uniform(-0.3, 0.3, problem.size)
    values, (table,) = problem.values(z), problem.simulated(z)
    rate = 1.5 * np.cos(5 * data.sequences[0].time)
    is_fast = np.abs(rate) > 0.1
    for k, (name, other) in enumerate((('arm/root', 1), ('arm/tip', 0))):
        expected = (
            values[f'{name}.gain'] * table[:, k]
            + values[f'{name}.crosstalk'] * table[:, other]
            + values[f'{name}.rate_sign'] * np.sign(rate)
            + values[f'{name}.offset']
        )
        found = problem.read([table], z)[:, k]
        np.testing.assert_allclose(found[is_fast], expected[is_fast], rtol=1e-9)
    slopes = problem.slopes(z)
    for k in range(len(unknowns)):
        step = np.zeros(problem.size)
        step[k] = 1e-5
        difference = (problem.read([table], z + step) - problem.read([table], z - step)) / 2e-5
        np.testing.assert_allclose(slopes[:, :, k], difference, atol=1e-8)


def test_gauges_have_their_gains_in_the_default_set():
    robot, data = make_gauge_data()
    paths = {unknown.path for unknown in unknowns_of(robot, data)}
    assert {'arm/root.gain', 'arm/tip.gain'} <= paths


@pytest.mark.parametrize(
    'word, line',
    {
        'cable': '--free cable: the fit needs logged efforts: log effort/JOINT, or leave it out.',
        'motor.torque_constant': '"motor.torque_constant" drops out where the measured motion '
        'drives the arm. Log effort/motor, or leave it out.',
    }.items(),
)
def test_drive_terms_without_efforts_are_refused(word, line):
    robot, data = make_gauge_data()
    assert refusal(UsageError, unknowns_of, robot, data, [word]) == line


def test_tilt_without_gravity_is_refused():
    _, data = make_gauge_data()
    robot = frs.load('single_link', gravity=(0.0, 0.0, 0.0))
    line = '--free gravity: there is no gravity: give --gravity, or leave it out.'
    assert refusal(UsageError, unknowns_of, robot, data, ['gravity']) == line

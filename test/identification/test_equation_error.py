"""Regression on the motion, against the parameters of a log in closed form."""

import numpy as np
import pytest

import flex_robot_sim as frs
from flex_robot_sim.identification.drive_terms import driven
from flex_robot_sim.identification.equation_error import (
    joint_regression,
    regression_start,
    robust_regression,
)
from flex_robot_sim.identification.log_file import Column, Log
from flex_robot_sim.identification.parameters import unknowns_of
from flex_robot_sim.identification.prediction import Setup
from flex_robot_sim.identification.sequences import make_data_set

INERTIA = 0.05 * 0.4**2  # of a point mass on a massless arm about its joint [kg m2]
COULOMB, VISCOUS, TORQUE_CONSTANT = 0.08, 0.03, 2.5
CABLE_TORQUE, CABLE_STIFFNESS = 0.02, -0.05
PATHS = [f'turn.{word}' for word in ('coulomb', 'viscous', 'cable_torque', 'cable_stiffness')]


def arm():
    builder = frs.ArmBuilder('point')
    builder.add_rigid('rod', mass=0.05, centre=(0.4, 0.0, 0.0))
    builder.add_joint('turn', parent='base', child='rod', effort=5.0)
    return builder.build(gravity=(0.0, 0.0, 0.0))


def make_point_log():
    """Return the log of sines, with a current as effort."""
    time = np.arange(0.0, 8.0, 2e-3)
    w, size = 2 * np.pi * np.array([0.4, 1.1]), np.array([0.6, 0.15])
    phase = np.outer(time, w)
    q, v, a = (np.sin(phase) @ size, np.cos(phase) @ (size * w), -np.sin(phase) @ (size * w**2))
    torque = INERTIA * a + COULOMB * np.sign(v) + VISCOUS * v + CABLE_TORQUE + CABLE_STIFFNESS * q
    columns = {'position/turn': q, 'effort/turn': torque / TORQUE_CONSTANT}
    return Log('sines', {name: Column(time, values) for name, values in columns.items()}, [])


@pytest.fixture(scope='module')
def problem():
    robot = arm()
    return robot, make_data_set([make_point_log()], robot)


def start(problem, free):
    robot, data = problem
    unknowns = unknowns_of(robot, data, free)
    found = regression_start(Setup(robot.description, data), robot, unknowns, data.sequences)
    return found, unknowns, data


def test_start_has_the_terms_of_an_analytic_log(problem):
    robot, data = problem
    scaled = data._replace(
        sequences=[row._replace(efforts=TORQUE_CONSTANT * row.efforts) for row in data.sequences]
    )
    found, _, _ = start((robot, scaled), ['friction', 'cable'])
    expected = dict(zip(PATHS, (COULOMB, VISCOUS, CABLE_TORQUE, CABLE_STIFFNESS)))
    assert found == pytest.approx(expected, rel=0.01)


def test_start_has_the_torque_constant(problem):
    found, unknowns, data = start(problem, ['friction', 'cable', 'torque_constants'])
    assert found['turn.torque_constant'] == pytest.approx(TORQUE_CONSTANT, rel=0.02)
    assert found['turn.coulomb'] == pytest.approx(COULOMB, rel=0.03)
    z = [unknown.normalized(found[unknown.path]) for unknown in unknowns]
    sequence = data.sequences[0]
    q = sequence.positions[:, 0]
    cable = found['turn.cable_torque'] + found['turn.cable_stiffness'] * q
    torque = found['turn.torque_constant'] * sequence.efforts[:, 0] - cable
    np.testing.assert_allclose(driven(sequence, unknowns, z).efforts[:, 0], torque, atol=1e-12)


def test_friction_that_is_not_free_stays(problem):
    random = np.random.default_rng(3)
    table = random.standard_normal((400, 6))
    table[:, 0] = table[:, 1] + 0.4 * table[:, 5] + 0.7 * table[:, 4]
    found = joint_regression(table, ['turn.coulomb'], {'coulomb': 9.0, 'viscous': 0.7})
    assert found == {'turn.coulomb': pytest.approx(0.4, rel=1e-9)}


def test_outliers_do_not_change_a_regression():
    random = np.random.default_rng(1)
    matrix, true = random.standard_normal((500, 3)), np.array([1.0, -2.0, 0.5])
    right = matrix @ true + 1e-3 * random.standard_normal(500)
    plain = np.linalg.lstsq(matrix, right, rcond=None)[0]
    right[::10] += 5.0
    np.testing.assert_allclose(robust_regression(matrix, right), plain, atol=1e-3)
    assert np.abs(np.linalg.lstsq(matrix, right, rcond=None)[0] - plain).max() > 0.05

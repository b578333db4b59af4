"""Joint stiffnesses from frequencies: public robots in MuJoCo, and the URDF that is written."""

import numpy as np
import pytest
from mujoco_robot import MujocoRobot
from public_robots import public_robot
from scipy.linalg import eigh

import flex_robot_sim as frs
from flex_robot_sim.analysis.resonance import Resonance
from flex_robot_sim.shaping.tuning.flexible_urdf import write_flexible_urdf
from flex_robot_sim.shaping.tuning.pose_log import PoseLog
from flex_robot_sim.shaping.tuning.stiffness_fit import fit_stiffness
from flex_robot_sim.util.exceptions import UsageError

pytestmark = pytest.mark.slow
ROBOTS = ['ur_description/urdf/ur5_robot.urdf', 'z1_description/urdf/z1.urdf']


def logs_of(path, arm, stiffness, rng, count=7, modes=2):
    """PoseLogs with the slowest modes of springs in MuJoCo, with 0.2 % errors."""
    robot = MujocoRobot(path.read_text('utf-8'), arm.joint_names, [0.0, 0.0, -9.81])
    logs, n = [], len(stiffness)
    for _ in range(count):
        pose = rng.uniform(-1.2, 1.2, n)
        mass, _ = robot.mass_matrix_and_bias(pose, np.zeros(n))
        slope = (
            np.column_stack(
                [
                    robot.mass_matrix_and_bias(pose + step, np.zeros(n))[1]
                    - robot.mass_matrix_and_bias(pose - step, np.zeros(n))[1]
                    for step in 1e-5 * np.eye(n)
                ]
            )
            / 2e-5
        )
        squares = eigh(np.diag(stiffness) + (slope + slope.T) / 2, mass, eigvals_only=True)
        found = np.sqrt(squares[:modes]) / (2 * np.pi) * (1 + 2e-3 * rng.normal(size=modes))
        resonances = tuple(Resonance(f, 2e-3 * f, 0.01, 1e-3, 1.0, 'decay') for f in found)
        logs.append(PoseLog('mujoco', pose, resonances, np.ones((modes, 1))))
    return logs


@pytest.mark.parametrize('path', ROBOTS)
def test_determined_stiffnesses_are_those_of_the_springs(path):
    path = public_robot(path)
    arm = frs.load(path)
    rng = np.random.default_rng(3)
    n = len(arm.joint_names)
    stiffness = np.array([1.2e4, 1.0e4, 6e3, 3e3, 3e3, 2e3, 2e3])[:n] * rng.uniform(0.5, 1.5, n)
    fit = fit_stiffness(arm, logs_of(path, arm, stiffness, rng))
    assert fit.error < 0.01 and [one.joint for one in fit.joints] == [*arm.joint_names]
    assert sum(one.is_determined for one in fit.joints) >= 2
    for one, true in zip(fit.joints, stiffness):
        if one.is_determined:
            assert abs(np.log(one.stiffness / true)) < 4 * one.deviation, one


def test_the_written_urdf_has_the_measured_frequencies(tmp_path):
    path = public_robot(ROBOTS[0])
    arm = frs.load(path)
    rng = np.random.default_rng(5)
    stiffness = np.array([1.2e4, 1.0e4, 6e3, 3e3, 3e3, 2e3])
    logs = logs_of(path, arm, stiffness, rng)
    fit = fit_stiffness(arm, logs)
    write_flexible_urdf(tmp_path / 'fitted.urdf', arm, fit)
    fitted = frs.load(tmp_path / 'fitted.urdf')
    for log in logs_of(path, arm, stiffness, rng, count=10):  # poses that were not measured
        found = frs.frequencies(fitted, log.pose)[0]
        assert found == pytest.approx(log.modes[0].frequency, rel=0.02)


def test_frequencies_that_no_springs_explain_are_one_line():
    path = public_robot(ROBOTS[0])
    arm = frs.load(path)
    rng = np.random.default_rng(6)
    logs = [
        PoseLog(
            'x',
            rng.uniform(-1, 1, 6),
            tuple(Resonance(f, 0.01, 0.01, 1e-3, 1.0, 'decay') for f in rng.uniform(2, 20, 4)),
            np.ones((4, 1)),
        )
        for _ in range(7)
    ]
    with pytest.raises(UsageError, match='joint stiffnesses do not explain the frequencies'):
        fit_stiffness(arm, logs)
    flexible = frs.load('single_link')
    with pytest.raises(UsageError, match='has flexible parts already'):
        fit_stiffness(flexible, logs)

"""Public robots with rigid links have the accelerations and frequencies of MuJoCo."""

import numpy as np
import pytest
from compare import GRAVITY, forward, inverse
from mujoco_robot import MujocoRobot
from public_robots import public_robot

from flex_robot_sim import frequencies, load
from flex_robot_sim.model.friction import SMOOTHING_RATE

# Arms, hands, legs and humanoids; those of xarm, z1 and hextilt have damping and friction.
# Robots are left out if MuJoCo rejects them (zero inertias) or differs (mimic joints).
ROBOTS = [
    'ur_description/urdf/ur10_robot.urdf',
    'kinova_description/robots/kinova.urdf',
    'xarm_description/urdf/xarm7.urdf',
    'z1_description/urdf/z1.urdf',
    'so_arm_description/urdf/so101.urdf',
    'hextilt_description/urdf/hextilt_flying_arm_5.urdf',
    'solo_description/robots/solo12.urdf',
    'alex_description/urdf/alex_sake_hands.urdf',
    'centauro_description/urdf/centauro.urdf',
    'g1_description/urdf/g1_29dof_with_hand_rev_1_0.urdf',
]
STATES = 5


def load_in_both(path):
    """Return a robot as ArmModel and in MuJoCo, and random positions of its joints (k, n)."""
    path = public_robot(path)
    arm = load(path, gravity=GRAVITY)
    low, high = (np.clip(limits, -np.pi, np.pi) for limits in (arm.arrays.lower, arm.arrays.upper))
    return (
        arm,
        MujocoRobot(path.read_text(), arm.joint_names, GRAVITY),
        np.random.default_rng(1).uniform(low, high, (STATES, arm.size)),
    )


@pytest.mark.parametrize('path', ROBOTS)
def test_a_public_robot_moves_as_in_mujoco(path):
    arm, peer, positions = load_in_both(path)
    random = np.random.default_rng(2)
    for q in positions:
        # fast enough for friction smoothed over 0.01 rad/s to equal Coulomb friction
        qd = random.uniform(0.5, 3.0, arm.size) * random.choice([-1.0, 1.0], arm.size)
        effort, still = random.normal(size=arm.size), np.zeros(arm.size)
        M, bias = peer.mass_matrix_and_bias(q, qd)
        needed = inverse(arm, q, qd, still)
        scale = np.sqrt(np.diag(M))
        # MuJoCo transforms inertias to principal axes, to about 1e-10
        assert abs((needed - bias) / scale).max() < 1e-9 * abs(bias / scale).max()
        columns = [inverse(arm, q, qd, unit) - needed for unit in np.eye(arm.size)]
        assert abs((np.array(columns) - M) / np.outer(scale, scale)).max() < 1e-9
        expected = np.linalg.solve(
            M, effort - bias - peer.damping * qd - peer.friction * np.sign(qd)
        )
        found = forward(arm, q, qd, effort)
        assert abs((found - expected) * scale).max() < 1e-9 * abs(expected * scale).max()


@pytest.mark.parametrize('path', ROBOTS)
def test_a_public_robot_on_servos_has_the_frequencies_of_mujoco(path):
    arm, peer, (q, *_) = load_in_both(path)
    still = np.zeros(arm.size)
    M, _ = peer.mass_matrix_and_bias(q, still)
    stiffness, damping = np.diag(M) * (2 * np.pi * 4.0) ** 2, np.diag(M) * 3.0
    step, slopes = 1e-4, []
    for unit in np.eye(arm.size):
        ahead, behind = (
            peer.mass_matrix_and_bias(q + sign * step * unit, still)[1] for sign in (1.0, -1.0)
        )
        slopes.append((ahead - behind) / (2 * step))
    K = np.array(slopes).T + np.diag(stiffness)
    # at rest, friction is a damper until 0.01 rad/s
    D = np.diag(damping + peer.damping + peer.friction / arm.arrays.friction[:, SMOOTHING_RATE])
    n = arm.size
    rates = np.linalg.eigvals(
        np.block([[np.zeros((n, n)), np.eye(n)], [-np.linalg.solve(M, K), -np.linalg.solve(M, D)]])
    )
    found = 2 * np.pi * frequencies(arm, q, gains=(stiffness, damping))
    # differences over 1e-4 rad; gravity is small compared with the servo stiffness
    assert found == pytest.approx(np.sort(abs(rates[rates.imag >= 0.0])), rel=1e-6)

"""Poses, twists and Jacobians against complex-step derivatives of the reference's positions."""

import numpy as np
import pytest
from compare import CASES, COUPLINGS, reference_case
from reference import STEP, along, spin_of
from scipy.spatial.transform import Rotation

from flex_robot_sim.dynamics.kinematics import set_base_poses, set_motion, set_station
from flex_robot_sim.model.workspace import make_workspace

pytestmark = pytest.mark.slow

cases = pytest.mark.parametrize('case', CASES)
couplings = pytest.mark.parametrize('coupling', COUPLINGS)
ROUNDING: dict = {'rtol': 0.0, 'atol': 1e-12}  # of poses and twists of the size 1


def in_motion(sample, q, qd):
    work = make_workspace(sample.arm.arrays)
    set_motion(sample.arm.arrays, q, qd, work)
    set_base_poses(sample.arm.arrays, work)
    return work


@cases
@couplings
def test_every_link_has_the_pose_of_the_reference(case, coupling):
    sample = reference_case(case, coupling)
    work = in_motion(sample, sample.q, sample.qd)
    for name, (R, p) in sample.reference.place(sample.q)[0].items():
        frame = sample.arm.frames[name]
        base_R, base_p = (
            (np.eye(3), np.zeros(3))
            if frame.body < 0
            else (work.base_R[frame.body], work.base_p[frame.body])
        )
        np.testing.assert_allclose(base_R @ frame.R, R, **ROUNDING)
        np.testing.assert_allclose(base_R @ frame.p + base_p, p, **ROUNDING)


@cases
@couplings
def test_the_tip_of_a_beam_moves_as_its_section_does(case, coupling):
    sample = reference_case(case, coupling)
    arm, q, qd = sample.arm, sample.q, sample.qd
    work = in_motion(sample, q, qd)
    for link, (body, station) in arm.tips.items():
        piece = sample.reference.pieces[link, len(arm.segments[link]) - 1]
        set_station(arm.arrays, station, body, q, qd, work)
        R, p = piece.section(q, piece.length)
        np.testing.assert_allclose(work.station_R[station], R, **ROUNDING)
        np.testing.assert_allclose(work.station_p[station], p, **ROUNDING)
        first, n = arm.arrays.first[body], arm.arrays.modes[body]
        np.testing.assert_allclose(
            work.K[station, :, :n] @ qd[first : first + n], twist(piece, q, qd), **ROUNDING
        )
        np.testing.assert_allclose(work.Ve[station], twist(piece, q, qd), **ROUNDING)
        # without accelerations, the rate of the twist of the station is beta, less the
        # contribution of the root
        rate = along(lambda t, piece=piece: twist(piece, q + t * qd, qd))
        V, Ve = work.V[body], work.Ve[station]
        turning = np.concatenate(
            [np.cross(V[:3], Ve[:3]), np.cross(V[:3], Ve[3:]) + np.cross(V[3:], Ve[:3])]
        )
        np.testing.assert_allclose(work.beta[station], rate + turning, rtol=0.0, atol=1e-9)


def twist(piece, q, qd):
    """Twist of the tip section relative to the root, in the frame of the root."""
    R, p = piece.section(q + STEP * 1j * qd, piece.length)
    omega = R.real @ spin_of(R)
    return np.concatenate([omega, p.imag / STEP - np.cross(omega, p.real)])


@cases
def test_all_bodies_move_with_the_pose_of_the_base(case):
    sample = reference_case(case, 'shortening')
    work = in_motion(sample, sample.q, sample.qd)
    fixed_R, fixed_p = work.base_R.copy(), work.base_p.copy()
    turn, shift = Rotation.from_rotvec((0.3, -0.5, 0.8)), (1.0, 2.0, 3.0)
    work.root_R[:], work.root_p[:] = turn.as_matrix(), shift
    set_base_poses(sample.arm.arrays, work)
    np.testing.assert_allclose(work.base_R, turn.as_matrix() @ fixed_R, **ROUNDING)
    np.testing.assert_allclose(work.base_p, turn.apply(fixed_p) + shift, **ROUNDING)

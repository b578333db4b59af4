"""Screw kinematics against the kinematics of the package, Pinocchio and finite differences."""

import numpy as np
import pytest
from compare import in_pinocchio
from random_arms import random_robot, random_state
from scipy.linalg import expm
from scipy.spatial.transform import Rotation

import flex_robot_sim as frs
from flex_robot_sim.analysis.jacobians import jacobian, pose, twist
from flex_robot_sim.formulations.rigid_motions import (
    adjoint,
    exponential,
    frame,
    inverse,
    rotation_adjoint,
    tilde,
    translation_adjoint,
)
from flex_robot_sim.formulations.screw_kinematics import (
    FORMS,
    bodies,
    jacobians,
    poses_by_base_frame,
    poses_by_body_frames,
    poses_by_joint_frames,
    system_jacobian,
    transfer_matrix,
    twists,
)
from flex_robot_sim.model.assembly import load
from flex_robot_sim.reproduce.rcm import remote_centre
from flex_robot_sim.util.exceptions import SettingError

pytestmark = pytest.mark.slow

SEEDS = range(4)
ROUNDING = 1e-12  # of a dozen products of frames with lengths of about a metre


def random_arm(seed):
    text = random_robot(seed, links=7, kinds=('rigid',))
    return load(text), text


def random_frame(rng):
    return frame(
        Rotation.random(random_state=int(rng.integers(1 << 30))).as_matrix(), rng.normal(size=3)
    )


def state(arm, seed):
    q, qd = random_state(arm, seed)
    return q, qd, q[: len(arm.joint_names)], qd[: len(arm.joint_names)]


@pytest.mark.parametrize('pitch', [0.0, 0.3])
def test_exponential_of_a_screw_equals_that_of_its_matrix(pitch):
    rng = np.random.default_rng(3)
    axis = rng.normal(size=3)
    axis /= np.linalg.norm(axis)
    screw = np.concatenate([axis, np.cross(rng.normal(size=3), axis) + pitch * axis])
    matrix = np.zeros((4, 4))
    matrix[:3, :3], matrix[:3, 3] = tilde(axis), screw[3:]
    assert np.allclose(exponential(screw, 1.3), expm(1.3 * matrix), rtol=0, atol=ROUNDING)
    slide = np.concatenate([np.zeros(3), axis])
    assert np.allclose(exponential(slide, 1.3), frame(p=1.3 * axis), rtol=0, atol=ROUNDING)


def test_adjoint_transforms_screws_like_conjugation():
    rng = np.random.default_rng(4)
    C, D, screw = random_frame(rng), random_frame(rng), rng.normal(size=6)
    screw[:3] /= np.linalg.norm(screw[:3])
    moved = adjoint(C) @ screw
    assert np.allclose(
        exponential(moved, 0.7), C @ exponential(screw, 0.7) @ inverse(C), rtol=0, atol=ROUNDING
    )  # (92)
    assert np.allclose(adjoint(C @ D), adjoint(C) @ adjoint(D), rtol=0, atol=ROUNDING)  # (90)
    assert np.allclose(
        adjoint(C),
        translation_adjoint(C[:3, 3]) @ rotation_adjoint(C[:3, :3]),
        rtol=0,
        atol=ROUNDING,
    )


@pytest.mark.parametrize('seed', SEEDS)
def test_three_methods_give_the_poses_of_the_package(seed):
    arm, _ = random_arm(seed)
    q, _, joints, _ = state(arm, seed)
    rows = bodies(arm)
    expected = [pose(arm, q, link=body.name) for body in rows]
    for way in (poses_by_joint_frames, poses_by_body_frames, poses_by_base_frame):
        assert np.allclose(way(rows, joints), expected, rtol=0, atol=10 * ROUNDING)


@pytest.mark.parametrize('seed', SEEDS)
def test_body_frames_can_be_anywhere(seed):
    arm, _ = random_arm(seed)
    rng = np.random.default_rng(seed)
    q, qd, joints, rates = state(arm, seed)
    names = [link.name for link in arm.description.links[1:]]
    placed = {name: random_frame(rng) for name in names}
    rows = bodies(arm, placed)
    expected = [pose(arm, q, link=name) @ placed[name] for name in names]
    for way in (poses_by_joint_frames, poses_by_body_frames, poses_by_base_frame):
        assert np.allclose(way(rows, joints), expected, rtol=0, atol=10 * ROUNDING)
    # spatial twists are independent of the body frame; body twists transform with it    (21)
    assert np.allclose(
        twists(rows, joints, rates, 'spatial'),
        twists(bodies(arm), joints, rates, 'spatial'),
        rtol=0,
        atol=1e-11,
    )
    body = twists(bodies(arm), joints, rates, 'body')
    assert np.allclose(
        twists(rows, joints, rates, 'body'),
        [adjoint(inverse(placed[name])) @ V for name, V in zip(names, body)],
        rtol=0,
        atol=1e-11,
    )


@pytest.mark.parametrize('form', FORMS)
@pytest.mark.parametrize('seed', SEEDS)
def test_twists_and_jacobians_equal_those_of_the_package(seed, form):
    arm, _ = random_arm(seed)
    q, qd, joints, rates = state(arm, seed)
    rows, n = bodies(arm), len(arm.joint_names)
    V, J = twists(rows, joints, rates, form), jacobians(rows, joints, form)
    for i, body in enumerate(rows):
        frame = {'link': body.name, 'representation': form}
        assert np.allclose(V[i], twist(arm, q, qd, **frame), rtol=0, atol=1e-10)
        assert np.allclose(J[i], jacobian(arm, q, **frame)[:, :n], rtol=0, atol=1e-11)
    assert np.allclose(V, J @ rates, rtol=0, atol=1e-10)


@pytest.mark.parametrize('seed', SEEDS)
def test_jacobians_equal_those_of_pinocchio(seed):
    pin = pytest.importorskip('pinocchio')
    arm, text = random_arm(seed)
    _, _, joints, _ = state(arm, seed)
    model, data, theirs, order = in_pinocchio(pin, arm, text, joints)
    pin.computeJointJacobians(model, data, theirs)
    pin.updateFramePlacements(model, data)
    rows = bodies(arm)
    for form, reference in (
        ('body', pin.LOCAL),
        ('spatial', pin.WORLD),
        ('hybrid', pin.LOCAL_WORLD_ALIGNED),
    ):
        found = jacobians(rows, joints, form)
        for i, body in enumerate(rows):
            J = pin.getFrameJacobian(model, data, model.getFrameId(body.name), reference)
            # Pinocchio: linear part first
            assert np.allclose(
                found[i], np.vstack([J[3:], J[:3]])[:, np.argsort(order)], rtol=0, atol=1e-11
            )


@pytest.mark.parametrize('form', FORMS)
@pytest.mark.parametrize('seed', SEEDS)
def test_system_jacobian_and_its_inverse_are_products_of_factors(seed, form):
    arm, _ = random_arm(seed)
    _, _, joints, rates = state(arm, seed)
    rows = bodies(arm)
    system = system_jacobian(rows, joints, form)
    V = twists(rows, joints, rates, form).ravel()
    assert np.allclose(
        system.J, jacobians(rows, joints, form).reshape(-1, len(joints)), rtol=0, atol=1e-11
    )
    assert np.allclose(system.A @ system.inverse_A, np.eye(len(V)), rtol=0, atol=1e-11)
    assert np.allclose(system.J @ rates, V, rtol=0, atol=1e-10)
    assert np.allclose(system.rates(V), rates, rtol=0, atol=1e-10)


def test_rates_are_the_least_squares_fit_to_inconsistent_twists():
    # (27) is the least squares solution of (1 - D) V = X dq/dt
    arm, _ = random_arm(1)
    _, _, joints, _ = state(arm, 1)
    system = system_jacobian(bodies(arm), joints, 'body')
    V = np.random.default_rng(0).normal(size=len(system.X))
    best = np.linalg.lstsq(system.X, system.inverse_A @ V, rcond=None)[0]
    assert np.allclose(system.rates(V), best, rtol=0, atol=1e-10)


def test_spatial_screws_of_a_chain_are_the_same_for_all_bodies():
    # remark 10: columns of the spatial Jacobians equal those of the last one, or are zero
    arm = load('rcm')
    q = np.random.default_rng(2).uniform(-1, 1, arm.size)
    J = jacobians(bodies(arm), q, 'spatial')
    for body in J:
        moving = np.any(body, axis=0)
        assert np.allclose(body[:, moving], J[-1][:, moving], rtol=0, atol=ROUNDING)


def test_axes_of_the_rcm_mechanism_meet_in_the_remote_centre():
    arm = load('rcm')
    rows = bodies(arm)
    names = [body.name for body in rows]
    q = np.random.default_rng(5).uniform(-1, 1, arm.size)
    for sample in (np.zeros(arm.size), q):
        poses = poses_by_base_frame(rows, sample)
        point, distance = remote_centre(rows, names, poses)
        centre = poses[names.index('remote_centre')][:3, 3]
        assert distance < 1e-9  # digits of the description
        assert np.allclose(point, centre, rtol=0, atol=1e-9)


def test_remote_centre_stays_while_its_joints_rotate():
    arm = load('rcm')
    rows = bodies(arm)
    names = [body.name for body in rows]
    q = np.random.default_rng(6).uniform(-1, 1, arm.size)
    J = jacobians(rows, q, 'hybrid')[names.index('remote_centre')]
    assert np.allclose(J[3:, 3:5], 0.0, rtol=0, atol=1e-9)
    assert np.linalg.norm(J[3:, 0]) > 0.1


def test_wrong_arms_and_forms_are_rejected():
    with pytest.raises(SettingError) as caught:
        bodies(frs.load('two_link'))
    assert str(caught.value) == (
        'screw kinematics is for rigid arms, and link "upper_arm" bends. '
        'Leave its <flexibility> out'
    )
    with pytest.raises(SettingError) as caught:
        transfer_matrix(np.eye(4), np.eye(4), 'world')
    assert str(caught.value) == "form = 'world' must be one of body, spatial, hybrid, mixed"


def test_screws_of_the_rcm_arm_agree_with_its_page():
    # docs/papers/screw_kinematics.md, derived by hand
    h, a, b, r, s = 0.6, 0.5, 0.4, 0.25, np.sqrt(0.5)
    rows = bodies(load('rcm'))[:5]
    x = (1, 0, 0)
    expected = [
        ((0, 0, 1, 0, 0, 0), (0, 0, 0.4), x),
        ((0, -1, 0, h, 0, 0), (0, 0, h), x),
        ((0, -1, 0, h, 0, -a), (a, 0, h), x),
        ((1, 0, 0, 0, h, 0), (a + b, 0, h), x),
        ((s, 0, -s, 0, s * (h + a + b + r), 0), (a + b + r - r * s, 0, h + r * s), (s, 0, -s)),
    ]
    # angles of 45 degrees have nine digits in the description
    for body, (Y, origin, axis) in zip(rows, expected):
        assert np.allclose(body.Y, Y, rtol=0, atol=1e-8)
        assert np.allclose(body.A[:3, 3], origin, rtol=0, atol=1e-8)
        assert np.allclose(body.A[:3, 0], axis, rtol=0, atol=1e-8)
    q = np.array([0.3, 0.6, -1.2, 0.9, 1.2])
    (c1, c2, c3), (s1, s2, s3), c23, s23 = np.cos(q[:3]), np.sin(q[:3]), np.cos(-0.6), np.sin(-0.6)
    C = poses_by_base_frame(rows, q)[2]
    assert np.allclose(
        C[:3],
        [
            [c1 * c23, -s1, -c1 * s23, a * c1 * c2],
            [s1 * c23, c1, -s1 * s23, a * s1 * c2],
            [s23, 0, c23, h + a * s2],
        ],
        rtol=0,
        atol=ROUNDING,
    )
    J = jacobians(rows, q, 'body')[2].T
    assert np.allclose(
        J[:3],
        [[s23, 0, c23, 0, a * c2, 0], [0, -1, 0, a * s3, 0, a * c3], [0, -1, 0, 0, 0, 0]],
        rtol=0,
        atol=ROUNDING,
    )
    assert not J[3:].any()


@pytest.mark.parametrize('form', FORMS)
def test_rates_of_noisy_twists_differ_from_least_squares(form):
    # remark 9 of the paper states the opposite
    rows, rng = bodies(load('rcm')), np.random.default_rng(9)
    system = system_jacobian(rows, rng.uniform(-1, 1, 5), form)
    left = np.zeros(2)
    for _ in range(200):
        V = system.J @ rng.normal(size=5) + 0.1 * rng.normal(size=len(system.J))
        for k, found in enumerate((system.rates(V), np.linalg.lstsq(system.J, V, rcond=None)[0])):
            left[k] += np.sum((system.J @ found - V) ** 2)
    assert left[0] > 1.5 * left[1]  # 0.94 over 0.66, squared, is 2

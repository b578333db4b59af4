"""
Four representations of twists, with their Jacobians, rates and wrenches.

A frame has the pose T = (R, p) and the angular velocity omega in the base frame. With (angular,
linear) parts, its twist is

    body        (R^T omega, R^T dp/dt)      both parts in the frame itself                   (T52)
    spatial     (omega, dp/dt + p x omega)  in the base frame; the linear part is the velocity
                                            of the body point at the base origin             (T53)
    hybrid      (omega, dp/dt)              of the origin of the frame, in the base frame    (T54)
    mixed       (R^T omega, dp/dt)          one part in each of the two                      (T55)

Each is X V of the body twist V; the matrix X depends on the pose only. Jacobians transform like
twists. Wrenches transform with X^-T, so that power is invariant. Names and definitions:
Mueller, Screw and Lie group theory in multibody kinematics (2018), appendix A.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from flex_robot_sim.jit.compiled import compiled
from flex_robot_sim.model.arguments import array_or_nan, is_known
from flex_robot_sim.spatial.screws import set_Ad, set_inverse
from flex_robot_sim.util.exceptions import SettingError

REPRESENTATIONS = ('body', 'spatial', 'hybrid', 'mixed')
BODY, SPATIAL, HYBRID = range(3)  # their numbers in compiled code
_NUMBERS = {name: number for number, name in enumerate(REPRESENTATIONS)}


def convert_twist(twist: ArrayLike, pose: np.ndarray, source: str, target: str) -> np.ndarray:
    """
    Twist or Jacobian in another representation.

    'body' has both parts in frame axes, 'hybrid' in base axes, and 'mixed' the angular part in
    frame axes, the linear part in base axes; the linear part is the velocity of the frame origin.
    'spatial', in base axes, has the velocity of the body point at the base origin instead.

    :param twist: (6,) [rad/s, m/s], or a Jacobian (6, nv), in the representation `source`.
    :param pose: of the frame relative to the base, (4, 4) [-, m].
    :param source, target: 'body', 'spatial', 'hybrid' or 'mixed'.

    Example::

        arm, q = frs.load('two_link'), np.zeros(16)
        J = frs.convert_twist(frs.jacobian(arm, q), frs.pose(arm, q), 'body', 'hybrid')
        assert np.allclose(J, frs.jacobian(arm, q, representation='hybrid'))
    """
    twist, pose = _checked('twist', twist), expect_pose(pose)
    return from_body(pose, target) @ (to_body(pose, source) @ twist)


def convert_wrench(wrench: ArrayLike, pose: np.ndarray, source: str, target: str) -> np.ndarray:
    """
    Wrench in the representation that is dual to that of a twist.

    The moment of 'spatial' is about the base origin, of the others about the frame origin. 'mixed'
    has the moment in frame axes and the force in base axes.

    :param wrench: (moment, force), (6,) [N m, N], or one per column, (6, n).
    :param pose: of the frame relative to the base, (4, 4) [-, m].
    :param source, target: see `convert_twist`.

    Example::

        tool = frs.pose(frs.load('two_link'), np.zeros(16))
        at_base = frs.convert_wrench([0, 0, 0, 0, 0, -9.81], tool, 'hybrid', 'spatial')
        assert np.allclose(at_base[:3], np.cross(tool[:3, 3], [0, 0, -9.81]))
    """
    wrench, pose = _checked('wrench', wrench), expect_pose(pose)
    return to_body(pose, target).T @ (from_body(pose, source).T @ wrench)


def convert_rate(
    rate: ArrayLike, twist: ArrayLike, pose: np.ndarray, source: str, target: str
) -> np.ndarray:
    """
    Rate of the components of a twist in another representation (T56).

    :param rate: (6,) [rad/s2, m/s2], of the components in the representation `source`.
    :param twist: in the representation `source`, (6,) [rad/s, m/s].
    :param pose: of the frame relative to the base, (4, 4) [-, m].
    :param source, target: see `convert_twist`.

    Example::

        twist = [0, 0, 2.0, 1.0, 0, 0]          # about its z axis, forward along its x axis
        rate = frs.convert_rate(np.zeros(6), twist, np.eye(4), 'body', 'hybrid')
        assert np.allclose(rate, [0, 0, 0, 0, 2.0, 0])
    """
    rate, twist, pose = _checked('rate', rate), _checked('twist', twist), expect_pose(pose)
    if rate.shape != (6,) or twist.shape != (6,):
        raise SettingError('a rate and its twist must be (6,)')
    to_body_matrix = to_body(pose, source)
    V = to_body_matrix @ twist
    return from_body(pose, target) @ (
        to_body_matrix @ rate - _frame_rate_term(V, source) + _frame_rate_term(V, target)
    )


def expect_representation(representation: object) -> None:
    """Raise SettingError for anything but the name of a representation."""
    if not is_known(representation, REPRESENTATIONS):
        raise SettingError(
            f'representation = {representation!r} must be one of {", ".join(REPRESENTATIONS)}'
        )


def representation_number(representation: str) -> int:
    """Return the number of a representation in compiled code; SettingError for anything else."""
    try:
        return _NUMBERS[representation]
    except (KeyError, TypeError):
        expect_representation(representation)
        raise


@compiled
def convert_from_body(R, p, representation, V):
    """
    Convert a body twist V in place, (T53) to (T55).

    :param R, p: pose of the frame in the base frame, (3, 3) and (3,) [m].
    :param representation: its number.
    """
    if representation != BODY:
        x, y, z = V[3], V[4], V[5]
        for r in range(3):
            V[3 + r] = R[r, 0] * x + R[r, 1] * y + R[r, 2] * z
    if SPATIAL <= representation <= HYBRID:
        x, y, z = V[0], V[1], V[2]
        for r in range(3):
            V[r] = R[r, 0] * x + R[r, 1] * y + R[r, 2] * z
    if representation == SPATIAL:
        V[3] += p[1] * V[2] - p[2] * V[1]
        V[4] += p[2] * V[0] - p[0] * V[2]
        V[5] += p[0] * V[1] - p[1] * V[0]


def from_body(pose: np.ndarray, representation: str) -> np.ndarray:
    """Return the matrix X (6, 6) from body twists to a representation, (T53) to (T55)."""
    expect_representation(representation)
    R, X = np.ascontiguousarray(pose[:3, :3]), np.eye(6)
    if representation == 'spatial':
        set_Ad(R, np.ascontiguousarray(pose[:3, 3]), X)
    elif representation == 'hybrid':
        X[:3, :3] = X[3:, 3:] = R
    elif representation == 'mixed':
        X[3:, 3:] = R
    return X


def to_body(pose: np.ndarray, representation: str) -> np.ndarray:
    """Return the matrix X^-1 (6, 6) from twists of a representation to body twists."""
    if representation != 'spatial':
        return from_body(pose, representation).T  # a rotation
    R, p, X = np.empty((3, 3)), np.empty(3), np.empty((6, 6))
    set_inverse(np.ascontiguousarray(pose[:3, :3]), np.ascontiguousarray(pose[:3, 3]), R, p)
    set_Ad(R, p, X)
    return X


def _frame_rate_term(V, representation):
    """Return the term X^-1 dX/dt V of the rate of the body twist V (T56)."""
    out = np.zeros(6)
    if representation in ('hybrid', 'mixed'):
        out[3:] = np.cross(V[:3], V[3:])
    return out


def _checked(name, values):
    """Return a validated array (6,) or (6, n) of finite numbers."""
    array = array_or_nan(values)
    if array.ndim not in (1, 2) or len(array) != 6 or not np.isfinite(array).all():
        raise SettingError(f'a {name} must be (6,) or (6, n) finite numbers, angular part first')
    return array


def expect_pose(pose: ArrayLike) -> np.ndarray:
    """Return a validated pose (4, 4)."""
    array = array_or_nan(pose)
    if (
        array.shape != (4, 4)
        or not np.allclose(array[3], [0, 0, 0, 1], rtol=0.0, atol=1e-9)
        or not np.isfinite(array).all()
        or not np.allclose(array[:3, :3].T @ array[:3, :3], np.eye(3), rtol=0.0, atol=1e-6)
        or np.linalg.det(array[:3, :3]) < 0
    ):
        raise SettingError(
            'a pose must be (4, 4): a rotation, a translation [m] and the row 0 0 0 1'
        )
    return array

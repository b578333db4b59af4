"""
Accelerations of two links of finite elements, compared with sums over their nodes.

Positions of all nodes follow from the coordinates, their derivatives from complex steps, and the
equations of motion from the mass matrix of the mesh. The reference shares the shapes only.
"""

import numpy as np

import flex_robot_sim as frs
from benchmarks.limits import Row
from benchmarks.links.plastic_arm import ELBOW, LENGTH, PlasticBar

GRAVITY = np.array([1.0, -2.0, -9.81])
SLOPE_STEP = 1e-4  # of the differences that give rates of the derivatives
STATES = 10


def rows(quick):
    """Yield the Row of this module."""
    bar, rng = PlasticBar(), np.random.default_rng(0)
    arm, error = bar.arm(GRAVITY), 0.0
    for _ in range(2 if quick else STATES):
        q, v = rng.normal(size=(2, arm.size))
        # the slowest coordinates bend most
        flexibility = np.tile(bar.stiffness[0, 0] / np.diag(bar.stiffness), 2)
        q[2:] *= 0.02 * flexibility
        v[2:] *= 0.3 * np.sqrt(flexibility)
        error = max(error, _error(bar, arm, q, v))
    yield Row(
        f'accelerations of two links of finite elements, sums over {len(bar.nodes)} nodes each',
        error,
        1e-10,
        'relative',
    )


def _error(bar, arm, q, v):
    expected = _accelerations(bar, q, v)
    found = frs.forward_dynamics(arm, q, v, np.zeros(2))
    return np.abs(found - expected).max() / np.abs(expected).max()


def _accelerations(bar, q, v):
    """Accelerations (2 + 2 n,) from the nodes of both bars."""
    n, h = len(bar.stiffness), SLOPE_STEP
    mass = np.kron(np.eye(2), bar.mass.toarray())
    J = _slopes(bar, q)
    # differences of fourth order
    near, far = (_slopes(bar, q + k * h * v) - _slopes(bar, q - k * h * v) for k in (1, 2))
    bias = (8 * near - far) @ v / (12 * h) - GRAVITY
    momenta = np.einsum('ab,bci->aci', mass, J, optimize=True)
    inertia = np.einsum('aci,acj->ij', J, momenta)
    force = -np.einsum('aci,ac->i', momenta, bias)
    force[2 : 2 + n] -= bar.stiffness @ q[2 : 2 + n]
    force[2 + n :] -= bar.stiffness @ q[2 + n :]
    return np.linalg.solve(inertia, force)


def _slopes(bar, q):
    """Derivatives of the positions of all nodes by the coordinates, (2 N, 3, 2 + 2 n)."""
    step = 1e-30j
    return np.stack([_nodes(bar, q + step * row).imag / 1e-30 for row in np.eye(len(q))], axis=-1)


def _nodes(bar, q):
    """Positions of the nodes of both bars, (2 N, 3)."""
    n = len(bar.stiffness)
    upper, fore = q[2 : 2 + n], q[2 + n :]
    R = _turned(np.array([0.0, 1.0, 0.0]) * q[0])
    turn, shift = bar.tip_shape[:3] @ upper, bar.tip_shape[3:] @ upper
    tip = R @ (np.array([LENGTH, 0.0, 0.0]) + shift)
    R2 = R @ _turned(turn) @ _turned(ELBOW * q[1])
    first, second = (bar.nodes + bar.shapes @ e for e in (upper, fore))
    return np.concatenate([first @ R.T, tip + second @ R2.T])


def _turned(vector):
    """Exponential of a rotation vector (3,), which may be complex."""
    x, y, z = vector
    W = np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])
    out = term = np.eye(3, dtype=vector.dtype)
    for k in range(1, 20):
        term = term @ W / k
        out = out + term
    return out

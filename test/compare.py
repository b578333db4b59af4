"""Shared by tests of the dynamics: arms, the dynamics as functions, and a measure of error."""

import functools

import numpy as np
from random_arms import every_feature, random_robot, random_state
from reference import Reference

from flex_robot_sim import read_description
from flex_robot_sim.dynamics.forward_dynamics import forward_dynamics, inverse_dynamics
from flex_robot_sim.model.assembly import build_arm
from flex_robot_sim.model.workspace import make_workspace

GRAVITY = (3.0, -5.0, 7.0)  # not aligned with any axis
WEIGHTLESS = (0.0, 0.0, 0.0)
CASES = ['varying', 0, 1, 2, 3, 4, 5, 'every']
COUPLINGS = ('shortening', 'zero_order')


def robot_text(case, **options):
    """Return the random tree of a seed, or the tree with varying sections or every feature."""
    if case == 'varying':
        kinds, joints = ('varying', 'varying', 'rigid'), ('revolute', 'prismatic', 'continuous')
        return random_robot(8, 4, kinds=kinds, joints=joints, **options)
    return every_feature(**options) if case == 'every' else random_robot(case, 5, **options)


@functools.cache
def arm_of(text, coupling='shortening', gravity=GRAVITY):
    """Return the cached ArmModel of a robot."""
    return build_arm(read_description(text), coupling, gravity)


class ReferenceCase:
    """An arm in a random state, with its reference dynamics from first principles."""

    def __init__(self, case, coupling):
        self.text, self.coupling = robot_text(case), coupling
        self.arm = arm_of(self.text, coupling)
        self.q, self.qd = random_state(self.arm, 1)
        self.reference = Reference(self.arm, GRAVITY)

    # expensive quantities are computed on first use
    @functools.cached_property
    def M(self):
        """Mass matrix (n, n)."""
        return self.reference.mass_matrix(self.q)

    @functools.cached_property
    def scale(self):
        """Root of the inertia of every coordinate, (n,)."""
        return np.sqrt(np.diag(self.M))

    @functools.cached_property
    def bias(self):
        """Bias forces: without accelerations and springs, (n,)."""
        return self.reference.bias(self.q, self.qd)


@functools.cache
def reference_case(case, coupling='shortening'):
    """Return the cached ReferenceCase of a random tree."""
    return ReferenceCase(case, coupling)


def inverse(arm, q, qd, qdd, work=None):
    """Return the forces on all coordinates, without springs."""
    force = np.zeros(arm.size)
    inverse_dynamics(arm.arrays, q, qd, qdd, work or make_workspace(arm.arrays), force)
    return force


def forward(arm, q, qd, effort, work=None):
    """Return the accelerations of all coordinates."""
    qdd = np.zeros(arm.size)
    forward_dynamics(arm.arrays, q, qd, effort, work or make_workspace(arm.arrays), qdd)
    return qdd


def mass_matrix(text, q, coupling='shortening'):
    """Return the mass matrix column by column from inverse dynamics, at rest without gravity."""
    arm = arm_of(text, coupling, WEIGHTLESS)
    still = np.zeros(arm.size)
    return np.column_stack([inverse(arm, q, still, unit) for unit in np.eye(arm.size)])


def motor_forces(arm, effort):
    """Return joint efforts as forces on the coordinates."""
    force = np.zeros(arm.size)
    for name, value in zip(arm.joint_names, effort):
        driven = f'{name}/motor' if name in arm.motor_names else name
        force[arm.coordinate_names.index(driven)] = value
    return force


def assert_same(value, expected, scale=1.0, tolerance=1e-10):
    """
    Compare forces divided by `scale`, or accelerations divided by its inverse.

    With the square root of every coordinate's mass as scale, metres and radians, motors and modes
    weigh the same. The dynamics works to about 1e-13; 1e-10 leaves room for ill-conditioned arms
    and is far below any wrong term.
    """
    miss = abs((value - expected) / scale).max() / max(abs(expected / scale).max(), 1e-12)
    assert miss <= tolerance, miss


def in_pinocchio(pin, arm, text, q):
    """
    Return a rigid arm in Pinocchio: its model, data, configuration, and the order of its rates.

    Its rates, accelerations and matrix columns are ours[order].
    """
    model = pin.buildModelFromXML(text)
    theirs = pin.neutral(model)
    moved = [model.joints[model.getJointId(name)] for name in arm.joint_names]
    for joint, value in zip(moved, q):
        theirs[joint.idx_q : joint.idx_q + joint.nq] = (
            [value] if joint.nq == 1 else [np.cos(value), np.sin(value)]
        )
    return model, model.createData(), theirs, np.argsort([joint.idx_v for joint in moved])

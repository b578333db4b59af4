"""Rigid robots, compared with Pinocchio and MuJoCo: random trees, and public robots."""

import functools
from typing import NamedTuple

import numpy as np
from compare import GRAVITY, forward, in_pinocchio, inverse
from mujoco_robot import MujocoRobot
from public_robots import ROBOTS
from random_arms import random_robot, random_state

import flex_robot_sim as frs
from benchmarks.trust.check import Case, Check, relative_error

STATES = 4  # of a robot in a case


class State(NamedTuple):
    """A random state of n joints, (n,) each."""

    q: np.ndarray
    qd: np.ndarray
    qdd: np.ndarray
    effort: np.ndarray


def _tree(seed):
    """Return the text of a random rigid tree of up to 12 joints."""
    links = int(np.random.default_rng(seed).integers(1, 13))
    return random_robot(seed, links, kinds=('rigid',), gears=False)


@functools.cache
def public_robots():
    """Return the texts of the public robots without mimic joints, by name; {} if not installed."""
    found = {}
    for path in sorted(ROBOTS.rglob('*.urdf')) if ROBOTS else ():
        text = path.read_text('utf-8')
        if '<mimic' in text:  # held at the offset here, free in other programs
            continue
        try:
            description = frs.read_description(text)
        except frs.DescriptionError:
            continue  # such as floating bases
        if any(joint.moves for joint in description.joints):
            found[path.name] = text
    return found


@functools.cache
def robots_of_mujoco():
    """Return the public robots that MuJoCo accepts; it ignores inertias of bodies without mass."""
    found = {}
    for name, text in public_robots().items():
        bodies = [link.inertial for link in frs.read_description(text).links]
        if any(body and body.mass == 0.0 and body.inertia.any() for body in bodies):
            continue
        try:
            MujocoRobot(text, frs.read_description(text).joint_names, GRAVITY)
        except ValueError:  # such as links without inertia
            continue
        found[name] = text
    return found


def _in_turns(robots, seed):
    """Return the text of a robot; the seeds take all of them in turns."""
    return [*robots.values()][seed % len(robots)]


def _public(seed):
    return _in_turns(public_robots(), seed)


def _arm(text):
    return frs.load(text, gravity=GRAVITY)


def _states(arm, seed):
    """Yield random States."""
    rng = np.random.default_rng(seed)
    for k in range(STATES):
        q, qd = random_state(arm, STATES * seed + k)
        qdd, effort = rng.normal(size=(2, arm.size))
        yield State(q, qd, qdd, effort)


def _with_pinocchio(compare, text_of, what):
    """Return the case of a comparison: compare(pin, arm, text, state) -> error."""

    def case(seed):
        import pinocchio as pin

        text = text_of(seed)
        arm = _arm(text)
        errors = [compare(pin, arm, text, state) for state in _states(arm, seed)]
        return Case(max(errors), {what: 1, 'states': STATES})

    return case


def _their_mass_matrix(pin, model, data, theirs, order):
    M = np.triu(pin.crba(model, data, theirs))
    back = np.argsort(order)
    return (M + np.triu(M, 1).T)[np.ix_(back, back)]


def _inverse_dynamics(pin, arm, text, state):
    model, data, theirs, order = in_pinocchio(pin, arm, text, state.q)
    model.gravity.linear = np.array(GRAVITY)
    scale = np.sqrt(np.diag(_their_mass_matrix(pin, model, data, theirs, order)))
    expected = pin.rnea(model, data, theirs, state.qd[order], state.qdd[order])[np.argsort(order)]
    return relative_error(inverse(arm, state.q, state.qd, state.qdd), expected, scale)


def _forward_dynamics(pin, arm, text, state):
    model, data, theirs, order = in_pinocchio(pin, arm, text, state.q)
    model.gravity.linear = np.array(GRAVITY)
    scale = np.sqrt(np.diag(_their_mass_matrix(pin, model, data, theirs, order)))
    expected = pin.aba(model, data, theirs, state.qd[order], state.effort[order])[
        np.argsort(order)
    ]
    return relative_error(forward(arm, state.q, state.qd, state.effort), expected, 1 / scale)


def _mass_matrix(pin, arm, text, state):
    model, data, theirs, order = in_pinocchio(pin, arm, text, state.q)
    expected = _their_mass_matrix(pin, model, data, theirs, order)
    scale = np.sqrt(np.diag(expected))
    return relative_error(frs.mass_matrix(arm, state.q), expected, np.outer(scale, scale))


def _jacobians(pin, arm, text, state):
    """Poses and Jacobians of all links; metres and radians weigh the same."""
    model, data, theirs, order = in_pinocchio(pin, arm, text, state.q)
    pin.computeJointJacobians(model, data, theirs)
    pin.updateFramePlacements(model, data)
    back, errors = np.argsort(order), []
    for link in arm.frames:
        frame = model.getFrameId(link, pin.FrameType.BODY)
        if frame == model.nframes:  # the base has no frame in Pinocchio
            continue
        errors.append(
            relative_error(frs.pose(arm, state.q, link=link), data.oMf[frame].homogeneous)
        )
        # linear before angular velocity there
        J = pin.getFrameJacobian(model, data, frame, pin.ReferenceFrame.LOCAL)
        J = np.roll(J.reshape(6, -1)[:, back], 3, axis=0)
        errors.append(relative_error(frs.jacobian(arm, state.q, link=link), J) if J.any() else 0.0)
    return max(errors)


def _derivatives(pin, arm, text, state):
    """Derivatives of the accelerations."""
    model, data, theirs, order = in_pinocchio(pin, arm, text, state.q)
    model.gravity.linear = np.array(GRAVITY)
    back = np.argsort(order)
    square = np.ix_(back, back)
    scale = np.sqrt(np.diag(_their_mass_matrix(pin, model, data, theirs, order)))
    pin.computeABADerivatives(model, data, theirs, state.qd[order], state.effort[order])
    found = frs.derivatives(arm, state.q, state.qd, state.effort)
    weights = np.tile(np.outer(1 / scale, scale), 2)
    # together, because without Coriolis forces those by the rates are zero
    return relative_error(
        np.hstack([found.da_dq, found.da_dv]),
        np.hstack([data.ddq_dq[square], data.ddq_dv[square]]),
        weights,
    )


def _accelerations_in_mujoco(text, arm, seed):
    peer = MujocoRobot(text, arm.joint_names, GRAVITY)
    rng, errors = np.random.default_rng(seed), []
    for q, _, _, effort in _states(arm, seed):
        # fast enough for friction smoothed over 0.01 rad/s to equal Coulomb friction
        qd = rng.uniform(0.5, 3.0, arm.size) * rng.choice([-1.0, 1.0], arm.size)
        q = np.clip(q, arm.arrays.lower, arm.arrays.upper)
        M, bias = peer.mass_matrix_and_bias(q, qd)
        expected = np.linalg.solve(
            M, effort - bias - peer.damping * qd - peer.friction * np.sign(qd)
        )
        scale = np.sqrt(np.diag(M))
        errors.append(relative_error(forward(arm, q, qd, effort), expected, 1 / scale))
    return max(errors)


def _tree_in_mujoco(seed):
    text = _tree(seed)
    return Case(_accelerations_in_mujoco(text, _arm(text), seed), {'trees': 1, 'states': STATES})


def _public_in_mujoco(seed):
    text = _in_turns(robots_of_mujoco(), seed)
    error = _accelerations_in_mujoco(text, _arm(text), seed)
    return Case(error, {'runs': 1, 'states': STATES})


CHECKS = {
    'rigid_inverse_dynamics': Check(
        'forces of random rigid trees, Pinocchio `rnea`',
        1e-10, 800, 10, _with_pinocchio(_inverse_dynamics, _tree, 'trees'),
    ),
    'rigid_forward_dynamics': Check(
        'accelerations of random rigid trees, Pinocchio `aba`',
        1e-8, 500, 10, _with_pinocchio(_forward_dynamics, _tree, 'trees'),
    ),
    'rigid_mass_matrix': Check(
        'mass matrices of random rigid trees, Pinocchio `crba`',
        1e-10, 500, 10, _with_pinocchio(_mass_matrix, _tree, 'trees'),
    ),
    'rigid_jacobians': Check(
        'poses and Jacobians of all links of random rigid trees, Pinocchio `getFrameJacobian`',
        1e-10, 500, 10, _with_pinocchio(_jacobians, _tree, 'trees'),
    ),
    'rigid_derivatives': Check(
        'derivatives of accelerations of random rigid trees, Pinocchio `computeABADerivatives`',
        1e-8, 500, 10, _with_pinocchio(_derivatives, _tree, 'trees'),
    ),
    'rigid_mujoco': Check(
        'accelerations of random rigid trees, MuJoCo `mj_forward`',
        1e-8, 500, 10, _tree_in_mujoco,
    ),
    'public_inverse_dynamics': Check(
        'forces of public robots, Pinocchio `rnea`',
        1e-10, 100, 4, _with_pinocchio(_inverse_dynamics, _public, 'runs'),
    ),
    'public_jacobians': Check(
        'poses and Jacobians of all links of public robots, Pinocchio `getFrameJacobian`',
        1e-10, 60, 3, _with_pinocchio(_jacobians, _public, 'runs'),
    ),
    'public_mujoco': Check(
        'accelerations of public robots with damping and friction, MuJoCo `mj_forward`',
        1e-8, 100, 4, _public_in_mujoco,
    ),
}  # fmt: skip

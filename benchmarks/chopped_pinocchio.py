"""
Pinocchio with chopped links.

Pinocchio has no integrator, and explicit schemes around it need short steps here. So it also gets
the scheme of this package, the implicit midpoint rule. All springs are at hinges, so the rule adds
a diagonal to the mass matrix, which `armature` contains.
"""

from typing import NamedTuple

import numpy as np
import pinocchio

from benchmarks.chopped import merged
from benchmarks.timing import in_turns

LOST = 1e3  # velocity of a run that is lost [rad/s]


class Chain(NamedTuple):
    """A model of Pinocchio, and its hinges."""

    model: object
    stiffness: np.ndarray  # (n,)  [N m/rad]
    damping: np.ndarray  # (n,)  [N m s/rad]
    rest: np.ndarray  # (n,)  [rad]
    start: np.ndarray  # (n,)  [rad]
    tool: tuple  # (joint of the model, point in its frame [m])


def build(pieces, frames):
    """Return a Chain for what `chop` returns."""
    model = pinocchio.Model()
    for number, piece in enumerate(pieces):
        joint = (
            pinocchio.JointModelRevoluteUnaligned(piece.axes[0])
            if len(piece.axes) == 1
            else pinocchio.JointModelSphericalZYX()
        )
        index = model.addJoint(
            piece.parent + 1, joint, pinocchio.SE3(piece.R, piece.p), f'piece_{number}'
        )
        model.appendBodyToJoint(
            index, pinocchio.Inertia(*merged(piece.lumps)), pinocchio.SE3.Identity()
        )
    piece, _, p = frames['tool']
    stiffness, damping, rest, start = (
        np.concatenate([getattr(piece, name) for piece in pieces])
        for name in ('stiffness', 'damping', 'rest', 'start')
    )
    return Chain(model, stiffness, damping, rest, start, (piece + 1, p))


def swing(chain, scheme, steps, end, samples, iterations=3):
    """
    Return the path of the tool, (samples + 1, 3) [m], and the number of calls of `aba`.

    :param scheme: 'implicit_midpoint', or 'semi_implicit_euler' with implicit dampers.
    :param iterations: of the implicit midpoint rule in every step; this package iterates until it
        converges.
    """
    model, data, h = chain.model, chain.model.createData(), end / samples / steps
    q, v, a = chain.start.copy(), *np.zeros((2, chain.start.size))
    if scheme == 'implicit_midpoint':
        model.armature = h * (h / 4 * chain.stiffness + chain.damping / 2)
        calls = iterations
    else:
        model.armature = h * chain.damping
        calls = 1
    path = [_tool(chain, data, q)]
    for _ in range(samples):
        for _ in range(steps):
            if scheme == 'implicit_midpoint':
                for _ in range(iterations):
                    rate = v + h / 2 * a
                    middle = q + h / 2 * rate
                    a = _acceleration(chain, data, middle, rate, model.armature * a)
                q += h * (v + h / 2 * a)
                v += h * a
            else:
                v += h * _acceleration(chain, data, q, v, 0.0)
                q += h * v
        if not np.abs(v).max() < LOST:
            return np.full((samples + 1, 3), np.nan), 0
        path.append(_tool(chain, data, q))
    return np.array(path), calls * steps * samples


def _acceleration(chain, data, q, v, force):
    force = force - chain.stiffness * (q - chain.rest) - chain.damping * v
    return pinocchio.aba(chain.model, data, q, v, force).copy()


def call_time(chain, calls=300, rounds=9):
    """Time of one forward dynamics without that of a call from Python [s]."""

    def repeated(model, q):
        data = model.createData()

        def call():
            for _ in range(calls):
                pinocchio.aba(model, data, q, q, q)

        return call

    times = in_turns(
        [repeated(chain.model, chain.start), repeated(pinocchio.Model(), np.zeros(0))], rounds
    )
    full, empty = (min(row) / calls for row in times)
    return full - empty


def _tool(chain, data, q):
    joint, point = chain.tool
    pinocchio.forwardKinematics(chain.model, data, q)
    return data.oMi[joint].act(point)

"""
Natural frequencies and linear models of an arm.

Both come from the matrices M, D and K of small motions (T50); a drive that is locked keeps its
coordinate out of them.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.linalg import eig, eigh

from flex_robot_sim.deflection import tip_deflection
from flex_robot_sim.exceptions import SettingError
from flex_robot_sim.loads import make_loads
from flex_robot_sim.mass import mass_matrix, refuse_massless
from flex_robot_sim.model import ArmModel
from flex_robot_sim.statics import equilibrium
from flex_robot_sim.tangent import (
    STEP,
    checked,
    difference,
    driven,
    lacking_force,
    scales,
    tangent,
)

TIP = ('x', 'y', 'z', 'turn_x', 'turn_y', 'turn_z')


@dataclass(frozen=True, eq=False)
class Modes:
    """
    Natural modes, slowest first.

    A mode that does not oscillate has the damping ratio 1, or -1 if it grows, and the frequency
    tells how fast; a free motion without force has the frequency 0.
    """

    names: tuple                # (n,)    of the coordinates
    frequencies: np.ndarray     # (k,)                                                  [Hz]
    damping_ratios: np.ndarray  # (k,)
    shapes: np.ndarray          # (n, k)  largest entry 1, locked coordinates 0; complex if damped

    def shape(self, mode: int) -> dict:
        """Return one shape by coordinate name."""
        return dict(zip(self.names, self.shapes[:, mode]))


@dataclass(frozen=True, eq=False)
class LinearModel:
    """dx/dt = A x + B u, y = C x + D u, for small changes about a state."""

    A: np.ndarray
    B: np.ndarray
    C: np.ndarray
    D: np.ndarray
    states: tuple               # coordinates, then their rates: '<coordinate>/rate'
    inputs: tuple               # efforts by joint
    outputs: tuple              # joint positions and rates, then tips: '<link>/tip_x', ...
    coordinates: np.ndarray     # (n,)       about which it holds
    rates: np.ndarray           # (n,)
    effort: np.ndarray          # (joints,)                                             [N m, N]


def frequencies(model: ArmModel, position=None, joints='locked', gains=None, velocity=None,
                pushes=()) -> np.ndarray:
    """Natural frequencies [Hz], ascending; see `modes`."""
    return modes(model, position, joints, gains, velocity, pushes).frequencies


def modes(model: ArmModel, position=None, joints='locked', gains=None, velocity=None,
          pushes=()) -> Modes:
    """
    Find the natural modes of the whole arm about its equilibrium, or about any state.

    :param position: of the joints, (joints,) [rad, m], for the equilibrium there; default: zero.
        Of all coordinates, (n,), for the state that they say.
    :param joints: 'locked' or 'free', or the names of those whose drives are locked.
    :param gains: (stiffness, damping) of drives that hold their place instead of being locked,
        numbers or (joints,) each [N m/rad, N m s/rad; N/m, N s/m].
    :param velocity: of the joints, or of all coordinates, as the position.
    """
    loads = make_loads(model, pushes)
    q, qd = _state(model, position, velocity, pushes)
    locked = _locked(model, 'free' if gains is not None else joints)
    qdd, _ = _accelerations(model, loads, q, qd, None, driven(model))
    D, K = tangent(model, loads, q, qd, qdd)
    if gains is not None:
        motors = driven(model)
        for matrix, values in zip((K, D), _gains(model, gains)):
            matrix[motors, motors] += values
    free = np.setdiff1d(np.arange(model.size), locked)
    part = np.ix_(free, free)
    rates, vectors = _eigen(mass_matrix(model.arrays, q)[part], D[part], K[part])
    shapes = np.zeros((model.size, rates.size), vectors.dtype)
    shapes[free] = vectors
    size = np.abs(rates)
    ratios = np.divide(-rates.real, size, out=np.zeros(size.shape), where=size > 0)
    return Modes(model.coordinate_names, size / (2 * np.pi), ratios, shapes)


def linearise(model: ArmModel, position=None, velocity=None, effort=None, joints='free',
              pushes=()) -> LinearModel:
    """
    Linear model about an equilibrium, at rest or steadily turning, or about any state.

    :param position: as of `modes`, and so is the velocity.
    :param effort: of the motors, (joints,) [N m, N]; default: those that keep the drives at their
        speed.
    :param joints: 'free', or the names of joints whose drives are locked, or 'locked'.
    """
    loads = make_loads(model, pushes)
    q, qd = _state(model, position, velocity, pushes)
    motors, locked = driven(model), _locked(model, joints)
    if effort is not None:
        effort = checked('effort', effort, model.joint_names)
    qdd, effort = _accelerations(model, loads, q, qd, effort, locked)
    D, K = tangent(model, loads, q, qd, qdd)
    free = np.setdiff1d(np.arange(model.size), locked)
    moved = [j for j, k in enumerate(motors) if k not in locked]
    n, part = free.size, np.ix_(free, free)
    inputs = (free[:, None] == motors[moved]).astype(float)
    inverse = np.linalg.inv(mass_matrix(model.arrays, q)[part])
    A = np.block([[np.zeros((n, n)), np.eye(n)], [-inverse @ K[part], -inverse @ D[part]]])
    B = np.vstack([np.zeros_like(inputs), inverse @ inputs])
    names = [model.coordinate_names[k] for k in free]
    joint_side = np.flatnonzero(free < len(model.joint_names) + len(model.motor_names))
    seen = np.concatenate([joint_side, n + joint_side])
    tips = np.vstack([np.zeros((0, model.size)), *(_tip_slopes(model, link, q)
                                                   for link in model.tips)])[:, free]
    C = np.vstack([np.eye(2 * n)[seen], np.hstack([tips, np.zeros_like(tips)])])
    states = (*names, *(f'{name}/rate' for name in names))
    outputs = [states[k] for k in seen]
    outputs += [f'{link}/tip_{part}' for link in model.tips for part in TIP]
    return LinearModel(A, B, C, np.zeros((len(C), len(moved))), states,
                       tuple(model.joint_names[j] for j in moved), tuple(outputs), q, qd, effort)


def _accelerations(model, loads, q, qd, effort, locked):
    """Accelerations of all coordinates, zero where locked, and the efforts, found if None."""
    motors = driven(model)
    force = lacking_force(model, loads, q, qd, np.zeros(model.size))
    if effort is None:
        locked = motors
    else:
        force[motors] -= effort
    free = np.setdiff1d(np.arange(model.size), locked)
    refuse_massless(model)
    M, qdd = mass_matrix(model.arrays, q), np.zeros(model.size)
    qdd[free] = np.linalg.solve(M[np.ix_(free, free)], -force[free])
    return qdd, (M @ qdd + force)[motors] if effort is None else effort


def _eigen(M, D, K):
    """Rates s (k,) of exp(s t), of every conjugate pair one, by size, and shapes (n, k)."""
    n = len(M)
    if n == 0:
        return np.zeros(0, complex), np.zeros((0, 0))
    squares, columns = eigh((K + K.T) / 2, M)
    D, skew = columns.T @ D @ columns, columns.T @ (K - K.T) @ columns / 2
    noise = 50 * n * np.finfo(float).eps * np.abs(squares).max()
    if not D.any() and np.abs(skew).max() < noise:
        falling = squares < -noise
        rates = np.concatenate([1j * np.sqrt(np.maximum(squares, 0)), -np.sqrt(-squares[falling])])
        rates[:n][falling] = np.sqrt(-squares[falling])
        vectors = np.hstack([columns, columns[:, falling]])
    else:
        block = np.block([[np.zeros((n, n)), np.eye(n)], [-np.diag(squares) - skew, -D]])
        rates, vectors = eig(block)
        vectors = columns @ vectors[:n]
    rates[np.abs(rates)**2 <= noise] = 0.0
    # of motions without force, place and speed are one mode
    still = np.flatnonzero(rates == 0.0)
    kept = np.setdiff1d(np.flatnonzero(rates.imag >= 0), still[(still.size + 1) // 2:]
                        if rates.size == 2 * n else [])
    kept = kept[np.argsort(np.abs(rates[kept]), kind='stable')]
    vectors = vectors[:, kept]
    largest = np.abs(vectors).argmax(axis=0), range(kept.size)
    return rates[kept], vectors / vectors[largest]


def _tip_slopes(model, link, q):
    """Slopes (6, n) of the tip deflection with the coordinates."""
    out, steps = np.zeros((6, model.size)), np.diag(STEP * scales(model))
    for i in model.segments[link]:
        first = model.arrays.first[i]
        for k in range(first, first + model.beams[i].size):
            out[:, k] = difference(lambda q: tip_deflection(model, link, q), q, steps[k]
                                   ) / steps[k, k]
    return out


def _state(model, position, velocity, pushes):
    """Coordinates and rates (n,): as given, or of the equilibrium at joint positions."""
    if np.size(position) == model.size > len(model.joint_names) and position is not None:
        q = checked('position', position, model.coordinate_names)
        return q, (np.zeros(model.size) if velocity is None
                   else checked('velocity', velocity, model.coordinate_names))
    rest = equilibrium(model, position, velocity, pushes)
    return rest.coordinates, rest.rates


def _locked(model, joints):
    """Coordinates of the drives that are locked."""
    if isinstance(joints, str) and joints in ('free', 'locked'):
        return driven(model) if joints == 'locked' else np.zeros(0, int)
    if isinstance(joints, str) or not isinstance(joints, Sequence):
        raise SettingError(f"joints = {joints!r} must be 'locked', 'free', or names of joints")
    for name in joints:
        if name not in model.joint_names:
            raise SettingError(f'no joint "{name}" to lock. Known: '
                               f'{", ".join(model.joint_names)}')
    return driven(model)[[model.joint_names.index(name) for name in joints]]


def _gains(model, gains):
    """Stiffness and damping of every drive, (joints,) each."""
    try:
        stiffness, damping = gains
        shape = (len(model.joint_names),)
        values = [np.broadcast_to(np.asarray(gain, float), shape) for gain in (stiffness, damping)]
    except (TypeError, ValueError):
        values = [np.array(np.nan)]
    if not all(np.isfinite(gain).all() and (gain >= 0).all() for gain in values):
        raise SettingError('gains must be (stiffness, damping), each a finite number >= 0 or one '
                           'per joint')
    return values

"""Where the elastic parts of an arm come to rest under weight, loads and steady turning."""

from dataclasses import replace
from typing import NamedTuple

import numpy as np
from scipy.linalg import lu_factor, lu_solve

from flex_robot_sim.exceptions import SettingError
from flex_robot_sim.loads import make_loads
from flex_robot_sim.model import ArmModel
from flex_robot_sim.tangent import checked, driven, lacking_force, scales, tangent

LONGEST_TURN = 0.5          # of one correction in the search                               [rad]
SMALLEST_PART = 1 / 2048    # of all loads that is still tried at once
CORRECTIONS = 50            # tried before the part is made smaller


class Equilibrium(NamedTuple):
    """An arm whose elastic parts are at rest, and what holds it."""

    coordinates: np.ndarray     # (n,)
    rates: np.ndarray           # (n,)       zero unless the arm turns steadily
    effort: np.ndarray          # (joints,)  of the motors                              [N m, N]


def equilibrium(model: ArmModel, position=None, velocity=None, pushes=()) -> Equilibrium:
    """
    Find where elastic links and flexible joints come to rest while the motors stand or turn.

    :param position: of the joints, (joints,) [rad, m], on the motor side where the drive gives;
        default: zero.
    :param velocity: of the joints, (joints,) [rad/s, m/s], for an arm that turns steadily: rates
        and elastic coordinates are constant.
    :param pushes: [Push].
    :raises SettingError: if there is no stable one: the arm buckles.
    """
    q, qd = np.zeros((2, model.size))
    motors = driven(model)
    for name, values, out in (('position', position, q), ('velocity', velocity, qd)):
        if values is not None:
            values = checked(name, values, model.joint_names)
            out[:len(values)] = out[motors] = values
    loads = make_loads(model, pushes)
    unknown = np.setdiff1d(np.arange(model.size), motors)
    if unknown.size:
        q = _find_rest(model, loads, q, qd, unknown)
    return Equilibrium(q, qd, lacking_force(model, loads, q, qd, np.zeros(model.size))[motors])


def _find_rest(model, loads, q, qd, unknown):
    """Coordinates of the equilibrium; loads grow step by step where one step does not do."""
    done, part = 0.0, 1.0
    while done < 1.0:
        share = min(done + part, 1.0)
        found = _newton(*_weakened(model, loads, qd, share), q, unknown)
        if found is None:
            part /= 2
            if part < SMALLEST_PART:
                raise SettingError(
                    f'the arm has no stable equilibrium: it buckles at about {share:.1%} of its '
                    'weight, loads and squared rates. Take smaller ones, or a stiffer arm')
        else:
            q, done, part = found, share, 2 * part
    return q


def _weakened(model, loads, qd, share):
    arrays = model.arrays._replace(rising=share * model.arrays.rising)
    weakened = loads._replace(force=share * loads.force, moment=share * loads.moment)
    return replace(model, arrays=arrays), weakened, np.sqrt(share) * qd


def _newton(model, loads, qd, q, unknown):
    """
    Stable equilibrium near q, or None.

    Newton's method, with steps so short that the next correction shrinks (Deuflhard, Newton
    Methods for Nonlinear Problems, 2004, section 3.3.1: the natural monotonicity test).
    """
    scale, rest = scales(model)[unknown], np.zeros(model.size)
    for _ in range(CORRECTIONS):
        K = tangent(model, loads, q, qd, rest)[1][np.ix_(unknown, unknown)]
        K *= scale * scale[:, None]             # corrections in units of the scale compare
        if not np.isfinite(K).all():
            return None
        factor = lu_factor(K)

        def correction(at, factor=factor):
            lacking = lacking_force(model, loads, at, qd, rest)[unknown]
            return -lu_solve(factor, lacking * scale, check_finite=False)

        step = correction(q)
        size = np.abs(step).max()
        if size < 1e-9:                         # the next one would be lost in rounding
            return _moved(q, unknown, step * scale) if _is_stable(K) else None
        share = min(1.0, LONGEST_TURN / size)
        while not np.abs(correction(_moved(q, unknown, share * step * scale))).max() < (
                1 - share / 4) * size:
            share /= 2
            if not share > 1e-3:
                return None
        q = _moved(q, unknown, share * step * scale)
    return None


def _moved(q, unknown, step):
    q = q.copy()
    q[unknown] += step
    return q


def _is_stable(K):
    """Whether nothing gives way at rest; followers may still make it flutter."""
    values = np.linalg.eigvals(K)
    return (values[values.imag == 0].real > 0).all()

"""Where the elastic parts of an arm come to rest under weight, loads and steady turning."""

from collections.abc import Iterable
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from flex_robot_sim.analysis.tangent import (
    Slopes,
    driven,
    lacking_force,
    scales,
    spring_stiffness,
    tangent,
)
from flex_robot_sim.dynamics.loads import LoadArrays, Push, make_loads
from flex_robot_sim.model.arguments import checked, positive
from flex_robot_sim.model.arm_model import ArmModel
from flex_robot_sim.model.start_pose import start_position
from flex_robot_sim.util.exceptions import SettingError
from flex_robot_sim.util.summary import summarized

LONGEST_TURN = 0.5          # of one correction in the search                               [rad]
SMALLEST_PART = 1 / 2048    # of all loads that is still tried at once
CORRECTIONS = 50            # tried before the part is made smaller
SHRINKS = 0.25              # correction over the one before with which a matrix is kept


@summarized
class Equilibrium(NamedTuple):
    """An arm whose elastic parts are at rest, and what holds it."""

    coordinates: np.ndarray     # (n,)
    rates: np.ndarray           # (n,)       zero unless the arm turns steadily
    effort: np.ndarray          # (joints,)  of the motors                              [N m, N]

def equilibrium(model: ArmModel, position: ArrayLike | None = None,
                velocity: ArrayLike | None = None, pushes: Iterable[Push] = (),
                stiffness: ArrayLike | None = None) -> Equilibrium:
    """
    Find where elastic links and flexible joints come to rest while the motors stand or turn.

    Payloads: see `with_payload`.

    :param position: of the joints, (joints,) [rad, m], on the motor side where the drive gives;
        default: where arms start, zero or the nearest position within limits.
    :param velocity: of the joints, (joints,) [rad/s, m/s], for an arm that turns steadily: rates
        and elastic coordinates are constant.
    :param pushes: [Push].
    :param stiffness: of a servo that pulls the motors to `position`, where they then need not be,
        a number or (joints,) [N m/rad, N/m]; default: they are there, whatever it takes.
    :raises SettingError: if there is no stable one: the arm buckles.
    """
    loads = make_loads(model, pushes)
    q, qd, _ = rest_and_slopes(model, loads, position, velocity, stiffness)
    effort = lacking_force(model, loads, q, qd, np.zeros(model.size))[driven(model)]
    return Equilibrium(q, qd, effort)


def rest_and_slopes(
        model: ArmModel, loads: LoadArrays, position: ArrayLike | None = None,
        velocity: ArrayLike | None = None,
        stiffness: ArrayLike | None = None) -> tuple[np.ndarray, np.ndarray, Slopes | None]:
    """Coordinates and rates (n,) of `equilibrium`, and D and K (T50) there, or None."""
    q, qd, servo = np.zeros((3, model.size))
    motors = driven(model)
    position = start_position(model) if position is None else position
    for name, values, out in (('position', position, q), ('velocity', velocity, qd)):
        if values is not None:
            values = checked(name, values, model.joint_names)
            out[:len(values)] = out[motors] = values
    unknown = np.setdiff1d(np.arange(model.size), motors)
    if stiffness is not None:
        unknown = np.arange(model.size)
        servo[motors] = positive('stiffness', stiffness, model.joint_names)
    if unknown.size == 0:
        return q, qd, None
    q, slopes = _find_rest(model, loads, q, qd, unknown, servo)
    return q, qd, slopes


def _find_rest(model, loads, q, qd, unknown, servo):
    """
    Coordinates and slopes there; loads grow step by step where one step does not do.

    :param servo: stiffness (n,) with which coordinates are pulled to where they are in q.
    """
    done, part, slopes, target = 0.0, 1.0, None, q
    while done < 1.0:
        share = min(done + part, 1.0)
        found = _newton(*_weakened(model, loads, qd, share), q, unknown, servo, target)
        if found is None:
            part /= 2
            if part < SMALLEST_PART:
                raise SettingError(
                    f'the arm has no stable equilibrium: it buckles at about {share:.1%} of its '
                    'weight, loads and squared rates. Take smaller ones, or a stiffer arm')
        else:
            (q, slopes), done, part = found, share, 2 * part
    return q, slopes


def _weakened(model, loads, qd, share):
    if share == 1.0:        # the usual case, in which workspaces are lent that are there
        return model, loads, qd
    arrays = model.arrays._replace(base_acceleration=share * model.arrays.base_acceleration)
    weakened = loads._replace(force=share * loads.force, moment=share * loads.moment)
    return replace(model, arrays=arrays), weakened, np.sqrt(share) * qd


def _newton(model, loads, qd, q, unknown, servo, target):
    """
    Stable equilibrium near q and the matrices D and K there, or None.

    Newton's method, with steps so short that the next correction shrinks (Deuflhard, Newton
    Methods for Nonlinear Problems, 2004, section 3.3.1: the natural monotonicity test). Where it
    shrinks enough, the old matrix will do. The first is that of the springs alone: most arms hang
    in their springs, and the slope of their weight is dear.
    """
    scale, rest, part = scales(model)[unknown], np.zeros(model.size), np.ix_(unknown, unknown)
    held = np.diag(servo)

    def corrector(K):
        """Give the function from coordinates to their correction by K, or None."""
        from scipy.linalg import lu_factor, lu_solve  # late: a fifth of a start

        K = K[part] * scale * scale[:, None]    # corrections in units of the scale compare
        if not np.isfinite(K).all():
            return None
        factor = lu_factor(K)

        def correction(at):
            lacking = lacking_force(model, loads, at, qd, rest) + servo * (at - target)
            return -lu_solve(factor, lacking[unknown] * scale, check_finite=False)
        return correction

    def settled(q, size, correction, following):
        """Follow corrections as long as they shrink enough."""
        while size > 1e-12 and np.abs(following).max() < SHRINKS * size:
            size, q = np.abs(following).max(), _moved(q, unknown, following * scale)
            following = correction(q)
        return q

    correction = corrector(spring_stiffness(model, q) + held)
    q = settled(q, LONGEST_TURN / SHRINKS, correction, correction(q))
    for _ in range(CORRECTIONS):
        D, K = tangent(model, loads, q, qd, rest)
        correction = corrector(K + held)
        if correction is None:
            return None
        step = correction(q)
        size = np.abs(step).max()
        if size < 1e-9:                         # the next one would be lost in rounding
            found = _moved(q, unknown, step * scale), (D, K)
            return found if _is_stable((K + held)[part]) else None
        share = min(1.0, LONGEST_TURN / size)
        while True:
            there = _moved(q, unknown, share * step * scale)
            following = correction(there)
            if np.abs(following).max() < (1 - share / 4) * size:
                break
            share /= 2
            if not share > 1e-3:
                return None
        q = settled(there, size, correction, following)
    return None


def _moved(q, unknown, step):
    q = q.copy()
    q[unknown] += step
    return q


def _is_stable(K):
    """Whether nothing gives way at rest; followers may still make it flutter."""
    values = np.linalg.eigvals(K)
    return (values[values.imag == 0].real > 0).all()

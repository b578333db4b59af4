"""Static equilibrium of the elastic parts of an arm under weight, loads and steady rotation."""

from collections.abc import Iterable
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from flex_robot_sim.analysis import tangent
from flex_robot_sim.dynamics.loads import LoadArrays, Push, make_loads
from flex_robot_sim.model.arguments import checked, positive
from flex_robot_sim.model.arm_model import ArmModel
from flex_robot_sim.model.start_pose import start_position
from flex_robot_sim.util.exceptions import SettingError
from flex_robot_sim.util.summary import summarized

MAX_CORRECTION = 0.5        # of one Newton step                                            [rad]
MIN_LOAD_STEP = 1 / 2048    # share of all loads
MAX_CORRECTIONS = 50        # before the load step is reduced
MAX_CONTRACTION = 0.25      # ratio of successive corrections that keeps the matrix in use


@summarized
class Equilibrium(NamedTuple):
    """Equilibrium of an arm, and the motor efforts that hold it."""

    coordinates: np.ndarray     # (n,)
    rates: np.ndarray           # (n,)       zero unless the arm turns steadily
    effort: np.ndarray          # (joints,)  of the motors                              [N m, N]

def equilibrium(model: ArmModel, position: ArrayLike | None = None,
                velocity: ArrayLike | None = None, pushes: Iterable[Push] = (),
                stiffness: ArrayLike | None = None) -> Equilibrium:
    """
    Find the equilibrium of elastic links and flexible joints with motors at rest or turning.

    Payloads: see `with_payload`.

    :param position: of the joints, (joints,) [rad, m], on the motor side of elastic drives;
        default: the start pose, zero or the nearest position within limits.
    :param velocity: of the joints, (joints,) [rad/s, m/s], for steady rotation: rates and elastic
        coordinates are constant.
    :param pushes: [Push].
    :param stiffness: of a servo with the target `position`, a number or (joints,)
        [N m/rad, N/m]; default: the motors are exactly at `position`.
    :raises SettingError: if there is no stable equilibrium: the arm buckles.
    """
    loads = make_loads(model, pushes)
    q, qd, _ = equilibrium_and_slopes(model, loads, position, velocity, stiffness)
    effort = tangent.residual_force(model, loads, q, qd, np.zeros(model.size))[model.motor_q]
    return Equilibrium(q, qd, effort)


def equilibrium_and_slopes(
        model: ArmModel, loads: LoadArrays, position: ArrayLike | None = None,
        velocity: ArrayLike | None = None, stiffness: ArrayLike | None = None,
        ) -> tuple[np.ndarray, np.ndarray, tangent.Slopes | None]:
    """Return coordinates and rates (n,) of `equilibrium`, and its D and K (T50) or None."""
    q, qd, servo = np.zeros((3, model.size))
    motors = model.motor_q
    position = start_position(model) if position is None else position
    for name, values, target in (('position', position, q), ('velocity', velocity, qd)):
        if values is not None:
            values = checked(name, values, model.joint_names)
            model.set_joints(target, values)
    unknown = model.passive_q
    if stiffness is not None:
        unknown = np.arange(model.size)
        servo[motors] = positive('stiffness', stiffness, model.joint_names)
    if unknown.size == 0:
        return q, qd, None
    q, slopes = _find_equilibrium(model, loads, q, qd, unknown, servo)
    return q, qd, slopes


def _find_equilibrium(model, loads, q, qd, unknown, servo):
    """Coordinates and slopes with a servo (n,) at q; loads grow in steps if one step fails."""
    completed, load_step, slopes, target = 0.0, 1.0, None, q
    while completed < 1.0:
        load_share = min(completed + load_step, 1.0)
        result = _newton(*_scaled_loads(model, loads, qd, load_share), q, unknown, servo, target)
        if result is None:
            load_step /= 2
            if load_step < MIN_LOAD_STEP:
                raise SettingError(
                    f'the arm has no stable equilibrium: it buckles at about {load_share:.1%} of '
                    'its weight, loads and squared rates. Take smaller ones, or a stiffer arm')
        else:
            (q, slopes), completed, load_step = result, load_share, 2 * load_step
    return q, slopes


def _scaled_loads(model, loads, qd, load_share):
    if load_share == 1.0:       # the usual case: the pool has workspaces for this model
        return model, loads, qd
    arrays = model.arrays._replace(base_acceleration=load_share * model.arrays.base_acceleration)
    scaled = loads._replace(force=load_share * loads.force, moment=load_share * loads.moment)
    return replace(model, arrays=arrays), scaled, np.sqrt(load_share) * qd


def _newton(model, loads, qd, q, unknown, servo, target):
    """
    Return the stable equilibrium near q with its matrices D and K, or None.

    Damped Newton's method with the natural monotonicity test (Deuflhard, Newton Methods for
    Nonlinear Problems, 2004, section 3.3.1). Corrections that contract enough reuse the matrix.
    The first matrix is that of the springs alone: it suffices for most arms, and is cheap.
    """
    scale, zero_rates, block = (
        tangent.scales(model)[unknown], np.zeros(model.size), np.ix_(unknown, unknown))
    servo_matrix = np.diag(servo)

    def corrector(K):
        """Return the function from coordinates to their correction by K, or None."""
        from scipy.linalg import lu_factor, lu_solve  # late: a fifth of a start

        K = K[block] * scale * scale[:, None]    # corrections in units of the scale compare
        if not np.isfinite(K).all():
            return None
        factor = lu_factor(K)

        def correction(coordinates):
            residual = tangent.residual_force(model, loads, coordinates, qd,
                                              zero_rates) + servo * (coordinates - target)
            return -lu_solve(factor, residual[unknown] * scale, check_finite=False)
        return correction

    def iterate_simplified(q, size, correction, following):
        """Apply simplified Newton corrections as long as they contract enough."""
        while size > 1e-12 and np.abs(following).max() < MAX_CONTRACTION * size:
            size, q = np.abs(following).max(), _displaced(q, unknown, following * scale)
            following = correction(q)
        return q

    correction = corrector(tangent.spring_stiffness(model, q) + servo_matrix)
    q = iterate_simplified(q, MAX_CORRECTION / MAX_CONTRACTION, correction, correction(q))
    for _ in range(MAX_CORRECTIONS):
        D, K = tangent.tangent(model, loads, q, qd, zero_rates)
        correction = corrector(K + servo_matrix)
        if correction is None:
            return None
        step = correction(q)
        size = np.abs(step).max()
        if size < 1e-9:                         # the next correction is below rounding
            result = _displaced(q, unknown, step * scale), (D, K)
            return result if _is_stable((K + servo_matrix)[block]) else None
        step_factor = min(1.0, MAX_CORRECTION / size)
        while True:
            trial = _displaced(q, unknown, step_factor * step * scale)
            following = correction(trial)
            if np.abs(following).max() < (1 - step_factor / 4) * size:
                break
            step_factor /= 2
            if not step_factor > 1e-3:
                return None
        q = iterate_simplified(trial, size, correction, following)
    return None


def _displaced(q, unknown, step):
    q = q.copy()
    q[unknown] += step
    return q


def _is_stable(K):
    """Whether the equilibrium is statically stable; follower forces may still cause flutter."""
    values = np.linalg.eigvals(K)
    return (values[values.imag == 0].real > 0).all()

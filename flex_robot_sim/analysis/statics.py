"""Static equilibrium of the elastic parts of an arm under weight, loads and steady rotation."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from flex_robot_sim.analysis import tangent
from flex_robot_sim.analysis.contact_terms import refuse_pressed_start
from flex_robot_sim.analysis.differences import scales
from flex_robot_sim.analysis.drive_conditions import (
    Gains,
    drive_efforts,
    expect_servo_on_free_drives,
    locked_drives,
    servo_gains,
)
from flex_robot_sim.analysis.loop_statics import loop_equilibrium
from flex_robot_sim.dynamics.loads import LoadArrays, Push, make_loads
from flex_robot_sim.model.arguments import joints_or_coordinates
from flex_robot_sim.model.arm_model import ArmModel
from flex_robot_sim.model.start_pose import start_position
from flex_robot_sim.util.exceptions import SettingError
from flex_robot_sim.util.summary import summarized

MAX_CORRECTION = 0.5  # of one Newton step                                            [rad]
MIN_LOAD_STEP = 1 / 2048  # share of all loads
MIN_FLANK_LOAD = 1e-9  # of a gear, over its stiffness times half of its backlash
MAX_CORRECTIONS = 50  # corrections before the load step is reduced
MAX_SETTLING_STEPS = 500  # of free drives
SOFTEST = 1e-9  # stiffness that counts as none, over the largest
MAX_BASE_FORCE = 1e-9  # force on a free base in equilibrium, relative to weight and loads
SETTLED = 1e-12  # residual over the largest one so far
MAX_ROUNDING = 1e-14  # of a residual, over weight and loads
NO_STIFFNESS = 1e-12  # that counts as none, over weight and loads                 [1/rad, 1/m]
NO_FORCE = 1e-100  # of an arm without weight and loads                                [N]
MAX_CONTRACTION = 0.25  # ratio of successive corrections that keeps the matrix in use


@summarized
class Equilibrium(NamedTuple):
    """
    Equilibrium of an arm, and the motor efforts that hold it.

    Example::

        arm = frs.load('two_link')
        rest = frs.equilibrium(arm, [0.0, 0.5, -0.8])
        sim = frs.Simulation(arm)
        sim.set_state(rest.q, rest.v)
        sim.effort = rest.effort                    # the arm stays at rest
    """

    q: np.ndarray  # (nq,)
    v: np.ndarray  # (nv,)      zero unless the arm turns steadily
    effort: np.ndarray  # (joints,)  of the motors, servo included                  [N m, N]


def equilibrium(
    arm: ArmModel,
    q: ArrayLike | None = None,
    v: ArrayLike | None = None,
    effort: ArrayLike | None = None,
    *,
    joints: str | Sequence[str] | None = None,
    gains: Gains | None = None,
    pushes: Iterable[Push] = (),
) -> Equilibrium:
    """
    Find the equilibrium of elastic links, flexible joints and free drives.

    For a payload, pass `with_payload(arm, ...)`. Efforts are those of the currents, without torque
    ripple. A link that touches stays on the side of an obstacle where the straight arm has it.

    :param q: of the joints, (joints,) [rad, m], on the motor side of elastic drives; default: the
        start pose, zero or the nearest position within limits. Of all coordinates, (nq,), only
        those of the motors have an effect.
    :param v: of the joints, as q, for steady rotation with constant rates and deflections.
    :param effort: of drives that are not locked, (joints,) [N m, N]; default: zero.
    :param joints: 'locked' or 'free', or the names of joints with locked drives; default: locked,
        or free if there are gains. The search for free drives starts at q.
    :param gains: (stiffness, damping) of a servo with the target q, numbers or (joints,) each
        [N m/rad, N m s/rad; N/m, N s/m]; the damping has no effect at rest.
    :param pushes: loads on links, each a Push.
    :raises SettingError: if there is no stable equilibrium: the arm buckles, or falls, or a free
        base accelerates.

    Example::

        arm = frs.load('two_link')
        held = frs.equilibrium(arm, [0.0, 0.5, -0.8])
        sagging = frs.equilibrium(arm, [0.0, 0.5, -0.8], gains=(300.0, 10.0))
        assert frs.pose(arm, sagging.q)[2, 3] < frs.pose(arm, held.q)[2, 3]
    """
    loads = make_loads(arm, pushes, closed_loops=True, free_base=True)
    expect_servo_on_free_drives(joints, gains)
    locked = locked_drives(arm, joints, has_input=gains is not None)
    given = np.zeros(len(arm.joint_names))
    if effort is not None:
        given = drive_efforts(arm, effort)
    stiffness = servo_gains(arm, gains)[0]
    if arm.closed_loops:
        start, rates = _start(arm, q, v)
        rest = loop_equilibrium(arm, loads, start, rates, locked, stiffness, given)
        return Equilibrium(rest.q, rest.v, rest.effort)
    q, v, _ = equilibrium_and_slopes(arm, loads, q, v, locked, stiffness, given)
    held = tangent.residual_force(arm, loads, q, v, np.zeros(arm.size))[arm.motor_q]
    return Equilibrium(q, v, np.where(arm.actuated, held, 0.0))


def equilibrium_and_slopes(
    arm: ArmModel,
    loads: LoadArrays,
    q: ArrayLike | None = None,
    v: ArrayLike | None = None,
    locked: np.ndarray | None = None,
    stiffness: np.ndarray | None = None,
    effort: np.ndarray | None = None,
) -> tuple[np.ndarray, np.ndarray, tangent.Slopes | None]:
    """
    Return coordinates and rates (n,) of `equilibrium`, and its D and K (T50) or None.

    :param locked: coordinates of the locked drives; default: all drives.
    :param stiffness, effort: of the other drives, (joints,) each.
    """
    motors, base = arm.motor_q, np.arange(arm.size)[arm.base_q]
    target, rates = _start(arm, q, v)
    if arm.closed_loops:
        none = np.zeros(motors.size)
        held = arm.drive_q if locked is None else locked
        rest = loop_equilibrium(
            arm,
            loads,
            target,
            rates,
            held,
            none if stiffness is None else stiffness,
            none if effort is None else effort,
        )
        return rest.q, rest.v, rest.slopes
    servo, force = np.zeros((2, arm.size))
    unknown = np.setdiff1d(arm.passive_q, base)
    if locked is not None:
        unknown = np.setdiff1d(np.arange(arm.size), [*locked, *base])
        servo[motors], force[motors] = stiffness, effort
        servo[locked] = force[locked] = 0.0
    found, slopes = target, None
    if unknown.size:
        start = _on_flanks(arm, loads, target, rates, unknown)
        found, slopes = _find_equilibrium(arm, loads, start, rates, unknown, servo, force)
    if base.size:
        _expect_base_at_rest(arm, loads, found, rates)
    return found, rates, slopes


def _expect_base_at_rest(arm, loads, q, v):
    """Raise SettingError if a force on a free base is missing at a state (n,)."""
    arrays, missing = arm.arrays, tangent.residual_force(arm, loads, q, v, np.zeros(arm.size))
    size = _weight_and_loads(arrays, loads) + np.abs(missing).max()
    if np.abs(missing[arm.base_q]).max() > MAX_BASE_FORCE * size:
        raise SettingError(
            f'the base of "{arm.description.name}" is free, and gravity, loads or rates '
            'accelerate it: there is no equilibrium. Use gravity=(0, 0, 0) (--gravity 0,0,0) and '
            'no pushes, or give all coordinates of a state'
        )


def _weight_and_loads(arrays, loads):
    """Sum of the sizes of all forces and moments on an arm [N, N m]."""
    mass = arrays.inertia[:, 3, 3].sum() + arrays.point_mass.sum()
    weight = mass * np.linalg.norm(arrays.base_acceleration)
    return weight + np.abs(loads.force).sum() + np.abs(loads.moment).sum()


def _start(arm, q, v):
    """Coordinates and rates (n,) of joint positions and rates, with straight links."""
    target, rates = np.zeros((2, arm.size))
    for name, values, out in (
        ('q', start_position(arm) if q is None else q, target),
        ('v', v, rates),
    ):
        if values is not None:
            coordinates = joints_or_coordinates(arm, name, values)
            arm.set_joints(out, coordinates[arm.motor_q])
            if out is target:
                out[arm.base_q] = coordinates[arm.base_q]
    return target, rates


def _on_flanks(model, loads, q, qd, unknown):
    """Return coordinates with each gear with backlash on the flank that its load closes."""
    arrays = model.arrays
    half = arrays.gear_corner[:, 0]
    if not half.any():
        return q
    q, load = q.copy(), tangent.residual_force(model, loads, q, qd, np.zeros(model.size))
    for j in np.flatnonzero(half):
        if j in unknown and abs(load[j]) > MIN_FLANK_LOAD * arrays.gear_stiffness[j] * half[j]:
            q[j] -= np.copysign(half[j], load[j])
    return q


def _find_equilibrium(model, loads, q, qd, unknown, servo, force):
    """Coordinates and slopes with a servo (n,) at q; loads grow in steps if one step fails."""
    if (
        model.motor_q[np.isin(model.motor_q, unknown)].size
        and not servo[np.intersect1d(model.motor_q, unknown)].all()
    ):
        return _settle(model, loads, qd, q, unknown, servo, force)
    completed, load_step, slopes, target = 0.0, 1.0, None, q
    while completed < 1.0:
        load_share = min(completed + load_step, 1.0)
        result = _newton(
            *_scaled_loads(model, loads, qd, load_share),
            q,
            unknown,
            servo,
            target,
            load_share * force,
        )
        if result is None:
            load_step /= 2
            if load_step < MIN_LOAD_STEP:
                refuse_pressed_start(model, target)
                raise SettingError(
                    f'the arm has no stable equilibrium: it buckles at about {load_share:.1%} of '
                    'its weight, loads and squared rates. Take smaller ones, or a stiffer arm'
                )
        else:
            (q, slopes), completed, load_step = result, load_share, 2 * load_step
    return q, slopes


def _settle(model, loads, qd, q, unknown, servo, force):
    """
    Return the stable equilibrium into which free drives fall from q, with its matrices D and K.

    Saddle-free Newton's method (Dauphin and others, Identifying and attacking the saddle point
    problem, 2014): with the magnitudes of the eigenvalues of K, each correction is a descent.
    """
    zero_rates, block, target = np.zeros(model.size), np.ix_(unknown, unknown), q
    scale, largest = scales(model)[unknown], 0.0
    forces = max(_weight_and_loads(model.arrays, loads), NO_FORCE)
    for _ in range(MAX_SETTLING_STEPS):
        residual = (
            tangent.residual_force(model, loads, q, qd, zero_rates) + servo * (q - target) - force
        )[unknown] * scale
        D, K = tangent.tangent(model, loads, q, qd, zero_rates)
        matrix = (K + np.diag(servo))[block] * scale * scale[:, None]
        stiffness, directions = np.linalg.eigh((matrix + matrix.T) / 2)
        softest = max(SOFTEST * np.abs(stiffness).max(initial=0.0), NO_STIFFNESS * forces)
        size = np.abs(residual).max()
        largest = max(largest, size)
        if size <= max(SETTLED * largest, MAX_ROUNDING * forces) and _is_stable(matrix, softest):
            return q, (D, K)
        change = -directions @ (directions.T @ residual / np.maximum(np.abs(stiffness), softest))
        change *= min(1.0, MAX_CORRECTION / max(np.abs(change).max(), 1e-300))
        q = _displaced(q, unknown, change * scale)
    raise SettingError(
        'the free drives find no stable equilibrium from here: start from another '
        'q, or lock the joints that nothing holds'
    )


def _scaled_loads(
    model: ArmModel, loads: LoadArrays, qd: np.ndarray, load_share: float
) -> tuple[ArmModel, LoadArrays, np.ndarray]:
    if load_share == 1.0:  # the usual case: the pool has workspaces for this model
        return model, loads, qd
    arrays = model.arrays._replace(base_acceleration=load_share * model.arrays.base_acceleration)
    scaled = loads._replace(force=load_share * loads.force, moment=load_share * loads.moment)
    return replace(model, arrays=arrays), scaled, np.sqrt(load_share) * qd


def _newton(model, loads, qd, q, unknown, servo, target, force):
    """
    Return the stable equilibrium near q with its matrices D and K, or None.

    Damped Newton's method with the natural monotonicity test (Deuflhard, Newton Methods for
    Nonlinear Problems, 2004, section 3.3.1). Corrections that contract enough reuse the matrix.
    The first matrix is that of the springs alone: it suffices for most arms, and is cheap.
    """
    scale = scales(model)[unknown]
    zero_rates = np.zeros(model.size)
    block = np.ix_(unknown, unknown)
    servo_matrix = np.diag(servo)

    def corrector(K):
        """Return the function from coordinates to their correction by K, or None."""
        from scipy.linalg import lu_factor, lu_solve  # imported late: slow

        K = K[block] * scale * scale[:, None]  # corrections in units of the scale compare
        if not np.isfinite(K).all():
            return None
        factor = lu_factor(K)

        def correction(coordinates):
            residual = (
                tangent.residual_force(model, loads, coordinates, qd, zero_rates)
                + servo * (coordinates - target)
                - force
            )
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
        if size < 1e-9:  # the next correction is below rounding
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


def _is_stable(K, margin=0.0):
    """Whether the equilibrium is statically stable; follower forces may still cause flutter."""
    values = np.linalg.eigvals(K)
    return (values[values.imag == 0].real > -margin).all()

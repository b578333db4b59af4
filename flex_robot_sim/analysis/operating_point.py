"""Operating point of linear models: state, locked drives, servo gains and accelerations."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from flex_robot_sim.analysis.equations import mass_matrix
from flex_robot_sim.analysis.statics import equilibrium_and_slopes
from flex_robot_sim.analysis.tangent import Slopes, residual_force
from flex_robot_sim.dynamics.loads import LoadArrays
from flex_robot_sim.dynamics.mass_matrix import refuse_massless
from flex_robot_sim.model.arguments import checked, positive
from flex_robot_sim.model.arm_model import ArmModel
from flex_robot_sim.util.exceptions import SettingError


def state_at(model: ArmModel, loads: LoadArrays, position: ArrayLike | None,
             velocity: ArrayLike | None) -> tuple[np.ndarray, np.ndarray, Slopes | None]:
    """Coordinates and rates (n,) of a state or an equilibrium; D and K (T50) of the latter."""
    if position is not None and np.size(position) == model.size > len(model.joint_names):
        q = checked('position', position, model.coordinate_names)
        return q, (np.zeros(model.size) if velocity is None
                   else checked('velocity', velocity, model.coordinate_names)), None
    return equilibrium_and_slopes(model, loads, position, velocity)


def locked_drives(model: ArmModel, joints: str | Sequence[str]) -> np.ndarray:
    """Return the coordinates of the locked drives."""
    if isinstance(joints, str) and joints in ('free', 'locked'):
        return model.motor_q if joints == 'locked' else np.zeros(0, int)
    if isinstance(joints, str) or not isinstance(joints, Sequence):
        raise SettingError(f"joints = {joints!r} must be 'locked', 'free', or names of joints")
    for name in joints:
        if name not in model.joint_names:
            raise SettingError(f'no joint "{name}" to lock. Known: '
                               f'{", ".join(model.joint_names)}')
    return model.motor_q[[model.joint_names.index(name) for name in joints]]


def servo_gains(model: ArmModel, gains: tuple[ArrayLike, ArrayLike] | None) -> np.ndarray:
    """Return stiffness and damping of every drive, (joints,) each; None: no servo."""
    if gains is None:
        return np.zeros((2, len(model.joint_names)))
    try:
        stiffness, damping = gains
    except (TypeError, ValueError) as error:
        raise SettingError('gains must be (stiffness, damping)') from error
    return np.array([positive(name, values, model.joint_names)
                     for name, values in (('stiffness', stiffness), ('damping', damping))])


def accelerations(model: ArmModel, loads: LoadArrays, q: np.ndarray, qd: np.ndarray,
                  effort: np.ndarray | None, locked: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return accelerations, zero if locked, and efforts; effort None: for constant velocity."""
    motors = model.motor_q
    force = residual_force(model, loads, q, qd, np.zeros(model.size))
    if effort is None:
        locked = motors
    else:
        force[motors] -= effort
    free = np.setdiff1d(np.arange(model.size), locked)
    refuse_massless(model)
    M, qdd = mass_matrix(model, q), np.zeros(model.size)
    qdd[free] = np.linalg.solve(M[np.ix_(free, free)], -force[free])
    return qdd, (M @ qdd + force)[motors] if effort is None else effort

"""
Linear models of an arm: x' = A x + B u, y = C x + D u, with names for all of them.

They follow from the matrices M, D and K of small motions (T50).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from flex_robot_sim.analysis import operating_point
from flex_robot_sim.analysis.deflection import tip_deflection
from flex_robot_sim.analysis.flex_sensors import flex_sensors
from flex_robot_sim.analysis.tangent import DIFFERENCE_STEP, difference, scales, tangent
from flex_robot_sim.dynamics.loads import Push, make_loads
from flex_robot_sim.dynamics.mass_matrix import mass_matrix
from flex_robot_sim.model.arguments import checked
from flex_robot_sim.model.arm_model import ArmModel
from flex_robot_sim.util.exceptions import SettingError
from flex_robot_sim.util.summary import SummaryRows, counted, listed, numbers, summarized

if TYPE_CHECKING:
    from scipy.signal import StateSpace

TIP_COMPONENTS = ('x', 'y', 'z', 'turn_x', 'turn_y', 'turn_z')


@summarized
@dataclass(frozen=True, eq=False)
class LinearModel:
    """dx/dt = A x + B u, y = C x + D u, for small changes about a state."""

    A: np.ndarray
    B: np.ndarray
    C: np.ndarray
    D: np.ndarray
    states: tuple[str, ...]     # coordinates, then their rates: '<coordinate>/rate'
    inputs: tuple[str, ...]     # efforts by joint, then targets of the servo: '<joint>/target'
    outputs: tuple[str, ...]    # joint positions and rates, then tips, '<link>/tip_x' and so on,
    #                             tip rates, '<link>/tip_x/rate', curvature of the flex sensors,
    #                             '<link>/<sensor>' [1/m], and its rate
    coordinates: np.ndarray     # (n,)       about which it holds
    rates: np.ndarray           # (n,)
    effort: np.ndarray          # (joints,)  of the motors, servo included              [N m, N]

    def part(self, inputs: Sequence[str] | None = None,
             outputs: Sequence[str] | None = None) -> LinearModel:
        """Return the model from some inputs to some outputs, by name; None: all of them."""
        columns = _indices('input', inputs, self.inputs)
        rows = _indices('output', outputs, self.outputs)
        return replace(self, B=self.B[:, columns], C=self.C[rows], D=self.D[np.ix_(rows, columns)],
                       inputs=tuple(self.inputs[k] for k in columns),
                       outputs=tuple(self.outputs[k] for k in rows))

    def _summary(self) -> tuple[str, SummaryRows]:
        counts = ((self.states, 'state'), (self.inputs, 'input'), (self.outputs, 'output'))
        return f'LinearModel: {", ".join(counted(len(names), noun) for names, noun in counts)}', [
            *((f'{noun}s', listed(names)) for names, noun in counts),
            ('coordinates', numbers(self.coordinates)), ('rates', numbers(self.rates)),
            ('effort', numbers(self.effort))]

    def to_scipy(self) -> StateSpace:
        """Return the scipy.signal.StateSpace."""
        from scipy.signal import StateSpace
        return StateSpace(self.A, self.B, self.C, self.D)

    def to_control(self) -> object:
        """Return the control.StateSpace of python-control, with the same signal names."""
        try:
            import control
        except ImportError as error:
            raise SettingError('python-control is not installed: pip install control') from error
        return control.ss(self.A, self.B, self.C, self.D, inputs=list(self.inputs),
                          outputs=list(self.outputs), states=list(self.states))


def linearise(model: ArmModel, position: ArrayLike | None = None,
              velocity: ArrayLike | None = None, effort: ArrayLike | None = None,
              joints: str | Sequence[str] = 'free', pushes: Iterable[Push] = (),
              gains: tuple[ArrayLike, ArrayLike] | None = None) -> LinearModel:
    """
    Linear model about an equilibrium, at rest or in steady rotation, or about any state.

    For a payload, pass `with_payload(model, ...)`.

    :param position: see `modes`; velocity: the same.
    :param effort: of the motors, (joints,) [N m, N]; default: for constant drive velocities.
    :param joints: 'free', or the names of joints whose drives are locked, or 'locked'.
    :param gains: (stiffness, damping) of a servo of the drives, numbers or (joints,) each
        [N m/rad, N m s/rad; N/m, N s/m]; its targets are additional inputs.
    """
    loads = make_loads(model, pushes)
    q, qd, slopes = operating_point.state_at(model, loads, position, velocity)
    motors, locked = model.motor_q, operating_point.locked_drives(model, joints)
    if effort is not None:
        effort, slopes = checked('effort', effort, model.joint_names), None     # not at rest
    qdd, effort = operating_point.accelerations(model, loads, q, qd, effort, locked)
    D, K = slopes or tangent(model, loads, q, qd, qdd)
    stiffness, damping = operating_point.servo_gains(model, gains)
    K[motors, motors] += stiffness
    D[motors, motors] += damping
    free = np.setdiff1d(np.arange(model.size), locked)
    driven_joints = [j for j, k in enumerate(motors) if k not in locked]
    n, free_block = free.size, np.ix_(free, free)
    forces = (free[:, None] == motors[driven_joints]).astype(float)
    inputs = [model.joint_names[j] for j in driven_joints]
    if gains is not None:
        forces = np.hstack([forces, forces * stiffness[driven_joints]])
        inputs += [f'{name}/target' for name in inputs]
    inverse = np.linalg.inv(mass_matrix(model.arrays, q)[free_block])
    A = np.block([[np.zeros((n, n)), np.eye(n)],
                  [-inverse @ K[free_block], -inverse @ D[free_block]]])
    B = np.vstack([np.zeros_like(forces), inverse @ forces])
    names = [model.coordinate_names[k] for k in free]
    states = (*names, *(f'{name}/rate' for name in names))
    C, outputs = _output_matrix(model, q, qd, free, states)
    return LinearModel(A, B, C, np.zeros((len(C), len(inputs))), states, tuple(inputs),
                       tuple(outputs), q, qd, effort)


def _output_matrix(model, q, qd, free, states):
    """C and names of all outputs, for the coordinates `free` and their rates."""
    n = free.size
    joint_side = np.flatnonzero(free < model.elastic_q.start)
    joints = np.concatenate([joint_side, n + joint_side])
    no_rows = np.zeros((0, model.size))
    tips = np.vstack([no_rows, *(tip_slopes(model, link, q) for link in model.tips)])
    tip_rates = np.vstack([no_rows,
                           *(_slopes_of_tip_rate(model, link, q, qd) for link in model.tips)])
    sensors = flex_sensors(model)
    zeros = np.zeros_like(sensors.matrix)
    C = np.vstack([np.eye(2 * n)[joints], *(
        np.hstack([position_part[:, free], rate_part[:, free]]) for position_part, rate_part in (
            (tips, np.zeros_like(tips)), (tip_rates, tips), (sensors.matrix, zeros),
            (zeros, sensors.matrix)))])
    tip_names = [f'{link}/tip_{part}' for link in model.tips for part in TIP_COMPONENTS]
    outputs = [states[k] for k in joints]
    for group in (tip_names, sensors.names):
        outputs += [*group, *(f'{name}/rate' for name in group)]
    return C, outputs


def _indices(kind, selected, names):
    """Return the indices of selected names; None: all."""
    for name in selected or ():
        if name not in names:
            raise SettingError(f'no {kind} "{name}". Known: {", ".join(names)}')
    return [names.index(name)
            for name in selected] if selected is not None else [*range(len(names))]


def tip_slopes(model: ArmModel, link: str, q: np.ndarray) -> np.ndarray:
    """Return the derivatives (6, n) of `tip_deflection` by the coordinates."""
    return _slopes(model, link, q, lambda q: tip_deflection(model, link, q))


def _slopes_of_tip_rate(model, link, q, qd):
    """Return the derivatives (6, n) of the tip deflection rate by the coordinates."""
    speed = np.abs(qd / scales(model)).max(initial=0.0)
    if speed == 0.0:
        return np.zeros((6, model.size))
    duration = DIFFERENCE_STEP / speed

    def rate(q):
        return difference(lambda q: tip_deflection(model, link, q), q, duration * qd) / duration
    return _slopes(model, link, q, rate)


def _slopes(model, link, q, function):
    """Return derivatives (6, n) of a function of the coordinates of one flexible link."""
    out, steps = np.zeros((6, model.size)), np.diag(DIFFERENCE_STEP * scales(model))
    for _, columns in model.beams_of(link):
        for k in range(columns.start, columns.stop):
            out[:, k] = difference(function, q, steps[k]) / steps[k, k]
    return out


def zero_order_hold(A: np.ndarray, B: np.ndarray, period: float) -> tuple[np.ndarray, np.ndarray]:
    """Return the matrices of a step of x' = A x + B u with constant u."""
    from scipy.linalg import expm  # late: a fifth of a start

    n, joints = B.shape
    augmented = np.zeros((n + joints, n + joints))
    augmented[:n, :n], augmented[:n, n:] = A, B
    augmented = expm(augmented * period)
    return augmented[:n, :n], augmented[:n, n:]

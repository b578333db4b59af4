"""
Linear models of an arm: x' = A x + B u, y = C x + D u, with names for all of them.

They follow from the matrices M, D and K of small motions (T50). The states of closed loops are
independent coordinates, which other coordinates follow (T82).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from flex_robot_sim.analysis import operating_point
from flex_robot_sim.analysis.constraint_terms import gaps_and_jacobian
from flex_robot_sim.analysis.deflection import tip_deflection
from flex_robot_sim.analysis.differences import (
    DIFFERENCE_STEP,
    difference,
    difference_steps,
    scales,
)
from flex_robot_sim.analysis.drive_conditions import (
    Gains,
    drive_efforts,
    expect_servo_on_free_drives,
    locked_drives,
    servo_gains,
)
from flex_robot_sim.analysis.flex_sensors import flex_sensors
from flex_robot_sim.analysis.loop_forces import loop_accelerations
from flex_robot_sim.analysis.loop_motion import (
    SmallMotions,
    base_kinematics,
    independent_basis,
    small_motions,
)
from flex_robot_sim.analysis.tangent import tangent
from flex_robot_sim.dynamics.loads import Push, make_loads
from flex_robot_sim.dynamics.mass_matrix import mass_matrix
from flex_robot_sim.model.arguments import is_known
from flex_robot_sim.model.arm_model import ArmModel
from flex_robot_sim.util.exceptions import SettingError, shortened
from flex_robot_sim.util.summary import SummaryRows, counted, listed, numbers, summarized

if TYPE_CHECKING:
    from scipy.signal import StateSpace

TIP_COMPONENTS = ('x', 'y', 'z', 'turn_x', 'turn_y', 'turn_z')


@summarized
@dataclass(frozen=True, eq=False)
class LinearModel:
    """
    Linear model dx/dt = A x + B u, y = C x + D u, for small changes about a state.

    Example::

        model = frs.linearise(frs.load('two_link'), [0.0, 0.5, -0.8], gains=(40.0, 4.0))
        elbow = model.part(['elbow/target'], ['forearm/tip_z'])
        dc_gain = -elbow.C @ np.linalg.solve(elbow.A, elbow.B) + elbow.D    # [m/rad]
        elbow.to_scipy()                            # scipy.signal.StateSpace
    """

    A: np.ndarray
    B: np.ndarray
    C: np.ndarray
    D: np.ndarray
    states: tuple[str, ...]  # '<coordinate>/q' of all, then their rates '<coordinate>/v'; of
    #                            closed loops only the independent ones
    inputs: tuple[str, ...]  # '<joint>/effort', then, with a servo, '<joint>/target'
    outputs: tuple[str, ...]  # '<joint>/position' and '<joint>/velocity', then tips,
    #                             '<link>/tip_x' and so on, tip rates, '<link>/tip_x/rate',
    #                             curvature of the flex sensors, '<link>/<sensor>' [1/m], its rate
    q: np.ndarray  # (nq,)      operating point                            [rad, m]
    v: np.ndarray  # (nv,)
    effort: np.ndarray  # (joints,)  of the motors, servo included              [N m, N]

    def part(
        self, inputs: Sequence[str] | None = None, outputs: Sequence[str] | None = None
    ) -> LinearModel:
        """Return the model from some inputs to some outputs, by name; None: all of them."""
        columns = _indices('input', inputs, self.inputs)
        rows = _indices('output', outputs, self.outputs)
        return replace(
            self,
            B=self.B[:, columns],
            C=self.C[rows],
            D=self.D[np.ix_(rows, columns)],
            inputs=tuple(self.inputs[k] for k in columns),
            outputs=tuple(self.outputs[k] for k in rows),
        )

    def _summary(self) -> tuple[str, SummaryRows]:
        counts = ((self.states, 'state'), (self.inputs, 'input'), (self.outputs, 'output'))
        return f'LinearModel: {", ".join(counted(len(names), noun) for names, noun in counts)}', [
            *((f'{noun}s', listed(names)) for names, noun in counts),
            ('q', numbers(self.q)),
            ('v', numbers(self.v)),
            ('effort', numbers(self.effort)),
        ]

    def to_scipy(self) -> StateSpace:
        """Return the scipy.signal.StateSpace."""
        from scipy.signal import StateSpace

        return StateSpace(self.A, self.B, self.C, self.D)

    def to_control(self) -> Any:
        """Return the control.StateSpace of python-control, with the same signal names."""
        try:
            import control
        except ImportError as error:
            raise SettingError('python-control is not installed: pip install control') from error
        return control.ss(
            self.A,
            self.B,
            self.C,
            self.D,
            inputs=list(self.inputs),
            outputs=list(self.outputs),
            states=list(self.states),
        )


def linearise(
    arm: ArmModel,
    q: ArrayLike | None = None,
    v: ArrayLike | None = None,
    effort: ArrayLike | None = None,
    *,
    joints: str | Sequence[str] | None = None,
    gains: Gains | None = None,
    pushes: Iterable[Push] = (),
) -> LinearModel:
    """
    Return the LinearModel about an equilibrium, at rest or in steady rotation, or about any state.

    For a payload, pass `with_payload(arm, ...)`. Efforts are those that the motors deliver: torque
    ripple, and the limits of DC motors, are left out.

    :param q: see `modes`; v: the same.
    :param effort: of the motors, (joints,) [N m, N]; default: for constant drive velocities.
    :param joints: 'locked' or 'free', or the names of joints with locked drives; default: free,
        because the effort of each drive is an input.
    :param gains: (stiffness, damping) of a servo of the drives, numbers or (joints,) each
        [N m/rad, N m s/rad; N/m, N s/m]; its targets are additional inputs.
    :param pushes: loads on links, each a Push.

    Example::

        arm = frs.load('two_link')
        model = frs.linearise(arm, [0.0, 0.5, -0.8])
        elbow = model.part(['elbow/effort'], ['elbow/position', 'forearm/tip_z'])
        assert elbow.B.shape == (len(model.states), 1)
    """
    loads = make_loads(arm, pushes, closed_loops=True, free_base=True)
    q, v, slopes = operating_point.state_at(arm, loads, q, v)
    expect_servo_on_free_drives(joints, gains)
    motors, locked = arm.motor_q, locked_drives(arm, joints, has_input=True)
    if effort is not None:
        effort, slopes = drive_efforts(arm, effort), None  # not at rest
    free = np.setdiff1d(np.arange(arm.size), locked)
    M = mass_matrix(arm.arrays, q)
    if arm.closed_loops:
        a, effort, force = loop_accelerations(arm, loads, q, v, effort, locked)
    else:
        a, effort = operating_point.accelerations(arm, loads, q, v, effort, locked)
    D, K = slopes or tangent(arm, loads, q, v, a)
    stiffness, damping = servo_gains(arm, gains)
    K[motors, motors] += stiffness
    D[motors, motors] += damping
    if arm.closed_loops:
        basis = independent_basis(arm, gaps_and_jacobian(arm, q)[1], free)
        small, states = small_motions(arm, (q, v, a), force, basis, (M, D, K)), basis.independent
    else:
        small, states = _of_tree(M, D, K, free), free
    drives = np.isin(motors, np.setdiff1d(arm.drive_q, locked))
    driven_joints = [*np.flatnonzero(drives)]
    n = states.size
    forces = small.N.T[:, motors[driven_joints]]
    inputs = [f'{arm.joint_names[j]}/effort' for j in driven_joints]
    if gains is not None:
        forces = np.hstack([forces, forces * stiffness[driven_joints]])
        inputs += [f'{arm.joint_names[j]}/target' for j in driven_joints]
    inverse = np.linalg.inv(small.M)
    kinematic = base_kinematics(arm, v)[states] @ small.N
    A = np.block([[kinematic, np.eye(n)], [-inverse @ small.K, -inverse @ small.D]])
    B = np.vstack([np.zeros_like(forces), inverse @ forces])
    names = [arm.coordinate_names[k] for k in states]
    C, outputs = _output_matrix(arm, q, v, free, small)
    return LinearModel(
        A,
        B,
        C,
        np.zeros((len(C), len(inputs))),
        tuple(f'{name}/{part}' for part in 'qv' for name in names),
        tuple(inputs),
        tuple(outputs),
        q,
        v,
        effort,
    )


def _of_tree(M, D, K, free):
    """Return the SmallMotions of a tree, whose independent coordinates are `free`."""
    block = np.ix_(free, free)
    N = np.eye(len(M))[:, free]
    return SmallMotions(M[block], D[block], K[block], N, np.zeros_like(N))


def _output_matrix(arm, q, v, free, small):
    """C and names of all outputs; joints outside of `free` are locked."""
    joints = np.eye(arm.size)[free[free < arm.elastic_q.start]]
    no_rows = np.zeros((0, arm.size))
    tips = np.vstack([no_rows, *(tip_slopes(arm, link, q) for link in arm.tips)])
    tip_rates = np.vstack([no_rows, *(_slopes_of_tip_rate(arm, link, q, v) for link in arm.tips)])
    sensors = flex_sensors(arm)
    zeros = np.zeros_like(sensors.matrix)
    C = np.vstack(
        [
            *(
                np.hstack([position_part @ small.N + rate_part @ small.P, rate_part @ small.N])
                for position_part, rate_part in (
                    (joints, np.zeros_like(joints)),
                    (np.zeros_like(joints), joints),
                    (tips, np.zeros_like(tips)),
                    (tip_rates, tips),
                    (sensors.matrix, zeros),
                    (zeros, sensors.matrix),
                )
            )
        ]
    )
    tip_names = [f'{link}/tip_{part}' for link in arm.tips for part in TIP_COMPONENTS]
    outputs = [
        f'{arm.coordinate_names[k]}/{part}'
        for part in ('position', 'velocity')
        for k in free[free < arm.elastic_q.start]
    ]
    for group in (tip_names, sensors.names):
        outputs += [*group, *(f'{name}/rate' for name in group)]
    return C, outputs


def _indices(kind, selected, names):
    """Return the indices of selected names; None: all."""
    if selected is None:
        return [*range(len(names))]
    if isinstance(selected, str) or not isinstance(selected, Iterable):
        raise SettingError(
            f'{kind}s = {shortened(repr(selected), 60)} must be a list of names, '
            f'such as ["{names[0] if names else ""}"]'
        )
    selected = [*selected]
    for name in selected:
        if not is_known(name, names):
            raise SettingError(f'no {kind} "{name}". Known: {", ".join(names)}')
    return [names.index(name) for name in selected]


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
    out, steps = np.zeros((6, model.size)), np.diag(difference_steps(model))
    guides = model.arrays.slide[model.segments[link]]
    elastic = [np.arange(columns.start, columns.stop) for _, columns in model.beams_of(link)]
    for k in np.concatenate([guides[guides >= 0], *elastic]):
        out[:, k] = difference(function, q, steps[k]) / steps[k, k]
    return out


def zero_order_hold(A: np.ndarray, B: np.ndarray, period: float) -> tuple[np.ndarray, np.ndarray]:
    """Return the matrices of a step of x' = A x + B u with constant u."""
    from scipy.linalg import expm  # imported late: slow

    n, joints = B.shape
    augmented = np.zeros((n + joints, n + joints))
    augmented[:n, :n], augmented[:n, n:] = A, B
    augmented = expm(augmented * period)
    return augmented[:n, :n], augmented[:n, n:]

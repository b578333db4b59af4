"""
The reference integrator: highest accuracy, without regard to computing time.

Dormand and Prince's eighth-order scheme chooses its own steps inside every step of the simulation.
The error of each stays below the tolerances here. See Hairer, Norsett & Wanner, Solving Ordinary
Differential Equations I, 1993, II.10, and `scipy.integrate.DOP853`. Work and dissipation are
integrated along with the state. Efforts jump between steps, so every step restarts the scheme;
many calls of one step equal one call of many steps, bit for bit.
"""

from collections.abc import Callable

import numpy as np

from flex_robot_sim.dynamics.arm_state import ArmState, StepSettings
from flex_robot_sim.dynamics.constraints.projection import close_loops, instant_dynamics
from flex_robot_sim.dynamics.constraints.singular_poses import note_singular_pose
from flex_robot_sim.dynamics.contact.instant import add_contact_powers, set_loads_and_contacts
from flex_robot_sim.dynamics.contact.penetration import note_penetration
from flex_robot_sim.dynamics.forces import add_powers
from flex_robot_sim.dynamics.free_base import move_base_pose, set_coordinate_rates
from flex_robot_sim.dynamics.loads import LoadArrays
from flex_robot_sim.dynamics.monitors import Watch, note_validity
from flex_robot_sim.dynamics.sliding_body import is_outside_guide
from flex_robot_sim.jit.compiled import call_with_tables, compiled
from flex_robot_sim.model.arm_arrays import ArmArrays
from flex_robot_sim.model.workspace import Workspace

RELATIVE_TOLERANCE = 1e-10  # tolerance of one inner step
ABSOLUTE_TOLERANCE = 1e-12  # of the error of one inner step                   [rad, m, per s; J]
MIN_STEP_RATIO = 1e-9  # of an inner step over the outer one; below it the integration fails


def advance_adaptively(
    arm: ArmArrays,
    loads: LoadArrays,
    settings: StepSettings,
    state: ArmState,
    steps: int,
    watch: Watch,
    work: Workspace,
    derivative: Callable | None = None,
) -> int:
    """
    Take `steps` steps; stop before a state that is not finite, or outside a guide.

    :param derivative: replacement of `set_slopes`; the other arguments and the result are those
        of `integrators.advance`.
    """
    from scipy.integrate import DOP853  # rarely needed, and slow to import

    q, qd, qdd, h = state.q, state.qd, state.qdd, float(settings.time_step[0])
    n, derivative = q.size, derivative or set_slopes
    slopes, slides = np.empty(2 * n + 2), arm.slide_data.size > 0

    def derivative_at(_, y):
        is_outside = slides and is_outside_guide(arm, y)
        if is_outside:
            state.stage[2] = y[:n]
        if is_outside or not np.isfinite(y).all():
            return np.full(y.size, np.nan)  # makes the scheme try a shorter step
        derivative(arm, loads, y, state.effort, work, slopes)
        return slopes.copy()

    for step in range(steps):
        state.stage[2] = q
        start = np.concatenate([q, qd, [0.0, 0.0]])
        with np.errstate(over='ignore', invalid='ignore'):
            solver = DOP853(
                derivative_at,
                0.0,
                start,
                h,
                rtol=RELATIVE_TOLERANCE,
                atol=ABSOLUTE_TOLERANCE,
                first_step=h,
            )
            while solver.status == 'running':
                solver.step()
                if solver.status == 'failed' or (
                    solver.status == 'running' and solver.step_size < MIN_STEP_RATIO * h
                ):
                    qdd[:] = 0.0
                    return step
                note_validity(arm, solver.y[:n], step, watch, work)
                note_penetration(step, watch, work)
        q[:], qd[:], qdd[:] = solver.y[:n], solver.y[n:-2], solver.f[n:-2]
        state.flow[:2] += solver.y[-2:]
        if arm.constraint_kind.size:
            call_with_tables(close_loops, arm, q, qd, work)
            call_with_tables(note_singular_pose, arm, step, watch, work)
        if len(arm.base):
            call_with_tables(move_base_pose, arm, q, work)
    return steps


@compiled
def set_slopes(arm, loads, y, effort, work, slopes):
    """
    Derivative of a vector y (2 n + 2,): coordinates, their rates, work and dissipated energy.

    :param arm: ArmModel with n coordinates; loads: LoadArrays of the external loads.
    :param effort: of the motors, (joints,) [N m, N].
    """
    n = y.size // 2 - 1
    q, qd, qdd, flow = y[:n], y[n : 2 * n], slopes[n : 2 * n], slopes[2 * n :]
    set_loads_and_contacts(arm, loads, q, qd, work)
    instant_dynamics(arm, q, qd, effort, work, qdd)
    flow[0] = flow[1] = 0.0
    add_powers(arm, q, qd, qdd, effort, 0.0, 1.0, work, flow)
    if arm.contact_kind.size > 0:
        add_contact_powers(arm, 1.0, work, flow)
    set_coordinate_rates(arm, q, qd, work, slopes[:n])

"""
The reference among the integrators: as exact as is sensible, however long it takes.

Dormand and Prince's eighth-order scheme chooses its own steps inside every step of the simulation,
so that the error of each stays below the tolerances here (Hairer, Norsett & Wanner, Solving
Ordinary Differential Equations I, 1993, II.10, as `scipy.integrate.DOP853`). Work and dissipation
are integrated along with the state. Efforts jump from step to step, so that each begins afresh;
hence many calls of one step are one call of many, bit for bit.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from flex_robot_sim.dynamics.forces import add_powers
from flex_robot_sim.dynamics.forward_dynamics import implicit_dynamics
from flex_robot_sim.dynamics.loads import LoadArrays, set_loads
from flex_robot_sim.dynamics.monitors import Watch, note_validity
from flex_robot_sim.jit.compiled import compiled

if TYPE_CHECKING:
    from collections.abc import Callable

    from flex_robot_sim.model.arm_model import ArmArrays, Workspace

RELATIVE = 1e-10        # error of one chosen step
ABSOLUTE = 1e-12        # likewise                                          [rad, m, per s; J]
SHORTEST = 1e-9         # chosen step over the step of the simulation: a shorter one leads nowhere


def advance_adaptively(arm: ArmArrays, loads: LoadArrays, q: np.ndarray, qd: np.ndarray,
                       qdd: np.ndarray, effort: np.ndarray, h: float, steps: int, flow: np.ndarray,
                       watch: Watch, work: Workspace, slopes_by: Callable | None = None) -> int:
    """
    Take `steps` steps of length h [s]; stop before a state that is not finite.

    :param slopes_by: what stands in for `set_slopes`, if anything does; the other arguments and
        the result are those of `integrators.advance`.
    """
    from scipy.integrate import DOP853  # late: few need it, and it takes long to import

    n, slopes_by = q.size, slopes_by or set_slopes
    slopes = np.empty(2 * n + 2)

    def slopes_at(_, state):
        if not np.isfinite(state).all():
            return np.full(state.size, np.nan)      # makes the scheme try a shorter step
        slopes_by(arm, loads, state, effort, work, slopes)
        return slopes.copy()

    for step in range(steps):
        start = np.concatenate([q, qd, [0.0, 0.0]])
        with np.errstate(over='ignore', invalid='ignore'):
            solver = DOP853(slopes_at, 0.0, start, h, rtol=RELATIVE, atol=ABSOLUTE, first_step=h)
            while solver.status == 'running':
                solver.step()
                if solver.status == 'failed' or (solver.status == 'running'
                                                 and solver.step_size < SHORTEST * h):
                    qdd[:] = 0.0
                    return step
                note_validity(arm, solver.y[:n], step, watch, work)
        q[:], qd[:], qdd[:] = solver.y[:n], solver.y[n:-2], solver.f[n:-2]
        flow[:2] += solver.y[-2:]
    return steps


@compiled
def set_slopes(arm, loads, state, effort, work, slopes):
    """
    Rates of a state (2 n + 2,): coordinates, their rates, work done and energy dissipated.

    :param arm: ArmModel with n coordinates; loads: LoadArrays of what pushes at it.
    :param effort: of the motors, (joints,) [N m, N].
    """
    n = state.size // 2 - 1
    q, qd, qdd, flow = state[:n], state[n:2 * n], slopes[n:2 * n], slopes[2 * n:]
    set_loads(arm, loads, q, qd, work)
    implicit_dynamics(arm, q, qd, effort, 0.0, qdd, work, qdd)
    flow[0] = flow[1] = 0.0
    add_powers(arm, q, qd, qdd, effort, 0.0, 1.0, work, flow)
    for k in range(n):
        slopes[k] = qd[k]

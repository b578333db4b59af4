"""
The plain state of a Simulation: everything that its next step depends on.

Copies and pickles carry this state. Workspaces, loads and compiled calls follow from it, and from
the arm and the settings in it, and are made again.
"""

from __future__ import annotations

from copy import copy
from typing import TYPE_CHECKING, Any

import numpy as np

from flex_robot_sim.analysis.tangent import driven
from flex_robot_sim.dynamics.loads import make_loads
from flex_robot_sim.dynamics.monitors import count_signs
from flex_robot_sim.jit.compiled import bound
from flex_robot_sim.model.arm_model import make_workspace
from flex_robot_sim.simulation.explicit_schemes import StepLimits
from flex_robot_sim.util.serialization import writable

if TYPE_CHECKING:
    from flex_robot_sim.simulation.simulation import Simulation

# of the workspace: what a step reads from the one before it, and what is set from outside
WORK = ('joint_force', 'own_inertia', 'last', 'is_nonsmooth', 'step', 'applied', 'effort_limit',
        'rate_limit', 'target', 'target_rate', 'servo_stiffness', 'servo_damping', 'prescribed',
        'prescribed_acceleration', 'prescribed_effort')
# of the workspace, which the scratch of queries shares
SHARED = ('effort_limit', 'rate_limit', 'target', 'target_rate', 'servo_stiffness',
          'servo_damping', 'prescribed', 'prescribed_acceleration')
ARRAYS = ('inertia', 'stop_damping')    # of the arm: they change with payloads and servos
COPIED = ('_q', '_qd', '_qdd', '_effort', '_flow', '_watch', '_gain', '_motions', '_ends',
          '_jumped', '_payload', '_pushes', '_reported', 'reports')
REBUILT = ('_work', '_arrays', '_asking', '_loads', '_drive', '_driven', '_stage', '_limits',
           '_signs_of', '_by_midpoints', '_set_energies')


def state_of(simulation: Simulation) -> dict[str, Any]:
    """Return the state; it shares only the arm, the settings and motions with the simulation."""
    state = {name: copy(value) if name in COPIED else value
             for name, value in vars(simulation).items() if name not in REBUILT}
    state['work'] = {name: getattr(simulation._work, name).copy() for name in WORK}
    state['arrays'] = {name: getattr(simulation._arrays, name).copy() for name in ARRAYS}
    state['is_limit_reported'] = simulation._limits.is_reported
    return state


def make_tables(simulation: Simulation) -> None:
    """Make what follows from arm, settings and watch of a simulation."""
    arm, arrays = simulation.arm, simulation.arm.arrays
    simulation._arrays = arrays._replace(
        **{name: getattr(arrays, name).copy() for name in ARRAYS})
    work = simulation._work = make_workspace(arrays)
    # queries have scratch of their own: another thread may ask while this one steps
    simulation._asking = make_workspace(arrays)._replace(
        **{name: getattr(work, name) for name in SHARED})
    simulation._stage, simulation._driven = np.zeros((9, arm.size)), driven(arm)
    simulation._limits = StepLimits(simulation._arrays, simulation.settings)
    simulation._signs_of = bound(count_signs, simulation._watch)
    simulation._by_midpoints = None


def write_state(simulation: Simulation, state: dict[str, Any]) -> None:
    """Make a blank simulation what the state says; it takes over the arrays of the state."""
    own = dict(state)
    work, arrays, is_limit_reported = (
        own.pop(name) for name in ('work', 'arrays', 'is_limit_reported'))
    vars(simulation).update({name: writable(value) if isinstance(value, np.ndarray) else value
                             for name, value in own.items()})
    make_tables(simulation)
    for table, values in ((simulation._work, work), (simulation._arrays, arrays)):
        for name, array in values.items():
            getattr(table, name)[:] = array
    simulation._limits.is_reported = is_limit_reported
    simulation._loads = make_loads(simulation.arm, simulation._pushes.values())
    simulation._drive = simulation._made_drive()

"""
The plain state of a Simulation: everything that its next step depends on.

Copies and pickles contain this state, which includes the arm and the settings. Workspaces, loads
and compiled calls follow from it and are rebuilt.
"""

from __future__ import annotations

from copy import copy
from typing import TYPE_CHECKING, Any

import numpy as np

from flex_robot_sim.analysis.tangent import driven
from flex_robot_sim.dynamics.loads import make_loads
from flex_robot_sim.dynamics.monitors import count_events
from flex_robot_sim.jit.compiled import bind
from flex_robot_sim.model.arm_model import make_workspace
from flex_robot_sim.simulation.explicit_schemes import StepLimits
from flex_robot_sim.util.serialization import writable

if TYPE_CHECKING:
    from flex_robot_sim.simulation.simulation import Simulation

# of the workspace: results of the previous step that the next one reads, and external settings
WORKSPACE_FIELDS = (
    'joint_force', 'own_inertia', 'last', 'is_nonsmooth', 'step', 'applied', 'effort_limit',
    'rate_limit', 'target', 'target_rate', 'servo_stiffness', 'servo_damping', 'prescribed',
    'prescribed_acceleration', 'prescribed_effort')
# of the workspace, shared with the workspace of queries
SHARED_WORKSPACE_FIELDS = (
    'effort_limit', 'rate_limit', 'target', 'target_rate', 'servo_stiffness', 'servo_damping',
    'prescribed', 'prescribed_acceleration')
ARM_ARRAY_FIELDS = ('inertia', 'stop_damping')  # of the arm: they change with payloads and servos
COPIED_ATTRIBUTES = (
    '_q', '_qd', '_qdd', '_effort', '_flow', '_watch', '_gain', '_motions', '_ends', '_jumped',
    '_payload', '_pushes', '_reported', 'reports')
REBUILT_ATTRIBUTES = (
    '_work', '_arrays', '_query_work', '_loads', '_drive', '_driven', '_stage', '_limits',
    '_count_events', '_advance_midpoint', '_set_energies')


def state_of(simulation: Simulation) -> dict[str, Any]:
    """Return the state; it shares only the arm, settings and motions with the simulation."""
    state = {name: copy(value) if name in COPIED_ATTRIBUTES else value
             for name, value in vars(simulation).items() if name not in REBUILT_ATTRIBUTES}
    state['work'] = {name: getattr(simulation._work, name).copy() for name in WORKSPACE_FIELDS}
    state['arrays'] = {name: getattr(simulation._arrays, name).copy() for name in ARM_ARRAY_FIELDS}
    state['is_limit_reported'] = simulation._limits.is_reported
    return state


def make_tables(simulation: Simulation) -> None:
    """Build the tables that follow from arm, settings and watch of a simulation."""
    arm, arrays = simulation.arm, simulation.arm.arrays
    simulation._arrays = arrays._replace(
        **{name: getattr(arrays, name).copy() for name in ARM_ARRAY_FIELDS})
    work = simulation._work = make_workspace(arrays)
    # queries have their own workspace: another thread may query while this one steps
    simulation._query_work = make_workspace(arrays)._replace(
        **{name: getattr(work, name) for name in SHARED_WORKSPACE_FIELDS})
    simulation._stage, simulation._driven = np.zeros((9, arm.size)), driven(arm)
    simulation._limits = StepLimits(simulation._arrays, simulation.settings)
    simulation._count_events = bind(count_events, simulation._watch)
    simulation._advance_midpoint = None


def write_state(simulation: Simulation, state: dict[str, Any]) -> None:
    """Restore a blank simulation from a state; it takes over the arrays of the state."""
    attributes = dict(state)
    work, arrays, is_limit_reported = (
        attributes.pop(name) for name in ('work', 'arrays', 'is_limit_reported'))
    vars(simulation).update({name: writable(value) if isinstance(value, np.ndarray) else value
                             for name, value in attributes.items()})
    make_tables(simulation)
    for table, values in ((simulation._work, work), (simulation._arrays, arrays)):
        for name, array in values.items():
            getattr(table, name)[:] = array
    simulation._limits.is_reported = is_limit_reported
    simulation._loads = make_loads(simulation.arm, simulation._pushes.values())
    simulation._drive = simulation._make_drive()

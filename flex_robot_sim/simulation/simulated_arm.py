"""
One arm in motion: its numbers, its state, and the tables of the compiled functions.

`saved` returns what the next step depends on, for copies and pickles. Workspaces, loads and
compiled calls follow from it and are rebuilt.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from copy import copy
from dataclasses import replace
from itertools import repeat, starmap
from typing import Any

import numpy as np

from flex_robot_sim.dynamics.adaptive import advance_adaptively
from flex_robot_sim.dynamics.arm_state import make_state, make_step_settings
from flex_robot_sim.dynamics.energy import set_energies
from flex_robot_sim.dynamics.free_base import move_base_pose
from flex_robot_sim.dynamics.integrators import advance_checked, advance_explicitly
from flex_robot_sim.dynamics.loads import LoadArrays, Push, make_loads
from flex_robot_sim.dynamics.momentum import restore_momentum, set_total_momentum
from flex_robot_sim.dynamics.monitors import make_watch, turn_limits
from flex_robot_sim.formulations import Formulation
from flex_robot_sim.formulations.driving import FormulationDynamics, advance_with_formulation
from flex_robot_sim.jit.compiled import bind, call_with_tables
from flex_robot_sim.model.arm_model import ArmModel, Payload
from flex_robot_sim.model.dc_motor import dc_motor_table
from flex_robot_sim.model.free_base import is_tied
from flex_robot_sim.model.payload import inertias_with_payloads
from flex_robot_sim.model.slip_elements import remembered
from flex_robot_sim.model.workspace import make_workspace
from flex_robot_sim.motion.limits import command_limits, rate_limits
from flex_robot_sim.simulation.explicit_schemes import EXPLICIT_SCHEMES
from flex_robot_sim.util.exceptions import SettingError
from flex_robot_sim.util.settings import SimulationSettings

# of the workspace: deflections that joints remember, and currents of motors
MEMORY_FIELDS = ('slip', 'slip_end', 'motor_current', 'motor_energy')
# of the workspace, cleared where the results of previous steps no longer hold
STEP_HISTORY_FIELDS = (
    'joint_force',
    'gear_law',
    'own_inertia',
    'last',
    'is_nonsmooth',
    'step',
    'rank_share',
    'momentum',
    'contact_start',
    'contact_start_gap_rate',
)
SERVO_FIELDS = ('target', 'target_rate', 'servo_stiffness', 'servo_damping')
# inputs of the steps; the workspace of queries shares them
INPUT_FIELDS = (
    'effort_limit',
    'rate_limit',
    'dc_motor',
    *SERVO_FIELDS,
    'prescribed',
    'prescribed_acceleration',
    *MEMORY_FIELDS,
    'base_pose',
    'contact_force',
)
SAVED_FIELDS = {  # of each table: what the next step depends on
    'state': ('q', 'qd', 'qdd', 'effort', 'flow'),
    'work': (*STEP_HISTORY_FIELDS, *INPUT_FIELDS, 'applied', 'prescribed_effort', 'base_moves'),
    'arrays': ('inertia', 'stop_damping'),  # they change with payloads and servos
    'watch': (
        'turn',
        'bent',
        'turned',
        'loaded',
        'hard',
        'coarse',
        'enough',
        'singular',
        'pierced',
    ),
}

MakeFormulation = Callable[[ArmModel], Formulation]


class SimulatedArm:
    """State, loads, numbers and workspaces of one arm."""

    def __init__(
        self, arm: ArmModel, settings: SimulationSettings, make_formulation: MakeFormulation | None
    ) -> None:
        """Start with straight links in the zero position, by the recursion or a formulation."""
        if remembered(arm.arrays.slip_stiffness) and (
            make_formulation or settings.scheme != 'implicit_midpoint'
        ):
            raise SettingError(
                f'hysteresis and presliding of the joints of {arm.description.name} need the '
                'scheme implicit_midpoint and the formulation recursion: use these settings'
            )
        if any(joint.dc_motor for joint in arm.description.joints) and (
            make_formulation or settings.scheme != 'implicit_midpoint'
        ):
            raise SettingError(
                f'the DC motors of {arm.description.name} need the scheme implicit_midpoint and '
                'the formulation recursion: use these settings'
            )
        if arm.closed_loops and make_formulation:
            raise SettingError(
                f'the closed loops of {arm.description.name} need the formulation recursion: '
                "give formulation='recursion'"
            )
        if arm.has_free_base and make_formulation:
            raise SettingError(
                f'the free base of {arm.description.name} needs the formulation recursion: '
                "give formulation='recursion'"
            )
        if arm.contacts and make_formulation:
            raise SettingError(
                f'the contacts of {arm.description.name} need the formulation recursion: '
                "give formulation='recursion'"
            )
        self.arm, self.settings, self._make_formulation = arm, settings, make_formulation
        self.arrays = arm.arrays._replace(
            **{name: getattr(arm.arrays, name).copy() for name in SAVED_FIELDS['arrays']}
        )
        self.step_settings = make_step_settings(settings)
        self.time_step = float(settings.time_step)  # [s]
        self.state, self.watch = make_state(arm), make_watch(arm, settings)
        elements = remembered(arm.arrays.slip_stiffness)
        self.work = make_workspace(arm.arrays, elements=elements)
        self.work.dc_motor[:] = dc_motor_table(arm.description)
        if settings.drive_limits:
            self.work.effort_limit[:] = command_limits(arm)
            self.work.rate_limit[:] = rate_limits(arm)
        # queries have their own workspace: another thread may query while this one steps
        self.query_work = make_workspace(arm.arrays, elements=elements)._replace(
            **{name: getattr(self.work, name) for name in INPUT_FIELDS}
        )
        self.motor_q = arm.motor_q
        self.work.effort_limit[~arm.actuated] = 0.0
        self.payloads: dict[str, Payload] = {}
        self.pushes: dict[str, Push] = {}
        self.loads = make_loads(arm, closed_loops=True, free_base=True)
        self.imu_queries: dict[str | None, Any] = {}  # ImuQuery by name, made when asked for
        self.start_energy = 0.0  # [J]
        self.formulation: FormulationDynamics | None = None
        # bound to the tables of the steps
        self._advance_checked: Callable[..., tuple[int, int]] | None = None
        self._set_energies: Callable[..., None] | None = None
        # whether Python takes part in each step, so that Ctrl-C can interrupt it
        self.steps_in_python = make_formulation is not None or settings.scheme == 'reference'
        # of the default scheme: steps, loads, and arguments of `starmap`; at first of no steps,
        # which a caller cannot pass
        self.last_call: tuple[object, LoadArrays, Any, tuple] = object(), self.loads, None, ()
        self._update_formulation()

    def saved(self) -> dict[str, Any]:
        """Return what the next step depends on; it shares only arm, settings and motions."""
        tables = {
            table: {name: getattr(getattr(self, table), name).copy() for name in names}
            for table, names in SAVED_FIELDS.items()
        }
        return {
            **tables,
            'payloads': copy(self.payloads),
            'pushes': copy(self.pushes),
            'start_energy': self.start_energy,
        }

    def restore(self, saved: dict[str, Any]) -> None:
        """Restore what `saved` returned for such an arm."""
        for table in SAVED_FIELDS:
            for name, values in saved[table].items():
                getattr(getattr(self, table), name)[:] = values
        self.payloads, self.start_energy = copy(saved['payloads']), saved['start_energy']
        self.set_pushes(saved['pushes'])
        self._update_formulation()

    def has_other_gains(self, stiffness: np.ndarray, damping: np.ndarray) -> bool:
        """Whether the servo has other gains, (joints,) each."""
        work = self.work  # plain numbers: for a few, numpy takes longer
        return [stiffness.tolist(), damping.tolist()] != [
            work.servo_stiffness.tolist(),
            work.servo_damping.tolist(),
        ]

    def set_servo(
        self,
        target: np.ndarray,
        rate: np.ndarray | float,
        stiffness: np.ndarray,
        damping: np.ndarray,
    ) -> None:
        """Set targets, their rates, and gains of the servo, (joints,) each."""
        for name, values in zip(SERVO_FIELDS, (target, rate, stiffness, damping)):
            getattr(self.work, name)[:] = values

    def set_pushes(self, pushes: dict[str, Push]) -> None:
        """Replace all pushes, by link."""
        self.loads = make_loads(self.arm, pushes.values(), closed_loops=True, free_base=True)
        self.pushes = dict(pushes)

    def set_payloads(self, payloads: dict[str, Payload]) -> None:
        """Replace all payloads, by link."""
        self.payloads = payloads
        self.arrays.inertia[:] = inertias_with_payloads(self.arm, payloads)
        self.work.step[:] = 0.0
        self._update_formulation()

    def set_base_pose(self, pose: np.ndarray) -> None:
        """Set the pose (7,) of a free base, moved by its coordinates, which become zero."""
        self.work.base_pose[:] = pose
        call_with_tables(move_base_pose, self.arrays, self.state.q, self.work)

    def keep_momentum(self, q: np.ndarray, qd: np.ndarray) -> None:
        """
        Let a free base keep its momentum when the state changes to q and qd (n,), in place.

        A base that is tied to the world only moves by its coordinates.
        """
        momentum, arrays, work = np.zeros(9), self.arrays, self.work
        if not is_tied(self.arm):
            old = self.state
            call_with_tables(set_total_momentum, arrays, old.q, old.qd, momentum, work)
            call_with_tables(restore_momentum, arrays, q, qd, momentum, work)
        call_with_tables(move_base_pose, arrays, q, work)

    def update_turn_limits(self) -> None:
        """Adapt the limits of slow rotation to the present payloads."""
        self.watch.turn[:] = turn_limits(self.arm, self.arrays, self.settings)

    def energies(self) -> np.ndarray:
        """Kinetic, strain and potential energy (3,) [J], with the workspace of queries."""
        return self._energies(self.query_work, np.zeros(3))

    def energies_between_steps(self) -> np.ndarray:
        """Return the same in `work.energy`, with the workspace of the steps."""
        return self._energies(self.work, self.work.energy)

    def _energies(self, work, energies):
        """Set the energies (3,), those of a formulation if any."""
        arguments = self.arrays, self.state.q, self.state.qd, work, energies
        if self._set_energies is None:
            self._set_energies = bind(set_energies, *arguments)
        self._set_energies(*arguments)
        if self.formulation is not None:
            energies[0], energies[2] = self.formulation.energies(self.state.q, self.state.qd)
        return energies

    def clear_step_history(self) -> None:
        """Clear the results of previous steps, which no longer hold."""
        for name in STEP_HISTORY_FIELDS:
            getattr(self.work, name)[:] = 0.0
        self.work.contact_force[:] = 0.0

    def relax_joints(self) -> None:
        """Set the deflections that joints remember, and the currents of motors, to zero."""
        for name in MEMORY_FIELDS:
            getattr(self.work, name)[:] = 0.0

    def forget_events(self) -> None:
        """Clear the recorded events."""
        watch = self.watch
        watch.bent[:] = watch.turned[:] = watch.loaded[:] = -1
        watch.singular[0] = watch.pierced[0] = -1
        watch.hard[:], watch.coarse[:] = (0, 0, -1), 0.0

    def take_steps(self, steps: int) -> Iterator[tuple[int, int | None]]:
        """
        Return an iterator that takes steps when it is read, all in C.

        It yields the number of steps taken, and that of events in `watch` (None: not counted)
        or NON_FINITE_EFFORT. With the default scheme, the call is stored in `last_call`.
        """
        arguments = (
            self.arrays,
            self.loads,
            self.step_settings,
            self.state,
            steps,
            self.watch,
            self.work,
        )
        if self.formulation is not None:
            return zip(
                starmap(advance_with_formulation, ((self.formulation, *arguments),)), repeat(None)
            )
        if self.settings.scheme != 'implicit_midpoint':
            is_explicit = self.settings.scheme in EXPLICIT_SCHEMES
            return zip(
                starmap(advance_explicitly if is_explicit else advance_adaptively, (arguments,)),
                repeat(None),
            )
        if self._advance_checked is None:
            none = (*arguments[:4], 0, *arguments[5:])
            bind(advance_checked, *none)(*none)  # a first call is slower
            self._advance_checked = bind(advance_checked, *none)
        self.last_call = steps, arguments[1], self._advance_checked, (arguments,)
        return starmap(self._advance_checked, (arguments,))

    def _update_formulation(self):
        """Rebuild the formulation for the present numbers."""
        self.formulation = None
        if self._make_formulation is not None:
            self.formulation = FormulationDynamics(
                self._make_formulation(replace(self.arm, arrays=self.arrays)), self.arrays
            )

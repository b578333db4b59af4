"""
Queries of a simulated arm: poses, twists, wrenches and energy.

Queries use a workspace of their own, so that another thread can query a simulation while it steps.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from flex_robot_sim.analysis.jacobians import jacobian, pose, twist, twist_rate
from flex_robot_sim.dynamics.energy import set_energies
from flex_robot_sim.dynamics.forces import store_joint_forces
from flex_robot_sim.dynamics.forward_dynamics import implicit_dynamics, inverse_dynamics
from flex_robot_sim.dynamics.loads import LoadArrays, set_loads
from flex_robot_sim.formulations.driving import FormulationDynamics
from flex_robot_sim.model.arguments import is_known
from flex_robot_sim.model.arm_model import ArmArrays, ArmModel, Workspace
from flex_robot_sim.util.exceptions import SettingError
from flex_robot_sim.util.settings import SimulationSettings

FRICTION_PROBE_STEP_S = 1e-6    # step that moves nothing, but determines static friction  [s]
FRICTION_PROBE_ITERATIONS = 6   # iterations of that step


class Energy(NamedTuple):
    """Where the energy is [J]."""

    kinetic: float
    strain: float           # in elastic links, gears and stops
    gravity: float
    work: float             # done by motors and loads since the start
    dissipated: float       # since the start
    # of these: zero except for rounding; for the errors of explicit schemes, formulations and
    # steps with prescribed drives; and for uncorrected losses of coarse implicit steps (T44, T46)
    balance: float


class Queries:
    """Base class of Simulation for queries; it reads the state of the simulation."""

    arm: ArmModel
    settings: SimulationSettings
    _q: np.ndarray
    _qd: np.ndarray
    _qdd: np.ndarray
    _effort: np.ndarray
    _loads: LoadArrays
    _arrays: ArmArrays
    _work: Workspace
    _query_work: Workspace
    _flow: np.ndarray
    _start_energy: float
    _drive: FormulationDynamics | None

    def pose(self, link: str, station: float | str | None = None) -> np.ndarray:
        """
        Pose (4, 4) of a link in the base frame, deflections included [-, m].

        :param station: None: the frame of the link. A distance from the root along a flexible
            link [m], or 'tip': its section there, x along the beam.
        """
        return pose(self.arm, self._q, link, station, self._query_work)

    def jacobian(self, link: str, representation: str = 'body',
                 station: float | str | None = None) -> np.ndarray:
        """
        Jacobian (6, n) from the rates of all coordinates to the twist of a link.

        :param representation: 'body', 'spatial', 'hybrid' or 'mixed', see twists.py.
        :param station: see `pose`.
        """
        return jacobian(self.arm, self._q, link, representation, station, self._query_work)

    def twist(self, link: str, representation: str = 'body',
              station: float | str | None = None) -> np.ndarray:
        """Angular and linear velocity (6,) [rad/s, m/s] of a link; see `jacobian`."""
        return twist(self.arm, self._q, self._qd, link, representation, station, self._query_work)

    def twist_rate(self, link: str, representation: str = 'body',
                   station: float | str | None = None) -> np.ndarray:
        """Rate (6,) [rad/s2, m/s2] of the twist of a link under the present efforts and pushes."""
        return twist_rate(self.arm, self._q, self._qd, self._accelerations(), link,
                          representation, station, self._query_work)

    def wrench(self, joint: str) -> np.ndarray:
        """Moment and force (6,) [N m, N] that a joint transmits to its link, in the link frame."""
        if not is_known(joint, self.arm.carried_bodies):
            raise SettingError(f'no joint "{joint}" carries a body. Known: '
                               f'{", ".join(self.arm.carried_bodies)}')
        body, frame = self.arm.carried_bodies[joint]
        inverse_dynamics(self._arrays, self._q, self._qd, self._accelerations(), self._query_work,
                         np.zeros(self.arm.size))
        moment, force = self._query_work.F[body, :3], self._query_work.F[body, 3:]
        return np.concatenate([frame.R.T @ (moment - np.cross(frame.p, force)), frame.R.T @ force])

    def energy(self) -> Energy:
        """Return the Energy of the arm, with its balance."""
        kinetic, strain, gravity = self._energies()
        work, dissipated = self._flow[:2]
        balance = kinetic + strain + gravity + dissipated - work - self._start_energy
        return Energy(*map(float, (kinetic, strain, gravity, work, dissipated, balance)))

    def _accelerations(self):
        """Accelerations of all coordinates (n,) at this instant."""
        qdd, guess, work = self._qdd.copy(), np.empty(self.arm.size), self._query_work
        has_dry_friction = self.settings.scheme == 'implicit_midpoint' and (
            self._arrays.coulomb + self._arrays.stiction).any()
        work.joint_force[:], work.own_inertia[:] = self._work.joint_force, self._work.own_inertia
        work.relaxation[0] = 1.0
        set_loads(self._arrays, self._loads, self._q, self._qd, work)
        # static friction follows from a step too short to move anything
        for _ in range(FRICTION_PROBE_ITERATIONS if has_dry_friction else 1):
            guess[:] = qdd
            implicit_dynamics(self._arrays, self._q, self._qd, self._effort,
                              FRICTION_PROBE_STEP_S if has_dry_friction else 0.0, guess, work, qdd)
            store_joint_forces(
                self._arrays, self._qd + 0.5 * FRICTION_PROBE_STEP_S * (qdd - guess), work)
        return qdd

    def _energies(self):
        energies = np.zeros(3)
        set_energies(self._arrays, self._q, self._qd, self._query_work, energies)
        self._take_energies_of_formulation(energies)
        return energies

    def _take_energies_of_formulation(self, out):
        """Replace kinetic and potential energy in `out` (3,) by those of a formulation, if any."""
        if self._drive is not None:
            out[0], out[2] = self._drive.energies(self._q, self._qd)

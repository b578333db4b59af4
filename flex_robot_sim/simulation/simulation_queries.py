"""Queries of a simulation at its present state: motion, deflections, wrenches and energy."""

from __future__ import annotations

import numpy as np

from flex_robot_sim.analysis.deflection import Deflections
from flex_robot_sim.analysis.flex_sensors import curvatures
from flex_robot_sim.analysis.imu_kinematics import ImuMotion
from flex_robot_sim.analysis.jacobians import jacobian, pose, twist, twist_rate
from flex_robot_sim.model.arm_model import ArmModel
from flex_robot_sim.model.free_base import base_coordinates, link_pose, link_twist
from flex_robot_sim.simulation import queries
from flex_robot_sim.simulation.contact_state import ContactState, contact_state
from flex_robot_sim.simulation.imu_query import ImuQuery
from flex_robot_sim.simulation.moved_base import MovedBase
from flex_robot_sim.simulation.simulated_arm import SimulatedArm


class SimulationQueries:
    """Base class of Simulation with its queries."""

    arm: ArmModel
    _simulated: SimulatedArm
    _base: MovedBase

    @property
    def applied_effort(self) -> np.ndarray:
        """Present motor efforts, servo included, (joints,) [N m, N]; see also `mean_effort`."""
        return queries.applied_effort(self._simulated)

    @property
    def mean_effort(self) -> np.ndarray:
        """Mean motor efforts of the last step, servo and limits included, (joints,) [N m, N]."""
        return self._simulated.work.applied.copy()

    @property
    def motor_current(self) -> np.ndarray:
        """Currents of the DC motors after the last step, (joints,) [A]; other motors: 0."""
        return self._simulated.work.motor_current.copy()

    @property
    def motor_heat(self) -> np.ndarray:
        """Heat of the windings of the DC motors since the state was set, (joints,) [J]."""
        return self._simulated.work.motor_energy[:, 1].copy()

    @property
    def electrical_energy(self) -> np.ndarray:
        """Energy that the DC motors took up since the state was set, (joints,) [J]."""
        return self._simulated.work.motor_energy[:, 0].copy()

    @property
    def corrected_energy(self) -> float:
        """Sum of the absolute energy corrections of the default scheme since the start [J]."""
        return float(self._simulated.state.flow[2])

    @property
    def hard_steps(self) -> tuple[int, int]:
        """Number of subdivided steps, and number of inaccurate substeps that were accepted."""
        subdivided, inaccurate = self._simulated.watch.hard[:2]
        return int(subdivided), int(inaccurate)

    @property
    def position(self) -> np.ndarray:
        """Joint positions on the link side, (joints,) [rad, m]."""
        return self._simulated.state.q[self.arm.joint_q].copy()

    @property
    def velocity(self) -> np.ndarray:
        """Joint velocities on the link side, (joints,) [rad/s, m/s]."""
        return self._simulated.state.qd[self.arm.joint_q].copy()

    @property
    def motor_position(self) -> np.ndarray:
        """Joint positions on the motor side, behind the gear, (joints,) [rad, m]."""
        return self._simulated.state.q[self._simulated.motor_q]

    @property
    def motor_velocity(self) -> np.ndarray:
        """Joint velocities on the motor side, behind the gear, (joints,) [rad/s, m/s]."""
        return self._simulated.state.qd[self._simulated.motor_q]

    @property
    def q(self) -> np.ndarray:
        """All coordinates, in the order of arm.coordinate_names, (nq,)."""
        q = self._simulated.state.q.copy()
        if self.arm.has_free_base:  # in steps, these coordinates count from `base_pose`
            q[self.arm.base_q] = base_coordinates(self.arm, self._simulated.work.base_pose)
        return q

    @property
    def v(self) -> np.ndarray:
        """Rates of all coordinates, (nv,)."""
        return self._simulated.state.qd.copy()

    @property
    def is_base_moved(self) -> bool:
        """Whether the motion of the base is prescribed."""
        return self._base.is_moved

    @property
    def base_pose(self) -> np.ndarray:
        """
        Pose of the base link of a free or moved base, (7,): position [m], quaternion x y z w.

        That of a free base is relative to the root link. The order is that of ROS and of
        Pinocchio's free flyer.
        """
        if self._base.is_moved:
            return self._base.pose
        return link_pose(self.arm, self._simulated.work.base_pose)

    @property
    def base_twist(self) -> np.ndarray:
        """Twist of a free or moved base in its axes, (6,) [rad/s, m/s], angular first."""
        if self._base.is_moved:
            return self._base.twist
        return link_twist(self.arm, self._simulated.state.qd)

    def momentum(self) -> np.ndarray:
        """
        Momentum of the arm, without a fixed base, in the axes of the world, (6,).

        First the angular momentum about the centre of mass [N m s], then the linear one [N s].
        """
        return queries.momentum(self._simulated)[:6]

    @property
    def centre_of_mass(self) -> np.ndarray:
        """Centre of mass of the arm, without a fixed base, (3,) [m]."""
        return queries.momentum(self._simulated)[6:]

    @property
    def deflection(self) -> Deflections:
        """Tip translation and rotation vector, (6,) [m, rad], of each flexible link, by name."""
        return Deflections(self.arm, self.q)

    @property
    def curvature(self) -> dict[str, float]:
        """Mean curvature [1/m] that each flex sensor of the description measures, by name."""
        return curvatures(self.arm, self._simulated.state.q)

    def pose(self, link: str | None = None, *, station: float | str | None = None) -> np.ndarray:
        """
        Pose (4, 4) of a link in the base frame, deflections included [-, m].

        :param link: its name; default: the tool link.
        :param station: None: the frame of the link. A distance from the root along a flexible
            link [m], or 'tip': its section there, x along the beam.
        """
        return pose(
            self.arm,
            self._simulated.state.q,
            link=link,
            station=station,
            work=self._simulated.query_work,
        )

    def jacobian(
        self,
        link: str | None = None,
        *,
        representation: str = 'body',
        station: float | str | None = None,
    ) -> np.ndarray:
        """
        Jacobian (6, nv) from the rates of all coordinates to the twist of a link.

        :param representation: 'body', 'spatial', 'hybrid' or 'mixed', see `convert_twist`.
        :param link, station: see `pose`.
        """
        return jacobian(
            self.arm,
            self._simulated.state.q,
            link=link,
            representation=representation,
            station=station,
            work=self._simulated.query_work,
        )

    def twist(
        self,
        link: str | None = None,
        *,
        representation: str = 'body',
        station: float | str | None = None,
    ) -> np.ndarray:
        """Angular and linear velocity (6,) [rad/s, m/s] of a link; see `jacobian`."""
        simulated, (q, qd, *_) = self._simulated, self._simulated.state
        return twist(
            self.arm,
            q,
            qd,
            link=link,
            representation=representation,
            station=station,
            work=simulated.query_work,
        )

    def twist_rate(
        self,
        link: str | None = None,
        *,
        representation: str = 'body',
        station: float | str | None = None,
    ) -> np.ndarray:
        """Rate (6,) [rad/s2, m/s2] of the twist of a link under the present efforts and pushes."""
        simulated, (q, qd, *_) = self._simulated, self._simulated.state
        return twist_rate(
            self.arm,
            q,
            qd,
            queries.accelerations(simulated),
            link=link,
            representation=representation,
            station=station,
            work=simulated.query_work,
        )

    def imu(self, name: str | None = None) -> ImuMotion:
        """
        What an ideal IMU measures under the present efforts and pushes; see also `ImuSensor`.

        :param name: of an `<imu>` of the description; default: the only one.
        """
        known = self._simulated.imu_queries
        if name not in known:
            known[name] = ImuQuery(self._simulated, name)
        query: ImuQuery = known[name]
        return query.motion(self._simulated)

    def wrench(self, joint: str) -> np.ndarray:
        """Moment and force (6,) [N m, N] that a joint transmits to its link, in the link frame."""
        return queries.wrench(self._simulated, joint)

    def constraint_force(self, name: str) -> np.ndarray:
        """Moment and force (6,) [N m, N] of a constraint on its child link, in its frame."""
        return queries.constraint_force(self._simulated, name)

    def contact(self, name: str) -> ContactState:
        """Return the ContactState of a `<contact>`: force, gap, and whether it slides."""
        return contact_state(self._simulated, name)

    def energy(self) -> queries.Energy:
        """Return the Energy of the arm, with its balance."""
        return queries.energy(self._simulated)

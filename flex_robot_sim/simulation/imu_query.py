"""What an ideal IMU of a simulated arm measures, in one compiled call: a node asks at its rate."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from flex_robot_sim.analysis.imu_kinematics import (
    ImuMotion,
    imu_mount,
    section_workspace,
    set_imu_motion,
)
from flex_robot_sim.dynamics.instant import set_instant_accelerations
from flex_robot_sim.jit.compiled import bind, compiled
from flex_robot_sim.simulation.queries import set_solver_start

if TYPE_CHECKING:
    from flex_robot_sim.simulation.simulated_arm import SimulatedArm


class ImuQuery:
    """An IMU of one SimulatedArm, with its workspace."""

    def __init__(self, simulated: SimulatedArm, name: str | None) -> None:
        """Prepare the IMU called `name`, or the only one."""
        mount, size = imu_mount(simulated.arm, name), simulated.arm.size
        self._place = mount.arrays, mount.body, mount.is_on_section, mount.R, mount.p
        self._section = section_workspace(mount, simulated.query_work)
        self._rates, self._qdd, self._out = np.empty(size), np.empty(size), np.zeros((4, 6))
        self._call: Callable[..., None] | None = None  # bound to the types of the arguments

    def motion(self, simulated: SimulatedArm) -> ImuMotion:
        """Return what the IMU measures under the present efforts and pushes."""
        arrays, (q, qd, qdd, effort, *_) = simulated.arrays, simulated.state
        is_sticky = set_solver_start(simulated)
        self._qdd[:] = qdd
        arguments = (
            *(arrays, simulated.loads, q, qd, effort, is_sticky, self._rates, self._qdd),
            *(*self._place, self._out, self._section, simulated.query_work),
        )
        if self._call is None:
            bind(set_simulated_imu, *arguments)(*arguments)  # a first call is slower
            self._call = bind(set_simulated_imu, *arguments)
        self._call(*arguments)
        values = self._out[0].copy()
        return ImuMotion(values[:3], values[3:])


@compiled
def set_simulated_imu(
    arm,
    loads,
    q,
    qd,
    effort,
    is_sticky,
    rates,
    qdd,
    section_arm,
    body,
    is_on_section,
    R,
    p,
    out,
    section,
    work,
):
    """Set angular velocity and specific force; see set_instant_accelerations, set_imu_motion."""
    set_instant_accelerations(arm, loads, q, qd, effort, is_sticky, work, rates, qdd)
    set_imu_motion(arm, q, qd, qdd, section_arm, body, is_on_section, R, p, out, section, work)

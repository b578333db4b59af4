"""
Prescribed joint motion: drives that follow a given motion exactly, whatever effort it takes.

Within a step the acceleration of a prescribed drive is constant; both ends of the step lie on the
motion. If the drive must be moved onto its motion, the change of energy counts as work of the
drive. A jump of the motion, in position or against its own velocity, is reported.
"""

from collections.abc import Callable, Iterator, Sequence

import numpy as np
from numpy.typing import ArrayLike

from flex_robot_sim.dynamics.constraints.closing import closed_coordinates, closed_rates
from flex_robot_sim.dynamics.constraints.projection import close_loops
from flex_robot_sim.dynamics.prescribed_run import advance_prescribed
from flex_robot_sim.jit.compiled import call_with_tables
from flex_robot_sim.model.arguments import array_or_nan, is_known
from flex_robot_sim.model.arm_model import ArmModel
from flex_robot_sim.model.free_base import moved_to
from flex_robot_sim.motion.prescribed_motion import PrescribedMotion, as_motion
from flex_robot_sim.simulation.simulated_arm import SimulatedArm
from flex_robot_sim.util.exceptions import SettingError, SimulationError

JUMP_TOLERANCE = 1e-6  # larger jumps of a drive are reported                [rad, m]
MAX_CURVATURE_SHARE = 0.1  # largest deviation from even acceleration, over the travel of a step


class PrescribedDrives:
    """The drives of a SimulatedArm whose motion is prescribed; methods yield lines to report."""

    def __init__(self, simulated: SimulatedArm) -> None:
        """Begin without prescribed motions."""
        self._simulated = simulated
        self.motions: dict[int, Callable[[float], tuple[float, float]]] = {}  # by row of the joint
        self._ends: dict[int, tuple[float, float]] = {}  # of these, at the end of the step
        self._jumped: set[int] = set()  # joints whose jump was reported

    def saved(self) -> tuple:
        """Return what the next step depends on."""
        return {**self.motions}, {**self._ends}, {*self._jumped}

    def restore(self, saved: tuple) -> None:
        """Restore what `saved` returned."""
        motions, ends, jumped = saved
        self.motions, self._ends, self._jumped = {**motions}, {**ends}, {*jumped}

    def prescribe(self, joint: str, motion: PrescribedMotion | None, time: float) -> list[str]:
        """Prescribe the motion of the drive of a joint from now [s] on; None ends it."""
        arm, work = self._simulated.arm, self._simulated.work
        free = arm.description.free_joint
        if free is not None and joint == free.name:
            raise SettingError(
                f'the joint "{joint}" of a free base has no drive: push the base, or make the '
                'joint fixed and prescribe the motion of the base by move_base'
            )
        if not is_known(joint, arm.joint_names):
            raise SettingError(f'no joint "{joint}" moves. Known: {", ".join(arm.joint_names)}')
        row = arm.joint_names.index(joint)
        self.motions.pop(row, None)
        self._ends.pop(row, None)
        self._jumped.discard(row)
        work.prescribed[row] = work.prescribed_effort[row] = 0.0
        if motion is None:
            return []
        if not arm.actuated[row]:
            raise SettingError(f'joint "{joint}" is passive: it has no drive to prescribe')
        motion = as_motion(joint, motion, arm.units[row])
        start = motion(time)
        position = self._simulated.state.q[self._simulated.motor_q[row]]
        lines = [*self._jump(row, time, position, start[0], 'its drive is at')]
        work.prescribed[row] = 1.0
        try:
            self._set_drives({row: start})
        except SettingError as error:
            work.prescribed[row] = 0.0
            raise SettingError(f'the loops cannot follow "{joint}": {error}') from None
        self.motions[row] = motion
        work.step[:] = 0.0
        return lines

    def follow(
        self, positions: ArrayLike, velocities: ArrayLike, efforts: np.ndarray | None
    ) -> tuple[np.ndarray, int]:
        """Move all drives along samples; return all coordinates (k, n), and the steps taken."""
        positions, velocities = (
            np.ascontiguousarray(array_or_nan(table)) for table in (positions, velocities)
        )
        simulated = self._simulated
        size, settings, work = len(simulated.arm.joint_names), simulated.settings, simulated.work
        if (
            positions.ndim != 2
            or positions.shape != (len(positions), size)
            or velocities.shape != positions.shape
        ):
            raise SettingError(
                f'positions and velocities of drives to follow must be (k, {size}) each'
            )
        if not np.isfinite([positions, velocities]).all() or not len(positions):
            raise SettingError(
                'positions and velocities of drives to follow must be finite, one row at least'
            )
        if (
            settings.formulation != 'recursion'
            or settings.scheme != 'implicit_midpoint'
            or self.motions
            or work.base_moves[0]
        ):
            raise SettingError(
                'drives that follow samples need the recursion, the scheme '
                'implicit_midpoint, and no other motion that is prescribed'
            )
        work.prescribed[:] = simulated.arm.actuated
        try:
            self._set_drives(dict(enumerate(zip(positions[0], velocities[0]))))
        except SettingError:
            work.prescribed[:] = 0.0
            raise
        trajectory = np.tile(simulated.state.q, (len(positions), 1))
        completed = advance_prescribed(
            simulated.arrays,
            simulated.loads,
            simulated.step_settings,
            simulated.state,
            simulated.watch,
            work,
            simulated.motor_q,
            positions,
            velocities,
            trajectory,
            np.empty(positions.shape) if efforts is None else efforts,
        )
        work.prescribed[:] = work.prescribed_effort[:] = 0.0
        simulated.clear_step_history()
        return trajectory, completed

    def refuse_open_loops(self, positions: ArrayLike, row: int) -> None:
        """Raise SimulationError if the loops cannot follow row k of positions (k, joints)."""
        arm, q = self._simulated.arm, self._simulated.state.q.copy()
        if not arm.closed_loops or not np.isfinite(q).all():
            return
        if arm.has_free_base:
            arm = moved_to(arm, self._simulated.work.base_pose)
        rows = np.flatnonzero(arm.actuated)
        q[self._simulated.motor_q[rows]] = np.asarray(positions, float)[row, rows]
        reason = 'they are too far from the last ones. Give more samples'
        try:
            closed_coordinates(arm, q, rows)
        except SettingError as error:
            reason = str(error)
        raise SimulationError(f'the loops cannot follow the drives at sample {row}: {reason}')

    def begin_step(self, start: float, end: float) -> Iterator[str]:
        """Set the accelerations of the drives between two times [s]."""
        for row, motion in self.motions.items():
            (position, velocity), target = motion(start), motion(end)
            self._ends[row] = target
            h, change = end - start, target[1] - velocity
            self._simulated.work.prescribed_acceleration[row] = change / h
            predicted = position + 0.5 * h * (velocity + target[1])
            # a change of velocity may happen at either end of the step
            tolerance = h * (
                0.5 * abs(change) + MAX_CURVATURE_SHARE * max(abs(velocity), abs(target[1]))
            )
            if row not in self._jumped:
                for line in self._jump(
                    row, end, predicted, target[0], 'its velocity leads to', tolerance
                ):
                    self._jumped.add(row)
                    yield line

    def end_step(self) -> None:
        """Put the drives exactly on their motions; SimulationError if the loops cannot follow."""
        try:
            self._set_drives(self._ends, has_stepped=True)
        except SettingError as error:
            raise SimulationError(
                f'the loops cannot follow the prescribed motion: {error}'
            ) from None
        finally:
            self._simulated.work.step[0] = 0.0

    def put_on_motions(
        self,
        arm: ArmModel,
        q: np.ndarray,
        qd: np.ndarray,
        is_straight: Sequence[bool],
        time: float,
    ) -> Iterator[str]:
        """
        Move the drives onto their motions.

        :param arm: with the pose of a free base from which q (n,) counts.
        :param is_straight: whether link sides follow, in q and in qd.
        """
        for row, motion in self.motions.items():
            k, target = self._simulated.motor_q[row], motion(time)
            yield from self._jump(row, time, q[k], target[0], 'its drive was put to')
            for values, value, follows_drive in zip((q, qd), target, is_straight):
                values[k] = value
                if follows_drive:
                    values[row] = value
        if self.motions and arm.closed_loops:
            rows = [*self.motions]
            q[:] = closed_coordinates(arm, q, rows)
            qd[:] = closed_rates(arm, q, qd, rows)

    def _jump(self, row, time, position, target, origin, tolerance=0.0):
        """Yield a line if a drive jumps to its motion."""
        arm = self._simulated.arm
        if abs(target - position) > tolerance + JUMP_TOLERANCE:
            unit, name = arm.units[row], arm.joint_names[row]
            yield (
                f'the motion of "{name}" is at {target:.6g} {unit} at {time:.6g} s, where '
                f'{origin} {position:.6g} {unit}: the drive jumps. Prescribe a motion that '
                'goes on from there'
            )

    def _set_drives(self, states, has_stepped=False):
        """
        Set positions and velocities of prescribed drives, by row; passive joints follow the loops.

        The change of energy is work of the drives. SettingError leaves the state as it was.
        """
        simulated, state = self._simulated, self._simulated.state
        energy_before = simulated.energies_between_steps().sum()
        q, qd = state.q.copy(), state.qd.copy()
        for row, (position, velocity) in states.items():
            if simulated.work.prescribed[row]:
                k = simulated.motor_q[row]
                q[k], qd[k] = position, velocity
        if simulated.arm.closed_loops:
            q, qd = self._on_loops(q, qd, has_stepped)
        if simulated.arm.has_free_base:
            simulated.keep_momentum(q, qd)
        state.q[:], state.qd[:] = q, qd
        state.flow[0] += simulated.energies_between_steps().sum() - energy_before

    def _on_loops(self, q, qd, has_stepped):
        """Coordinates and rates (n,) on the closed loops, with the prescribed drives as given."""
        simulated, arm = self._simulated, self._simulated.arm
        if has_stepped:  # the factors of the step are accurate, unless the drive jumps
            near = q.copy(), qd.copy()
            if call_with_tables(close_loops, simulated.arrays, *near, simulated.work):
                return near
        rows = np.flatnonzero(simulated.work.prescribed)
        if arm.has_free_base:
            arm = moved_to(arm, simulated.work.base_pose)
        q = closed_coordinates(arm, q, rows)
        return q, closed_rates(arm, q, qd, rows)

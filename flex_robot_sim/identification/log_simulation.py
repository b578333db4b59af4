"""
Simulation of an arm along a sequence, part by part, so that a long log needs little memory.

See docs/identification_method.md, (I1) to (I4).
"""

from typing import NamedTuple

import numpy as np

from flex_robot_sim.analysis.loop_poses import pose_of_drives
from flex_robot_sim.analysis.statics import equilibrium
from flex_robot_sim.dynamics.arm_state import make_state, make_step_settings
from flex_robot_sim.dynamics.constraints.closing import closed_rates
from flex_robot_sim.dynamics.loads import make_loads
from flex_robot_sim.dynamics.monitors import make_watch
from flex_robot_sim.dynamics.tracking_run import FollowedMotion, MeasuredMotion, advance_tracking
from flex_robot_sim.identification.imu import imu_channel, imu_readings, rates_along
from flex_robot_sim.identification.prediction import (
    MAX_STEP_S,
    REST_DURATION_S,
    Setup,
    SoftServo,
    channel_rows,
    starts_at_rest,
)
from flex_robot_sim.identification.sequences import Sequence, shifted
from flex_robot_sim.model.arm_model import ArmModel
from flex_robot_sim.model.slip_elements import remembered
from flex_robot_sim.model.workspace import make_workspace
from flex_robot_sim.util.settings import SimulationSettings

DELAYED_ROWS = 10_000  # of a table that are interpolated at the same time


class SimulatedMotion(NamedTuple):
    """Simulated motion of an arm along a sequence."""

    coordinates: np.ndarray  # (k, n)
    velocities: np.ndarray  # (k, n)
    servo_effort: np.ndarray  # (k, joints)   of the soft servo                       [N m, N]
    reached: int  # number of samples before the simulation diverged


class LogSimulation:
    """Simulation of an arm along a sequence; each part continues the one before."""

    def __init__(
        self,
        setup: Setup,
        servo: SoftServo,
        arm: ArmModel,
        sequence: Sequence,
        delay: float = 0.0,
        start: np.ndarray | None = None,
    ) -> None:
        """
        Prepare the simulation from the first sample on.

        :param delay: of measurements, relative to efforts; the servo uses the delayed motion [s].
        :param start: initial deviation of coordinates and velocities from equilibrium, (2 n,).
        """
        self._sequence, self._next, motors = sequence, 0, arm.motor_q
        measured_coordinates = np.array(
            [
                j if side == 'position' and not setup.has_prescribed_motion else motors[j]
                for j, side in enumerate(setup.data.sides)
            ],
            int,
        )
        substeps = max(1, int(np.ceil(sequence.period / (setup.time_step or MAX_STEP_S) - 1e-6)))
        delay_samples = 0.0 if setup.has_prescribed_motion else delay / sequence.period
        self._log = MeasuredMotion(
            motors,
            measured_coordinates,
            np.array([substeps]),
            sequence.efforts,
            shifted(sequence.positions, delay_samples),
            shifted(sequence.velocities, delay_samples),
        )
        settings = SimulationSettings()
        self._arm, self._loads = arm, make_loads(arm, closed_loops=True)
        self._settings = make_step_settings(settings, sequence.period / substeps)
        self._state, self._watch = make_state(arm), make_watch(arm, settings)
        self._work = make_workspace(arm.arrays, elements=remembered(arm.arrays.slip_stiffness))
        self._work.prescribed[:] = [
            int(setup.has_prescribed_motion and bool(side)) for side in setup.data.sides
        ]
        self._servo = servo.gains()
        self._set_start(setup.has_prescribed_motion, start)

    def _set_start(self, is_prescribed, start):
        """Set the state of the first sample."""
        log, arm, q, qd = self._log, self._arm, self._state.q, self._state.qd
        position, velocity = log.positions[0], log.velocities[0]
        # a mean, because noise of the first sample would decay slowly
        if not is_prescribed and starts_at_rest(self._sequence):
            count = max(4, round(REST_DURATION_S / self._sequence.period))
            position, velocity = log.positions[:count].mean(axis=0), np.zeros(len(velocity))
        q[:] = equilibrium(arm, pose_of_drives(arm, position)).q
        away = position - q[log.measured]  # of the motor side, for measurements of the link side
        if arm.closed_loops:
            away[~arm.actuated] = 0.0
        q[arm.motor_q] += away
        arm.set_joints(qd, velocity)
        qd[:] = closed_rates(arm, q, qd)
        if start is not None and start.size:
            q += start[: arm.size]
            qd += start[arm.size :]

    @property
    def state(self) -> np.ndarray:
        """Coordinates and velocities (2 n,) of the latest sample."""
        return np.concatenate([self._state.q, self._state.qd])

    def continue_from(self, sample: int, state: np.ndarray) -> None:
        """Make a sample the latest one; state: its coordinates and velocities (2 n,)."""
        self._next = sample + 1
        self._state.q[:], self._state.qd[:] = np.split(state, 2)

    def advance(self, end: int) -> SimulatedMotion:
        """Simulate up to a sample, exclusive; later parts begin with the last sample before."""
        first = max(self._next - 1, 0)
        self._next = min(end, len(self._sequence.time))
        count, log = self._next - first, self._log
        followed = FollowedMotion(
            np.zeros((count, self._arm.size)),
            np.zeros((count, self._arm.size)),
            np.zeros((count, len(self._arm.joint_names))),
        )
        followed.coordinates[0], followed.velocities[0] = self._state.q, self._state.qd
        part = log._replace(
            **{
                name: np.array(getattr(log, name)[first : self._next], order='C')
                for name in ('efforts', 'positions', 'velocities')
            }
        )
        completed = advance_tracking(
            self._arm.arrays,
            self._loads,
            self._settings,
            self._state,
            self._watch,
            self._work,
            part,
            self._servo,
            followed,
        )
        return SimulatedMotion(*followed, completed + 1)


def move(
    setup: Setup,
    servo: SoftServo,
    arm: ArmModel,
    sequence: Sequence,
    delay: float = 0.0,
    start: np.ndarray | None = None,
) -> SimulatedMotion:
    """Simulate an arm along a sequence; see `LogSimulation`."""
    return LogSimulation(setup, servo, arm, sequence, delay, start).advance(len(sequence.time))


def channels_of(
    setup: Setup, arm: ArmModel, sequence: Sequence, motion: SimulatedMotion, delay: float = 0.0
) -> np.ndarray:
    """Return the channels (k, c) of a SimulatedMotion with a delay [s]; nan after it diverged."""
    values, rates = outputs_of(setup, arm, motion, sequence.period)
    return as_logged(setup, values, rates, delay, sequence.period, motion.reached)


def outputs_of(
    setup: Setup, arm: ArmModel, motion: SimulatedMotion, period: float
) -> tuple[np.ndarray, np.ndarray]:
    """Return the channels (k, c) without delay and filters, and the rates of those but IMUs."""
    names = setup.data.channels
    rows = channel_rows(arm, names)
    values, rates = motion.coordinates @ rows.T, motion.velocities @ rows.T
    imus = [k for k, name in enumerate(names) if imu_channel(name)]
    if imus:
        values[:, imus] = imu_readings(
            arm,
            -arm.arrays.base_acceleration[3:],
            [names[k] for k in imus],
            motion.coordinates,
            motion.velocities,
            period,
        )
    return values, rates


def as_logged(
    setup: Setup, values: np.ndarray, rates: np.ndarray, delay: float, period: float, reached: int
) -> np.ndarray:
    """Return the outputs (k, c) behind delay [s] and filters, in place; nan from a sample on."""
    names = setup.data.channels
    imus = [k for k, name in enumerate(names) if imu_channel(name)]
    if imus:
        rates[:, imus] = rates_along(values[:, imus], period)
    channels = _delayed(values, rates, delay / period, period)
    for k, name in enumerate(names):
        if setup.filters and name in setup.filters:
            channels[:, k] = setup.filters[name].filtered(channels[:, k], period)
    channels[reached:] = np.nan
    return channels


def _delayed(values, rates, delay_samples, period):
    """
    Return samples `delay_samples` periods earlier, by cubic Hermite interpolation.

    The samples are overwritten, because tables of long logs are large.
    """
    if delay_samples == 0.0:
        return values
    # a part reads no samples of the parts before it
    firsts = range(0, len(values), DELAYED_ROWS)
    for first in reversed(firsts) if delay_samples > 0.0 else firsts:
        rows = np.arange(first, min(first + DELAYED_ROWS, len(values)))
        sample = np.clip(rows - delay_samples, 0.0, len(values) - 1.0)
        k = np.minimum(sample.astype(int), len(values) - 2)
        s = (sample - k)[:, None]
        a, b, va, vb = values[k], values[k + 1], period * rates[k], period * rates[k + 1]
        values[rows] = (
            (1 + 2 * s) * (1 - s) ** 2 * a
            + s * (1 - s) ** 2 * va
            + s**2 * (3 - 2 * s) * b
            + s**2 * (s - 1) * vb
        )
    return values

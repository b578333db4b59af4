"""
Arm interface of the bench: efforts in, states out, over a link that may be lost and restored.

Telemetry drives the bridge: each reading produces a state and, while the board is armed, every few
readings a set point. Without new readings there are neither states nor set points, and the
watchdog of the board stops the motors.

You arm the board with `enable`; the bridge never arms by itself. After a fault, a reboot, a lost
cable or a takeover by another host the board is disarmed and stays disarmed. `enable` refuses to
arm while the commanded efforts are large: a controller with an old target would throw the arm. A
disarmed arm swings for a while, so `zero` waits until the joints are at rest.
"""

import math
import time
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from copy import copy
from dataclasses import dataclass
from typing import NamedTuple

from numpy.typing import ArrayLike

from flex_robot_sim.model.arm_model import ArmModel
from flex_robot_sim.motion.limits import effort_limits
from flex_robot_sim.realtime.command_inbox import CommandInbox
from flex_robot_sim.realtime.timing import Samples
from flex_robot_sim.rig.bench.drives import Drives, DriveSettings, board_limits
from flex_robot_sim.rig.bench.effort_profile import segments_of
from flex_robot_sim.rig.bench.parts import SLIDE, BenchParts
from flex_robot_sim.rig.calibration.calibration import Calibration, nominal
from flex_robot_sim.rig.calibration.file import read_calibration
from flex_robot_sim.rig.estimation.estimator_settings import EstimatorSettings
from flex_robot_sim.rig.estimation.joint_tracker import JointTracker
from flex_robot_sim.rig.estimation.shape_tracker import sensor_names
from flex_robot_sim.rig.host.command_channel import describe_faults, name_of, state_name
from flex_robot_sim.rig.host.link import LinkSettings, LinkState, RigLink
from flex_robot_sim.rig.host.link_session import Reading
from flex_robot_sim.rig.wire.board_parameters import PARAMETERS, Parameter
from flex_robot_sim.rig.wire.protocol import HelloAck, Segment
from flex_robot_sim.rig.wire.ticks import elapsed
from flex_robot_sim.rig.wire.vocabulary import (
    MOVING,
    EventKind,
    Fault,
    Input,
    Joint,
    ResetCause,
    State,
)
from flex_robot_sim.util.exceptions import CommandError, SettingError
from flex_robot_sim.util.settings import Settings, setting

ORIGIN_PAUSE = 0.15  # without states after `zero`, until velocities have settled        [s]
MIN_REST_TIME = 0.2  # at one position, for a joint to count as at rest; board clock     [s]
REST_TIMEOUT = 3.0  # for a disarmed arm to come to rest; board clock                   [s]
REST_TIMEOUT_WALL_CLOCK = 10.0  # the same by the host's clock, for a delayed emulator          [s]
ARMED_TIMEOUT = 0.1  # for telemetry to report ARMED after the answer of the board       [s]
MAX_EVENTS = 100
ZERO_EFFORT = 0.0, 0.0
HOMED = Input.SLIDE_HOMED, Input.TURN_HOMED


@dataclass(frozen=True)
class BridgeSettings(Settings):
    """Settings of the bridge between arm commands and the bench."""

    serial_port: str = setting(
        'emulator',
        'device, symlink or socket://host:port of the board; emulator: an emulated '
        'bench in the same process',
    )
    emulator_faults: tuple = setting((), 'faults of the emulator, NAME=VALUE@SECONDS', of=str)
    calibration_file: str = setting(
        '', 'YAML file of flexsim rig calibrate; empty: values of the data sheets'
    )
    board_parameters: tuple = setting(
        (), 'parameters of the board, NAME=VALUE, sent after each boot', of=str
    )
    zero_pose: tuple = setting(
        (0.15, 0.0), 'positions of slide and turn when zero is called', 'm, rad'
    )
    setpoint_rate: float = setting(200.0, 'rate of the set points while armed', 'Hz', above=0.0)
    command_timeout: float = setting(
        0.5, 'age above which the commanded effort of a joint is set to zero', 's', above=0.0
    )
    enable_effort: float = setting(
        0.25,
        'largest commanded effort for which enable is accepted, relative to the effort limit',
        above=0.0,
    )
    log_file: str = setting(
        '',
        'new file for all telemetry, for flexsim rig compare; .mcap: a recording, '
        'otherwise CSV with 3 MB per minute; empty: none',
    )


class RigState(NamedTuple):
    """The bench at one moment."""

    reading: Reading
    duration: float  # since the last reading, by the clock of the board [s]
    is_first: bool  # after a gap, or just after a new origin of the counts
    position: tuple[float, float]  # of slide and turn [m, rad]
    velocity: tuple[float, float]  # [m/s, rad/s]
    effort: tuple[float, float]  # of the motors [N, N m]


class RigBridge:
    """Arm interface of one bench: commanded efforts to set points, telemetry to states."""

    def __init__(
        self,
        arm: ArmModel,
        calibration: Calibration,
        port: str,
        settings: BridgeSettings | None = None,
        link_settings: LinkSettings | None = None,
        drive_settings: DriveSettings | None = None,
        estimator_settings: EstimatorSettings | None = None,
        on_state: Callable[[RigState], object] | None = None,
    ) -> None:
        """
        Connect; the message of RigError is one line with cause and remedy.

        :param arm: ArmModel of the bench; calibration: its Calibration; port: name of the port.
        :param on_state: called with each RigState in the reader thread; must return quickly.
        """
        sensor_names(arm, calibration)
        self.arm, self.calibration = arm, calibration
        self.settings = settings or BridgeSettings()
        self.drives = Drives(arm, calibration, drive_settings)
        self.commands = CommandInbox(
            arm.joint_names, effort_limits(arm), self.settings.command_timeout
        )
        # (level, line), for the log
        self.events: deque[tuple[str, str]] = deque(maxlen=MAX_EVENTS)
        self._joints = JointTracker(calibration, estimator_settings or EstimatorSettings())
        self.readings = 0  # received so far
        self.work = Samples()  # processing time per reading           [s]
        self._on_state = on_state
        self._ticks: int | None = None  # of the last reading                   [us]
        self._next_set_point = self._last_set_point = 0.0  # board clock                   [s]
        self._board_time = 0.0  # since the first reading               [s]
        self._quiet_until = 0.0  # states before are marked as first     [s]
        self._effort = ZERO_EFFORT
        self._is_linked = False
        parameters = parameter_values(self.settings.board_parameters)
        self.link = RigLink(
            port, link_settings or LinkSettings(), self._on_reading, self._on_event
        )
        self._is_linked = True
        try:
            for parameter, value in parameters.items():
                self.link.write_parameter(parameter, value)
        except BaseException:
            self.link.close()
            raise
        self.events.extend(
            ('warning', line) for line in scale_mismatches(self.link.board, calibration.parts)
        )

    @property
    def is_moving(self) -> bool:
        """Whether the outputs of the board are on, by the newest telemetry."""
        return self.board_state in MOVING

    @property
    def board_state(self) -> State | None:
        """State of the board; None without a reading."""
        reading = self.link.reading
        return reading.message.state if reading else None

    @property
    def unhomed_joints(self) -> tuple[str, ...]:
        """Names of the joints without an origin; their soft limits are not active."""
        reading = self.link.reading
        inputs = reading.message.inputs if reading else Input(0)
        return tuple(name for name, bit in zip(self.arm.joint_names, HOMED) if not inputs & bit)

    def command(self, names: Sequence[str], efforts: Sequence[float]) -> None:
        """Accept efforts by joint name [N, N m]; CommandError if invalid."""
        self.commands.offer(names, efforts, time.monotonic())

    def enable(self, is_on: bool) -> str:
        """Arm or disarm; return a line with the new state. RigError if refused."""
        if not is_on:
            self.link.disarm()
            return 'disarmed: the motors are off'
        self._check_commanded_efforts()
        self._take_limits()
        self.commands.forget()
        self.link.arm()
        # wait until telemetry reports ARMED, before a client sends a target
        end = time.monotonic() + ARMED_TIMEOUT
        while self.board_state != State.ARMED and time.monotonic() < end:
            time.sleep(1e-3)
        unhomed_joints = self.unhomed_joints
        if unhomed_joints:
            return (
                f'armed: commands move the motors. Not homed: {" and ".join(unhomed_joints)}, so '
                'that positions count from where the board booted. Disarm and call zero'
            )
        return 'armed: commands move the motors'

    def _take_limits(self):
        self.drives.set_board_limits(*board_limits(self.link.read_parameter))

    def zero(self) -> str:
        """
        Declare the present pose the zero pose, which makes the joints homed.

        Waits until the joints are at rest; CommandError if they keep moving.
        """
        self._wait_until_at_rest()
        encoders = self.calibration.slide, self.calibration.turn
        self._quiet_until = math.inf  # telemetry may overtake the answer
        try:
            for joint, encoder, place in zip(Joint, encoders, self.settings.zero_pose):
                self.link.zero(joint, round(place * encoder.scale + encoder.zero))
        finally:
            self._quiet_until = self._board_time + ORIGIN_PAUSE
        slide, turn = self.settings.zero_pose
        return f'the joints stand at {slide:g} m and {turn:g} rad'

    def _wait_until_at_rest(self):
        """Wait until a disarmed arm has stopped swinging."""
        until, end = self._board_time + REST_TIMEOUT, time.monotonic() + REST_TIMEOUT_WALL_CLOCK
        while self.board_state == State.DISARMED and self.link.state in (
            LinkState.READY,
            LinkState.STALE,
        ):
            moving = self._moving_joints()
            if not moving:
                return
            if self._board_time > until or time.monotonic() > end:
                raise CommandError(
                    f'"{moving[0]}" does not come to rest, according to '
                    'telemetry. Wait until it stands, then call zero'
                )
            time.sleep(5e-3)

    def _moving_joints(self):
        return [
            name
            for name, rest_duration in zip(self.arm.joint_names, self._joints.rest_durations)
            if rest_duration < MIN_REST_TIME
        ]

    def clear(self) -> str:
        """Clear the latched faults whose cause is gone; the board stays disarmed."""
        if self.link.state == LinkState.DISPLACED:
            self.link.reconnect()
            return 'the board is ours again, and disarmed'
        self.link.clear()
        return 'no fault is latched; enable to arm'

    def plan_profile(
        self, times: ArrayLike, efforts: ArrayLike
    ) -> tuple[list[Segment], tuple[int, int]]:
        """
        Segments of efforts as in `segments_of`, and how many exceed the limits of slide and turn.

        The segments are clipped to the limits of the board.
        """
        self._take_limits()
        drives = copy(self.drives)  # the reader thread changes the counters, too
        drives.clipped, drives.limited = [0, 0], [False, False]
        segments = segments_of(drives, times, efforts)
        for joint, count in enumerate(drives.clipped):
            self.drives.clipped[joint] += count
        return segments, (drives.clipped[0], drives.clipped[1])

    def load_profile(self, segments: Iterable[Segment]) -> int:
        """Send a profile to the board; return its CRC."""
        return self.link.load_profile(segments)

    def start_profile(self, crc: int) -> str:
        """Start the profile on the board; the bridge feeds the watchdog meanwhile."""
        moving = self._moving_joints()
        self.link.start_profile(crc)
        warning = (
            f', made for joints at rest, while {" and ".join(moving)} moved' if moving else ''
        )
        return f'the board plays the profile{warning}'

    def close(self) -> None:
        """Disarm and close the port; may be called twice."""
        self.link.close()

    def _check_commanded_efforts(self):
        """Raise CommandError if the commanded efforts would throw the arm when armed."""
        efforts = self.commands.efforts(time.monotonic())
        for name, effort, limit in zip(self.arm.joint_names, efforts, effort_limits(self.arm)):
            if abs(effort) > self.settings.enable_effort * limit:
                raise CommandError(
                    f'"{name}" is commanded {effort:.3g} [N, N m] while it stands. '
                    'Let the controller hold it where it is, then enable'
                )

    def _on_reading(self, reading):
        started, message = time.monotonic(), reading.message
        duration = 0.0 if self._ticks is None else elapsed(message.time, self._ticks) * 1e-6
        self._ticks = message.time
        self.readings += 1
        self._board_time += duration
        self._joints.take(message, duration)
        self._drive(message)
        if self._on_state is not None:
            is_first = self._joints.has_restarted or self._board_time < self._quiet_until
            self._on_state(
                RigState(
                    reading,
                    duration,
                    is_first,
                    self._joints.position,
                    self._joints.velocity,
                    self._effort,
                )
            )
        self.work.add(time.monotonic() - started)

    def _drive(self, message):
        """Send a set point if one is due, and update the efforts of the motors."""
        if not self._is_linked or message.state == State.ARMED and not self._is_due():
            return
        velocity = self._joints.velocity
        if message.state == State.ARMED:
            command = self.drives.set_point(
                self.commands.efforts(time.monotonic()),
                velocity,
                message.step_rate,
                self._board_time - self._last_set_point,
            )
            self._last_set_point = self._board_time
            self.link.drive(command.duty, command.step_rate)
            self._effort = command.effort
            return
        self.drives.reset()
        self._effort = ZERO_EFFORT
        self._last_set_point = self._board_time
        if message.state in MOVING:
            self._effort = self.drives.force(message.duty, velocity[SLIDE]), 0.0
            if self._is_due():
                self.link.alive()

    def _is_due(self):
        if self._board_time < self._next_set_point:
            return False
        self._next_set_point = (
            max(self._next_set_point, self._board_time - 0.02) + 1.0 / self.settings.setpoint_rate
        )
        return True

    def _on_event(self, event):
        if event.kind == EventKind.FAULT:
            self.events.append(
                ('error', f'the board stopped. {describe_faults(Fault(event.detail))}')
            )
        elif event.kind == EventKind.STATE:
            self.events.append(('info', f'the board is {state_name(event.state)}'))
        elif event.kind == EventKind.BOOT:
            cause = name_of(ResetCause, event.detail)
            self.events.append(
                ('warning', f'the board has booted, by {cause}: it is disarmed and not homed')
            )
        elif event.kind == EventKind.PROFILE_DONE:
            self.events.append(('info', f'the profile is done, {event.detail} segments'))
        elif event.kind == EventKind.HOMING_LOST:
            self.events.append(('error', f'{name_of(Joint, event.detail)} has lost its origin'))


def calibration_of(settings: BridgeSettings, arm: ArmModel) -> Calibration:
    """Return the Calibration of BridgeSettings: from its file, or from data sheets."""
    if settings.calibration_file:
        return read_calibration(settings.calibration_file)
    lengths = {
        f'{link}/{sensor.name}': sensor.end - sensor.start
        for link in arm.segments
        for sensor in arm.description.beam(link).sensors
    }
    return nominal(BenchParts(), lengths)


def parameter_values(words: Iterable[str]) -> dict[Parameter, int]:
    """Return {Parameter: value} of words NAME=VALUE; SettingError for an invalid one."""
    values = {}
    for word in words:
        name, _, text = word.partition('=')
        if name not in Parameter.__members__:
            raise SettingError(
                f'board_parameters: no parameter "{name}". Known: '
                f'{", ".join(Parameter.__members__)}'
            )
        parameter = Parameter[name]
        about = PARAMETERS[parameter]
        try:
            values[parameter] = value = int(text)
        except ValueError as error:
            raise SettingError(
                f'board_parameters: "{word}" is not NAME=VALUE with a whole number'
            ) from error
        if not about.least <= value <= about.most:
            raise SettingError(
                f'board_parameters: {word} must be {about.least} to {about.most}: '
                f'{about.meaning}{about.unit and f" [{about.unit}]"}'
            )
    return values


def scale_mismatches(board: HelloAck, parts: BenchParts) -> list[str]:
    """
    Return a line for each scale in which the board and the parts of a calibration differ.

    :param board: HelloAck; parts: BenchParts.
    """
    scales = (
        ('encoder counts', board.counts_per_turn, parts.encoder_counts),
        ('steps', board.steps_per_turn, parts.steps_per_turn),
    )
    return [
        f'the board has {board_value} {name} in a turn, and the calibration '
        f'{calibration_value}: one of them is of another bench'
        for name, board_value, calibration_value in scales
        if board_value != calibration_value
    ]

"""Command handling of the board: sessions, repetitions, refusals."""

from flex_robot_sim.rig.board.board_sensors import DUTY_ONE, LOWER, REVERSED
from flex_robot_sim.rig.board.board_state import BoardState
from flex_robot_sim.rig.wire import protocol as wire
from flex_robot_sim.rig.wire.behaviour import ALIVE, ANSWERS, DRIVE, READ_ONLY_REFUSES, WRITE
from flex_robot_sim.rig.wire.board_parameters import PARAMETERS, Parameter
from flex_robot_sim.rig.wire.frames import ReceivedFrame
from flex_robot_sim.rig.wire.ticks import WRAP
from flex_robot_sim.rig.wire.vocabulary import CONSTANTS, CONTROL_RATE, VALIDITY_MAX

PROFILE_CAPACITY = CONSTANTS['PROFILE_CAPACITY'][0]
SEGMENTS_PER_CHUNK = CONSTANTS['SEGMENTS_PER_CHUNK'][0]
SEGMENT_TIMES = CONSTANTS['SEGMENT_MIN_US'][0], CONSTANTS['SEGMENT_MAX_US'][0]


class Commands:
    """Handles frames of the host: present session, last command, answers."""

    def __init__(self, board: BoardState) -> None:
        self._board = board
        self.refused, self.last_refusal = 0, wire.Result.ACCEPTED
        self.setpoint_sequence = None  # of the last accepted set point
        self._nonce = None
        self._read_only = False
        # id, sequence number, result and value of the last command
        self._last: tuple[int, int, wire.Result, int] | None = None
        self._handlers = {
            wire.Arm: self._arm,
            wire.Disarm: self._disarm,
            wire.Clear: self._clear,
            wire.Home: self._home,
            wire.Zero: self._zero,
            wire.Param: self._param,
            wire.ProfileLoad: self._load,
            wire.ProfileStart: self._play,
            wire.Stream: self._stream,
        }

    @property
    def session(self) -> int:
        """Number of the present session, 0: none."""
        return self._board.outbox.session

    def handle(self, frame: ReceivedFrame) -> None:
        """Execute the command of a frame, and answer it."""
        message = frame.message
        if isinstance(message, wire.Hello):
            self._hello(message)
        elif isinstance(message, wire.Estop):
            self._board.latch(wire.Fault.ESTOP_COMMAND)
            self._answer(frame, wire.Result.ACCEPTED, 0)
        elif isinstance(message, wire.Setpoint):
            self._take_setpoint(frame)
        elif isinstance(message, wire.Time):
            if self._is_ours(frame):
                now = self._board.now % WRAP
                self._board.outbox.put(wire.TimeReply(message.token, now, now))
        elif isinstance(message, wire.EventAck):
            if self._is_ours(frame):
                self._board.outbox.acknowledge_event(message.number)
        else:
            self._command(frame)

    def _is_ours(self, frame):
        return frame.session == self.session != wire.NO_SESSION

    def _hello(self, hello):
        board = self._board
        if self.session == wire.NO_SESSION or hello.nonce != self._nonce:
            session = 1 + (
                board.identity.boot_id % 255
                if self.session == wire.NO_SESSION
                else self.session % 255
            )
            board.outbox.session, self._nonce = session, hello.nonce
            self._read_only = (hello.major, hello.schema_crc) != (wire.MAJOR, wire.SCHEMA_CRC)
            self._last = self.setpoint_sequence = None
            board.start_session()
            if board.is_moving:
                board.change_state(wire.State.DISARMED)
            board.report_event(wire.EventKind.SESSION, session)
        board.outbox.put(board.identity._replace(nonce=hello.nonce))

    def _command(self, frame):
        message, sequence = frame.message, frame.sequence
        if not self._is_ours(frame):
            self._answer(frame, wire.Result.WRONG_SESSION, 0)
            return
        if self._last is not None:
            number, last_sequence, result, value = self._last
            if (number, last_sequence) == (message.ID, sequence):
                self._answer(frame, result, value)
                return
            if not _is_newer(sequence, last_sequence):
                self._answer(frame, wire.Result.OLD, 0)
                return
        variant = WRITE if getattr(message, 'access', None) == wire.Access.WRITE else ''
        if isinstance(message, wire.Param):
            variant = variant or 'read'
        result = self._refusal(type(message), variant)
        value = 0
        if result is None:
            result, value = self._handlers[type(message)](message)
        self._last = message.ID, sequence, result, value
        self._answer(frame, result, value)

    def _refusal(self, kind, variant):
        """Return the refusal by session or state, or None."""
        if self._read_only and (kind, variant) in READ_ONLY_REFUSES:
            return wire.Result.READ_ONLY
        answer = ANSWERS[kind, variant][self._board.state]
        return None if answer.result == wire.Result.ACCEPTED else answer.result

    def _answer(self, frame, result, value):
        board = self._board
        board.outbox.put(
            wire.Ack(frame.message.ID, result, frame.sequence, board.state, board.faults, value)
        )

    def _take_setpoint(self, frame):
        setpoint, result = frame.message, None
        if not self._is_ours(frame):
            result = wire.Result.WRONG_SESSION
        elif self.setpoint_sequence is not None and not _is_newer(
            frame.sequence, self.setpoint_sequence
        ):
            result = wire.Result.OLD
        else:
            variant = DRIVE if setpoint.mode == wire.Mode.DRIVE else ALIVE
            result = self._refusal(wire.Setpoint, variant)
            if result is None and self._invalid_field(setpoint) is not None:
                result = wire.Result.OUT_OF_RANGE
        if result is not None:
            self.refused += 1
            self.last_refusal = result
            return
        self.setpoint_sequence = frame.sequence
        if setpoint.mode == wire.Mode.DRIVE:
            self._board.drive(setpoint)
        else:
            self._board.keep_alive()

    def _invalid_field(self, setpoint):
        """Index of the first field out of range, or None."""
        if setpoint.mode not in tuple(wire.Mode):
            return 0
        if setpoint.mode == wire.Mode.DRIVE:
            if not self._is_within_limits(setpoint.duty, 0.0):
                return 1
            if not self._is_within_limits(0.0, setpoint.step_rate):
                return 2
        return None if 1 <= setpoint.validity <= VALIDITY_MAX else 3

    def _is_within_limits(self, duty, step_rate):
        parameters = self._board.parameters
        return (
            abs(round(duty * DUTY_ONE)) <= parameters[Parameter.DUTY_MAX]
            and abs(step_rate) <= parameters[Parameter.STEP_RATE_MAX]
        )

    def _arm(self, _):
        self._board.arm()
        return wire.Result.ACCEPTED, 0

    def _disarm(self, _):
        if self._board.is_moving:
            self._board.change_state(wire.State.DISARMED)
        return wire.Result.ACCEPTED, 0

    def _clear(self, _):
        board, persistent = self._board, wire.Fault(0)
        if board.state != wire.State.FAULT:
            return wire.Result.ACCEPTED, 0
        persistent = board.persistent_faults()
        board.faults = persistent
        if persistent:
            return wire.Result.CAUSE_PERSISTS, 0
        board.change_state(wire.State.DISARMED)
        return wire.Result.ACCEPTED, 0

    def _home(self, message):
        fitted = self._board.parameters[Parameter.SWITCHES_FITTED]
        if message.joint not in tuple(wire.Joint) or not LOWER[message.joint] & fitted:
            return wire.Result.OUT_OF_RANGE, 0
        self._board.home(wire.Joint(message.joint))
        return wire.Result.ACCEPTED, 0

    def _zero(self, message):
        if message.joint not in tuple(wire.Joint):
            return wire.Result.OUT_OF_RANGE, 0
        self._board.set_origin(wire.Joint(message.joint), message.counts)
        self._board.report_event(wire.EventKind.HOMED, int(message.joint))
        return wire.Result.ACCEPTED, 0

    def _param(self, message):
        board = self._board
        if message.access not in tuple(wire.Access):
            return wire.Result.OUT_OF_RANGE, 0
        if message.parameter not in PARAMETERS:
            return wire.Result.OUT_OF_RANGE, 1
        if message.access == wire.Access.WRITE:
            text = PARAMETERS[message.parameter]
            if not text.least <= message.value <= text.most:
                return wire.Result.OUT_OF_RANGE, 2
            before = board.parameters[message.parameter]
            board.parameters[message.parameter] = message.value
            board.profile.clear()
            if message.parameter in REVERSED and message.value != before:
                # counts run the other way
                board.lose_homing(wire.Joint(REVERSED.index(message.parameter)))
        return wire.Result.ACCEPTED, board.parameters[message.parameter]

    def _load(self, message):
        profile = self._board.profile
        rows = message.segments[: max(0, min(SEGMENTS_PER_CHUNK, message.total - message.first))]
        invalid_field = None
        if message.first >= message.total:
            invalid_field = 0
        elif not 1 <= message.total <= PROFILE_CAPACITY:
            invalid_field = 1
        elif not all(
            SEGMENT_TIMES[0] <= row.duration <= SEGMENT_TIMES[1]
            and self._is_within_limits(row.duty, row.step_rate)
            for row in rows
        ):
            invalid_field = 3
        if invalid_field is not None:
            profile.clear()
            return wire.Result.OUT_OF_RANGE, invalid_field
        if not profile.load(message, rows):
            return wire.Result.BAD_PROFILE, 0
        return wire.Result.ACCEPTED, profile.segment_count

    def _play(self, message):
        board = self._board
        if board.profile.crc != message.crc or board.profile.crc is None:
            return wire.Result.NO_PROFILE, 0
        if not board.is_homed:
            return wire.Result.NOT_HOMED, 0
        board.play()
        return wire.Result.ACCEPTED, 0

    def _stream(self, message):
        if message.rate and CONTROL_RATE % message.rate:
            return wire.Result.OUT_OF_RANGE, 0
        self._board.stream(message.rate)
        return wire.Result.ACCEPTED, message.rate


def _is_newer(sequence, last):
    return 0 < (sequence - last) % 65536 < 32768

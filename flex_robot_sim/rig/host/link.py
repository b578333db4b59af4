"""
Host side of the link: connect, send commands and set points, read the newest telemetry.

    with RigLink('/dev/serial/by-id/usb-...') as link:
        link.arm()
        link.drive(duty=0.2, step_rate=0.0)
        link.reading.message.slide_counts

The link never arms the board by itself, and sends no set points unless it is READY.
"""

import logging
import threading
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import NamedTuple

from flex_robot_sim.rig.errors import RigError
from flex_robot_sim.rig.host.command_channel import CommandChannel
from flex_robot_sim.rig.host.link_session import LinkSession, LinkState, Reading
from flex_robot_sim.rig.host.serial_port import Port, PortCounts
from flex_robot_sim.rig.wire import protocol as wire
from flex_robot_sim.rig.wire.binary_layout import Message
from flex_robot_sim.rig.wire.board_parameters import Parameter
from flex_robot_sim.rig.wire.frames import ReaderCounts, encode
from flex_robot_sim.rig.wire.line import BAUD
from flex_robot_sim.rig.wire.profile import chunks, profile_crc
from flex_robot_sim.rig.wire.vocabulary import CONTROL_RATE, VALIDITY_MAX, Access, Joint, Mode
from flex_robot_sim.util.exceptions import SettingError
from flex_robot_sim.util.settings import Settings, setting

BACKWARDS_CLOCK = (
    'connected, but the clock of the board runs backwards: its telemetry is not '
    'used. Reset the board'
)
HOUSEKEEPING_PERIOD = 0.02  # [s]
ESTOP_PAUSE = 0.003  # between the three ESTOPs, longer than most bursts of noise      [s]

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class LinkSettings(Settings):
    """Settings of the link between host and board."""

    baud: int = setting(BAUD, 'baud rate of the port', 'baud', above=0)
    telemetry_rate: int = setting(500, 'rate of TELEMETRY; 0: none', 'Hz', at_least=0)
    stale_after: float = setting(
        0.1, 'time without telemetry after which the link is stale', 's', above=0.0
    )
    validity: int = setting(50, 'validity of a set point', 'ms', above=0)
    hello_timeout: float = setting(2.0, 'timeout of the first answer of the board', 's', above=0.0)
    ack_timeout: float = setting(
        0.05, 'time without answer after which a command is repeated', 's', above=0.0
    )
    repetitions: int = setting(
        5, 'maximum number of repetitions of a command without answer', at_least=0
    )
    time_rate: float = setting(8.0, 'rate of the clock comparison', 'Hz', above=0.0)

    def __post_init__(self):
        super().__post_init__()
        if self.telemetry_rate and CONTROL_RATE % self.telemetry_rate:
            raise SettingError(
                f'telemetry_rate = {self.telemetry_rate!r} must divide '
                f'{CONTROL_RATE}: of TELEMETRY [Hz]'
            )
        if self.validity > VALIDITY_MAX:
            raise SettingError(
                f'validity = {self.validity!r} must be <= {VALIDITY_MAX}: of a set point [ms]'
            )


class LinkStatus(NamedTuple):
    """The link at one moment, for diagnostics."""

    state: LinkState
    condition: str  # the state as a sentence, with its cause if known
    board: wire.HelloAck | None
    session: int
    reading: Reading | None  # newest
    health: wire.Health | None  # newest
    port: PortCounts
    frames: ReaderCounts
    gaps: int  # lost frames of the board
    backward_stamps: int  # telemetry whose stamp did not advance
    repeated: int  # commands that were sent again
    setpoints: int  # sent
    boots: int  # boots of the board since the link was opened
    round_trip: float | None  # shortest in the window of the clock fit [s]
    clock_offset: float | None  # host minus board [s]
    clock_drift: float  # of the board's crystal [-]
    clock_spread: float | None  # of the best exchanges [s]


class RigLink:
    """Connection to one board on one port."""

    def __init__(
        self,
        name: str,
        settings: LinkSettings | None = None,
        on_reading: Callable[[Reading], object] | None = None,
        on_event: Callable[[wire.Event], object] | None = None,
    ) -> None:
        """
        Open the port and send HELLO; the message of RigError is one line with cause and remedy.

        :param name: of the port, see `Port`.
        :param on_reading: called with each Reading in the reader thread; must return quickly and
            send no commands.
        :param on_event: called once with each Event, under the same conditions.
        """
        self.name, self.settings = name, settings or LinkSettings()
        # written parameters, restored after each boot
        self._parameters: dict[Parameter, int] = {}
        self._boots_set_up = 0
        self._set_point_lock, self._setpoints = threading.Lock(), 0
        self._set_up_error = ''  # why the settings were not sent
        self._was_displaced = False  # when the port was lost
        self._commands = CommandChannel(
            self._send, self.settings.ack_timeout, self.settings.repetitions
        )
        self._session = LinkSession(self._send, self._commands.take, on_reading, on_event)
        self._closing = threading.Event()
        self._port = Port(name, self._on_bytes, self._on_open, self._on_lost, self.settings.baud)
        self._housekeeper = threading.Thread(
            target=self._do_housekeeping, name=f'rig link {name}', daemon=True
        )
        try:
            self._session.greet(time.monotonic())
            self._port.start()
            self._housekeeper.start()
            self._await_board()
        except BaseException:
            self.close()
            raise

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    @property
    def state(self) -> LinkState:
        """State of the link; STALE without recent telemetry."""
        phase, reading = self._session.phase, self._session.reading
        if (
            phase == LinkState.READY
            and self.settings.telemetry_rate
            and (reading is None or reading.age > self.settings.stale_after)
        ):
            return LinkState.STALE
        return phase

    @property
    def condition(self) -> str:
        """The state as a sentence, with its cause if known."""
        state = self.state
        if state == LinkState.STALE and self._session.stamps.is_behind:
            return BACKWARDS_CLOCK
        return state.value

    @property
    def board(self) -> wire.HelloAck:
        """Identity of the board: HelloAck."""
        board = self._session.board
        assert board is not None  # the constructor has received it
        return board

    @property
    def reading(self) -> Reading | None:
        """The newest telemetry: Reading, or None."""
        return self._session.reading

    @property
    def events(self) -> list[wire.Event]:
        """The last events, oldest first."""
        with self._session.changed:
            return list(self._session.events)

    def status(self) -> LinkStatus:
        """Everything about the link at this moment."""
        session, clock = self._session, self._session.clock
        return LinkStatus(
            self.state,
            self.condition,
            session.board,
            session.number,
            session.reading,
            session.health,
            self._port.counts,
            replace(session.frames.counts),
            session.gaps,
            session.stamps.count,
            self._commands.repeated,
            self._setpoints,
            session.boots,
            clock.round_trip,
            clock.offset if clock.is_known else None,
            clock.drift,
            clock.spread,
        )

    def drive(self, duty: float, step_rate: float, validity: int | None = None) -> bool:
        """
        Send a set point; return whether it was sent: only if the link is READY.

        :param duty: of the DC motor, -1 to 1; step_rate: of the stepper [steps/s].
        :param validity: [ms], default as in the settings.
        """
        return self._set_point(
            wire.Setpoint(
                Mode.DRIVE,
                duty,
                step_rate,
                self.settings.validity if validity is None else validity,
            )
        )

    def alive(self) -> bool:
        """Feed the watchdog: in ARMED the arm stands, homing and profiles continue."""
        return self._set_point(wire.Setpoint(Mode.ALIVE, 0.0, 0.0, self.settings.validity))

    def command(self, message: Message) -> wire.Ack:
        """Send a command and return its answer ACCEPTED; CommandRefused or RigError otherwise."""
        if threading.current_thread() is self._port.thread:
            raise RuntimeError('no commands in callbacks: their answer comes by the same thread')
        if self._session.phase not in (LinkState.READY, LinkState.READ_ONLY):
            raise RigError(f'{self.name}: {self._session.phase.value}.')
        return self._commands.call(message)

    def arm(self) -> wire.Ack:
        """Switch the outputs on; the first set point is due within 100 ms."""
        return self.command(wire.Arm())

    def disarm(self) -> wire.Ack:
        """Switch the outputs off."""
        return self.command(wire.Disarm())

    def clear(self) -> wire.Ack:
        """Clear the latched faults whose cause is gone."""
        return self.command(wire.Clear())

    def estop(self) -> bool:
        """Send ESTOP three times, without waiting for answers; return whether one was sent."""
        is_sent = False
        for _ in range(3):
            is_sent |= self._send(wire.Estop())
            time.sleep(ESTOP_PAUSE)
        return is_sent

    def zero(self, joint: Joint, counts: int = 0) -> wire.Ack:
        """Set the encoder count of a joint at its present position."""
        return self.command(wire.Zero(joint, counts))

    def load_profile(self, segments: Iterable[wire.Segment]) -> int:
        """Send a profile, a list of Segment; return its CRC, which `start_profile` takes."""
        for chunk in chunks(segments):
            self.command(chunk)
        return profile_crc(segments)

    def start_profile(self, crc: int) -> wire.Ack:
        """Start the profile; call `alive` in time until the event PROFILE_DONE."""
        return self.command(wire.ProfileStart(crc))

    def read_parameter(self, parameter: Parameter) -> int:
        """Return the present value, in the unit of the parameter."""
        return self.command(wire.Param(Access.READ, parameter, 0)).value

    def write_parameter(self, parameter: Parameter, value: int) -> None:
        """Set a parameter, now and after each boot of the board."""
        self.command(wire.Param(Access.WRITE, parameter, value))
        self._parameters[parameter] = value

    def wait_until(self, condition: Callable[[], object], timeout: float) -> bool:
        """Wait until `condition()` holds, checked after each input; return whether it holds."""
        with self._session.changed:
            return bool(self._session.changed.wait_for(condition, timeout))

    def reconnect(self) -> None:
        """Start a new session, for example to take the board back from another host."""
        self._session.greet(time.monotonic())
        self._await_board()

    def close(self) -> None:
        """Disarm and close the port; may be called twice."""
        if self._session.phase == LinkState.CLOSED:
            return
        if self._session.phase == LinkState.READY:
            try:
                self.disarm()
            except RigError as error:
                log.warning('not disarmed at the end, the watchdog does it: %s', error)
        self._session.end_session(LinkState.CLOSED)
        self._commands.abort('the link is closed')
        self._closing.set()
        if self._housekeeper.is_alive():
            self._housekeeper.join()
        self._port.close()

    def _send(self, message, sequence=0):
        return self._port.write(encode(message, self._session.number, sequence))

    def _set_point(self, message):
        with self._set_point_lock:
            data = encode(message, self._session.number, (self._setpoints + 1) % 65536)
            if self.state != LinkState.READY or not self._port.write(data):
                return False
            self._setpoints += 1
            return True

    def _on_bytes(self, data):
        session = self._session.number
        self._session.take(data, time.monotonic())
        if session != self._session.number:
            self._commands.abort('the session has changed')

    def _on_open(self):
        if self._was_displaced:  # `reconnect` takes the board back
            self._session.end_session(LinkState.DISPLACED)
        else:
            self._session.greet(time.monotonic())

    def _on_lost(self):
        self._was_displaced = self._session.phase == LinkState.DISPLACED
        self._session.end_session(LinkState.NO_PORT)
        self._commands.abort('the port is gone')

    def _do_housekeeping(self):
        while not self._closing.wait(HOUSEKEEPING_PERIOD):
            self._session.do_housekeeping(time.monotonic(), 1.0 / self.settings.time_rate)
            if self._session.is_set_up_due:
                try:
                    self._set_up()
                    self._set_up_error = ''
                except RigError as error:  # the next period tries again
                    self._set_up_error = f' {error}'

    def _set_up(self):
        """Restore parameters and stream of the board, then mark the link as ready."""
        session, boots = self._session.number, self._session.boots
        stream = wire.Stream(self.settings.telemetry_rate)
        if not self._session.is_same_version:
            self._session.open(session)
            with suppress(RigError):  # another version may not have this command
                self._commands.call(stream)
            return
        if boots != self._boots_set_up:
            for parameter, value in self._parameters.items():
                self._commands.call(wire.Param(Access.WRITE, parameter, value))
        self._commands.call(stream)
        self._boots_set_up = boots
        self._session.open(session)

    def _await_board(self):
        done = (LinkState.READY, LinkState.READ_ONLY)
        if not self.wait_until(lambda: self._session.phase in done, self.settings.hello_timeout):
            raise RigError(
                f'{self.name}: no board answers within {self.settings.hello_timeout:g} s. Look at '
                'the power of the board, the cable, and the baud rate '
                f'{self.settings.baud}.{self._set_up_error}'
            )

"""Emulated board and simulated bench in lockstep: bytes in, bytes out, by control steps."""

from pathlib import Path

from flex_robot_sim.model.assembly import load
from flex_robot_sim.rig.bench.bench import Bench, Drive
from flex_robot_sim.rig.bench.parts import BenchParts
from flex_robot_sim.rig.board.board_state import STEP_TIME
from flex_robot_sim.rig.board.emulated_board import EmulatedBoard
from flex_robot_sim.rig.wire import protocol as wire
from flex_robot_sim.rig.wire.line import SerialLine
from flex_robot_sim.rig.wire.ticks import WRAP

STEP_US = round(STEP_TIME * 1e6)
FIRMWARE = 0 << 16 | 1 << 8 | 0
UID = b'flexsim-emul'  # 12 bytes, as the number of a processor
HARDWARE_WATCHDOG = 0.05  # time-out of the reset of a hanging processor        [s]
RECEIVE_BUFFER_SIZE = 4096  # [B]


class EmulatedRig:
    """
    Emulated board and bench in lockstep.

    Bytes to the board pass a line of 921600 baud; a flood overruns its buffer.
    """

    def __init__(self, bench: Bench | None = None) -> None:
        """Power up."""
        self.bench = bench or Bench()
        self.steps = 0  # control steps since power-up
        self.silent_until = 0  # step up to which the board is stalled
        self.late = 0  # delay of the start of control steps             [us]
        self._clock, self._boot_id = 0, 1  # clock of the board at power-up [us]; of the boot
        self._line = SerialLine(RECEIVE_BUFFER_SIZE)
        self._earlier_steps = 0  # pulses of earlier boots
        self._drive = Drive()
        self._reset_step: int | None = None  # by the hardware watchdog
        self.board = self._boot(wire.ResetCause.POWER)

    @property
    def time(self) -> float:
        """Seconds since power-up."""
        return self.steps * STEP_TIME

    def step(self, data: bytes = b'') -> bytes:
        """Run one control step: take bytes from the host, return bytes to the host."""
        self.board.overruns += self._line.put(data)
        self.steps += 1
        if self.steps <= self.silent_until:
            # a halted processor keeps its pins and reads no bytes
            self.board.overruns += len(self._line.take(STEP_TIME))
            self.bench.advance(self._drive, STEP_TIME)
            if self.steps == self._reset_step:
                self.reboot(wire.ResetCause.INDEPENDENT_WATCHDOG)
            return b''
        drive = self.board.step(
            self._clock + self.steps * STEP_US,
            self.bench.read(),
            self._line.take(STEP_TIME),
            self.late,
        )
        self._drive = drive._replace(steps=self._earlier_steps + drive.steps)
        self.bench.advance(self._drive, STEP_TIME)
        return self.board.take(STEP_TIME)

    def set_clock(self, clock: int) -> None:
        """Set the clock of the board to `clock` [us]; a reboot must follow."""
        self._clock = clock - self.steps * STEP_US

    def reboot(self, cause: wire.ResetCause = wire.ResetCause.PIN) -> None:
        """Reset the board; the bench keeps its state."""
        self._earlier_steps += self.board.steps
        self._boot_id = (self._boot_id + 1) % (1 << 32)
        self._line.clear()
        self.board = self._boot(cause)

    def close(self) -> None:
        """Do nothing: no resources are open."""

    def stall(self, seconds: float) -> None:
        """Halt the processor for `seconds`, as a debugger does; its outputs keep their values."""
        self.silent_until = self.steps + round(seconds / STEP_TIME)

    def hang(self) -> None:
        """Hang the firmware until the hardware watchdog resets the processor."""
        self.stall(HARDWARE_WATCHDOG)
        self._reset_step = self.silent_until

    def _boot(self, cause):
        parts = self.bench.parts
        return EmulatedBoard(
            wire.HelloAck(
                wire.MAJOR,
                wire.MINOR,
                wire.SCHEMA_CRC,
                0,
                self._boot_id,
                UID,
                FIRMWARE,
                wire.BackEnd.PYTHON,
                cause,
                parts.encoder_counts,
                parts.steps_per_turn,
                round(1 / STEP_TIME),
            )
        )


def rig_of(
    robot: str | Path = 'rig', seed: int = 0, parts: BenchParts | None = None
) -> EmulatedRig:
    """Return an EmulatedRig with this robot on the bench, and noise of this seed."""
    return EmulatedRig(Bench(load(robot), parts, seed))


def near_wrap(seconds: float) -> int:
    """Clock at power-up [us] with which it wraps after `seconds`."""
    return WRAP - round(seconds * 1e6)

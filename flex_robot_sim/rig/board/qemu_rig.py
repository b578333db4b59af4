"""Firmware in QEMU on the simulated bench, one control step at a time."""

from pathlib import Path

from flex_robot_sim.rig.bench.bench import Bench, Drive
from flex_robot_sim.rig.board.board_sensors import LOWER, UPPER
from flex_robot_sim.rig.board.board_state import STEP_TIME
from flex_robot_sim.rig.board.emulated_rig import RECEIVE_BUFFER_SIZE, STEP_US
from flex_robot_sim.rig.board.qemu import QemuMachine, World
from flex_robot_sim.rig.wire.line import SerialLine
from flex_robot_sim.rig.wire.protocol import Input, ResetCause
from flex_robot_sim.rig.wire.vocabulary import DUTY_ONE


class QemuRig:
    """Same interface as EmulatedRig, with the real firmware instead of the board in Python."""

    def __init__(self, bench: Bench | None = None, image: str | Path | None = None) -> None:
        """Power up; `image` is an ELF file of the firmware, built if it is not given."""
        self.bench = bench or Bench()
        self.steps = 0  # control steps since power-up
        self._clock, self._boot_id = 0, 1
        self._line = SerialLine(RECEIVE_BUFFER_SIZE)
        self._earlier_steps = 0  # pulses of earlier boots
        self._machine = QemuMachine(image, world=self._world())

    def step(self, data: bytes = b'') -> bytes:
        """Run one control step: take bytes from the host, return bytes to the host."""
        self._line.put(data)
        self.steps += 1
        out = self._machine.step(
            self._world(), self._clock + self.steps * STEP_US, self._line.take(STEP_TIME)
        )
        duty, rate, steps, bridge, stepper = self._machine.outputs
        self.bench.advance(
            Drive(duty / DUTY_ONE, bridge, self._earlier_steps + steps, rate / 1000, stepper),
            STEP_TIME,
        )
        return out

    def set_clock(self, clock: int) -> None:
        """Set the clock of the board to `clock` [us]; a reboot must follow."""
        self._clock = clock - self.steps * STEP_US

    def reboot(self, cause: ResetCause = ResetCause.PIN) -> None:
        """Reset the board; the bench keeps its state."""
        self._earlier_steps += self._machine.outputs.steps
        self._boot_id = (self._boot_id + 1) % (1 << 32)
        self._line.clear()
        self._machine.reboot(self._clock + self.steps * STEP_US, self._boot_id, cause)

    def close(self) -> None:
        """End QEMU."""
        self._machine.close()

    def _world(self):
        pins = self.bench.read()
        inputs = int(Input.STOP_BUTTON) * pins.stop_button
        for bits, closed in ((LOWER, pins.lower_switches), (UPPER, pins.upper_switches)):
            inputs += sum(bit for bit, is_closed in zip(bits, closed) if is_closed)
        return World(pins.encoders, pins.adc, pins.current, inputs)

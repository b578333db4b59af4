"""
Emulated board in Python: the rules of `docs/rig_protocol.md`, step by step, without I/O.

Inputs are bytes, time and pins; the output is bytes. The same calls give the same bytes. The
firmware implements the same page, and the conformance suite checks both against it.
"""

from flex_robot_sim.rig.bench.bench import Drive, Pins
from flex_robot_sim.rig.board.board_state import STEP_TIME, BoardState
from flex_robot_sim.rig.board.command_handler import Commands
from flex_robot_sim.rig.wire.frames import FrameReader
from flex_robot_sim.rig.wire.protocol import EventKind, Health, HelloAck, Input, State, Telemetry
from flex_robot_sim.rig.wire.ticks import WRAP
from flex_robot_sim.rig.wire.vocabulary import CONSTANTS, CONTROL_RATE

SELF_TEST_STEPS = 20
HEALTH_STEPS = CONSTANTS['HEALTH_PERIOD_MS'][0] * CONTROL_RATE // 1000


class EmulatedBoard(BoardState):
    """One board, from its boot: its control step, and the frames that it receives and sends."""

    def __init__(self, identity: HelloAck) -> None:
        """Boot; `identity` is the content of HELLO_ACK, except the nonce."""
        super().__init__(identity)
        self.reader = FrameReader(from_board=False)
        self.commands = Commands(self)
        self.overruns = 0
        self.longest_step = 0  # [us]
        self._steps = 0  # control steps since boot
        self._steps_at_start = 0  # pulses at the start of the present control step

    def step(self, now: int, pins: Pins, data: bytes = b'', late: int = 0) -> Drive:
        """
        Run one control step; return the outputs to the motor drivers.

        :param now: board clock without wrap [us]; pins: Pins of the bench; data: received bytes;
            late: delay of the start of the step [us].
        """
        self.now = now
        self._steps += 1
        self._steps_at_start = self.steps
        self.sensors.read(pins)
        if self.state == State.BOOT:
            self.reader.feed(data)  # frames are discarded during boot
            if self._steps >= SELF_TEST_STEPS:
                self.state = State.DISARMED
                self.report_event(EventKind.BOOT, int(self.identity.reset_cause))
            return Drive(steps=self.steps)
        self._look_for_faults(late)
        for frame in self.reader.feed(data):
            self.commands.handle(frame)
        motion_command = self._decide()
        self._set_outputs(motion_command)
        self._send()
        return Drive(self._duty, self.is_moving, self.steps, self._ramp.rate, self.is_moving)

    def take(self, duration: float = STEP_TIME) -> bytes:
        """Return the bytes that are transmitted within `duration` [s]."""
        return self.outbox.take(duration)

    def _send(self):
        if not self._has_session:
            return
        self.outbox.send_event(self.now)
        self._telemetry_phase += 1
        # not in the step that received STREAM
        if (
            self._telemetry_divisor
            and self._telemetry_phase > 0
            and (self._telemetry_phase - 1) % self._telemetry_divisor == 0
        ):
            self.outbox.put(self._telemetry())
        if self._steps % HEALTH_STEPS == 0:
            self.outbox.put(self._health())

    def _telemetry(self):
        senses = self.sensors
        (slide_counts, turn_counts), (adc_root, adc_tip) = senses.counts, senses.adc
        return Telemetry(
            self.now % WRAP,
            slide_counts,
            turn_counts,
            adc_root,
            adc_tip,
            self._duty,
            self._steps_at_start,
            self._ramp.rate,
            self.state,
            Input(self.inputs),
            self.faults,
            self.commands.setpoint_sequence or 0,
            min(max(senses.current, -32.7), 32.7),
        )

    def _health(self):
        counts, commands = self.reader.counts, self.commands
        return Health(
            self._steps * 1000 // CONTROL_RATE,
            counts.frames,
            counts.crc_errors,
            counts.length_errors,
            counts.unknown_ids,
            0,
            self.overruns,
            commands.refused,
            commands.last_refusal,
            self.late_steps,
            self.longest_step,
            self.outbox.dropped,
            self.outbox.lost_events,
        )

"""
Emulated board in Python: the rules of `docs/rig_protocol.md`, step by step, without I/O.

Inputs are bytes, time and pins; the output is bytes. The same calls give the same bytes. The
firmware implements the same page, and the conformance suite checks both against it.
"""

from typing import NamedTuple

from flex_robot_sim.rig.bench.bench import Drive, Pins
from flex_robot_sim.rig.bench.parts import SLIDE, TURN
from flex_robot_sim.rig.board.commands import Commands
from flex_robot_sim.rig.board.motion import ProfileStore, StepRamp
from flex_robot_sim.rig.board.outbox import Outbox
from flex_robot_sim.rig.board.senses import (
    ADC,
    DUTY_ONE,
    HOMED,
    LIMIT,
    LOWER,
    STOP_BUTTON_BIT,
    UPPER,
    Senses,
)
from flex_robot_sim.rig.wire import protocol as wire
from flex_robot_sim.rig.wire.frames import FrameReader
from flex_robot_sim.rig.wire.parameters import PARAMETERS, Parameter
from flex_robot_sim.rig.wire.ticks import WRAP
from flex_robot_sim.rig.wire.vocabulary import CONSTANTS, CONTROL_RATE, MOVING

STEP_TIME = 1 / CONTROL_RATE                                            # [s]
SELF_TEST_STEPS = 20
WATCHDOG = CONSTANTS['WATCHDOG_MS'][0] * 1000 - 1_000_000 // CONTROL_RATE   # [us]
LATE_LIMIT = CONSTANTS['LATE_LIMIT_US'][0]
LOADED = int(wire.Input.PROFILE_LOADED)
HEALTH_STEPS = CONSTANTS['HEALTH_PERIOD_MS'][0] * CONTROL_RATE // 1000
SOFT_LOWER = (Parameter.SLIDE_SOFT_LOWER, Parameter.TURN_SOFT_LOWER)
SOFT_UPPER = (Parameter.SLIDE_SOFT_UPPER, Parameter.TURN_SOFT_UPPER)
DEBOUNCE_TIME = 20_000      # a switch that opens sooner after closing has bounced         [us]
ALIGNMENT_TIME = 100_000    # after ARM, for the field to align the rotor                  [us]
HOME_COUNTS = (Parameter.SLIDE_HOME_COUNTS, Parameter.TURN_HOME_COUNTS)


class MotionCommand(NamedTuple):
    """Commanded motion of the motors, before limits and ramp."""

    duty: float = 0.0
    step_rate: float = 0.0          # target of the ramp                        [steps/s]


ZERO_MOTION = MotionCommand()


class EmulatedBoard:
    """One board, from its boot."""

    def __init__(self, identity: wire.HelloAck) -> None:
        """Boot; `identity` is the content of HELLO_ACK, except the nonce."""
        self.identity = identity
        self.state = wire.State.BOOT
        self.faults = wire.Fault(0)
        self.homed = 0                  # bits as in Input
        self.now = 0                    # start of the present control step, never wraps  [us]
        self.parameters = {number: text.default for number, text in PARAMETERS.items()}
        self.reader = FrameReader(from_board=False)
        self.outbox = Outbox()
        self.profile = ProfileStore()
        self.senses = Senses(self.parameters, identity.counts_per_turn, identity.steps_per_turn)
        self.commands = Commands(self)
        self.overruns = 0
        self.longest_step = 0           # [us]
        self.late_steps = 0
        self._ramp = StepRamp()
        self._duty = 0.0                # applied
        self._motion_command, self._valid_until = ZERO_MOTION, 0
        self.watchdog_fed_at = 0        # when the watchdog was fed, never wraps          [us]
        self._aligning_since: int | None = None     # rotor alignment after ARM          [us]
        self._homing: wire.Joint | None = None
        self._homing_start = 0
        self._closed_since: int | None = None       # its switch                     [us]
        self._is_leaving = False
        self._profile_start = 0
        self._steps = 0                 # control steps since boot
        self._steps_at_start = 0        # pulses at the start of the present control step
        self._is_greeted = False
        self._telemetry_divisor, self._telemetry_phase = 0, 0

    @property
    def is_moving(self) -> bool:
        """Whether the outputs are on."""
        return self.state in MOVING

    @property
    def steps(self) -> int:
        """Pulses sent since boot."""
        return self._ramp.steps

    @property
    def inputs(self) -> int:
        """Switches, button, homing and loaded profile; bits as in Input."""
        loaded = LOADED if self.profile.crc is not None else 0
        return self.senses.switches | self.homed | loaded

    @property
    def is_homed(self) -> bool:
        """Whether both joints have their origin."""
        return all(self.homed & bit for bit in HOMED)

    def persistent_faults(self) -> wire.Fault:
        """Latched faults whose cause persists in this step."""
        persistent = wire.Fault.SELF_TEST
        if self.senses.switches & STOP_BUTTON_BIT:
            persistent |= wire.Fault.ESTOP_INPUT
        for sensor, fault in enumerate(ADC):
            if self.senses.at_rail(sensor):
                persistent |= fault
        return self.faults & persistent

    def step(self, now: int, pins: Pins, data: bytes = b'', late: int = 0) -> Drive:
        """
        Run one control step; return the outputs to the motor drivers.

        :param now: board clock without wrap [us]; pins: Pins of the bench; data: received bytes;
            late: delay of the start of the step [us].
        """
        self.now = now
        self._steps += 1
        self._steps_at_start = self.steps
        self.senses.read(pins)
        if self.state == wire.State.BOOT:
            self.reader.feed(data)              # frames are discarded during boot
            if self._steps >= SELF_TEST_STEPS:
                self.state = wire.State.DISARMED
                self.report_event(wire.EventKind.BOOT, int(self.identity.reset_cause))
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

    def report_event(self, kind: wire.EventKind, detail: int) -> None:
        """Queue an event."""
        self.outbox.add_event(self.now, kind, self.state, self.faults, detail)

    def enter_state(self, state: wire.State) -> None:
        """Change the state; switch the outputs off if it requires that."""
        if self.is_moving and state not in MOVING:
            self._duty = 0.0
            self._ramp.stop()
            self.senses.forget()
        self._motion_command, self._homing = ZERO_MOTION, None
        self.state = state

    def change_state(self, state: wire.State) -> None:
        """Change the state and report an event, if the state is a new one."""
        before = self.state
        if state != before:
            self.enter_state(state)
            self.report_event(wire.EventKind.STATE, int(before))

    def latch(self, faults: wire.Fault) -> None:
        """Latch faults, which switches the outputs off."""
        fresh = faults & ~self.faults
        self.faults |= faults
        if fresh:
            self.enter_state(wire.State.FAULT)
            self.report_event(wire.EventKind.FAULT, int(fresh))

    def start_session(self) -> None:
        """Start a session with a host."""
        self._is_greeted = True
        self._telemetry_divisor = 0

    def stream(self, rate: int) -> None:
        """Send telemetry at a rate [Hz], 0: none."""
        self._telemetry_divisor = CONTROL_RATE // rate if rate else 0
        self._telemetry_phase = -1

    def arm(self) -> None:
        """Switch the outputs on, with zero motion."""
        self.feed_watchdog()
        if self.state == wire.State.DISARMED:
            self.change_state(wire.State.ARMED)
            self.senses.reset_step_comparison(self.steps)
            self._aligning_since = self.now
        self._motion_command = ZERO_MOTION

    def drive(self, setpoint: wire.Setpoint) -> None:
        """Apply an accepted set point."""
        self.feed_watchdog()
        if self.state == wire.State.ARMED:
            self._motion_command = MotionCommand(setpoint.duty, setpoint.step_rate)
            self._valid_until = self.now + setpoint.validity * 1000

    def keep_alive(self) -> None:
        """Apply an ALIVE set point: feed the watchdog and command zero motion."""
        self.feed_watchdog()
        if self.state == wire.State.ARMED:
            self._motion_command = ZERO_MOTION

    def feed_watchdog(self) -> None:
        """Restart the watchdog timer."""
        self.watchdog_fed_at = self.now

    def home(self, joint: wire.Joint) -> None:
        """Start homing: move a joint to its lower switch."""
        self.change_state(wire.State.HOMING)
        self.homed &= ~HOMED[joint]
        self._homing, self._homing_start = joint, self.now
        self._closed_since, self._is_leaving = None, False

    def set_origin(self, joint: wire.Joint, counts: int) -> None:
        """Set the count of a joint at its present position, which homes the joint."""
        self.senses.counts[joint] = counts
        self.homed |= HOMED[joint]

    def play(self) -> None:
        """Start the loaded profile."""
        self.change_state(wire.State.PROFILE)
        self._profile_start = self.now

    def lose_homing(self, joint: wire.Joint) -> None:
        """Mark a joint as not homed, and report an event."""
        if self.homed & HOMED[joint]:
            self.homed &= ~HOMED[joint]
            self.report_event(wire.EventKind.HOMING_LOST, joint)

    def _look_for_faults(self, late):
        faults = self.senses.constant_faults(self.now)
        if late > 1000:
            self.late_steps += 1
        if self.is_moving:
            faults |= self.senses.moving_faults(self.now, self.steps, self._homing)
            if late > LATE_LIMIT:
                faults |= wire.Fault.LATE
            if (self._aligning_since is not None
                    and self.now - self._aligning_since >= ALIGNMENT_TIME):
                self.senses.reset_step_comparison(self.steps)
                self._aligning_since = None
        if faults:
            self.latch(faults)
        for joint in self.senses.jumped_joints:
            self.lose_homing(joint)

    def _decide(self):
        """Return the commanded motion after watchdog, validity, homing and profile."""
        if self.is_moving and self.now - self.watchdog_fed_at >= WATCHDOG:
            self.latch(wire.Fault.WATCHDOG)
        if self.state == wire.State.HOMING:
            return self._continue_homing()
        if self.state == wire.State.PROFILE:
            segment = self.profile.at(self.now - self._profile_start)
            if segment is not None:
                return MotionCommand(segment.duty, segment.step_rate)
            self.enter_state(wire.State.ARMED)
            self.report_event(wire.EventKind.PROFILE_DONE, self.profile.segment_count)
        elif self.now >= self._valid_until:
            self._motion_command = ZERO_MOTION
        return self._motion_command

    def _continue_homing(self):
        joint = self._homing
        is_closed = bool(self.senses.switches & LOWER[joint])
        if self.now - self._homing_start > self.parameters[Parameter.HOME_TIMEOUT] * 1000:
            self.latch(wire.Fault.HOMING)
            return ZERO_MOTION
        if self._is_leaving and not is_closed:
            self.set_origin(joint, self.parameters[HOME_COUNTS[joint]])
            self.senses.reset_step_comparison(self.steps)
            self.enter_state(wire.State.ARMED)
            self.report_event(wire.EventKind.HOMED, joint)
            return ZERO_MOTION
        if not is_closed:
            self._closed_since = None
        elif self._closed_since is None:
            self._closed_since = self.now
        self._is_leaving = is_closed and self.now - self._closed_since >= DEBOUNCE_TIME
        sign = 1 if self._is_leaving else -1 + is_closed
        if joint == SLIDE:
            return MotionCommand(sign * self.parameters[Parameter.HOME_DUTY] / DUTY_ONE, 0.0)
        return MotionCommand(0.0, float(sign * self.parameters[Parameter.HOME_RATE]))

    def _set_outputs(self, motion_command):
        """Apply limits and ramp, and set the outputs."""
        if self.state == wire.State.PROFILE:
            limit_faults = wire.Fault(0)
            for joint, motion in ((SLIDE, motion_command.duty), (TURN, motion_command.step_rate)):
                if self._at_switch(joint, motion) or self._at_soft_limit(joint, motion):
                    limit_faults |= LIMIT[joint]
            if self._at_switch(TURN, self._ramp.rate):
                limit_faults |= wire.Fault.LIMIT_TURN
            if limit_faults:
                self.latch(limit_faults)
        if not self.is_moving:
            return
        duty, rate = motion_command
        if self._at_switch(SLIDE, duty) or self._at_soft_limit(SLIDE, duty):
            duty = 0.0
        if self._at_switch(TURN, rate) or self._at_soft_limit(TURN, rate):
            rate = 0.0
        if self._at_switch(TURN, self._ramp.rate):
            self._ramp.stop()
        self._duty = duty
        self._ramp.advance(rate, self.parameters[Parameter.STEP_ACCELERATION], STEP_TIME)
        self.senses.record_duty(self.now, duty)

    def _at_switch(self, joint, motion):
        towards = UPPER[joint] if motion > 0 else LOWER[joint]
        return motion != 0 and bool(self.senses.switches & towards)

    def _at_soft_limit(self, joint, motion):
        if not self.homed & HOMED[joint] or self._homing == joint or motion == 0:
            return False
        counts = self.senses.counts[joint]
        return (counts >= self.parameters[SOFT_UPPER[joint]] if motion > 0
                else counts <= self.parameters[SOFT_LOWER[joint]])

    def _send(self):
        if not self._is_greeted:
            return
        self.outbox.send_event(self.now)
        self._telemetry_phase += 1
        # not in the step that received STREAM
        if (self._telemetry_divisor and self._telemetry_phase > 0
                and (self._telemetry_phase - 1) % self._telemetry_divisor == 0):
            self.outbox.put(self._telemetry())
        if self._steps % HEALTH_STEPS == 0:
            self.outbox.put(self._health())

    def _telemetry(self):
        senses = self.senses
        return wire.Telemetry(
            self.now % WRAP, *senses.counts, *senses.adc, self._duty, self._steps_at_start,
            self._ramp.rate, self.state, self.inputs, self.faults,
            self.commands.setpoint_sequence or 0, min(max(senses.current, -32.7), 32.7))

    def _health(self):
        counts, commands = self.reader.counts, self.commands
        return wire.Health(
            self._steps * 1000 // CONTROL_RATE, counts.frames, counts.crc_errors,
            counts.length_errors, counts.unknown_ids, 0, self.overruns, commands.refused,
            commands.last_refusal, self.late_steps, self.longest_step, self.outbox.dropped,
            self.outbox.lost_events)

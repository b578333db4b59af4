"""State of the emulated board: faults, sessions, homing, set points, limits and outputs."""

from typing import NamedTuple

from flex_robot_sim.rig.bench.parts import SLIDE, TURN
from flex_robot_sim.rig.board.board_sensors import (
    ADC,
    DUTY_ONE,
    HOMED,
    LIMIT,
    LOWER,
    STOP_BUTTON_BIT,
    UPPER,
    BoardSensors,
)
from flex_robot_sim.rig.board.outbox import Outbox
from flex_robot_sim.rig.board.step_motion import ProfileStore, StepRamp
from flex_robot_sim.rig.wire.board_parameters import PARAMETERS, Parameter
from flex_robot_sim.rig.wire.protocol import EventKind, Fault, HelloAck, Input, Setpoint, State
from flex_robot_sim.rig.wire.vocabulary import CONSTANTS, CONTROL_RATE, MOVING, Joint

STEP_TIME = 1 / CONTROL_RATE  # [s]
WATCHDOG = CONSTANTS['WATCHDOG_MS'][0] * 1000 - 1_000_000 // CONTROL_RATE  # [us]
LATE_LIMIT = CONSTANTS['LATE_LIMIT_US'][0]
LOADED = int(Input.PROFILE_LOADED)
SOFT_LOWER = (Parameter.SLIDE_SOFT_LOWER, Parameter.TURN_SOFT_LOWER)
SOFT_UPPER = (Parameter.SLIDE_SOFT_UPPER, Parameter.TURN_SOFT_UPPER)
DEBOUNCE_TIME = 20_000  # a switch that opens sooner after closing has bounced         [us]
ALIGNMENT_TIME = 100_000  # after ARM, for the field to align the rotor                  [us]
HOME_COUNTS = (Parameter.SLIDE_HOME_COUNTS, Parameter.TURN_HOME_COUNTS)


class MotionCommand(NamedTuple):
    """Commanded motion of the motors, before limits and ramp."""

    duty: float = 0.0
    step_rate: float = 0.0  # target of the ramp                        [steps/s]


ZERO_MOTION = MotionCommand()


class BoardState:
    """State of a board, and what changes it in a control step."""

    def __init__(self, identity: HelloAck) -> None:
        """Boot; `identity` is the content of HELLO_ACK, except the nonce."""
        self.identity = identity
        self.state = State.BOOT
        self.faults = Fault(0)
        self.homed = 0  # bits as in Input
        self.now = 0  # start of the present control step, never wraps  [us]
        self.parameters = {number: text.default for number, text in PARAMETERS.items()}
        self.outbox = Outbox()
        self.profile = ProfileStore()
        self.sensors = BoardSensors(
            self.parameters, identity.counts_per_turn, identity.steps_per_turn
        )
        self.late_steps = 0
        self._ramp = StepRamp()
        self._duty = 0.0  # applied
        self._motion_command, self._valid_until = ZERO_MOTION, 0
        self.watchdog_fed_at = 0  # when the watchdog was fed, never wraps          [us]
        self._aligning_since: int | None = None  # rotor alignment after ARM          [us]
        self._homing: Joint | None = None
        self._homing_start = 0
        self._closed_since: int | None = None  # its switch                     [us]
        self._is_leaving = False
        self._profile_start = 0
        self._has_session = False
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
        return self.sensors.switches | self.homed | loaded

    @property
    def is_homed(self) -> bool:
        """Whether both joints have their origin."""
        return all(self.homed & bit for bit in HOMED)

    def persistent_faults(self) -> Fault:
        """Latched faults whose cause persists in this step."""
        persistent = Fault.SELF_TEST
        if self.sensors.switches & STOP_BUTTON_BIT:
            persistent |= Fault.ESTOP_INPUT
        for sensor, fault in enumerate(ADC):
            if self.sensors.at_rail(sensor):
                persistent |= fault
        return self.faults & persistent

    def report_event(self, kind: EventKind, detail: int) -> None:
        """Queue an event."""
        self.outbox.add_event(self.now, kind, self.state, self.faults, detail)

    def enter_state(self, state: State) -> None:
        """Change the state; switch the outputs off if it requires that."""
        if self.is_moving and state not in MOVING:
            self._duty = 0.0
            self._ramp.stop()
            self.sensors.forget()
        self._motion_command, self._homing = ZERO_MOTION, None
        self.state = state

    def change_state(self, state: State) -> None:
        """Change the state and report an event, if the state is a new one."""
        before = self.state
        if state != before:
            self.enter_state(state)
            self.report_event(EventKind.STATE, int(before))

    def latch(self, faults: Fault) -> None:
        """Latch faults, which switches the outputs off."""
        fresh = faults & ~self.faults
        self.faults |= faults
        if fresh:
            self.enter_state(State.FAULT)
            self.report_event(EventKind.FAULT, int(fresh))

    def start_session(self) -> None:
        """Start a session with a host."""
        self._has_session = True
        self._telemetry_divisor = 0

    def stream(self, rate: int) -> None:
        """Send telemetry at a rate [Hz], 0: none."""
        self._telemetry_divisor = CONTROL_RATE // rate if rate else 0
        self._telemetry_phase = -1

    def arm(self) -> None:
        """Switch the outputs on, with zero motion."""
        self.feed_watchdog()
        if self.state == State.DISARMED:
            self.change_state(State.ARMED)
            self.sensors.reset_step_comparison(self.steps)
            self._aligning_since = self.now
        self._motion_command = ZERO_MOTION

    def drive(self, setpoint: Setpoint) -> None:
        """Apply an accepted set point."""
        self.feed_watchdog()
        if self.state == State.ARMED:
            self._motion_command = MotionCommand(setpoint.duty, setpoint.step_rate)
            self._valid_until = self.now + setpoint.validity * 1000

    def keep_alive(self) -> None:
        """Apply an ALIVE set point: feed the watchdog and command zero motion."""
        self.feed_watchdog()
        if self.state == State.ARMED:
            self._motion_command = ZERO_MOTION

    def feed_watchdog(self) -> None:
        """Restart the watchdog timer."""
        self.watchdog_fed_at = self.now

    def home(self, joint: Joint) -> None:
        """Start homing: move a joint to its lower switch."""
        self.change_state(State.HOMING)
        self.homed &= ~HOMED[joint]
        self._homing, self._homing_start = joint, self.now
        self._closed_since, self._is_leaving = None, False

    def set_origin(self, joint: Joint, counts: int) -> None:
        """Set the count of a joint at its present position, which homes the joint."""
        self.sensors.counts[joint] = counts
        self.homed |= HOMED[joint]

    def play(self) -> None:
        """Start the loaded profile."""
        self.change_state(State.PROFILE)
        self._profile_start = self.now

    def lose_homing(self, joint: Joint) -> None:
        """Mark a joint as not homed, and report an event."""
        if self.homed & HOMED[joint]:
            self.homed &= ~HOMED[joint]
            self.report_event(EventKind.HOMING_LOST, joint)

    def _look_for_faults(self, late):
        faults = self.sensors.constant_faults(self.now)
        if late > 1000:
            self.late_steps += 1
        if self.is_moving:
            faults |= self.sensors.moving_faults(self.now, self.steps, self._homing)
            if late > LATE_LIMIT:
                faults |= Fault.LATE
            if (
                self._aligning_since is not None
                and self.now - self._aligning_since >= ALIGNMENT_TIME
            ):
                self.sensors.reset_step_comparison(self.steps)
                self._aligning_since = None
        if faults:
            self.latch(faults)
        for joint in self.sensors.jumped_joints:
            self.lose_homing(joint)

    def _decide(self):
        """Return the commanded motion after watchdog, validity, homing and profile."""
        if self.is_moving and self.now - self.watchdog_fed_at >= WATCHDOG:
            self.latch(Fault.WATCHDOG)
        if self.state == State.HOMING:
            return self._continue_homing()
        if self.state == State.PROFILE:
            segment = self.profile.at(self.now - self._profile_start)
            if segment is not None:
                return MotionCommand(segment.duty, segment.step_rate)
            self.enter_state(State.ARMED)
            self.report_event(EventKind.PROFILE_DONE, self.profile.segment_count)
        elif self.now >= self._valid_until:
            self._motion_command = ZERO_MOTION
        return self._motion_command

    def _continue_homing(self):
        joint = self._homing
        assert joint is not None
        is_closed = bool(self.sensors.switches & LOWER[joint])
        if self.now - self._homing_start > self.parameters[Parameter.HOME_TIMEOUT] * 1000:
            self.latch(Fault.HOMING)
            return ZERO_MOTION
        if self._is_leaving and not is_closed:
            self.set_origin(joint, self.parameters[HOME_COUNTS[joint]])
            self.sensors.reset_step_comparison(self.steps)
            self.enter_state(State.ARMED)
            self.report_event(EventKind.HOMED, joint)
            return ZERO_MOTION
        if not is_closed:
            self._closed_since = None
        elif self._closed_since is None:
            self._closed_since = self.now
        self._is_leaving = (
            self._closed_since is not None and self.now - self._closed_since >= DEBOUNCE_TIME
        )
        sign = 1 if self._is_leaving else -1 + is_closed
        if joint == SLIDE:
            return MotionCommand(sign * self.parameters[Parameter.HOME_DUTY] / DUTY_ONE, 0.0)
        return MotionCommand(0.0, float(sign * self.parameters[Parameter.HOME_RATE]))

    def _set_outputs(self, motion_command):
        """Apply limits and ramp, and set the outputs."""
        if self.state == State.PROFILE:
            limit_faults = Fault(0)
            for joint, motion in ((SLIDE, motion_command.duty), (TURN, motion_command.step_rate)):
                if self._at_switch(joint, motion) or self._at_soft_limit(joint, motion):
                    limit_faults |= LIMIT[joint]
            if self._at_switch(TURN, self._ramp.rate):
                limit_faults |= Fault.LIMIT_TURN
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
        self.sensors.record_duty(self.now, duty)

    def _at_switch(self, joint, motion):
        towards = UPPER[joint] if motion > 0 else LOWER[joint]
        return motion != 0 and bool(self.sensors.switches & towards)

    def _at_soft_limit(self, joint, motion):
        if not self.homed & HOMED[joint] or self._homing == joint or motion == 0:
            return False
        counts = self.sensors.counts[joint]
        if motion > 0:
            return counts >= self.parameters[SOFT_UPPER[joint]]
        return counts <= self.parameters[SOFT_LOWER[joint]]

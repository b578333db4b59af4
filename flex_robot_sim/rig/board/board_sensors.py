"""Inputs of the board: counts with their origin, switches, and the faults found in them."""

from collections.abc import Mapping

from flex_robot_sim.rig.bench.bench import Pins
from flex_robot_sim.rig.bench.parts import SLIDE, TURN
from flex_robot_sim.rig.wire.board_parameters import Parameter
from flex_robot_sim.rig.wire.protocol import Fault, Input
from flex_robot_sim.rig.wire.vocabulary import DUTY_ONE, Joint

# plain integers: operations with enum flags would take most of a control step
LOWER = int(Input.SLIDE_LOWER), int(Input.TURN_LOWER)
UPPER = int(Input.SLIDE_UPPER), int(Input.TURN_UPPER)
HOMED = int(Input.SLIDE_HOMED), int(Input.TURN_HOMED)
STOP_BUTTON_BIT = int(Input.STOP_BUTTON)
LIMIT = (Fault.LIMIT_SLIDE, Fault.LIMIT_TURN)
ENCODER = (Fault.ENCODER_SLIDE, Fault.ENCODER_TURN)
ADC = (Fault.ADC_ROOT, Fault.ADC_TIP)
REVERSED = (Parameter.SLIDE_REVERSED, Parameter.TURN_REVERSED)


def signed(value: int) -> int:
    """Return `value` wrapped to a signed integer of 32 bits."""
    return (value + 2**31) % 2**32 - 2**31


class BoardSensors:
    """Readings of the present control step, and the faults found in them."""

    def __init__(
        self, parameters: Mapping[Parameter, int], counts_per_turn: float, steps_per_turn: float
    ) -> None:
        self._parameters = parameters
        self._counts_per_step = counts_per_turn / steps_per_turn
        self.counts = [0, 0]
        self.adc = (0, 0)
        self.current = 0.0
        self.switches = 0  # and stop button; bits as in Input
        self.newly_closed = 0  # switches that were open in the previous step
        self.jumped_joints: list[Joint] = []  # with an encoder jump in this step
        self._raw: list[int | None] = [None, None]  # hardware counts of the previous step
        self._at_rail: list[int | None] = [None, None]  # since when                    [us]
        self._overcurrent_since: int | None = None  # current, since when               [us]
        # of a stall: since when [us], counts, sign of duty
        self._stall_window: tuple[int, int, bool] | None = None
        self._step_reference = (0, 0)  # counts of the turn and steps, to compare

    def read(self, pins: Pins) -> None:
        """Read the Pins of this step."""
        self.jumped_joints = []
        for joint in (SLIDE, TURN):
            sign = -1 if self._parameters[REVERSED[joint]] else 1
            raw, before = pins.encoders[joint], self._raw[joint]
            self._raw[joint] = raw
            moved = 0 if before is None else sign * signed(raw - before)
            self.counts[joint] = signed(self.counts[joint] + moved)
            if abs(moved) > self._parameters[Parameter.ENCODER_JUMP]:
                self.jumped_joints.append(Joint(joint))
        self.adc, self.current = pins.adc, pins.current
        fitted = self._parameters[Parameter.SWITCHES_FITTED]
        closed = sum(
            bit
            for bits, pairs in ((LOWER, pins.lower_switches), (UPPER, pins.upper_switches))
            for bit, is_closed in zip(bits, pairs)
            if is_closed and bit & fitted
        )
        self.newly_closed = closed & ~self.switches
        self.switches = closed | (STOP_BUTTON_BIT if pins.stop_button else 0)

    def reset_step_comparison(self, steps: int) -> None:
        """Restart the comparison of encoder and step count of the turn."""
        self._step_reference = (self.counts[TURN], steps)

    def record_duty(self, now: int, duty: float) -> None:
        """Record the duty of this step, for the detection of a stall."""
        least = self._parameters[Parameter.STALL_DUTY] / DUTY_ONE
        if abs(duty) < least or duty == 0.0:
            self._stall_window = None
        elif self._stall_window is None or (duty > 0) != self._stall_window[2]:
            self._stall_window = (now, self.counts[SLIDE], duty > 0)

    def constant_faults(self, now: int) -> Fault:
        """Return the faults that are monitored in every state."""
        faults = Fault(0)
        if self.switches & STOP_BUTTON_BIT:
            faults |= Fault.ESTOP_INPUT
        for joint in self.jumped_joints:
            faults |= ENCODER[joint]
        for sensor in (0, 1):
            if not self.at_rail(sensor):
                self._at_rail[sensor] = None
                continue
            since = self._at_rail[sensor]
            if since is None:
                self._at_rail[sensor] = since = now
            if now - since >= self._parameters[Parameter.ADC_TIME] * 1000:
                faults |= ADC[sensor]
        return faults

    def moving_faults(self, now: int, steps: int, homing: Joint | None) -> Fault:
        """
        Return the faults that are monitored while the outputs are on.

        :param steps: pulses since boot; homing: joint that is being homed, or None.
        """
        parameters, faults = self._parameters, Fault(0)
        for joint in (SLIDE, TURN):
            closed_switches = self.newly_closed & (LOWER[joint] | UPPER[joint])
            if homing == joint:
                closed_switches &= ~LOWER[joint]
            if closed_switches:
                faults |= LIMIT[joint]
        turned = signed(self.counts[TURN] - self._step_reference[0])
        sent = (steps - self._step_reference[1]) * self._counts_per_step
        if abs(turned - sent) > parameters[Parameter.LOST_STEPS]:
            faults |= Fault.LOST_STEPS
        if self._stall_window is not None:
            since, counts, sign = self._stall_window
            if abs(signed(self.counts[SLIDE] - counts)) >= parameters[Parameter.STALL_COUNTS]:
                self._stall_window = (now, self.counts[SLIDE], sign)
            elif now - since >= parameters[Parameter.STALL_TIME] * 1000:
                faults |= Fault.STALL
        if abs(self.current) * 1000 <= parameters[Parameter.CURRENT_MAX]:
            self._overcurrent_since = None
        elif self._overcurrent_since is None:
            self._overcurrent_since = now
        if (
            self._overcurrent_since is not None
            and now - self._overcurrent_since >= parameters[Parameter.CURRENT_TIME] * 1000
        ):
            faults |= Fault.OVERCURRENT
        return faults

    def forget(self) -> None:
        """Reset the timers of faults that are monitored only while the outputs are on."""
        self._stall_window = self._overcurrent_since = None

    def at_rail(self, sensor: int) -> bool:
        """Whether a monitored flex sensor reads a rail."""
        parameters = self._parameters
        return bool(
            parameters[Parameter.ADC_WATCH] >> sensor & 1
            and not (
                parameters[Parameter.ADC_LOW] <= self.adc[sensor] <= parameters[Parameter.ADC_HIGH]
            )
        )

"""
Vocabulary of the protocol: states, faults, inputs, results, modes, events and constants.

`docs/rig_protocol.md` defines the behaviour of the board; its tables come from this module.
"""

from enum import IntEnum, IntFlag
from typing import NamedTuple

# Names and values are copied to the C header unchanged.
CONSTANTS = {
    'CONTROL_RATE_HZ': (1000, 'control steps per second; upper limit of the telemetry rate'),
    'WATCHDOG_MS': (
        100,
        'time without a set point after which the motors stop and the fault latches',
    ),
    'VALIDITY_MAX_MS': (100, 'longest validity of a set point'),
    'EVENT_REPEAT_MS': (100, 'period of the repetition of an event without acknowledgement'),
    'EVENT_CAPACITY': (16, 'size of the queue of unacknowledged events'),
    'HEALTH_PERIOD_MS': (100, 'period of HEALTH'),
    'PROFILE_CAPACITY': (256, 'maximum number of segments of a profile'),
    'SEGMENTS_PER_CHUNK': (8, 'segments of a PROFILE_LOAD'),
    'SEGMENT_MIN_US': (1000, 'shortest segment of a profile'),
    'SEGMENT_MAX_US': (60_000_000, 'longest segment of a profile'),
    'LATE_LIMIT_US': (5000, 'largest delay of a control step while the motors are on'),
    'DUTY_ONE': (10_000, 'encoded duty of the full voltage'),
    'ADC_CONVERSIONS': (
        16,
        'conversions of 12 bits that are summed for one reading of a flex sensor',
    ),
}
# constants used by several modules
CONTROL_RATE = CONSTANTS['CONTROL_RATE_HZ'][0]  # [Hz]
VALIDITY_MAX = CONSTANTS['VALIDITY_MAX_MS'][0]  # [ms]
DUTY_ONE = CONSTANTS['DUTY_ONE'][0]
CONVERSIONS = CONSTANTS['ADC_CONVERSIONS'][0]


class State(IntEnum):
    """State of the board."""

    BOOT = 0  # self test; no responses
    DISARMED = 1  # outputs off
    ARMED = 2  # outputs on; set points move the motors
    HOMING = 3  # the board moves to a limit switch
    PROFILE = 4  # the board plays a profile
    FAULT = 5  # outputs off, latched until CLEAR


MOVING = (State.ARMED, State.HOMING, State.PROFILE)
"""States in which the outputs are on and the watchdog runs."""


class Fault(IntFlag):
    """Latched faults; FAULTS has cause and remedy of each."""

    WATCHDOG = 1 << 0
    ESTOP_COMMAND = 1 << 1
    ESTOP_INPUT = 1 << 2
    LIMIT_SLIDE = 1 << 3
    LIMIT_TURN = 1 << 4
    ADC_ROOT = 1 << 5
    ADC_TIP = 1 << 6
    ENCODER_SLIDE = 1 << 7
    ENCODER_TURN = 1 << 8
    LOST_STEPS = 1 << 9
    STALL = 1 << 10
    OVERCURRENT = 1 << 11
    HOMING = 1 << 12
    LATE = 1 << 13
    SELF_TEST = 1 << 14


class FaultText(NamedTuple):
    """Cause and remedy of a fault."""

    cause: str
    watched: str  # 'always', or 'moving': only in the states MOVING
    remedy: str
    clears: str  # condition for CLEAR


ALWAYS, MOVING_ONLY, IMMEDIATELY = 'always', 'moving', 'immediately'
FAULTS = {
    Fault.WATCHDOG: FaultText(
        'no set point was accepted for WATCHDOG_MS',
        MOVING_ONLY,
        'check the load of the host, the cable, and rejected set points',
        IMMEDIATELY,
    ),
    Fault.ESTOP_COMMAND: FaultText(
        'the host sent ESTOP', ALWAYS, 'make the bench safe, then clear', IMMEDIATELY
    ),
    Fault.ESTOP_INPUT: FaultText(
        'the stop button is pressed or its wire is broken',
        ALWAYS,
        'make the bench safe, release the button, then clear',
        'after the button is released',
    ),
    **{
        fault: FaultText(
            f'a limit switch of the {joint} closed, or a profile ran into a limit',
            MOVING_ONLY,
            'clear, arm and move away; the board stops motion towards the limit',
            IMMEDIATELY,
        )
        for fault, joint in ((Fault.LIMIT_SLIDE, 'slide'), (Fault.LIMIT_TURN, 'turn'))
    },
    **{
        fault: FaultText(
            f'the {place} flex sensor was at a rail for ADC_TIME',
            ALWAYS,
            'check the divider for an open or a short circuit, or remove the sensor from '
            'ADC_WATCH',
            'after the reading leaves the rail',
        )
        for fault, place in ((Fault.ADC_ROOT, 'root'), (Fault.ADC_TIP, 'tip'))
    },
    **{
        fault: FaultText(
            f'the count of the {joint} jumped by more than ENCODER_JUMP in a control step',
            ALWAYS,
            'check the shield and the plug of the encoder, then home again',
            IMMEDIATELY,
        )
        for fault, joint in ((Fault.ENCODER_SLIDE, 'slide'), (Fault.ENCODER_TURN, 'turn'))
    },
    Fault.LOST_STEPS: FaultText(
        'encoder and step count of the turn differ by more than LOST_STEPS',
        MOVING_ONLY,
        'reduce the acceleration; check for a blocked arm or a slipping axle',
        IMMEDIATELY,
    ),
    Fault.STALL: FaultText(
        'duty of STALL_DUTY or more for STALL_TIME moved the slide less than STALL_COUNTS',
        MOVING_ONLY,
        'check for a blocked slide; check the motor supply and the encoder',
        IMMEDIATELY,
    ),
    Fault.OVERCURRENT: FaultText(
        'the motor current was above CURRENT_MAX for CURRENT_TIME',
        MOVING_ONLY,
        'check for a blocked slide or a short circuit, then clear',
        IMMEDIATELY,
    ),
    Fault.HOMING: FaultText(
        'no limit switch was found within HOME_TIMEOUT',
        MOVING_ONLY,
        'check the switch and its wire, HOME_DUTY and HOME_RATE',
        IMMEDIATELY,
    ),
    Fault.LATE: FaultText(
        'a control step started more than LATE_LIMIT_US late',
        MOVING_ONLY,
        'defect of the firmware or overload of the port: report it with HEALTH',
        IMMEDIATELY,
    ),
    Fault.SELF_TEST: FaultText(
        'memory, clock or converter failed the test at boot',
        ALWAYS,
        'reset the board; replace it if the fault returns',
        'never: reset the board',
    ),
}


class Input(IntFlag):
    """Inputs and status bits of the board."""

    SLIDE_LOWER = 1 << 0  # limit switches, closed
    SLIDE_UPPER = 1 << 1
    TURN_LOWER = 1 << 2
    TURN_UPPER = 1 << 3
    STOP_BUTTON = 1 << 4  # pressed
    SLIDE_HOMED = 1 << 5  # the counts have their origin
    TURN_HOMED = 1 << 6
    PROFILE_LOADED = 1 << 7  # complete and checked


class Result(IntEnum):
    """Result of a command."""

    ACCEPTED = 0
    WRONG_SESSION = 1  # not the session of the last HELLO, or no session
    READ_ONLY = 2  # the HELLO of this session had another major version or schema
    NOT_ARMED = 3
    LATCHED = 4  # a fault is latched: CLEAR, then ARM
    BUSY = 5  # homing or playing a profile
    MUST_DISARM = 6  # only with the outputs off
    OUT_OF_RANGE = 7  # value: index of the field in its frame, from 0
    NOT_HOMED = 8
    OLD = 9  # sequence number that is not newer
    CAUSE_PERSISTS = 10  # CLEAR: `faults` has the remaining faults
    NO_PROFILE = 11  # none loaded, or another CRC
    BAD_PROFILE = 12  # chunk out of order, or wrong CRC: load it again from the start


class Mode(IntEnum):
    """Kind of set point."""

    ALIVE = 0  # feed the watchdog: zero motion in ARMED; HOMING and PROFILE continue
    DRIVE = 1  # apply duty and step rate


class Joint(IntEnum):
    """Joints of the bench."""

    SLIDE = 0
    TURN = 1


class EventKind(IntEnum):
    """Kind of an EVENT, which determines the meaning of `detail`."""

    BOOT = 0  # detail: ResetCause
    STATE = 1  # detail: the state before
    FAULT = 2  # detail: the bits that latched now
    HOMED = 3  # detail: Joint
    HOMING_LOST = 4  # detail: Joint
    PROFILE_DONE = 5  # detail: segments played
    SESSION = 6  # detail: the new session


class ResetCause(IntEnum):
    """Cause of the boot."""

    UNKNOWN = 0
    POWER = 1
    PIN = 2
    SOFTWARE = 3
    INDEPENDENT_WATCHDOG = 4
    LOW_VOLTAGE = 5


class BackEnd(IntEnum):
    """Implementation of the board."""

    BOARD = 0  # the firmware on silicon
    EMULATED_BOARD = 1  # the firmware in an emulator of the processor
    PYTHON = 2  # the emulator in Python


class Access(IntEnum):
    """Operation of PARAM."""

    READ = 0
    WRITE = 1

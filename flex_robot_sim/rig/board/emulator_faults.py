"""
Fault injection for the emulated rig: NAME, NAME=VALUE, and @SECONDS for a later time.

    noise=1e-3      unplug=0.5@3      open=tip@2      stop@4
"""

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any, NamedTuple

from flex_robot_sim.rig.bench.parts import SLIDE, TURN
from flex_robot_sim.rig.board.emulated_rig import near_wrap
from flex_robot_sim.rig.wire.faults import WireFaults
from flex_robot_sim.util.exceptions import UsageError

ENCODER_JUMP = 1000  # [counts]
DEFAULT_LATENESS = 0.01  # [s]
MAX_PUSH_FORCE = 200.0  # above some 400 N the model of the strip is not valid [N]
MAX_VALUE = 1e9  # of any fault, in its unit
JOINTS = {'slide': SLIDE, 'turn': TURN}
SENSORS = {'root': 0, 'tip': 1}
ENDS = {
    'slide-': ('closed_lower', SLIDE),
    'slide+': ('closed_upper', SLIDE),
    'turn-': ('closed_lower', TURN),
    'turn+': ('closed_upper', TURN),
}


class FaultSpec(NamedTuple):
    """Definition of a fault: help text, kind of value, and effect."""

    about: str
    kind: Any  # float, a dict of choices, or None: takes no value
    default: Any  # of the value; None: a value is required
    apply: Callable[[Any, Any], object]  # function(emulator, value)
    least: float = -math.inf  # bounds of a number
    most: float = math.inf


class PlannedFault(NamedTuple):
    """A scheduled fault."""

    time: float  # since power-up                                            [s]
    name: str
    value: Any


def parse(words: str) -> PlannedFault:
    """Parse a fault specification; UsageError if it is invalid."""
    text, at, time = words.strip().partition('@')
    name, equals, value = text.partition('=')
    if name not in EMULATOR_FAULTS:
        raise UsageError(f'no fault "{name}". Known: {", ".join(EMULATOR_FAULTS)}')
    fault = EMULATOR_FAULTS[name]
    seconds = _number(time, f'time of "{words}"') if at else 0.0
    if seconds < 0.0:
        raise UsageError(f'time of "{words}" must be >= 0')
    if fault.kind is None:
        if equals:
            raise UsageError(f'fault "{name}" takes no value')
        return PlannedFault(seconds, name, None)
    if not equals:
        if fault.default is None:
            allowed = 'a number' if fault.kind is float else f'one of {", ".join(fault.kind)}'
            raise UsageError(f'fault "{name}" needs a value: write {name}=VALUE, {allowed}')
        return PlannedFault(seconds, name, fault.default)
    if fault.kind is float:
        number = _number(value, f'value of "{words}"')
        if not fault.least <= number <= fault.most:
            upper = '' if fault.most == math.inf else f' and <= {fault.most:g}'
            raise UsageError(f'value of "{words}" must be >= {fault.least:g}{upper}')
        return PlannedFault(seconds, name, number)
    if value not in fault.kind:
        raise UsageError(f'"{value}" of fault "{name}" must be one of {", ".join(fault.kind)}')
    return PlannedFault(seconds, name, fault.kind[value])


def _number(text, what):
    try:
        value = float(text)
    except ValueError:
        value = float('nan')
    if not abs(value) < MAX_VALUE:
        raise UsageError(f'{what} must be a number below {MAX_VALUE:g}')
    return value


def _wire(name):
    def apply(emulator, value):
        for wire in emulator.wires:
            wire.faults = replace(wire.faults, **{name: value})

    return apply


def _clean(emulator, _):
    for wire in emulator.wires:
        wire.faults = WireFaults()


def _unplug(emulator, seconds):
    emulator.port.unplug()
    emulator.plan(PlannedFault(emulator.rig.time + seconds, 'plug', None))


def _wrap(emulator, seconds):
    emulator.rig.set_clock(near_wrap(seconds))
    emulator.rig.reboot()


def _bench(apply):
    return lambda emulator, value: apply(emulator.rig.bench, value)


def _jump(bench, joint):
    bench.faults.encoder_jump[joint] += ENCODER_JUMP


def _limit(bench, end):
    name, joint = end
    getattr(bench.faults, name).add(joint)


def _move_by_hand(joint):
    return lambda bench, place: bench.move_by_hand(joint, place)


# fmt: off
EMULATOR_FAULTS = {
    'noise': FaultSpec('damage bytes with this probability, both ways', float, None,
                       _wire('noise'), 0, 1),
    'drop': FaultSpec('lose bytes with this probability', float, None, _wire('drop'), 0, 1),
    'insert': FaultSpec('add bytes with this probability', float, None, _wire('insert'), 0, 1),
    'half': FaultSpec('lose the second half of a write with this probability', float, None,
                      _wire('half'), 0, 1),
    'clean': FaultSpec('end all faults of the wire', None, None, _clean),
    'flood': FaultSpec('send random bytes to the board, this many per second', float, 500e3,
                       lambda emulator, value: setattr(emulator, 'flood', value), 0, 1e7),
    'unplug': FaultSpec('pull the plug for this many seconds', float, 1.0, _unplug, 0),
    'plug': FaultSpec('reconnect the plug', None, None, lambda emulator, _: emulator.port.plug()),
    'vanish': FaultSpec('pull the plug and leave it unplugged', None, None,
                        lambda emulator, _: emulator.port.unplug()),
    'hang': FaultSpec('hang the firmware until the hardware watchdog resets it', None, None,
                      lambda emulator, _: emulator.rig.hang()),
    'stall': FaultSpec('halt the processor for this many seconds', float, 1.0,
                       lambda emulator, value: emulator.rig.stall(value), 0),
    'late': FaultSpec('start control steps this many seconds late', float, DEFAULT_LATENESS,
                      lambda emulator, value: setattr(
                          emulator.rig, 'late', round(value * 1e6)), 0),
    'reboot': FaultSpec('reset the board', None, None, lambda emulator, _: emulator.rig.reboot()),
    'wrap': FaultSpec('reset the board, its clock wraps after this many seconds', float, 5.0,
                      _wrap, 0, 4000),
    'open': FaultSpec('break a wire of a flex sensor', SENSORS, None, _bench(
        lambda bench, sensor: bench.faults.open_sensors.add(sensor))),
    'short': FaultSpec('short a flex sensor', SENSORS, None, _bench(
        lambda bench, sensor: bench.faults.shorted_sensors.add(sensor))),
    'dead': FaultSpec('freeze an encoder', JOINTS, None, _bench(
        lambda bench, joint: bench.faults.dead_encoders.add(joint))),
    'jump': FaultSpec(f'shift an encoder by {ENCODER_JUMP} counts', JOINTS, None,
                      _bench(_jump)),
    'limit': FaultSpec('close a limit switch', ENDS, None, _bench(_limit)),
    'stop': FaultSpec('press the stop button', None, None, _bench(
        lambda bench, _: setattr(bench.faults, 'stop_button', True))),
    'release': FaultSpec('release the stop button', None, None, _bench(
        lambda bench, _: setattr(bench.faults, 'stop_button', False))),
    'jam': FaultSpec('block the slide', None, None, _bench(
        lambda bench, _: setattr(bench.faults, 'jammed', True))),
    'weak': FaultSpec('reduce the torque of the stepper to this share', float, 0.02, _bench(
        lambda bench, share: setattr(bench.faults, 'weak_stepper', share)), 0, 1),
    'mend': FaultSpec('end all faults of the bench', None, None, _bench(
        lambda bench, _: bench.clear_faults())),
    'push': FaultSpec('push the tip of the arm sideways with this force [N]; 0 ends it', float,
                      None, _bench(lambda bench, force: bench.push_tip(force)),
                      -MAX_PUSH_FORCE, MAX_PUSH_FORCE),
    'slide': FaultSpec('move the slide to this position by hand [m]', float, None,
                       _bench(_move_by_hand(SLIDE))),
    'turn': FaultSpec('turn the arm to this angle by hand [rad]', float, None,
                      _bench(_move_by_hand(TURN))),
}
# fmt: on

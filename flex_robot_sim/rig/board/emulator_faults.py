"""
What can go wrong on an emulated rig, as words: NAME, NAME=VALUE, and @SECONDS for later.

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

JUMP = 1000                 # counts by which an encoder jumps
LATE_DEFAULT = 0.01         # [s]
PUSH = 200.0                # beyond some 400 the strip is past all that its model describes [N]
LARGEST = 1e9               # number in a fault, of any unit
JOINTS = {'slide': SLIDE, 'turn': TURN}
SENSORS = {'root': 0, 'tip': 1}
ENDS = {'slide-': ('closed_lower', SLIDE), 'slide+': ('closed_upper', SLIDE),
        'turn-': ('closed_lower', TURN), 'turn+': ('closed_upper', TURN)}


class Mishap(NamedTuple):
    """What a word does."""

    about: str
    kind: Any               # float, a dict of words, or None: takes no value
    default: Any            # of the value; None: it must be given
    apply: Callable[[Any, Any], object]     # function(emulator, value)
    least: float = -math.inf    # bounds of a number
    most: float = math.inf


class Planned(NamedTuple):
    """A fault to come."""

    time: float             # since power-up                                            [s]
    name: str
    value: Any


def parse(words: str) -> Planned:
    """Return the Planned fault of words, or raise UsageError."""
    text, at, time = words.strip().partition('@')
    name, equals, value = text.partition('=')
    if name not in MISHAPS:
        raise UsageError(f'no fault "{name}". Known: {", ".join(MISHAPS)}')
    fault = MISHAPS[name]
    seconds = _number(time, f'time of "{words}"') if at else 0.0
    if seconds < 0.0:
        raise UsageError(f'time of "{words}" must be >= 0')
    if fault.kind is None:
        if equals:
            raise UsageError(f'fault "{name}" takes no value')
        return Planned(seconds, name, None)
    if not equals:
        if fault.default is None:
            wanted = 'a number' if fault.kind is float else f'one of {", ".join(fault.kind)}'
            raise UsageError(f'fault "{name}" needs a value: write {name}=VALUE, {wanted}')
        return Planned(seconds, name, fault.default)
    if fault.kind is float:
        number = _number(value, f'value of "{words}"')
        if not fault.least <= number <= fault.most:
            upper = '' if fault.most == math.inf else f' and <= {fault.most:g}'
            raise UsageError(f'value of "{words}" must be >= {fault.least:g}{upper}')
        return Planned(seconds, name, number)
    if value not in fault.kind:
        raise UsageError(f'"{value}" of fault "{name}" must be one of {", ".join(fault.kind)}')
    return Planned(seconds, name, fault.kind[value])


def _number(text, what):
    try:
        value = float(text)
    except ValueError:
        value = float('nan')
    if not abs(value) < LARGEST:
        raise UsageError(f'{what} must be a number below {LARGEST:g}')
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
    emulator.plan(Planned(emulator.rig.time + seconds, 'plug', None))


def _wrap(emulator, seconds):
    emulator.rig.set_clock(near_wrap(seconds))
    emulator.rig.reboot()


def _bench(apply):
    return lambda emulator, value: apply(emulator.rig.bench, value)


def _jump(bench, joint):
    bench.faults.encoder_jump[joint] += JUMP


def _limit(bench, end):
    name, joint = end
    getattr(bench.faults, name).add(joint)


def _carry(joint):
    return lambda bench, place: bench.carry(joint, place)


# fmt: off
MISHAPS = {
    'noise': Mishap('damage bytes with this probability, both ways', float, None,
                    _wire('noise'), 0, 1),
    'drop': Mishap('lose bytes with this probability', float, None, _wire('drop'), 0, 1),
    'insert': Mishap('add bytes with this probability', float, None, _wire('insert'), 0, 1),
    'half': Mishap('lose the second half of a piece with this probability', float, None,
                   _wire('half'), 0, 1),
    'clean': Mishap('mend the wire', None, None, _clean),
    'flood': Mishap('pour random bytes into the board, this many per second', float, 500e3,
                    lambda emulator, value: setattr(emulator, 'flood', value), 0, 1e7),
    'unplug': Mishap('pull the plug for this many seconds', float, 1.0, _unplug, 0),
    'plug': Mishap('put it back', None, None, lambda emulator, _: emulator.port.plug()),
    'vanish': Mishap('pull the plug for good', None, None,
                     lambda emulator, _: emulator.port.unplug()),
    'hang': Mishap('let the firmware hang until the hardware watchdog resets it', None, None,
                   lambda emulator, _: emulator.rig.hang()),
    'stall': Mishap('halt the processor for this many seconds', float, 1.0,
                    lambda emulator, value: emulator.rig.stall(value), 0),
    'late': Mishap('let control steps start this many seconds late', float, LATE_DEFAULT,
                   lambda emulator, value: setattr(emulator.rig, 'late', round(value * 1e6)), 0),
    'reboot': Mishap('reset the board', None, None, lambda emulator, _: emulator.rig.reboot()),
    'wrap': Mishap('reset the board, its clock wraps after this many seconds', float, 5.0, _wrap,
                   0, 4000),
    'open': Mishap('break a wire of a flex sensor', SENSORS, None, _bench(
        lambda bench, sensor: bench.faults.open_sensors.add(sensor))),
    'short': Mishap('short a flex sensor', SENSORS, None, _bench(
        lambda bench, sensor: bench.faults.shorted_sensors.add(sensor))),
    'dead': Mishap('let an encoder stand still', JOINTS, None, _bench(
        lambda bench, joint: bench.faults.dead_encoders.add(joint))),
    'jump': Mishap(f'let an encoder jump by {JUMP} counts', JOINTS, None, _bench(_jump)),
    'limit': Mishap('close a limit switch', ENDS, None, _bench(_limit)),
    'stop': Mishap('press the stop button', None, None, _bench(
        lambda bench, _: setattr(bench.faults, 'stop_button', True))),
    'release': Mishap('release it', None, None, _bench(
        lambda bench, _: setattr(bench.faults, 'stop_button', False))),
    'jam': Mishap('block the slide', None, None, _bench(
        lambda bench, _: setattr(bench.faults, 'jammed', True))),
    'weak': Mishap('leave the stepper this share of its torque', float, 0.02, _bench(
        lambda bench, share: setattr(bench.faults, 'weak_stepper', share)), 0, 1),
    'mend': Mishap('mend all of the bench', None, None, _bench(lambda bench, _: bench.mend())),
    'push': Mishap('push the tip of the arm across, with this force [N]; 0 lets go', float, None,
                   _bench(lambda bench, force: bench.push_tip(force)), -PUSH, PUSH),
    'slide': Mishap('carry the slide to this place by hand [m]', float, None,
                    _bench(_carry(SLIDE))),
    'turn': Mishap('turn the arm to this angle by hand [rad]', float, None, _bench(_carry(TURN))),
}
# fmt: on

"""`flexsim rig emulate`: an emulated rig behind a serial port."""

from __future__ import annotations

import argparse
import os
import select
import signal
import sys
import textwrap
import time
from argparse import ArgumentParser, Namespace
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from flex_robot_sim.cli.common import add_json, expect_within, print_result
from flex_robot_sim.cli.compiling import show_compilation
from flex_robot_sim.realtime.priority import use_emulator_priority
from flex_robot_sim.rig.board.emulator_faults import EMULATOR_FAULTS, parse
from flex_robot_sim.util.exceptions import UsageError

if TYPE_CHECKING:
    from flex_robot_sim.rig.board.emulator import Emulator

MIN_REPORTED_LOSS_S = 0.1  # lost time of a busy computer that is reported
LOSS_REPORT_PERIOD_S = 2.0  # shortest time between two such reports


def add_arguments(parser: ArgumentParser) -> None:
    """Add description and arguments of the command to its parser."""
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.description = (
        'Run the emulated board and bench in real time behind a pseudo terminal,\n'
        'until Ctrl-C. Faults may also be typed while it runs.'
    )
    parser.epilog = fault_help()
    parser.add_argument(
        '--link',
        metavar='PATH',
        help='name of the port (default: in the runtime folder of the user)',
    )
    parser.add_argument(
        '--fault',
        action='append',
        default=[],
        metavar='NAME[=VALUE][@SECONDS]',
        help='fault, at once or some time after the start; may be given several times',
    )
    parser.add_argument('--robot', metavar='URDF', default='rig', help='(default: the bench arm)')
    parser.add_argument(
        '--parts',
        metavar='FILE',
        help='YAML with motors, encoders and sensors of another bench under `parts`, as in a '
        'calibration',
    )
    parser.add_argument('--seed', type=int, default=0, help='seed of all noise (default: 0)')
    parser.add_argument('--seconds', type=float, help='stop after this time [s]')
    add_json(parser)


def fault_help() -> str:
    """Return a line for each fault."""
    lines = ['faults:']
    for name, fault in EMULATOR_FAULTS.items():
        if fault.kind is None:
            word = name
        else:
            value = 'X' if fault.kind is float else '|'.join(fault.kind)
            word = f'{name}[={value}]' if fault.default is not None else f'{name}={value}'
        lines += textwrap.wrap(
            fault.about, 79, initial_indent=f'  {word:<30} ', subsequent_indent=' ' * 33
        )
    return '\n'.join(lines)


def run(arguments: Namespace) -> int:
    """Carry out the command."""
    from flex_robot_sim.rig.board.emulated_rig import rig_of
    from flex_robot_sim.rig.board.emulator import Emulator  # imported late: loads the dynamics
    from flex_robot_sim.rig.calibration.file import read_parts

    parts = read_parts(arguments.parts) if arguments.parts else None
    for words in arguments.fault:
        parse(words)
    expect_within('--seconds', arguments.seconds)
    if arguments.seed < 0:
        raise UsageError('--seed must be 0 or more.')
    with show_compilation():
        emulator = Emulator(
            arguments.link,
            rig_of(arguments.robot, arguments.seed, parts),
            arguments.fault,
            arguments.seed,
        )
    signal.signal(signal.SIGTERM, lambda *_: emulator.stop())
    signal.signal(signal.SIGTTIN, signal.SIG_IGN)  # a background process has no terminal input
    use_emulator_priority()  # threads inherit the priority
    with emulator:
        try:
            if not arguments.json:
                print(
                    f'The rig listens at {emulator.link}\n'
                    f'Try: flexsim rig info {emulator.link}\n'
                    'Type a fault or `help`; Ctrl-C ends it.',
                    flush=True,
                )
            _attend(emulator, arguments.seconds)
        except KeyboardInterrupt:
            emulator.stop()
    print_result(arguments, summary(emulator), as_text)
    return 0


def _attend(emulator, seconds):
    """Inject faults from standard input until the emulator stops or the time is over."""
    end = None if seconds is None else time.monotonic() + seconds
    reported_loss, reported_at = 0.0, time.monotonic()
    inputs, text = [sys.stdin.fileno()] if sys.stdin else [], b''
    while emulator.is_running:
        wait = 0.2 if end is None else min(0.2, end - time.monotonic())
        if wait <= 0:
            return
        if (
            emulator.lost_time > reported_loss + MIN_REPORTED_LOSS_S
            and time.monotonic() - reported_at >= LOSS_REPORT_PERIOD_S
        ):
            print(
                f'this computer was busy: the rig stood still for '
                f'{emulator.lost_time - reported_loss:.2f} s',
                file=sys.stderr,
                flush=True,
            )
            reported_loss, reported_at = emulator.lost_time, time.monotonic()
        if select.select(inputs, [], [], wait)[0]:
            # not by readline: its buffer hides further lines from `select`
            try:
                data = os.read(inputs[0], 4096)
            except OSError:  # a background process of a terminal
                data = b''
            if not data:
                inputs = []
            *lines, text = (text + data).split(b'\n')
            for line in lines:
                _execute(emulator, line.decode(errors='replace').strip())


def _execute(emulator, line):
    if line == 'help':
        print(fault_help(), flush=True)
    elif line:
        try:
            emulator.inject(line)
        except UsageError as error:
            print(error, file=sys.stderr, flush=True)


def summary(emulator: Emulator) -> dict[str, Any]:
    """Return statistics of the run as a dictionary for JSON."""
    rig = emulator.rig
    reader = rig.board.reader.counts
    return {
        'seconds': round(rig.time, 3),
        'lost_seconds': round(emulator.lost_time, 3),
        'hold_ups': emulator.pause_count,
        'frames_taken': reader.frames,
        'crc_errors': reader.crc_errors,
        'overruns': rig.board.overruns,
        'dropped_frames': rig.board.outbox.dropped,
        'unread': emulator.port.overflows,
        'damaged_bytes': sum(wire.damaged for wire in emulator.wires),
        'state': rig.board.state.name.lower(),
        'position': dict(zip(rig.bench.arm.joint_names, rig.bench.simulation.position.tolist())),
        'unit': dict(zip(rig.bench.arm.joint_names, rig.bench.arm.units)),
    }


def as_text(facts: Mapping[str, Any]) -> Iterable[str]:
    """Return the summary as lines of text."""
    lost = ''
    if facts['hold_ups']:
        lost = f', stood still for {facts["lost_seconds"]:g} s in {facts["hold_ups"]} hold-ups'
    position = ', '.join(
        f'{name} {value:.4g} {facts["unit"][name]}' for name, value in facts['position'].items()
    )
    return [
        f'{facts["seconds"]:g} s{lost}; {facts["frames_taken"]} frames taken, '
        f'{facts["crc_errors"]} damaged, {facts["overruns"]} bytes overrun; port unread '
        f'{facts["unread"]} times',
        f'board {facts["state"]}, bench at {position}',
    ]

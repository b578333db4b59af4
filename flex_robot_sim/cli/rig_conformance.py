"""`flexsim rig conformance`: check a board against the protocol specification."""

from __future__ import annotations

import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from flex_robot_sim.cli.common import add_json, print_result
from flex_robot_sim.cli.terminal import colourize
from flex_robot_sim.util.exceptions import UsageError

if TYPE_CHECKING:
    from flex_robot_sim.rig.conformance.check_runner import CheckOutcome
    from flex_robot_sim.rig.conformance.host import Metrics

MARKS = {'passed': 'ok', 'failed': 'FAILED', 'skipped': '-'}
COLOURS = {'passed': 'green', 'failed': 'red', 'skipped': 'yellow'}


def add_arguments(parser: ArgumentParser) -> None:
    """Add description and arguments of the command to its parser."""
    parser.description = (
        'Run the conformance suite against the emulator, the firmware in QEMU, or a board '
        'at a port. Exit code 1: a check fails.'
    )
    parser.add_argument(
        '--back-end',
        default='emulator',
        metavar='emulator|qemu|PORT',
        help='what to check (default: emulator)',
    )
    parser.add_argument(
        '--move',
        action='store_true',
        help='allow a board at a port to switch its motors on: put the slide and the arm in the '
        'middle of their travel and keep clear of them',
    )
    parser.add_argument(
        '--only', default='', metavar='WORD', help='only run checks whose name contains this word'
    )
    parser.add_argument('--list', action='store_true', help='print the names of the checks')
    add_json(parser)


def run(arguments: Namespace) -> int:
    """Carry out the command."""
    # imported late: loads the dynamics, which --help does not need
    from flex_robot_sim.rig.conformance import back_ends, check_runner

    names = [check.name for check in check_runner.CHECKS if arguments.only in check.name]
    if not names:
        raise UsageError(f'no check has "{arguments.only}" in its name. Try --list.')
    if arguments.list:
        print('\n'.join(names))
        return 0
    back_end = {'emulator': back_ends.emulator, 'qemu': back_ends.qemu}.get(
        arguments.back_end, lambda: back_ends.PortBackEnd(arguments.back_end, arguments.move)
    )()
    try:
        outcomes, metrics = check_runner.run_all(
            back_end, arguments.only, None if arguments.json else _print_outcome
        )
    finally:
        back_end.close()
    print_result(arguments, summary(arguments.back_end, outcomes, metrics), as_text)
    return 1 if any(outcome.result == 'failed' for outcome in outcomes) else 0


def _print_outcome(outcome):
    for failure in outcome.spoilt:
        print(f'again   {outcome.name.replace("_", " ")}: {failure}')
    detail = f': {outcome.detail}' if outcome.detail else ''
    mark = colourize(f'{MARKS[outcome.result]:<7}', COLOURS[outcome.result])
    print(f'{mark} {outcome.name.replace("_", " ")}{detail}', flush=True)
    sys.stdout.flush()


def summary(back_end: str, outcomes: Sequence[CheckOutcome], metrics: Metrics) -> dict[str, Any]:
    """Return the results of the checks as a dictionary for JSON."""
    names = {
        kind: [outcome.name for outcome in outcomes if outcome.result == kind] for kind in MARKS
    }
    return {
        'back_end': back_end,
        'passed': len(names['passed']),
        'failed': len(names['failed']),
        'skipped': len(names['skipped']),
        'wrong_frames_accepted': metrics.get('wrong_frames_accepted'),
        'stop_after_silence_ms': metrics.get('stop_after_silence_ms'),
        'steps_per_second': metrics.get('steps_per_second'),
        'failures': {
            outcome.name: outcome.detail for outcome in outcomes if outcome.result == 'failed'
        },
        'repeated': {outcome.name: list(outcome.spoilt) for outcome in outcomes if outcome.spoilt},
    }


def as_text(facts: Mapping[str, Any]) -> Iterable[str]:
    """Return the summary as lines of text."""

    def format_value(value, unit):
        return 'not measured' if value is None else f'{value:g}{unit}'

    yield ''
    yield (
        f'{facts["back_end"]}: {facts["passed"]} passed, {facts["failed"]} failed, '
        f'{facts["skipped"]} skipped'
    )
    if facts['back_end'] not in ('emulator', 'qemu'):
        yield '  Reset the board before it is used: the checks gave its counts false origins.'
    yield f'  wrong frames accepted: {format_value(facts["wrong_frames_accepted"], "")}'
    yield f'  motors off after silence: {format_value(facts["stop_after_silence_ms"], " ms")}'
    if facts['steps_per_second'] is not None:
        yield f'  control steps: {facts["steps_per_second"]:.0f} per second'

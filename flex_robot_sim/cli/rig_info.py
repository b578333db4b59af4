"""`flexsim rig info`: connect to a board and print its identity and state."""

import contextlib
import time
from argparse import ArgumentParser, Namespace
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from flex_robot_sim.cli.common import add_json, print_result
from flex_robot_sim.cli.terminal import show_progress
from flex_robot_sim.rig.host.command_channel import describe_faults
from flex_robot_sim.rig.host.link import LinkState, LinkStatus, RigLink
from flex_robot_sim.rig.wire.ticks import elapsed
from flex_robot_sim.rig.wire.vocabulary import CONVERSIONS, Input

ADC_FULL_SCALE = CONVERSIONS * 4095  # sum of conversions of 12 bits at the upper rail
RATE_WINDOW_S = 1.0  # over which the telemetry rate is measured


def add_arguments(parser: ArgumentParser) -> None:
    """Add description and arguments of the command to its parser."""
    parser.description = (
        'Connect to a board and print its version, parameters and state. Nothing moves; a '
        'board in motion stops.'
    )
    parser.add_argument('port', metavar='PORT', help='device, symlink or socket://host:port')
    add_json(parser)


def run(arguments: Namespace) -> int:
    """Carry out the command."""
    stamps = []
    with contextlib.ExitStack() as stack:
        with show_progress('waiting for the board'):
            link = stack.enter_context(
                RigLink(
                    arguments.port, on_reading=lambda reading: stamps.append(reading.message.time)
                )
            )
            time.sleep(RATE_WINDOW_S)
            # a busy computer reads the telemetry late
            link.wait_until(lambda: link.state != LinkState.STALE, timeout=RATE_WINDOW_S)
        print_result(arguments, summary(link.status(), stamps[:]), as_text)
    return 0


def summary(status: LinkStatus, stamps: Sequence[int]) -> dict[str, Any]:
    """Return identity and state of the board as a dictionary for JSON."""
    board, reading = status.board, status.reading
    assert board is not None  # a link has greeted its board
    ticks = elapsed(stamps[-1], stamps[0]) if len(stamps) > 1 else 0
    return {
        'link': status.state.name.lower(),
        'about': status.condition,
        'back_end': getattr(board.back_end, 'name', str(board.back_end)).lower(),
        'protocol': f'{board.major}.{board.minor}',
        'firmware': '.'.join(str(board.firmware >> shift & 255) for shift in (16, 8, 0)),
        'uid': board.uid.hex(),
        'boot_id': board.boot_id,
        'reset_cause': getattr(board.reset_cause, 'name', str(board.reset_cause)).lower(),
        'counts_per_turn': board.counts_per_turn,
        'steps_per_turn': board.steps_per_turn,
        'state': getattr(reading.message.state, 'name', str(reading.message.state)).lower()
        if reading
        else None,
        'faults': describe_faults(reading.message.faults) if reading else None,
        'inputs': [str(word.name).lower() for word in Input if word & reading.message.inputs]
        if reading
        else None,
        **_readings(reading.message if reading else None),
        'telemetry_rate_Hz': round((len(stamps) - 1) / (ticks * 1e-6), 1) if ticks else 0.0,
        'gaps': status.gaps,
        'crc_errors': status.frames.crc_errors,
        'round_trip_ms': None if status.round_trip is None else round(status.round_trip * 1e3, 3),
    }


def _readings(message):
    """Readings of encoders, converter and step counter; None without telemetry."""
    has_telemetry = message is not None
    return {
        'slide_counts': message.slide_counts if has_telemetry else None,
        'turn_counts': message.turn_counts if has_telemetry else None,
        'steps': message.step_position if has_telemetry else None,
        'adc_root_percent': round(100.0 * message.adc_root / ADC_FULL_SCALE, 2)
        if has_telemetry
        else None,
        'adc_tip_percent': round(100.0 * message.adc_tip / ADC_FULL_SCALE, 2)
        if has_telemetry
        else None,
        'current_A': message.current if has_telemetry else None,
    }


def as_text(facts: Mapping[str, Any]) -> Iterable[str]:
    """Return the summary as lines of text."""
    round_trip = '-' if facts['round_trip_ms'] is None else f'{facts["round_trip_ms"]:.2f} ms'
    return [
        f'{facts["about"]}',
        f'  board      {facts["back_end"]}, firmware {facts["firmware"]}, protocol '
        f'{facts["protocol"]}, uid {facts["uid"]}',
        f'  boot       {facts["boot_id"]:08x}, by {facts["reset_cause"]}',
        f'  scales     {facts["counts_per_turn"]} counts and {facts["steps_per_turn"]} steps in '
        'a turn',
        f'  state      {facts["state"] or "unknown"}',
        f'  faults     {facts["faults"] or "none"}',
        f'  inputs     {", ".join(facts["inputs"] or []) or "none"}',
        *_reading_lines(facts),
        f'  telemetry  {facts["telemetry_rate_Hz"]:g} Hz, {facts["gaps"]} gaps, '
        f'{facts["crc_errors"]} CRC errors, round trip {round_trip}',
    ]


def _reading_lines(facts):
    if facts['slide_counts'] is None:
        return []
    return [
        f'  counts     slide {facts["slide_counts"]}, turn {facts["turn_counts"]}; '
        f'{facts["steps"]} steps sent',
        f'  flex       root {facts["adc_root_percent"]:.2f} %, tip '
        f'{facts["adc_tip_percent"]:.2f} % of the range',
        f'  motor      {facts["current_A"]:.3f} A',
    ]

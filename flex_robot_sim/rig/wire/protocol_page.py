"""Generated tables of `docs/rig_protocol.md`; the text between them is written by hand."""

import re
from collections.abc import Callable
from enum import IntFlag
from functools import partial

from flex_robot_sim.rig.wire import protocol, vocabulary
from flex_robot_sim.rig.wire.behaviour import ANSWERS, READ_ONLY_REFUSES, STATES
from flex_robot_sim.rig.wire.binary_layout import layout_of
from flex_robot_sim.rig.wire.board_parameters import PARAMETERS
from flex_robot_sim.rig.wire.cobs import unstuff
from flex_robot_sim.rig.wire.frames import MIN_BODY_SIZE, encode, wire_length
from flex_robot_sim.rig.wire.vocabulary import FAULTS, Fault, Input, Mode, Result, State

EXAMPLES = {
    'hello': (protocol.Hello(1, 0, 0x12345678, 0xDEADBEEF), 0, 0),
    'setpoint': (protocol.Setpoint(Mode.DRIVE, -0.25, 1600.0, 50), 7, 513),
    'telemetry': (
        protocol.Telemetry(
            12345678,
            45000,
            -573,
            33000,
            32768,
            -0.25,
            -765,
            1600.0,
            State.ARMED,
            Input.SLIDE_HOMED | Input.TURN_HOMED,
            Fault(0),
            513,
            -0.417,
        ),
        7,
        258,
    ),
}
"""Frames that the page shows byte by byte: message, session, sequence number."""

MARK = re.compile(r'(<!-- table: (\w+) -->\n).*?(<!-- end -->)', re.DOTALL)


def fill_tables(page: str) -> str:
    """Return the page with regenerated tables."""
    return MARK.sub(lambda found: found[1] + TABLES[found[2]]() + found[3], page)


def _rows(head, rows):
    lines = [head, ['---'] * len(head), *rows]
    return ''.join('| ' + ' | '.join(str(cell) for cell in line) + ' |\n' for line in lines)


def _example(message, session, sequence):
    data = encode(message, session, sequence)
    body = unstuff(data[1:-1])
    assert body is not None
    header = protocol.Header(message.ID, session, sequence)
    rows, at = [], 0
    for part in (header, message):
        for (name, wire), value in zip(layout_of(type(part)).fields.items(), part):
            piece, at = body[at : at + wire.size], at + wire.size
            rows.append((f'`{piece.hex(" ")}`', f'`{name}`', _shown(name, value, wire)))
    assert at == len(body) - MIN_BODY_SIZE + layout_of(protocol.Header).size
    rows.append((f'`{body[at:].hex(" ")}`', 'CRC-32', f'0x{body[: at - 1 : -1].hex()}'))
    return f'```\n{data.hex(" ")}\n```\n\n' + _rows(('bytes', 'field', 'value'), rows)


def _shown(name, value, wire):
    if wire.choices and issubclass(wire.choices, IntFlag):
        return ', '.join(word.name for word in wire.choices if word & value) or 'none'
    if wire.choices:
        return value.name
    text = (
        f'{value:#010x}'
        if name in ('schema_crc', 'nonce')
        else f'{value:g}'
        if isinstance(value, float)
        else str(value)
    )
    return text if wire.unit in ('', '1') else f'{text} {wire.unit}'


def _overview():
    rows = [
        (
            f'`{number:#04x}`',
            f'[{protocol.frame_name(layout)}](#{protocol.frame_name(layout).lower()})',
            layout.LAYOUT.size,
            wire_length(layout),
            layout.__doc__,
        )
        for number, layout in protocol.FRAMES.items()
    ]
    return _rows(('id', 'frame', 'fields [B]', 'on the wire [B]', 'sender and purpose'), rows)


def _fields():
    text = ''
    for layout in (protocol.Header, protocol.Segment, *protocol.FRAMES.values()):
        name = protocol.frame_name(layout)
        number = f'Id `{layout.ID:#04x}`. ' if hasattr(layout, 'ID') else ''
        text += f'### {name}\n\n{number}{layout.__doc__}\n\n'
        rows, offset = [], 0
        for field, wire in layout.LAYOUT.fields.items():
            kind = wire.kind
            if wire.count != 1:
                kind = f'{wire.record.__name__ if wire.record else "u8"}[{wire.count}]'
            scale = '-' if wire.per_unit == 1 else f'1/{wire.per_unit}'
            about = wire.meaning + (f' (`{wire.choices.__name__}`)' if wire.choices else '')
            rows.append((offset, f'`{field}`', kind, wire.unit or '-', scale, about))
            offset += wire.size
        text += (
            _rows(('offset', 'field', 'type', 'unit', 'scale', 'meaning'), rows)
            if rows
            else 'No fields.\n'
        ) + '\n'
    return text


def _words():
    return ''.join(
        f'- `{words.__name__}`: ' + ', '.join(f'{word.name} {int(word)}' for word in words) + '\n'
        for words in protocol.ENUMERATIONS
        if words not in (Fault, protocol.Parameter)
    )


def _constants():
    return _rows(
        ('constant', 'value', 'meaning'),
        [(f'`{name}`', value, about) for name, (value, about) in vocabulary.CONSTANTS.items()],
    )


def _parameters():
    return _rows(
        ('id', 'parameter', 'unit', 'after boot', 'range', 'meaning'),
        [
            (
                int(number),
                f'`{p.name}`',
                p.unit or '-',
                p.default,
                f'{p.least} to {p.most}',
                p.meaning,
            )
            for number, p in PARAMETERS.items()
        ],
    )


def _faults():
    return _rows(
        ('bit', 'fault', 'cause', 'monitored', 'CLEAR removes it', 'remedy'),
        [
            (
                int(fault).bit_length() - 1,
                f'`{fault.name}`',
                text.cause,
                text.watched,
                text.clears,
                text.remedy,
            )
            for fault, text in FAULTS.items()
        ],
    )


def _answers():
    rows = []
    for (message, variant), row in ANSWERS.items():
        name = f'{protocol.frame_name(message)} {variant}'.strip()
        star = '\\*' if (message, variant) in READ_ONLY_REFUSES else ''
        rows.append((f'{name}{star}', *(_cell(row[state]) for state in STATES)))
    return _rows(('command', *(state.name for state in STATES)), rows)


def _cell(answer):
    if answer.result != Result.ACCEPTED:
        return answer.result.name
    text = f'accepted → {answer.state.name}' if answer.state else 'accepted'
    return ', or '.join([text, *(result.name for result in answer.conditions)])


TABLES: dict[str, Callable[[], str]] = {
    **{name: partial(_example, *example) for name, example in EXAMPLES.items()},
    'overview': _overview,
    'fields': _fields,
    'words': _words,
    'constants': _constants,
    'parameters': _parameters,
    'faults': _faults,
    'answers': _answers,
}

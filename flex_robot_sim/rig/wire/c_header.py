"""The C side of the schema: text of `firmware/protocol_layout.h`."""

from flex_robot_sim.rig.wire import protocol, vocabulary
from flex_robot_sim.rig.wire.binary_layout import C_TYPES
from flex_robot_sim.rig.wire.board_parameters import PARAMETERS
from flex_robot_sim.rig.wire.frames import (
    MAX_BODY_SIZE,
    MAX_STUFFED_SIZE,
    MIN_BODY_SIZE,
    wire_length,
)

START = """\
/* Made from flex_robot_sim/rig/wire/protocol.py by `python3 -m flex_robot_sim.rig.wire.generate`.
 * Do not edit. Frames with their values in hex: test/data/rig_frames.txt.
 *
 * Body on the wire: struct header, struct of the frame, CRC-32; little-endian, packed.
 */
#ifndef PROTOCOL_LAYOUT_H
#define PROTOCOL_LAYOUT_H

#include <stdint.h>
"""


def c_header() -> str:
    """Return the text of the header."""
    parts = [START, _versions(), _constants()]
    parts += [_enumeration(words) for words in protocol.ENUMERATIONS]
    parts += [_struct('header', protocol.Header), _struct('segment', protocol.Segment)]
    parts += [
        _struct(f'{protocol.frame_name(layout).lower()}_frame', layout)
        for layout in protocol.FRAMES.values()
        if layout.LAYOUT.fields
    ]
    parts += [_frames(), _parameters(), '#endif']
    return '\n'.join(parts) + '\n'


def _versions():
    return '\n'.join(
        [
            f'#define PROTOCOL_MAJOR {protocol.MAJOR}',
            f'#define PROTOCOL_MINOR {protocol.MINOR}',
            f'#define SCHEMA_CRC UINT32_C({protocol.SCHEMA_CRC:#010x})',
            f'#define NO_SESSION {protocol.NO_SESSION}',
            f'#define FROM_BOARD {protocol.FROM_BOARD:#04x}    /* bit of the ids the board sends '
            '*/',
            f'#define BODY_SHORTEST {MIN_BODY_SIZE}      /* header and CRC-32 */',
            f'#define BODY_LONGEST {MAX_BODY_SIZE}     /* header, longest fields, CRC-32 */',
            f'#define STUFFED_LONGEST {MAX_STUFFED_SIZE}  /* between the two zeros */',
            '',
        ]
    )


def _constants():
    lines = [
        f'#define {name} {value}    /* {about} */'
        for name, (value, about) in vocabulary.CONSTANTS.items()
    ]
    return '\n'.join([*lines, ''])


def _enumeration(words):
    prefix = _upper(words.__name__)
    lines = [f'    {prefix}_{word.name} = {int(word)},' for word in words]
    return '\n'.join([f'enum {prefix.lower()} {{', *lines, '};', ''])


def _struct(name, layout):
    lines = []
    for field, wire in layout.LAYOUT.fields.items():
        scale = '' if wire.per_unit == 1 else f'1/{wire.per_unit} '
        unit = '' if wire.unit in ('', '1') and not scale else f' [{scale}{wire.unit}]'
        lines.append(f'    {_member(field, wire)}    /* {wire.meaning}{unit} */')
    return '\n'.join(
        [
            f'struct __attribute__((packed)) {name} {{',
            *lines,
            '};',
            f'_Static_assert(sizeof(struct {name}) == {layout.LAYOUT.size}, "{name}");',
            '',
        ]
    )


def _member(field, wire):
    if wire.record:
        return f'struct {_upper(wire.record.__name__).lower()} {field}[{wire.count}];'
    if wire.kind == 'bytes':
        return f'uint8_t {field}[{wire.count}];'
    return f'{C_TYPES[wire.kind]} {field};'


def _frames():
    lines = ['/* X(name, id, bytes of its fields, bytes on the wire) */', '#define FRAMES(X) \\']
    lines += [
        f'    X({protocol.frame_name(layout)}, {number:#04x}, {layout.LAYOUT.size}, '
        f'{wire_length(layout)}) \\'
        for number, layout in protocol.FRAMES.items()
    ]
    lines += ['', 'enum frame_id {']
    lines += [
        f'    FRAME_{protocol.frame_name(layout)} = {number:#04x},'
        for number, layout in protocol.FRAMES.items()
    ]
    return '\n'.join([*lines, '};', ''])


def _parameters():
    lines = ['/* X(name, id, default, least, most) */', '#define PARAMETERS(X) \\']
    lines += [
        f'    X({p.name}, {int(number)}, {p.default}, {p.least}, {p.most}) \\'
        for number, p in PARAMETERS.items()
    ]
    return '\n'.join([*lines, '', f'#define PARAMETER_COUNT {len(PARAMETERS)}', ''])


def _upper(name):
    return ''.join(
        f'_{letter}' if k and letter.isupper() else letter for k, letter in enumerate(name)
    ).upper()

"""
Editing of numbers in the text of a URDF; all other text stays unchanged, byte by byte.

Serialising parsed XML would lose spaces, quotes and comments, so tags are found in the text.
"""

import html
import re
from collections.abc import Iterable, Mapping
from typing import NamedTuple

import numpy as np

from flex_robot_sim.description.quantities import HARMONICS, JOINT_QUANTITIES
from flex_robot_sim.description.robot import RobotDescription
from flex_robot_sim.description.robot_parameters import END_TOLERANCE, place_of
from flex_robot_sim.description.values import MAX_VALUE
from flex_robot_sim.elastic.section import STIFFNESS_OF
from flex_robot_sim.util.exceptions import UsageError

_TOKEN = re.compile(
    r'<!--.*?-->|<!\[CDATA\[.*?\]\]>|<\?.*?\?>|<!(?!--)[^>]*>'
    r'|<(?P<end>/?)(?P<tag>[^\s/>!?]+)(?P<rest>(?:[^>"\x27]|"[^"]*"|\x27[^\x27]*\x27)*?)'
    r'(?P<empty>/?)>',
    re.DOTALL,
)
_QUOTED = r'"[^"]*"|\x27[^\x27]*\x27'
Step = tuple[str, str]  # tag, and name or ''
DAMPING_ATTRIBUTES = {'damping_ratio': 'ratio', 'damping_time': 'time_constant'}


class Edit(NamedTuple):
    """A new text of an attribute."""

    place: tuple[Step, ...]  # under <robot>
    attribute: str
    text: str


class _Tag(NamedTuple):
    place: tuple[Step, ...]
    start: int
    end: int  # after its >
    is_empty: bool
    close: int  # start of its </tag>; `end` if it is empty


def rewritten(text: str, edits: Iterable[Edit], comments: Mapping[tuple[Step, ...], str]) -> str:
    """Text of a URDF with attributes changed or added, and comments after tags, by place."""
    for edit in edits:
        text = _with_attribute(text, edit)
    for place, comment in comments.items():
        tag = _find(text, place)
        assert tag is not None, place
        safe = re.sub('--+', '-', comment)
        text = f'{text[: tag.end]}  <!-- {safe} -->{text[tag.end :]}'
    return text


def _with_attribute(text, edit):
    tag = _find(text, edit.place)
    while tag is None:
        text = _with_element(text, edit.place)
        tag = _find(text, edit.place)
    inner = text[tag.start : tag.end]
    if edit.attribute == 'rpy':
        inner = re.sub(rf'\squat_xyzw\s*=\s*({_QUOTED})', '', inner)  # an origin has one of both
    match = re.search(rf'(\s{re.escape(edit.attribute)}\s*=\s*)({_QUOTED})', inner)
    value = html.escape(edit.text)
    if match:
        inner = f'{inner[: match.start(2)]}"{value}"{inner[match.end(2) :]}'
    else:
        insert_at = len(inner) - (2 if inner.endswith('/>') else 1)
        inner = f'{inner[:insert_at].rstrip()} {edit.attribute}="{value}"{inner[insert_at:]}'
    return text[: tag.start] + inner + text[tag.end :]


def _with_element(text, place):
    """Add the first missing element on the path to a place."""
    depth = next(k for k in range(1, len(place) + 1) if _find(text, place[:k]) is None)
    parent = _find(text, place[: depth - 1])
    assert parent is not None
    word, name = place[depth - 1]
    attribute = f' name="{html.escape(name)}"' if name else ''
    line = text.rfind('\n', 0, parent.start) + 1
    indentation = re.match(r'[ \t]*', text[line:])
    tag_name = re.match(r'<([^\s/>]+)', text[parent.start :])
    assert indentation is not None and tag_name is not None
    indent = indentation[0] + '  '
    element = f'<{word}{attribute}/>'
    if parent.is_empty:
        return (
            f'{text[: parent.end - 2].rstrip()}>\n{indent}{element}\n{indent[:-2]}</{tag_name[1]}>'
            f'{text[parent.end :]}'
        )
    before = text[: parent.close].rstrip(' \t')
    gap = '' if before.endswith('\n') else '\n'
    return f'{before}{gap}{indent}{element}\n{indent[:-2]}{text[parent.close :]}'


def _find(text, place):
    """Return the _Tag at a place, or None."""
    return next((tag for tag in _tags(text) if tag.place == tuple(place)), None)


def _tags(text):
    open_tags: list[tuple[tuple[Step, ...], int, int]] = []
    tags = []
    for token in _TOKEN.finditer(text):
        if token['tag'] is None:
            continue
        if token['end']:
            if open_tags:
                place, start, end = open_tags.pop()
                tags.append(_Tag(place, start, end, False, token.start()))
            continue
        name_match = re.search(rf'\sname\s*=\s*({_QUOTED})', token['rest'])
        name = html.unescape(name_match[1][1:-1].strip()) if name_match else ''
        parent_place = open_tags[-1][0] if open_tags else None
        place = () if parent_place is None else (*parent_place, (token['tag'], name))
        if token['empty']:
            tags.append(_Tag(place, token.start(), token.end(), True, token.end()))
        else:
            open_tags.append((place, token.start(), token.end()))
    return tags


def edits_of(before: RobotDescription, after: RobotDescription, path: str) -> list[Edit]:
    """Edits that write one parameter of `after`, whose other numbers may differ, too."""
    kind, name, word = place_of(before, path)
    if kind == 'joint':
        return _joint_edits(after.joint(name), word)
    link, old = after.link(name), before.link(name)
    flexible = (('flexibility', ''), ('link', name))
    assert link.inertial is not None
    if link.beam is None or old.beam is None or old.inertial is None:
        return _inertial_edits(link, has_centre=old.inertial is None or word.startswith('centre'))
    _refuse_sections(path, name, word, old.beam, link.beam)
    if word in STIFFNESS_OF.values():
        if old.beam.size is not None:
            return _material_edits(before, old, link, word)
        return [Edit((*flexible, ('section', '')), word, _text(getattr(link.beam, word)))]
    if word == 'stiffness' and link.beam.reduced is not None:
        scale = link.beam.reduced.stiffness_scale
        return [Edit((*flexible, ('reduced', '')), 'stiffness_scale', _text(scale))]
    if word == 'stiffness':
        if old.beam.size is not None:
            return _moduli_edits(before, old, link)
        return [
            Edit((*flexible, ('section', '')), key, _text(getattr(link.beam, key)))
            for key in ('EIy', 'EIz', 'GJ', 'EA', 'kGAy', 'kGAz')
            if np.isfinite(getattr(link.beam, key))
            and getattr(link.beam, key) != getattr(old.beam, key)
        ]
    if word in DAMPING_ATTRIBUTES:
        return [
            Edit(
                (*flexible, ('damping', '')),
                DAMPING_ATTRIBUTES[word],
                _text(getattr(link.beam, word)),
            )
        ]
    edits = _inertial_edits(link, has_centre=word == 'length')
    if old.beam.size is not None and word == 'mass':
        density = _material(before, name, 'density')
        if density:
            edits.append(
                Edit(
                    (*flexible, ('material', '')),
                    'density',
                    _text(density * link.inertial.mass / old.inertial.mass),
                )
            )
    if word == 'length':
        edits.append(Edit(flexible, 'end', _vector_text(link.beam.end)))
        edits += _end_joint_edits(before, after, name)
    return edits


def _refuse_sections(path, name, word, before, after):
    """Refuse to write a parameter that belongs to several numbers of a <section>."""
    is_stiffness = word in (*STIFFNESS_OF.values(), 'stiffness')
    if before.matrices is not None and (is_stiffness or word == 'mass'):
        raise UsageError(
            f'{path} cannot be written: the <section> of "{name}" has matrices. Scale them instead'
        )
    if before.profile is not None and before.size is None and is_stiffness:
        raise UsageError(
            f'{path} cannot be written: the <section> of "{name}" varies. Multiply {word} of all '
            f'its stations by {_stiffness_ratio(before, after, word):.6g}.'
        )


def _stiffness_ratio(before, after, word):
    """Factor by which a stiffness, or all of them, differ from before."""
    names = STIFFNESS_OF.values() if word == 'stiffness' else (word,)
    ratios = [getattr(after, name) / getattr(before, name) for name in names]
    return next(ratio for ratio in ratios if np.isfinite(ratio))


def _end_joint_edits(before, after, link):
    """Edits of the origins of the joints at the end of a flexible link."""
    beam = before.beam(link)
    return [
        Edit(
            (('joint', joint.name), ('origin', '')),
            'xyz',
            _vector_text(after.joint(joint.name).position),
        )
        for joint in before.children(link)
        if beam.station(joint.position) >= (1 - END_TOLERANCE) * beam.length
    ]


def _moduli_edits(before, old, link):
    """Return Edits of E and G, by which a factor of all stiffnesses is written."""
    flexible = (('flexibility', ''), ('link', link.name), ('material', ''))
    factor = link.beam.EIz / old.beam.EIz
    moduli = {name: _material(before, link.name, name) for name in ('E', 'G')}
    if old.beam.count('torsion'):
        _refuse_shear(old, 'stiffness')
        del moduli['G']
    return [Edit(flexible, name, _text(factor * value)) for name, value in moduli.items() if value]


def _refuse_shear(link, word):
    """Refuse to write a stiffness of a material whose G makes GJ and the shear stiffness."""
    if np.isfinite(link.beam.kGAy):
        raise UsageError(
            f'{link.name}.{word} cannot be written: G of its <material> makes the stiffnesses of '
            'torsion and of shear. Describe the link by a <section>.'
        )


def _material_edits(before, old, link, word):
    """Return Edits of E or G; UsageError if they determine other stiffnesses, too."""
    flexible = (('flexibility', ''), ('link', link.name), ('material', ''))
    ratio = getattr(link.beam, word) / getattr(old.beam, word)
    if word == 'GJ':
        _refuse_shear(old, word)
        return [Edit(flexible, 'G', _text(ratio * _material(before, link.name, 'G')))]
    if any(
        old.beam.count(direction)
        for direction, name in STIFFNESS_OF.items()
        if name not in (word, 'GJ')
    ):
        raise UsageError(
            f'{link.name}.{word} cannot be written: E of its <material> makes other stiffnesses, '
            f'too. Free {link.name}.stiffness, or describe the link by a <section>.'
        )
    return [Edit(flexible, 'E', _text(ratio * _material(before, link.name, 'E')))]


def _material(description, name, attribute):
    """Return a number of the <material> of a link, from the text; 0.0 if missing."""
    tag = _find(description.text, (('flexibility', ''), ('link', name), ('material', '')))
    match = tag and re.search(
        rf'\s{attribute}\s*=\s*({_QUOTED})', description.text[tag.start : tag.end]
    )
    return float(match[1][1:-1]) if match else 0.0


def _inertial_edits(link, has_centre):
    path = (('link', link.name), ('inertial', ''))
    inertial = link.inertial  # precise: the sections of a beam are a small difference
    edits = [Edit((*path, ('mass', '')), 'value', _precise(inertial.mass))]
    if has_centre:
        # the inertia is about the centre in the axes of the link
        edits += [
            Edit((*path, ('origin', '')), 'xyz', _vector_text(inertial.centre)),
            Edit((*path, ('origin', '')), 'rpy', '0 0 0'),
        ]
    rows = {
        'ixx': (0, 0),
        'iyy': (1, 1),
        'izz': (2, 2),
        'ixy': (0, 1),
        'ixz': (0, 2),
        'iyz': (1, 2),
    }
    edits += [
        Edit((*path, ('inertia', '')), key, _precise(inertial.inertia[row]))
        for key, row in rows.items()
    ]
    if not has_centre:
        edits.append(Edit((*path, ('origin', '')), 'rpy', '0 0 0'))
    return edits


def _joint_edits(joint, word):
    flexible = (('flexibility', ''), ('joint', joint.name))
    dynamics = (('joint', joint.name), ('dynamics', ''))
    if word == 'viscous':
        return [Edit(dynamics, 'damping', _text(joint.friction.viscous_friction))]
    if word == 'coulomb':
        coulomb, static = joint.friction.coulomb_friction, joint.friction.static_friction
        edits = [Edit(dynamics, 'friction', _text(coulomb))]
        if static > coulomb:
            edits.append(Edit(flexible, 'static_friction', _text(static)))
        return edits
    if word.startswith('origin'):
        return [Edit((('joint', joint.name), ('origin', '')), 'xyz', _vector_text(joint.position))]
    if word.startswith('stiffness'):
        stiffness = joint.stiffness, *joint.further_stiffness
        return [Edit(flexible, 'stiffness', ' '.join(map(_text, stiffness)))]
    harmonics = word.removesuffix('_phase')
    if harmonics in HARMONICS:
        numbers = (number for row in getattr(joint, harmonics) for number in row)
        return [Edit(flexible, harmonics, ' '.join(map(_text, numbers)))]
    place = flexible
    if JOINT_QUANTITIES[word].group == 'limit':
        place = (('joint', joint.name), ('limit', ''))
    value = JOINT_QUANTITIES[word].value(joint)
    return [Edit(place, word, _text(min(value, MAX_VALUE)))]  # this value of a limit: no limit


def _text(value):
    return f'{value:.6g}'


def _precise(value):
    return f'{value:.9g}'


def _vector_text(values):
    return ' '.join(map(_precise, values))

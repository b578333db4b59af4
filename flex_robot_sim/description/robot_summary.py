"""Summary of a robot for `flexsim check`, as a dictionary and as text."""

import math
from collections.abc import Iterator, Mapping
from dataclasses import asdict
from typing import Any

from flex_robot_sim.description.gravity import GRAVITY
from flex_robot_sim.description.joint_types import JOINT_TYPES
from flex_robot_sim.description.robot import RobotDescription
from flex_robot_sim.description.sensor_summary import sensor_lines
from flex_robot_sim.description.world_summary import (
    base_motion_text,
    contact_text,
    summarise_base_motion,
    summarise_contact,
)
from flex_robot_sim.elastic.beam import NO_LOAD
from flex_robot_sim.elastic.discretise import directions
from flex_robot_sim.elastic.eigenmodes import first_bending_frequency, first_wave_frequency
from flex_robot_sim.elastic.section import DIRECTIONS, Section
from flex_robot_sim.elastic.section_profile import PROFILE_QUANTITIES
from flex_robot_sim.elastic.spatial_shapes import first_spatial_frequency
from flex_robot_sim.elastic.varying_shapes import first_frequency
from flex_robot_sim.util.exceptions import plain

_UNITS = {'length': 'm', 'mass': 'kg', 'EIy': 'N m2', 'EIz': 'N m2', 'GJ': 'N m2', 'EA': 'N'}


def summarise(robot: RobotDescription) -> dict[str, Any]:
    """Return a summary of a RobotDescription, ready for JSON; SI units and Hz."""
    return {
        'name': robot.name,
        'source': robot.source,
        'links': [_link(robot, index) for index in range(len(robot.links))],
        'joints': [_joint(joint) for joint in robot.joints],
        'constraints': [
            {'name': one.name, 'type': one.kind, 'parent': one.parent, 'child': one.child}
            for one in robot.constraints
        ],
        'contacts': [summarise_contact(one) for one in robot.contacts],
        'gravity': list(robot.gravity),
        'base_motion': summarise_base_motion(robot.base_motion),
        'tool': robot.tool._asdict(),
        'warnings': list(robot.warnings),
    }


def as_text(summary: Mapping[str, Any]) -> Iterator[str]:
    """Return a summary as lines of text."""
    return (plain(line) for line in _lines(summary))


def _lines(summary):
    yield (
        f'{summary["name"]} ({summary["source"]}): {_count(summary["links"], "link")}, '
        f'{_count([j for j in summary["joints"] if j["moves"]], "moving joint")}, '
        f'{_count([k for k in summary["links"] if k["beam"]], "flexible link")}, '
        f'{_count([j for j in summary["joints"] if j["stiffness"]], "flexible joint")}'
    )
    yield from _tree(summary)
    for one in summary['constraints']:
        yield f'  closed loop: {one["name"]}, {one["type"]}, {one["parent"]} to {one["child"]}'
    yield from (contact_text(one) for one in summary['contacts'])
    if summary['gravity'] != list(GRAVITY):
        yield f'  gravity: {" ".join(f"{value:g}" for value in summary["gravity"])} m/s2'
    if summary['base_motion']:
        yield base_motion_text(summary['base_motion'])
    yield from _tool_text(summary['tool'])
    for link in summary['links']:
        if link['beam']:
            yield from _beam_text(link['name'], link['beam'])
    yield from sensor_lines(summary)
    yield from (f'warning: {warning}' for warning in summary['warnings'])


def _link(robot, index):
    link = robot.links[index]
    return {
        'name': link.name,
        'parent': robot.joints[index - 1].parent if index else None,
        'mass': link.inertial.mass if link.inertial else 0.0,
        'beam': _beam(link) if link.beam else None,
        'imus': [_imu(imu) for imu in link.imus],
    }


def _imu(imu):
    return {
        'name': imu.name,
        'position': imu.position.tolist(),
        'rotation': imu.rotation.tolist(),
        'rate': imu.rate,
        'accelerometer': _imu_part(imu, 'accelerometer'),
        'gyroscope': _imu_part(imu, 'gyroscope'),
        'bits': imu.bits,
    }


def _imu_part(imu, kind):
    return {
        'noise': getattr(imu, f'{kind}_noise'),
        'bias': getattr(imu, f'{kind}_bias').tolist(),
        'range': _number(getattr(imu, f'{kind}_range')),
    }


def _beam(link):
    beam = link.beam
    return {
        'length': beam.length,
        'mass': link.inertial.mass,
        **{name: _number(getattr(beam, name)) for name in ('EIy', 'EIz', 'GJ', 'EA')},
        'first_clamped_frequency': {
            direction: _first_frequency(beam, direction)
            for direction in (DIRECTIONS if beam.axis is None else beam.coordinates)
        },
        'elements': beam.elements,
        'modes': dict(beam.coordinates),
        'segments': beam.segments,
        'boundary': beam.boundary,
        'kGAy': _number(beam.kGAy),
        'kGAz': _number(beam.kGAz),
        'axis': None if beam.axis is None else beam.axis.points.tolist(),
        'twist': [list(station) for station in beam.twist],
        'twist_coupling': beam.twist_coupling or beam.axis is not None,
        'reduced': None if beam.reduced is None else beam.reduced.link.source,
        'sections': _stations(beam),
        'damping_ratio': beam.damping_ratio,
        'damping_time': beam.damping_time,
        'sensors': [
            {'name': sensor.name, 'from': sensor.start, 'to': sensor.end, 'plane': sensor.plane}
            for sensor in beam.sensors
        ],
        'gauges': [
            {
                'name': gauge.name,
                'at': gauge.position.tolist(),
                'along': gauge.direction.tolist(),
                'distance': gauge.distance,
            }
            for gauge in beam.gauges
        ],
    }


def _first_frequency(beam, direction):
    """Frequency [Hz] of the bare beam; None in a direction that is rigid or has no inertia."""
    if beam.reduced is not None:
        return float(beam.reduced.link.frequencies[0]) * math.sqrt(beam.reduced.stiffness_scale)
    if beam.axis is not None:
        return first_spatial_frequency(beam.axis, beam.section_matrices)
    stiffness = beam.stiffness(direction)
    inertia = beam.section_inertia[0] if direction == 'torsion' else beam.mass_per_length
    if math.isnan(stiffness) or inertia == 0:
        return None
    if beam.profile is not None or beam.can_shear:
        return _first_varying_frequency(beam, direction)
    frequency = (
        first_bending_frequency if direction.startswith('bending') else first_wave_frequency
    )
    return frequency(beam.length, stiffness, inertia)


def _first_varying_frequency(beam, direction):
    section = Section(
        beam.mass_per_length,
        beam.section_inertia,
        *(getattr(beam, name) for name in ('EIy', 'EIz', 'GJ', 'EA', 'kGAy', 'kGAz')),
    )
    by_name = {one.name: one for one in directions(section, NO_LOAD, beam.profile)}
    return first_frequency(by_name[direction], beam.length)


def _stations(beam):
    """Values of a varying section at both ends of each of its pieces; [] if it is uniform."""
    if beam.profile is None:
        return []
    rows = []
    for piece, ends in enumerate(zip(beam.profile.breaks[:-1], beam.profile.breaks[1:])):
        for at, factors in zip(ends, beam.profile.piece_ends(piece)):
            by_name = dict(zip(PROFILE_QUANTITIES, factors))
            rows.append(
                {
                    'at': float(at),
                    **{
                        name: _number(getattr(beam, name) * by_name[name])
                        for name in ('EIy', 'EIz', 'GJ', 'EA', 'mass_per_length')
                    },
                }
            )
    return [row for row, previous in zip(rows, [None, *rows]) if row != previous]


def _joint(joint):
    return {
        'name': joint.name,
        'kind': joint.kind,
        'parent': joint.parent,
        'child': joint.child,
        'moves': joint.moves,
        'axis': [float(value) for value in joint.axis],
        'mimics': joint.mimics,
        'held_at': joint.held_at,
        **{
            name: _number(getattr(joint, name))
            for name in (
                'lower',
                'upper',
                'effort',
                'velocity',
                'acceleration',
                'deceleration',
                'jerk',
                'stiffness',
                'damping',
                'hysteresis',
                'backlash',
                'rotor_inertia',
                'gear_ratio',
                'spring_stiffness',
                'spring_reference',
                'pitch',
            )
        },
        'slip': [list(pair) for pair in joint.slip],
        'further_stiffness': list(joint.further_stiffness),
        'stiffness_torques': list(joint.stiffness_torques),
        **{
            name: [list(row) for row in getattr(joint, name)]
            for name in ('kinematic_error', 'cogging', 'torque_ripple')
        },
        'dc_motor': _dc_motor(joint),
        'encoder': asdict(joint.encoder) if joint.encoder else None,
        **{name: _number(value) for name, value in joint.friction._asdict().items()},
    }


def _dc_motor(joint):
    if joint.dc_motor is None:
        return None
    return {
        **{name: _number(value) for name, value in asdict(joint.dc_motor).items()},
        'stall_effort': joint.stall_effort,
        'no_load_rate': joint.no_load_rate,
    }


def _number(value):
    """Return the value; None for nan and inf, which JSON does not have."""
    return float(value) if math.isfinite(value) else None


def _count(items, noun):
    return f'{len(items)} {noun}{"" if len(items) == 1 else "s"}'


def _tree(summary):
    """Lines of the tree of links, each with its parent joint."""
    children: dict[str, list[dict]] = {link['name']: [] for link in summary['links']}
    links = {link['name']: link for link in summary['links']}
    for joint in summary['joints']:
        children[joint['parent']].append(joint)
    base = summary['links'][0]
    yield f'  {base["name"]}'
    stack = [
        (joint, '  ', joint is children[base['name']][-1])
        for joint in reversed(children[base['name']])
    ]
    while stack:
        joint, indent, is_last = stack.pop()
        below = children[joint['child']]
        yield f'{indent}{"└─" if is_last else "├─"} {_branch(joint, links[joint["child"]])}'
        indent += '   ' if is_last else '│  '
        stack.extend((child, indent, child is below[-1]) for child in reversed(below))


def _branch(joint, link):
    words = [link['name']]
    if link['mass']:
        words.append(f'{link["mass"]:.4g} kg')
    if link['beam']:
        words.append('flexible')
    motion = joint['kind']
    if joint['held_at'] is not None:
        motion += f', held at {joint["held_at"]:g}'
    if joint['moves']:
        motion += f' {_axis(joint["axis"])}'
        if joint['pitch']:
            motion += f', screw of {joint["pitch"]:g} m per turn'
        if joint['mimics']:
            motion += f', mimics {joint["mimics"]}'
    motion += ''.join(f', {text}' for text in _drive(joint))
    unit = JOINT_TYPES[joint['kind']].unit
    for name, power in (('acceleration', 2), ('deceleration', 2), ('jerk', 3)):
        if joint['moves'] and joint[name]:
            motion += f', {name} {joint[name]:g} {unit}/s{power}'
    return f'{" ".join(words)}  [{joint["name"]}: {motion}]'


def _drive(joint):
    """Texts about the gear and the motor of a joint."""
    unit, effort_unit = JOINT_TYPES[joint['kind']].unit, JOINT_TYPES[joint['kind']].effort_unit
    if joint['stiffness']:
        yield f'stiffness {joint["stiffness"]:g} {effort_unit}/{unit}'
    for stiffness, torque in zip(joint['further_stiffness'], joint['stiffness_torques']):
        yield f'{stiffness:g} beyond {torque:g} {effort_unit}'
    if joint['hysteresis']:
        yield f'hysteresis {joint["hysteresis"]:g}'
    if joint['slip']:
        yield f'{_count(joint["slip"], "spring")} that slip'
    if joint['backlash']:
        yield f'backlash {joint["backlash"]:g} {unit}'
    for name in ('kinematic_error', 'cogging', 'torque_ripple'):
        if joint[name]:
            yield name.replace('_', ' ')
    if joint['dc_motor']:
        stall, rate = (joint['dc_motor'][name] for name in ('stall_effort', 'no_load_rate'))
        yield f'DC motor of {stall:.4g} {effort_unit} at stall, {rate:.4g} {unit}/s without load'


def _axis(axis):
    for name, index in (('x', 0), ('y', 1), ('z', 2)):
        if abs(abs(axis[index]) - 1) < 1e-9:
            return name if axis[index] > 0 else f'-{name}'
    return '(' + ' '.join(f'{value:.3g}' for value in axis) + ')'


def _tool_text(tool):
    yield f'  tool: {tool["link"]} ({tool["reason"]})'
    if tool['other_ends']:
        yield (
            f'    as many joints move {", ".join(tool["other_ends"])}: '
            'choose one with --tool or the parameter tool'
        )


def _beam_text(name, beam):
    values = ', '.join(
        f'{key} {beam[key]:.4g} {unit}' for key, unit in _UNITS.items() if beam[key] is not None
    )
    yield f'  {name}: {values}'
    for row in beam['sections']:
        values = ', '.join(
            f'{key} {row[key]:.4g} {unit}'
            for key, unit in (*list(_UNITS.items())[2:], ('mass_per_length', 'kg/m'))
            if row[key] is not None
        )
        yield f'    section at {row["at"]:g}: {values}'
    if beam['reduced'] is not None:
        yield f'    reduced from {beam["reduced"]}'
    elif beam['axis'] is not None:
        points = len(beam['axis'])
        curve = f'axis through {points} points' if points > 2 else 'straight axis'
        angles = [angle for _, angle in beam['twist']]
        twist = f', twist from {angles[0]:g} to {angles[-1]:g} rad' if angles else ''
        yield f'    spatial beam, {curve}{twist}'
    elif beam['twist_coupling']:
        yield '    bending couples with twist'
    if beam['kGAy'] is not None or beam['kGAz'] is not None:
        shear = ', '.join(f'{key} {beam[key]:.4g} N' for key in ('kGAy', 'kGAz') if beam[key])
        yield f'    the section shears: {shear}'
    frequencies = ', '.join(
        f'{direction} {frequency:.4g} Hz'
        for direction, frequency in beam['first_clamped_frequency'].items()
        if frequency is not None
    )
    yield f'    first clamped-free frequency: {frequencies}'
    form = f'{beam["elements"]} finite elements' if beam['elements'] else 'modes'
    modes = ', '.join(f'{direction} {count}' for direction, count in beam['modes'].items())
    segments = f' in {beam["segments"]} segments' if beam['segments'] > 1 else ''
    yield f'    {form}{segments}: {modes}'
    for sensor in beam['sensors']:
        yield (
            f'    flex sensor {name}/{sensor["name"]}: {sensor["from"]:g} to '
            f'{sensor["to"]:g} m, plane {sensor["plane"]}'
        )
    for gauge in beam['gauges']:
        at, along = (' '.join(f'{value:.4g}' for value in gauge[key]) for key in ('at', 'along'))
        yield (
            f'    strain gauge {name}/{gauge["name"]}: at {at} m, along {along}, distance '
            f'{gauge["distance"]:g} m'
        )

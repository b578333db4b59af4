"""Lines about IMUs and encoders in the summary of a robot."""

from collections.abc import Iterator, Mapping
from typing import Any

from flex_robot_sim.description.joint_types import JOINT_TYPES

UNITS = {'accelerometer': 'm/s2', 'gyroscope': 'rad/s'}


def sensor_lines(summary: Mapping[str, Any]) -> Iterator[str]:
    """Return lines about the IMUs and encoders of a summary of `summarise`."""
    for link in summary['links']:
        for imu in link['imus']:
            yield from _imu_lines(link['name'], imu)
    for joint in summary['joints']:
        if joint['encoder']:
            yield f'  encoder of {joint["name"]}: {_encoder_text(joint)}'


def _imu_lines(link, imu):
    position = ' '.join(f'{value:g}' for value in imu['position'])
    steps = f', {imu["bits"]} bits' if imu['bits'] else ''
    yield f'  IMU {imu["name"]} on {link}: at {position} m, {imu["rate"]:g} Hz{steps}'
    for kind, unit in UNITS.items():
        part = imu[kind]
        words = []
        if part['noise']:
            words.append(f'noise {part["noise"]:g} {unit}/sqrt(Hz)')
        if any(part['bias']):
            words.append(f'bias {" ".join(f"{value:g}" for value in part["bias"])} {unit}')
        if part['range']:
            words.append(f'range {part["range"]:g} {unit}')
        if words:
            yield f'    {kind}: {", ".join(words)}'


def _encoder_text(joint):
    encoder, unit = joint['encoder'], JOINT_TYPES[joint['kind']].unit
    units = {'resolution': unit, 'noise': unit, 'delay': 's'}
    return ', '.join(
        f'{name} {encoder[name]:g} {unit}' for name, unit in units.items() if encoder[name]
    )

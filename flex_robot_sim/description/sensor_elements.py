"""Reading of `<imu>` and `<encoder>` in `<flexibility>`."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from flex_robot_sim.description.document import Document, XmlElement
from flex_robot_sim.description.links import Link
from flex_robot_sim.description.orientation import turned_by
from flex_robot_sim.description.sensors import Encoder, Imu
from flex_robot_sim.description.values import only, read_attributes, read_children
from flex_robot_sim.description.words import FLEXIBILITY

STATION_TOLERANCE = 1e-3  # of a part beyond an end of the beam, over its length     [-]
_RANGES = {'accelerometer_range': 'm/s2', 'gyroscope_range': 'rad/s'}
_BIASES = 'accelerometer_bias', 'gyroscope_bias'


def read_imus(
    document: Document, elements: Iterable[XmlElement], link: Link, known: Mapping[str, Link]
) -> tuple[Imu, ...]:
    """
    Return the IMUs of a link, which has its beam if it is flexible.

    :param known: all links of the robot; those that are read already have their IMUs.
    """
    taken = {imu.name for other in known.values() for imu in other.imus}
    imus: list[Imu] = []
    for element in elements:
        imu = _read_imu(document, element)
        if imu.name in taken:
            raise document.error(
                element, f'the robot has two IMUs "{imu.name}"', 'Rename one of them'
            )
        if imu.name in known and not (imu.name == link.name and imu.is_at_origin):
            raise document.error(
                element,
                f'IMU "{imu.name}" has the name of a link, whose frame is another one',
                'Rename it',
            )
        _check_station(document, element, imu, link)
        taken.add(imu.name)
        imus.append(imu)
    return tuple(imus)


def _read_imu(document, element):
    read_children(document, element, ())
    values = read_attributes(document, element, FLEXIBILITY['imu'])
    missing = [name for name in _RANGES if values[name] is None]
    if values['bits'] is not None and missing:
        raise document.error(
            element,
            f'IMU "{values["name"]}" has bits but no {missing[0]}',
            f'Give {missing[0]} [{_RANGES[missing[0]]}], or remove bits',
        )
    position, rotation = np.array(values.pop('xyz')), turned_by(values.pop('rpy'))
    biases: dict[str, Any] = {name: np.array(values.pop(name)) for name in _BIASES}
    limits: dict[str, Any] = {name: values.pop(name) or np.inf for name in _RANGES}
    return Imu(position=position, rotation=rotation, **biases, **limits, **values)


def _check_station(document, element, imu, link):
    """Refuse an IMU beyond the ends of a flexible link."""
    if link.beam is None:
        return
    along, length = link.beam.station(imu.position), link.beam.length
    if not -STATION_TOLERANCE * length <= along <= (1 + STATION_TOLERANCE) * length:
        raise document.error(
            element,
            f'IMU "{imu.name}" would ride at {along:.4g} m on the beam of link "{link.name}", '
            f'which ends at {length:.4g} m',
            'Move its xyz between the ends of the beam, or correct the end of the beam',
        )


def read_encoder(
    document: Document, children: Mapping[str, Sequence[XmlElement]], joint: str
) -> Encoder | None:
    """Return the Encoder of a joint from the children of its element, or None."""
    element = only(document, children, 'encoder')
    if element is None:
        return None
    read_children(document, element, ())
    encoder = Encoder(**read_attributes(document, element, FLEXIBILITY['encoder']))
    if encoder == Encoder():
        raise document.error(
            element,
            f'the <encoder> of joint "{joint}" has no resolution, noise or delay',
            'Give one of them, or remove the <encoder>',
        )
    return encoder

"""`<reduced>`: a flexible link from a file of a reduced finite element model."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from flex_robot_sim.description.document import Document, XmlElement
from flex_robot_sim.description.links import ElasticBeam, Link
from flex_robot_sim.description.named_file import find_named_file
from flex_robot_sim.description.values import only, read_attributes, read_children
from flex_robot_sim.description.words import FLEXIBILITY
from flex_robot_sim.elastic.axis_curve import AxisCurve
from flex_robot_sim.reduction.reduced_beam import ReducedBeam
from flex_robot_sim.reduction.reduced_file import ReducedFileError, content_hash, read_reduced
from flex_robot_sim.reduction.reduced_link import ReducedLink
from flex_robot_sim.util.exceptions import DescriptionError

MASS_TOLERANCE = 0.01  # of the <inertial> compared with the mesh                      [-]
CENTRE_TOLERANCE = 0.01  # of its centre of mass, over the length of the link            [-]
STATION_TOLERANCE = 1e-3  # of a child joint from a station, over the length of the link [-]
_BEAM_WORDS = ('section', 'rectangle', 'tube', 'rod', 'material', 'modes', 'elements', 'axis')


def read_reduced_link(
    document: Document,
    element: XmlElement,
    values: Mapping[str, Any],
    link: Link,
    children: Mapping[str, list[XmlElement]],
) -> dict[str, Any] | None:
    """
    Return the fields of the ElasticBeam of a reduced `link`, but for its damping and gauges.

    None: a recorded robot without this file.

    :param values: attributes of its <link> `element`; children: its child elements.
    """
    assert link.inertial is not None
    row = only(document, children, 'reduced')
    assert row is not None
    read_children(document, row, ())
    if children['flex_sensor']:
        raise document.error(
            children['flex_sensor'][0],
            f'flexible link "{link.name}" has a <reduced> and a <flex_sensor>',
            'Give it a <strain_gauge>',
        )
    for tag in _BEAM_WORDS:
        if children[tag]:
            raise document.error(
                children[tag][0],
                f'flexible link "{link.name}" has a <reduced> and a <{tag}>',
                f'Remove the <{tag}>: the file of <reduced> has all of the link',
            )
    attributes = read_attributes(document, row, FLEXIBILITY['reduced'])
    if document.recorded is None:
        model, file_hash = _read_model(document, row, attributes, link)
    else:
        found = _recorded_model(document, row, attributes, link)
        if found is None:
            return None
        model, file_hash = found
    count = attributes['modes'] or model.size
    end = np.array(values['end'])
    length = float(np.sqrt(end @ end))
    if length < 1e-12:
        raise document.error(
            element, f'flexible link "{link.name}" has the length zero', 'Give its far end [m]'
        )
    _compare_inertial(document, row, link, model, length)
    across = np.eye(3)[np.argmin(np.abs(end))]
    return {
        'end': end,
        'axes': np.eye(3),
        'length': length,
        'mass_per_length': model.mass / length,
        'section_inertia': np.zeros(3),
        **dict.fromkeys(('EIy', 'EIz', 'GJ', 'EA'), np.nan),
        'coordinates': {'mode': count},
        'elements': 0,
        'segments': 1,
        'boundary': 'static',
        'axis': AxisCurve(np.array([np.zeros(3), end]), across),
        'reduced': ReducedBeam(
            model, end, np.eye(model.size, count), attributes['stiffness_scale'], file_hash
        ),
    }


def check_reduced_station(
    document: Document, beam: ElasticBeam, what: str, link: str, position: np.ndarray, line: int
) -> None:
    """Raise DescriptionError if a child at a position (3,) [m] is at no station of the link."""
    _, station = beam.section_pose(beam.station(position))
    if np.abs(position - station).max() > STATION_TOLERANCE * beam.length:
        x, y, z = station
        raise document.error_at(
            line,
            f'{what} is at no station of the reduced link "{link}": the nearest is at '
            f'{x:.4g} {y:.4g} {z:.4g} m',
            'Correct its <origin>, or reduce the link again with this joint',
        )


def _recorded_model(document, row, attributes, link) -> tuple[ReducedLink, str] | None:
    """Return the model and the hash of its file; None after a note if it is another one."""
    expected = document.recorded.hashes.get(link.name)
    try:
        model, file_hash = _read_model(document, row, attributes, link)
        if expected in (None, file_hash):
            return model, file_hash
        reason = f'the file "{attributes["file"]}" is not the one of the recording'
    except DescriptionError as error:
        reason = str(error).rstrip('.')
    document.recorded.notes.append(f'link "{link.name}" is shown as a rigid one: {reason}')
    return None


def _read_model(document, row, attributes, link) -> tuple[ReducedLink, str]:
    """Return the model of a file, and the hash of the file."""
    name = attributes['file']
    path = find_named_file(document, row, name, '; "flexsim reduce" writes it')
    try:
        model, file_hash = read_reduced(path, link.name), content_hash(path)
    except ReducedFileError as error:
        raise document.error(row, str(error).rstrip('.'), 'Or give another file') from error
    except OSError as error:
        raise document.error(
            row, f'the file "{name}" cannot be read', 'Check its permissions'
        ) from error
    count = attributes['modes'] or 1
    if count > model.size:
        raise document.error(
            row,
            f'the file "{name}" has {model.size} modes, and not {count}',
            f'Ask for at most {model.size}, or reduce the link again with more modes',
        )
    return model, file_hash


def _compare_inertial(document, row, link, model, length):
    mass = link.inertial.mass
    if abs(mass / model.mass - 1.0) > MASS_TOLERANCE:
        raise document.error(
            row,
            f'flexible link "{link.name}" weighs {mass:g} kg, but its reduced model '
            f'{model.mass:g} kg',
            'Correct one of them; motors and payloads belong in links of their own',
        )
    x, y, z = model.centre
    if np.abs(link.inertial.centre - model.centre).max() > CENTRE_TOLERANCE * length:
        document.warn(
            document.line(row),
            f'the centre of mass of flexible link "{link.name}" is not that of its reduced model, '
            'as which it is simulated',
            f'Put it at {x:.4g} {y:.4g} {z:.4g} m',
        )

"""Elements of a reduced link; mass and inertia are those of its file."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any
from xml.etree.ElementTree import Element

import numpy as np
from numpy.typing import ArrayLike

from flex_robot_sim.description.attribute_text import (
    attribute_texts,
    unusable,
    vector,
    vector_text,
)
from flex_robot_sim.description.beam_link import damping_element
from flex_robot_sim.description.urdf_elements import (
    flexible_element,
    inertial_element,
    link_element,
)
from flex_robot_sim.description.words import FLEXIBILITY
from flex_robot_sim.reduction.reduced_file import ReducedFileError, read_reduced
from flex_robot_sim.util.exceptions import SettingError, shortened


def reduced_link(
    name: str,
    file: str | Path,
    end: ArrayLike | None,
    values: Mapping[str, Any],
    damping: Mapping[str, Any],
) -> tuple[Element, Element]:
    """
    Return the <link>, and that in <flexibility>, of the arguments of `ArmBuilder.add_reduced`.

    :param values: modes, stiffness_scale; damping: damping_ratio, damping_time.
    """
    owner = f'link "{name}"'
    if not isinstance(file, (str, Path)):
        raise unusable(owner, 'file', file, 'the path of a file of "flexsim reduce"')
    path = Path(file).absolute()
    try:
        model = read_reduced(path, name)
    except (ReducedFileError, OSError) as error:
        reason = getattr(error, 'strerror', None) or str(error)
        raise SettingError(f'file of {owner}: {shortened(reason, 300)}') from error
    if end is None and len(model.station_names) != 1:
        raise SettingError(
            f'end of {owner} is missing: its file has {len(model.station_names)} stations. Give '
            'the far end, in the link frame [m]'
        )
    tip = model.station_points[0] if end is None else vector(owner, 'end', end, 'm')
    parts = {
        'reduced': attribute_texts(owner, FLEXIBILITY['reduced'], {'file': str(path), **values})
    } | damping_element(owner, damping)
    inertia = (model.inertia + model.inertia.T) / 2
    inertial = inertial_element(model.mass, model.centre, np.zeros(3), inertia)
    return (
        link_element(name, [inertial]),
        flexible_element('link', {'name': name, 'end': vector_text(tip)}, parts),
    )

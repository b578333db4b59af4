"""`<compliance>` of a constraint: springs and dampers in place of rigid conditions."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from flex_robot_sim.description.document import Document, XmlElement

WITHOUT_ROTATION = 'spherical', 'distance'  # constraints that no rotation opens


class Compliance(NamedTuple):
    """Stiffness and damping of a constraint in translation and in rotation."""

    stiffness: float = np.inf  # [N/m]; inf: rigid
    damping: float = 0.0  # [N s/m]
    rotational_stiffness: float = np.inf  # [N m/rad]; inf: rigid
    rotational_damping: float = 0.0  # [N m s/rad]


def checked_compliance(
    document: Document, element: XmlElement, values: dict[str, Any], kind: str, name: str
) -> Compliance:
    """Return the Compliance of a constraint from the attributes of its <compliance>."""
    for prefix, owner in (('', 'translation'), ('rotational_', 'rotation')):
        stiffness, damping = f'{prefix}stiffness', f'{prefix}damping'
        if values[damping] > 0.0 and values[stiffness] is None:
            raise document.error(
                element,
                f'constraint "{name}" has a {damping} but no {stiffness}',
                f'Give {stiffness}, or leave out {damping}: without it, {owner} is rigid',
            )
    if values['stiffness'] is None and values['rotational_stiffness'] is None:
        raise document.error(
            element,
            f'the <compliance> of constraint "{name}" has no stiffness',
            'Give stiffness [N/m] or rotational_stiffness [N m/rad]',
        )
    if values['rotational_stiffness'] is not None and kind in WITHOUT_ROTATION:
        raise document.error(
            element,
            f'{kind} constraint "{name}" has a rotational_stiffness, but no rotation opens it',
            'Remove it, or choose another type',
        )
    return Compliance(
        **{name: np.inf if value is None else value for name, value in values.items()}
    )

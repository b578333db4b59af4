"""Settings of rviz2 for one robot: view, grid and axes as large as it needs them."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import numpy as np

from flex_robot_sim.display.extent import middle, reach

if TYPE_CHECKING:
    from flex_robot_sim.model.arm_model import ArmModel

# in parts of the reach; seen in rviz with arms of 0.4 to 16 m
DISTANCE = 1.7          # of the camera from what it looks at
CELLS = 0.5             # side of a grid cell, rounded
AXES = 0.08             # of the tool, long
FRAMES = 0.3            # size of the display of TF, off at first
NEAR = 0.01             # nothing nearer to the camera is drawn


def fitted_layout(tree: dict[str, Any], arm: ArmModel) -> str:
    """
    Return the text of a settings file of rviz2 that fits the reach of an ArmModel.

    :param tree: what YAML makes of config/simulation.rviz; it is changed.
    """
    size = reach(arm.description)
    manager = tree['Visualization Manager']
    manager['Global Options']['Fixed Frame'] = arm.description.links[0].name
    displays = {item['Name']: item for item in manager['Displays']}
    displays['Grid']['Cell Size'] = round_length(CELLS * size)
    displays['Tool'].update({'Length': _short(AXES * size), 'Radius': _short(AXES * size / 20),
                             'Reference Frame': arm.tool})
    displays['TF']['Marker Scale'] = _short(FRAMES * size)
    view = manager['Views']['Current']
    view['Distance'], view['Near Clip Distance'] = _short(DISTANCE * size), _short(NEAR * size)
    view['Focal Point'] = dict(zip('XYZ', map(_short, middle(arm))))
    return json.dumps(tree, indent=1)       # JSON is YAML, which rviz reads


def round_length(length: float) -> float:
    """Return the 1, 2 or 5 times a power of ten that is nearest to a length, by ratio [m]."""
    power = np.floor(np.log10(length))
    steps = np.array([1.0, 2.0, 5.0, 10.0])
    best = steps[np.abs(np.log(steps * 10.0**power / length)).argmin()]
    return float(f'{best * 10.0**power:.0e}')


def _short(value):
    """Three digits are enough for a picture."""
    return float(f'{value:.3g}') + 0.0

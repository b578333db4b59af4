"""Settings of rviz2 for one robot: view, grid and axes scaled to its reach."""

import json
from typing import Any

import numpy as np

from flex_robot_sim.display.base_frames import root_frame
from flex_robot_sim.display.extent import middle, reach
from flex_robot_sim.model.arm_model import ArmModel

# relative to the reach; tested in rviz with arms of 0.4 to 16 m
VIEW_DISTANCE = 1.7  # from its focal point
GRID_CELL = 0.5  # side length, rounded
TOOL_AXES = 0.08  # of the display of the tool frame
TF_SCALE = 0.3  # marker scale of the TF display, initially off
NEAR_CLIP = 0.01  # of the camera


def fitted_layout(tree: dict[str, Any], arm: ArmModel) -> str:
    """Return rviz2 settings that fit an ArmModel; modifies `tree`, config/simulation.rviz."""
    size = reach(arm.description)
    manager = tree['Visualization Manager']
    manager['Global Options']['Fixed Frame'] = root_frame(arm.description)
    displays = {item['Name']: item for item in manager['Displays']}
    displays['Grid']['Cell Size'] = round_length(GRID_CELL * size)
    displays['Tool'].update(
        {
            'Length': _round3(TOOL_AXES * size),
            'Radius': _round3(TOOL_AXES * size / 20),
            'Reference Frame': arm.tool,
        }
    )
    displays['TF']['Marker Scale'] = _round3(TF_SCALE * size)
    view = manager['Views']['Current']
    view['Distance'] = _round3(VIEW_DISTANCE * size)
    view['Near Clip Distance'] = _round3(NEAR_CLIP * size)
    view['Focal Point'] = dict(zip('XYZ', map(_round3, middle(arm))))
    return json.dumps(tree, indent=1)  # JSON is YAML, which rviz reads


def round_length(length: float) -> float:
    """Return the 1, 2 or 5 times a power of ten that is nearest to a length, by ratio [m]."""
    power = np.floor(np.log10(length))
    steps = np.array([1.0, 2.0, 5.0, 10.0])
    best = steps[np.abs(np.log(steps * 10.0**power / length)).argmin()]
    return float(f'{best * 10.0**power:.0e}')


def _round3(value):
    """Round to three digits."""
    return float(f'{value:.3g}') + 0.0

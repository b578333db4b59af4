"""Tables of a shaper as JSON, for the ROS plugins in `ros2_plugins/`, which read no headers."""

from __future__ import annotations

import json

import numpy as np

from flex_robot_sim.export.shaper_tables import FIELDS, ShaperTables

KIND = 'flex_robot_sim shaper tables 1'


def json_tables(tables: ShaperTables, origin: str) -> str:
    """Return the constants of a header of C as JSON; origin: a line about its program."""
    values = {field.name: np.asarray(tables.values[field.name]).tolist() for field in FIELDS}
    if not tables.has_stages:
        for field in FIELDS:
            if {'stages', 'axes', 'rows'} & {*field.size}:
                values[field.name] = []
    return (
        json.dumps(
            {
                'kind': KIND,
                'origin': origin,
                'shaper': tables.shaper,
                'robot': tables.robot,
                'joint_names': list(tables.joints),
                **tables.sizes,
                **values,
            },
            allow_nan=False,
        )
        + '\n'
    )

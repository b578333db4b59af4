"""
What the flex sensors of an arm see: mean curvature of a beam between two stations.

In the plane xy a beam has the curvature v'', in xz w'': positive where it bends towards its +y or
+z axis, so that a cantilever that is pulled towards +y has positive curvature all along. The mean
between the stations a and b is the difference of the slopes there over their distance,

    (v'(b) - v'(a)) / (b - a),

a linear map of the elastic coordinates. In a beam cut into segments each of them adds the
difference of slopes over the part that lies in it: a gauge feels its own piece of the beam, not
how the piece before it has turned.
"""

from typing import NamedTuple

import numpy as np

_SLOPE = {'xy': (2, 1.0), 'xz': (1, -1.0)}      # row of Beam.turn (phi, -w', v'), and its sign


class FlexSensors(NamedTuple):
    """All flex sensors of an arm: `matrix @ coordinates` and `matrix @ rates` are their values."""

    names: tuple            # (k,)    '<link>/<sensor>', links base to tip
    matrix: np.ndarray      # (k, n)  mean curvature by coordinate          [1/m per coordinate]


def flex_sensors(arm):
    """
    Return the FlexSensors of an ArmModel with n coordinates.

    The product with the coordinates is curvature [1/m]; with their rates, its rate [1/(m s)].
    """
    sensors = [(link, sensor) for link in arm.segments
               for sensor in arm.description.link(link).beam.sensors]
    matrix = np.zeros((len(sensors), arm.size))
    for row, (link, sensor) in zip(matrix, sensors):
        _add_slopes(arm, link, sensor, row)
    return FlexSensors(tuple(f'{link}/{sensor.name}' for link, sensor in sensors), matrix)


def _add_slopes(arm, link, sensor, row):
    """Add to `row` (n,) the differences of slopes over all segments that the sensor touches."""
    axis, sign = _SLOPE[sensor.plane]
    root = 0.0
    for body in arm.segments[link]:
        beam, first = arm.beams[body], arm.arrays.first[body]
        ends = np.clip([sensor.start - root, sensor.end - root], 0.0, beam.length)
        before, after = beam.turn(ends)[:, axis]
        row[first:first + beam.size] += sign * (after - before) / (sensor.end - sensor.start)
        root += beam.length

"""
Readings of the flex sensors of an arm: mean curvature of a beam between two stations.

In the plane xy a beam has the curvature v'', in xz w'': positive where it bends towards its +y or
+z axis, so that a cantilever that is pulled towards +y has positive curvature all along. The mean
between the stations a and b is the difference of the slopes there over their distance,

    (v'(b) - v'(a)) / (b - a),

a linear map of the elastic coordinates. In a segmented beam, each segment adds the difference of
slopes over the covered part; rotation of preceding segments has no effect. A gauge without length
measures the curvature at its position; between two elements or segments, the mean of both.

A strain gauge on a reduced link reads the strain of its surface over a given distance, which for a
beam is the curvature.
"""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

import numpy as np

from flex_robot_sim.description.sensors import FlexSensor, StrainGauge
from flex_robot_sim.model.arguments import checked, expect_arm
from flex_robot_sim.model.arm_model import ArmModel
from flex_robot_sim.reduction.reduced_beam import ReducedBeam

POINT_OFFSET_RATIO = 1e-9  # to either side of a gauge without length, over the segment length
_SLOPE = {'xy': (2, 1.0), 'xz': (1, -1.0)}  # row of Beam.turn (phi, -w', v'), and its sign;
#                                                 the rows of Beam.strain begin with u'


class FlexSensors(NamedTuple):
    """All flex sensors of an arm: `matrix @ coordinates` and `matrix @ rates` are their values."""

    names: tuple[str, ...]  # (k,)    '<link>/<sensor>', links base to tip
    matrix: np.ndarray  # (k, n)  mean curvature by coordinate          [1/m per coordinate]


def curvatures(arm: ArmModel, q: np.ndarray) -> dict[str, float]:
    """
    Mean curvature at each flex sensor of an arm, by '<link>/<sensor>' [1/m].

    :param q: coordinates, (nq,) [rad, m]; given v instead, the result is in 1/(m s).

    Example::

        arm = frs.load('two_link')
        rest = frs.equilibrium(arm, [0.0, 0.5, -0.8])
        assert frs.curvatures(arm, rest.q)['forearm/root'] != 0.0
    """
    expect_arm(arm, closed_loops=True, free_base=True)
    q = checked('q', q, arm.coordinate_names)
    sensors = flex_sensors(arm)
    return dict(zip(sensors.names, (sensors.matrix @ q).tolist()))


@lru_cache(maxsize=8)
def flex_sensors(arm: ArmModel) -> FlexSensors:
    """Return the FlexSensors: times coordinates a curvature [1/m], times rates its rate."""
    sensors: list[tuple[str, FlexSensor | StrainGauge]] = []
    for link in arm.segments:
        beam = arm.description.beam(link)
        sensors += [(link, sensor) for sensor in beam.sensors]
        sensors += [(link, gauge) for gauge in beam.gauges]
    matrix = np.zeros((len(sensors), arm.size))
    for row, (link, sensor) in zip(matrix, sensors):
        if isinstance(sensor, StrainGauge):
            _add_strain(arm, link, sensor, row)
        elif sensor.start < sensor.end:
            _add_slopes(arm, link, sensor, row)
        else:
            _add_curvatures(arm, link, sensor, row)
    matrix.setflags(write=False)
    return FlexSensors(tuple(f'{link}/{sensor.name}' for link, sensor in sensors), matrix)


def _add_strain(arm, link, gauge, row):
    """Add to `row` (n,) the strain over the distance of a strain gauge."""
    ((beam, columns),) = arm.beams_of(link)
    assert isinstance(beam, ReducedBeam)
    row[columns] += beam.surface_strain(gauge.position, gauge.direction) / gauge.distance


def _add_slopes(arm, link, sensor, row):
    """Add to `row` (n,) the differences of slopes over all segments under the sensor."""
    axis, sign = _SLOPE[sensor.plane]
    segment_start = 0.0
    for beam, columns in arm.beams_of(link):
        ends = np.clip(
            [sensor.start - segment_start, sensor.end - segment_start], 0.0, beam.length
        )
        slope_at_start, slope_at_end = beam.curvature_integral(ends)[:, axis]
        row[columns] += sign * (slope_at_end - slope_at_start) / (sensor.end - sensor.start)
        segment_start += beam.length


def _add_curvatures(arm, link, sensor, row):
    """Add to `row` (n,) the mean of the curvatures on both sides of a gauge without length."""
    axis, sign = _SLOPE[sensor.plane]
    beams = arm.beams_of(link)
    length = beams[0][0].length
    positions = np.clip(
        sensor.start + np.array([-POINT_OFFSET_RATIO, POINT_OFFSET_RATIO]) * length,
        0.0,
        len(beams) * length,
    )
    for x in positions:
        segment = min(int(x / length), len(beams) - 1)
        beam, columns = beams[segment]
        row[columns] += sign * beam.strain(x - segment * length)[axis + 1] / 2

"""Gauges that are logged in strain or another unit instead of curvature, found with a model."""

from __future__ import annotations

from collections.abc import Collection
from collections.abc import Sequence as Rows

import numpy as np

from flex_robot_sim.description.robot import RobotDescription
from flex_robot_sim.identification.gauge_assignment import (
    MAX_GAUGES,
    best_order,
    explains_clearly_more,
)
from flex_robot_sim.util.exceptions import UsageError

MAX_RATIO = 10.0  # of a signal over the curvature of the model, and its inverse
MAX_FITTED_RATIO = 50.0  # the same if the gain of the gauge is fitted
MIN_EXPLAINED = 0.6  # share of the variance that the model explains with any gain
PLANES = 'xy', 'xz'  # of the y and the z axis of a section
UNITS = {'microstrain': 1e-6, 'strain': 1.0}
MAX_MISFIT = 5.0  # of the factor that the model expects, from that of the described section
DISTANCES = 2e-5, 0.5  # of a surface from the neutral axis [m]


def refuse_other_units(
    log: str,
    description: RobotDescription,
    names: Rows[str],
    measured: np.ndarray,
    predicted: np.ndarray,
    fitted: Collection[str] = (),
) -> None:
    """
    Raise UsageError for a gauge whose unit is none of curvature.

    :param names: of the gauges, (g,); measured: their signals, (k, g); predicted: of a model.
    :param fitted: gauges whose gain is fitted.
    """
    is_finite = np.isfinite(predicted).all(axis=1)
    measured, predicted = measured[is_finite], predicted[is_finite]
    order = _order(measured, predicted)
    for j, (name, source) in enumerate(zip(names, order)):
        factor = _factor(measured[:, source], predicted[:, j])
        limit = MAX_FITTED_RATIO if name in fitted else MAX_RATIO
        if not factor or 1 / limit < abs(factor) < limit:
            continue
        unit, remedy = _remedy(description, name, factor)
        is_swapped = source != j
        signal = f'the signal of "{names[source]}"' if is_swapped else f'"{name}"'
        raise UsageError(
            f'{log}: {signal} is {1 / abs(factor):.3g} times the curvature that the model '
            f'expects{f" of {chr(34)}{name}{chr(34)}" if is_swapped else ""}: '
            f'{"swapped and " if is_swapped else ""}{unit}? Give --signal {name}=COLUMN*{remedy}'
            f'{f", with the column of {names[source]}" if is_swapped else ""}.'
        )


def _order(measured, predicted):
    """Return the column of each gauge: its own, unless others fit clearly better by shape."""
    count = measured.shape[1]
    unchanged = tuple(range(count))
    if count > MAX_GAUGES:
        return unchanged
    shares = [
        [_similarity(measured[:, i], predicted[:, j]) for i in range(count)] for j in range(count)
    ]
    best = best_order(shares)
    is_clear = all(
        i == j or explains_clearly_more(shares[j][i], shares[j][j]) for j, i in enumerate(best)
    )
    return best if is_clear else unchanged


def _similarity(values, expected):
    """Return the share of the variance that is explained with the best factor of any size."""
    values, expected = values - values.mean(), expected - expected.mean()
    scale = float(values @ values) * float(expected @ expected)
    return float(values @ expected) ** 2 / scale if scale else 0.0


def _factor(values, expected):
    """Return the factor from a signal to the curvature of a model; 0 if the shapes differ."""
    if _similarity(values, expected) <= MIN_EXPLAINED:
        return 0.0
    values = values - values.mean()
    return float(values @ expected) / float(values @ values)


def _remedy(description, name, factor):
    """Return the likely unit of a gauge, and its factor in words."""
    for unit, size in UNITS.items():
        estimate = size / abs(factor)
        if not DISTANCES[0] < estimate < DISTANCES[1]:
            continue
        source = f'{size:g} over the distance from the neutral axis'
        distance = _distance(description, name)
        if distance is None or not 1 / MAX_MISFIT < estimate / distance < MAX_MISFIT:
            return f'in {unit}', f'F, where F is {source} [m], roughly {factor:.1g}'
        number = np.copysign(size / distance, factor)
        return f'in {unit}', f'{number:.4g} ({source}, {distance:.3g} m)'
    return 'in another unit', f'{factor:.1g}, roughly'


def _distance(description, name):
    """Return the distance of the surface from the neutral axis [m]; None if it is unknown."""
    link, _, sensor_name = name.partition('/')
    beam = description.beam(link)
    for gauge in beam.gauges:
        if gauge.name == sensor_name:
            return abs(gauge.distance)
    sensor = next(sensor for sensor in beam.sensors if sensor.name == sensor_name)
    size = beam.size_at((sensor.start + sensor.end) / (2 * beam.length))
    return None if size is None else 0.5 * size[PLANES.index(sensor.plane)]

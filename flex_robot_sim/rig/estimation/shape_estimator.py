"""
Shape of a link from flex sensors: least squares on curvatures.

The estimate uses the flex sensors at one instant only. It minimises the sum of
((C e - curvature) / deviation)^2, where C is the map of `flex_sensors` and e are the elastic
coordinates. With fewer sensors than coordinates, the shape is a combination of as many basis
shapes as there are sensors, in this order: static shape of a force at the tip; slowest vibration
mode of the link alone; static shape of a moment at the tip; then curvatures s^2, s^3, ... The
minimum-energy shape would be an alternative, but it is too flat between the sensors: its tip is
a tenth too low.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from flex_robot_sim.analysis.flex_sensors import flex_sensors
from flex_robot_sim.dynamics.mass_matrix import mass_matrix
from flex_robot_sim.model.arm_model import ArmModel
from flex_robot_sim.util.eigenproblem import block_diagonal, eigh
from flex_robot_sim.util.exceptions import SettingError


class EstimatedShape(NamedTuple):
    """Estimated shape of an elastic link."""

    elastic: np.ndarray  # (m,)  elastic coordinates
    tip: np.ndarray  # (3,)  translation of the tip in its undeformed frame      [m]
    tip_deviation: np.ndarray  # (3,)  its standard deviation                          [m]


class ShapeEstimator:
    """Least squares for the elastic coordinates of one link."""

    def __init__(self, arm: ArmModel, link: str, deviation: ArrayLike) -> None:
        """
        Prepare the estimate.

        :param arm: ArmModel; link: name of the flexible link.
        :param deviation: standard deviation of each of its sensors, (k,) or one for all [1/m].
        """
        self.sensors, columns, C = sensors_of(arm, link)
        self.deviation = checked_deviations(deviation, len(self.sensors))
        planes = [sensor.plane for sensor in arm.description.beam(link).sensors]
        bases = [
            _bending(arm, link, columns, plane, planes.count(plane)) for plane in ('xy', 'xz')
        ]
        self._basis = np.hstack(bases)
        self._C = C @ self._basis
        if not self._C.size or np.linalg.matrix_rank(self._C) < self._C.shape[1]:
            raise SettingError(
                f'the flex sensors of "{link}" do not determine its bending: there '
                'are none, or two at one place'
            )
        self._tip = tip_map(arm, link)[:, columns]
        # directions without a sensor are not observed
        self._is_unobserved = (self._tip != 0).any(axis=1)
        self._is_unobserved[1:] &= [planes.count(plane) == 0 for plane in ('xy', 'xz')]

    def estimate(self, curvatures: np.ndarray) -> EstimatedShape:
        """
        Return the EstimatedShape for curvatures (k,) [1/m]; a sensor without a reading is nan.

        Values that the remaining sensors do not determine are nan.
        """
        curvatures = np.asarray(curvatures, float)
        is_valid = np.isfinite(curvatures)
        weighted = self._C[is_valid] / self.deviation[is_valid, None]
        if not is_valid.any() or np.linalg.matrix_rank(weighted) < weighted.shape[1]:
            return EstimatedShape(np.full(len(self._basis), np.nan), *np.full((2, 3), np.nan))
        inverse = self._basis @ np.linalg.pinv(weighted)
        elastic = inverse @ (curvatures[is_valid] / self.deviation[is_valid])
        tip, deviation = self._tip @ elastic, np.sqrt(((self._tip @ inverse) ** 2).sum(axis=1))
        tip[self._is_unobserved] = deviation[self._is_unobserved] = np.nan
        return EstimatedShape(elastic, tip, deviation)


def tip_map(arm: ArmModel, link: str) -> np.ndarray:
    """Translation (3, n) of the tip in its undeformed frame by coordinate, for small bending."""
    rows, slope = np.zeros((3, arm.size)), np.zeros((3, arm.size))
    for beam, beam_columns in arm.beams_of(link):
        # the rotation of the segments before moves this segment
        rows += beam.length * np.vstack([np.zeros(arm.size), slope[2], -slope[1]])
        rows[:, beam_columns] += beam.shape(beam.length)
        slope[:, beam_columns] += beam.turn(beam.length)
    return rows


def _bending(arm, link, columns, plane, sensors):
    """Basis shapes (m, terms), in elastic coordinates, that the sensors in a plane determine."""
    row, sign = (3, 1.0) if plane == 'xy' else (2, -1.0)  # of Beam.strain
    strain = np.zeros((0, len(columns)))
    places, weights, root = [], [], 0.0
    for beam, beam_columns in arm.beams_of(link):
        part = np.zeros((beam.stations.size, arm.size))
        part[:, beam_columns] = sign * beam.strain(beam.stations)[:, row]
        strain = np.vstack([strain, part[:, columns]])
        places.extend(root + beam.stations)
        weights.extend(np.sqrt(beam.weights))
        root += beam.length
    bends = (strain != 0).any(axis=0)
    if bends.sum() <= sensors:
        return np.eye(len(columns))[:, bends]
    s, weights = np.array(places) / root, np.array(weights)[:, None]
    known_curvatures = np.column_stack(
        [
            1.0 - s,
            strain @ _slowest_mode(arm, link, columns, bends),
            *(s**power for power in (0, *range(2, sensors))),
        ]
    )[:, :sensors]
    return np.linalg.lstsq(strain * weights, known_curvatures * weights, rcond=None)[0]


def _slowest_mode(arm, link, columns, bends):
    """Slowest vibration mode (m,), in elastic coordinates, of the coordinates `bends` alone."""
    block = np.ix_(bends, bends)
    stiffness = block_diagonal(*(beam.stiffness for beam, _ in arm.beams_of(link)))
    inertia = mass_matrix(arm.arrays, np.zeros(arm.size))[np.ix_(columns, columns)]
    mode = np.zeros(len(columns))
    mode[bends] = eigh(stiffness[block], inertia[block])[1][:, 0]
    return mode


def sensors_of(arm: ArmModel, link: str) -> tuple[list[str], np.ndarray, np.ndarray]:
    """Return names of the sensors of a link, its coordinates, and the map between them (k, m)."""
    if link not in arm.segments:
        raise SettingError(f'no flexible link "{link}". Known: {", ".join(arm.segments)}')
    names, matrix = flex_sensors(arm)
    rows = np.array([k for k, name in enumerate(names) if name.split('/')[0] == link], int)
    columns = np.r_[tuple(columns for _, columns in arm.beams_of(link))]
    return [names[k] for k in rows], columns, matrix[np.ix_(rows, columns)]


def checked_deviations(values: ArrayLike, count: int) -> np.ndarray:
    """Return standard deviations (count,) from one or `count` values; SettingError unless > 0."""
    values = np.broadcast_to(np.asarray(values, float), (count,)).copy()
    if not (np.isfinite(values).all() and (values > 0).all()):
        raise SettingError('standard deviations must be finite and > 0')
    return values

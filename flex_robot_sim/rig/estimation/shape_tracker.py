"""
Shape of the bench's flexible link, estimated from its flex sensors for each reading.

The estimator is least squares on each reading, or a Kalman filter that also uses the encoders and
the motion of the stepper. Values that a broken sensor leaves undetermined are nan.
"""

import math
from typing import Any, NamedTuple

import numpy as np

from flex_robot_sim.analysis.flex_sensors import flex_sensors
from flex_robot_sim.model.arm_model import ArmModel
from flex_robot_sim.rig.bench.bench import check_bench_arm
from flex_robot_sim.rig.bench.motors import stepper_stiffness
from flex_robot_sim.rig.bench.parts import SLIDE, TURN
from flex_robot_sim.rig.estimation.estimator_settings import EstimatorSettings
from flex_robot_sim.rig.estimation.joint_tracker import Tracker
from flex_robot_sim.rig.estimation.shape_estimator import ShapeEstimator
from flex_robot_sim.rig.estimation.shape_filter import FilterSettings, ShapeFilter
from flex_robot_sim.rig.wire.protocol import Telemetry
from flex_robot_sim.rig.wire.vocabulary import CONVERSIONS, MOVING
from flex_robot_sim.util.exceptions import SettingError

# outside these shares of the ADC range a sensor counts as open or shorted
MIN_ADC_SHARE, MAX_ADC_SHARE = 0.01, 0.99


class BentLinkState(NamedTuple):
    """State of the bent link; nan where it is unknown."""

    curvature: np.ndarray  # (k,) measured by the sensors                      [1/m]
    curvature_rate: np.ndarray  # (k,)                                              [1/(m s)]
    elastic: np.ndarray  # (m,) elastic coordinates
    elastic_rate: np.ndarray  # (m,)
    tip: np.ndarray  # (3,) translation in the undeformed tip frame      [m]
    tip_deviation: np.ndarray  # (3,) its standard deviation                       [m]

    @property
    def is_known(self) -> bool:
        """Whether all coordinates are known."""
        return bool(np.isfinite(self.elastic).all() and np.isfinite(self.elastic_rate).all())


class ShapeTracker:
    """Estimates the state of the flexible link from each RigState."""

    def __init__(
        self,
        arm: ArmModel,
        calibration: Any,
        settings: EstimatorSettings | None = None,
        filter_settings: FilterSettings | None = None,
    ) -> None:
        """Prepare for an ArmModel of the bench and its Calibration."""
        self.settings = settings or EstimatorSettings()
        self.sensors = sensor_names(arm, calibration)
        self.link = self.sensors[0].split('/')[0]
        self._calibration = calibration
        self._estimator = ShapeEstimator(arm, self.link, calibration.deviations)
        self._maps: dict[bytes, tuple[np.ndarray, np.ndarray, np.ndarray]] = {}
        self._calibrations = list(calibration.sensors.values())
        self._trackers = [Tracker(self.settings.rate_bandwidth) for _ in self.sensors]
        self._curvature = [math.nan] * len(self.sensors)
        self._adc_full = float(CONVERSIONS * calibration.parts.adc_full)
        self._filter: ShapeFilter | None = None
        self._field_offset = 0.0
        if self.settings.estimator == 'kalman':
            parts = calibration.parts
            self._filter = ShapeFilter(
                arm,
                self.link,
                calibration.encoder_deviations,
                calibration.deviations,
                [0.0, stepper_stiffness(parts)],
                [0.0, parts.stepper_damping],
                filter_settings or FilterSettings(),
            )
        self.normalized_innovation = 0.0  # of the filter, squared, per reading used: mean 1

    def take(self, state: Any) -> None:
        """Update with a RigState."""
        if state.is_first:
            self._restart()
        self._curvature = self.curvatures(state.reading.message)
        for tracker, curvature in zip(self._trackers, self._curvature):
            tracker.take(curvature, state.duration)
        if self._filter is not None:
            self._follow(state, self._filter)

    @property
    def link_state(self) -> BentLinkState:
        """Present estimate of the link."""
        curvature = np.array(self._curvature)
        curvature_rate = np.array([tracker.rate for tracker in self._trackers])
        if self._filter is not None:
            shape, n = self._filter.shape, len(self._filter.state) // 2
            rates = self._filter.state[n:][self._filter.columns].copy()
            return BentLinkState(
                curvature, curvature_rate, shape.elastic, rates, shape.tip, shape.tip_deviation
            )
        is_valid = np.isfinite(curvature)
        to_elastic, to_tip, deviation = self._map(is_valid)
        curvature_seen = np.where(is_valid, curvature, 0.0)
        return BentLinkState(
            curvature,
            curvature_rate,
            to_elastic @ curvature_seen,
            to_elastic @ curvature_rate,
            to_tip @ curvature_seen,
            deviation,
        )

    def curvatures(self, message: Telemetry) -> list[float]:
        """Curvature of each sensor [1/m] in Telemetry; nan if a sensor is open or shorted."""
        curvatures = []
        for count, sensor in zip((message.adc_root, message.adc_tip), self._calibrations):
            share = count / self._adc_full
            is_on_scale = MIN_ADC_SHARE <= share <= MAX_ADC_SHARE
            curvatures.append(sensor.curvature(share) if is_on_scale else math.nan)
        return curvatures

    def _restart(self):
        for tracker in self._trackers:
            tracker.restart()
        if self._filter is not None:
            self._filter.state = self._filter.covariance = None

    def _map(self, is_valid):
        """Maps from curvature to elastic coordinates and tip; deviation of the tip."""
        # the estimate is linear in the readings: one map per set of valid sensors
        key = is_valid.tobytes()
        if key not in self._maps:
            shapes = [
                self._estimator.estimate(np.where(is_valid, unit, np.nan))
                for unit in np.eye(len(is_valid))
            ]
            self._maps[key] = (
                np.array([shape.elastic for shape in shapes]).T,
                np.array([shape.tip for shape in shapes]).T,
                shapes[0].tip_deviation,
            )
        return self._maps[key]

    def _follow(self, state, shape_filter):
        message, position = state.reading.message, np.array(state.position)
        turn = message.step_position / self._calibration.steps_per_radian
        is_on, rate = message.state in MOVING, [0.0, 0.0]
        if is_on:
            rate[TURN] = message.step_rate / self._calibration.steps_per_radian
        else:
            self._field_offset = position[TURN] - turn  # the field will align here
        target = [0.0, turn + self._field_offset]
        shape_filter.predict(state.duration, [state.effort[SLIDE], 0.0], target, rate)
        shape_filter.correct(position, self._curvature)
        used = len(position) + np.isfinite(self._curvature).sum()
        self.normalized_innovation += 0.01 * (
            shape_filter.normalized_innovation / used - self.normalized_innovation
        )


def sensor_names(arm: ArmModel, calibration: Any) -> tuple[str, ...]:
    """Return the flex sensors' names; SettingError unless they are those of the calibration."""
    check_bench_arm(arm)
    names = flex_sensors(arm).names
    if len({name.split('/')[0] for name in names}) != 1:
        raise SettingError(
            'the flex sensors of the bench must be on one link; these are '
            f'{", ".join(names) or "none"}'
        )
    if tuple(calibration.sensors) != names:
        raise SettingError(
            f'the calibration is of the sensors {", ".join(calibration.sensors)}, '
            f'and the robot has {", ".join(names)}'
        )
    return names

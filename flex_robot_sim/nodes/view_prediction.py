"""Predicted natural frequencies of an arm in its present pose, computed in the background."""

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from flex_robot_sim.analysis.mode_table import excited_modes, loaded
from flex_robot_sim.control.controller_settings import ControllerSettings
from flex_robot_sim.control.payload_model import ControllerModel
from flex_robot_sim.model.arm_model import ArmModel
from flex_robot_sim.model.free_base import without_free_fall
from flex_robot_sim.nodes.view_remote import GAINS
from flex_robot_sim.realtime.loop_settings import PayloadSettings, payload_of
from flex_robot_sim.simulation.loop_timing import LoopTiming
from flex_robot_sim.util.background import BackgroundTask
from flex_robot_sim.util.exceptions import SettingError
from flex_robot_sim.viewer.observed import ObservedArm
from flex_robot_sim.viewer.robot_view import RobotView

MIN_PERIOD_S = 2.0  # between two predictions
POSE_TOLERANCE = 0.05  # largest pose change without a new prediction [rad, m]
MAX_MODES, MIN_MODE_SHARE = 6, 1e-3  # of the shown modes; share of the largest one


class PredictionCase(NamedTuple):
    """Conditions of a prediction."""

    payload: tuple | None  # argument of `loaded`
    controller: ControllerSettings | None  # None: the drives are locked
    sampling: LoopTiming | None  # None: that of the controller


class Prediction:
    """Predicts frequencies for a RobotView, for a pose that is up to some seconds old."""

    def __init__(self, arm: ArmModel, view: RobotView) -> None:
        self._arm, self._view, self._background = arm, view, BackgroundTask('prediction')
        self._next_time = -np.inf
        self._requested: tuple[PredictionCase, np.ndarray] | None = None
        self._model: tuple[tuple, ControllerModel] | None = None

    def update(
        self,
        now: float,
        observed: ObservedArm,
        parameters: Mapping[str, Mapping[str, Any]],
        is_commanded: bool,
    ) -> None:
        """
        Pass on a finished prediction, and start another one if pose or conditions changed.

        :param now: time [s]; parameters: of `dynamics` and `controller`, as far as known.
        :param is_commanded: whether the controller commands by a topic instead of inside the
            process of the dynamics.
        """
        self._background.poll()
        if (
            now < self._next_time
            or self._background.is_busy
            or not np.isfinite(observed.received_at)
        ):
            return
        self._next_time = now + MIN_PERIOD_S
        pose = observed.coordinates[self._arm.motor_q].copy()
        case = _case(parameters, is_commanded)
        if (
            self._requested is None
            or self._requested[0] != case
            or np.abs(pose - self._requested[1]).max(initial=0.0) > POSE_TOLERANCE
        ):
            self._requested = case, pose
            self._background.make(lambda progress: self._frequencies(case, pose), self._take)

    def _take(self, frequencies):
        is_held = self._requested is not None and self._requested[0].controller is not None
        self._view.predict(frequencies, 'held by the controller' if is_held else 'motors locked')
        return ''

    def _frequencies(self, case, pose):
        gains = None
        if case.controller is not None:
            key = case.payload, case.sampling
            if self._model is None or self._model[0] != key:
                self._model = key, ControllerModel(loaded(self._arm, case.payload), case.sampling)
            servo = self._model[1].servo_for(case.controller)
            gains = servo.stiffness, servo.damping
        arm = without_free_fall(loaded(self._arm, case.payload))
        excited = excited_modes(arm, pose, gains)
        return excited.frequencies[excited.shares > MIN_MODE_SHARE][:MAX_MODES]


def _case(parameters, is_commanded):
    controller, sampling = None, None
    try:
        controller_parameters = parameters.get('controller')
        if controller_parameters:
            gains: dict[str, Any] = {
                name: tuple(value) if not isinstance(value, (str, bool, int, float)) else value
                for name, value in controller_parameters.items()
                if name in GAINS and value is not None
            }
            controller = ControllerSettings(**gains)
            if not is_commanded:
                sampling = LoopTiming(parameters.get('dynamics', {}).get('period', 1e-3), 0.0)
        payload: dict[str, Any] = {
            name: tuple(value) if name == 'payload_centre' else value
            for name, value in parameters.get('dynamics', {}).items()
            if name.startswith('payload_') and value is not None
        }
        return PredictionCase(payload_of(PayloadSettings(**payload)), controller, sampling)
    except SettingError:  # another controller with the same node name
        return PredictionCase(None, None, None)

"""Which frequencies an arm should ring with as it stands, computed beside the pictures."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from flex_robot_sim.analysis.mode_table import excited_modes, loaded
from flex_robot_sim.analysis.tangent import driven
from flex_robot_sim.control.payload_model import ControllerModel
from flex_robot_sim.control.servo import Sampling
from flex_robot_sim.control.settings import ControllerSettings
from flex_robot_sim.model.arm_model import ArmModel
from flex_robot_sim.nodes.background import Background
from flex_robot_sim.nodes.view_remote import GAINS
from flex_robot_sim.realtime.settings import PayloadSettings, payload_of
from flex_robot_sim.util.exceptions import SettingError
from flex_robot_sim.viewer.observed import ObservedArm
from flex_robot_sim.viewer.robot_view import RobotView

PAUSE = 2.0             # between two predictions, at least                                  [s]
MOVED = 0.05            # from the pose of the last one that asks for another        [rad, m]
MOST, LEAST = 6, 1e-3   # modes that are shown, and the share of the largest that one must have


class Case(NamedTuple):
    """What the frequencies are for."""

    payload: tuple | None               # as `loaded` takes it
    controller: ControllerSettings | None       # None: the drives are locked
    sampling: Sampling | None           # None: as the controller says


class Prediction:
    """Frequencies for a RobotView, always for the pose in which the arm was some seconds ago."""

    def __init__(self, arm: ArmModel, view: RobotView) -> None:
        """Take `arm` (ArmModel) and who shows them."""
        self._arm, self._view, self._work = arm, view, Background('prediction')
        self._next = -np.inf
        self._asked: tuple[Case, np.ndarray] | None = None
        self._laden: tuple[tuple, ControllerModel] | None = None

    def look(self, now: float, seen: ObservedArm, parameters: Mapping[str, Mapping[str, Any]],
             is_commanded: bool) -> None:
        """
        Hand over what is ready by now [s], and ask for more where the arm is another one.

        :param parameters: of `dynamics` and `controller`, as far as they are known.
        :param is_commanded: whether the controller commands by a topic, and not inside.
        """
        self._work.look()
        if now < self._next or self._work.is_busy or not np.isfinite(seen.received_at):
            return
        self._next = now + PAUSE
        pose = seen.coordinates[driven(self._arm)].copy()
        case = _case(parameters, is_commanded)
        if self._asked is None or self._asked[0] != case or np.abs(
                pose - self._asked[1]).max(initial=0.0) > MOVED:
            self._asked = case, pose
            self._work.make(lambda progress: self._frequencies(case, pose), self._take)

    def _take(self, frequencies):
        is_held = self._asked is not None and self._asked[0].controller is not None
        self._view.predict(frequencies, 'held by the controller' if is_held else 'motors locked')
        return ''

    def _frequencies(self, case, pose):
        gains = None
        if case.controller is not None:
            key = case.payload, case.sampling
            if self._laden is None or self._laden[0] != key:
                self._laden = key, ControllerModel(loaded(self._arm, case.payload), case.sampling)
            servo = self._laden[1].servo_for(case.controller)
            gains = servo.stiffness, servo.damping
        found = excited_modes(loaded(self._arm, case.payload), pose, gains)
        return found.frequencies[found.shares > LEAST][:MOST]


def _case(parameters, is_commanded):
    controller, sampling = None, None
    try:
        given = parameters.get('controller')
        if given:
            controller = ControllerSettings(**{
                name: tuple(value) if not isinstance(value, (str, bool, int, float)) else value
                for name, value in given.items() if name in GAINS and value is not None})
            if not is_commanded:
                sampling = Sampling(parameters.get('dynamics', {}).get('period', 1e-3), False)
        payload = {name: tuple(value) if name == 'payload_centre' else value
                   for name, value in parameters.get('dynamics', {}).items()
                   if name.startswith('payload_') and value is not None}
        return Case(payload_of(PayloadSettings(**payload)), controller, sampling)
    except SettingError:        # of another controller with our names
        return Case(None, None, None)

"""Background designs of the controller node: shaper and feedback for its arm and gains."""

from collections.abc import Callable
from typing import Any

import numpy as np
from rclpy.node import Node

from flex_robot_sim.control.joint_controller import JointController
from flex_robot_sim.feedback.feedback_design import (
    Feedback,
    design_feedback,
    refuse_feedback,
    timing_of,
)
from flex_robot_sim.feedback.feedback_settings import FeedbackSettings
from flex_robot_sim.model.arm_model import ArmModel
from flex_robot_sim.ros.endpoints import make_timer
from flex_robot_sim.ros.reporting import POLL_PERIOD_S, log
from flex_robot_sim.shaping.impulses import ShapingSettings
from flex_robot_sim.shaping.online_shaper import OnlineShaper
from flex_robot_sim.shaping.shaper_design import design_shaper, refuse_shaper
from flex_robot_sim.simulation.loop_timing import LoopTiming
from flex_robot_sim.util.background import BackgroundTask

NONE = 'none'
InThread = Callable[[Callable[[], Any]], Any]  # calls a function in the thread of the loop
Gains = tuple[np.ndarray, np.ndarray]  # stiffness and damping of the servo, (joints,)


class Designs:
    """Redesigns a component of a JointController when settings, gains or payload change."""

    what = ''  # name in log lines and diagnostics
    setting = ''  # name of the setting that chooses a design, or NONE

    def __init__(
        self, node: Node, controller: JointController, settings: Any, call_in_loop: InThread
    ) -> None:
        self._node, self._controller = node, controller
        self._call_in_loop, self._settings = call_in_loop, settings
        self._servo, self.name = controller.servo, NONE
        self._background, self._problem = BackgroundTask(self.what), ''
        make_timer(node, POLL_PERIOD_S, self._poll)
        self.change(settings)

    @property
    def state(self) -> str:
        """Active design, and the pending one or the reason why there is none."""
        if self._background.is_busy:
            return f'{self.name}, {self._wanted(self._settings)} is computed'
        return f'{self.name}: {self._problem}' if self._problem else self.name

    def change(self, settings: Any) -> None:
        """Apply settings, once the design for them is ready."""
        controller = self._controller
        self._settings, self._servo = settings, controller.servo
        self._problem = ''
        if self._wanted(settings) == NONE:
            self._background.cancel()
            self._use(None)
            return
        arm, gains = controller.arm, (self._servo.stiffness, self._servo.damping)
        target = controller.target
        self._background.make(
            lambda progress: self.designed(settings, arm, gains, target, progress), self._use
        )

    def designed(
        self,
        settings: Any,
        arm: ArmModel,
        gains: Gains,
        target: np.ndarray,
        progress: Callable[[int, int], object],
    ) -> Any:
        """Return the design for `take`; FlexRobotSimError if there is none."""
        raise NotImplementedError

    def take(self, design: Any) -> str:
        """Pass a design, or None, to the controller; return the log line."""
        raise NotImplementedError

    def _wanted(self, settings):
        return getattr(settings, self.setting)

    def _use(self, design):
        self.name = NONE if design is None else self._wanted(self._settings)
        return self.take(design)

    def _poll(self):
        if self._controller.servo is not self._servo and self._wanted(self._settings) != NONE:
            self.change(self._settings)  # gains and payload change the modes
        update = self._background.poll()
        if update is None:
            return
        level, line = update
        if level == 'warning':
            self._problem = line
        log(self._node, level, line)


class ShaperDesigns(Designs):
    """Keeps the shaper up to date with ShapingSettings and gains."""

    what = setting = 'shaper'

    def __init__(
        self,
        node: Node,
        controller: JointController,
        settings: ShapingSettings,
        period: float,
        call_in_loop: InThread,
    ) -> None:
        """Begin with ShapingSettings, for joint states every `period` [s]; see Designs."""
        self._period = period
        super().__init__(node, controller, settings, call_in_loop)

    def refuse(self, settings: ShapingSettings) -> None:
        """Raise SettingError if the pose of the target rules the design out."""
        controller, servo = self._controller, self._controller.servo
        refuse_shaper(
            controller.arm,
            settings,
            (servo.stiffness, servo.damping),
            controller.target,
            self._period,
        )

    def designed(
        self,
        settings: ShapingSettings,
        arm: ArmModel,
        gains: Gains,
        target: np.ndarray,
        progress: Callable[[int, int], object],
    ) -> OnlineShaper | None:
        """Return an OnlineShaper."""
        return design_shaper(arm, settings, gains, target, self._period, progress=progress)

    def take(self, design: OnlineShaper | None) -> str:
        """Use the shaper in the controller."""
        self._call_in_loop(lambda: self._controller.use_shaper(design))
        if design is None:
            return ''
        return f'shaper {self.name}: every motion takes up to {design.duration:.2g} s longer'


class FeedbackDesigns(Designs):
    """Keeps the feedback up to date with FeedbackSettings and gains."""

    what, setting = 'feedback', 'vibration_feedback'

    def __init__(
        self,
        node: Node,
        controller: JointController,
        settings: FeedbackSettings,
        sampling: Callable[[], LoopTiming],
        call_in_loop: InThread,
    ) -> None:
        self._sampling = sampling
        super().__init__(node, controller, settings, call_in_loop)

    def refuse(self, settings: FeedbackSettings) -> None:
        """Raise SettingError if the arm rules the design out."""
        refuse_feedback(self._controller.arm, settings)

    def designed(
        self,
        settings: FeedbackSettings,
        arm: ArmModel,
        gains: Gains,
        target: np.ndarray,
        progress: Callable[[int, int], object],
    ) -> Feedback:
        """Return a Feedback."""
        controller, timing = self._controller, timing_of(settings, self._sampling())
        return design_feedback(
            arm,
            settings.vibration_feedback,
            gains,
            target,
            timing,
            controller.limits,
            controller.settings.feedback,
            progress,
        )

    def take(self, design: Feedback | None) -> str:
        """Use the feedback in the controller."""
        self._call_in_loop(lambda: self._controller.feedback.use(design))
        if design is None:
            return ''
        line = f'feedback {self.name}: in force'
        return f'{line}; {design.warning}' if design.warning else line

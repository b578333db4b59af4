"""Controller model: gains and feed-forward of an arm with its payload."""

import math

import numpy as np

from flex_robot_sim.control.controller_settings import FEED_FORWARDS, ControllerSettings
from flex_robot_sim.control.feed_forward import make_feed_forward
from flex_robot_sim.control.gains import Servo
from flex_robot_sim.control.servo import ServoFit
from flex_robot_sim.model.arguments import checked
from flex_robot_sim.model.arm_model import ArmModel
from flex_robot_sim.simulation.loop_timing import LoopTiming, one_period_late


class ControllerModel:
    """An arm with precomputed gains and feed-forward, so that a change at runtime is fast."""

    def __init__(self, arm: ArmModel, sampling: LoopTiming | None = None) -> None:
        """Take an ArmModel; `sampling` of its states overrides that of the settings."""
        self.arm, self._sampling = arm, sampling
        self.feeds = {
            kind: make_feed_forward(arm, kind) for kind in FEED_FORWARDS if kind != 'none'
        }
        self._fit: tuple[object, ServoFit] | None = None
        self._servo: tuple[ControllerSettings, Servo] | None = None

    def servo_for(self, settings: ControllerSettings) -> Servo:
        """Servo of ControllerSettings, cached; takes seconds. SettingError if unusable."""
        if self._servo is None or self._servo[0] != settings:
            fit = self._fit_for(settings)
            servo = self._without_integral(settings, fit)
            share = settings.integral_action
            if share >= 0.0:
                servo = fit.with_integral(servo, share)
            elif settings.has_default_gains:
                servo = fit.with_default_integral(servo, settings.feed_forward != 'none')
            self._servo = settings, servo
        return self._servo[1]

    def joint_array(self, settings: ControllerSettings, name: str) -> np.ndarray | None:
        """Return the array of a setting with a number per joint, or None."""
        values = getattr(settings, name)
        return checked(name, values, self.arm.joint_names) if values else None

    def _without_integral(self, settings, fit):
        stiffness = self.joint_array(settings, 'position_gain')
        damping = self.joint_array(settings, 'velocity_gain')
        ratio = settings.damping_ratio
        if stiffness is None and damping is None and not settings.bandwidth:
            return fit.servo(ratio=ratio)
        if stiffness is None:
            stiffness = fit.inertia * (2 * math.pi * settings.bandwidth) ** 2
            if not settings.bandwidth:
                stiffness = fit.servo(ratio=ratio).stiffness
        if damping is None:
            damping = 2 * ratio * np.sqrt(stiffness * fit.inertia)
        return fit.evaluate(stiffness, damping)

    def _fit_for(self, settings):
        """Return the ServoFit for the sampling and the feedback of ControllerSettings."""
        key = self._sampling or one_period_late(settings.state_period), settings.feedback
        if self._fit is None or self._fit[0] != key:
            self._fit = key, ServoFit(self.arm, *key)
        return self._fit[1]

"""Buttons, sliders and dropdowns for an arm in another process."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from flex_robot_sim.dynamics.loads import MAX_PUSH_DURATION
from flex_robot_sim.feedback.feedback_settings import VIBRATION_FEEDBACKS
from flex_robot_sim.model.arm_model import ArmModel
from flex_robot_sim.shaping.impulses import CONTROLLER_SHAPERS
from flex_robot_sim.viewer.joint_sliders import JointSliders
from flex_robot_sim.viewer.observed import ObservedArm
from flex_robot_sim.viewer.pushing import PUSH_DIRECTIONS, largest_payload, largest_push
from flex_robot_sim.viewer.remote import Command, Remote

if TYPE_CHECKING:
    from flex_robot_sim.viewer.browser import Page
    from flex_robot_sim.viewer.control import Control

CHOICES = {Command.SHAPER: CONTROLLER_SHAPERS, Command.FEEDBACK: VIBRATION_FEEDBACKS}
SLIDER_STEPS = 100  # of sliders for forces and masses
MAX_PUSH_S = 5.0  # longest push on the slider
PUSH_REPEAT_S = 0.5  # between two messages of a push
DEFAULT_PUSH_S = 0.3  # initial duration of a push on the slider
TARGET_HOLD_S = 1.5  # after slider input, before sliders show targets of other sources


class RemotePanel:
    """Controls for the user; an unavailable control shows the reason."""

    def __init__(
        self,
        page: Page,
        arm: ArmModel,
        remote: Remote,
        observed: ObservedArm,
        tool: str,
        tool_rotation: Callable[[], np.ndarray],
    ) -> None:
        """Add the controls to a Page; `tool_rotation` returns the rotation (3, 3) of the tool."""
        self._page, self._arm, self._remote, self._observed = page, arm, remote, observed
        self._tool, self._tool_rotation = tool, tool_rotation
        # by the clock of `update` [s]
        self._commanded_at, self._push_ends_at, self._pushed_at = -np.inf, np.inf, -np.inf
        self._push_force = np.zeros(3)  # in the frame of the tool                          [N]
        self._now = 0.0
        self._controls: dict[str, list[Control]] = {}
        self._reason_texts: dict[str, Callable[[str], None]] = {}
        self._add_motion()
        if arm.joint_names:
            self._add_targets()
        if arm.frames[tool].body >= 0:
            self._add_push()
            self._add_payload()
        self._add_control()
        self.update(0.0)

    @property
    def is_paused(self) -> bool:
        """Whether the node dynamics is paused."""
        status = self._observed.status.get('dynamics')
        return status is not None and status.figures.get('state') == 'paused'

    def update(self, now: float) -> None:
        """Update the controls at time `now` [s], and repeat or end a push."""
        self._now = now
        if now >= self._push_ends_at:
            self._push_ends_at = np.inf
            self._remote.push(self._tool, np.zeros(3))
        elif self._push_ends_at < np.inf and now >= self._pushed_at + PUSH_REPEAT_S:
            self._send_push()
        for command, controls in self._controls.items():
            reason = self._remote.unavailable_reason(command)
            for control in controls:
                control.disable_if(reason)
            if command in self._reason_texts:
                self._reason_texts[command](reason)
        self._disarm.set_visible(not self._remote.unavailable_reason(Command.DISARM))
        self._pause.label('resume' if self.is_paused else 'pause')
        for command, control in self._choices.items():
            value = self._remote.value(command)
            if value in CHOICES[command]:
                control.show(value)
        if (
            now > self._commanded_at + TARGET_HOLD_S
            and np.isfinite(self._observed.target).all()
            and self._arm.joint_names
        ):
            self._targets.show(self._observed.target)

    def _add_motion(self):
        page, remote = self._page, self._remote
        with page.folder('Robot'):
            self._add_reason_text(Command.PAUSE)
            self._pause = self._add(
                Command.PAUSE,
                page.button('pause', lambda: remote.call(Command.PAUSE, not self.is_paused)),
            )
            self._add(
                Command.STEP,
                page.button(
                    'step', partial(remote.call, Command.STEP), 'One period, while paused'
                ),
            )
            self._add(
                Command.RESET,
                page.button(
                    'reset',
                    partial(remote.call, Command.RESET),
                    'The arm is where it started, at rest',
                ),
            )
            self._disarm = self._add(
                Command.DISARM,
                page.button(
                    'disarm the bench',
                    partial(remote.call, Command.DISARM, False),
                    'Its motors stop; this is no safety function',
                ),
            )

    def _add_targets(self):
        with self._page.folder('Targets', is_open=False):
            self._add_reason_text(Command.JOINT)
            self._targets = JointSliders(self._page, self._arm, self._command_joint)
            for control in self._targets.controls:
                self._add(Command.JOINT, control)

    def _add_push(self):
        page, (max_force, direction) = self._page, largest_push(self._arm, self._tool)
        with page.folder(f'Push "{self._tool}"'):
            self._add_reason_text(Command.PUSH)
            self._force = self._add(
                Command.PUSH,
                page.slider(
                    'force [N]',
                    0.0,
                    max_force,
                    max_force / SLIDER_STEPS,
                    max_force / 2,
                    lambda _: None,
                ),
            )
            self._direction = self._add(
                Command.PUSH,
                page.dropdown(
                    'direction', [*PUSH_DIRECTIONS], direction, lambda _: None, 'Axes of the base'
                ),
            )
            self._duration = self._add(
                Command.PUSH,
                page.slider('for [s]', 0.1, MAX_PUSH_S, 0.1, DEFAULT_PUSH_S, lambda _: None),
            )
            self._add(Command.PUSH, page.button('push', self._push))

    def _add_payload(self):
        page = self._page
        with page.folder('Payload', is_open=False):
            self._add_reason_text(Command.PAYLOAD)
            max_mass = largest_payload(self._arm)
            self._mass = self._add(
                Command.PAYLOAD,
                page.slider(
                    'mass [kg]',
                    0.0,
                    max_mass,
                    max_mass / SLIDER_STEPS,
                    0.0,
                    lambda _: self._attach_payload(),
                    f'At the origin of "{self._tool}"',
                ),
            )
            self._informs_controller = self._add(
                Command.PAYLOAD,
                page.checkbox(
                    'inform the controller',
                    False,
                    lambda _: self._attach_payload(),
                    'Otherwise the controller ignores the payload, and the arm sags',
                ),
            )

    def _add_control(self):
        self._choices = {}
        with self._page.folder('Vibration control'):
            self._add_reason_text(Command.SHAPER)
            for command, label, hint in (
                (Command.SHAPER, 'shaper', 'Shapes the motion to avoid residual vibration'),
                (Command.FEEDBACK, 'feedback', 'Damps the links by feedback of measurements'),
            ):
                self._choices[command] = self._add(
                    command,
                    self._page.dropdown(
                        label,
                        CHOICES[command],
                        'none',
                        partial(self._remote.choose, command),
                        hint,
                    ),
                )

    def _add(self, command, control):
        self._controls.setdefault(command, []).append(control)
        return control

    def _add_reason_text(self, command):
        self._reason_texts[command] = self._page.text()

    def _command_joint(self, positions, k):
        self._commanded_at = self._now
        self._remote.command_joint(self._arm.joint_names[k], float(positions[k]))

    def _push(self):
        self._push_force = self._tool_rotation().T @ (
            self._force.value * PUSH_DIRECTIONS[self._direction.value]
        )
        self._push_ends_at = self._now + min(MAX_PUSH_DURATION, self._duration.value)
        self._send_push()

    def _send_push(self):
        """Send the push; repeat it, because the dynamics ends a push without new messages."""
        self._pushed_at = self._now
        self._remote.push(self._tool, self._push_force)

    def _attach_payload(self):
        self._remote.attach_payload(
            self._tool, float(self._mass.value), bool(self._informs_controller.value)
        )

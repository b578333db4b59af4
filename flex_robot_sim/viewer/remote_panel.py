"""Buttons, sliders and choices for an arm that moves elsewhere."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from flex_robot_sim.dynamics.loads import MAX_PUSH_DURATION
from flex_robot_sim.viewer.joints import JointSliders
from flex_robot_sim.viewer.pushing import PUSHES, largest_payload, largest_push
from flex_robot_sim.viewer.remote import (
    DISARM,
    FEEDBACK,
    LEAD,
    PAUSE,
    PAYLOAD,
    PUSH,
    RESET,
    SHAPER,
    STEP,
    Remote,
)

if TYPE_CHECKING:
    from flex_robot_sim.model.arm_model import ArmModel
    from flex_robot_sim.viewer.browser import Control, Page
    from flex_robot_sim.viewer.observed import Observed

STEPS = 100             # of sliders for forces and masses
LONGEST = 5.0           # push                                                               [s]
REPEAT = 0.5            # between two messages of a push                                     [s]
SHORT = 0.3             # push, at first                                                     [s]
QUIET = 1.5             # after a person's wish, before a slider shows what others want      [s]


class RemotePanel:
    """What a person may ask for, and why it cannot be had where that is so."""

    def __init__(self, page: Page, arm: ArmModel, remote: Remote, seen: Observed, tool: str,
                 turn: Callable[[], np.ndarray]) -> None:
        """
        Add it to a Page.

        :param remote: Remote; seen: Observed arm.
        :param tool: link that is pushed and laden; turn: returns its rotation (3, 3) as it is.
        """
        self._page, self._arm, self._remote, self._seen = page, arm, remote, seen
        self._tool, self._turn = tool, turn
        # by the clock of `look` [s]
        self._asked, self._let_go, self._pushed_at = -np.inf, np.inf, -np.inf
        self._pushing = np.zeros(3)     # in the frame of the tool                          [N]
        self._now = 0.0
        self._controls: dict[str, list[Control]] = {}
        self._why: dict[str, Callable[[str], None]] = {}
        self._add_motion()
        if arm.joint_names:
            self._add_targets()
        if arm.frames[tool].body >= 0:
            self._add_push()
            self._add_payload()
        self._add_control()
        self.look(0.0)

    @property
    def is_paused(self) -> bool:
        """Whether the dynamics say that time stands still."""
        status = self._seen.status.get('dynamics')
        return status is not None and status.figures.get('state') == 'paused'

    def look(self, now: float) -> None:
        """Show what is there by now [s], and end pushes that are over."""
        self._now = now
        if now >= self._let_go:
            self._let_go = np.inf
            self._remote.push(self._tool, np.zeros(3))
        elif self._let_go < np.inf and now >= self._pushed_at + REPEAT:
            self._send_push()
        for what, controls in self._controls.items():
            why = self._remote.why_not(what)
            for control in controls:
                control.allow(why)
            if what in self._why:
                self._why[what](why)
        self._disarm.appear(not self._remote.why_not(DISARM))
        self._pause.label('go on' if self.is_paused else 'pause')
        for what, control in self._choices.items():
            value = self._remote.value(what)
            if value in self._remote.choices(what):
                control.show(value)
        if now > self._asked + QUIET and np.isfinite(self._seen.target).all() and (
                self._arm.joint_names):
            self._targets.show(self._seen.target)

    def _add_motion(self):
        page, remote = self._page, self._remote
        with page.folder('Robot'):
            self._word(PAUSE)
            self._pause = self._add(PAUSE, page.button(
                'pause', lambda: remote.pause(not self.is_paused)))
            self._add(STEP, page.button('step', remote.step, 'One period, while paused'))
            self._add(RESET, page.button('reset', remote.reset,
                                         'The arm is where it started, at rest'))
            self._disarm = self._add(DISARM, page.button(
                'disarm the bench', remote.disarm,
                'Its motors stop; this is no safety function'))

    def _add_targets(self):
        with self._page.folder('Targets', is_open=False):
            self._word(LEAD)
            self._targets = JointSliders(self._page, self._arm, self._lead)
            for control in self._targets.controls:
                self._add(LEAD, control)

    def _add_push(self):
        page, (most, direction) = self._page, largest_push(self._arm, self._tool)
        with page.folder(f'Push "{self._tool}"'):
            self._word(PUSH)
            self._force = self._add(PUSH, page.slider(
                'force [N]', 0.0, most, most / STEPS, most / 2, lambda _: None))
            self._direction = self._add(PUSH, page.choice(
                'direction', [*PUSHES], direction, lambda _: None, 'Axes of the base'))
            self._duration = self._add(PUSH, page.slider(
                'for [s]', 0.1, LONGEST, 0.1, SHORT, lambda _: None))
            self._add(PUSH, page.button('push', self._push))

    def _add_payload(self):
        page = self._page
        with page.folder('Payload', is_open=False):
            self._word(PAYLOAD)
            most = largest_payload(self._arm)
            self._mass = self._add(PAYLOAD, page.slider(
                'mass [kg]', 0.0, most, most / STEPS, 0.0, lambda _: self._carry(),
                f'At the origin of "{self._tool}"'))
            self._told = self._add(PAYLOAD, page.tick(
                'tell the controller', False, lambda _: self._carry(),
                'Otherwise it knows nothing of the payload, and the arm sags'))

    def _add_control(self):
        self._choices = {}
        with self._page.folder('Against ringing'):
            self._word(SHAPER)
            for what, label, hint in (
                    (SHAPER, 'shaper', 'Shapes the motion so that the links do not ring'),
                    (FEEDBACK, 'feedback', 'Brings the links to rest by what is measured')):
                self._choices[what] = self._add(what, self._page.choice(
                    label, self._remote.choices(what), 'none',
                    partial(self._remote.choose, what), hint))

    def _add(self, what, control):
        self._controls.setdefault(what, []).append(control)
        return control

    def _word(self, what):
        self._why[what] = self._page.text()

    def _lead(self, positions, k):
        self._asked = self._now
        self._remote.lead(self._arm.joint_names[k], float(positions[k]))

    def _push(self):
        self._pushing = self._turn().T @ (self._force.value * PUSHES[self._direction.value])
        self._let_go = self._now + min(MAX_PUSH_DURATION, self._duration.value)
        self._send_push()

    def _send_push(self):
        """Send the push, and again from time to time: the dynamics ends one that falls silent."""
        self._pushed_at = self._now
        self._remote.push(self._tool, self._pushing)

    def _carry(self):
        self._remote.carry(self._tool, float(self._mass.value), bool(self._told.value))

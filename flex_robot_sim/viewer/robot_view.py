"""The page of the node `view`: an arm in another process, simulated or real."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from flex_robot_sim.model.arm_model import ArmModel
from flex_robot_sim.viewer.arm_picture import ArmPicture
from flex_robot_sim.viewer.live_plots import LivePlots
from flex_robot_sim.viewer.observed import ObservedArm
from flex_robot_sim.viewer.remote import Remote
from flex_robot_sim.viewer.remote_panel import RemotePanel
from flex_robot_sim.viewer.stage import ArmStage, table

if TYPE_CHECKING:
    from flex_robot_sim.viewer.browser import Page

TARGET_STYLE = (0.20, 0.62, 0.35), 0.3  # colour and opacity of the arm at its target
TWIN_STYLE = (0.55, 0.35, 0.80), 0.3  # of the twin of a bench
PUSH_COLOUR = (0.85, 0.20, 0.25)
PUSH_ARROW_LENGTH = 0.25  # in reaches
SILENCE_TIMEOUT_S = 1.0  # time without joint states
STALE_AFTER_S = 1.5  # age of a target or a twin, which arrive at 50 Hz
MIN_TARGET_DISTANCE = 0.02  # a closer target is not drawn               [rad, m]
RESET_JUMP = 0.3  # a larger jump of the tip between two pictures is a reset, in reaches
TEXT_PERIOD_S, PLOT_PERIOD_S = 0.25, 0.25  # between updates of text and plots
NODES = 'dynamics', 'bridge', 'controller'


class RobotView:
    """Content of the page; it shows an ObservedArm."""

    def __init__(
        self,
        page: Page,
        arm: ArmModel,
        observed: ObservedArm,
        remote: Remote,
        rate: float,
        span: float,
    ) -> None:
        """Fill a Page at a rate of pictures [Hz], with plots over `span` [s]."""
        self._page, self._arm, self._observed, self._remote = page, arm, observed, remote
        with page.side_panel('Plots'):
            self._plots = LivePlots(page, arm, rate, span)
        self._stage = ArmStage(page, arm)
        stage = self._stage
        self._target = ArmPicture(page, stage.scaler, stage.solids, '/target', TARGET_STYLE)
        self._target.show(False)
        self._twin: ArmPicture | None = None
        self._panel = RemotePanel(
            page, arm, remote, observed, stage.tool, lambda: stage.pose(stage.tool)[0]
        )
        self._arrows: dict[str, Callable[[np.ndarray, np.ndarray], None]] = {}
        self._text_updated_at = self._plots_updated_at = -np.inf
        self._tip = np.full(3, np.nan)
        self._label = ''

    def predict(self, frequencies: np.ndarray, label: str) -> None:
        """Set natural frequencies (m,) [Hz] for the spectrum, and a label of their state."""
        self._plots.predict(frequencies)
        self._label = (
            f'{label}: {", ".join(f"{f:.3g}" for f in frequencies)} Hz' if len(frequencies) else ''
        )

    def update(self, now: float) -> None:
        """Handle user input and draw the observations at time `now` [s]."""
        self._page.react()
        with self._page.atomic_update():
            self._draw(now)
            self._plots.add_observation(self._observed, self._panel.is_paused)
            if now - self._plots_updated_at >= PLOT_PERIOD_S:
                self._plots_updated_at = now
                self._plots.draw()
            if now - self._text_updated_at >= TEXT_PERIOD_S:
                self._text_updated_at = now
                self._panel.update(now)
                self._stage.status(table(self._text_rows(now)))
                message = self._remote.pop_message()
                if message:
                    self._page.show_message(message)

    def _draw(self, now):
        observed, stage = self._observed, self._stage
        if observed.base_pose is not None:
            stage.place_base(observed.base_pose)
        stage.draw(observed.coordinates, contact_wrenches=observed.contact_wrenches)
        tip = stage.pose(stage.tool)[1]
        if np.linalg.norm(tip - self._tip) > RESET_JUMP * stage.reach:
            stage.clear_trace()
        self._tip = tip
        drive_position = observed.coordinates[self._arm.motor_q]
        is_prescribed = (
            now - observed.target_received_at < STALE_AFTER_S
            and np.isfinite(observed.target).all()
        )
        is_far = is_prescribed and bool(
            np.abs(observed.target - drive_position).max(initial=0.0) > MIN_TARGET_DISTANCE
        )
        self._target.show(is_far)
        if is_far:
            if observed.base_pose is not None:
                self._target.place_base(observed.base_pose)
            self._target.draw(self._rigid(observed.target))
        if observed.twin is not None and self._twin is None:
            self._twin = ArmPicture(self._page, stage.scaler, stage.solids, '/twin', TWIN_STYLE)
        if self._twin is not None:
            is_known = now - observed.twin_received_at < STALE_AFTER_S
            self._twin.show(is_known)
            if is_known:
                if observed.base_pose is not None:
                    self._twin.place_base(observed.base_pose)
                self._twin.draw(self._rigid(observed.twin))
        for link, force in observed.pushes.items():
            self._draw_push(link, force)

    def _rigid(self, position):
        q = np.zeros(self._arm.size)
        self._arm.set_joints(q, position)
        return q

    def _draw_push(self, link, force):
        if link not in self._arrows:
            if link not in self._arm.frames:
                return
            self._arrows[link] = self._page.arrow(
                f'/push/{len(self._arrows)}', PUSH_COLOUR, PUSH_ARROW_LENGTH * self._stage.reach
            )
        R, p = self._stage.pose(link)
        size = float(np.linalg.norm(force))
        along = np.zeros(3)
        if size > 0.0:
            along = R @ force * (PUSH_ARROW_LENGTH * self._stage.reach / size)
        self._arrows[link](p - along, p)

    def _text_rows(self, now):
        observed, rows = self._observed, {'robot': self._arm.description.name}
        rows['state'] = self._state(now)
        rows['drawn'] = f'deflections x {self._stage.factor:g}' + (
            ', larger than life' if self._stage.factor != 1.0 else ''
        )
        for part in NODES:
            status = observed.status.get(part)
            if status is not None and status.message != rows['state']:
                rows[part] = status.message
        forces = {link: np.linalg.norm(force) for link, force in observed.pushes.items()}
        for link, size in forces.items():
            if size > 0.0:
                rows[f'push at {link}'] = f'{size:.3g} N'
        for name, wrench in observed.contact_wrenches.items():
            rows[f'contact {name}'] = f'{np.linalg.norm(wrench[3:]):.3g} N'
        rows.update(self._plots.tip_rows())
        if self._label:
            rows['predicted'] = self._label
        for number, note in enumerate(observed.notes, 1):
            rows[f'note {number}' if number > 1 else 'note'] = note
        return rows

    def _state(self, now):
        observed = self._observed
        if observed.problem:
            return observed.problem
        if observed.received_at == -np.inf:
            return 'no data yet: waiting for joint_states'
        silence_s = now - observed.received_at
        if silence_s > SILENCE_TIMEOUT_S:
            return f'no joint_states for {silence_s:.0f} s'
        if self._panel.is_paused:
            return 'paused'
        if self._arm.tips and now - observed.flex_received_at > SILENCE_TIMEOUT_S:
            return 'moving; no flex_states: links keep their last shape'
        return 'live' if observed.is_prescribed else 'live, but commands do not move it'

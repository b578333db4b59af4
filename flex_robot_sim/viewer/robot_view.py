"""The page of the node `view`: an arm that moves elsewhere, simulated or real."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from flex_robot_sim.analysis.tangent import driven
from flex_robot_sim.viewer.live_plots import LivePlots
from flex_robot_sim.viewer.picture import ArmPicture
from flex_robot_sim.viewer.remote_panel import RemotePanel
from flex_robot_sim.viewer.stage import Stage, table

if TYPE_CHECKING:
    from flex_robot_sim.model.arm_model import ArmModel
    from flex_robot_sim.viewer.browser import Page
    from flex_robot_sim.viewer.observed import Observed
    from flex_robot_sim.viewer.remote import Remote

TARGET = (0.20, 0.62, 0.35), 0.3        # colour and opacity of the arm where it is to be
TWIN = (0.55, 0.35, 0.80), 0.3          # of the twin of a bench
PUSH_COLOUR = (0.85, 0.20, 0.25)
PUSHED = 0.25               # length of the arrow of a push, in reaches
SILENT = 1.0                # without states, after which an arm is called silent            [s]
STALE = 1.5                 # of a target or a twin that comes 50 times a second             [s]
FAR = 0.02                  # from the arm, in which case its target is drawn           [rad, m]
JUMP = 0.3                  # of the tip from one picture to the next: a reset; in reaches
WORDS, PLOTS = 0.25, 0.25   # between two changes of what is written, and of the plots        [s]
PARTS = 'dynamics', 'bridge', 'controller'


class RobotView:
    """What is on the page, and how it follows an Observed arm."""

    def __init__(self, page: Page, arm: ArmModel, seen: Observed, remote: Remote, rate: float,
                 span: float) -> None:
        """
        Fill a Page with `arm` (ArmModel).

        :param seen: Observed; remote: Remote.
        :param rate: of the pictures [Hz]; span: of the plots [s].
        """
        self._page, self._arm, self._seen, self._remote = page, arm, seen, remote
        with page.side_panel('Plots'):
            self._plots = LivePlots(page, arm, rate, span)
        self._stage = Stage(page, arm)
        stage, self._joints = self._stage, len(arm.joint_names)
        self._target = ArmPicture(page, stage.enlarger, stage.solids, '/target', TARGET)
        self._target.show(False)
        self._twin: ArmPicture | None = None
        self._shows = {'target': False, 'twin': False}
        self._panel = RemotePanel(page, arm, remote, seen, stage.tool,
                                  lambda: stage.pose(stage.tool)[0])
        self._arrows: dict[str, Callable[[np.ndarray, np.ndarray], None]] = {}
        self._said, self._plotted, self._looked = -np.inf, -np.inf, -np.inf
        self._tip = np.full(3, np.nan)
        self._label = ''

    def predict(self, frequencies: np.ndarray, label: str) -> None:
        """Take natural frequencies (m,) [Hz] for the spectrum, and in what state they are."""
        self._plots.predict(frequencies)
        self._label = f'{label}: {", ".join(f"{f:.3g}" for f in frequencies)} Hz' if len(
            frequencies) else ''

    def turn(self, now: float) -> None:
        """Do what users have asked for, and draw what is known by now [s]."""
        self._page.react()
        with self._page.at_once():
            self._draw(now)
            self._plots.note(self._seen, self._panel.is_paused)
            if now - self._plotted >= PLOTS:
                self._plotted = now
                self._plots.draw()
            if now - self._said >= WORDS:
                self._said = now
                self._panel.look(now)
                self._stage.status(table(self._words(now)))
                news = self._remote.news()
                if news:
                    self._page.say(news)

    def _draw(self, now):
        seen, stage = self._seen, self._stage
        stage.draw(seen.coordinates)
        tip = stage.pose(stage.tool)[1]
        if np.linalg.norm(tip - self._tip) > JUMP * stage.reach:
            stage.forget_trace()
        self._tip = tip
        here = seen.coordinates[driven(self._arm)]
        is_prescribed = now - seen.target_heard < STALE and np.isfinite(seen.target).all()
        if self._shown('target', self._target, is_prescribed and bool(
                np.abs(seen.target - here).max(initial=0.0) > FAR)):
            self._target.draw(self._rigid(seen.target))
        if seen.twin is not None and self._twin is None:
            self._twin = ArmPicture(self._page, stage.enlarger, stage.solids, '/twin', TWIN)
        if self._twin is not None and self._shown('twin', self._twin,
                                                  now - seen.twin_heard < STALE):
            self._twin.draw(self._rigid(seen.twin))
        for link, force in seen.pushes.items():
            self._draw_push(link, force)

    def _shown(self, name, picture, is_shown):
        if self._shows[name] != is_shown:
            self._shows[name] = is_shown
            picture.show(is_shown)
        return is_shown

    def _rigid(self, position):
        q = np.zeros(self._arm.size)
        q[:self._joints] = position
        q[driven(self._arm)] = position
        return q

    def _draw_push(self, link, force):
        if link not in self._arrows:
            if link not in self._arm.frames:
                return
            self._arrows[link] = self._page.arrow(f'/push/{len(self._arrows)}', PUSH_COLOUR,
                                                  PUSHED * self._stage.reach)
        R, p = self._stage.pose(link)
        size = float(np.linalg.norm(force))
        along = R @ force * (PUSHED * self._stage.reach / size) if size > 0.0 else np.zeros(3)
        self._arrows[link](p - along, p)

    def _words(self, now):
        seen, rows = self._seen, {'robot': self._arm.description.name}
        rows['state'] = self._state(now)
        rows['drawn'] = (f'deflections x {self._stage.factor:g}' + (
            ', larger than life' if self._stage.factor != 1.0 else ''))
        for part in PARTS:
            status = seen.status.get(part)
            if status is not None and status.message != rows['state']:
                rows[part] = status.message
        forces = {link: np.linalg.norm(force) for link, force in seen.pushes.items()}
        for link, size in forces.items():
            if size > 0.0:
                rows[f'push at {link}'] = f'{size:.3g} N'
        rows.update(self._plots.words())
        if self._label:
            rows['predicted'] = self._label
        return rows

    def _state(self, now):
        seen = self._seen
        if seen.problem:
            return seen.problem
        if seen.heard == -np.inf:
            return 'nothing heard yet: waits for joint_states'
        silent = now - seen.heard
        if silent > SILENT:
            return f'silent for {silent:.0f} s: no joint_states'
        if self._panel.is_paused:
            return 'paused'
        if self._arm.tips and now - seen.flex_heard > SILENT:
            return 'moving; without flex_states links are drawn as they were'
        return 'live' if seen.is_prescribed else 'live, but commands do not move it'


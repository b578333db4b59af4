"""Plots of an arm while it moves: joints, tips, their spectrum, efforts, energy."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from flex_robot_sim.viewer.history import History
from flex_robot_sim.viewer.joints import unit
from flex_robot_sim.viewer.observed import Observed, Tips
from flex_robot_sim.viewer.plot_lines import Line
from flex_robot_sim.viewer.spectrum import spectrum, with_comb

if TYPE_CHECKING:
    from flex_robot_sim.model.arm_model import ArmModel
    from flex_robot_sim.viewer.browser import Page

POINTS = 240            # across a plot, at most
TIP_RATE = 120.0        # of elastic coordinates that are kept, at most                     [Hz]
PERIODS = 12.0          # of the slowest predicted mode that a spectrum looks back over, but
LOOK_BACK = 8.0, 60.0   # at least and at most                                               [s]
BEYOND = 1.5            # frequency up to which spectra go, over the highest predicted
HIGHEST = 10.0          # the same where none is predicted                                  [Hz]
BACK = 1.0              # of times, after which they are those of another run               [s]
ENERGY = 'energy [J]'   # in the diagnostics of the dynamics


class LivePlots:
    """What is drawn beside an arm; times are those of its stamps."""

    def __init__(self, page: Page, arm: ArmModel, rate: float, span: float) -> None:
        """
        Add the plots to a Page.

        :param rate: with which `note` is called [Hz]; span: of the plots [s].
        """
        self._arm, self._span = arm, span
        joints, self._tips = len(arm.joint_names), Tips(arm)
        # positions, targets, efforts, and how far joints that give are turned against their motors
        self._joints = History(3 * joints + len(arm.motor_names), span, rate)
        self._giving = np.array([arm.joint_names.index(name) for name in arm.motor_names], int)
        self._motors = slice(joints, joints + len(arm.motor_names))
        self._bent = History(len(self._tips.names), LOOK_BACK[1], TIP_RATE)
        self._energy = History(1, span, rate)
        self._energy_heard, self._skipped = -np.inf, 0.0
        self._predicted = np.zeros(0)
        names = [f'{name} [{unit(arm, name)}]' for name in arm.joint_names]
        if joints:
            self._draw_joints = page.plot('joints', [
                *(Line(name, k) for k, name in enumerate(names)),
                *(Line('', k, True) for k in range(joints))], note='dashed: targets')
        if self._tips.names:
            self._draw_tips = page.plot('tip deflection [mm]', [
                Line(name, k) for k, name in enumerate(self._tips.names)])
            self._draw_spectrum = page.plot('spectrum of the tips [mm]', [
                *(Line(link, k) for k, link in enumerate(arm.tips)), Line('predicted', -1)],
                note='over frequency [Hz]')
        if arm.motor_names:
            self._draw_twists = page.plot('joints against their motors', [
                Line(f'{name} [m{unit(arm, name)}]', k) for k, name in enumerate(arm.motor_names)])
        if joints:
            units = {'m': 'N', 'rad': 'N m'}
            self._draw_efforts = page.plot('efforts', [
                Line(f'{name} [{units[unit(arm, name)]}]', k)
                for k, name in enumerate(arm.joint_names)])
        self._draw_energy = page.plot(ENERGY, [Line('')], 110,
                                      'once a second, from the diagnostics')

    def predict(self, frequencies: np.ndarray) -> None:
        """Take natural frequencies (m,) [Hz] of the arm as it stands."""
        self._predicted = np.asarray(frequencies, float)

    def forget(self) -> None:
        """Begin anew."""
        for history in (self._joints, self._bent, self._energy):
            history.clear()

    def note(self, seen: Observed, is_paused: bool = False) -> None:
        """Take what is new of an arm; while it is paused, time stands still for the plots, too."""
        if is_paused:
            self._skipped = seen.stamp - max(self._joints.newest, 0.0)
            seen.bent.clear()
            return
        joints, now = len(self._arm.joint_names), seen.stamp - self._skipped
        if np.isfinite(now) and _is_new(now, self._joints, 0.0):
            # a plot cannot scale what is no number: without a target it is where the joint is
            position = seen.coordinates[:joints]
            target = np.where(np.isfinite(seen.target), seen.target, position)
            twist = position[self._giving] - seen.coordinates[self._motors]
            self._joints.add(now, np.concatenate([position, target, seen.effort, twist]))
        for stamp, q in seen.bent:
            if _is_new(stamp - self._skipped, self._bent, 1 / TIP_RATE):
                self._bent.add(stamp - self._skipped, self._tips.matrix @ q)
        seen.bent.clear()
        status = seen.status.get('dynamics')
        if status is not None and status.heard > self._energy_heard and ENERGY in status.figures:
            self._energy_heard = status.heard
            self._energy.add(now, [float(status.figures[ENERGY])])

    def words(self) -> dict[str, str]:
        """Return how far the tips are off, in words."""
        _, rows = self._bent.last(0.0)
        return {} if not len(rows) else {'tips': ', '.join(
            f'{link} {1e3 * np.linalg.norm(rows[-1][self._tips.links == k]):.3g} mm'
            for k, link in enumerate(self._arm.tips))}

    def draw(self) -> None:
        """Bring the plots up to date."""
        joints = len(self._arm.joint_names)
        times, rows = self._joints.last(self._span, POINTS)
        if joints and len(times) > 1:
            self._draw_joints(times - times[-1], rows[:, :2 * joints])
            self._draw_efforts(times - times[-1], rows[:, 2 * joints:3 * joints])
            if len(self._giving):
                self._draw_twists(times - times[-1], 1e3 * rows[:, 3 * joints:])
        if self._tips.names:
            times, rows = self._bent.last(self._span, POINTS)
            if len(times) > 1:
                self._draw_tips(times - times[-1], 1e3 * rows)
            self._draw_spectra()
        times, rows = self._energy.last(self._span)
        if len(times) > 1:
            self._draw_energy(times - times[-1], rows)

    def _draw_spectra(self):
        slowest = min(self._predicted, default=np.inf)
        times, rows = self._bent.last(float(np.clip(PERIODS / slowest, *LOOK_BACK)))
        frequencies, parts = spectrum(times, rows)
        highest = BEYOND * self._predicted.max() if len(self._predicted) else HIGHEST
        shown = frequencies <= highest
        if shown.sum() < 2:
            return
        # both planes of a link together
        amplitudes = np.column_stack([
            np.sqrt((parts[shown][:, self._tips.links == k]**2).sum(axis=1))
            for k in range(len(self._arm.tips))])
        self._draw_spectrum(*with_comb(frequencies[shown], 1e3 * amplitudes, self._predicted))


def _is_new(time, history, apart):
    """Whether a time is beyond the newest of a History, or so far before that it is another."""
    return time > history.newest + apart or time < history.newest - BACK

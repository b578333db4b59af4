"""Live plots of an arm: joints, tips, their spectrum, efforts, energy."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from flex_robot_sim.model.arm_model import ArmModel
from flex_robot_sim.viewer.history import History
from flex_robot_sim.viewer.observed import ObservedArm, Tips
from flex_robot_sim.viewer.plot_lines import PlotLine

if TYPE_CHECKING:
    from flex_robot_sim.viewer.browser import Page

MAX_POINTS = 240  # across a plot
MAX_TIP_RATE_HZ = 120.0  # of the tip history
SPECTRUM_PERIODS = 12.0  # span of a spectrum, in periods of the slowest predicted mode,
SPECTRUM_SPAN_S = 8.0, 60.0  # and its limits                                                [s]
SPECTRUM_RANGE_RATIO = 1.5  # end of the spectra over the highest predicted frequency
DEFAULT_SPECTRUM_HZ = 10.0  # end of the spectra without a prediction
NEW_RUN_JUMP_S = 1.0  # stamps that jump back further belong to a new run
MIN_SAMPLES = 32  # of a spectrum
MAX_GAP_PERIODS = 5.0  # longest gap to interpolate, in sampling periods
ENERGY_KEY = 'energy [J]'  # key in the diagnostics of the node dynamics


class LivePlots:
    """Plots next to an arm over the stamps of its states."""

    def __init__(self, page: Page, arm: ArmModel, rate: float, span: float) -> None:
        """Add the plots over `span` [s]; `add_observation` is called at a rate [Hz]."""
        self._arm, self._span = arm, span
        joints, self._tips = len(arm.joint_names), Tips(arm)
        # positions, targets, efforts, and deflections of flexible joints against their motors
        self._joint_history = History(3 * joints + len(arm.motor_names), span, rate)
        self._flexible_rows = np.array(
            [arm.joint_names.index(name) for name in arm.motor_names], int
        )
        self._motors = slice(joints, joints + len(arm.motor_names))
        self._tip_history = History(len(self._tips.names), SPECTRUM_SPAN_S[1], MAX_TIP_RATE_HZ)
        self._energy_history = History(1, span, rate)
        self._energy_received_at, self._paused_time = -np.inf, 0.0
        self._predicted = np.zeros(0)
        names = [f'{name} [{unit}]' for name, unit in zip(arm.joint_names, arm.units)]
        if joints:
            self._draw_joints = page.plot(
                'joints',
                [
                    *(PlotLine(name, k) for k, name in enumerate(names)),
                    *(PlotLine('', k, True) for k in range(joints)),
                ],
                note='dashed: targets',
            )
        if self._tips.names:
            self._draw_tips = page.plot(
                'tip deflection [mm]',
                [PlotLine(name, k) for k, name in enumerate(self._tips.names)],
            )
            self._draw_spectrum = page.plot(
                'spectrum of the tips [mm]',
                [
                    *(PlotLine(link, k) for k, link in enumerate(arm.tips)),
                    PlotLine('predicted', -1),
                ],
                note='over frequency [Hz]',
            )
        if arm.motor_names:
            self._draw_twists = page.plot(
                'joints against their motors',
                [
                    PlotLine(f'{name} [m{arm.units[row]}]', k)
                    for k, (name, row) in enumerate(zip(arm.motor_names, self._flexible_rows))
                ],
            )
        if joints:
            self._draw_efforts = page.plot(
                'efforts',
                [
                    PlotLine(f'{name} [{unit}]', k)
                    for k, (name, unit) in enumerate(zip(arm.joint_names, arm.effort_units))
                ],
            )
        self._draw_energy = page.plot(
            ENERGY_KEY, [PlotLine('')], 110, 'once a second, from the diagnostics'
        )

    def predict(self, frequencies: np.ndarray) -> None:
        """Set the natural frequencies (m,) [Hz] of the arm at its present pose."""
        self._predicted = np.asarray(frequencies, float)

    def clear(self) -> None:
        """Clear all plots."""
        for history in (self._joint_history, self._tip_history, self._energy_history):
            history.clear()

    def add_observation(self, observed: ObservedArm, is_paused: bool = False) -> None:
        """Add new observations of an arm; the time of the plots stops while it is paused."""
        if is_paused:
            self._paused_time = observed.stamp - max(self._joint_history.newest, 0.0)
            observed.flex_samples.clear()
            return
        now = observed.stamp - self._paused_time
        if np.isfinite(now) and _is_new(now, self._joint_history, 0.0):
            # plots cannot scale nan: a joint without a target has its position as target
            position = observed.coordinates[self._arm.joint_q]
            target = np.where(np.isfinite(observed.target), observed.target, position)
            twist = position[self._flexible_rows] - observed.coordinates[self._motors]
            self._joint_history.add(
                now, np.concatenate([position, target, observed.effort, twist])
            )
        for stamp, q in observed.flex_samples:
            if _is_new(stamp - self._paused_time, self._tip_history, 1 / MAX_TIP_RATE_HZ):
                self._tip_history.add(stamp - self._paused_time, self._tips.matrix @ q)
        observed.flex_samples.clear()
        status = observed.status.get('dynamics')
        if (
            status is not None
            and status.received_at > self._energy_received_at
            and (ENERGY_KEY in status.figures)
        ):
            self._energy_received_at = status.received_at
            self._energy_history.add(now, [float(status.figures[ENERGY_KEY])])

    def tip_rows(self) -> dict[str, str]:
        """Return the tip deflections as text."""
        _, rows = self._tip_history.last(0.0)
        if not len(rows):
            return {}
        return {
            'tips': ', '.join(
                f'{link} {1e3 * np.linalg.norm(rows[-1][self._tips.links == k]):.3g} mm'
                for k, link in enumerate(self._arm.tips)
            )
        }

    def draw(self) -> None:
        """Update the plots."""
        joints = len(self._arm.joint_names)
        times, rows = self._joint_history.last(self._span, MAX_POINTS)
        if joints and len(times) > 1:
            self._draw_joints(times - times[-1], rows[:, : 2 * joints])
            self._draw_efforts(times - times[-1], rows[:, 2 * joints : 3 * joints])
            if len(self._flexible_rows):
                self._draw_twists(times - times[-1], 1e3 * rows[:, 3 * joints :])
        if self._tips.names:
            times, rows = self._tip_history.last(self._span, MAX_POINTS)
            if len(times) > 1:
                self._draw_tips(times - times[-1], 1e3 * rows)
            self._draw_spectra()
        times, rows = self._energy_history.last(self._span)
        if len(times) > 1:
            self._draw_energy(times - times[-1], rows)

    def _draw_spectra(self):
        slowest = min(self._predicted, default=np.inf)
        times, rows = self._tip_history.last(
            float(np.clip(SPECTRUM_PERIODS / slowest, *SPECTRUM_SPAN_S))
        )
        frequencies, parts = spectrum(times, rows)
        highest = DEFAULT_SPECTRUM_HZ
        if len(self._predicted):
            highest = SPECTRUM_RANGE_RATIO * self._predicted.max()
        is_shown = frequencies <= highest
        if is_shown.sum() < 2:
            return
        # norm over both planes of a link
        amplitudes = np.column_stack(
            [
                np.sqrt((parts[is_shown][:, self._tips.links == k] ** 2).sum(axis=1))
                for k in range(len(self._arm.tips))
            ]
        )
        self._draw_spectrum(*with_comb(frequencies[is_shown], 1e3 * amplitudes, self._predicted))


def _is_new(time, history, min_gap):
    """Whether a time is newer than a History, or so much older that a new run has begun."""
    return time > history.newest + min_gap or time < history.newest - NEW_RUN_JUMP_S


def spectrum(times: np.ndarray, values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """
    Return frequencies (m,) [Hz] and amplitudes (m, k) of the oscillations in samples.

    Hann window, mean removed: a steady sine of amplitude a on a spectral line has the height a.
    A transient is lower and wider. Empty if there are too few samples, or a gap between them.

    :param times: (n,) [s], increasing, nearly uniform; values: (n, k).
    """
    empty = np.zeros(0), np.zeros((0, values.shape[1]))
    if len(times) < MIN_SAMPLES:
        return empty
    period = float(np.median(np.diff(times)))
    if not np.diff(times).max() <= MAX_GAP_PERIODS * period:
        return empty
    count = round((times[-1] - times[0]) / period) + 1
    uniform_times = times[0] + (times[-1] - times[0]) * np.arange(count) / (count - 1)
    rows = np.column_stack([np.interp(uniform_times, times, column) for column in values.T])
    window = 0.5 - 0.5 * np.cos(2 * np.pi * np.arange(count) / count)
    rows -= (window @ rows) / window.sum()
    amplitudes = 2 * np.abs(np.fft.rfft(window[:, None] * rows, axis=0)) / window.sum()
    return np.arange(len(amplitudes)) / (count * (uniform_times[1] - uniform_times[0])), amplitudes


def with_comb(
    frequencies: np.ndarray, amplitudes: np.ndarray, predicted: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """
    Return a spectrum with another column, zero except for a spike at each prediction.

    :param predicted: frequencies (p,) [Hz]; those outside the spectrum are left out.
    """
    if not len(frequencies):
        return frequencies, np.column_stack([amplitudes, amplitudes[:, :1]])
    in_range = predicted[(predicted > 0.0) & (predicted < frequencies[-1])]
    width = 1e-3 * (frequencies[1] - frequencies[0])
    x = np.unique(np.concatenate([frequencies, in_range - width, in_range, in_range + width]))
    y = np.column_stack([np.interp(x, frequencies, column) for column in amplitudes.T])
    comb = np.where(np.isin(x, in_range), 1.1 * amplitudes.max(initial=0.0), 0.0)
    return x, np.column_stack([y, comb])

"""The figures of the wrench DAE, section 7: ELLA under PD, figures 4 to 15."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from scipy.signal import butter, sosfiltfilt

from flex_robot_sim.core.model import ArmModel
from flex_robot_sim.formulations.sections import displaced, sample
from flex_robot_sim.plots import Chart, Curve
from flex_robot_sim.reproduce.motion import Run
from flex_robot_sim.reproduce.report import Pictures

STATIONS = (0.25, 0.5, 0.75, 1.0)       # of the fields, over the length
LINKS, JOINTS, AXES = ('link_1', 'link_2'), ('theta_y1', 'theta_z1', 'theta_z2'), 'xyz'
SLOW = 1.0                      # what is slower is no oscillation of the tip           [Hz]


def screws(seen: Mapping[str, np.ndarray]) -> Pictures:
    """Figures 4 and 5."""
    charts = []
    for number, first, what, unit in (
            (4, 0, 'r', 'm'), (4, 3, 'theta', 'rad'), (5, 9, 'v', 'm/s'),
            (5, 6, 'omega', 'rad/s')):
        for link in LINKS:
            charts.append(Chart(
                f'Fig. {number}: {what} of {link.replace("_", " ")}', 'time [s]',
                f'{what} [{unit}]', tuple(
                    Curve(axis, seen['time'], seen[link][:, first + row], *look)
                    for row, (axis, look) in enumerate(zip(AXES, ((4, 0), (1, 1), (0, 2)))))))
    return Pictures('figures_4_and_5', 'ELLA: places and twists of the frames of the links',
                    tuple(charts))


def motions(run: Run, seen: Mapping[str, np.ndarray], deflection: np.ndarray, rigid: np.ndarray,
            goal: np.ndarray) -> Pictures:
    """Figures 6 to 9 and 13."""
    time, charts = seen['time'], []
    for k, name in enumerate(JOINTS):
        charts.append(Chart(f'Fig. 6: {name}', 'time [s]', 'angle [rad]', (
            Curve('model', run.time, run.q[:, k], 4),
            Curve('set point', run.time[[0, -1]], np.full(2, goal[k]), 1, 1))))
    for k, axis in enumerate(AXES):
        charts.append(Chart(f'Fig. 7: endpoint, {axis}', 'time [s]', f'{axis} [m]',
                            (Curve('model', time, seen['tip'][:, k], 4),)))
    for k, axis in enumerate(AXES):
        charts.append(Chart(f'Fig. 8: endpoint displacement, {axis}', 'time [s]', f'{axis} [m]',
                            (Curve('model', run.time, deflection[:, k], 4),)))
    for k, axis in enumerate(AXES):
        across, spectrum = spectrum_of(run.time, deflection[:, k])
        near = across < 20.0
        charts.append(Chart(f'Fig. 9: spectrum above {SLOW:g} Hz, {axis}', 'frequency [Hz]',
                            'amplitude [m]', (Curve('model', across[near], spectrum[near], 4),)))
    for k, name in enumerate(JOINTS):
        charts.append(Chart(f'Fig. 13: torque, {name}', 'time [s]', 'torque [N m]', (
            Curve('flexible', time, seen['torque'][:, k], 4),
            Curve('rigid', time[:len(rigid)], rigid[:, k], 1, 1))))
    return Pictures('figures_6_to_9_and_13', 'ELLA under PD', tuple(charts), 3)


def fields(arm: ArmModel, run: Run) -> Pictures:
    """Figures 10 to 12: displacement along both links, and modal coordinates."""
    charts = []
    for number, link in ((10, 'link_1'), (11, 'link_2')):
        body = arm.segments[link][0]
        beam = arm.beams[body]
        first = arm.arrays.first[body]
        sections = sample(beam, np.array(STATIONS) * beam.length, arm.coupling)
        moved = np.array([displaced(sections, e, 0 * e)[0] - np.outer(sections.x, [1, 0, 0])
                          for e in run.q[:, first:first + beam.size]])
        for row, axis in enumerate(AXES):
            curves = []
            for k, share in enumerate(STATIONS):
                curves.append(Curve(f'{share:g} L', run.time, moved[:, k, row],
                                    (6, 0, 1, 4)[k], 3 - k))
            charts.append(Chart(f'Fig. {number}: {link}, r_{axis}', 'time [s]',
                                'displacement [m]', tuple(curves)))
    for name, axis in (('stretch', 'x'), ('bending_y', 'y'), ('bending_z', 'z')):
        charts.append(Chart(f'Fig. 12: modal coordinate, {axis}', 'time [s]', 'eta [m]', tuple(
            Curve(link, run.time, run.of(arm, f'{link}/{name}_1'), *look)
            for link, look in (('link_1', (4, 0)), ('link_2', (1, 1))))))
    return Pictures('figures_10_to_12', 'ELLA: fields along the links', tuple(charts), 3)


def wrenches(seen: Mapping[str, np.ndarray]) -> Pictures:
    """Figures 14 and 15."""
    charts = []
    for number, name in ((14, 'base'), (15, 'elbow')):
        for offset, what, unit in ((3, 'F', 'N'), (0, 'tau', 'N m')):
            for k, axis in enumerate(AXES):
                charts.append(Chart(
                    f'Fig. {number}: {name} joint, {what}_{axis}', 'time [s]',
                    f'{"force" if what == "F" else "moment"} [{unit}]',
                    (Curve(what, seen['time'], seen[name][:, offset + k], 4),)))
    return Pictures('figures_14_and_15', 'ELLA: wrenches at both joints', tuple(charts), 3)


def spectrum_of(time: np.ndarray, values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Frequencies [Hz] and amplitudes of what oscillates in an evenly sampled curve."""
    step, size = time[1] - time[0], 8 * len(values)         # as many zeros more: a smooth curve
    quick = values - values.mean()
    if len(values) > 20:
        quick = sosfiltfilt(butter(4, SLOW, 'high', fs=1 / step, output='sos'), values)
    window = np.hanning(len(values))
    spectrum = 2 * np.abs(np.fft.rfft(quick * window, size)) / window.sum()
    return np.fft.rfftfreq(size, step), spectrum

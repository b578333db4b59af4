"""The figures of the wrench DAE, section 7: ELLA under PD, figures 4 to 15."""

from typing import NamedTuple

import numpy as np
from scipy.signal import butter, sosfiltfilt
from scipy.spatial.transform import Rotation

from flex_robot_sim.analysis.deflection import tip_deflection
from flex_robot_sim.formulations.sampled_sections import displace_sections, sample
from flex_robot_sim.model.arm_model import ArmModel
from flex_robot_sim.reproduce.ella_controller import GOAL, MOVE_DURATION
from flex_robot_sim.reproduce.reproduction import Figure
from flex_robot_sim.reproduce.simulated_motion import Effort, Run
from flex_robot_sim.simulation.simulation import Simulation
from flex_robot_sim.util.plots import Chart, Curve

STATIONS = (0.25, 0.5, 0.75, 1.0)  # of the displacement fields, over the length
LINKS, JOINTS, AXES = ('link_1', 'link_2'), ('theta_y1', 'theta_z1', 'theta_z2'), 'xyz'
LINE_STYLES = ((4, 0), (1, 1), (0, 2))  # colours and dashes of x, y and z
HIGH_PASS_HZ = 1.0  # slower motion of the tip is not vibration


class MotionSamples(NamedTuple):
    """
    Samples of a motion in the inertial frame of the paper.

    That frame has its origin at the base joints and y along the first axis, upwards.
    """

    time: np.ndarray  # (k,)     [s]
    tip: np.ndarray  # (k, 3)   position of the endpoint                         [m]
    deflection: np.ndarray  # (k, 3)   of the tip of link 2, in its frame               [m]
    displacement: np.ndarray  # (k, 3)   the same in the inertial frame                   [m]
    torque: np.ndarray  # (k, 3)   of the controller                                [N m]
    base: np.ndarray  # (k, 6)   moment and force at theta_z1, in link 1         [N m, N]
    elbow: np.ndarray  # (k, 6)   moment and force at theta_z2, in link 2         [N m, N]
    # position, rotation vector, velocity and angular velocity (k, 12) of both links
    link_1: np.ndarray
    link_2: np.ndarray


class MotionRecorder:
    """Takes the samples of a motion of an arm under joint torques `effort`."""

    def __init__(self, arm: ArmModel, effort: Effort) -> None:
        joint = arm.description.joint(JOINTS[0])
        self._arm, self._effort = arm, effort
        self._R, self._p = joint.rotation, joint.position  # of the inertial frame in the base
        self._rows: list[tuple] = []

    def take_sample(self, simulation: Simulation) -> None:
        """Record the present state of a Simulation."""
        q = simulation.q
        deflection = tip_deflection(self._arm, 'link_2', q)[:3]
        self._rows.append(
            (
                simulation.time,
                self._to_inertial(simulation.pose('tool')[:3, 3]),
                deflection,
                self._R.T @ simulation.pose('link_2')[:3, :3] @ deflection,
                self._effort(simulation.time, q, simulation.v),
                simulation.wrench('theta_z1'),
                simulation.wrench('theta_z2'),
                *(self._link(simulation, link) for link in LINKS),
            )
        )

    def samples(self) -> MotionSamples:
        """Return the samples taken so far."""
        return MotionSamples(*(np.array(column) for column in zip(*self._rows)))

    def _link(self, simulation, link):
        pose, twist = simulation.pose(link), simulation.twist(link, representation='hybrid')
        rotation = Rotation.from_matrix(self._R.T @ pose[:3, :3])
        return np.concatenate(
            [
                self._to_inertial(pose[:3, 3]),
                rotation.as_rotvec(),
                self._R.T @ twist[3:],
                self._R.T @ twist[:3],
            ]
        )

    def _to_inertial(self, point):
        return self._R.T @ (point - self._p)


def make_all_figures(
    arm: ArmModel, run: Run, samples: MotionSamples, rigid_torques: np.ndarray
) -> tuple[Figure, ...]:
    """Return all figures of a motion; rigid_torques: torques (k, 3) for rigid links [N m]."""
    return (
        make_frames_figure(samples),
        make_joints_figure(run),
        make_endpoint_figure(samples),
        make_spectra_figure(samples),
        make_fields_figure(arm, run),
        make_modal_figure(arm, run),
        make_torques_figure(samples, rigid_torques),
        make_wrenches_figure(samples),
    )


def make_frames_figure(samples: MotionSamples) -> Figure:
    """Return figures 4 and 5: positions and velocities of both links."""
    charts = []
    for number, first, what, unit in (
        (4, 0, 'r', 'm'),
        (4, 3, 'theta', 'rad'),
        (5, 6, 'v', 'm/s'),
        (5, 9, 'omega', 'rad/s'),
    ):
        for link in LINKS:
            charts.append(
                _plot_axes(
                    f'Fig. {number}: {what} of {link.replace("_", " ")}',
                    f'{what} [{unit}]',
                    samples.time,
                    getattr(samples, link)[:, first : first + 3],
                )
            )
    return Figure(
        'figures_4_and_5', 'ELLA: frames of the links in the inertial frame', tuple(charts)
    )


def make_joints_figure(run: Run) -> Figure:
    """Return figure 6: joint angles."""
    charts = tuple(
        Chart(
            f'Fig. 6: {name}',
            'time [s]',
            'angle [rad]',
            (
                Curve('model', run.time, run.q[:, k], 4),
                Curve('set point', run.time[[0, -1]], np.full(2, GOAL[k]), 1, 1),
            ),
        )
        for k, name in enumerate(JOINTS)
    )
    return Figure('figure_6', 'ELLA under PD: joints', charts)


def make_endpoint_figure(samples: MotionSamples) -> Figure:
    """Return figures 7 and 8: position and displacement of the endpoint."""
    charts = [
        _plot_axes('Fig. 7: endpoint', 'place [m]', samples.time, samples.tip),
        _plot_axes(
            'Fig. 8: displacement of the endpoint',
            'displacement [mm]',
            samples.time,
            1e3 * samples.displacement,
        ),
    ]
    is_after_move = samples.time >= MOVE_DURATION
    if is_after_move.sum() > 1:
        charts.append(
            _plot_axes(
                f'Fig. 8, after {MOVE_DURATION:g} s',
                'displacement [mm]',
                samples.time[is_after_move],
                1e3 * samples.displacement[is_after_move],
            )
        )
    return Figure('figures_7_and_8', 'ELLA: endpoint in the inertial frame', tuple(charts))


def make_spectra_figure(samples: MotionSamples) -> Figure:
    """Return figure 9: spectra of the vibration after the motion."""
    is_after_move, charts = samples.time >= min(MOVE_DURATION, samples.time[-1] / 2), []
    for k, (axis, style) in enumerate(zip(AXES, LINE_STYLES)):
        curves = []
        for name, values, width in (
            ('displacement', samples.displacement, 1.1),
            ('place, above 1 Hz', samples.tip, 0.8),
        ):
            frequency, spectrum = amplitude_spectrum(
                samples.time[is_after_move], values[is_after_move, k]
            )
            near, dashes = frequency < 20.0, int(name != 'displacement')
            points = frequency[near], 1e3 * spectrum[near]
            curves.append(Curve(name, *points, style[0], dashes, False, width))
        title = f'Fig. 9: spectrum of {axis} after {MOVE_DURATION:g} s'
        labels = 'frequency [Hz]', 'amplitude [mm]'
        charts.append(Chart(title, *labels, tuple(curves), is_logarithmic=True))
    return Figure(
        'figure_9', 'ELLA: spectrum of the endpoint in the inertial frame', tuple(charts)
    )


def make_fields_figure(arm: ArmModel, run: Run) -> Figure:
    """Return figures 10 and 11: displacement along both links."""
    charts = []
    for number, link in ((10, 'link_1'), (11, 'link_2')):
        beam, columns = arm.beams_of(link)[0]
        sections = sample(beam, np.array(STATIONS) * beam.length, arm.coupling)
        displacements = np.array(
            [
                displace_sections(sections, e, 0 * e)[0] - np.outer(sections.x, [1, 0, 0])
                for e in run.q[:, columns]
            ]
        )
        for row, axis in enumerate(AXES):
            title = f'Fig. {number}: {link.replace("_", " ")}, r_{axis}'
            curves = tuple(
                Curve(f'{fraction:g} L', run.time, 1e3 * displacements[:, k, row], colour, 3 - k)
                for k, (fraction, colour) in enumerate(zip(STATIONS, (6, 0, 1, 4)))
            )
            charts.append(Chart(title, 'time [s]', 'displacement [mm]', curves))
    return Figure('figures_10_and_11', 'ELLA: fields along the links', tuple(charts))


def make_modal_figure(arm: ArmModel, run: Run) -> Figure:
    """Return figure 12: modal coordinates."""
    charts = []
    for name, axis in (('stretch', 'x'), ('bending_y', 'y'), ('bending_z', 'z')):
        curves = []
        for link, style in zip(LINKS, LINE_STYLES):
            eta = 1e3 * run.coordinate(arm, f'{link}/{name}_1')
            curves.append(Curve(link.replace('_', ' '), run.time, eta, *style))
        title = f'Fig. 12: modal coordinate, {axis}'
        charts.append(Chart(title, 'time [s]', 'eta [mm]', tuple(curves)))
    return Figure('figure_12', 'ELLA: modal coordinates', tuple(charts))


def make_torques_figure(samples: MotionSamples, rigid_torques: np.ndarray) -> Figure:
    """Return figure 13: joint torques, flexible and rigid."""
    size = min(len(samples.time), len(rigid_torques))
    return Figure(
        'figure_13',
        'ELLA under PD: torques',
        tuple(
            Chart(
                f'Fig. 13: torque, {name}',
                'time [s]',
                'torque [N m]',
                (
                    Curve('flexible', samples.time, samples.torque[:, k], 4),
                    Curve('rigid', samples.time[:size], rigid_torques[:size, k], 1, 1),
                ),
            )
            for k, name in enumerate(JOINTS)
        ),
    )


def make_wrenches_figure(samples: MotionSamples) -> Figure:
    """Return figures 14 and 15: forces and moments at the base and at the elbow."""
    charts = []
    for number, name, rows in (
        (14, 'base joint', samples.base),
        (15, 'elbow joint', samples.elbow),
    ):
        charts += [
            _plot_axes(f'Fig. {number}: force, {name}', 'force [N]', samples.time, rows[:, 3:]),
            _plot_axes(
                f'Fig. {number}: moment, {name}', 'moment [N m]', samples.time, rows[:, :3]
            ),
        ]
    return Figure(
        'figures_14_and_15', 'ELLA: wrenches at both joints, in link frames', tuple(charts)
    )


def amplitude_spectrum(time: np.ndarray, values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return frequencies [Hz] and amplitudes of an evenly sampled curve, above HIGH_PASS_HZ."""
    step, size = time[1] - time[0], 8 * len(values)  # zero padding, for a smooth curve
    fast_part = values - values.mean()
    if len(values) > 20:
        fast_part = sosfiltfilt(butter(4, HIGH_PASS_HZ, 'high', fs=1 / step, output='sos'), values)
    window = np.hanning(len(values))
    spectrum = 2 * np.abs(np.fft.rfft(fast_part * window, size)) / window.sum()
    return np.fft.rfftfreq(size, step), spectrum


def _plot_axes(title, label, time, values):
    """Return the chart of the three components (k, 3) of a vector."""
    return Chart(
        title,
        'time [s]',
        label,
        tuple(
            Curve(axis, time, values[:, k], *style)
            for k, (axis, style) in enumerate(zip(AXES, LINE_STYLES))
        ),
    )

"""The figures of the wrench DAE, section 7: ELLA under PD, figures 4 to 15."""

from __future__ import annotations

import numpy as np
from scipy.signal import butter, sosfiltfilt
from scipy.spatial.transform import Rotation

from flex_robot_sim.analysis.deflection import tip_deflection
from flex_robot_sim.formulations.sections import displace_sections, sample
from flex_robot_sim.model.arm_model import ArmModel
from flex_robot_sim.reproduce.motion import Effort, Run
from flex_robot_sim.reproduce.report import Pictures
from flex_robot_sim.simulation.simulation import Simulation
from flex_robot_sim.util.plots import Chart, Curve

STATIONS = (0.25, 0.5, 0.75, 1.0)       # of the fields, over the length
LINKS, JOINTS, AXES = ('link_1', 'link_2'), ('theta_y1', 'theta_z1', 'theta_z2'), 'xyz'
LOOKS = ((4, 0), (1, 1), (0, 2))        # colours and dashes of x, y and z
SLOW = 1.0                      # what is slower is no oscillation of the tip           [Hz]
MOVE = 1.5                      # after which the tip vibrates freely                   [s]


class Seen:
    """
    What a motion shows, in the inertial frame of the paper.

    That frame has its origin in the joints at the base and y along the first axis, upwards.
    """

    def __init__(self, arm: ArmModel, effort: Effort) -> None:
        joint = arm.description.joint(JOINTS[0])
        self._arm, self._effort = arm, effort
        self._R, self._p = joint.rotation, joint.position       # of that frame in the base frame
        self._rows: dict[str, list] = {name: [] for name in (
            'time', 'tip', 'deflection', 'displacement', 'torque', 'base', 'elbow', *LINKS)}

    def look(self, simulation: Simulation) -> None:
        """Take a sample."""
        rows = self._rows
        q, qd = simulation.coordinates, simulation.rates
        rows['time'].append(simulation.time)
        rows['tip'].append(self._place(simulation.pose('tool')[:3, 3]))
        bent = tip_deflection(self._arm, 'link_2', q)[:3]
        rows['deflection'].append(bent)
        for link in LINKS:
            pose, twist = simulation.pose(link), simulation.twist(link, 'hybrid')
            R = self._R.T @ pose[:3, :3]
            rows[link].append(np.concatenate([
                self._place(pose[:3, 3]), Rotation.from_matrix(R).as_rotvec(),
                self._R.T @ twist[3:], self._R.T @ twist[:3]]))
        rows['displacement'].append(self._R.T @ simulation.pose('link_2')[:3, :3] @ bent)
        rows['torque'].append(self._effort(simulation.time, q, qd))
        rows['base'].append(simulation.wrench('theta_z1'))
        rows['elbow'].append(simulation.wrench('theta_z2'))

    @property
    def time(self) -> np.ndarray:
        """Times (k,) [s]."""
        return np.array(self._rows['time'])

    @property
    def tip(self) -> np.ndarray:
        """Places of the endpoint (k, 3) [m]."""
        return np.array(self._rows['tip'])

    @property
    def deflection(self) -> np.ndarray:
        """Deflections of the tip of link 2, in its frame (k, 3) [m]."""
        return np.array(self._rows['deflection'])

    @property
    def displacement(self) -> np.ndarray:
        """The same in the inertial frame (k, 3) [m]."""
        return np.array(self._rows['displacement'])

    @property
    def torque(self) -> np.ndarray:
        """Torques of the controller (k, 3) [N m]."""
        return np.array(self._rows['torque'])

    @property
    def base(self) -> np.ndarray:
        """Moment and force at theta_z1, in the frame of link 1 (k, 6) [N m, N]."""
        return np.array(self._rows['base'])

    @property
    def elbow(self) -> np.ndarray:
        """Moment and force at theta_z2, in the frame of link 2 (k, 6) [N m, N]."""
        return np.array(self._rows['elbow'])

    def link(self, name: str) -> np.ndarray:
        """Place, rotation vector, velocity and angular velocity (k, 12) of the frame of a link."""
        return np.array(self._rows[name])

    def _place(self, point):
        return self._R.T @ (point - self._p)


def all_pictures(arm: ArmModel, run: Run, seen: Seen, rigid: np.ndarray, goal: np.ndarray
                 ) -> tuple[Pictures, ...]:
    """
    Return all figures of a motion.

    :param rigid: torques (k, 3) on rigid links [N m]; goal: set points (3,) [rad].
    """
    return (frames(seen), joints(run, goal), endpoint(seen), spectra(seen), fields(arm, run),
            modal(arm, run), torques(seen, rigid), wrenches(seen))


def frames(seen: Seen) -> Pictures:
    """Figures 4 and 5."""
    charts = []
    for number, first, what, unit in (
            (4, 0, 'r', 'm'), (4, 3, 'theta', 'rad'), (5, 6, 'v', 'm/s'),
            (5, 9, 'omega', 'rad/s')):
        for link in LINKS:
            charts.append(_by_axes(f'Fig. {number}: {what} of {link.replace("_", " ")}',
                                   f'{what} [{unit}]', seen.time,
                                   seen.link(link)[:, first:first + 3]))
    return Pictures('figures_4_and_5', 'ELLA: frames of the links in the inertial frame',
                    tuple(charts))


def joints(run: Run, goal: np.ndarray) -> Pictures:
    """Figure 6."""
    charts = tuple(Chart(f'Fig. 6: {name}', 'time [s]', 'angle [rad]', (
        Curve('model', run.time, run.q[:, k], 4),
        Curve('set point', run.time[[0, -1]], np.full(2, goal[k]), 1, 1)))
        for k, name in enumerate(JOINTS))
    return Pictures('figure_6', 'ELLA under PD: joints', charts)


def endpoint(seen: Seen) -> Pictures:
    """Figures 7 and 8."""
    charts = [_by_axes('Fig. 7: endpoint', 'place [m]', seen.time, seen.tip),
              _by_axes('Fig. 8: displacement of the endpoint', 'displacement [mm]', seen.time,
                       1e3 * seen.displacement)]
    late = seen.time >= MOVE
    if late.sum() > 1:
        charts.append(_by_axes(f'Fig. 8, after {MOVE:g} s', 'displacement [mm]', seen.time[late],
                               1e3 * seen.displacement[late]))
    return Pictures('figures_7_and_8', 'ELLA: endpoint in the inertial frame', tuple(charts))


def spectra(seen: Seen) -> Pictures:
    """Figure 9: the vibration after the motion."""
    late, charts = seen.time >= min(MOVE, seen.time[-1] / 2), []
    for k, (axis, look) in enumerate(zip(AXES, LOOKS)):
        curves = []
        for name, values, width in (('displacement', seen.displacement, 1.1),
                                    ('place, above 1 Hz', seen.tip, 0.8)):
            across, spectrum = spectrum_of(seen.time[late], values[late, k])
            near = across < 20.0
            curves.append(Curve(name, across[near], 1e3 * spectrum[near], *look[:1],
                                int(name != 'displacement'), False, width))
        charts.append(Chart(f'Fig. 9: spectrum of {axis} after {MOVE:g} s', 'frequency [Hz]',
                            'amplitude [mm]', tuple(curves), is_logarithmic=True))
    return Pictures('figure_9', 'ELLA: spectrum of the endpoint in the inertial frame',
                    tuple(charts))


def fields(arm: ArmModel, run: Run) -> Pictures:
    """Figures 10 and 11: displacement along both links."""
    charts = []
    for number, link in ((10, 'link_1'), (11, 'link_2')):
        body = arm.segments[link][0]
        beam = arm.beams[body]
        first = arm.arrays.first[body]
        sections = sample(beam, np.array(STATIONS) * beam.length, arm.coupling)
        moved = np.array([displace_sections(sections, e, 0 * e)[0]
                          - np.outer(sections.x, [1, 0, 0])
                          for e in run.q[:, first:first + beam.size]])
        for row, axis in enumerate(AXES):
            curves = tuple(Curve(f'{share:g} L', run.time, 1e3 * moved[:, k, row],
                                 (6, 0, 1, 4)[k], 3 - k) for k, share in enumerate(STATIONS))
            charts.append(Chart(f'Fig. {number}: {link.replace("_", " ")}, r_{axis}', 'time [s]',
                                'displacement [mm]', curves))
    return Pictures('figures_10_and_11', 'ELLA: fields along the links', tuple(charts))


def modal(arm: ArmModel, run: Run) -> Pictures:
    """Figure 12: modal coordinates."""
    charts = []
    for name, axis in (('stretch', 'x'), ('bending_y', 'y'), ('bending_z', 'z')):
        charts.append(Chart(f'Fig. 12: modal coordinate, {axis}', 'time [s]', 'eta [mm]', tuple(
            Curve(link.replace('_', ' '), run.time, 1e3 * run.of(arm, f'{link}/{name}_1'), *look)
            for link, look in zip(LINKS, LOOKS))))
    return Pictures('figure_12', 'ELLA: modal coordinates', tuple(charts))


def torques(seen: Seen, rigid: np.ndarray) -> Pictures:
    """Figure 13."""
    size = min(len(seen.time), len(rigid))
    return Pictures('figure_13', 'ELLA under PD: torques', tuple(
        Chart(f'Fig. 13: torque, {name}', 'time [s]', 'torque [N m]', (
            Curve('flexible', seen.time, seen.torque[:, k], 4),
            Curve('rigid', seen.time[:size], rigid[:size, k], 1, 1)))
        for k, name in enumerate(JOINTS)))


def wrenches(seen: Seen) -> Pictures:
    """Figures 14 and 15."""
    charts = []
    for number, name, rows in ((14, 'base joint', seen.base), (15, 'elbow joint', seen.elbow)):
        charts += [_by_axes(f'Fig. {number}: force, {name}', 'force [N]', seen.time, rows[:, 3:]),
                   _by_axes(f'Fig. {number}: moment, {name}', 'moment [N m]', seen.time,
                            rows[:, :3])]
    return Pictures('figures_14_and_15', 'ELLA: wrenches at both joints, in link frames',
                    tuple(charts))


def spectrum_of(time: np.ndarray, values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Frequencies [Hz] and amplitudes of what oscillates above SLOW in an evenly sampled curve."""
    step, size = time[1] - time[0], 8 * len(values)         # as many zeros more: a smooth curve
    quick = values - values.mean()
    if len(values) > 20:
        quick = sosfiltfilt(butter(4, SLOW, 'high', fs=1 / step, output='sos'), values)
    window = np.hanning(len(values))
    spectrum = 2 * np.abs(np.fft.rfft(quick * window, size)) / window.sum()
    return np.fft.rfftfreq(size, step), spectrum


def _by_axes(title, label, time, values):
    """Chart of the three components (k, 3) of a vector."""
    return Chart(title, 'time [s]', label, tuple(
        Curve(axis, time, values[:, k], *look) for k, (axis, look) in enumerate(zip(AXES, LOOKS))))

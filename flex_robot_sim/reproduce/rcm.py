"""
Screw kinematics, sections 2.5 and 3.6: the arm with a remote centre of motion, figure 5.

Joints 4 and 5 swing while the arm stands, then the arm moves as well. Poses come in the three ways
of the paper, twists in its four forms, both without the kinematics of the package, their judge.
The paper has no dynamics; the formulations of the others move the arm along the same motion by PD.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from flex_robot_sim.analysis.jacobians import jacobian
from flex_robot_sim.dynamics.mass_matrix import mass_matrix
from flex_robot_sim.formulations.screw_kinematics import (
    FORMS,
    Body,
    bodies,
    jacobians,
    joint_screws,
    meeting_point,
    poses_by_base_frame,
    poses_by_body_frames,
    poses_by_joint_frames,
    system_jacobian,
    twists,
)
from flex_robot_sim.reproduce.comparison import Comparison, claim, not_comparable
from flex_robot_sim.reproduce.courses import courses, largest
from flex_robot_sim.reproduce.motion import Progress, forces_of, simulate, within
from flex_robot_sim.reproduce.options import Options
from flex_robot_sim.reproduce.report import Number, Pictures, Reproduction
from flex_robot_sim.util.plots import Chart, Curve

SECONDS, SAMPLES = 8.0, 401
ARM = np.array([0.3, 0.6, -1.2])        # pose of joints 1 to 3                     [rad]
SWING = np.array([0.9, 1.2])            # of joints 4 and 5                         [rad]
FREQUENCY, STEP = 3.0, 4e-3             # of PD, and of the steps by it             [Hz, s]
MARKED = 4                              # poses that are drawn
ROUNDING, DIGITS = 1e-12, 1e-8          # of arithmetic; of lengths written with 9 digits    [m]
ROBOT, VARIANT, VARIED, HAS_FORCES = 'rcm', '', (), False
WAYS = {'joint frames': poses_by_joint_frames, 'body frames': poses_by_body_frames,
        'base frame': poses_by_base_frame}


def run(progress: Progress, options: Options) -> Reproduction:
    """Run the experiment."""
    arm = options.arm(ROBOT)
    rows = bodies(arm)
    samples = SAMPLES if options.seconds is None else 41
    times = np.linspace(0.0, options.seconds or SECONDS, samples)
    q, qd = motion(times)
    off_ways = off_forms = off_rates = 0.0
    poses: list[np.ndarray] = []
    distances: list[tuple[np.ndarray, float]] = []
    names = [body.name for body in rows]
    for k, (position, rate) in enumerate(zip(q, qd)):
        ways = [way(rows, position) for way in WAYS.values()]
        off_ways = max(off_ways, *(np.abs(way - ways[0]).max() for way in ways[1:]))
        poses.append(ways[2])
        distances.append(remote_centre(rows, names, ways[2]))
        if k % 10 == 0:
            for form in FORMS:
                found = jacobians(rows, position, form)[names.index('tool')]
                off_forms = max(off_forms, np.abs(
                    found - jacobian(arm, position, 'tool', form)).max())
                system = system_jacobian(rows, position, form)
                V = twists(rows, position, rate, form).ravel()
                off_rates = max(off_rates, np.abs(system.rates(V) - rate).max())
            progress(0.3 * k / len(times))
    places = np.array(poses)
    centre = places[:, names.index('remote_centre'), :3, 3]
    still = times <= times[-1] / 2
    wander = np.linalg.norm(centre - centre[0], axis=1)
    comparisons = (
        exact('poses in three ways, largest difference', 'section 2.2 to 2.4', 'the same poses',
              off_ways, 'm'),
        exact('Jacobians in four forms, against those of the package', '(20), (31), (57), (68)',
              'the same Jacobians', off_forms, 'm'),
        exact('joint rates from the twists of all bodies', '(27)', 'the same rates', off_rates,
              'rad/s'),
        exact('axes of joints 4, 5 and instrument, largest distance', 'section 2.5',
              'meet in one point', max(d for _, d in distances), 'm', DIGITS),
        exact('remote centre while joints 4 and 5 swing, largest way', 'section 2.5',
              'stands still', wander[still].max(), 'm', DIGITS),
        not_comparable('geometry of the mechanism', 'figure 5', 'printed as a picture',
                       'the text has its joints and no lengths'))
    numbers = (
        Number('tool moves while the remote centre stands',
               np.ptp(places[still][:, names.index('tool'), :3, 3], axis=0).max(), 'm'),)
    inertia, w, end = np.diag(mass_matrix(arm.arrays, q[0])), 2 * np.pi * FREQUENCY, times[-1]

    def servo(simulation, t):
        (target, *_), (rate, *_) = motion(np.array([t, end]))
        simulation.hold(target, inertia * w**2, 2 * inertia * w, rate)

    def pull(t, position, velocity):
        (target, *_), (rate, *_) = motion(np.array([t, end]))
        return inertia * (w**2 * (target - position) + 2 * w * (rate - velocity))

    found = courses(
        arm, lambda name, seconds, progress: simulate(
            arm, None, q[0], qd[0], STEP, seconds, every=5, servo=servo, formulation=name,
            progress=progress),
        forces_of(arm, pull), float(end), within(progress, 0.3, 1.0)
    ) if options.formulations else {}
    return Reproduction(
        (_picture(rows, names, times, q, qd, places, wander),), comparisons, numbers, found,
        float(max(off_ways, off_forms, off_rates, largest(found, True))),
        'poses, Jacobians and joint rates, in m and rad, and joints by all formulations',
        ('geometry, see urdf/rcm.urdf: the same joints, axes of 4 and 5 and of 5 and the '
         'instrument 45 degrees apart',
         f'joints 4 and 5 swing by {SWING[0]:g} and {SWING[1]:g} rad; after half of the time the '
         'arm moves too',
         f'for dynamics, of which the paper has none: masses of urdf/rcm.urdf, and joints under '
         f'PD of {FREQUENCY:g} Hz along the same motion, critically damped, {1e3 * STEP:g} ms'))


def exact(what: str, place: str, paper: str, ours: float, unit: str, digits: float = ROUNDING
          ) -> Comparison:
    """Return the Comparison with a statement that holds exactly."""
    source = ('rounding of numbers in double precision' if digits == ROUNDING
              else 'digits of the lengths in urdf/rcm.urdf')
    return claim(what, place, paper, ours, unit, source, upper=digits)


def motion(times: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Joint positions and velocities (k, 5): first joints 4 and 5, then all of them."""
    end = times[-1]
    w = 2 * np.pi / (end / 2) * np.array([1.0, 2.0])
    q, qd = np.zeros((2, len(times), 5))
    q[:, 3:], qd[:, 3:] = (SWING * np.sin(np.outer(times, w)),
                           SWING * w * np.cos(np.outer(times, w)))
    late = np.maximum(times - end / 2, 0.0)[:, None] * 2 * np.pi / end
    size = np.array([0.5, -0.3, 0.4])
    q[:, :3], qd[:, :3] = (ARM + size * (1 - np.cos(2 * late)) / 2,
                           size * np.sin(2 * late) * 2 * np.pi / end * (late > 0))
    return q, qd


def remote_centre(rows: Sequence[Body], names: Sequence[str], poses: np.ndarray
                  ) -> tuple[np.ndarray, float]:
    """Where the axes of joints 4, 5 and instrument meet, and by how much they do not [m]."""
    screws = joint_screws(rows, poses, 'spatial')
    tool = poses[names.index('tool')]
    instrument = np.concatenate([tool[:3, 0], np.cross(tool[:3, 3], tool[:3, 0])])
    return meeting_point([screws[names.index('body_4')], screws[names.index('body_5')],
                          instrument])


def _picture(rows, names, times, q, qd, poses, wander):
    chain = [names.index(name) for name in ('body_1', 'body_2', 'body_3', 'body_4', 'body_5',
                                            'instrument', 'remote_centre', 'tool')]
    half = len(times) // 2
    shown = np.linspace(0, half, 4 * MARKED + 1).round().astype(int)[1::4][:MARKED]
    sticks = []
    for title, (a, b), label in (('Fig. 5: from the side', (0, 2), ('x [m]', 'z [m]')),
                                 ('Fig. 5: from ahead', (1, 2), ('y [m]', 'z [m]'))):
        curves = []
        for number, k in enumerate(shown):
            line = np.vstack([np.zeros(3), poses[k][chain][:, :3, 3]])
            curves.append(Curve(f'{times[k]:.1f} s', line[:, a], line[:, b], number, number))
        place = poses[0][names.index('remote_centre')][:3, 3]
        curves.append(Curve('remote centre', place[[a]], place[[b]], 4, 0, True))
        sticks.append(Chart(title, label[0], label[1], tuple(curves), has_equal_scales=True))
    travel = poses[:, names.index('tool'), :3, 3]
    centre = poses[:, names.index('remote_centre'), :3, 3]
    moved = Chart('Remote centre and tool', 'time [s]', 'distance from the start [m]', (
        Curve('remote centre', times, wander, 0, 0),
        Curve('tool', times, np.linalg.norm(travel - travel[0], axis=1), 1, 1)))
    rest = Chart('While the arm stands', 'time [s]', 'remote centre off by [m]', (
        Curve('remote centre', times[:half],
              np.linalg.norm(centre - centre[0], axis=1)[:half], 0, 0),))
    index = names.index('tool')
    speeds = {form: [twists(rows, *state, form)[index] for state in zip(q, qd)] for form in FORMS}
    forms = [Chart(title, 'time [s]', label, tuple(
        Curve(form, times, np.array(values)[:, row], number, number)
        for number, (form, values) in enumerate(speeds.items())))
        for title, label, row in (('Twist of the tool, angular', 'about x [rad/s]', 0),
                                  ('Twist of the tool, linear', 'along x [m/s]', 3))]
    return Pictures('figure_5', 'An arm with a remote centre of motion', (
        *sticks, moved, rest, *forms))

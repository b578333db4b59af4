"""
Screw kinematics, sections 2.5 and 3.6: the arm with a remote centre of motion, figure 5.

Joints 4 and 5 swing while joints 1 to 3 are at rest, then all joints move. The three methods of
the paper compute poses, its four forms compute twists. Both are independent of the kinematics of
this package, which is the reference. The paper has no dynamics. The formulations of the other
papers move the arm along the same motion under PD control.
"""

from collections.abc import Sequence

import numpy as np

from flex_robot_sim.analysis.jacobians import jacobian
from flex_robot_sim.dynamics.mass_matrix import mass_matrix
from flex_robot_sim.formulations import screw_kinematics as paper
from flex_robot_sim.reproduce.courses import max_error, run_formulations
from flex_robot_sim.reproduce.options import Options
from flex_robot_sim.reproduce.paper_comparison import PaperComparison, check_claim, not_comparable
from flex_robot_sim.reproduce.reproduction import Figure, Number, Reproduction
from flex_robot_sim.reproduce.simulated_motion import Progress, make_force, simulate, subprogress
from flex_robot_sim.util.plots import Chart, Curve

DURATION_S, SAMPLES = 8.0, 401
ARM_POSE = np.array([0.3, 0.6, -1.2])  # pose of joints 1 to 3                     [rad]
SWING = np.array([0.9, 1.2])  # of joints 4 and 5                         [rad]
FREQUENCY, STEP_S = 3.0, 4e-3  # PD bandwidth, integration step            [Hz, s]
POSE_COUNT = 4  # poses in the stick figure
# of double precision; of lengths in the URDF, with 9 digits [m]
ROUNDING_ERROR, LENGTH_RESOLUTION = 1e-12, 1e-8
ROBOT, VARIANT, VARIED, HAS_FORCES = 'rcm', '', (), False
POSE_METHODS = {
    'joint frames': paper.poses_by_joint_frames,
    'body frames': paper.poses_by_body_frames,
    'base frame': paper.poses_by_base_frame,
}


def run(progress: Progress, options: Options) -> Reproduction:
    """Run the experiment."""
    arm = options.load_arm(ROBOT)
    links = paper.bodies(arm)
    samples = SAMPLES if options.seconds is None else 41
    times = np.linspace(0.0, options.seconds or DURATION_S, samples)
    q, qd = motion(times)
    pose_error = jacobian_error = rate_error = 0.0
    poses: list[np.ndarray] = []
    distances: list[tuple[np.ndarray, float]] = []
    names = [body.name for body in links]
    for k, (position, rate) in enumerate(zip(q, qd)):
        solutions = [method(links, position) for method in POSE_METHODS.values()]
        pose_error = max(
            pose_error, *(np.abs(solution - solutions[0]).max() for solution in solutions[1:])
        )
        poses.append(solutions[2])
        distances.append(remote_centre(links, names, solutions[2]))
        if k % 10 == 0:
            for form in paper.FORMS:
                computed = paper.jacobians(links, position, form)[names.index('tool')]
                jacobian_error = max(
                    jacobian_error,
                    np.abs(
                        computed - jacobian(arm, position, link='tool', representation=form)
                    ).max(),
                )
                system = paper.system_jacobian(links, position, form)
                V = paper.twists(links, position, rate, form).ravel()
                rate_error = max(rate_error, np.abs(system.rates(V) - rate).max())
            progress(0.3 * k / len(times))
    pose_array = np.array(poses)
    centre = pose_array[:, names.index('remote_centre'), :3, 3]
    is_at_rest = times <= times[-1] / 2
    centre_drift = np.linalg.norm(centre - centre[0], axis=1)
    comparisons = (
        check_exact(
            'poses in three ways, largest difference',
            'section 2.2 to 2.4',
            'the same poses',
            pose_error,
            'm',
        ),
        check_exact(
            'Jacobians in four forms, against those of the package',
            '(20), (31), (57), (68)',
            'the same Jacobians',
            jacobian_error,
            'm',
        ),
        check_exact(
            'joint rates from the twists of all bodies',
            '(27)',
            'the same rates',
            rate_error,
            'rad/s',
        ),
        check_exact(
            'axes of joints 4, 5 and instrument, largest distance',
            'section 2.5',
            'meet in one point',
            max(d for _, d in distances),
            'm',
            LENGTH_RESOLUTION,
        ),
        check_exact(
            'remote centre while joints 4 and 5 swing, largest displacement',
            'section 2.5',
            'is fixed',
            centre_drift[is_at_rest].max(),
            'm',
            LENGTH_RESOLUTION,
        ),
        not_comparable(
            'geometry of the mechanism',
            'figure 5',
            'printed as a picture',
            'the text gives joints, but no lengths',
        ),
    )
    numbers = (
        Number(
            'tool moves while the remote centre stands',
            np.ptp(pose_array[is_at_rest][:, names.index('tool'), :3, 3], axis=0).max(),
            'm',
        ),
    )
    inertia, w, end = np.diag(mass_matrix(arm.arrays, q[0])), 2 * np.pi * FREQUENCY, times[-1]

    def servo(simulation, t):
        (target, *_), (rate, *_) = motion(np.array([t, end]))
        simulation.hold(target, inertia * w**2, 2 * inertia * w, rate)

    def servo_effort(t, position, velocity):
        (target, *_), (rate, *_) = motion(np.array([t, end]))
        return inertia * (w**2 * (target - position) + 2 * w * (rate - velocity))

    results = (
        run_formulations(
            arm,
            lambda name, seconds, progress: simulate(
                arm,
                None,
                q[0],
                qd[0],
                STEP_S,
                seconds,
                stride=5,
                servo=servo,
                formulation=name,
                progress=progress,
            ),
            make_force(arm, servo_effort),
            float(end),
            subprogress(progress, 0.3, 1.0),
        )
        if options.runs_formulations
        else {}
    )
    return Reproduction(
        (_make_figure(links, names, times, q, qd, pose_array, centre_drift),),
        comparisons,
        numbers,
        results,
        float(max(pose_error, jacobian_error, rate_error, max_error(results, True))),
        'poses, Jacobians and joint rates, in m and rad, and joints by all formulations',
        (
            'geometry, see urdf/rcm.urdf: the same joints, axes of 4 and 5 and of 5 and the '
            'instrument 45 degrees apart',
            f'joints 4 and 5 swing by {SWING[0]:g} and {SWING[1]:g} rad; after half of the time '
            'the arm moves too',
            'for dynamics, of which the paper has none: masses of urdf/rcm.urdf, and joints under '
            f'PD of {FREQUENCY:g} Hz along the same motion, critically damped, {1e3 * STEP_S:g} '
            'ms',
        ),
    )


def check_exact(
    what: str, place: str, paper: str, ours: float, unit: str, tolerance: float = ROUNDING_ERROR
) -> PaperComparison:
    """Return the PaperComparison with a statement that holds exactly, up to `tolerance`."""
    source = 'digits of the lengths in urdf/rcm.urdf'
    if tolerance == ROUNDING_ERROR:
        source = 'rounding of numbers in double precision'
    return check_claim(what, place, paper, ours, unit, source, upper=tolerance)


def motion(times: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return joint positions and velocities (k, 5): first joints 4 and 5 move, then all."""
    end = times[-1]
    w = 2 * np.pi / (end / 2) * np.array([1.0, 2.0])
    q, qd = np.zeros((2, len(times), 5))
    q[:, 3:] = SWING * np.sin(np.outer(times, w))
    qd[:, 3:] = SWING * w * np.cos(np.outer(times, w))
    arm_phase = np.maximum(times - end / 2, 0.0)[:, None] * 2 * np.pi / end
    amplitude = np.array([0.5, -0.3, 0.4])
    q[:, :3] = ARM_POSE + amplitude * (1 - np.cos(2 * arm_phase)) / 2
    qd[:, :3] = amplitude * np.sin(2 * arm_phase) * 2 * np.pi / end * (arm_phase > 0)
    return q, qd


def remote_centre(
    links: Sequence[paper.Body], names: Sequence[str], poses: np.ndarray
) -> tuple[np.ndarray, float]:
    """Return the point closest to the axes of joints 4, 5 and instrument, and its error [m]."""
    screws = paper.joint_screws(links, poses, 'spatial')
    tool = poses[names.index('tool')]
    instrument = np.concatenate([tool[:3, 0], np.cross(tool[:3, 3], tool[:3, 0])])
    return paper.meeting_point(
        [screws[names.index('body_4')], screws[names.index('body_5')], instrument]
    )


def _make_figure(links, names, times, q, qd, poses, centre_drift):
    chain = [names.index(f'body_{k}') for k in range(1, 6)]
    chain += [names.index(name) for name in ('instrument', 'remote_centre', 'tool')]
    half = len(times) // 2
    shown = np.linspace(0, half, 4 * POSE_COUNT + 1).round().astype(int)[1::4][:POSE_COUNT]
    stick_charts = []
    for title, (a, b), label in (
        ('Fig. 5: from the side', (0, 2), ('x [m]', 'z [m]')),
        ('Fig. 5: from ahead', (1, 2), ('y [m]', 'z [m]')),
    ):
        curves = []
        for number, k in enumerate(shown):
            line = np.vstack([np.zeros(3), poses[k][chain][:, :3, 3]])
            curves.append(Curve(f'{times[k]:.1f} s', line[:, a], line[:, b], number, number))
        centre_start = poses[0][names.index('remote_centre')][:3, 3]
        curves.append(Curve('remote centre', centre_start[[a]], centre_start[[b]], 4, 0, True))
        stick_charts.append(Chart(title, label[0], label[1], tuple(curves), has_equal_scales=True))
    travel = poses[:, names.index('tool'), :3, 3]
    distance_chart = Chart(
        'Remote centre and tool',
        'time [s]',
        'distance from the start [m]',
        (
            Curve('remote centre', times, centre_drift, 0, 0),
            Curve('tool', times, np.linalg.norm(travel - travel[0], axis=1), 1, 1),
        ),
    )
    drift_chart = Chart(
        'While the arm stands',
        'time [s]',
        'remote centre off by [m]',
        (Curve('remote centre', times[:half], centre_drift[:half], 0, 0),),
    )
    index = names.index('tool')
    speeds = {
        form: [paper.twists(links, *state, form)[index] for state in zip(q, qd)]
        for form in paper.FORMS
    }
    forms = [
        Chart(
            title,
            'time [s]',
            label,
            tuple(
                Curve(form, times, np.array(values)[:, row], number, number)
                for number, (form, values) in enumerate(speeds.items())
            ),
        )
        for title, label, row in (
            ('Twist of the tool, angular', 'about x [rad/s]', 0),
            ('Twist of the tool, linear', 'along x [m/s]', 3),
        )
    ]
    return Figure(
        'figure_5',
        'An arm with a remote centre of motion',
        (*stick_charts, distance_chart, drift_chart, *forms),
    )

"""Rollouts, compared with loops of single steps."""

import numpy as np
import pytest

import flex_robot_sim as frs
from flex_robot_sim.motion.joint_motion import Motion, minimum_jerk, rest
from flex_robot_sim.motion.trajectory import Trajectory
from flex_robot_sim.simulation.loop_timing import LoopTiming
from flex_robot_sim.simulation.rollout import ControlLoop

H = 1e-3
GOAL = np.array([0.3, 0.2, -0.4])


def servo(time, simulation):
    """Return the efforts of PD and a sine."""
    return (
        60.0 * (GOAL - simulation.position) - 3.0 * simulation.velocity + 0.2 * np.sin(20.0 * time)
    )


def sine(time):
    """Return positions and velocities of all joints."""
    return [GOAL * np.sin(5.0 * time), 5.0 * GOAL * np.cos(5.0 * time)]


def step_by_step(simulation, controller, steps, period, delay):
    """Return the coordinates after each step of a loop that evaluates the inputs at each step."""
    due, rows = {}, [simulation.q]
    for k in range(steps):
        if k % period == 0:
            due[k + delay] = controller(simulation.time, simulation)
        if k in due:
            simulation.effort = due[k]
        simulation.step()
        rows.append(simulation.q)
    return np.array(rows)


@pytest.mark.parametrize('period, delay', [(1, 0), (4, 0), (3, 3), (3, 1), (2, 7)])
def test_rollout_is_a_loop_that_asks_at_every_step_what_is_due(period, delay):
    arm = frs.load('two_link')
    expected = step_by_step(frs.Simulation(arm), servo, 50, period, delay)
    log = frs.rollout(
        arm, duration=50 * H, controller=servo, period=period * H, delay=delay * H, record_period=H
    )
    # times are sums of different numbers of steps: rounding in the sine
    np.testing.assert_allclose(log.q, expected, rtol=0, atol=1e-12)
    np.testing.assert_allclose(log.time, H * np.arange(51), atol=1e-12)
    assert log.v.shape == log.q.shape and log.applied_effort.shape == (51, 3)
    assert not log.applied_effort[:delay].any() and log.applied_effort[delay:].all()


def test_samples_have_their_own_period_and_end_with_the_last_step():
    log = frs.rollout(
        frs.load('two_link'),
        duration=25 * H,
        controller=servo,
        period=4 * H,
        record='pose:tool',
        record_period=10 * H,
    )
    np.testing.assert_allclose(log.time, [0.0, 0.01, 0.02, 0.025], atol=1e-12)
    assert len(set(log['pose:tool'][:, 2, 3])) == 4


def test_without_a_controller_the_arm_moves_as_by_its_own_steps():
    arm = frs.load('two_link')
    simulation, other = frs.Simulation(arm), frs.Simulation(arm)
    simulation.effort = other.effort = [0.2, -1.0, 0.4]
    frs.rollout(simulation, duration=0.03)
    other.step(30)
    np.testing.assert_array_equal(simulation.q, other.q)


def test_a_controller_may_set_the_inputs_itself():
    arm = frs.load('two_link')
    simulation, other = frs.Simulation(arm), frs.Simulation(arm)
    frs.rollout(
        simulation,
        duration=0.02,
        controller=lambda time, arm: arm.hold(GOAL * (1 + time), 50.0, 2.0),
    )
    for _ in range(20):
        other.hold(GOAL * (1 + other.time), 50.0, 2.0)
        other.step()
    np.testing.assert_array_equal(simulation.q, other.q)


def test_a_loop_in_two_parts_keeps_its_samples_and_its_delay():
    arm, timing = frs.load('two_link'), LoopTiming(4 * H, 6 * H)
    whole, parts = frs.Simulation(arm), frs.Simulation(arm)
    rows = []
    frs.rollout(whole, duration=0.03, controller=servo, **timing._asdict())
    loop = ControlLoop(parts, servo, timing, lambda arm: rows.append(arm.time))
    loop.advance(13)
    loop.advance(17)
    np.testing.assert_allclose(parts.q, whole.q, rtol=0, atol=1e-12)
    np.testing.assert_allclose(rows, H * np.arange(0, 30, 4), atol=1e-12)


def test_a_batch_moves_as_its_members_do():
    arm = frs.load('two_link')
    record = ('q', 'deflection', 'energy', 'pose:tool', 'applied_effort', 'curvature')
    many = frs.rollout(
        frs.Batch(arm, 2), duration=0.02, controller=servo, period=2 * H, record=record
    )
    one = frs.rollout(arm, duration=0.02, controller=servo, period=2 * H, record=record)
    for k in (0, 1):
        member = many.member(k)
        np.testing.assert_array_equal(member.q, one.q)
        np.testing.assert_array_equal(member.time, one.time)
        expected = one.columns()
        for name, column in member.columns().items():
            np.testing.assert_allclose(column, expected[name], rtol=1e-9, atol=1e-12, err_msg=name)


def test_drives_follow_a_trajectory_as_by_prescribed_motions():
    arm = frs.load('two_link')
    simulation, other = frs.Simulation(arm), frs.Simulation(arm)
    log = frs.rollout(
        simulation,
        duration=0.1,
        trajectory=sine,
        record=('motor_position', 'motor_velocity', 'q', 'applied_effort'),
    )
    for row, joint in enumerate(arm.joint_names):
        other.prescribe(joint, lambda time, row=row: (sine(time)[0][row], sine(time)[1][row]))
    other.step(100)
    # times are sums of different numbers of steps
    np.testing.assert_allclose(log.q[-1], other.q, rtol=0, atol=1e-12)
    np.testing.assert_allclose(log.applied_effort[-1], other.applied_effort, rtol=0, atol=1e-8)
    expected = np.array([sine(time) for time in log.time])
    np.testing.assert_array_equal(log.motor_position, expected[:, 0])
    np.testing.assert_array_equal(log.motor_velocity[1:], expected[1:, 1])
    simulation.step(50)  # afterwards the drives are free
    assert np.abs(simulation.motor_position - sine(simulation.time)[0]).max() > 1e-3


def of_all_forms(arm):
    """Return one move, minimum jerk from zero to GOAL in 0.2 s, in all forms of a trajectory."""
    motion = Motion([0.0, 0.2], [rest(0 * GOAL), minimum_jerk(0 * GOAL, GOAL), rest(GOAL)])
    times = np.linspace(0.0, 0.2, 41)
    rows = motion.samples(times)
    return {
        'motion': motion,
        'plan': type('Plan', (), {'motion': motion}),
        'pair': (times, rows[:, 0]),
        'positions': lambda time: motion.sample(time)[0],
        'rows': lambda time: motion.sample(time)[:2],
        'trajectory': Trajectory(arm.joint_names, [0.2], [GOAL], [0 * GOAL], [0 * GOAL]),
    }


# largest errors of position, velocity and acceleration, at the ends, where the jerk jumps by 3000
ERRORS = {
    'motion': (0.0, 0.0, 0.0),
    'plan': (0.0, 0.0, 0.0),
    'pair': (1e-5, 5e-3, 1.0),
    'positions': (0.0, 1e-5, 0.1),
    'rows': (0.0, 0.0, 0.1),
    'trajectory': (1e-15, 1e-14, 1e-12),
}


@pytest.mark.parametrize('form, errors', ERRORS.items())
def test_a_trajectory_may_have_any_form(form, errors):
    arm, points = frs.load('two_link'), []
    forms = of_all_forms(arm)
    log = frs.rollout(arm, duration=0.25, trajectory=forms[form], record='motor_position')
    expected = np.array([forms['motion'].sample(time) for time in log.time])
    np.testing.assert_allclose(log.motor_position, expected[:, 0], rtol=0, atol=errors[0])
    frs.rollout(
        arm,
        duration=0.25,
        trajectory=forms[form],
        controller=lambda time, simulation, point: points.append(point),
    )
    differences = np.abs(np.array(points) - expected[:-1]).max(axis=(0, 2))
    assert (differences <= errors).all(), differences


def test_times_of_a_trajectory_count_from_the_start_of_the_rollout():
    arm = frs.load('two_link')
    simulation = frs.Simulation(arm)
    frs.rollout(simulation, duration=0.1, trajectory=of_all_forms(arm)['motion'])
    log = frs.rollout(
        simulation,
        duration=0.1,
        trajectory=lambda time: GOAL * (time + 1.0),
        record='motor_position',
    )
    np.testing.assert_allclose(
        log.motor_position, np.outer(log.time - 0.1 + 1.0, GOAL), rtol=0, atol=1e-12
    )


def test_an_arm_starts_in_equilibrium_on_its_trajectory():
    arm = frs.load('two_link')
    log = frs.rollout(arm, duration=0.05, trajectory=lambda time: GOAL, record=('q', 'v'))
    expected = frs.equilibrium(arm, GOAL).q
    np.testing.assert_allclose(log.q, np.tile(expected, (51, 1)), rtol=0, atol=1e-9)
    assert np.abs(log.v).max() < 1e-7


def test_a_controller_receives_the_point_of_the_trajectory():
    arm, seen = frs.load('two_link'), []

    def controller(time, simulation, point):
        seen.append((time, *point.position, *point.velocity))
        simulation.hold(point.position, 60.0, 3.0, point.velocity)

    log = frs.rollout(
        arm,
        duration=0.1,
        trajectory=sine,
        controller=controller,
        period=2 * H,
        record='motor_position',
    )
    np.testing.assert_allclose(
        seen, [[time, *np.ravel(sine(time))] for time in log.time[:-1]], rtol=0, atol=1e-15
    )


ARM = 'two_link'


@pytest.mark.parametrize(
    'line, arguments',
    {
        'the controller "<lambda>" returned [0.0, nan, 0.0] at 0 s: it must return 3 finite '
        'efforts (waist, shoulder, elbow), or None': {
            'controller': lambda time, sim: [0.0, np.nan, 0.0]
        },
        'the controller "<lambda>" returned array([0., 0.]) at 0.005 s: it must return 3 '
        'finite efforts (waist, shoulder, elbow), or None': {
            'controller': lambda time, sim: np.zeros(2) if time > 0.0045 else None
        },
        'controller = 3 must be a function of time and simulation that returns efforts': {
            'controller': 3
        },
        'the controller "<lambda>" must be a function of time, simulation': {
            'controller': lambda time: None
        },
        'the controller "servo" must be a function of '
        'time, simulation, target: the target is the present point of the trajectory': {
            'controller': servo,
            'trajectory': sine,
        },
        'the controller "<lambda>" returned [nan, nan, nan] at 0 s: it must return 3 finite '
        'efforts (waist, shoulder, elbow), or None': {
            'controller': lambda time, sim, target: [np.nan] * 3,
            'trajectory': sine,
        },
        'duration = -1.0 must be finite and at least a time step of 0.001 s': {'duration': -1.0},
        "duration = '1' must be finite and at least a time step of 0.001 s": {'duration': '1'},
        'period and delay of a loop, 0.0015 and 0 s, must be whole numbers of '
        'time steps of 0.001 s': {'period': 1.5e-3},
        'record_period = 0.0 must be a whole number of time steps of 0.001 s': {
            'record_period': 0.0
        },
        "record = 'coordinates' is no quantity. Known: q, v, position, "
        'velocity, motor_position, motor_velocity, effort, applied_effort, mean_effort, '
        'motor_current, motor_heat, electrical_energy, deflection, curvature, base_pose, '
        'base_twist, momentum, centre_of_mass, energy, pose:NAME, twist:NAME, twist_rate:NAME, '
        'wrench:NAME, contact:NAME, and functions of the simulation': {'record': 'coordinates'},
        'no link "hand". Known: base, turret, shoulder_motor, upper_arm, '
        'elbow_motor, forearm, payload, tool': {'record': 'pose:hand'},
        'record = "q:elbow": only pose, twist, twist_rate, wrench, contact take a name': {
            'record': 'q:elbow'
        },
        'record = "wrench" needs a joint, as in "wrench:elbow"': {'record': 'wrench'},
        'record has a function without a name: give it one, as in '
        "record={'tip': lambda simulation: ...}": {'record': [lambda sim: 1.0]},
        'record = "word" returned \'a\' at 0 s: it must return numbers': {
            'record': {'word': lambda sim: 'a'}
        },
        'the trajectory returned [0.0, inf, 0.0] at 0 s: it must return 3 finite positions '
        '(waist, shoulder, elbow), or rows of positions, velocities and accelerations': {
            'trajectory': lambda time: [0.0, np.inf, 0.0]
        },
        'trajectory = ([0.0, 1.0], [[0.0, 0.0]]) must be a function of time, a pair (times, '
        'positions), a Trajectory, a Motion or a Plan; a pair has times (k,) that rise and '
        'positions (k, 3), finite, of waist, shoulder, elbow': {
            'trajectory': ([0.0, 1.0], [[0.0, 0.0]])
        },
    }.items(),
)
def test_a_mistake_is_one_line_that_names_the_argument(arguments, line):
    with pytest.raises(frs.SettingError) as caught:
        frs.rollout(frs.load(ARM), **{'duration': 0.01, **arguments})
    assert str(caught.value) == line


@pytest.mark.parametrize(
    'thing, arguments, line',
    [
        (
            lambda: ARM,
            {},
            "'two_link' is no ArmModel, Simulation or Batch: make one by "
            'frs.load(robot) or frs.Simulation(arm)',
        ),
        (
            lambda: frs.Batch(frs.load(ARM), 2),
            {'trajectory': sine},
            'the drives of a Batch follow no trajectory exactly: give a controller, which '
            'receives it as its target',
        ),
        (
            lambda: frs.Batch(frs.load(ARM), 2),
            {'controller': lambda time, batch: np.zeros((3, 3))},
            'the controller "<lambda>" returned array([[0., 0., 0.], [0., 0., 0.], [0., 0., 0.]]) '
            'at 0 s: it must return 2 x 3 finite efforts (waist, shoulder, elbow), or None',
        ),
        (
            lambda: frs.Batch(frs.load(ARM), 2),
            {'record': 'twist_rate'},
            'a Batch has no twist_rate to record',
        ),
    ],
)
def test_what_cannot_be_simulated_is_named(thing, arguments, line):
    with pytest.raises(frs.SettingError) as caught:
        frs.rollout(thing(), duration=0.01, **arguments)
    assert ' '.join(str(caught.value).split()) == line


def test_drives_are_free_again_after_an_error():
    simulation = frs.Simulation(frs.load(ARM))
    with pytest.raises(frs.SettingError):
        frs.rollout(
            simulation,
            duration=0.1,
            trajectory=lambda time: GOAL * 0.0 if time < 0.05 else [np.nan] * 3,
        )
    simulation.effort = [1.0, 0.0, 0.0]
    simulation.step(20)
    assert abs(simulation.motor_velocity[0]) > 0.01


def test_the_controller_of_a_batch_receives_the_target_of_a_trajectory():
    arm = frs.load(ARM)
    motion = frs.planning.minimum_jerk_motion(np.zeros(3), [0.1, 0.2, -0.2], duration=0.05)

    def servo(time, moving, target):
        moving.hold(target.position, 40.0, 4.0, rate=target.velocity)

    logs = [
        frs.rollout(moving, duration=0.06, trajectory=motion, controller=servo, record='q')
        for moving in (frs.Simulation(arm), frs.Batch(arm, 2))
    ]
    for k in range(2):
        np.testing.assert_array_equal(logs[1].q[:, k], logs[0].q)

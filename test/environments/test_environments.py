"""Gymnasium environments: by the checker of Gymnasium, and compared with a Simulation."""

import copy
import pickle
import sys
import warnings

import numpy as np
import pytest
from refusals import refusal

import flex_robot_sim as frs
from flex_robot_sim.analysis.flex_sensors import flex_sensors
from flex_robot_sim.control.gains import carrying_efforts
from flex_robot_sim.control.servo import design_servo
from flex_robot_sim.util.exceptions import UsageError

pytest.importorskip('gymnasium', reason='pip install ".[learn]"')

import gymnasium
from gymnasium.utils.env_checker import check_env
from gymnasium.vector import AutoresetMode, SyncVectorEnv

from flex_robot_sim.environments import IDS
from flex_robot_sim.environments.episodes import LOST_ARM_REWARD, Episodes, EpisodeSettings
from flex_robot_sim.environments.gym import ArmEnv, ArmVectorEnv
from flex_robot_sim.environments.tasks import TASKS, EpisodeTargets, reference

pytestmark = pytest.mark.slow


@pytest.mark.parametrize('task', IDS)
def test_the_checker_of_gymnasium_has_nothing_to_say(task):
    with warnings.catch_warnings():
        warnings.simplefilter('error')
        env = gymnasium.make(
            IDS[task], vary={'payload': 'uniform:0,0.1'}, scale={'arm.EIz': 'normal:1,0.05'}
        )
        check_env(env.unwrapped, skip_render_check=True)


@pytest.mark.long(after=1)
@pytest.mark.parametrize(
    'task, scale',
    [
        ('rest_to_rest', {'forearm.EIz': 'uniform:0.5,2', 'elbow.stiffness': 'normal:1,0.5'}),
        ('tracking', {'upper_arm.mass': '0.9,1.1,1.3', 'forearm.length': 'uniform:1,1.1'}),
        ('disturbance', None),
    ],
)
def test_many_do_what_each_does_alone_and_begin_anew_in_the_next_step(task, scale):
    options = {
        'task': task,
        'vary': {'payload': 'uniform:0,0.2'},
        'seconds': 0.2,
        'robot': 'two_link',
        'scale': scale,
    }
    many = gymnasium.make_vec(IDS[task], 3, **{k: v for k, v in options.items() if k != 'task'})
    assert many.metadata['autoreset_mode'] is AutoresetMode.NEXT_STEP
    alone = SyncVectorEnv([lambda: ArmEnv(**options)] * 3)
    seen, expected = many.reset(seed=11)[0], alone.reset(seed=11)[0]
    assert (seen == expected).all()
    rng, ends = np.random.default_rng(0), 0
    for _ in range(45):  # two episodes and the reset between them
        actions = rng.uniform(-1.0, 1.0, many.action_space.shape)
        for one, other in zip(many.step(actions)[:4], alone.step(actions)[:4]):
            assert (one == other).all()
        ends += one.sum()
    assert ends == 2 * 3


def test_an_agent_that_does_nothing_is_pd():
    env = ArmEnv(robot='two_link', seconds=0.5)
    env.reset(seed=3)
    drawn = [np.asarray(table)[0] for table in env.episodes._targets]
    start, goal = drawn[:2]
    arm = frs.load('two_link')
    servo = design_servo(arm)
    sim = frs.Simulation(arm, frs.SimulationSettings(drive_limits=True))
    sim.set_state(q=frs.equilibrium(arm, start).q)
    sim.effort = carrying_efforts(arm, goal)
    for k in range(50):
        u = min(0.01 * k / 0.4, 1.0)
        sim.hold(
            start + (goal - start) * (10 * u**3 - 15 * u**4 + 6 * u**5),
            servo.stiffness,
            servo.damping,
            (goal - start) * (30 * u**2 - 60 * u**3 + 30 * u**4) / 0.4,
        )
        sim.step(10)
        seen, *_ = env.step(np.zeros(3))
    # polynomials are summed in another order
    assert seen[:3] + goal == pytest.approx(sim.motor_position, abs=1e-9)
    assert seen[6:] == pytest.approx([*sim.curvature.values()], abs=1e-9)


def test_what_tips_do_is_seen_as_the_simulation_has_it():
    episodes = Episodes('two_link', 'tracking', 2, threads=1)
    episodes.begin([np.random.default_rng(k) for k in (0, 1)], [0, 1])
    for _ in range(20):
        episodes.step(np.ones((2, 3)))
    measured, sim = episodes.measure(), frs.Simulation(frs.load('two_link'))
    for k in range(2):
        sim.set_state(q=episodes.batch.q[k])
        tips = np.array([tip[:3] for tip in sim.deflection.values()])
        # shortening is quadratic, and the measured tip excludes it
        assert np.abs(measured.tip[k] - tips).max() < 10 * np.abs(tips).max() ** 2
        assert np.abs(tips).max() > 1e-3


@pytest.mark.parametrize('rate', [0.0, 0.4])
def test_the_rate_of_a_reference_is_its_slope(rate):
    drawn = EpisodeTargets(
        np.full((1, 1), 0.2),
        np.full((1, 1), 0.7),
        np.full((1, 1), rate),
        np.zeros((1, 3)),
        np.full(1, np.inf),
    )
    for time in (0.01, 0.3, 0.7, 0.99, 1.3):
        ends = [reference(drawn, 0.4, np.array([time + d]))[0][0, 0] for d in (-1e-6, 1e-6)]
        # central differences of 1e-6 s: third derivatives below 1e3 make 1e-9
        assert reference(drawn, 0.4, np.array([time]))[1][0, 0] == pytest.approx(
            (ends[1] - ends[0]) / 2e-6, abs=1e-6
        )
    assert reference(drawn, 0.4, np.zeros(1))[0][0, 0] == 0.2


def test_a_push_moves_the_arm_and_is_over():
    env = ArmEnv('disturbance', robot='two_link', seconds=1.2)
    env.reset(seed=5)
    pushed_at = np.asarray(env.episodes._targets.pushed_at)[0]
    moved = []
    while env.episodes.age[0] < 1.0:
        before = env.episodes.batch.q[0].copy()
        env.step(np.zeros(3))
        moved.append(
            (
                env.episodes.age[0],
                np.abs(env.episodes.batch.q[0] - before).max(),
                env.episodes._is_pushed[0],
            )
        )
    pushed = [age for age, _, is_pushed in moved if is_pushed]
    assert pushed_at <= pushed[0] < pushed_at + 0.03
    assert len(pushed) == 10  # of 10 ms
    # it rests before and vibrates long after; the efforts are those of a straight arm
    assert max(change for age, change, _ in moved if age < pushed[0]) < 0.2 * max(
        change for age, change, _ in moved if age > pushed[-1]
    )


def test_numbers_are_drawn_for_every_episode_and_the_same_for_a_seed():
    env = ArmEnv(scale={'arm.EIz': 'uniform:0.5,2'}, vary={'payload': 'uniform:0,0.5'})
    found = []
    for seed in (1, None, 1, None, 2):
        env.reset(seed=seed)
        found.append(
            (
                env.episodes.batch.arms[0].arrays.stiffness.max(),
                env.episodes.batch.energy().gravity[0],
            )
        )
    assert found[:2] == found[2:4] and len({*found}) == 3
    many = ArmVectorEnv(4, scale={'arm.EIz': 'uniform:0.5,2'})
    many.reset(seed=1)
    stiffness = [arm.arrays.stiffness.max() for arm in many.episodes.batch.arms]
    assert stiffness[0] == found[0][0] and len({*stiffness}) == 4
    nominal = frs.load('single_link').arrays.stiffness.max()
    assert all(0.5 * nominal <= one <= 2 * nominal for one in stiffness)


def test_an_arm_that_begins_anew_gets_numbers_of_its_own_and_the_others_keep_theirs():
    env = ArmVectorEnv(3, scale={'arm.EIz': 'uniform:0.5,2'}, seconds=0.05)
    env.reset(seed=4)
    env.episodes.age[1] += 0.03  # so that one of them finishes first

    def stiffness():
        return np.array([arm.arrays.stiffness.max() for arm in env.episodes.batch.arms])

    before, changed = stiffness(), []
    for _ in range(4):
        env.step(np.zeros((3, 1)))
        changed.append((stiffness() != before).tolist())
    assert changed == [[False] * 3] * 2 + [[False, True, False]] * 2


def test_what_a_normal_law_draws_beyond_what_can_be_is_cut_off():
    env = ArmVectorEnv(
        40, scale={'arm.damping_ratio': 'normal:1,1e3'}, vary={'payload': 'normal:0.1,0.2'}
    )
    env.reset(seed=0)
    ratios = [arm.description.link('arm').beam.damping_ratio for arm in env.episodes.batch.arms]
    # draws beyond the bounds are clipped: to a hundredth of the nominal value, and to 0.9
    nominal = frs.load('single_link').description.link('arm').beam.damping_ratio
    assert min(ratios) == pytest.approx(nominal / 100, rel=1e-12) and max(ratios) == 0.9
    masses = [payload['tool'].mass for payload in env.episodes.batch._members.payloads]
    assert min(masses) == 0.0 and 0.1 < max(masses) < 1.0


def test_the_lengths_that_are_seen_are_those_of_the_arms_that_were_drawn():
    env = ArmVectorEnv(
        3, robot='two_link', task='tracking', scale={'forearm.length': 'uniform:1,1.1'}
    )
    env.reset(seed=0)
    measured, arms = env.episodes.measure(), env.episodes.batch.arms
    for k, arm in enumerate(arms):
        lengths = [np.linalg.norm(arm.description.link(link).beam.end) for link in arm.segments]
        assert measured.reach[k] == pytest.approx(lengths, rel=1e-12)
        # a tip deflection counts as the angle of a straight link to that point
        straight, bent = (
            TASKS['tracking'].reward(
                measured._replace(tip=np.einsum('l,i->li', lengths, [0.0, angle, 0.0])[None])
            )[k]
            for angle in (0, 0.05)
        )
        assert bent - straight == pytest.approx(-1.0, rel=1e-9)
    assert len({*measured.reach[:, 1]}) == 3


def test_reward_and_observation_may_be_ones_own():
    env = ArmEnv(
        reward=lambda measured: -measured.time, observation=lambda measured: measured.tip[:, 0, :2]
    )
    assert env.observation_space.shape == (2,) == env.reset(seed=0)[0].shape
    # the reward -0.01 (the time) over a period of 0.01 s
    assert env.step(np.zeros(1))[1] == pytest.approx(-1e-4, rel=1e-12)


def test_an_arm_that_is_lost_ends_its_episode_and_the_others_go_on():
    env = ArmVectorEnv(2, seconds=0.1)
    env.reset(seed=0)
    env.episodes.batch.set_state(q=0.0, v=1e200, members=[1])
    _, rewards, terminated, truncated, _ = env.step(np.zeros((2, 1)))
    assert terminated.tolist() == [False, True]
    assert rewards[1] == LOST_ARM_REWARD and rewards[0] > LOST_ARM_REWARD
    assert not truncated.any()
    seen, rewards, terminated, _, _ = env.step(np.zeros((2, 1)))
    assert rewards[1] == 0.0 and not terminated.any() and np.isfinite(seen).all()


def test_costs_are_zero_at_the_goal_and_grow_with_the_distance():
    episodes = Episodes('single_link', 'rest_to_rest', 1, EpisodeSettings())
    measured = episodes.measure()
    for task in TASKS.values():
        assert task.reward(measured) == [0.0]
        assert task.reward(measured._replace(position=measured.position + 0.05))[
            0
        ] == pytest.approx(-1.0)
    assert TASKS['tracking'].reward(measured._replace(tip=measured.tip + 0.01))[0] < -0.1
    assert (
        TASKS['rest_to_rest'].reward(measured._replace(tip_rate=measured.tip_rate + 0.1))[0] < -1.0
    )


@pytest.mark.filterwarnings('error')
def test_an_arm_without_flexible_links_has_tips_that_cost_nothing():
    episodes = Episodes('rcm', 'rest_to_rest', 2)
    measured = episodes.measure()
    assert measured.tip.shape == (2, 0, 3)
    for task in TASKS.values():
        assert (task.reward(measured) == 0.0).all()
        assert task.reward(measured._replace(position=measured.position + 0.05)) == pytest.approx(
            -1.0
        )


@pytest.mark.filterwarnings('error')
def test_an_arm_that_is_lost_far_out_begins_anew_with_other_numbers():
    env = ArmVectorEnv(2, scale={'arm.EIz': 'uniform:0.5,2'}, vary={'payload': 'uniform:0,0.1'})
    env.reset(seed=0)
    env.episodes.batch.set_state(q=0.0, v=1e200, members=[1])
    env.step(np.zeros((2, 1)))
    env.step(np.zeros((2, 1)))
    env.step(np.zeros((2, 1)))
    balance = env.episodes.batch.energy().balance
    # a step corrects its energy to rounding (T44)
    assert np.abs(balance).max() < 1e-11


@pytest.mark.parametrize('period', [0.003, 0.01, 0.07])
def test_an_action_lasts_as_long_as_the_arm_moves(period):
    env = ArmEnv(period=period)
    env.reset(seed=0)
    for _ in range(3):
        env.step(np.zeros(1))
    # the two sums round differently
    assert env.episodes.age[0] == pytest.approx(3 * period, rel=1e-12)
    assert env.episodes.batch.time == pytest.approx(3 * period, rel=1e-12)


@pytest.mark.parametrize(
    'way', [copy.copy, copy.deepcopy, lambda env: pickle.loads(pickle.dumps(env))]
)
@pytest.mark.parametrize('kind', [ArmEnv, ArmVectorEnv])
def test_a_copy_goes_on_as_the_original_and_apart_from_it(kind, way):
    many = {'num_envs': 3} if kind is ArmVectorEnv else {}
    env = kind(
        task='disturbance',
        scale={'arm.EIz': 'uniform:0.5,2'},
        seconds=0.2,
        **many,
        vary={'payload': 'uniform:0,0.1'},
    )
    env.reset(seed=2)
    actions = np.random.default_rng(0).uniform(-1.0, 1.0, (60, *env.action_space.shape))
    for action in actions[:15]:
        env.step(action)

    def rest(env):
        """Return the results of the remaining steps; the parameters change between episodes."""
        out = []
        for action in actions[15:]:
            out.append(env.step(action)[:4])
            if kind is ArmEnv and out[-1][3]:
                env.reset()
        return out

    other = way(env)
    for one, two in zip(rest(env), rest(other), strict=True):
        assert all(np.array_equal(a, b) for a, b in zip(one, two))


@pytest.mark.parametrize(
    'options, message',
    [
        ({'task': 3}, 'no task "3". Known: rest_to_rest, tracking, disturbance.'),
        ({'period': 1.5e-3}, 'period = 0.0015 must be a whole number of time_steps of 0.001 s.'),
        ({'reward': 'high'}, "reward = 'high' must be a function of ArmMeasurements."),
        ({'observation': 3}, 'observation = 3 must be a function of ArmMeasurements.'),
        ({'task': 'juggling'}, 'no task "juggling". Known: rest_to_rest, tracking, disturbance.'),
        ({'vary': {3: '1,2'}}, 'no parameter "3". '),
        ({'vary': {'arm.EIx': '1,2'}}, 'no parameter "arm.EIx". Near: '),
        ({'vary': {'arm.EIz': 'uniform:0,1'}}, 'arm.EIz = 0 cannot be: it must be above 0.'),
        ({'scale': {'payload': 'uniform:0,1'}}, 'no parameter "payload". '),
        ({'period': 1e-4}, 'period must be at least one time_step.'),
        ({'scale': {'arm.EIz': 'uniform:-1,1'}}, 'arm.EIz = -'),
        ({'scale': {'arm.EIz': 'normal:0,1'}}, 'arm.EIz = 0 cannot be: it must be above 0.'),
        ({'scale': {'arm.EIz': 'uniform:1.2'}}, 'arm.EIz = "uniform:1.2" is none of '),
        ({'scale': {'arm.damping_ratio': 'uniform:1,1e4'}}, 'arm.damping_ratio = '),
        (
            {'scale': {'motor.coulomb': 'uniform:0,2'}},
            'motor.coulomb is 0 as described, and no '
            'multiple of it is anything else. Vary it by values.',
        ),
        (
            {'scale': {'arm.EIz': 'uniform:1,2'}, 'vary': {'arm.EIz': '1,2'}},
            'arm.EIz varies twice. ',
        ),
        ({'scale': ['arm.EIz']}, "scale = ['arm.EIz'] must be a dict from names to laws."),
        ({'vary': {'payload': 'uniform:-1,1'}}, 'payload = -1 cannot be: it must be at least 0.'),
        ({'secnods': 1.0}, 'no setting "secnods" of an environment. Near: seconds'),
        (
            {'observation': lambda measured: measured.time},
            'observation returned 1 numbers: it must be 1 x some numbers, a row for each arm.',
        ),
        (
            {'observation': lambda measured: None},
            'observation returned no array of numbers: it must be '
            '1 x some numbers, a row for each arm.',
        ),
        (
            {'reward': lambda measured: measured.position},
            'reward returned 1 x 1 numbers: it must be 1 numbers, one for each arm.',
        ),
    ],
)
@pytest.mark.parametrize('kind', [ArmEnv, ArmVectorEnv])
def test_what_makes_no_environment_is_one_line(kind, options, message):
    assert refusal(UsageError, kind, **options).startswith(message)


@pytest.mark.parametrize('seed', [[1, 2], [1, 2, 3, 4], [1, 2, 'a'], [1, 2, -3], -1, 0.5])
def test_seeds_that_cannot_be_are_one_line_and_leave_the_episodes(seed):
    env = ArmVectorEnv(3)
    env.reset(seed=[1, None, np.int64(3)])
    before = env.episodes.measure()
    assert refusal(UsageError, env.reset, seed=seed) == (
        f'seed = {seed!r} must be a whole number >= 0, or a list with one for each of 3 arms.'
    )
    assert all((one == other).all() for one, other in zip(before, env.episodes.measure()))


@pytest.mark.parametrize(
    'action, message',
    [
        (
            np.zeros((3, 2)),
            'actions are 3 x 2 numbers: they must be 2 x 3 numbers, a row for each arm.',
        ),
        (np.zeros(6), 'actions are 6 numbers: they must be 2 x 3 numbers, a row for each arm.'),
        (None, 'actions are no array of numbers: they must be 2 x 3 numbers, a row for each arm.'),
        ([[0, 0, 0], [0, np.nan, 0]], 'the action of arm 1 must be numbers.'),
    ],
)
def test_actions_that_cannot_be_are_one_line_and_move_nothing(action, message):
    env = ArmVectorEnv(2, robot='two_link')
    assert (
        refusal(UsageError, env.step, np.zeros((2, 3))) == 'a reset comes before the first step.'
    )
    env.reset(seed=0)
    assert refusal(UsageError, env.step, action) == message and (env.episodes.age == 0.0).all()


def test_the_action_of_one_arm_has_a_number_for_each_joint():
    env = ArmEnv(robot='two_link')
    with pytest.raises(UsageError, match=r'^a reset comes before the first step\.$'):
        env.step(np.zeros(3))
    env.reset(seed=0)
    for action in (np.zeros((1, 3)), np.zeros(2), 0.0):
        with pytest.raises(UsageError, match=r'^actions are .*: they must be 1 x 3 numbers'):
            env.step(action)


def test_an_observation_that_changes_its_length_is_an_error():
    env = ArmEnv(observation=lambda measured: np.zeros((1, 2 + int(measured.time[0] > 0.0))))
    env.reset(seed=0)
    assert refusal(UsageError, env.step, np.zeros(1)) == (
        'observation returned 1 x 3 numbers: it must be 1 x 2 numbers, a row for each arm.'
    )


def test_without_gymnasium_it_says_what_to_install(monkeypatch):
    monkeypatch.delitem(sys.modules, 'flex_robot_sim.environments')
    monkeypatch.setitem(sys.modules, 'gymnasium', None)
    with pytest.raises(UsageError) as caught:
        import flex_robot_sim.environments  # noqa: F401
    assert str(caught.value) == (
        'environments need Gymnasium, which is not installed. Install it '
        f'by {sys.executable} -m pip install "gymnasium>=1.1"'
    )


@pytest.mark.parametrize('robot', ['delta', 'four_bar'])
def test_an_environment_of_a_loop_acts_on_its_motors_as_a_simulation_does(robot):
    settings = EpisodeSettings(seconds=0.2, servo=True)
    episodes = Episodes(robot, 'rest_to_rest', 2, settings)
    arm = episodes.arm
    motors = np.flatnonzero(arm.actuated)
    assert episodes.action.shape == (2, motors.size)
    episodes.begin([np.random.default_rng(k) for k in (1, 2)], [0, 1])
    simulation = frs.Simulation(arm, frs.SimulationSettings(time_step=settings.time_step))
    simulation.set_state(episodes.batch.q[0])
    servo, random = design_servo(arm), np.random.default_rng(3)
    for _ in range(20):
        episodes.step(random.uniform(-0.3, 0.3, (2, motors.size)))
        target, rate = episodes.batch.target[0], episodes.batch.target_rate[0]
        simulation.hold(target, *servo.gains, rate * arm.actuated)
        simulation.effort = episodes.batch.effort[0]
        simulation.step(round(settings.period / settings.time_step))
    assert simulation.q == pytest.approx(episodes.batch.q[0], abs=1e-9)
    assert episodes.observe().shape[1] == 2 * motors.size + len(flex_sensors(arm).names)
    assert not episodes.batch.effort[:, ~arm.actuated].any()

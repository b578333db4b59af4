"""Batches: each member equals a single simulation, to the last bit."""

import os
import signal
from threading import Thread

import numba
import numpy as np
import pytest
from ctrl_c import interrupted
from refusals import refusal

import flex_robot_sim as frs
from flex_robot_sim.batch import members
from flex_robot_sim.model.arm_model import with_stiffness
from flex_robot_sim.util.exceptions import SettingError

H = frs.SimulationSettings().time_step
in_machine_code = pytest.mark.skipif(numba.config.DISABLE_JIT, reason='takes minutes in Python')


def expect_same_rows(state, other):
    for name, table in other.rows.items():
        np.testing.assert_array_equal(state.rows[name], table)


def is_same(batch, k, sim):
    return (batch.q[k] == sim.q).all() and (batch.v[k] == sim.v).all()


@pytest.mark.parametrize(
    'robot, threads',
    [('two_link', 1), ('two_link', 5), ('rig', 2), ('canadarm2', 2), ('single_link', 3)],
)
def test_members_equal_single_simulations(robot, threads):
    arm, rng, count = frs.load(robot), np.random.default_rng(7), 6
    joints = len(arm.joint_names)
    batch = frs.Batch(arm, count, threads=threads)
    link = list(arm.frames)[-1]
    effort, target = rng.normal(size=(2, count, joints))
    force, mass = rng.normal(size=(count, 3)), rng.uniform(0.0, 0.5, count)
    batch.effort[:] = effort
    batch.hold(target[:3], 30.0, 2.0, members=slice(0, 3))
    batch.push(link, force, follows=True)
    batch.push('base', force)  # which moves nothing
    batch.set_payload(link, mass, centre=(0.1, 0.0, 0.0))
    batch.step(40)
    batch.target[:] += 0.1
    batch.push(link, 0.0)
    batch.advance_to(100 * H)
    energy = batch.energy()
    for k in range(count):
        sim = frs.Simulation(arm)
        sim.effort = effort[k]
        if k < 3:
            sim.hold(target[k], 30.0, 2.0)
        sim.push(link, force[k], follows=True)
        sim.push('base', force[k])
        sim.set_payload(link, mass[k], (0.1, 0.0, 0.0))
        sim.step(40)
        if k < 3:
            sim.hold(target[k] + 0.1, 30.0, 2.0)
        sim.push(link)
        sim.step(60)
        assert is_same(batch, k, sim), k
        assert tuple(value[k] for value in energy) == tuple(sim.energy())
        # sums in another order, over lengths of up to 14 m
        np.testing.assert_allclose(batch.pose(link)[k], sim.pose(link), rtol=1e-14, atol=4e-15)
    assert batch.time == pytest.approx(100 * H, rel=1e-12)


def test_the_sum_of_pushes_does_not_depend_on_their_order():
    arm, rng = frs.load('rcm'), np.random.default_rng(0)
    links = ['body_5', 'remote_centre', 'instrument', 'tool']
    assert len({arm.frames[link].body for link in links}) == 1  # sums of it are rounded
    batch, alone = frs.Batch(arm, 6), [frs.Simulation(arm) for _ in range(6)]
    for k, sim in enumerate(alone):
        for link in rng.permutation(links).tolist():
            force = rng.normal(size=3)
            sim.push(link, force)
            batch.push(link, force, members=[k])
        sim.step(20)
    batch.step(20)
    for k, sim in enumerate(alone):
        assert is_same(batch, k, sim), k


def test_members_may_differ_in_their_numbers():
    arm = frs.load('two_link')
    arms = [with_stiffness(arm, factor) for factor in (0.7, 1.0, 1.4)]
    batch = frs.Batch(arms)
    batch.effort[:] = (0.5, 1.0, -1.0)
    batch.step(80)
    for k, one in enumerate(arms):
        sim = frs.Simulation(one)
        sim.effort = 0.5, 1.0, -1.0
        sim.step(80)
        assert is_same(batch, k, sim)
    assert not is_same(batch, 0, sim)


def test_the_result_does_not_depend_on_the_division_into_calls(monkeypatch):
    arm = frs.load('single_link')
    whole, pieces = frs.Batch(arm, 3), frs.Batch(arm, 3, threads=1)
    for batch in (whole, pieces):
        batch.effort[:, 0] = 0.1, 0.2, 0.3
    whole.step(70)
    monkeypatch.setattr(
        'flex_robot_sim.batch.batch.MAX_STEPS_PER_ROUND', 30
    )  # ten steps of three arms
    pieces.step(69)
    pieces.step()
    assert (whole.q == pieces.q).all() and whole.time == pieces.time


def test_a_non_finite_member_stops_alone_and_is_reported():
    arm = frs.load('single_link')
    batch = frs.Batch(arm, 3)
    batch.effort[:, 0] = 0.1, 1e200, 0.2
    batch.step(50)
    assert batch.is_lost.tolist() == [False, True, False] and 0.0 <= batch.lost[1] < 50 * H
    assert np.isfinite(batch.q).all()
    assert [k for k, line in batch.reports if 'the state is not finite after' in line] == [1]
    sim = frs.Simulation(arm)
    sim.effort = [0.2]
    sim.step(50)
    assert is_same(batch, 2, sim)
    batch.reset(1)
    batch.step(10)
    assert not batch.is_lost.any()
    fresh = frs.Simulation(arm)
    fresh.step(10)
    assert is_same(batch, 1, fresh)


def test_a_push_that_is_too_strong_is_refused_and_changes_nothing():
    arm = frs.load('single_link')
    batch, fresh = frs.Batch(arm, 2), frs.Batch(arm, 2)
    with pytest.raises(SettingError, match='the force of the push at "tool" is 1e.08 N, more'):
        batch.push('tool', [[0.0, 0.0, 0.0], [0.0, 1e8, 0.0]])
    for each in (batch, fresh):
        each.step(5)
    np.testing.assert_array_equal(batch.q, fresh.q)


def test_large_bending_is_reported_once_for_its_member():
    arm = frs.load('single_link')
    batch = frs.Batch(arm, 2)
    batch.push('tool', [[0.0, 0.0, 0.0], [0.0, 400.0, 0.0]])
    for _ in range(40):
        batch.step(5)
    sim = frs.Simulation(arm)
    sim.push('tool', [0.0, 400.0, 0.0])
    for _ in range(40):
        sim.step(5)
    assert sim.reports and batch.reports == [(1, line) for line in sim.reports]


def test_a_change_of_one_member_touches_no_other_member(monkeypatch):
    batch, touched = frs.Batch(frs.load('two_link'), 50), []
    batch.push('tool', [1.0, 0.0, 0.0])
    for name, count in (
        ('make_loads', lambda arm, pushes: 1),
        ('turn_limits', lambda *_: 1),
        ('set_energies_of_rows', lambda *tables: len(tables[3])),
    ):
        original = getattr(members, name)

        def counted(*tables, original=original, count=count, **options):
            touched.append(count(*tables))
            return original(*tables, **options)

        monkeypatch.setattr(members, name, counted)
    batch.push('forearm', [1.0, 0.0, 0.0], members=[7])
    batch.set_payload('tool', 0.1, members=[7])
    batch.set_state(q=0.1, members=[7])
    # of the new link once for all, then of the member: loads; energies twice, limits; energies
    assert touched == [1, 1, 1, 1, 1, 1]


@pytest.mark.parametrize(
    'name', ['effort', 'target', 'servo_stiffness', 'gear_stiffness', 'viscous']
)
def test_live_arrays_may_be_assigned_and_keep_their_memory(name):
    batch = frs.Batch(frs.load('two_link'), 2)
    live = getattr(batch, name)
    setattr(batch, name, [1.0, 2.0, 3.0])
    assert live.tolist() == [[1.0, 2.0, 3.0]] * 2
    setattr(batch, name, [[2.0], [4.0]])
    assert live.tolist() == [[2.0] * 3, [4.0] * 3]
    batch.effort += 0.25
    batch.gear_stiffness *= 0.5
    assert (batch.effort % 0.5 == 0.25).all() and np.shares_memory(getattr(batch, name), live)
    batch.step()


def test_states_are_set_by_member():
    arm = frs.load('two_link')
    batch = frs.Batch(arm, 3)
    batch.set_state(q=[0.1, 0.2, 0.3], members=[2])
    batch.set_state(q=np.full(arm.size, 1e-3), v=0.0, members=[True, False, False])
    sim = frs.Simulation(arm)
    sim.set_state(q=np.full(arm.size, 1e-3))
    assert is_same(batch, 0, sim)
    batch.set_state(q=[0.1, 0.2, 0.3], v=[0.0, 1.0, 0.0], members=-1)
    sim.set_state(q=[0.1, 0.2, 0.3], v=[0.0, 1.0, 0.0])
    batch.step(20)
    sim.step(20)
    assert is_same(batch, 2, sim)
    assert (batch.position[2] == sim.position).all()
    assert (batch.motor_velocity[2] == sim.motor_velocity).all()


@pytest.mark.parametrize('none', [[], (), [False] * 3, slice(0, 0), np.array([], int)])
def test_nothing_happens_to_no_members(none):
    arm = frs.load('two_link')
    batch = frs.Batch(arm, 3)
    batch.set_state(q=[0.1, 0.2, 0.3])
    kept = batch.save_state()
    batch.gear_stiffness[:] *= 0.9  # since then, there are numbers to restore
    before = batch.save_state()
    batch.set_state(q=np.zeros((0, 3)), members=none)
    batch.push('tool', [9.0, 0.0, 0.0], members=none)
    batch.hold(1.0, 5.0, 1.0, members=none)
    batch.set_payload('tool', 5.0, members=none)
    batch.set_arms(with_stiffness(arm, 0.5), members=none)
    batch.reset(members=none)
    batch.restore_state(kept, members=none)
    after = batch.save_state()
    expect_same_rows(after, before)
    assert (after.live['gear_stiffness'] == before.live['gear_stiffness']).all()
    assert after.arms == before.arms and after.payloads == before.payloads
    assert not batch._members.loads.force.any()


def expect_all_at_its_time(batch):
    """Check that members with different constant efforts have their states at batch.time."""
    sim = frs.Simulation(batch.arm)
    sim.effort = batch.effort[5]
    sim.step(round(batch.time / H))
    assert is_same(batch, 5, sim)
    assert (batch.q == batch.q[5]).all()


@in_machine_code
@pytest.mark.parametrize('again', [0.0, 0.01])
def test_ctrl_c_leaves_all_members_at_the_same_time(again):
    batch = frs.Batch(frs.load('single_link'), 8)
    batch.effort[:] = 0.05
    batch.step()  # the machine code is cached
    interrupted(lambda: batch.step(10**9), 0.3, again)
    assert 1 < batch.time / H < 10**9
    expect_all_at_its_time(batch)


@in_machine_code
@pytest.mark.parametrize('threads', [1, 3])
def test_ctrl_c_at_any_moment_of_short_calls_keeps_members_synchronous(threads):
    batch, rng = frs.Batch(frs.load('single_link'), 8, threads=threads), np.random.default_rng(0)
    batch.effort[:] = 0.05
    batch.step()

    def steps():
        while True:
            batch.step(3)

    for _ in range(40):
        interrupted(steps, rng.uniform(1e-3, 5e-3))
        expect_all_at_its_time(batch)


@in_machine_code
def test_a_thread_can_query_while_another_one_steps():
    arm = frs.load('two_link')
    batch, alone = (frs.Batch(arm, 4, threads=2) for _ in range(2))
    for one in (batch, alone):
        one.effort[:] = 0.05
    stepping = [Thread(target=batch.step, args=(300,)) for _ in range(3)]
    for thread in stepping:
        thread.start()
    while any(thread.is_alive() for thread in stepping):
        kept = batch.save_state()
        assert np.abs(batch.energy().balance).max() < 1e-11  # to rounding (T44)
        assert kept.time / H == pytest.approx(round(kept.time / H / 300) * 300, abs=1e-6)
    alone.step(900)
    assert (batch.q == alone.q).all()
    assert batch.time == pytest.approx(alone.time, rel=1e-12)


def test_a_forked_process_continues_to_step():
    batch = frs.Batch(frs.load('two_link'), 4, threads=2)
    batch.effort[:] = 0.05
    batch.step(10)
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        signal.alarm(60)  # ends the process if it waits for threads of the parent
        batch.step(10)
        os.write(writer, batch.q.tobytes())
        os._exit(0)
    os.close(writer)
    with os.fdopen(reader, 'rb') as pipe:
        received = pipe.read()
    os.waitpid(child, 0)
    batch.step(10)
    assert received == batch.q.tobytes()


@pytest.mark.parametrize(
    'message, make',
    {
        'count = None must be a whole number > 0': lambda arm: frs.Batch(arm),
        'count = 1000000000000 arms are more than the memory of '
        'this machine holds: make several batches': lambda arm: frs.Batch(arm, 10**12),
        'count = 0 must be a whole number > 0': lambda arm: frs.Batch(arm, 0),
        'a batch needs an arm at least': lambda arm: frs.Batch([]),
        'count = True must be a whole number > 0': lambda arm: frs.Batch([arm], True),
        'count = 2 for 1 arms: leave one of them away': lambda arm: frs.Batch([arm], 2),
        'the arm of member 1 is not like '
        'the first: their links, joints and elastic coordinates must be the same, and only '
        'numbers may differ': lambda arm: frs.Batch([arm, frs.load('two_link')]),
        'a batch steps by the scheme implicit_midpoint and the formulation recursion; take '
        'Simulation for others': lambda arm: frs.Batch(
            arm, 2, frs.SimulationSettings(scheme='rk4')
        ),
        'threads = -1 must be a whole number > 0': lambda arm: frs.Batch(arm, 2, threads=-1),
        'threads = 0 must be a whole number > 0': lambda arm: frs.Batch(arm, 2, threads=0),
        "'two_link' is no arm: load one by flex_robot_sim.load(robot)": lambda arm: frs.Batch(
            [arm, 'two_link']
        ),
    }.items(),
)
def test_invalid_arms_of_a_batch_are_a_one_line_error(make, message):
    assert refusal(SettingError, lambda: make(frs.load('single_link'))) == message


def test_a_set_of_arms_has_no_order_and_is_refused():
    arm = frs.load('single_link')
    batch = frs.Batch(arm, 1)
    for make in (frs.Batch, batch.set_arms):
        with pytest.raises(SettingError, match=r'^\{ArmModel.* is no arm: load one by '):
            make({arm})


@pytest.mark.parametrize(
    'message, ask',
    {
        'steps = 0 must be a whole number > 0': lambda batch: batch.step(0),
        'time = nan must be finite [s]': lambda batch: batch.advance_to(np.nan),
        'no link "nose" to push at. Known: ': lambda batch: batch.push('nose', [1, 0, 0]),
        'follows = [True, False] must be True or False': lambda batch: batch.push(
            'tool', [1, 0, 0], follows=[True, False]
        ),
        'effort must be one number, 1 of them for all, or 2 x 1': lambda batch: setattr(
            batch, 'effort', [1.0, 2.0, 3.0]
        ),
        'effort of member 1 must be finite': lambda batch: setattr(
            batch, 'effort', [[1.0], [np.nan]]
        ),
        'force must be one number, 3 of them for all, or 2 x 3': lambda batch: batch.push(
            'tool', [[1, 0, 0]] * 3
        ),
        'target of member 1 must be finite': lambda batch: batch.hold([[0.0], [np.inf]], 1.0, 1.0),
        'damping of member 1 must be finite': lambda batch: batch.hold(
            0.0, 1.0, [np.nan], members=[1]
        ),
        'stiffness of "motor" of member 1 must be >= 0 [N m/rad, N/m]': lambda batch: batch.hold(
            0.0, [[1.0], [-1.0]], 1.0
        ),
        'damping of "motor" of member 1 must be >= 0 [N m s/rad, N s/m]': lambda batch: batch.hold(
            0.0, 1.0, -1.0, members=-1
        ),
        'mass must be one number, or 2 of them, one for each member': lambda batch: (
            batch.set_payload('tool', [1.0, 2.0, 3.0])
        ),
        """no link "['tool']" to push at. Known: """: lambda batch: batch.push(['tool']),
        'member 1: payload of "tool" needs a mass >= 0': lambda batch: batch.set_payload(
            'tool', [1.0, -1.0]
        ),
        'member 1: no payload of "tool" has this inertia': lambda batch: batch.set_payload(
            'tool', 1.0, inertia=np.diag([1.0, 1.0, 9.0]), members=[1]
        ),
        'mass of member 1 must be finite': lambda batch: batch.set_payload(
            'tool', [np.inf], members=[1]
        ),
        'link "base" is fixed to the base and carries no payload': lambda batch: batch.set_payload(
            'base', 1.0
        ),
        'members = [2] are no rows of 2': lambda batch: batch.reset([2]),
        'members = [[0], [1]] must be one list of rows': lambda batch: batch.push(
            'tool', [1, 0, 0], members=[[0], [1]]
        ),
        'members = [0.0] are no rows of 2': lambda batch: batch.reset([0.0]),
    }.items(),
)
def test_an_invalid_call_of_a_batch_is_a_one_line_error_without_effect(ask, message):
    batch = frs.Batch(frs.load('single_link'), 2)
    before = batch.save_state()
    assert refusal(SettingError, ask, batch).startswith(message)
    after = batch.save_state()
    expect_same_rows(after, before)
    assert after.payloads == before.payloads
    assert not any(np.any(push.force) for one in after.pushes.values() for push in one)


@pytest.mark.parametrize(
    'table, unit',
    [
        ('effort', 'N m, N'),
        ('target', 'rad, m'),
        ('target_rate', 'rad/s, m/s'),
        ('servo_stiffness', 'N m/rad, N/m'),
        ('gear_damping', 'N m s/rad, N s/m'),
        ('rotor', 'kg m2, kg'),
        ('coulomb', 'N m, N'),
    ],
)
def test_an_invalid_live_entry_is_reported_with_member_and_joint(table, unit):
    batch = frs.Batch(frs.load('two_link'), 3)
    getattr(batch, table)[1, 2] = np.nan
    with pytest.raises(SettingError) as caught:
        batch.step()
    assert str(caught.value) == f'{table} of "elbow" of member 1 must be finite [{unit}]'

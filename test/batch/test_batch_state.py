"""State of a batch: restored members continue exactly as before."""

import copy
import pickle
from dataclasses import replace

import numpy as np
import pytest
from refusals import refusal

import flex_robot_sim as frs
from flex_robot_sim.model.arm_model import with_stiffness
from flex_robot_sim.simulation.simulated_arm import (
    MEMORY_FIELDS,
    SERVO_FIELDS,
    STEP_HISTORY_FIELDS,
)
from flex_robot_sim.util.exceptions import SettingError

COUNT = 4
# what is set from outside or in states; `coupling` is 0 for rigid drives, and stays it
RESTORED_FIELDS = (
    *STEP_HISTORY_FIELDS,
    *MEMORY_FIELDS,
    *SERVO_FIELDS,
    'effort_limit',
    'rate_limit',
    'prescribed',
    'prescribed_acceleration',
    'prescribed_effort',
    'coupling',
)


def random_acts(arm, rng):
    """Return a list of random changes to one Simulation or one member of a Batch."""
    joints, links = (
        len(arm.joint_names),
        [link for link, frame in arm.frames.items() if frame.body >= 0],
    )
    state = rng.uniform(-0.3, 0.3, (2, joints))
    effort, target = rng.normal(size=(2, joints))
    acts = [
        ('set_state', {'q': state[0], 'v': state[1]}),
        ('hold', {'target': target, 'stiffness': 20.0, 'damping': 1.0}),
    ]
    for _ in range(2):
        turn = np.linalg.qr(rng.normal(size=(3, 3)))[0]
        acts += [
            (
                'push',
                {
                    'link': rng.choice(links),
                    'force': rng.normal(size=3),
                    'moment': 0.1 * rng.normal(size=3),
                    'point': rng.uniform(-0.1, 0.1, 3),
                    'follows': bool(rng.integers(2)),
                },
            ),
            (
                'set_payload',
                {
                    'link': rng.choice(links),
                    'mass': rng.uniform(0.1, 1.0),
                    'centre': rng.uniform(-0.1, 0.1, 3),
                    'inertia': turn @ np.diag([2e-3, 3e-3, 4e-3]) @ turn.T,
                },
            ),
        ]
    order = rng.permutation(len(acts))
    return [acts[k] for k in order], effort


def act_on_simulation(sim, acts, effort):
    for name, arguments in acts:
        getattr(sim, name)(
            **{key: str(value) if key == 'link' else value for key, value in arguments.items()}
        )
    sim.effort = effort


def act_on_member(batch, k, acts, effort):
    for name, arguments in acts:
        getattr(batch, name)(
            **{key: str(value) if key == 'link' else value for key, value in arguments.items()},
            members=[k],
        )
    batch.effort[k] = effort


def with_moved_link_frames(arm):
    """Return an arm with moved link frames, which move pushes and payloads."""
    return replace(
        arm, frames={link: frame._replace(p=frame.p + 0.1) for link, frame in arm.frames.items()}
    )


def spoil_scratch(batch):
    """Fill the work arrays with NaN: a step may read only its own values and the state."""
    members = batch._members
    members.state.stage[:] = np.nan
    for name, table in zip(members.works._fields, members.works):
        if name not in (*RESTORED_FIELDS, 'root_R', 'root_p', 'base_moves'):  # the base is fixed
            table[:] = np.nan


def expect_same(batch, k, sim):
    np.testing.assert_array_equal(batch.q[k], sim.q)
    np.testing.assert_array_equal(batch.v[k], sim.v)
    assert tuple(value[k] for value in batch.energy()) == tuple(sim.energy())


@pytest.mark.long(after=4)
@pytest.mark.parametrize('seed', range(3))
@pytest.mark.parametrize(
    'robot, coupling',
    [('two_link', 'shortening'), ('rig', 'shortening'), ('single_link', 'zero_order')],
)
def test_restored_members_continue_as_single_simulations(robot, coupling, seed):
    arm, rng = frs.load(robot, coupling=coupling), np.random.default_rng(seed)
    batch = frs.Batch(arm, COUNT)
    simulations = [frs.Simulation(arm) for _ in range(COUNT)]
    for k, sim in enumerate(simulations):
        acts = random_acts(arm, rng)
        act_on_simulation(sim, *acts)
        act_on_member(batch, k, *acts)
        sim.step(30)
    batch.step(30)
    state, reports = batch.save_state(), [*batch.reports]

    for k in range(COUNT - 1):  # every value changes
        act_on_member(batch, k, *random_acts(arm, rng))
    batch.push(list(arm.frames)[-1], [0.0, 300.0, 0.0], members=0)
    batch.gear_stiffness[:] *= 1.5
    batch.viscous[:] += 0.2
    batch.step(25)
    batch.set_arms(with_moved_link_frames(with_stiffness(arm, 0.8)), members=[1, 2, 3])
    batch.effort[3] = 1e200
    batch.step(15)
    assert batch.is_lost[3]
    batch.set_state(members=slice(0, 2))

    batch.restore_state(state)
    assert batch.reports == reports
    assert batch.time == simulations[0].time and not batch.is_lost.any()
    spoil_scratch(batch)
    later = random_acts(arm, rng)
    for steps in (40, 20):
        batch.advance_to(batch.time + steps * 1e-3)
        for k, sim in enumerate(simulations):
            sim.step(steps)
            expect_same(batch, k, sim)
        act_on_simulation(simulations[1], *later)
        act_on_member(batch, 1, *later)
    for k, sim in enumerate(simulations):
        lines = [line for row, line in batch.reports if row == k]
        # a batch and a Simulation report the same content at different times
        assert {line.split(' at ')[0] for line in lines} == {
            line.split(' at ')[0] for line in sim.reports
        }


def test_time_continues_if_some_members_are_restored():
    batch = frs.Batch(frs.load('two_link'), COUNT)
    batch.effort[:, 1] = range(COUNT)
    batch.hold(0.3, 20.0, 1.0)
    batch.set_payload('tool', [0.0, 0.1, 0.2, 0.3])
    batch.step(30)
    kept = batch.save_state()
    batch.step(30)
    first = batch.q
    batch.effort[:] = 5.0
    batch.set_payload('tool', 2.0)
    batch.step(7)
    batch.restore_state(kept, members=[1, 3])
    batch.step(30)
    assert (batch.q[[1, 3]] == first[[1, 3]]).all()
    assert (batch.q[[0, 2]] != first[[0, 2]]).any(axis=1).all()
    assert batch.time == pytest.approx(97e-3, rel=1e-12)


def test_numbers_written_before_a_state_is_saved_are_in_it_and_those_after_are_not():
    arm = frs.load('two_link')
    batch = frs.Batch(arm, 2)
    batch.set_state(q=0.2)
    batch.gear_stiffness[1] = 500.0
    kept = batch.save_state()
    batch.step(20)
    first = batch.q
    batch.gear_stiffness[:] = 900.0
    batch.rotor[:] *= 2.0
    batch.restore_state(kept)
    assert (batch.rotor == arm.arrays.rotor).all() and (batch.gear_stiffness[1] == 500.0).all()
    batch.step(20)
    np.testing.assert_array_equal(batch.q, first)
    batch.restore_state(kept)
    batch.step(20)
    np.testing.assert_array_equal(batch.q, first)  # it is still what it was


def test_a_state_fits_another_batch_of_such_arms():
    arm = frs.load('two_link')
    first = frs.Batch([with_stiffness(arm, factor) for factor in (0.8, 1.0)])
    first.push('tool', [1.0, 0.0, 0.0], members=1)
    first.step(20)
    second = frs.Batch(arm, 2)
    second.push('forearm', [5.0, 0.0, 0.0])
    second.restore_state(first.save_state())
    for batch in (first, second):
        batch.step(20)
    np.testing.assert_array_equal(second.q, first.q)
    assert second.time == first.time


@pytest.mark.parametrize(
    'copied', [copy.copy, copy.deepcopy, lambda batch: pickle.loads(pickle.dumps(batch))]
)
def test_a_copy_continues_like_the_original_and_independently(copied):
    arm = frs.load('two_link')
    batch = frs.Batch([with_stiffness(arm, factor) for factor in (0.8, 1.0)], threads=2)
    batch.push('tool', [1.0, 0.0, 0.0], members=1)
    batch.set_payload('tool', 0.2)
    batch.hold(0.5, 20.0, 1.0)
    batch.gear_stiffness[0] *= 0.9
    batch.effort[1] = 1e200
    batch.step(20)
    assert batch.reports
    vars(batch)['note'] = 'third try'
    other = copied(batch)
    assert vars(other)['note'] == 'third try'
    before = batch.q
    other.effort[:], other.gear_stiffness[:] = 3.0, 500.0
    other.step(20)
    assert (batch.q == before).all() and (batch.gear_stiffness[1] != 500.0).all()
    other = copied(batch)
    assert other.reports == batch.reports and other.reports is not batch.reports
    for one in (batch, other):
        one.reset(members=[1])
        one.step(20)
    assert (other.q == batch.q).all() and other.time == batch.time
    assert all((a == b).all() for a, b in zip(other.energy(), batch.energy()))


@pytest.mark.parametrize(
    'way', [copy.copy, copy.deepcopy, lambda thing: pickle.loads(pickle.dumps(thing))]
)
def test_a_state_that_was_copied_or_pickled_restores_the_same(way):
    arm = frs.load('two_link')
    batch = frs.Batch([with_stiffness(arm, factor) for factor in (0.8, 1.0)])
    batch.push('tool', [1.0, 0.0, 0.0], members=1)
    batch.set_payload('tool', [0.1, 0.2])
    batch.gear_stiffness[0] *= 0.9
    batch.step(20)
    kept = way(batch.save_state())
    batch.step(20)
    first = batch.q
    batch.set_payload('tool', 2.0)
    batch.step(5)
    kept_again = way(kept)
    for table in kept.rows.values():
        table[:] = 0.0  # the second copy has its own tables
    batch.restore_state(kept_again)
    batch.step(20)
    np.testing.assert_array_equal(batch.q, first)


@pytest.mark.parametrize(
    'make, message',
    [
        (lambda arm: 3, 'state = 3 must be a BatchState, as Batch.save_state() returns it'),
        (
            lambda arm: frs.Batch(arm, 3).save_state(),
            'state has 3 members, the batch 2: they must be the same number',
        ),
        (
            lambda arm: frs.Batch(frs.load('two_link'), 2).save_state(),
            'state is of another arm, '
            '"two_link": links, joints and elastic coordinates must be those of "single_link"',
        ),
        (
            lambda arm: frs.Batch(arm, 2, frs.SimulationSettings(time_step=2e-3)).save_state(),
            'state is of a batch with other settings: make the batch with state.settings',
        ),
    ],
)
def test_an_invalid_state_is_a_one_line_error_without_effect(make, message):
    arm = frs.load('single_link')
    batch = frs.Batch(arm, 2)
    batch.set_state(q=0.3)
    before = batch.q
    assert refusal(SettingError, batch.restore_state, make(arm)) == message
    assert (batch.q == before).all() and batch.time == 0.0

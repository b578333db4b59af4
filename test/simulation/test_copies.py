"""Copies, pickles and restored states of a Simulation continue bit for bit, independently."""

import copy
import pickle

import numpy as np
import pytest
from arms import beam, flexibility, joint, link, robot
from moving_arms import swinging_arm
from random_arms import random_robot, random_state

import flex_robot_sim as frs
from flex_robot_sim.model.friction import has_dry_friction
from flex_robot_sim.simulation.simulated_arm import SAVED_FIELDS
from flex_robot_sim.simulation.simulation import PARTS, STATE_ATTRIBUTES


def restored(sim):
    """Return another Simulation with the state of one, from a pickle."""
    other = frs.Simulation(sim.arm, sim.settings)
    other.restore_state(pickle.loads(pickle.dumps(sim.save_state())))
    return other


def returned(sim):
    """Return a Simulation that has moved on, and is back at its state."""
    other, state = copy.copy(sim), sim.save_state()
    other.prescribe(other.arm.joint_names[-1], swing)
    other.push([*other.arm.frames][-1], (0.0, 0.4, 0.3))
    other.set_payload([*other.arm.frames][-1], 0.3)
    other.hold(0.1 + other.position, 2.0, 0.1)
    other.step(5)
    other.restore_state(state)
    return other


WAYS = {
    'copy': copy.copy,
    'deepcopy': copy.deepcopy,
    'restored': restored,
    'returned': returned,
    'pickle': lambda thing: pickle.loads(pickle.dumps(thing)),
}
STOPS = 'lower="-0.4" upper="0.4"'
FORMULATIONS = ('dual_screw', 'element_sum', 'wrench_dae', 'stiffened')


def swing(time):
    """Return the motion of a drive: position and velocity."""
    return 0.1 * np.sin(3.0 * time), 0.3 * np.cos(3.0 * time)


def random_arm(seed):
    """Return a random arm with dry friction and stops, and a state of it beyond some of these."""
    arm = frs.load(
        random_robot(seed, links=5, damping=True).replace('lower="-20" upper="20"', STOPS)
    )
    return arm, random_state(arm, seed, turn=0.5)


def in_motion(arm, seed, state=None, steps=17, **settings):
    """Return a Simulation that moves with a servo, pushes, a payload and efforts."""
    rng, sim = np.random.default_rng(seed), frs.Simulation(arm, frs.SimulationSettings(**settings))
    joints, links = (
        len(arm.joint_names),
        [name for name, frame in arm.frames.items() if frame.body >= 0],
    )
    if state is not None:
        sim.set_state(q=state[0], v=state[1])
    sim.hold(rng.uniform(-0.3, 0.3, joints), 5.0, 0.5)
    sim.push(links[-1], 0.3 * rng.normal(size=3), 0.1 * rng.normal(size=3), (0.1, 0.0, 0.0))
    sim.push(links[0], 0.3 * rng.normal(size=3), follows=True)
    sim.set_payload(links[-1], 0.2, (0.0, 0.05, 0.0))
    sim.effort = 0.3 * rng.normal(size=joints)
    sim.step(steps)
    return sim


def spoil_scratch(sim):
    """Fill the work arrays with NaN: a step may read only its own values and the state."""
    sim._simulated.state.stage[:] = np.nan
    for name, array in zip(sim._simulated.work._fields, sim._simulated.work):
        # constant: the coupling of rigid drives, and that a fixed base stands at its pose
        if name not in (*SAVED_FIELDS['work'], 'coupling', 'root_R', 'root_p', 'base_moves'):
            array[:] = np.nan


def seen(sim):
    """Return all query results of a Simulation that depend on its state."""
    links = [*sim.arm.frames]
    return [
        sim.time,
        sim.q,
        sim.v,
        [*sim.energy()],
        sim.mean_effort,
        sim.applied_effort,
        sim.twist_rate(links[-1]),
        sim.hard_steps,
        sim.corrected_energy,
        *sim.reports,
    ]


def expect_same(one, other):
    for a, b in zip(seen(one), seen(other), strict=True):
        np.testing.assert_array_equal(a, b)


def expect_continuation(sim, way, steps=23):
    """Compare a copy with its original over steps, and after the same changes to both."""
    other = WAYS[way](sim)
    spoil_scratch(other)
    expect_same(sim, other)
    last = [*sim.arm.frames][-1]
    for act in (
        lambda one: None,
        lambda one: one.push(last, (0.0, 0.5, 0.0)),
        lambda one: one.set_payload(last, 0.1),
        lambda one: one.hold(one.position, 3.0, 0.2),
    ):
        for one in (sim, other):
            act(one)
            one.step(steps)
        expect_same(sim, other)


@pytest.mark.long(after=4)
@pytest.mark.parametrize('way', WAYS)
@pytest.mark.parametrize('seed', range(2))
def test_a_copy_of_a_random_arm_continues_bit_for_bit(seed, way):
    arm, state = random_arm(seed)
    sim = in_motion(arm, seed, state)
    assert has_dry_friction(sim.arm.arrays.friction)
    expect_continuation(sim, way)


@pytest.mark.long(after=8)
@pytest.mark.parametrize('way', WAYS)
@pytest.mark.parametrize(
    'scheme, h',
    [('reference', 1e-3), ('rk4', 2e-5), ('forward_euler', 1e-6), ('semi_implicit_euler', 2e-5)],
)
def test_a_copy_continues_bit_for_bit_with_every_scheme(scheme, h, way):
    arm = swinging_arm(damping='0.05', gear='stiffness="900" rotor_inertia="1e-4" gear_ratio="50"')
    sim = in_motion(arm, 1, scheme=scheme, time_step=h, steps=130)
    expect_continuation(sim, way, 3 if scheme == 'reference' else 110)


@pytest.mark.long(after=2)
@pytest.mark.slow
@pytest.mark.parametrize('formulation', FORMULATIONS)
def test_a_copy_continues_bit_for_bit_with_every_formulation(formulation):
    coupling = 'zero_order' if formulation == 'dual_screw' else 'shortening'
    sim = in_motion(swinging_arm(coupling), 2, formulation=formulation, steps=5)
    for way in WAYS:
        expect_continuation(sim, way, 3)


@pytest.mark.parametrize('way', WAYS)
def test_a_copy_follows_the_same_prescribed_motions(way):
    arm = frs.load('two_link')
    sim = in_motion(arm, 3, drive_limits=True)
    sim.prescribe('waist', swing)
    sim.prescribe('elbow', ([0.0, 0.2, 0.5], [0.0, 0.1, -0.1]))
    sim.step(10)
    assert any('jumps' in line for line in sim.reports)
    expect_continuation(sim, way)
    other = WAYS[way](sim)
    other.prescribe('waist')
    sim.step(5)
    assert sim.motor_position[0] == pytest.approx(swing(sim.time)[0], rel=1e-12)


def test_a_copy_continues_with_static_friction_and_at_a_stop():
    limit = '<limit lower="-0.1" upper="0.1" effort="9" velocity="9"/>'
    arm = frs.load(
        robot(
            joint('waist', 'continuous', inside='<axis xyz="0 0 1"/><dynamics friction="1.5"/>'),
            link(),
            joint(
                'elbow',
                'revolute',
                'arm',
                'forearm',
                f'<origin xyz="1 0 0"/><axis xyz="0 1 0"/>{limit}',
            ),
            link('forearm'),
            flexibility(
                beam('<section EIy="60" EIz="90"/><modes torsion="0"/><damping ratio="0.05"/>')
            ),
        )
    )
    sim = frs.Simulation(arm)
    sim.effort = [1.0, 0.0]
    sim.step(2000)
    assert abs(sim.motor_velocity[0]) < 1e-6 and sim.position[1] > 0.1
    for way in WAYS:
        expect_continuation(sim, way, 10)


@pytest.mark.parametrize('way', WAYS)
def test_nothing_that_is_done_to_a_copy_changes_the_original(way):
    sim = in_motion(frs.load('two_link'), 4)
    sim.reports.append('a line')
    before, copied = pickle.loads(pickle.dumps(sim.__getstate__())), WAYS[way](sim)
    copied.effort[:] = 9.0
    copied.prescribe('waist', swing)
    copied.push('forearm', (9.0, 0.0, 0.0))
    copied.set_payload('tool', 1.0)
    copied.step(200)
    copied.reports.clear()
    copied.hold(0.0 * copied.position, 50.0, 5.0)
    copied.reset()
    expect_equal_states(before, sim.__getstate__())


def expect_equal_states(one, other):
    if isinstance(one, dict):
        assert one.keys() == other.keys()
        for name in one:
            expect_equal_states(one[name], other[name])
    elif isinstance(one, (tuple, list)):
        assert len(one) == len(other)
        for a, b in zip(one, other):
            expect_equal_states(a, b)
    elif hasattr(one, '__dict__') and not isinstance(one, np.ndarray):
        if not isinstance(one, frs.ArmModel):
            expect_equal_states(vars(one), vars(other))
    else:
        np.testing.assert_array_equal(one, other)


def arrays_of(thing, known):
    """Yield all arrays in an object, at any depth, except those of arms and compiled functions."""
    if id(thing) in known or isinstance(thing, frs.ArmModel) or hasattr(thing, 'py_func'):
        return
    known[id(thing)] = thing
    if isinstance(thing, np.ndarray):
        yield thing
    elif isinstance(thing, dict):
        for one in thing.values():
            yield from arrays_of(one, known)
    elif isinstance(thing, (list, tuple, set)):
        for one in thing:
            yield from arrays_of(one, known)
    elif hasattr(thing, '__dict__'):
        yield from arrays_of(vars(thing), known)


def test_a_copy_shares_only_arrays_of_the_arm_that_no_step_writes():
    sim = in_motion(frs.load('two_link'), 5)
    sim.prescribe('waist', swing)
    sim.step(3)
    fixed = {id(array) for array in sim.arm.arrays}
    originals, copies = (
        [array for array in arrays_of(vars(one), {}) if id(array) not in fixed]
        for one in (sim, copy.copy(sim))
    )
    assert len(originals) > 50
    # pushes and payloads are replaced as a whole and never written
    simulated = sim._simulated
    constant = [
        array
        for values in (
            *simulated.pushes.values(),
            *map(dict.values, map(vars, simulated.payloads.values())),
        )
        for array in values
        if isinstance(array, np.ndarray)
    ]
    shared = [a for a in originals for b in copies if np.shares_memory(a, b)]
    assert {id(array) for array in shared} <= {id(array) for array in constant}


def test_a_push_stays_as_it_is_when_the_caller_writes_into_its_array():
    force = np.array([0.0, 1.0, 0.0])
    one, other = (frs.Simulation(frs.load('two_link')) for _ in range(2))
    one.push('tool', force)
    other.push('tool', (0.0, 1.0, 0.0))
    force[:] = 50.0
    for sim in (one, other):
        sim.push('forearm', (0.1, 0.0, 0.0))  # the loads of all pushes are recomputed
        sim.step(20)
    np.testing.assert_array_equal(one.q, other.q)


def test_attributes_added_by_a_user_are_copied():
    class Noted(frs.Simulation):
        note = ''

    sim = Noted(frs.load('single_link'))
    sim.note = 'third try'
    other = copy.copy(sim)
    assert type(other) is Noted and other.note == 'third try'


@pytest.mark.parametrize(
    'make, line',
    [
        (
            lambda arm: 3,
            'state = 3 must be a SimulationState, as Simulation.save_state() returns it',
        ),
        (
            lambda arm: frs.Simulation(frs.load('rig')).save_state(),
            'state is of another arm, "rig", '
            'or of one with other numbers: restore it to a Simulation of state.arm',
        ),
        (
            lambda arm: frs.Simulation(frs.with_payload(arm, 'tool', 0.1)).save_state(),
            'state is of '
            'another arm, "two_link", or of one with other numbers: restore it to a Simulation of '
            'state.arm',
        ),
        (
            lambda arm: frs.Simulation(arm, frs.SimulationSettings(time_step=2e-3)).save_state(),
            'state is of a simulation with other settings: make the Simulation with '
            'state.settings',
        ),
        (lambda arm: frs.Batch(arm, 1).save_state(), None),
    ],
)
def test_an_invalid_state_is_a_one_line_error_without_effect(make, line):
    arm = frs.load('two_link')
    sim = in_motion(arm, 8)
    before = seen(sim)
    with pytest.raises(frs.SettingError) as caught:
        sim.restore_state(make(arm))
    assert str(caught.value) == line if line else 'must be a SimulationState' in str(caught.value)
    for a, b in zip(before, seen(sim), strict=True):
        np.testing.assert_array_equal(a, b)


def test_a_state_can_be_restored_again_and_again():
    sim, rng = in_motion(frs.load('two_link'), 9), np.random.default_rng(9)
    state, ends = sim.save_state(), []
    for _ in range(3):
        sim.restore_state(state)
        sim.step(20)
        ends.append((sim.time, *sim.q, *sim.energy()))
        sim.set_payload('tool', rng.uniform(0.1, 0.5))  # changes nothing in the state
        sim.effort[:] = rng.normal(size=3)
    assert ends[0] == ends[1] == ends[2]


def test_a_simulation_from_a_read_only_pickle_can_step():
    sim = in_motion(frs.load('two_link'), 6)
    buffers: list = []
    data = pickle.dumps(sim, protocol=5, buffer_callback=buffers.append)
    assert len(buffers) > 50
    other = pickle.loads(data, buffers=[bytes(buffer.raw()) for buffer in buffers])
    for one in (sim, other):
        one.step(10)
    expect_same(sim, other)


def test_every_attribute_is_state_or_rebuilt():
    sim = in_motion(frs.load('two_link'), 7)
    sim.prescribe('waist', swing)
    sim.step()
    saved, parts = sim.__getstate__(), sim.save_state().parts
    assert vars(sim).keys() - saved.keys() == {*PARTS, *STATE_ATTRIBUTES} - {'_logs'}
    assert saved.keys() - vars(sim).keys() == {'state'} and [*parts] == [*PARTS]
    follows = {
        'arm',
        'settings',
        'step_settings',
        'query_work',
        'steps_in_python',
        'motor_q',
        'loads',
        'formulation',
        '_make_formulation',
        '_advance_checked',
        '_set_energies',
        'imu_queries',
        'time_step',
        'last_call',
    }
    assert vars(sim._simulated).keys() == {*parts['_simulated'], *follows}

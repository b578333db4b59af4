"""Members with numbers that change during a run: each equals a single simulation."""

import numpy as np
import pytest
from refusals import refusal

import flex_robot_sim as frs
from flex_robot_sim.batch.rows import live_column
from flex_robot_sim.description import read_description
from flex_robot_sim.description.robot_parameters import parameters_of, place_of, with_parameters
from flex_robot_sim.identification.parameters import FITTED_GROUPS
from flex_robot_sim.model.assembly import build_arm
from flex_robot_sim.util.exceptions import SettingError
from flex_robot_sim.util.share import shipped_robots

COUNT = 5
GEAR = {'gear_stiffness': 'stiffness', 'gear_damping': 'damping', 'rotor': 'rotor_inertia'}
FRICTION = {'viscous': 'viscous', 'coulomb': 'coulomb'}


def other_arms(robot, rng, count, words=None, coupling='shortening'):
    """Return arms with other numbers: those of the dynamics, or of the drives with `words`."""
    description = read_description(robot)
    known = parameters_of(description)
    paths = [
        path
        for path, parameter in known.items()
        if (
            parameter.group in FITTED_GROUPS
            and not path.endswith('.creep_rate')  # presliding excludes it
            if words is None
            else place_of(description, path)[0] == 'joint' and path.rpartition('.')[2] in words
        )
    ]
    return [
        build_arm(
            with_parameters(
                description,
                {path: (known[path].value or 0.1) * rng.uniform(1.0, 1.3) for path in paths},
            ),
            coupling,
        )
        for _ in range(count)
    ]


def expect_same(batch, k, sim):
    np.testing.assert_array_equal(batch.q[k], sim.q)
    np.testing.assert_array_equal(batch.v[k], sim.v)
    assert tuple(value[k] for value in batch.energy()) == tuple(sim.energy())


@pytest.mark.parametrize(
    'robot, coupling, threads',
    [
        ('two_link', 'shortening', 1),
        ('two_link', 'zero_order', 5),
        ('rig', 'shortening', 2),
        ('ella', 'shortening', 2),
    ],
)
def test_replaced_arms_equal_single_simulations(robot, coupling, threads):
    rng = np.random.default_rng(3)
    nominal = frs.load(robot, coupling=coupling)
    arms = [nominal, *other_arms(robot, rng, COUNT - 1, coupling=coupling)]
    joints, link = len(nominal.joint_names), list(nominal.frames)[-1]
    position, effort = rng.uniform(-0.3, 0.3, (2, COUNT, joints))
    force, mass = rng.normal(size=(COUNT, 3)), rng.uniform(0.1, 0.5, COUNT)
    settings = frs.SimulationSettings(turn_rate_limit=1e-3)  # causes a report
    batch = frs.Batch(nominal, COUNT, settings, threads)
    batch.effort[:] = 1.0
    batch.step(3)
    batch.reset()
    batch.reports.clear()
    batch.set_payload(link, mass, centre=(0.0, 0.1, 0.0))
    batch.push(link, force, point=(0.1, 0.0, 0.0))
    batch.set_arms(arms[1], members=1)
    batch.set_arms(arms[1:], members=slice(1, None))
    batch.set_state(q=position)
    batch.effort[:] = effort
    alone = [frs.Simulation(arm, settings) for arm in arms]
    for k, sim in enumerate(alone):
        sim.push(link, force[k], point=(0.1, 0.0, 0.0))
        sim.set_payload(link, mass[k], centre=(0.0, 0.1, 0.0))
        sim.set_state(position[k])
        sim.effort = effort[k]
    batch.step(60)
    for k, sim in enumerate(alone):
        sim.step(60)
        expect_same(batch, k, sim)
        # sums in another order
        np.testing.assert_allclose(batch.pose(link)[k], sim.pose(link), rtol=0.0, atol=4e-15)
        turned = [line for row, line in batch.reports if row == k and ' turns faster ' in line]
        assert [line.split(', at ')[0] for line in turned] == [
            line.split(', at ')[0] for line in sim.reports if ' turns faster ' in line
        ]
    assert bool(turned) == (coupling == 'zero_order')
    assert batch.arms == tuple(arms)


@pytest.mark.parametrize('robot, numbers', [('two_link', {**GEAR, **FRICTION}), ('rig', FRICTION)])
def test_live_numbers_are_those_of_an_arm_described_so(robot, numbers):
    rng, nominal = np.random.default_rng(5), frs.load(robot)
    arms = other_arms(robot, rng, COUNT, [*numbers.values()])
    batch = frs.Batch(nominal, COUNT, threads=3)
    for name in numbers:
        live = getattr(batch, name)
        for k, arm in enumerate(arms):
            described = live_column(arm.arrays, name)
            assert (live[k] != described).any()
            live[k] = described
    joints = len(nominal.joint_names)
    start = rng.uniform(-0.3, 0.3, (COUNT, joints))
    batch.set_state(q=start)
    batch.servo_stiffness[:], batch.servo_damping[:] = 20.0, 1.0
    batch.step(40)
    batch.servo_stiffness[2] = 40.0
    batch.step(40)
    for k, arm in enumerate(arms):
        sim = frs.Simulation(arm)
        sim.set_state(start[k])
        sim.hold(np.zeros(joints), 20.0, 1.0)
        sim.step(40)
        if k == 2:
            sim.hold(np.zeros(joints), 40.0, 1.0)
        sim.step(40)
        expect_same(batch, k, sim)


def test_the_energy_balance_excludes_changes_of_numbers():
    rng = np.random.default_rng(1)
    batch = frs.Batch(frs.load('two_link'), 3)
    batch.set_state(q=[0.3, 0.5, -0.4], v=[1.0, -1.0, 0.5])
    batch.set_payload('tool', 0.5)
    batch.step(50)
    before = batch.energy()
    twist = (batch.motor_position - batch.position)[1]
    batch.gear_stiffness[1] += 200.0
    after = batch.energy()
    # 1/2 k twist^2 of each gear; the rounding of all springs together
    assert after.strain[1] - before.strain[1] == pytest.approx(100.0 * twist @ twist, abs=1e-13)
    assert after.strain[0] == before.strain[0] and 100.0 * twist @ twist > 1e-4
    batch.rotor[2] *= 1.5
    grown = batch.energy().kinetic[2] - before.kinetic[2]
    assert grown == pytest.approx(
        0.25 * batch.arm.arrays.rotor @ batch.motor_velocity[2] ** 2, abs=1e-13
    )
    batch.set_arms(other_arms('two_link', rng, 2), members=[0, 2])
    heavier = batch.energy()
    assert abs(heavier.gravity[0] - before.gravity[0]) > 1e-2
    # energies of some joules are summed a few times
    np.testing.assert_allclose(heavier.balance, before.balance, rtol=0, atol=1e-13)
    batch.step(200)
    # a step corrects its energy to rounding (T44)
    np.testing.assert_allclose(batch.energy().balance, 0.0, rtol=0, atol=1e-11)


def test_live_arrays_stay_live_after_a_change_of_arm():
    rng, nominal = np.random.default_rng(2), frs.load('two_link')
    (other,) = other_arms('two_link', rng, 1)
    batch = frs.Batch(nominal, 3)
    stiffness, effort = batch.gear_stiffness, batch.effort
    batch.set_arms(other, members=[1])
    assert (
        stiffness
        == [
            nominal.arrays.gear_stiffness,
            other.arrays.gear_stiffness,
            nominal.arrays.gear_stiffness,
        ]
    ).all()
    stiffness[1] = nominal.arrays.gear_stiffness
    assert stiffness is batch.gear_stiffness and effort is batch.effort
    batch.set_arms(nominal, members=[1])
    batch.set_state(q=[[0.1, 0.2, 0.3]])
    batch.step(30)
    assert (batch.q == batch.q[0]).all()
    assert nominal.arrays.gear_stiffness.tolist() == [800.0, 800.0, 300.0]  # of the URDF


def test_limits_of_drives_are_those_of_the_arm():
    text = shipped_robots()['single_link'].read_text()
    weak = frs.load(text.replace('effort="0.5"', 'effort="0.2"'))
    settings = frs.SimulationSettings(drive_limits=True)
    batch = frs.Batch(frs.load(text), 2, settings)
    batch.set_arms(weak, members=[1])
    batch.effort[:] = 5.0
    batch.step(50)
    for k, arm in enumerate((frs.load(text), weak)):
        sim = frs.Simulation(arm, settings)
        sim.effort = [5.0]
        sim.step(50)
        expect_same(batch, k, sim)
    assert (batch.q[0] != batch.q[1]).all()


@pytest.mark.parametrize(
    'message, ask',
    {
        "'two_link' is no arm: load one by flex_robot_sim.load(robot)": lambda batch: (
            batch.set_arms('two_link')
        ),
        '3 is no arm: load one by flex_robot_sim.load(robot)': lambda batch: batch.set_arms(
            [batch.arm, 3]
        ),
        '3 arms for 2 members: give one for all, or one for each': lambda batch: batch.set_arms(
            [batch.arm] * 3
        ),
        'the arm of member 1 is not like '
        'the first: their links, joints and elastic coordinates must be the same, and only '
        'numbers may differ': lambda batch: batch.set_arms(frs.load('rig'), members=[1]),
        'members = [2] are no rows of 2': lambda batch: batch.set_arms(batch.arm, members=[2]),
    }.items(),
)
def test_invalid_arms_are_a_one_line_error_without_effect(ask, message):
    batch = frs.Batch(frs.load('two_link'), 2)
    before = batch.arms
    assert refusal(SettingError, ask, batch) == message
    assert batch.arms == before


@pytest.mark.parametrize(
    'robot, name, number, message',
    [
        (
            'two_link',
            'gear_stiffness',
            0.0,
            'gear_stiffness of "shoulder" of member 2 must be > 0 [N m/rad, N/m]',
        ),
        ('two_link', 'rotor', 0.0, 'rotor of "shoulder" of member 2 must be > 0 [kg m2, kg]'),
        (
            'two_link',
            'gear_damping',
            -1.0,
            'gear_damping of "shoulder" of member 2 must be >= 0 [N m s/rad, N s/m]',
        ),
        ('two_link', 'coulomb', -1.0, 'coulomb of "shoulder" of member 2 must be >= 0 [N m, N]'),
        (
            'two_link',
            'servo_damping',
            -1.0,
            'servo_damping of "shoulder" of member 2 must be >= 0 [N m s/rad, N s/m]',
        ),
        (
            'rig',
            'rotor',
            1.0,
            'rotor of "turn" of member 2 cannot change: its drive is rigid. Give '
            'the member another arm by set_arms',
        ),
        (
            'rig',
            'gear_stiffness',
            1.0,
            'gear_stiffness of "turn" of member 2 cannot change: its drive '
            'is rigid. Give the member another arm by set_arms',
        ),
    ],
)
def test_invalid_live_numbers_are_reported_with_member_and_joint(robot, name, number, message):
    batch = frs.Batch(frs.load(robot), 3)
    good = getattr(batch, name)[2, 1]
    getattr(batch, name)[2, 1] = number
    assert refusal(SettingError, batch.step) == message and batch.time == 0.0
    getattr(batch, name)[2, 1] = good
    batch.step()

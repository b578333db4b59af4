"""
Mimic joints: they follow their leaders to rounding, and load them as a gear does.

References: closed forms; the mass matrix of the tree with the motion of the leaders put into it;
Pinocchio, which gives mimic joints no coordinate.
"""

import numpy as np
import pytest
from arms import flexibility, joint, link, robot
from public_robots import public_robot
from random_arms import every_feature, random_state
from refusals import refusal

import flex_robot_sim as frs
from flex_robot_sim.simulation import queries

Z = '<axis xyz="0 0 1"/>'
PUBLIC = {
    'Panda': 'panda_description/urdf/panda.urdf',
    'Baxter': 'baxter_description/urdf/baxter.urdf',
    'PR2': 'pr2_description/urdf/pr2.urdf',
    'TIAGo Pro': 'tiago_pro_description/robots/tiago_pro.urdf',
    'Talos': 'talos_data/robots/talos_reduced.urdf',
}


def mimic(leader, ratio=1.0, offset=0.0):
    return f'{Z}<mimic joint="{leader}" multiplier="{ratio!r}" offset="{offset!r}"/>'


def geared_pair(ratio, inertia=(0.02, 0.5), more='', offset=0.0):
    """Return two links on the base, of which the second mimics the first."""
    links = [link(name, 1.0, '0 0 0', (J, J, J)) for name, J in zip(('arm', 'wheel'), inertia)]
    follower = joint('follower', child='wheel', inside=mimic('hinge', ratio, offset))
    return robot(*links, joint(), follower, more)


def gaps(arm, q):
    """Return the differences between mimic joints and what they mimic, by <mimic> alone."""
    joints = [one for one in arm.description.joints if one.moves and one.mimics]
    assert joints
    return [
        q[arm.idx_q[one.name]] - one.mimic_ratio * q[arm.idx_q[one.mimics]] - one.mimic_offset
        for one in joints
    ]


@pytest.mark.parametrize('ratio', [-3.0, 0.2, 40.0])
def test_the_leader_feels_the_square_of_the_ratio(ratio):
    simulation = frs.Simulation(frs.load(geared_pair(ratio, offset=0.3)))
    simulation.effort = [2.0, 0.0]
    acceleration = 2.0 / (0.02 + ratio**2 * 0.5)  # J1 + ratio^2 J2
    simulation.advance_to(0.4)
    assert simulation.velocity == pytest.approx(0.4 * acceleration * np.array([1, ratio]))
    assert simulation.position == pytest.approx(
        0.08 * acceleration * np.array([1, ratio]) + [0, 0.3]
    )
    moment = simulation.constraint_force('follower')
    assert moment == pytest.approx([0, 0, 0.5 * ratio * acceleration, 0, 0, 0], abs=1e-12)
    # the joints carry the inertia of their links, the moment of the gear included
    assert simulation.wrench('hinge')[2] == pytest.approx(0.02 * acceleration)
    assert simulation.wrench('follower')[2] == pytest.approx(0.5 * ratio * acceleration)


def test_a_follower_of_a_flexible_joint_follows_its_link_side():
    gear = '<joint name="hinge" stiffness="80" rotor_inertia="0.1"/>'
    text = geared_pair(2.0, more=flexibility(gear))
    simulation = frs.Simulation(frs.load(text))
    J, rotor, k = 0.02 + 4 * 0.5, 0.1, 80.0
    simulation.effort = [1.0, 0.0]
    for _ in range(200):
        simulation.step(5)
        t, total = simulation.time, J + rotor
        rate = np.sqrt(k * total / (J * rotor))
        link_side = (t * t / 2 - (1 - np.cos(rate * t)) / rate**2) / total
        q = simulation.q
        assert q[0] == pytest.approx(link_side, abs=2e-5)
        assert abs(q[1] - 2.0 * q[0]) < 1e-12
        assert abs(q[2] - q[0]) > 0.0  # the motor side


def test_a_follower_of_a_prescribed_leader_takes_the_moment_of_its_inertia():
    simulation = frs.Simulation(frs.load(geared_pair(-3.0, offset=0.2)))
    simulation.prescribe('hinge', lambda t: (np.sin(2 * t), 2 * np.cos(2 * t)))
    for _ in range(5):
        simulation.step(100)
        t, h = simulation.time, 1e-3
        assert simulation.position == pytest.approx([np.sin(2 * t), 0.2 - 3 * np.sin(2 * t)])
        # mean over the last step
        acceleration = 2 * (np.cos(2 * t) - np.cos(2 * (t - h))) / h
        moment = simulation.constraint_force('follower')[2]
        assert moment == pytest.approx(0.5 * -3.0 * acceleration, rel=1e-6, abs=1e-9)
    line = refusal(frs.SettingError, simulation.prescribe, 'follower', lambda t: (0.0, 0.0))
    assert line == 'joint "follower" is passive: it has no drive to prescribe'


def test_a_chain_of_mimic_joints_in_any_order_follows_its_first_joint():
    parts = [link(), joint(), *(link(f'link_{k}') for k in range(3))]
    parents = 'arm', 'link_0', 'link_1'
    leaders = 'joint_1', 'joint_2', 'hinge'
    ratios, offsets = (0.5, -2.0, 3.0), (0.1, 0.2, -0.3)
    for k in range(3):
        inside = mimic(leaders[k], ratios[k], offsets[k])
        parts.append(joint(f'joint_{k}', parent=parents[k], child=f'link_{k}', inside=inside))
    arm = frs.load(robot(*parts))
    simulation = frs.Simulation(arm)
    assert np.abs(gaps(arm, simulation.q)).max() < 1e-15
    simulation.set_state([0.4, 9.0, 9.0, 9.0], [1.5, 0.0, 0.0, 0.0])
    assert simulation.position == pytest.approx([0.4, -0.7, -1.6, 0.9])
    assert simulation.velocity == pytest.approx([1.5, -4.5, -9.0, 4.5])
    simulation.step(300)
    assert np.abs(gaps(arm, simulation.q)).max() < 1e-12
    assert simulation.velocity == pytest.approx(simulation.velocity[0] * np.array([1, -3, -6, 3]))


def held_and_moving(text):
    """Return an arm whose mimic joints move, and the same tree without <mimic>."""
    free, _, end = text.partition('<mimic')
    while end:
        free, _, end = (free + end.partition('/>')[2]).partition('<mimic')
    return frs.load(text.replace(' mimic="held"', '')), frs.load(free)


@pytest.mark.slow
@pytest.mark.parametrize('seed', range(3))
def test_accelerations_are_those_of_the_tree_with_the_leader_put_in(seed):
    arm, tree = held_and_moving(every_feature())
    simulation = frs.Simulation(arm)
    q, v = random_state(arm, seed)
    grip, elbow = (arm.idx_q[name] for name in ('grip', 'elbow'))
    q[grip], v[grip] = q[elbow] + 0.4, v[elbow]
    simulation.set_state(q, v)
    M, free = frs.mass_matrix(tree, q), frs.forward_dynamics(tree, q, v)
    N = np.delete(np.eye(arm.size), grip, axis=1)
    N[grip] = N[elbow]
    expected = N @ np.linalg.solve(N.T @ M @ N, N.T @ M @ free)
    found = queries.accelerations(simulation._simulated)
    assert found == pytest.approx(expected, abs=1e-9 * np.abs(expected).max())


@pytest.mark.slow
@pytest.mark.parametrize('step', [1e-4, 1e-3, 5e-3])
def test_energy_never_rises_and_the_follower_never_departs(step):
    arm = frs.load(every_feature(damping=step > 1e-3).replace(' mimic="held"', ''))
    simulation = frs.Simulation(arm, frs.SimulationSettings(time_step=step))
    simulation.set_state(*random_state(arm, 3))
    start = last = sum(simulation.energy()[:3])
    for _ in range(200):
        simulation.step()
        now = sum(simulation.energy()[:3])
        assert now <= last + 1e-10 * (1.0 + abs(start))
        assert np.abs(gaps(arm, simulation.q)).max() < 1e-12
        last = now


@pytest.mark.slow
@pytest.mark.parametrize('name', PUBLIC)
def test_a_public_robot_accelerates_as_pinocchio_says(name):
    pin = pytest.importorskip('pinocchio')
    text = public_robot(PUBLIC[name]).read_text('utf-8')
    arm = frs.load(text)
    model = pin.buildModelFromXML(text, mimic=True)
    data, rng = model.createData(), np.random.default_rng(4)
    followers = {one.name: one for one in arm.description.joints if one.moves and one.mimics}
    theirs = {name: k for k, name in enumerate(model.names)}
    columns = [model.joints[theirs[name]].idx_v for name in arm.joint_names]
    N = np.zeros((arm.size, model.nv))
    for k, name in enumerate(arm.joint_names):
        N[k, columns[k]] = followers[name].mimic_ratio if name in followers else 1.0
    simulation = frs.Simulation(arm)
    simulation.set_state(
        rng.uniform(np.maximum(arm.arrays.lower, -1), np.minimum(arm.arrays.upper, 1)),
        rng.normal(size=arm.size),
    )
    q = pin.neutral(model)
    for k, name in enumerate(arm.joint_names):
        if name in followers:
            continue
        one, value = model.joints[theirs[name]], simulation.q[k]
        whole_turn = [np.cos(value), np.sin(value)]
        q[one.idx_q : one.idx_q + one.nq] = value if one.nq == 1 else whole_turn
    v = np.linalg.lstsq(N, simulation.v, rcond=None)[0]
    assert N @ v == pytest.approx(simulation.v, abs=1e-12)
    M = pin.crba(model, data, q)
    M = np.triu(M) + np.triu(M, 1).T
    friction = np.array([one.friction.viscous_friction for one in moving_joints(arm)])
    dry = np.array([one.friction.coulomb_friction for one in moving_joints(arm)])
    resistance = friction * simulation.v + dry * np.sign(simulation.v)
    bias = pin.nonLinearEffects(model, data, q, v) + N.T @ resistance
    expected = N @ np.linalg.solve(M, -bias)
    found = queries.accelerations(simulation._simulated)
    assert found == pytest.approx(expected, abs=1e-7 * np.abs(expected).max())


def moving_joints(arm):
    return [one for one in arm.description.joints if one.moves]


@pytest.mark.slow
def test_fingers_of_a_public_robot_follow_over_a_long_motion():
    arm = frs.load(public_robot(PUBLIC['Panda']))
    simulation = frs.Simulation(arm)
    for k in range(10):
        simulation.effort[arm.idx_q['panda_finger_joint1']] = 5.0 * (-1) ** k
        simulation.step(1000)
        assert np.abs(gaps(arm, simulation.q)).max() < 1e-12
    assert abs(simulation.energy().balance) < 1e-9

"""
Constraints with `<compliance>`: springs and dampers between two links.

References: closed forms; forces from poses alone, put into the tree; rigid constraints.
"""

import numpy as np
import pytest
from arms import joint, link, robot
from closed_loops import closed_robot, energy_rise, opening, without_loops
from compliant_carts import RANGE, carts, compliant

import flex_robot_sim as frs
from flex_robot_sim.simulation import queries

FREE = {'gravity': (0.0, 0.0, 0.0)}


def relative_motion(t, start, stiffness, damping, mass=2.0 * 5.0 / 7.0):
    """Displacement of a damped oscillator that starts at rest."""
    decay = damping / (2 * mass)
    rate = np.sqrt(stiffness / mass - decay**2)
    return start * np.exp(-decay * t) * (np.cos(rate * t) + decay / rate * np.sin(rate * t))


@pytest.mark.parametrize(
    'kind, prefix, start', [('prismatic', '', 0.3), ('revolute', 'rotational_', 1e-3)]
)
@pytest.mark.parametrize('damping', [0.0, 12.0])
def test_two_masses_on_a_spring_oscillate_as_the_closed_form_says(kind, prefix, start, damping):
    text = carts(f'{prefix}stiffness="400" {prefix}damping="{damping}"', kind)
    if prefix:  # wheels at one place: the translation stays rigid
        text = text.replace('<axis xyz="1 0 0"/>', '<axis xyz="0 0 1"/>')
    simulation = frs.Simulation(frs.load(text, **FREE), frs.SimulationSettings(time_step=2e-4))
    simulation.set_state([0.0, start])
    assert simulation.position.tolist() == [0.0, start]
    energy = sum(simulation.energy()[:3])
    assert energy == pytest.approx(200 * start**2, rel=1e-6)
    for _ in range(10):
        simulation.advance_to(simulation.time + 0.05)
        left, right = simulation.position
        expected = relative_motion(simulation.time, start, 400.0, damping)
        assert right - left == pytest.approx(expected, abs=1e-4 * start)
        assert 2.0 * left + 5.0 * right == pytest.approx(5.0 * start, abs=1e-9)
    if damping == 0.0:
        assert sum(simulation.energy()[:3]) == pytest.approx(energy, rel=1e-9)
    assert abs(simulation.energy().balance) < 1e-6 * energy


def test_a_weight_hangs_lower_by_its_weight_over_the_stiffness():
    cart = joint('lift', 'prismatic', 'base', 'arm', f'<axis xyz="0 0 1"/>{RANGE}')
    inside = '<parent link="base"/><parent_origin xyz="0 0 1"/><child link="arm"/>'
    loop = f'<constraint name="rope" type="distance" length="1">{inside}</constraint>'
    text = compliant(robot(link(), cart, loop), 'stiffness="500" damping="60"')
    simulation = frs.Simulation(frs.load(text))
    simulation.advance_to(3.0)
    assert simulation.position == pytest.approx([-2.0 * 9.81 / 500], rel=1e-6)
    assert simulation.constraint_force('rope')[3:] == pytest.approx([0, 0, 2 * 9.81], rel=1e-6)


@pytest.mark.slow
@pytest.mark.parametrize('kind', ['spherical', 'distance'])
def test_accelerations_are_those_of_the_tree_under_the_forces_of_the_springs(kind):
    text = compliant(closed_robot(4, kind), 'stiffness="800" damping="7"')
    arm, rng = frs.load(text), np.random.default_rng(5)
    q = frs.Simulation(arm).q + 0.02 * rng.normal(size=arm.size)
    v = rng.normal(size=arm.size)
    simulation, tree = frs.Simulation(arm), without_loops(arm)
    simulation.set_state(q, v)
    assert np.array_equal(simulation.q, q) and np.array_equal(simulation.v, v)

    def residuals(direction, step=1e-6):
        after, before = (np.array(opening(arm, q + s * step * direction, 'loop')) for s in (1, -1))
        return (after - before) / (2 * step)

    J = np.array([residuals(axis) for axis in np.eye(arm.size)]).T
    force = -800.0 * np.array(opening(arm, q, 'loop')) - 7.0 * residuals(v)
    free, M = frs.forward_dynamics(tree, q, v), frs.mass_matrix(tree, q)
    expected = free + np.linalg.solve(M, J.T @ force)
    found = queries.accelerations(simulation._simulated)
    assert found == pytest.approx(expected, abs=1e-6 * np.abs(expected).max())


@pytest.mark.slow
def test_a_stiff_spring_differs_from_the_rigid_constraint_by_its_compliance():
    rigid = frs.read_description('four_bar').text
    paths: list = []
    start: dict = {}
    for text in (rigid, *(compliant(rigid, f'stiffness="{k}"') for k in ('1e11', '1e9', '1e7'))):
        simulation = frs.Simulation(frs.load(text))
        if not start:
            simulation.set_state(v=[3.0, 0.0, 0.0])
            start = {'q': simulation.q.copy(), 'v': simulation.v.copy()}
        simulation.set_state(**start)
        simulation.step(200)
        paths.append(simulation.q.copy())
    stiff, middle, soft = (np.abs(path - paths[0]).max() for path in paths[1:])
    assert stiff < 1e-7
    assert soft == pytest.approx(100 * middle, rel=0.2)


@pytest.mark.slow
@pytest.mark.parametrize('kind', ['revolute', 'spherical', 'universal', 'prismatic', 'distance'])
def test_energy_never_rises_on_springs(kind):
    springs = 'stiffness="3e4" damping="20"'
    if kind not in ('spherical', 'distance'):
        springs += ' rotational_stiffness="200"'
    for seed, step in ((0, 1e-3), (1, 5e-3)):
        arm = frs.load(compliant(closed_robot(seed, kind), springs))
        simulation = frs.Simulation(arm, frs.SimulationSettings(time_step=step))
        v = np.zeros(arm.size)
        arm.set_joints(v, np.random.default_rng(seed).normal(size=len(arm.joint_names)))
        simulation.set_state(simulation.q, v)
        assert energy_rise(simulation, 150) < 1e-10
        assert abs(simulation.energy().balance) < 1e-8 * (1 + abs(simulation.energy().work))

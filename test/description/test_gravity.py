"""The word <gravity>: the default of all functions, which arguments replace."""

import numpy as np
import pytest
from arms import flexibility, joint, link, robot

import flex_robot_sim as frs
from flex_robot_sim.util.exceptions import DescriptionError


def arm_text(*words):
    """Return a rigid pendulum, with words in <flexibility>."""
    return robot(link(), joint(inside='<axis xyz="0 1 0"/>'), flexibility(*words))


def gravity_of(arm):
    return tuple(-arm.arrays.base_acceleration[3:])


def test_gravity_of_the_robot_is_the_default_and_arguments_replace_it():
    text = arm_text('<gravity xyz="0.5 0 -1.62"/>')
    description = frs.read_description(text)
    assert description.gravity == (0.5, 0.0, -1.62)
    assert gravity_of(frs.load(text)) == gravity_of(frs.load(description)) == (0.5, 0.0, -1.62)
    assert gravity_of(frs.load(text, gravity=(0, 0, -9.81))) == (0.0, 0.0, -9.81)
    assert gravity_of(frs.load(arm_text('<gravity xyz="0 0 0"/>'))) == (0.0, 0.0, 0.0)
    assert gravity_of(frs.load(arm_text())) == (0.0, 0.0, -9.81)
    assert 'gravity: 0.5 0 -1.62 m/s2' in ' '.join(summary_lines(description))


def summary_lines(description):
    from flex_robot_sim.description.robot_summary import as_text, summarise

    return as_text(summarise(description))


def test_a_pendulum_without_gravity_stays_where_it_is():
    sim = frs.Simulation(frs.load(arm_text('<gravity xyz="0 0 0"/>')))
    sim.set_state([0.5])
    sim.step(200)
    np.testing.assert_array_equal(sim.position, [0.5])
    assert not frs.gravity_forces(sim.arm, sim.q).any()


@pytest.mark.parametrize(
    ('words', 'part'),
    [
        ('<gravity/>', 'xyz'),
        ('<gravity xyz="0 -9.81"/>', 'xyz = "0 -9.81"'),
        ('<gravity xyz="0 0 down"/>', 'xyz = "down" is not a number'),
        ('<gravity xyz="0 0 inf"/>', 'xyz = "inf" is not a number'),
        ('<gravity xyz="0 0 0"/><gravity xyz="0 0 -1"/>', 'gravity'),
        ('<gravity z="-9.81"/>', 'attribute "z" of <gravity>'),
        ('<gravity xyz="0 0 0"><origin/></gravity>', 'origin'),
        ('<gravitation xyz="0 0 0"/>', 'Did you mean "gravity"'),
    ],
)
def test_a_wrong_gravity_is_one_line(words, part):
    with pytest.raises(DescriptionError) as error:
        frs.read_description(arm_text(words))
    assert part in str(error.value) and '\n' not in str(error.value)
    assert str(error.value).startswith('<text>:')


def test_a_sweep_and_a_table_of_parameters_keep_the_gravity_of_the_robot():
    text = arm_text('<gravity xyz="0 0 -1.62"/>')
    arm = frs.load(text)
    changed = frs.with_parameters(arm, dict.fromkeys([*frs.parameters(arm)][:1], ('*', 1.1)))
    assert gravity_of(changed) == (0.0, 0.0, -1.62)

    def found(case):
        return {'down': gravity_of(case.arm)[2]}

    table = frs.sweeps.sweep(text, scale={[*frs.parameters(arm)][0]: [1.0, 1.1]}, run=found)
    assert table['down'].tolist() == [-1.62, -1.62]

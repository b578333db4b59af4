"""Parameters of a robot by path: their meaning, and how they are written to its text."""

import re

import numpy as np
import pytest
from closed_loops import LOOPS, TREES
from refusals import refusal

import flex_robot_sim as frs
from flex_robot_sim.description import read_text
from flex_robot_sim.description.rewriting import Edit, edits_of, rewritten
from flex_robot_sim.description.robot_parameters import chosen, parameters_of, with_parameters
from flex_robot_sim.model.assembly import build_arm
from flex_robot_sim.util.exceptions import UsageError

SECTION = '<section EIy="17.0" EIz=\'21\' GJ="5"/>'
TEXT = f"""<robot name="one">
  <link name="base"/>
  <link name="strip"><inertial><origin xyz="0.2 0 0"/><mass value="0.3"/>
    <inertia ixx="1e-5" iyy="0.004" izz="0.004" ixy="0" ixz="0" iyz="0"/></inertial></link>
  <joint name="turn" type="revolute"><parent link="base"/><child link="strip"/>
    <axis xyz="0 0 1"/><limit lower="-2" upper="2" effort="1" velocity="1"/></joint>
  <link name="tip"><inertial><mass value="0.1"/>
    <inertia ixx="1e-5" iyy="1e-5" izz="1e-5" ixy="0" ixz="0" iyz="0"/></inertial></link>
  <joint name="mount" type="fixed"><parent link="strip"/><child link="tip"/>
    <origin xyz="0.4 0 0"/></joint>
  <!-- <flexibility> <link name="strip"> -->
  <flexibility>
    <link name="strip" end="0.4 0 0">
      {SECTION}   <!-- keep   this -->
    </link>
  </flexibility>
</robot>
"""


def arrays_of(description):
    return build_arm(description).arrays


@pytest.mark.parametrize(
    'path, old, new',
    [
        ('strip.EIy', 'EIy="17.0"', 'EIy="20"'),
        ('strip.EIz', "EIz='21'", 'EIz="20"'),
        ('strip.GJ', 'GJ="5"', 'GJ="20"'),
        ('turn.viscous', '<limit', '<dynamics damping="20"/><limit'),
        ('turn.coulomb', '<limit', '<dynamics friction="20"/><limit'),
        ('strip.damping_ratio', '<section', '<damping ratio="0.2"/><section'),
    ],
)
def test_a_parameter_by_path_is_the_number_in_the_text(path, old, new):
    value = 0.2 if 'ratio' in new else 20.0
    changed = with_parameters(read_text(TEXT), {path: value})
    written = read_text(TEXT.replace(old, new, 1))
    for name, a, b in zip(arrays_of(changed)._fields, arrays_of(changed), arrays_of(written)):
        np.testing.assert_allclose(a, b, rtol=1e-12, atol=1e-15, err_msg=name)  # rounding


def test_a_longer_beam_keeps_its_mass_per_length_and_moves_its_end_load():
    longer = with_parameters(read_text(TEXT), {'strip.length': 0.5})
    beam = longer.beam('strip')
    assert beam.mass_per_length == pytest.approx(0.3 / 0.4)
    assert longer.link('strip').inertial.mass == pytest.approx(0.3 * 0.5 / 0.4)
    np.testing.assert_allclose(longer.joint('mount').position, [0.5, 0, 0])
    # frequency of a clamped beam: 1 / length^2; the tip mass is much lighter here
    bare = with_parameters(read_text(TEXT), {'tip.mass': 1e-9})
    both = [
        frs.frequencies(build_arm(with_parameters(bare, {'strip.length': length})))[0]
        for length in (0.4, 0.5)
    ]
    assert both[0] / both[1] == pytest.approx((0.5 / 0.4) ** 2, rel=1e-4)  # tip mass


def test_stiffness_of_a_link_scales_its_squared_frequencies():
    robot = frs.read_description('single_link')
    arms = [build_arm(with_parameters(robot, {'arm.stiffness': factor})) for factor in (1.0, 2.0)]
    first, second = (frs.frequencies(arm)[0] for arm in arms)
    assert second / first == pytest.approx(np.sqrt(2), rel=1e-9)


@pytest.mark.parametrize(
    'path, message',
    [
        ('forarm.EIz', 'no parameter "forarm.EIz". Near: forearm.EIz, '),
        ('elbow.stifness', 'no parameter "elbow.stifness". Near: elbow.stiffness, '),
    ],
)
def test_an_unknown_path_is_reported_with_similar_paths(path, message):
    robot = frs.read_description('two_link')
    assert refusal(UsageError, lambda: chosen(parameters_of(robot), [path])).startswith(message)
    assert refusal(UsageError, with_parameters, robot, {path: 1.0}).startswith(message)


def test_a_pattern_selects_several_parameters():
    robot = frs.read_description('two_link')
    assert chosen(parameters_of(robot), ['*arm.EI?']) == [
        'upper_arm.EIy',
        'upper_arm.EIz',
        'forearm.EIy',
        'forearm.EIz',
    ]


def test_an_impossible_value_is_rejected():
    with pytest.raises(UsageError, match=r'^forearm\.EIz = -1 cannot be: it must be above 0\.$'):
        with_parameters(frs.read_description('two_link'), {'forearm.EIz': -1.0})


def test_a_rewrite_changes_only_the_parameters_in_the_text():
    before = read_text(TEXT)
    after = with_parameters(before, {'strip.EIz': 25.0})
    edits = edits_of(before, after, 'strip.EIz')
    text = rewritten(TEXT, edits, {edits[0].place: 'EIz: 21 before -- now 25'})
    assert text == TEXT.replace(
        SECTION, '<section EIy="17.0" EIz="25" GJ="5"/>  <!-- EIz: 21 before - now 25 -->'
    )


def test_missing_attributes_and_elements_are_added():
    before = read_text(TEXT)
    after = with_parameters(before, {'turn.coulomb': 0.25, 'strip.damping_ratio': 0.01})
    edits = [
        edit
        for path in ('turn.coulomb', 'strip.damping_ratio')
        for edit in edits_of(before, after, path)
    ]
    read = read_text(rewritten(TEXT, edits, {}))
    assert read.joint('turn').friction.coulomb_friction == 0.25
    assert read.beam('strip').damping_ratio == 0.01
    assert '<dynamics friction="0.25"/>' in rewritten(TEXT, edits, {})


def test_an_empty_element_receives_a_child():
    text = rewritten(
        '<robot>\n  <joint name="a"/>\n</robot>',
        [Edit((('joint', 'a'), ('dynamics', '')), 'damping', '1')],
        {},
    )
    assert text == '<robot>\n  <joint name="a">\n    <dynamics damping="1"/>\n  </joint>\n</robot>'


@pytest.mark.long(after=3)
@pytest.mark.slow
@pytest.mark.parametrize('name', [*TREES, *LOOPS])
def test_all_parameters_of_shipped_robots_survive_a_rewrite(name):
    before = frs.read_description(name)
    gears = {joint.name for joint in before.joints if joint.rotor_inertia > 0.0}
    for path, one in parameters_of(before).items():
        if (
            one.value == 0.0
            and one.group in ('mass', 'inertia')
            or one.value == np.inf
            or (one.group == 'drive' and path.rpartition('.')[0] not in gears)
        ):
            continue  # the reader refuses a drive without rotor
        value = 0.9 * one.value if one.value else 0.01
        if value < one.lower:
            value = 1.1 * one.value
        after = with_parameters(before, {path: value})
        try:
            edits = edits_of(before, after, path)
        except UsageError as error:
            assert re.search(r'cannot be written: E of its <material>', str(error))
            continue
        read = read_text(rewritten(before.text, edits, {}))
        expected = (
            1.0
            if path.endswith('.stiffness')
            and path.rpartition('.')[0] in {link.name for link in before.links}
            else value
        )
        assert parameters_of(read)[path].value == pytest.approx(expected, rel=1e-5), path  # digits
        a, b = (build_arm(one) for one in (after, read))
        for name in ('stiffness', 'inertia'):  # the text has six digits, moments have nine
            x, y = getattr(a.arrays, name), getattr(b.arrays, name)
            np.testing.assert_allclose(x, y, rtol=1e-4, atol=1e-7 * np.abs(x).max(initial=0.0))

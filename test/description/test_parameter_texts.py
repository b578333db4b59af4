"""Parameters whose names or values depend on others, and rows of the summary of a robot."""

import pytest
from arms import beam, flexibility, joint, link, robot

import flex_robot_sim as frs
from flex_robot_sim.cli import main
from flex_robot_sim.description.rewriting import edits_of, rewritten
from flex_robot_sim.description.robot_parameters import parameters_of, with_parameters

GEAR = '<joint name="hinge" rotor_inertia="1e-4" static_friction="0.5"/>'
AXIS = '<axis xyz="1 2 2"/><dynamics friction="0.3"/>'


def test_static_friction_keeps_its_excess_in_the_text_if_coulomb_friction_changes():
    before = frs.read_description(robot(link(), joint(inside=AXIS), flexibility(GEAR)))
    after = with_parameters(before, {'hinge.coulomb': 0.7})
    read = frs.read_description(
        rewritten(before.text, edits_of(before, after, 'hinge.coulomb'), {})
    )
    assert read.joint('hinge').friction.coulomb_friction == 0.7
    assert read.joint('hinge').friction.static_friction == pytest.approx(0.9, rel=1e-6)


def test_a_parameter_of_a_joint_with_the_name_of_a_link_has_a_prefix():
    gear = '<joint name="arm" stiffness="900" rotor_inertia="1e-4"/>'
    text = robot(link(), joint('arm', inside=AXIS), flexibility(beam(), gear))
    known = parameters_of(frs.read_description(text))
    assert known['arm.stiffness'].value == 1.0  # of the link: a factor
    assert known['joint:arm.stiffness'].value == 900.0


def test_check_prints_oblique_axes_and_held_joints(tmp_path, capsys):
    path = tmp_path / 'arm.urdf'
    mimic = '<axis xyz="0 0 1"/><mimic joint="hinge" offset="0.25"/>'
    path.write_text(
        robot(
            link(),
            joint(inside=AXIS),
            link('hand', 0.5, '0 0 0', (1e-3, 1e-3, 1e-3)),
            joint('grip', 'continuous', 'arm', 'hand', mimic),
            '<flexibility mimic="held"/>',
        )
    )
    assert main(['check', str(path)]) == 0
    lines = capsys.readouterr().out
    assert '[hinge: continuous (0.333 0.667 0.667)]' in lines
    assert 'held at 0.25' in lines

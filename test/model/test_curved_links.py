"""Curved links and links with twist coupling from ArmBuilder; what the reader refuses."""

import numpy as np
import pytest
from arms import beam, complaint, flexible_arm
from refusals import refusal

import flex_robot_sim as frs
from flex_robot_sim.description.rewriting import edits_of, rewritten
from flex_robot_sim.description.robot_parameters import parameters_of, with_parameters
from flex_robot_sim.model.assembly import build_arm
from flex_robot_sim.util.exceptions import SettingError, UsageError

ANGLE = np.linspace(0.0, np.pi / 2, 9)
ARC = 0.3 * np.stack([np.sin(ANGLE), 1 - np.cos(ANGLE), 0 * ANGLE], axis=1)
HOOK = '<axis points="0 0 0  0.5 0.1 0  1 0 0"/><section EIy="20" EIz="30" GJ="10" EA="1e6"/>'


def built():
    builder = frs.ArmBuilder('hook')
    builder.add_beam('hook', axis=ARC, section=frs.Rod(0.01), material='steel', count=6)
    builder.add_rigid('tool', mass=0.1, inertia=(1e-5, 1e-5, 1e-5))
    builder.add_joint('swing', parent='base', child='hook', axis='z')
    return builder.add_joint('end', parent='hook', child='tool', type='fixed').build()


def test_a_curved_link_from_code_has_the_mass_and_centre_of_its_arc():
    arm = built()
    link = arm.description.link('hook')
    assert link.inertial.mass == pytest.approx(7850 * np.pi * 0.005**2 * 0.15 * np.pi, rel=1e-4)
    # centre of a quarter circle: 2 R / pi from its centre in both directions
    expected = [0.6 / np.pi, 0.3 - 0.6 / np.pi, 0.0]
    assert np.abs(link.inertial.centre - expected).max() < 1e-5
    assert arm.description.warnings == ()
    assert arm.coordinate_names[1] == 'hook/mode_1' and arm.nq == 7


def test_a_curved_link_is_drawn_from_root_to_tip():
    from flex_robot_sim.display.bending import BendingShape
    from flex_robot_sim.display.description import display_description
    from flex_robot_sim.display.display_joints import DisplayJoints

    arm = built()
    rest = frs.equilibrium(arm, [0.3])
    shape = BendingShape(arm).bent(rest.q, in_links=True)
    assert np.abs(shape.axis[0]).max() < 1e-12
    tip = np.linalg.inv(frs.pose(arm, rest.q, link='hook')) @ frs.pose(arm, rest.q, link='tool')
    assert np.abs(shape.axis[-1] - tip[:3, 3]).max() < 1e-12
    joints = DisplayJoints(arm)
    straight = dict(zip(joints.names, joints.positions(np.zeros(arm.nq))))
    assert all(abs(straight[name]) < 1e-12 for name in straight if 'flex' in name)
    assert 'hook_flex_1' in display_description(arm)


def frequencies_without_weight(description):
    return frs.frequencies(build_arm(description, gravity=(0.0, 0.0, 0.0)))


@pytest.mark.parametrize(
    'inside',
    [
        None,  # curved_arm: an outline and a material
        HOOK,
        '<axis points="0 0 0  0.5 0.1 0  1 0 0"/><rectangle width="0.02" height="0.03"/>'
        '<material E="1e7" G="4e6" shear_factor="0.8"/>',
        '<section EIy="20" EIz="30" GJ="10" EA="1e6" kGAy="400" kGAz="500"/><modes torsion="0"/>',
        '<rod diameter="0.02"/><material E="1e7" G="4e6" shear_factor="0.9"/><modes torsion="0"/>',
    ],
)
def test_four_times_the_stiffness_of_a_link_doubles_its_frequencies_and_is_written(inside):
    before = frs.read_description('curved_arm' if inside is None else flexible_arm(beam(inside)))
    path = f'{next(link.name for link in before.links if link.beam)}.stiffness'
    after = with_parameters(before, {path: 4.0})
    found = frequencies_without_weight(after)
    assert found == pytest.approx(2.0 * frequencies_without_weight(before), rel=1e-9)
    text = rewritten(before.text, edits_of(before, after, path), {})
    again = frequencies_without_weight(frs.read_description(text))
    assert again == pytest.approx(found, rel=2e-6)  # six digits are written


@pytest.mark.parametrize('word', ['stiffness', 'GJ'])
def test_a_modulus_of_torsion_and_shear_is_not_written(word):
    rod = '<rod diameter="0.02"/><material E="1e7" G="4e6" shear_factor="0.9"/>'
    before = frs.read_description(flexible_arm(beam(rod + '<modes torsion="1"/>')))
    path = f'arm.{word}'
    after = with_parameters(before, {path: 1.2 * parameters_of(before)[path].value})
    assert refusal(UsageError, edits_of, before, after, path) == (
        f'{path} cannot be written: G of its <material> makes the stiffnesses of torsion and of '
        'shear. Describe the link by a <section>.'
    )


def test_deflections_are_in_the_frame_of_the_undeformed_tip():
    arm = built()
    q = np.zeros(arm.nq)
    q[arm.elastic_q] = 1e-3
    straight, bent = (
        np.linalg.inv(frs.pose(arm, at, link='hook')) @ frs.pose(arm, at, link='tool')
        for at in (np.zeros(arm.nq), q)
    )
    # the section at the tip has turned by a quarter turn about z
    tip = np.array([[0.0, -1, 0], [1, 0, 0], [0, 0, 1]])
    expected = tip.T @ (bent[:3, 3] - straight[:3, 3])
    # the tangent of a spline through nine points is 1.3e-3 off at its end
    found = frs.deflection(arm, q)['hook'][:3]
    assert np.abs(found - expected).max() < 1.5e-3 * np.abs(expected).max()


def test_a_batch_has_the_deflections_of_a_simulation():
    arm = built()
    sim, batch = frs.Simulation(arm), frs.Batch(arm, 2)
    sim.step(20)
    batch.step(20)
    assert np.abs(batch.deflection['hook'] - sim.deflection['hook']).max() < 1e-13


def test_slopes_of_a_curved_link_are_those_of_its_accelerations():
    arm = built()
    rng = np.random.default_rng(1)
    q, v = 0.01 * rng.normal(size=arm.nq), rng.normal(size=arm.nq)
    # stiff shapes move less; a stretch of 1 % is beyond the second order of the inertia
    stiffness = np.diag(arm.beams[0].stiffness)
    q[arm.elastic_q] *= np.sqrt(stiffness[0] / stiffness)
    slopes, step = frs.derivatives(arm, q, v), 1e-6
    for k in (1, 3, 6):
        change = step * np.eye(arm.nq)[k]
        difference = (
            frs.forward_dynamics(arm, q + change, v) - frs.forward_dynamics(arm, q - change, v)
        ) / (2 * step)
        scale = np.abs(difference).max()
        assert np.abs(slopes.da_dq[:, k] - difference).max() < 1e-5 * scale


def test_derivatives_refuse_a_deformation_beyond_the_second_order_of_the_inertia():
    arm = built()
    q = 0.01 * np.random.default_rng(1).normal(size=arm.nq)  # a stretch of 1 %
    assert np.linalg.eigvalsh(frs.mass_matrix(arm, q))[0] < 0.0
    with pytest.raises(SettingError) as caught:
        frs.derivatives(arm, q)
    assert str(caught.value) == (
        'the mass matrix at q is not positive definite: link "hook" is deformed beyond the range '
        'of its inertia, which is of second order. Give smaller elastic coordinates, or the link '
        'more segments'
    )


ALL_OF_STIFFNESS = (
    '100 7 0 0 0 0  7 100 0 0 0 0  0 0 100 0 0 0  0 0 0 9 0 0  0 0 0 0 9 0  0 0 0 0 0 9'
)


@pytest.mark.parametrize(
    ('inside', 'message'),
    [
        (
            HOOK.replace('1 0 0"', '1 0.1 0"'),
            'the axis of "arm" does not lead from the link origin to its end',
        ),
        (
            HOOK + '<modes bending_y="2"/>',
            'is a spatial beam, whose shapes combine all directions',
        ),
        (HOOK + '<elements count="2"/>', 'is a spatial beam and has <elements>'),
        (HOOK.replace('EA="1e6"', ''), 'is a spatial beam without EA'),
        (HOOK.replace('0.5 0.1 0 ', '0.5 0.1 0 0.5 0.1 0 '), 'are at one place'),
        ('<section stiffness="1 2 3"/>', 'stiffness of <section> has 3 numbers'),
        (
            f'<section stiffness="{" ".join(["1"] * 21)}"/>',
            'the stiffness matrix of a <section> of "arm" is not positive definite',
        ),
        (
            f'<section stiffness="{ALL_OF_STIFFNESS.replace("7", "8", 1)}"/>',
            ':5: stiffness of <section> is not symmetric: row 1, column 2 is 8, and row 2, '
            'column 1 is 7. Correct one of them',
        ),
        (
            f'<section stiffness="{ALL_OF_STIFFNESS}" mass="2 0 0 0 0 0  2 0 0 0 0.2  2 0 -0.2 0  '
            '0.1 0 0  0.1 0  0.0199"/>',
            ':5: the mass matrix of a <section> of "arm" is not positive definite: a moment of '
            'inertia about its centre of mass is -0.0001 kg m. Check',
        ),
        ('<section EIy="2" EIz="3" GJ="1" EA="10"/><modes count="4"/>', 'is a straight beam'),
        ('<reduced file="none.npz"/>', 'names the file "none.npz"'),
    ],
)
def test_mistakes_are_reported_in_one_line(inside, message):
    text = complaint(flexible_arm(beam(inside)))
    assert message in text and '\n' not in text

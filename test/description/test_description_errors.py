"""Every mistake in a robot causes a one-line error that says where, what, and what to do."""

import re

import pytest
from arms import SECTION, Z, beam, complaint, flexibility, flexible_arm, joint, link, robot


def in_beam(inside, **more):
    return flexible_arm(beam(inside, **more))


STEEL = '<material E="2.1e11" G="8.1e10" density="7850"/>'

# the complete message after `<text>:`, and the text
MISTAKES = {
    # words
    '5: unknown element <dampng>. Did you mean "damping"?': in_beam(
        f'{SECTION}<dampng ratio="0.1"/>'
    ),
    '5: unknown element <wind>. Known here: link, joint, gravity, base, contact, ground, '
    'obstacle.': flexible_arm('<wind/>'),
    '5: unknown attribute "Eiz" of <section>. Did you mean "EIz"?': in_beam(
        '<section EIy="1" Eiz="1" GJ="1"/>'
    ),
    '3: unknown element <inertal>. Did you mean "inertial"?': robot(
        link().replace('inertial', 'inertal'), joint()
    ),
    '4: unknown attribute "dampng" of <dynamics>. Did you mean "damping"?': robot(
        link(), joint(inside='<dynamics dampng="1"/>')
    ),
    '4: unknown attribute "quat_wxyz" of <origin>. Write rpy="roll pitch yaw" [rad].': robot(
        link(), joint(inside=f'{Z}<origin xyz="1 0 0" quat_wxyz="1 0 0 0"/>')
    ),
    '4: unknown attribute "xzy" of <axis>. Did you mean "xyz"?': robot(
        link(), joint(inside='<axis xzy="0 0 1"/>')
    ),
    '5: <flexibility> names the link "amr", which the robot does not have. '
    'Did you mean "arm"?': flexible_arm(beam(name='amr')),
    '5: <flexibility> names the joint "knee", which the robot does not have. '
    'Correct the name, or add what is missing.': flexible_arm(
        '<joint name="knee" stiffness="1" rotor_inertia="1"/>'
    ),
    '5: stray text "steel" in <flexibility>. Remove it, or make it a comment.': flexible_arm(
        'steel'
    ),
    '6: a second <flexibility>, after the one in line 5. Keep one of them.': robot(
        link(), joint(), flexibility(), flexibility()
    ),
    # values
    '5: <link> has no end. Give end [m]: far end of the beam, in the link frame.': flexible_arm(
        f'<link name="arm">{SECTION}</link>'
    ),
    '5: EIy = "2,5" is not a number. Write a finite decimal number in N m2.': in_beam(
        '<section EIy="2,5" EIz="1"/>'
    ),
    '3: value = "nan" is not a number. Write a finite decimal number in kg.': robot(
        link(mass=float('nan')), joint()
    ),
    '5: end = "1 0" is not three numbers. Write end="x y z".': in_beam(SECTION, end='1 0'),
    '5: EIy = 1e300 is out of all proportion. Give EIy in SI units.': in_beam(
        '<section EIy="1e300" EIz="1"/>'
    ),
    '5: EIy = -2 must be > 0. Give EIy [N m2]: bending stiffness about y: '
    'resists bending_z.': in_beam('<section EIy="-2" EIz="1"/>'),
    '5: stiffness = 0 must be > 0. Give stiffness [N m/rad]: stiffness between motor side '
    'and link side; absent: rigid. Up to three, with `at`: below the first torque, between the '
    'torques, and above the last one.': flexible_arm(
        '<joint name="hinge" stiffness="0" rotor_inertia="1"/>'
    ),
    '5: ratio = 1.5 must be < 1. Give ratio: fraction of critical damping of every mode of '
    'the arm at zero with its joints locked.': in_beam(f'{SECTION}<damping ratio="1.5"/>'),
    '5: torsion = 0.5 is no whole number from 0 to 50. Give torsion: elastic coordinates of '
    'torsion; uses GJ.': in_beam(f'{SECTION}<modes torsion="0.5"/>'),
    '5: bending_y = 51 is no whole number from 0 to 50. Give bending_y: elastic coordinates '
    'of bending along y; uses EIz.': in_beam(f'{SECTION}<modes bending_y="51"/>'),
    '5: count = 1001 is no whole number from 1 to 1000. Give count: '
    'elements per segment.': in_beam(f'{SECTION}<elements count="1001"/>'),
    '5: segments = 1001 is no whole number from 1 to 1000. Give segments: number of flexible '
    'bodies in series that represent the beam.': in_beam(f'{SECTION}<modes segments="1001"/>'),
    '5: flexible link "arm" has 5100 elastic coordinates. Keep to 5000, with fewer segments '
    'or fewer elements.': in_beam(
        f'{SECTION}<elements count="51" torsion="0" stretch="all" segments="20"/>'
    ),
    '4: xyz = "0 0 0" has no direction. Give xyz a length other than zero.': robot(
        link(), joint(inside='<axis xyz="0 0 0"/>')
    ),
    # beams
    '5: flexible link "arm" has no bending stiffness. Give its <section> EIy and EIz [N m2], '
    'or remove it from <flexibility>.': in_beam(''),
    '5: flexible link "arm" has coordinates of torsion but no GJ. Give its <section> GJ '
    '[N m2], or set torsion="0" in <modes>.': in_beam('<section EIy="1" EIz="1"/>'),
    '5: flexible link "arm" has coordinates of torsion but no GJ. Give its <material> G [Pa], '
    'or set torsion="0" in <modes>.': in_beam('<rod diameter="0.02"/><material E="2e11"/>'),
    '5: <inertial> gives flexible link "arm" no moment of inertia about its beam, which '
    'torsion needs. Give it in <inertia>: ixx, if the beam lies along x [kg m2].': robot(
        link(inertia=(0.0, 1 / 6, 1 / 6)), joint(), flexibility(beam())
    ),
    '5: flexible link "arm" has the length zero. Give the far end of the beam: end="x y z" '
    '[m].': in_beam(SECTION, end='0 0 0'),
    '5: y_axis lies along the beam of "arm". Give a y_axis across the beam, for instance '
    'y_axis="0 1 0".': in_beam(SECTION, more=' y_axis="2 0 0"'),
    '5: the default y_axis 0 1 0 lies along the beam of "arm". Give a y_axis across the beam, '
    'for instance y_axis="0 0 1".': robot(
        link(centre='0 0.5 0', inertia=(1 / 6, 1e-3, 1 / 6)),
        joint(),
        flexibility(beam(end='0 1 0')),
    ),
    '5: flexible link "arm" has no mass. Give the link an <inertial> with the mass of the '
    'whole beam.': robot('<link name="arm"/>', joint(), flexibility(beam())),
    '5: flexible link "arm" weighs 2 kg, but density and section make 2.46615 kg. Correct one '
    'of them; motors and payloads belong in links of their own.': in_beam(
        f'<rod diameter="0.02"/>{STEEL}'
    ),
    '5: the beam of "arm" is off the link: its centre of mass lies at 0.5 of 10 m along the '
    'beam and 0 m beside it. Correct end [m], or the <origin> of the <inertial>, which is at '
    'half the beam.': in_beam(SECTION, end='10 0 0'),
    '6: joint "far" would ride at 1.2 m on the beam of link "arm", which ends at 1 m. Move '
    'its <origin> between the ends of the beam, or correct the end of the beam.': robot(
        link(),
        joint(),
        link('tip'),
        joint('far', 'fixed', 'arm', 'tip', '<origin xyz="1.2 0 0"/>'),
        flexibility(beam()),
    ),
    '6: joint "far" would ride at -0.1 m on the beam of link "arm", which ends at 1 m. Move '
    'its <origin> between the ends of the beam, or correct the end of the beam.': robot(
        link(),
        joint(),
        link('tip'),
        joint('far', 'fixed', 'arm', 'tip', '<origin xyz="-0.1 0 0"/>'),
        flexibility(beam()),
    ),
    '5: flexible link "arm" has a <section> and a <rod>. Keep one of them.': in_beam(
        f'{SECTION}<rod diameter="0.1"/>'
    ),
    '5: flexible link "arm" has a <section> and a <material>. Keep one of them: <section> '
    'holds stiffnesses.': in_beam(f'{SECTION}{STEEL}'),
    '5: the <rod> of "arm" has no <material>. Add <material E="..." '
    'G="..." density="..."/>.': in_beam('<rod diameter="0.02"/>'),
    '5: the wall of "arm" is thicker than half its diameter. Give wall [m] '
    'below outer / 2.': in_beam(f'<tube outer="0.02" wall="0.011"/>{STEEL}'),
    '5: flexible link "arm" has <modes> and <elements>. Keep one of them.': in_beam(
        f'{SECTION}<modes/><elements count="2"/>'
    ),
    '5: flexible link "arm" has no elastic coordinates. Give it at least one, or remove it '
    'from <flexibility>.': in_beam(f'{SECTION}<modes bending_y="0" bending_z="0" torsion="0"/>'),
    '5: 2 elements of "arm" have no 3 modes of torsion. Ask for at most 2, or give more '
    'elements.': in_beam(f'{SECTION}<elements count="2" torsion="3"/>'),
    '5: boundary = "fre" is not one of: static, free, mass, inertia. Did '
    'you mean "free"?': in_beam(f'{SECTION}<modes boundary="fre"/>'),
    '5: the <damping> of "arm" has neither a ratio nor a time_constant. '
    'Give one of them.': in_beam(f'{SECTION}<damping/>'),
    '5: the <damping> of "arm" has both a ratio and a time_constant. Give one of them.': in_beam(
        f'{SECTION}<damping ratio="0" time_constant="0"/>'
    ),
    '5: flex sensor "s" reaches from 0.9 to 1.1 m on a beam of 1 m. Give 0 <= from <= to <= '
    'length.': in_beam(f'{SECTION}<flex_sensor name="s" from="0.9" to="1.1" plane="xy"/>'),
    '5: flex sensor "s" measures in the plane xz, but flexible link "arm" has no coordinates '
    'of bending_z. Give it coordinates of bending_z, or remove the sensor.': in_beam(
        f'{SECTION}<modes bending_z="0"/><flex_sensor name="s" from="0" to="1" plane="xz"/>'
    ),
    '5: flexible link "arm" has two flex sensors "s". Rename one of them.': in_beam(
        SECTION + 2 * '<flex_sensor name="s" from="0.1" to="0.2" plane="xz"/>'
    ),
    '5: <flexibility> describes the link "arm" twice. Keep one of them.': flexible_arm(
        beam(), beam()
    ),
    # flexible joints
    '5: flexible joint "hinge" has no rotor_inertia, so that its motor side has no mass. Give '
    'rotor_inertia [kg m2].': flexible_arm('<joint name="hinge" stiffness="1"/>'),
    '5: joint "hinge" is fixed, so it has no gear. Remove it from <flexibility>.': robot(
        link(),
        joint(kind='fixed'),
        flexibility(beam(), '<joint name="hinge" stiffness="1" rotor_inertia="1"/>'),
    ),
    '5: joint "hinge" has a damping but no stiffness. Give its stiffness, or put the friction '
    "into the joint's <dynamics>.": flexible_arm('<joint name="hinge" damping="1"/>'),
    '5: joint "hinge" has no stiffness, rotor_inertia, spring_stiffness, static_friction, '
    'presliding, creep_rate, cogging, torque_ripple, encoder or dcmotor. Give one of them, or '
    'remove the joint from <flexibility>.': flexible_arm('<joint name="hinge"/>'),
    '5: joint "hinge" has a presliding and a creep_rate, which exclude each other. Remove one of '
    'them.': flexible_arm('<joint name="hinge" presliding="1e-3" creep_rate="0.01"/>'),
    '5: joint "hinge" has a hysteresis but no stiffness. Give its stiffness, or remove the '
    'hysteresis.': flexible_arm('<joint name="hinge" rotor_inertia="1" hysteresis="0.1"/>'),
    '5: joint "hinge" has a slip but no stiffness. Give its stiffness, or remove the slip.': (
        flexible_arm('<joint name="hinge" rotor_inertia="1" slip="1 2"/>')
    ),
    '5: joint "hinge" has a hysteresis and a slip, which say the same. Remove one of them.': (
        flexible_arm(
            '<joint name="hinge" stiffness="1" rotor_inertia="1" hysteresis="0.1" slip="1 2"/>'
        )
    ),
    **{
        f'5: slip = "{text}" is not one to 4 pairs of numbers above 0. Give slip [N m/rad and '
        'N m, or N/m and N]: instead of `hysteresis`: stiffness and force of up to four springs '
        'parallel to the stiffness, which slip at this force: `k1 f1 k2 f2 ...`.': flexible_arm(
            f'<joint name="hinge" stiffness="1" rotor_inertia="1" slip="{text}"/>'
        )
        for text in ('1', '1 2 3', '1 0', '-1 2', '1 2 3 4 5 6 7 8 9 9')
    },
    '5: joint "hinge" has a backlash but no stiffness. Give its stiffness, or remove backlash.': (
        flexible_arm('<joint name="hinge" rotor_inertia="1" backlash="1e-3"/>')
    ),
    '5: stiffness = "1 2 3 4" is more than 3 numbers. Give stiffness [N m/rad]: stiffness between '
    'motor side and link side; absent: rigid. Up to three, with `at`: below the first torque, '
    'between the torques, and above the last one.': flexible_arm(
        '<joint name="hinge" rotor_inertia="1" stiffness="1 2 3 4"/>'
    ),
    '5: joint "hinge" has 3 stiffnesses, but 1 torque in at. Give one torque less than '
    'stiffnesses: stiffness="k1 k2 k3" at="T1 T2".': flexible_arm(
        '<joint name="hinge" rotor_inertia="1" stiffness="1 2 3" at="1"/>'
    ),
    '5: the torques at = "2 1" of joint "hinge" are not in ascending order. Sort '
    'them, together with the stiffnesses.': flexible_arm(
        '<joint name="hinge" rotor_inertia="1" stiffness="1 2 3" at="2 1"/>'
    ),
    '5: the kinematic_error of joint "hinge" is as steep as the motion of its motor: amplitude * '
    'cycles * gear_ratio = 2, not below 1. Correct the amplitude, that of the joint, or the '
    'cycles per turn of the motor.': flexible_arm(
        '<joint name="hinge" rotor_inertia="1" stiffness="1" gear_ratio="100" '
        'kinematic_error="0.01 2 0"/>'
    ),
    '5: the torque_ripple of joint "hinge" exceeds the torque: its amplitudes add up to 1.2, not '
    'below 1. Give amplitudes as shares of the torque.': flexible_arm(
        '<joint name="hinge" rotor_inertia="1" torque_ripple="0.7 6 0 0.5 12 0"/>'
    ),
    **{
        f'5: cogging = "{text}" is not one to 4 times amplitude, cycles and phase, the first two '
        'above 0. Give cogging [N m, 1 and rad]: cogging torque at the motor shaft: '
        '`amplitude cycles phase`, up to four times, as in `kinematic_error`.': flexible_arm(
            f'<joint name="hinge" rotor_inertia="1" cogging="{text}"/>'
        )
        for text in ('1', '0 1 0', '1 -2 0', ' '.join(['1'] * 15))
    },
    '5: joint "hinge" has a hysteresis but no largest effort, which gives the range of its '
    "twist. Give the effort of the joint's <limit>.": robot(
        link(),
        joint(
            kind='revolute',
            inside='<axis xyz="0 0 1"/><limit lower="-1" upper="1" effort="0" velocity="1"/>',
        ),
        flexibility('<joint name="hinge" stiffness="10" rotor_inertia="1" hysteresis="0.1"/>'),
    ),
    '5: hysteresis = 2 must be <= 0.5. Give hysteresis: energy that the gear loses per cycle '
    'over its largest elastic energy, at any speed; needs a stiffness and the `effort` of '
    '<limit>.': flexible_arm(
        '<joint name="hinge" stiffness="10" rotor_inertia="1" hysteresis="2"/>'
    ),
    '5: joint "hinge" has a static_friction of 0.4, less than the friction of 0.5 in its '
    '<dynamics>. Correct one of them.': robot(
        link(),
        joint(
            kind='revolute',
            inside='<axis xyz="0 0 1"/><limit lower="-1" '
            'upper="1" effort="1" velocity="1"/><dynamics friction="0.5"/>',
        ),
        flexibility('<joint name="hinge" static_friction="0.4"/>'),
    ),
    # the tree
    '5: link "arm" has two parents: it is the child of the joints "hinge" and "again". Remove '
    'one of them.': robot(link(), joint(), joint('again')),
    '6: joint "ba" is part of a loop of links. Remove one joint of the loop.': robot(
        link('a'),
        link('b'),
        joint('ab', parent='a', child='b'),
        joint('ba', parent='b', child='a'),
    ),
    '8: joint "ba" is part of a loop of links. Remove one joint of the loop.': robot(
        link('tip'),
        link('a'),
        joint('tip', parent='a', child='tip'),
        link('b'),
        joint('ab', parent='a', child='b'),
        joint('ba', parent='b', child='a'),
    ),
    '5: joint "back" is part of a loop of links, and the robot has no base. Remove one joint '
    'of the loop.': robot(link(), joint(), joint('back', parent='arm', child='base')),
    '4: joint "hinge" connects link "arm" to itself. Correct its <parent> or its <child>.': robot(
        link(), joint(parent='arm')
    ),
    '5: the robot has several bases: "base", "lost", "found". Connect them with joints, or '
    'remove the links that are not used.': robot(link(), joint(), link('lost'), link('found')),
    '3: the robot has several bases: "base", "l0", "l1", "l2", "l3" and 2 more. Connect them '
    'with joints, or remove the links that are not used.': robot(
        *(f'<link name="l{i}"/>' for i in range(6))
    ),
    '4: joint "hinge" has the parent "bas", which is no link. Did you mean "base"?': robot(
        link(), joint(parent='bas')
    ),
    '4: a second link "arm", after the one in line 3. Rename one link.': robot(
        link(), link(), joint()
    ),
    '4: type = "revolut" is not one of: revolute, continuous, prismatic, fixed, floating, planar. '
    'Did you mean "revolute"?': robot(link(), joint(kind='revolut')),
    '4: revolute joint "hinge" has no <limit>. Add <limit lower upper effort velocity/>, or '
    'make it continuous.': robot(link(), joint(kind='revolute')),
    '4: joint "hinge" has its lower limit 1 above its upper limit -1. Exchange them.': robot(
        link(), joint(kind='prismatic', inside='<limit lower="1" upper="-1"/>')
    ),
    '4: joint "hinge" mimics "hing", which is no joint. Did you mean "hinge"?': robot(
        link(), joint(inside='<mimic joint="hing"/>')
    ),
    '4: joint "hinge" mimics itself. Remove one <mimic>.': robot(
        link(), joint(inside='<mimic joint="hinge"/>')
    ),
    '4: joint "hinge" mimics "wrist", which mimics "hinge". Remove one <mimic>.': robot(
        link(),
        joint(inside='<mimic joint="wrist"/>'),
        link('hand'),
        joint('wrist', parent='arm', child='hand', inside='<mimic joint="hinge"/>'),
    ),
    '5: joint "hinge" mimics "wrist", so it has no motor and no gear. Give stiffness and '
    'rotor_inertia of joint "wrist".': robot(
        link(),
        joint(inside='<mimic joint="wrist"/>'),
        '<flexibility mimic="moving"><joint name="hinge" stiffness="9" rotor_inertia="1"/>'
        '</flexibility>',
        link('hand'),
        joint('wrist', parent='arm', child='hand'),
    ),
    '4: joint "hinge" has no <child>. Add <child link="..."/>.': robot(
        link(), joint().replace('<child link="arm"/>', '')
    ),
    # sections that vary
    '5: a <section> of "arm" has no at, and others have one. Give at="0" to the first, at="1" to '
    'the last, and a share of the length between.': in_beam(
        '<section at="0" EIy="1" EIz="1" GJ="1"/><section EIy="1" EIz="1" GJ="1"/>'
    ),
    '5: the section of "arm" is given from 0 to 0.5 of its length. Give the section at="0" and '
    'at="1", and between them where it changes.': in_beam(
        f'<rod at="0" diameter="0.01"/><rod at="0.5" diameter="0.01"/>{STEEL}'
    ),
    '5: the <rod> of "arm" at 0 follows that at 1. Give them in the order from the root to the '
    'tip.': in_beam(f'<rod at="1" diameter="0.01"/><rod at="0" diameter="0.02"/>{STEEL}'),
    '5: "arm" has two sections at its tip. Keep one of them: a step lies between the ends.': (
        in_beam(
            '<rod at="0" diameter="0.01"/><rod at="1" diameter="0.01"/>'
            f'<rod at="1" diameter="0.02"/>{STEEL}'
        )
    ),
    '5: "arm" has three sections at 0.5. Keep two for a step.': in_beam(
        '<rod at="0" diameter="0.01"/>'
        + 3 * '<rod at="0.5" diameter="0.01"/>'
        + f'<rod at="1" diameter="0.01"/>{STEEL}'
    ),
    '5: at = 1.5 must be <= 1. Give at: where this section is, as a share of the length of the '
    'beam. Give several, from 0 to 1: values are linear in between, and two at one place are a '
    'step. Absent: a uniform beam.': in_beam(f'<rod at="1.5" diameter="0.01"/>{STEEL}'),
    '5: the <section> of "arm" at 1 has no GJ, and others have one. Give GJ at every station, or '
    'at none.': in_beam(
        '<section at="0" EIy="1" EIz="1" GJ="1"/><section at="1" EIy="1" EIz="1"/>'
    ),
    '5: the uniform <section> of "arm" has a mass_per_length. Remove it: the mass of the '
    '<inertial> is evenly distributed.': in_beam('<section EIy="1" EIz="1" mass_per_length="1"/>'),
    '5: the <material> of "arm" has a shear_factor and no G. Give its shear modulus G [Pa].': (
        in_beam('<rod diameter="0.01"/><material E="2e11" shear_factor="0.9"/>')
    ),
    '5: flexible link "arm" has finite elements and a section that shears. Describe it by '
    '<modes>, or remove its kGAy, kGAz or shear_factor.': in_beam(
        '<section EIy="1" EIz="1" GJ="1" kGAy="9"/><elements count="2"/>'
    ),
    # bodies
    '3: link "arm" has the mass -1 kg. Give a mass above 0 [kg].': robot(link(mass=-1.0), joint()),
    '3: link "boom" has the mass -1 kg. Give a mass above 0 [kg].': robot(
        link('boom', mass=-1.0), joint(child='boom'), flexibility(beam(name='boom'))
    ),
    '3: no body has the inertia of link "arm": it has no mass. Correct its <inertia> [kg m2]; '
    'products are often wrong in sign or size.': robot(link(mass=0.0), joint()),
    '3: no body has the inertia of link "arm": it is not positive definite (principal moments '
    '-1, 1, 3 kg m2). Correct its <inertia> [kg m2]; products are often wrong in '
    'sign or size.': robot(link(inertia=(1.0, 1.0, 1.0), products=(2.0, 0.0, 0.0)), joint()),
    '3: no body has the inertia of link "arm": it breaks the triangle inequality (principal '
    'moments 1 + 1 < 3 kg m2). Correct its <inertia> [kg m2]; products are often wrong in '
    'sign or size.': robot(link(inertia=(1.0, 1.0, 3.0)), joint()),
    '4: joint "hinge" moves nothing that has inertia about its axis. Give link "arm" or one '
    'beyond it an <inertial>, or fix the joint.': robot(
        '<link name="arm"/>', joint(), link('rotor'), joint('spin', child='rotor')
    ),
    '4: joint "pivot" moves nothing that has inertia about its axis. Give link "arm" or one '
    'beyond it an <inertial>, or fix the joint.': robot(
        link(inertia=(0.0, 0.0, 0.0), centre='0 0 0.3'), joint('pivot')
    ),
    '4: joint "elbow" moves nothing that has inertia about its axis. Give link "arm" or one '
    'beyond it an <inertial>, or fix the joint.': robot(
        '<link name="arm"/>',
        joint('elbow'),
        flexibility('<joint name="elbow" stiffness="1" rotor_inertia="1"/>'),
    ),
    '5: no body has the inertia of link "rotor": it breaks the triangle inequality (principal '
    'moments 0 + 0 < 0.001 kg m2). Correct its <inertia> [kg m2]; products are often wrong in '
    'sign or size.': robot(
        link(),
        joint(),
        link('rotor', inertia=(0.0, 0.0, 1e-3)),
        joint('spin', parent='arm', child='rotor'),
    ),
    '3: the <inertial> of link "arm" has no <inertia>. Give it a <inertia>, or remove the '
    '<inertial>.': robot(re.sub('<inertia .*?/>', '', link()), joint()),
}


@pytest.mark.parametrize('message, text', MISTAKES.items())
def test_a_mistake_is_a_one_line_error(message, text):
    assert complaint(text) == f'<text>:{message}'

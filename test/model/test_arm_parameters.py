"""Parameters of an arm by path: against URDFs edited by hand, closed forms, and on any robot."""

import re

import numpy as np
import pytest
from arms import joint, link, robot
from beam_arms import beam_arm, with_modes
from closed_loops import LOOPS, TREES
from lxml import etree
from project_files import ROOT
from public_robots import public_robot

import flex_robot_sim as frs
from flex_robot_sim.description.quantities import JOINT_QUANTITIES, LINK_QUANTITIES
from flex_robot_sim.description.robot_parameters import parameters_of, with_parameters
from flex_robot_sim.util.share import shipped_robots

CLAMPED_FREE = 1.8751040687119611  # first root of cos(x) cosh(x) = -1
PUBLIC = [
    'ur_description/urdf/ur10_robot.urdf',
    'kinova_description/robots/kinova.urdf',
    'xarm_description/urdf/xarm7.urdf',
    'z1_description/urdf/z1.urdf',
    'so_arm_description/urdf/so101.urdf',
    'solo_description/robots/solo12.urdf',
    'hextilt_description/urdf/hextilt_flying_arm_5.urdf',
    'panda_description/urdf/panda.urdf',
    'double_pendulum_description/urdf/double_pendulum.urdf',
    'finger_edu_description/robots/finger_edu.urdf',
]
MOMENTS = ('ixx', 'iyy', 'izz', 'ixy', 'ixz', 'iyz')
GEAR, STOPS = '//flexibility/joint[@name="{}"]', '/robot/joint[@name="{}"]/limit'
INERTIAL = '/robot/link[@name="{}"]/inertial'


def expect_same_arrays(one, other, **tolerances):
    for name, a, b in zip(one.arrays._fields, one.arrays, other.arrays):
        np.testing.assert_allclose(a, b, err_msg=name, **{'rtol': 0.0, 'atol': 0.0, **tolerances})


def edited(name, place, changes):
    """Return a shipped robot whose file has other attributes at an XPath."""
    root = etree.fromstring(shipped_robots()[name].read_bytes())
    for element in root.xpath(place):
        for attribute, value in changes.items():
            element.set(attribute, value)
    return frs.load(etree.tostring(root, encoding='unicode'))


@pytest.mark.long(after=8)
@pytest.mark.parametrize(
    'path, value, place, changes',
    [
        ('shoulder.stiffness', 2000.0, GEAR.format('shoulder'), {'stiffness': '2000'}),
        ('shoulder.damping', 0.7, GEAR.format('shoulder'), {'damping': '0.7'}),
        ('shoulder.rotor_inertia', 3e-5, GEAR.format('shoulder'), {'rotor_inertia': '3e-5'}),
        ('shoulder.gear_ratio', 80.0, GEAR.format('shoulder'), {'gear_ratio': '80'}),
        ('elbow.spring_stiffness', 5.0, GEAR.format('elbow'), {'spring_stiffness': '5'}),
        ('elbow.spring_reference', 0.3, GEAR.format('elbow'), {'spring_reference': '0.3'}),
        ('elbow.static_friction', 0.4, GEAR.format('elbow'), {'static_friction': '0.4'}),
        ('elbow.viscous', 0.2, '/robot/joint[@name="elbow"]/dynamics', {'damping': '0.2'}),
        ('elbow.coulomb', 0.3, '/robot/joint[@name="elbow"]/dynamics', {'friction': '0.3'}),
        ('elbow.lower', -1.0, STOPS.format('elbow'), {'lower': '-1'}),
        ('elbow.upper', 1.5, STOPS.format('elbow'), {'upper': '1.5'}),
        ('elbow.effort', 7.0, STOPS.format('elbow'), {'effort': '7'}),
        ('payload.mass', 0.3, f'{INERTIAL.format("payload")}/mass', {'value': '0.3'}),
        ('payload.centre_y', 0.02, f'{INERTIAL.format("payload")}/origin', {'xyz': '0 0.02 0'}),
        ('payload.iyy', 6e-5, f'{INERTIAL.format("payload")}/inertia', {'iyy': '6e-5'}),
        ('payload.ixy', 1e-6, f'{INERTIAL.format("payload")}/inertia', {'ixy': '1e-6'}),
        ('forearm.polar_inertia', 5e-7, f'{INERTIAL.format("forearm")}/inertia', {'ixx': '5e-7'}),
        (
            'forearm.damping_ratio',
            0.02,
            '//flexibility/link[@name="forearm"]/damping',
            {'ratio': '0.02'},
        ),
        ('waist.origin_z', 0.25, '/robot/joint[@name="waist"]/origin', {'xyz': '0 0 0.25'}),
    ],
)
def test_a_parameter_by_path_is_the_attribute_in_the_file(path, value, place, changes):
    changed = frs.with_parameters(frs.load('two_link'), {path: value})
    by_hand = edited('two_link', place, changes)
    assert parameters_of(by_hand.description)[path].value == pytest.approx(value, rel=1e-12)
    expect_same_arrays(changed, by_hand, rtol=1e-11, atol=1e-16)  # rounding of sums
    for mine, other in zip(changed.description.joints, by_hand.description.joints):
        for word in ('lower', 'upper', 'effort', 'velocity', 'friction'):
            assert getattr(mine, word) == getattr(other, word), word


def test_a_material_of_another_modulus_is_the_stiffness_of_the_link():
    place = '//flexibility/link[@name="forearm"]/material'
    modulus = etree.fromstring(shipped_robots()['two_link'].read_bytes()).xpath(place)[0].get('E')
    by_hand = edited('two_link', place, {'E': repr(1.3 * float(modulus))})
    changed = frs.with_parameters(frs.load('two_link'), {'forearm.stiffness': 1.3})
    expect_same_arrays(changed, by_hand, rtol=1e-11, atol=1e-13)


def test_a_heavier_link_of_a_public_robot_has_a_larger_inertia_too():
    path = public_robot(PUBLIC[0])
    root = etree.parse(str(path)).getroot()
    inertial = root.find('link[@name="forearm_link"]/inertial')
    mass = float(inertial.find('mass').get('value'))
    inertial.find('mass').set('value', repr(2 * mass))
    for name in MOMENTS:
        inertial.find('inertia').set(name, repr(2 * float(inertial.find('inertia').get(name))))
    heavier = frs.with_parameters(frs.load(path), {'forearm_link.mass': ('*', 2)})
    expect_same_arrays(
        heavier, frs.load(etree.tostring(root, encoding='unicode')), rtol=1e-11, atol=1e-13
    )


def test_four_times_the_bending_stiffness_doubles_the_bending_frequency():
    arm = beam_arm(with_modes(bending_y=6), length=0.7, mass_per_length=4.0, EIz=0.6)
    stiffer = frs.with_parameters(arm, {'arm.EIz': ('*', 4.0)})
    exact = CLAMPED_FREE**2 / (2 * np.pi) * np.sqrt(0.6 / 4.0) / 0.7**2
    assert frs.frequencies(arm)[0] == pytest.approx(exact, rel=1e-6)  # of six shapes
    np.testing.assert_allclose(frs.frequencies(stiffer), 2 * frs.frequencies(arm), rtol=1e-9)


def test_a_stiffer_gear_has_the_frequency_of_two_inertias():
    rotor, ratio, moment, stiffness = 2e-4, 30.0, 0.3, 50.0
    text = robot(
        joint(),
        link(mass=1.0, centre='0 0 0', inertia=(moment,) * 3),
        f'<flexibility><joint name="hinge" stiffness="{stiffness}" gear_ratio="{ratio}" '
        f'rotor_inertia="{rotor}"/></flexibility>',
    )
    arm = frs.with_parameters(
        frs.load(text),
        {
            'hinge.stiffness': ('*', 3.0),
            'hinge.rotor_inertia': ('+', 1e-4),
            'hinge.gear_ratio': 20,
            'arm.izz': 0.25,
        },
    )
    exact = np.sqrt(3 * stiffness * (1 / 0.25 + 1 / (3e-4 * 20**2)))
    rates = np.linalg.eigvals(frs.linearise(arm, gains=(0.0, 0.0)).A)
    assert np.abs(rates.imag).max() == pytest.approx(exact, rel=1e-9)


def test_all_masses_times_a_factor_scale_the_mass_matrix():
    arm, factor = frs.load('two_link'), 1.7
    heavier = frs.with_parameters(arm, {'*.mass': ('*', factor), '*.rotor_inertia': ('*', factor)})
    q = np.random.default_rng(3).uniform(-0.1, 0.1, arm.nq)
    np.testing.assert_allclose(
        frs.mass_matrix(heavier, q), factor * frs.mass_matrix(arm, q), rtol=1e-9, atol=1e-13
    )
    np.testing.assert_allclose(
        frs.gravity_forces(heavier, q), factor * frs.gravity_forces(arm, q), rtol=1e-9, atol=1e-12
    )


def test_gravity_coupling_and_payloads_of_the_arm_are_kept():
    def make(arm):
        arm = frs.with_payload(arm, 'tool', 0.2, centre=(0.0, 0.01, 0.03))
        return frs.with_payload(arm, 'forearm', 0.1)

    bare = frs.load('two_link', coupling='zero_order', gravity=(0.1, 0.0, -1.62))
    changes = {'forearm.EIz': ('*', 1.1), 'upper_arm.length': 0.52}
    changed = frs.with_parameters(make(bare), changes)
    assert changed.coupling == 'zero_order'
    expect_same_arrays(changed, make(frs.with_parameters(bare, changes)))
    reach = [frs.pose(arm, np.zeros(arm.nq))[0, 3] for arm in (bare, changed)]
    assert reach[1] - reach[0] == pytest.approx(0.02, abs=1e-12)


def test_the_first_arm_stays_as_it_is():
    arm = frs.load('two_link')
    before = [array.copy() for array in arm.arrays]
    frs.with_parameters(arm, {'*.mass': ('*', 2.0), '*.origin_z': ('+', 0.1), 'elbow.upper': 1.0})
    for one, other in zip(before, arm.arrays):
        np.testing.assert_array_equal(one, other)


def nudged(parameter, known):
    """Return another possible value of a Parameter, near the described one."""
    if parameter.path.endswith(MOMENTS[3:]) and parameter.value == 0.0:
        moments = [known[f'{parameter.path[:-3]}{name}'].value for name in MOMENTS[:3]]
        return 1e-3 * min(moments)
    if parameter.group == 'inertia' and parameter.value == 0.0:
        return 1e-9
    if parameter.value in (0.0, np.inf):
        return min(max(parameter.lower, 1e-3), parameter.upper)
    # a joint at the end of a beam cannot move farther out
    is_possible = parameter.allows(1.01 * parameter.value) and parameter.group != 'position'
    return (1.01 if is_possible else 0.99) * parameter.value


def source_of(name):
    return name if name in shipped_robots() else str(public_robot(name))


@pytest.mark.long(after=6)
@pytest.mark.slow
@pytest.mark.parametrize('name', [*TREES, *LOOPS, *PUBLIC])
def test_every_path_reads_and_takes_another_value(name):
    description = frs.read_description(source_of(name))
    known = parameters_of(description)
    assert with_parameters(description, {path: one.value for path, one in known.items()}) is (
        description
    )
    for path, parameter in known.items():
        assert parameter.allows(parameter.value) and parameter.meaning
        value = nudged(parameter, known)
        if value == parameter.value:  # a product of inertia of a point mass
            continue
        changed = parameters_of(with_parameters(description, {path: value}))
        expected = 1.0 if path.endswith('.stiffness') and parameter.unit == '' else value
        assert changed[path].value == pytest.approx(expected, rel=1e-12), path
        # parameters of other links and joints are unchanged
        prefix, moved = path.rpartition('.')[0], path.endswith('.length')
        assert [
            other
            for other, one in known.items()
            if one.value != changed[other].value
            and other.rpartition('.')[0] != prefix
            and not (moved and '.origin_' in other)
        ] == [], path


@pytest.mark.parametrize('name', ['two_link', 'rig', *PUBLIC[:1]])
def test_an_arm_with_its_own_values_is_the_same_bit_for_bit(name):
    arm = frs.load(source_of(name))
    values = {path: one.value for path, one in frs.parameters(arm).items()}
    expect_same_arrays(frs.with_parameters(arm, values), arm)


@pytest.mark.parametrize(
    'message, changes',
    {
        'no parameter "forarm.EIz". Near: forearm.EIz, forearm.EIy, ': {'forarm.EIz': 1.0},
        'no parameter "forearm.mas". Near: forearm.mass, ': {'forearm.mas': 1.0},
        'no parameter "tool.EIz". Near: ': {'tool.EIz': 1.0},
        'no parameter "*.EIx". Known: ': {'*.EIx': 1.0},
        "3 is no path of a parameter: give a text such as 'forearm.EIz'": {3: 1.0},
        'forearm.EIz = -1 cannot be: it must be above 0.': {'forearm.EIz': -1.0},
        'forearm.EIz = 0 cannot be: it must be above 0.': {'forearm.EIz': ('*', 0)},
        'forearm.EIz = nan cannot be: it must be above 0.': {'forearm.EIz': float('nan')},
        'forearm.EIz = 1e+40 cannot be: it must be above 0 and below 1e+30.': {
            'forearm.EIz': 1e40
        },
        'elbow.coulomb = -1 cannot be: it must be at least 0.': {'elbow.coulomb': ('+', -1.0)},
        'forearm.damping_ratio = 2 cannot be: it must be between 0 and 0.9.': {
            'forearm.damping_ratio': 2
        },
        'forearm.length = 9 cannot be: it must be between 0.42 and 0.9.': {'forearm.length': 9},
        'elbow.lower = 100 cannot be: it must be at most 2.4.': {'elbow.lower': 100},
        'elbow.origin_x = nan cannot be: it must be finite.': {'elbow.origin_x': float('nan')},
        'elbow.static_friction = 0.1 cannot be: it must be at least 0.2.': {
            'elbow.coulomb': 0.2,
            'elbow.static_friction': 0.1,
        },
        'payload_mount.origin_x = 9 cannot be: joint "payload_mount" '
        'would ride at 9 m on the beam of link "forearm", which ends at 0.45 m.': {
            'payload_mount.origin_x': 9
        },
        'payload.ixx = 5 cannot be: no body has the inertia of link "payload", '
        'with what is fixed to it: it breaks the triangle inequality ': {'payload.ixx': 5},
        'elbow.coulomb is 0, and no multiple of it is anything else: give its value': {
            'elbow.coulomb': ('*', 2)
        },
        "forearm.EIz: ('/', 2) must be a number, ('*', factor) or ('+', difference)": {
            'forearm.EIz': ('/', 2)
        },
        "forearm.EIz: True must be a number, ('*', factor) or ('+', difference)": {
            'forearm.EIz': True
        },
        'forearm.EIz changes twice: give one change for it': {
            'forearm.EIz': 5.0,
            '*.EIz': ('*', 2),
        },
        "changes = [('forearm.EIz', 5.0)] must be a dict from paths to "
        "values, such as {'forearm.EIz': ('*', 1.1)}": [('forearm.EIz', 5.0)],
    }.items(),
)
def test_an_impossible_change_is_one_line(changes, message):
    with pytest.raises(frs.SettingError, match=f'^{re.escape(message)}.*$'):
        frs.with_parameters(frs.load('two_link'), changes)


def test_stops_that_move_together_may_pass_their_old_places():
    arm = frs.with_parameters(frs.load('two_link'), {'elbow.lower': 2.5, 'elbow.upper': 3.0})
    assert (arm.arrays.lower[2], arm.arrays.upper[2]) == (2.5, 3.0)


def test_a_limit_may_be_infinite_and_back():
    arm = frs.with_parameters(frs.load('two_link'), {'elbow.effort': np.inf})
    assert frs.parameters(arm)['elbow.effort'].value == np.inf
    with pytest.raises(frs.SettingError, match=r'^elbow\.effort is inf, and no multiple '):
        frs.with_parameters(arm, {'elbow.effort': ('*', 2)})


def test_units_of_sliding_joints_are_those_of_forces():
    slide = frs.load(
        robot(
            joint(
                kind='prismatic',
                inside='<axis xyz="0 0 1"/><limit lower="0" upper="1" effort="3" velocity="1"/>',
            ),
            link(),
        )
    )
    units = {path.rpartition('.')[2]: one.unit for path, one in frs.parameters(slide).items()}
    assert [units[word] for word in ('lower', 'effort', 'velocity', 'viscous', 'coulomb')] == [
        'm',
        'N',
        'm/s',
        'N s/m',
        'N',
    ]


def test_a_table_of_parameters_is_short_in_an_interpreter_and_complete_when_printed():
    found = frs.parameters(frs.load('two_link'))
    assert len(repr(found).splitlines()) == 20
    assert len(str(found).splitlines()) == len(found) + 1
    row = next(line for line in str(found).splitlines() if 'shoulder.stiffness' in line)
    assert row.split() == [
        'shoulder.stiffness',
        '800',
        'N',
        'm/rad',
        '(above',
        '0):',
        'of',
        'the',
        'gear',
    ]
    assert [*frs.parameters(frs.load('two_link'), select='*arm.EIz')] == [
        'upper_arm.EIz',
        'forearm.EIz',
    ]


def test_the_page_of_the_library_lists_all_quantities():
    page = (ROOT / 'docs/python.md').read_text('utf-8')
    for kind, words in (('LINK', LINK_QUANTITIES), ('JOINT', JOINT_QUANTITIES)):
        rows = ' '.join(re.findall(rf'^\| (`{kind}\..*?) \|', page, re.MULTILINE))
        assert set(re.findall(r'\.(\w+)`', rows)) == {*words}

"""Invariance to the pose of the base, names, order, and the division of rigid bodies."""

import re
import xml.etree.ElementTree as ET

import numpy as np
import pytest
from arms import SECTION, beam, flexibility, joint, link, robot
from compare import (
    CASES,
    COUPLINGS,
    GRAVITY,
    arm_of,
    assert_same,
    forward,
    mass_matrix,
    robot_text,
)
from random_arms import random_state
from scipy.spatial.transform import Rotation

import flex_robot_sim as frs
from flex_robot_sim.util.share import shipped_robots

pytestmark = pytest.mark.slow

cases = pytest.mark.parametrize('case', CASES)
ANGLES = [0.3, -1.1, 2.0]


def assert_equal_accelerations(text, other, names=lambda name: name, gravity=GRAVITY):
    """Assert equal accelerations of two robots in the same state."""
    arm, changed = arm_of(text), arm_of(other, gravity=gravity)
    q, qd = random_state(arm, 5)
    effort = np.random.default_rng(5).normal(size=len(arm.joint_names))
    scale = np.sqrt(np.diag(mass_matrix(text, q)))
    order = [arm.coordinate_names.index(names(name)) for name in changed.coordinate_names]
    efforts = [arm.joint_names.index(names(name)) for name in changed.joint_names]
    qdd = np.empty(arm.size)
    qdd[order] = forward(changed, q[order], qd[order], effort[efforts])
    # different rounding, times the condition number of the mass matrix
    assert_same(qdd, forward(arm, q, qd, effort), 1 / scale, 1e-9)


@pytest.mark.long(after=3)
@cases
def test_the_pose_of_the_base_changes_nothing(case):
    text = robot_text(case)
    place = '<origin xyz="3 -2 1" rpy="{} {} {}"/>'.format(*ANGLES)
    base = re.search('<robot name="[^"]*">', text).group()
    placed = text.replace(
        base, base + '<link name="world"/>' + joint('stand', 'fixed', 'world', 'base', place)
    )
    gravity = Rotation.from_euler('xyz', ANGLES).apply(GRAVITY)
    assert_equal_accelerations(text, placed, gravity=tuple(gravity))


@cases
def test_renaming_changes_nothing(case):
    text = robot_text(case)
    names = sorted(set(re.findall(' (?:name|link|joint)="([^"]+)"', text)) - {'test', 'base'})
    new = dict(zip(names, (f'n{k:02}' for k in range(len(names), 0, -1))))
    old = {value: key for key, value in new.items()}
    renamed = re.sub(
        ' (name|link|joint)="([^"]+)"',
        lambda found: f' {found[1]}="{new.get(found[2], found[2])}"',
        text,
    )
    assert renamed != text
    assert_equal_accelerations(
        text, renamed, lambda name: '/'.join(old.get(part, part) for part in name.split('/'))
    )


@cases
def test_the_order_in_the_file_changes_nothing(case):
    tree = ET.fromstring(robot_text(case))
    tree[:] = reversed(tree)
    assert_equal_accelerations(robot_text(case), ET.tostring(tree, encoding='unicode'))


@cases
def test_two_rigid_links_fixed_together_are_equivalent_to_one(case):
    tree = ET.fromstring(robot_text(case))
    beams = {element.get('name') for element in tree.iterfind('flexibility/link')}
    R, p = Rotation.from_euler('xyz', ANGLES), np.array([0.3, 0.2, -0.1])
    for element in tree.findall('link'):
        name, inertial = element.get('name'), element.find('inertial')
        if inertial is None or name in beams:
            continue
        for value in [inertial.find('mass'), inertial.find('inertia')]:
            for key, number in value.attrib.items():
                value.set(key, repr(float(number) / 2))
        half = ET.fromstring(ET.tostring(element))
        half.set('name', f'{name}_half')
        centre = np.array(inertial.find('origin').get('xyz').split(), float)
        origin = half.find('inertial/origin')
        origin.set('xyz', ' '.join(map(repr, map(float, R.inv().apply(centre - p)))))
        origin.set('rpy', ' '.join(map(repr, map(float, R.inv().as_euler('xyz')))))
        place = '<origin xyz="{} {} {}" rpy="{} {} {}"/>'.format(*p, *ANGLES)
        tree.extend(
            [half, ET.fromstring(joint(f'{name}_seam', 'fixed', name, f'{name}_half', place))]
        )
    assert_equal_accelerations(robot_text(case), ET.tostring(tree, encoding='unicode'))


def planar_arm(inside):
    """Return two beams that rotate about z, with a mass at the end."""
    return robot(
        link('one'),
        link('two'),
        link('tool', 0.3, '0 0 0', (1e-3, 2e-3, 3e-3)),
        joint('a', child='one'),
        joint('b', parent='one', child='two', inside='<origin xyz="1 0 0"/><axis xyz="0 0 1"/>'),
        joint('c', 'fixed', 'two', 'tool', '<origin xyz="1 0 0"/>'),
        flexibility(*(beam(SECTION + inside, name=name) for name in ('one', 'two'))),
    )


def assert_stays_exactly_planar(arm, across):
    """Assert that random states in the plane have no acceleration across it."""
    for k in range(20):
        q, qd = random_state(arm, k)
        effort = np.random.default_rng(k).normal(size=len(arm.joint_names))
        q[across] = qd[across] = effort[across[: len(effort)]] = 0.0
        qdd = forward(arm, q, qd, effort)
        assert not qdd[across].any()
        assert qdd[~across].all()


@pytest.mark.parametrize('coupling', COUPLINGS)
@pytest.mark.parametrize(
    'inside',
    [
        '<modes bending_y="2" bending_z="2" torsion="2" stretch="1"/>',
        '<modes bending_y="1" bending_z="1" torsion="1" segments="3"/>',
        '<elements count="2" stretch="all"/>',
    ],
    ids=['modes', 'segments', 'elements'],
)
def test_a_planar_arm_stays_planar_exactly(inside, coupling):
    arm = arm_of(planar_arm(inside), coupling, (2.0, -9.0, 0.0))
    assert_stays_exactly_planar(
        arm, np.array(['bending_z' in name or 'torsion' in name for name in arm.coordinate_names])
    )


def test_the_dual_screw_arm_stays_planar_exactly_while_its_waist_is_at_rest():
    assert 'dual_screw_arm' in shipped_robots()
    arm = arm_of('dual_screw_arm', gravity=(0.0, 0.0, -9.81))
    assert_stays_exactly_planar(
        arm,
        np.array(
            [
                name == 'joint_1' or 'bending_z' in name or 'torsion' in name
                for name in arm.coordinate_names
            ]
        ),
    )


def test_constant_stretch_changes_nothing():
    # loops over 2 + 2 + 1 coordinates are unrolled, those over 2 + 2 + 1 + 1 are not
    text = shipped_robots()['two_link'].read_text(encoding='utf-8')
    arm, other = arm_of(text), arm_of(text.replace('torsion="1"/>', 'torsion="1" stretch="1"/>'))
    common = [other.coordinate_names.index(name) for name in arm.coordinate_names]
    assert other.size == arm.size + 2
    for seed in range(5):
        q, qd = random_state(arm, seed)
        qdd = np.random.default_rng(seed).normal(size=arm.size)
        wide = np.zeros((3, other.size))
        wide[:, common] = q, qd, qdd
        for mine, theirs in (
            (frs.mass_matrix(arm, q), frs.mass_matrix(other, wide[0])[np.ix_(common, common)]),
            (frs.inverse_dynamics(arm, q, qd, qdd), frs.inverse_dynamics(other, *wide)[common]),
            (energies(arm, q, qd), energies(other, *wide[:2])),
        ):
            assert_same(mine, theirs)


def energies(arm, q, qd):
    simulation = frs.Simulation(arm)
    simulation.set_state(q=q, v=qd)
    energy = simulation.energy()
    return np.array([energy.kinetic, energy.strain, energy.gravity])

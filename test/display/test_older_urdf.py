"""The display description has version 1.0 of URDF; its shapes are those of the original."""

from xml.etree import ElementTree

import numpy as np
import pytest
from arms import Z, beam, flexibility, joint, link, robot
from scipy.spatial.transform import Rotation

import flex_robot_sim as frs
from flex_robot_sim.display.description import display_description
from flex_robot_sim.display.drawn_sections import drawn_sections
from flex_robot_sim.viewer.solids import solids

TURN = Rotation.from_euler('xyz', [0.3, -0.4, 1.1])
QUATERNION = ' '.join(map(repr, (2 * TURN.as_quat()).tolist()))
CENTRE, RADIUS, LENGTH = np.array([0.2, -0.1, 0.3]), 0.07, 0.4
CAPSULE = f'<geometry><capsule radius="{RADIUS}" length="{LENGTH}"/></geometry>'
PLACE = f'<origin xyz="0.2 -0.1 0.3" quat_xyzw="{QUATERNION}"/>'
GREEN = '<material name="green"><color rgba="0 1 0 1"/></material>'


def with_shapes(*shapes, number='1.2', more=()):
    body = link(inertia=(0.1, 0.2, 0.2)).replace('</link>', ''.join(shapes) + '</link>')
    hinge = joint(inside=f'{Z}<origin xyz="0 0 1" quat_xyzw="{QUATERNION}"/><limit jerk="50"/>')
    return robot(body, hinge, *more).replace('<robot', f'<robot version="{number}"')


@pytest.fixture(scope='module')
def arm():
    visual, collision = f'<visual>{PLACE}{CAPSULE}{GREEN}</visual>', f'<collision>{CAPSULE}'
    return frs.load(with_shapes(visual, collision + '</collision>'))


def test_a_display_description_has_only_words_of_version_1_0(arm):
    text = display_description(arm)
    assert ElementTree.fromstring(text).get('version') == '1.0'
    assert 'quat_xyzw' not in text and '<capsule' not in text
    assert frs.read_description(text).warnings == ()


def test_urdfdom_loads_the_display_description(arm):
    pin = pytest.importorskip('pinocchio')
    text = display_description(arm)
    model = pin.buildModelFromXML(text)
    assert [*model.names] == ['universe', 'hinge']
    np.testing.assert_allclose(model.jointPlacements[1].rotation, TURN.as_matrix(), atol=1e-12)
    for kind in (pin.GeometryType.VISUAL, pin.GeometryType.COLLISION):
        geometry = pin.buildGeomFromUrdfString(model, text, kind)
        assert geometry.ngeoms == 3
    places = [
        one.placement
        for one in pin.buildGeomFromUrdfString(
            model, text, pin.GeometryType.VISUAL
        ).geometryObjects
    ]
    ends = [CENTRE + sign * LENGTH / 2 * TURN.as_matrix()[:, 2] for sign in (-1, 1)]
    found = sorted(place.translation.tolist() for place in places)
    np.testing.assert_allclose(found, sorted([CENTRE.tolist(), *map(list, ends)]), atol=1e-12)


def test_a_capsule_is_drawn_where_a_capsule_is(arm):
    drawn, warnings = solids(arm)
    assert warnings == [] and len(drawn) == 3
    points = np.vstack([one.vertices for one in drawn])
    local = (points - CENTRE) @ TURN.as_matrix()
    beyond = np.maximum(np.abs(local[:, 2]) - LENGTH / 2, 0.0)
    # distance from the segment between the centres of the half spheres; inside are the middles of
    # the ends of the cylinder and the inner halves of the spheres
    distance = np.hypot(np.hypot(local[:, 0], local[:, 1]), beyond)
    assert distance.max() == pytest.approx(RADIUS, rel=1e-9)
    # the vertices of a sphere are up to 9 degrees from the axis
    assert np.abs(local[:, 2]).max() == pytest.approx(LENGTH / 2 + RADIUS, abs=0.02 * RADIUS)
    assert {one.colour for one in drawn} == {(0.0, 1.0, 0.0)}


def test_a_capsule_along_a_flexible_link_is_its_section():
    along_x = '<origin xyz="0.5 0 0" rpy="0 1.5707963267948966 0"/>'
    shape = '<geometry><capsule radius="0.02" length="0.96"/></geometry>'
    text = robot(
        link().replace('</link>', f'<visual>{along_x}{shape}</visual></link>'),
        joint(),
        flexibility(beam()),
    )
    arm = frs.load(text)
    section = drawn_sections(arm)['arm']
    assert section.is_round and section.size == pytest.approx((0.04, 0.04), rel=1e-6)
    # it bends with the link, and is drawn by the markers
    assert '<cylinder' not in display_description(arm)
    assert display_description(arm, keep_straight=True).count('<sphere') == 2


def test_missing_limits_of_version_1_2_are_written(arm):
    limit = ElementTree.fromstring(display_description(arm)).find('joint/limit')
    assert (limit.get('effort'), limit.get('velocity')) == ('1e+30', '1e+30')


def test_a_file_of_version_1_0_keeps_its_limits():
    text = with_shapes(number='1.0').replace(f'quat_xyzw="{QUATERNION}"', 'rpy="0 0 1"')
    limit = ElementTree.fromstring(display_description(frs.load(text))).find('joint/limit')
    assert limit.attrib == {'jerk': '50'}

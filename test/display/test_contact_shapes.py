"""Drawn contacts: they are where the simulation has them, and forces act where it says."""

import numpy as np
import pytest
from contact_arms import block, pressing_beam, slider, tumbling_box

import flex_robot_sim as frs
from flex_robot_sim.display.contact_shapes import (
    SHAPE_MARGIN,
    contact_points,
    force_foot,
    has_arrow,
    shapes_of_links,
    surfaces,
)
from flex_robot_sim.display.extent import reach
from flex_robot_sim.display.posture import Posture

CAPSULE = '<capsule radius="0.1" length="0.3"/>'
TUBE = '<cylinder radius="0.1" length="0.5"/>'


def loaded(tmp_path, text):
    """Return the arm of a text."""
    path = tmp_path / 'arm.urdf'
    path.write_text(text)
    return frs.load(path)


def lowest(arm, q):
    """Height of the lowest point of all drawn shapes of links, without their margin [m]."""
    posture, heights = Posture(arm), []
    posture.take(q)
    for shape in shapes_of_links(arm):
        R, p = posture.frame(shape.frame)
        for part in shape.primitives:
            size = np.array(part.size) / SHAPE_MARGIN / 2
            centre = (p + part.height * R[:, 2])[2]
            if part.kind == 'sphere':
                heights.append(centre - size[0])
            elif part.kind == 'box':
                heights.append(centre - np.abs(R[2]) @ size)
            else:
                along = abs(R[2, 2])
                heights.append(centre - along * size[2] - np.sqrt(1 - along**2) * size[0])
    return min(heights)


@pytest.mark.parametrize(
    'text',
    [
        slider(),
        block(joint='floating'),
        block(joint='floating').replace('<box size="0.2 0.1 0.06"/>', CAPSULE),
        block(joint='floating').replace('<box size="0.2 0.1 0.06"/>', TUBE),
        pressing_beam(height=-0.1),
        # a capsule across a flexible link, off its axis
        pressing_beam(height=-0.1)
        .replace('name="tool" link="ball"', 'name="tool" link="beam"')
        .replace(
            '</link>\n<joint name="flange"',
            '<collision><origin xyz="0.4 0.03 0.01" rpy="1.5707963267948966 0 0"/><geometry>'
            f'{CAPSULE.replace("0.1", "0.02")}</geometry></collision></link>\n'
            '<joint name="flange"',
        ),
    ],
    ids=['sphere', 'box', 'capsule', 'cylinder', 'on a beam', 'of a beam'],
)
def test_the_lowest_point_of_the_drawing_has_the_gap_of_the_simulation(tmp_path, text):
    arm = loaded(tmp_path, text)
    simulation, rng = frs.Simulation(arm), np.random.default_rng(4)
    (ground,) = [one for one in arm.description.world if one.kind == 'plane']
    (name,) = arm.contacts
    for _ in range(5):
        q = rng.normal(0.0, 0.4, arm.nq)
        q[arm.elastic_q] = rng.normal(0.0, 0.01, q[arm.elastic_q].size)
        simulation.set_state(q)
        gap = lowest(arm, simulation.q) - ground.position[2]
        assert gap == pytest.approx(simulation.contact(name).gap, abs=1e-9)


def test_each_shape_is_drawn_once_with_the_shapes_of_the_other_link(tmp_path):
    text = slider().replace(
        '<ground/></flexibility>',
        '<ground/><contact name="second" link="ball" with="base"/></flexibility>',
    )
    text = text.replace(
        '<link name="base"/>',
        '<link name="base"><collision><origin xyz="1 2 3"/><geometry><box size="1 2 3"/>'
        '</geometry></collision></link>',
    )
    arm = loaded(tmp_path, text)
    base, ball = sorted(shapes_of_links(arm), key=lambda shape: shape.link != 'base')
    assert (ball.link, base.link, base.frame.body) == ('ball', 'base', -1)
    assert [part.kind for part in ball.primitives] == ['sphere']
    assert base.frame.p == pytest.approx([1.0, 2.0, 3.0])
    assert base.primitives[0].size == pytest.approx(SHAPE_MARGIN * np.array([1.0, 2.0, 3.0]))


def test_the_ground_is_a_plate_just_below_its_height_and_an_obstacle_has_its_geometry(tmp_path):
    arm = loaded(tmp_path, tumbling_box().replace('<ground/>', '<ground height="-0.3"/>'))
    ground, slope = surfaces(arm)
    (plate,) = ground.primitives
    top = ground.frame.p[2] + plate.size[2] / 2
    assert -0.3 - 1e-3 * reach(arm.description) < top < -0.3
    assert plate.size[0] == plate.size[1] > 2 * reach(arm.description)
    assert slope.primitives[0].size == pytest.approx((0.4, 1.0, 0.3))
    assert slope.frame.p == pytest.approx([0.5, 0.0, 0.0])
    turn = [[np.cos(0.4), 0, np.sin(0.4)], [0, 1, 0], [-np.sin(0.4), 0, np.cos(0.4)]]
    assert slope.frame.R == pytest.approx(np.array(turn))


def test_a_force_acts_where_the_simulation_says(tmp_path):
    text = slider('friction="0.4"', world='<ground height="-0.1"/>')
    arm = loaded(tmp_path, text)
    simulation = frs.Simulation(arm)
    simulation.set_state(v=[1.0, 0.0])
    simulation.step(20)
    contact = simulation.contact('tool')
    assert contact.normal_force > 1.0 and contact.force[0] < 0.0
    T, points = simulation.pose('ball'), contact_points(arm, 'tool')
    foot = T[:3, :3] @ force_foot(*points, contact.wrench) + T[:3, 3]
    assert foot == pytest.approx(contact.point, abs=1e-12)


def test_a_box_at_rest_on_four_corners_is_pushed_in_the_middle_of_its_lower_side(tmp_path):
    points, radii = contact_points(loaded(tmp_path, block()), 'box')
    lower = points[points[:, 2] < 0.0]
    force = np.array([0.0, 0.0, 3.0])
    moment = np.cross(lower, force).sum(axis=0)
    wrench = np.concatenate([moment, 4 * force])
    assert has_arrow(wrench) and not has_arrow(np.append(moment, 1e-300 * force))
    foot = force_foot(points, radii, wrench)
    assert foot == pytest.approx([0.0, 0.0, -0.03], abs=1e-12)

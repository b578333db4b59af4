"""Interfaces of joints: faces and bores of solids that a person would choose."""

import numpy as np
import pytest
from box_meshes import box_mesh

from flex_robot_sim.reduction.elasticity import Mesh
from flex_robot_sim.reduction.interface_search import JointFrame, find_interfaces, patches_of
from flex_robot_sim.reduction.stations import group_joints
from flex_robot_sim.reduction.supports import ReductionError
from flex_robot_sim.reduction.surface import surface_of

Z = np.array([0.0, 0.0, 1.0])


def joint(name, x, y, z, axis=Z):
    return JointFrame(name, np.array([x, y, z], float), axis)


@pytest.fixture(scope='module')
def bar():
    return box_mesh((0.4, 0.04, 0.02), (8, 2, 1), (0.0, -0.02, -0.01))


def with_bore(radius=0.02):
    """Plate of 0.2 x 0.2 x 0.03 m with a bore along z around the origin."""
    mesh = box_mesh((1.0, 1.0, 0.03), (32, 4, 1), (0.0, 0.0, -0.015))
    angle, share = 2 * np.pi * mesh.nodes[:, 0], mesh.nodes[:, 1]
    direction = np.stack([np.cos(angle), np.sin(angle)], 1)
    outer = 0.1 / np.abs(direction).max(axis=1)
    place = direction * (radius + share * (outer - radius))[:, None]
    nodes = np.column_stack([place, mesh.nodes[:, 2]])
    # the seam, where the strip closes to a ring
    rounded = np.round(nodes, 9)
    _, first, same = np.unique(rounded, axis=0, return_index=True, return_inverse=True)
    return Mesh(nodes[first], same.ravel()[mesh.elements])


def test_surface_of_a_box_has_six_patches(bar):
    surface = surface_of(bar)
    patches = patches_of(bar, surface)
    assert patches.size == 6
    areas = np.bincount(patches.of_triangle, patches.areas)
    expected = np.repeat([0.4 * 0.04, 0.4 * 0.02, 0.04 * 0.02], 2)
    assert np.sort(areas)[::-1] == pytest.approx(expected, rel=1e-12)


def test_joints_in_end_faces_hold_all_nodes_of_them(bar):
    joints = [joint('root', 0, 0, 0), joint('tip', 0.4, 0, 0.005)]
    found = find_interfaces(bar, joints)
    for one, x in zip(found, (0.0, 0.4)):
        assert one.shape == 'flat face'
        expected = np.flatnonzero(np.abs(bar.nodes[:, 0] - x) < 1e-9)
        assert np.array_equal(one.interface.nodes, expected)
    assert found[0].summary == (
        'root: flat face, 15 nodes within 0.02 m of the axis and 0.01 m of the origin'
    )


def test_a_joint_on_a_long_face_holds_the_nodes_around_it(bar):
    """Its nearest face is the upper side of the bar, of which it takes one end."""
    [found] = find_interfaces(bar, [joint('camera', 0.35, 0, 0.0105)])
    points = bar.nodes[found.interface.nodes]
    assert np.abs(points[:, 2] - 0.01).max() < 1e-9
    assert 3 < len(points) < 40 and points[:, 0].min() > 0.25


def test_a_joint_in_a_bore_holds_its_wall():
    plate = with_bore()
    [found] = find_interfaces(plate, [joint('pin', 0, 0, 0)])
    assert found.shape == 'cylinder'
    distance = np.linalg.norm(plate.nodes[found.interface.nodes, :2], axis=1)
    # nodes on edges are in the middle of chords of a polygon with 32 corners
    assert distance.max() == pytest.approx(0.02, rel=1e-3)
    assert distance.min() > 0.0199 * np.cos(np.pi / 32)
    assert len(distance) == np.sum(np.linalg.norm(plate.nodes[:, :2], axis=1) < 0.021)
    # an axis across the bore has no cylinder, and no side is near
    across = np.array([1.0, 0, 0])
    with pytest.raises(ReductionError, match='joint "pin" at 0, 0, 0 m has no nodes'):
        find_interfaces(plate, [joint('pin', 0, 0, 0, across)])
    [found] = find_interfaces(plate, [joint('pin', 0.015, 0, 0, across)])
    assert found.shape == 'nearest surface' and found.radius < 0.02


def test_radius_and_depth_take_all_nodes_of_a_cylinder(bar):
    joints = [joint('tip', 0.4, 0, 0, np.array([1.0, 0, 0]))]
    [found] = find_interfaces(bar, joints, radius=0.05, depth=0.06)
    assert np.array_equal(found.interface.nodes, np.flatnonzero(bar.nodes[:, 0] > 0.34 - 1e-9))
    with pytest.raises(ReductionError, match='has no nodes: the mesh is 0.6 m away'):
        find_interfaces(bar, [joint('far', 1.0, 0, 0)], radius=0.05)


def test_joints_on_the_same_face_share_it(bar):
    joints = [joint('root', 0, 0, 0), joint('tip', 0.4, 0, 0), joint('camera', 0.4, 0.01, 0)]
    found = find_interfaces(bar, [*joints, joint('base', 0, 0.01, 0)])
    root, moving, stations = group_joints([one.interface for one in found])
    assert root.name == 'root' and [one.name for one in moving] == ['tip']
    assert [one.interface and one.interface.name for one in stations] == ['tip', 'tip', None]

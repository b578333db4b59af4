"""
Pictures of the shipped robots with closed loops: images/loop_ROBOT.png.

    python docs/loop_pictures.py [ROBOT ...]

The shapes are those of <visual>, in a closed position of the arm.
"""

import sys
from pathlib import Path
from typing import Any

import matplotlib
import numpy as np
from lxml import etree

matplotlib.use('Agg')

import matplotlib.pyplot as plt
from mpl_toolkits.mplot3d.art3d import Poly3DCollection
from scipy.spatial.transform import Rotation

import flex_robot_sim as frs
from flex_robot_sim.display.visuals import origin_of, vector_of
from flex_robot_sim.reduction.stl import read_stl
from flex_robot_sim.viewer.meshes import find_mesh

# positions of the driven joints, and azimuth and elevation of the view [deg]
VIEWS = {
    'four_bar': ({'crank_joint': 0.7}, -90, 4),
    'slide_four_bar': ({'slide': 0.1, 'crank_joint': 0.5}, -70, 45),
    'palletiser': ({'waist_joint': 0.3, 'shoulder': 0.5, 'elbow': -0.2}, -65, 12),
    'delta': ({'arm_1_joint': 0.5, 'arm_2_joint': 0.1, 'arm_3_joint': -0.1}, -60, 12),
    'delta_flexible': ({'arm_1_joint': 0.2, 'arm_2_joint': 0.6, 'arm_3_joint': 0.2}, -60, 12),
    'stewart': ({'leg_1': 0.1, 'leg_2': 0.08, 'leg_4': -0.05, 'leg_5': -0.03}, -50, 14),
}
SIDES = 16  # of a cylinder
FLEXIBLE, ROD = '#2f81f7', '#7d8590'
ROD_RADIUS = 0.004  # of a constraint of the type distance [m]
LIGHT = np.array([0.4, -0.7, 0.6])
SIZE, DPI = (4.6, 4.2), 100


def main(*names):
    """Draw the robots of these names, or all."""
    for name in names or VIEWS:
        draw(name, Path(__file__).parent / 'images' / f'loop_{name}.png', *VIEWS[name])


def draw(name, file, positions, azimuth, elevation):
    """Draw a robot into a file; the arguments are those of VIEWS."""
    arm = frs.load(name)
    simulation = frs.Simulation(arm)
    simulation.set_state([positions.get(joint, 0.0) for joint in arm.joint_names])
    figure = plt.figure(figsize=SIZE)
    axes: Any = figure.add_axes((0, 0, 1, 1), projection='3d')
    faces, colours = [], []
    for polygons, colour in _shapes(arm, simulation):
        faces += polygons
        colours += [_lit(polygon, colour) for polygon in polygons]
    axes.add_collection3d(Poly3DCollection(faces, facecolors=colours))
    points = np.concatenate(faces)
    low, high = points.min(axis=0), points.max(axis=0)
    centre, half = (low + high) / 2, (high - low).max() / 2
    axes.set(**{f'{k}lim': (c - half, c + half) for k, c in zip('xyz', centre)})
    axes.set_box_aspect((1, 1, 1), zoom=1.35)
    axes.view_init(elevation, azimuth)
    axes.set_axis_off()
    figure.savefig(file, dpi=DPI, transparent=True)
    plt.close(figure)


def _shapes(arm, simulation):
    """Yield the polygons of each visual in the base frame, and its colour (3,)."""
    for one in arm.description.constraints:
        if one.kind == 'distance':
            yield _rod(simulation, one), matplotlib.colors.to_rgb(ROD)
    root = etree.fromstring(arm.description.text.encode())
    named = {one.get('name'): _colour(one.find('color')) for one in root.findall('material')}
    for link in root.findall('link'):
        T = simulation.pose(link.get('name'))
        bends = arm.description.link(link.get('name')).beam is not None
        for visual in link.findall('visual'):
            p, R = origin_of(visual)
            material = visual.find('material').get('name')
            colour = matplotlib.colors.to_rgb(FLEXIBLE) if bends else named[material]
            polygons = [
                (np.asarray(one) @ R.T + p) @ T[:3, :3].T + T[:3, 3]
                for one in _polygons(visual.find('geometry')[0])
            ]
            yield polygons, colour


def _rod(simulation, constraint):
    """Polygons of a rod that a constraint of the type distance stands for, in the base frame."""
    ends = []
    for link, p in (
        (constraint.parent, constraint.parent_position),
        (constraint.child, constraint.child_position),
    ):
        T = simulation.pose(link)
        ends.append(T[:3, :3] @ p + T[:3, 3])
    along = ends[1] - ends[0]
    R, _ = Rotation.align_vectors([along], [[0.0, 0.0, 1.0]])
    polygons = _cylinder(ROD_RADIUS, float(np.linalg.norm(along)) / 2)
    return [R.apply(one) + (ends[0] + ends[1]) / 2 for one in polygons]


def _polygons(shape):
    """Polygons of a box, a cylinder or a mesh, in its frame."""
    if shape.tag == 'mesh':
        surface = read_stl(find_mesh(shape.get('filename'), ''))
        yield from surface.points[surface.triangles]
        return
    if shape.tag == 'box':
        half = vector_of(shape.get('size')) / 2
        square = np.array([[-1, -1], [1, -1], [1, 1], [-1, 1]])
        for k in range(3):
            for side in (-1, 1):
                corners = np.empty((4, 3))
                corners[:, [(k + 1) % 3, (k + 2) % 3]], corners[:, k] = square, side
                yield half * corners
        return
    yield from _cylinder(float(shape.get('radius')), float(shape.get('length')) / 2)


def _cylinder(radius, end):
    """Polygons of a cylinder along z, from -end to end."""
    angles = np.linspace(0.0, 2 * np.pi, SIDES + 1)
    ring = radius * np.array([np.cos(angles), np.sin(angles)]).T
    # matplotlib draws short pieces in the right order, also of tubes in a tube
    pieces = max(round(2 * end / radius), 1)
    rings = [
        np.column_stack([ring, np.full(SIDES + 1, z)]) for z in np.linspace(-end, end, pieces + 1)
    ]
    yield from (rings[0], rings[-1])
    for low, high in zip(rings, rings[1:]):
        for k in range(SIDES):
            yield np.array([low[k], low[k + 1], high[k + 1], high[k]])


def _lit(polygon, colour):
    """Colour of a polygon in the light, (4,)."""
    normal = np.cross(polygon[1] - polygon[0], polygon[2] - polygon[1])
    share = abs(normal @ LIGHT) / (np.linalg.norm(normal) * np.linalg.norm(LIGHT))
    return (*np.clip(np.array(colour) * (0.55 + 0.5 * share), 0.0, 1.0), 1.0)


def _colour(element):
    return tuple(vector_of(' '.join(element.get('rgba').split()[:3])))


if __name__ == '__main__':
    main(*sys.argv[1:])

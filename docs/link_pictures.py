"""
Pictures of the shipped robots with links of other shapes than beams: images/link_ROBOT.png.

    python docs/link_pictures.py [ROBOT ...]

The name `strain` draws the upper arm of printed_arm in the colours of the viewer and of rviz.
"""

import sys
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from loop_pictures import LIGHT, draw
from matplotlib.cm import ScalarMappable
from matplotlib.colors import ListedColormap
from mpl_toolkits.mplot3d.art3d import Poly3DCollection

import flex_robot_sim as frs
from flex_robot_sim.display.colours import colour_ramp
from flex_robot_sim.display.reduced_surface import link_surfaces

# positions of the joints, and azimuth and elevation of the view [deg]
VIEWS = {
    'tapered_boom': ({'slew': 0.3, 'luff': 0.5}, -65, 12),
    'telescopic_boom': (
        {'slew': 0.3, 'luff': 0.6, 'extend_middle': 1.8, 'extend_inner': 1.5},
        -65,
        12,
    ),
    'curved_arm': ({'slew': 0.3, 'lift': 0.1}, -75, 12),
    'printed_arm': ({'waist': 0.3, 'shoulder': 0.6, 'elbow': -0.9}, -65, 16),
}
SIZE, DPI = (6.4, 2.6), 110


def main(*names):
    """Draw the robots of these names, or all."""
    for name in names or (*VIEWS, 'strain'):
        if name == 'strain':
            draw_strain()
            continue
        draw(name, Path(__file__).parent / 'images' / f'link_{name}.png', *VIEWS[name])


def draw_strain():
    """Draw the upper arm of printed_arm in the colours of its strain under a force at its tip."""
    arm = frs.load('printed_arm', gravity=(0.0, 0.0, 0.0))
    (surface,) = (one for one in link_surfaces(arm) if one.link == 'upper_arm')
    # the forearm begins at the tip
    q = frs.equilibrium(arm, pushes=[frs.Push('forearm', force=(0.0, 0.0, -1.0))]).q
    q /= surface.load(q).max()  # the force that leads to the full colour
    corners, load = surface.deformed(q)[surface.triangles], surface.load(q)
    colours = colour_ramp()
    rows = np.minimum(load * (len(colours) - 1), len(colours) - 1).astype(int)
    figure = plt.figure(figsize=SIZE)
    axes: Any = figure.add_axes((0.0, -0.6, 1.0, 2.46), projection='3d')
    lit = np.array([0.7 + 0.3 * abs(one) for one in _normals(corners) @ LIGHT])
    faces = colours[rows] * np.column_stack([lit, lit, lit, np.ones(len(lit))])
    axes.add_collection3d(Poly3DCollection(corners, facecolors=faces))
    low, high = corners.min(axis=(0, 1)), corners.max(axis=(0, 1))
    axes.set(**{f'{k}lim': ends for k, ends in zip('xyz', zip(low, high))})
    axes.set_box_aspect(high - low, zoom=0.9)
    axes.view_init(18, -80)
    axes.set_axis_off()
    bar = figure.add_axes((0.25, 0.17, 0.5, 0.05))
    scale = ScalarMappable(cmap=ListedColormap(colours))
    figure.colorbar(scale, cax=bar, orientation='horizontal', ticks=[])
    bar.set_xlabel('strain, from none to full colour', color='#7d8590')
    file = Path(__file__).parent / 'images' / 'link_strain.png'
    figure.savefig(file, dpi=DPI, transparent=True)
    plt.close(figure)


def _normals(corners):
    normals = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 1])
    return normals / np.linalg.norm(normals, axis=1, keepdims=True)


if __name__ == '__main__':
    main(*sys.argv[1:])

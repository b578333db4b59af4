"""An arm whose link is a straight bar, of finite elements in a file, or a beam."""

from dataclasses import replace
from functools import lru_cache

import numpy as np
from box_meshes import box_mesh
from spatial_arms import mass_of

from flex_robot_sim.reduction.elasticity import Material
from flex_robot_sim.reduction.reduce_mesh import reduce_mesh
from flex_robot_sim.reduction.reduced_file import write_reduced
from flex_robot_sim.reduction.supports import Interface

LENGTH, WIDTH, HEIGHT = 1.0, 0.03, 0.02  # along x, y, z
E, DENSITY = 7e10, 2700.0  # without lateral contraction, as a beam
MASS = DENSITY * LENGTH * WIDTH * HEIGHT
TOOL_MASS, TOOL_CENTRE = 0.4, '0.05 0 0.02'
MODES = '<modes bending_y="4" bending_z="4" torsion="2"/>'
BEAM = f'<rectangle width="{WIDTH}" height="{HEIGHT}"/><material E="7e10" G="3.5e10"/>{MODES}'
REDUCED = '<reduced file="arm.npz" modes="8"/>'


def bar_robot(inside, name='bar', axis='0 0.8 0.6'):
    across = MASS / 12
    return f"""<robot name="{name}"><link name="base"/>
{mass_of('arm', MASS, '0.5 0 0', (MASS * 1300e-6 / 12, across, across))}
{mass_of('tool', TOOL_MASS, TOOL_CENTRE, (0.001, 0.002, 0.0015))}
<joint name="hinge" type="continuous"><parent link="base"/><child link="arm"/>
<axis xyz="{axis}"/></joint>
<joint name="tip" type="fixed"><parent link="arm"/><child link="tool"/>
<origin xyz="1 0 0"/></joint>
<flexibility><link name="arm" end="1 0 0">{inside}</link></flexibility></robot>"""


@lru_cache
def reduced_bar(counts=(12, 1, 1)):
    """Return the reduced link "arm"."""
    mesh = box_mesh((LENGTH, WIDTH, HEIGHT), counts, (0.0, -WIDTH / 2, -HEIGHT / 2))
    x = mesh.nodes[:, 0]
    root = Interface('hinge', np.zeros(3), np.flatnonzero(x < 1e-9))
    tip = Interface('tip', np.array([1.0, 0, 0]), np.flatnonzero(x > 1 - 1e-9))
    return replace(reduce_mesh(mesh, Material(E, 0.0, DENSITY), [root, tip]), link='arm')


def write_bar(folder, inside=REDUCED, link=None, **options):
    """Write the reduced link and the robot to a folder; return the path of the robot."""
    write_reduced(folder / 'arm.npz', link or reduced_bar())
    path = folder / 'arm.urdf'
    path.write_text(bar_robot(inside, **options))
    return path

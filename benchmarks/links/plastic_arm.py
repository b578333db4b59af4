"""An arm of two equal bars of finite elements, without terms of second order."""

import tempfile
from pathlib import Path

import numpy as np
from box_meshes import box_mesh

import flex_robot_sim as frs
from flex_robot_sim.reduction.elasticity import Material, assemble
from flex_robot_sim.reduction.freedoms import Mass, freedoms_of
from flex_robot_sim.reduction.reduce_model import Model, Source, reduce_model
from flex_robot_sim.reduction.reduced_file import write_reduced
from flex_robot_sim.reduction.shapes import make_shapes
from flex_robot_sim.reduction.supports import Interface, RigidSupport

LENGTH, WIDTH, HEIGHT = 0.5, 0.02, 0.012  # of both bars [m]
PLASTIC = Material(8e9, 0.35, 1200.0)
MODES = 2  # in addition to six static shapes
ELBOW = np.array([0.0, 0.8, 0.6])  # axis; that of the shoulder is y
LINKS = ('upper', 'fore')


class PlasticBar:
    """A bar of finite elements with rigid ends, its shapes, and the arm of two of them."""

    def __init__(self):
        origin = 0.0, -WIDTH / 2, -HEIGHT / 2
        mesh = box_mesh((LENGTH, WIDTH, HEIGHT), (10, 1, 1), origin)
        self.nodes = mesh.nodes  # (N, 3) [m]
        x = self.nodes[:, 0]
        self.root, self.tip = (
            Interface(name, np.array([at, 0.0, 0.0]), np.flatnonzero(np.abs(x - at) < 1e-9))
            for name, at in (('shoulder', 0.0), ('elbow', LENGTH))
        )
        self._stiffness, self.mass = assemble(mesh, PLASTIC)  # by node, (N, N) [kg]
        freedoms = freedoms_of(self.nodes)
        support = RigidSupport(freedoms, self._stiffness, self.root, [self.tip])
        shapes = make_shapes(support, Mass(self.mass), MODES)
        self.shapes = freedoms.displacements(shapes.values)  # (N, 3, n)
        self.stiffness = np.diag(shapes.stiffness)
        self.tip_shape = support.motion(self.tip, shapes.values)  # rotation, displacement: (6, n)

    def arm(self, gravity=(0.0, 0.0, 0.0)):
        """Return the ArmModel of two such bars, as `<reduced>` links."""
        with tempfile.TemporaryDirectory() as folder:
            for name in LINKS:
                write_reduced(Path(folder, f'{name}.npz'), self._reduced(name))
            path = Path(folder, 'arm.urdf')
            path.write_text(self._robot())
            return frs.load(path, gravity=gravity)

    def _reduced(self, name):
        # without the mesh, its matrices give no terms of second order
        model = Model(freedoms_of(self.nodes), self._stiffness, Mass(self.mass))
        return reduce_model(model, [self.root, self.tip], MODES, source=Source(name))

    def _robot(self):
        link = self._reduced('any')
        xx, yy, zz = np.diag(link.inertia)
        inertial = (
            f'<inertial><origin xyz="{LENGTH / 2} 0 0"/><mass value="{link.mass:.17g}"/><inertia '
            f'ixx="{xx:.17g}" iyy="{yy:.17g}" izz="{zz:.17g}" ixy="0" ixz="0" iyz="0"/></inertial>'
        )
        reduced = ''.join(
            f'<link name="{name}" end="{LENGTH} 0 0"><reduced file="{name}.npz"/></link>'
            for name in LINKS
        )
        return f"""<robot name="plastic_arm"><link name="base"/>
<link name="upper">{inertial}</link><link name="fore">{inertial}</link><link name="tool"/>
<joint name="shoulder" type="continuous"><parent link="base"/><child link="upper"/>
  <axis xyz="0 1 0"/></joint>
<joint name="elbow" type="continuous"><parent link="upper"/><child link="fore"/>
  <origin xyz="{LENGTH} 0 0"/><axis xyz="{ELBOW[0]} {ELBOW[1]} {ELBOW[2]}"/></joint>
<joint name="mount" type="fixed"><parent link="fore"/><child link="tool"/>
  <origin xyz="{LENGTH} 0 0"/></joint>
<flexibility>{reduced}</flexibility></robot>"""

"""Times of steps of two links, and of the reduction of a block of finite elements."""

from time import process_time

import numpy as np
from box_meshes import box_mesh

import flex_robot_sim as frs
from benchmarks.elastic_time import COORDINATES, curved_chain
from benchmarks.limits import Row
from benchmarks.timing import holding_gains, seconds
from flex_robot_sim.reduction.elasticity import Material
from flex_robot_sim.reduction.reduce_mesh import reduce_mesh
from flex_robot_sim.reduction.supports import Interface

STEPS, ROUNDS = 2000, 15
FEW_SHAPES = {'bending_y': 2, 'torsion': 1}  # of a strip that bends more easily along y
# twist coupling, shapes and limit [us]
STRIPS: tuple[tuple[bool, dict[str, int], float], ...] = (
    (False, FEW_SHAPES, 12.0),
    (True, FEW_SHAPES, 12.0),
    (True, {}, 15.0),
)
ALUMINIUM = Material(7e10, 0.33, 2700.0)
LENGTH, WIDTH = 0.5, 0.1  # of a solid bar [m]
CELLS = ((22, 7, 8.0), (56, 10, 50.0))  # along, across, limit [s]


def rows(quick):
    """Yield the Rows of this module."""
    words = f'two curved links of {COORDINATES} coordinates each'
    yield _step(words, frs.load(curved_chain(2)), 12.0)
    for choice, counts, limit in STRIPS:
        arm = _strips(choice, counts)
        words = f'two strips of {arm.nq // 2 - 1} coordinates each, {"" if choice else "no "}twist'
        yield _step(f'{words} coupling', arm, limit)
    for along, across, limit in () if quick else CELLS:
        yield _reduction(along, across, limit)


def _step(words, arm, limit):
    simulation = frs.Simulation(arm)
    simulation.hold(np.zeros(2), *holding_gains(arm))
    simulation.step(STEPS)
    times = [seconds(lambda: simulation.step(STEPS), process_time) for _ in range(ROUNDS)]
    return Row(f'step of {words}', min(times) / STEPS * 1e6, limit, 'us')


def _strips(twist_coupling, counts):
    """Return an arm of two steel strips of 0.5 m with a tool."""
    builder = frs.ArmBuilder('strips').add_rigid('tool', mass=0.1, inertia=(1e-4, 1e-4, 1e-4))
    for number, parent in enumerate(('base', 'strip_0')):
        name = f'strip_{number}'
        builder.add_beam(
            name,
            length=0.5,
            material='steel',
            section=frs.Rectangle(0.004, 0.03),
            twist_coupling=twist_coupling,
            damping_ratio=0.01,
            bending_y=counts.get('bending_y'),
            torsion=counts.get('torsion'),
        )
        builder.add_joint(f'joint_{number}', parent=parent, child=name, axis='y', effort=100)
    return builder.attach('tool', parent='strip_1').build()


def _reduction(along, across, limit):
    mesh = box_mesh((LENGTH, WIDTH, WIDTH), (along, across, across))
    x = mesh.nodes[:, 0]
    ends = [
        Interface(name, np.array([at, WIDTH / 2, WIDTH / 2]), np.flatnonzero(abs(x - at) < 1e-9))
        for name, at in (('root', 0.0), ('tip', LENGTH))
    ]
    time = seconds(lambda: reduce_mesh(mesh, ALUMINIUM, ends), process_time)
    words = f'reduction of a solid bar of {len(mesh.nodes):,} nodes, processor time'
    return Row(words, time, limit, 's')

"""Time of a step of two curved links, and of the reduction of a block of finite elements."""

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
ALUMINIUM = Material(7e10, 0.33, 2700.0)
LENGTH, WIDTH = 0.5, 0.1  # of a solid bar [m]
CELLS = ((22, 7, 8.0), (56, 10, 50.0))  # along, across, limit [s]


def rows(quick):
    """Yield the Rows of this module."""
    arm = frs.load(curved_chain(2))
    simulation = frs.Simulation(arm)
    simulation.hold(np.zeros(2), *holding_gains(arm))
    simulation.step(STEPS)
    times = [seconds(lambda: simulation.step(STEPS), process_time) for _ in range(ROUNDS)]
    words = f'step of two curved links of {COORDINATES} coordinates each'
    yield Row(words, min(times) / STEPS * 1e6, 12.0, 'us')
    for along, across, limit in () if quick else CELLS:
        yield _reduction(along, across, limit)


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

"""
Two links of finite elements, compared with floating frames of Exudyn.

Both sides have the same nodes, mass, shapes and stiffness, without shortening. A constant torque
turns the arm at the shoulder, from rest and without weight: Exudyn applies the weight at the
undeformed centre of mass. The elbow is free, and its axis is inclined to that of the shoulder.
Both paths are extrapolated to short steps.
"""

import numpy as np

import flex_robot_sim as frs
from benchmarks.limits import Row
from benchmarks.links.plastic_arm import ELBOW, LENGTH, LINKS, PlasticBar
from benchmarks.loops.exudyn_linkage import Linkage
from benchmarks.precision import extrapolated, tip_error

ARM = 2e-3  # distance of two points on the elbow [m]
PERIOD, SAMPLES = 0.02, 25  # [s]
STEPS = 200  # in a sample
TORQUE = 0.4  # at the shoulder [N m]
NO_WEIGHT = (0.0, 0.0, 0.0)


def rows(quick):
    """Yield the Row of this module."""
    bar, samples = PlasticBar(), 5 if quick else SAMPLES
    arm = bar.arm()
    (coarse, _), (fine, bending) = (_ours(arm, n, samples) for n in (STEPS, 2 * STEPS))
    theirs = [_theirs(bar, n, samples) for n in (STEPS, 2 * STEPS)]
    yield Row(
        f'two links of finite elements, bent by {bending:.1%}, floating frames of Exudyn',
        tip_error(extrapolated(coarse, fine), extrapolated(*theirs)),
        1e-4,
        'of the travel',
    )


def _ours(arm, steps, samples):
    """Return the path of the tool, (samples + 1, 3) [m], and the bending over the length."""
    simulation = frs.Simulation(arm, frs.SimulationSettings(time_step=PERIOD / steps))
    simulation.effort = [TORQUE, 0.0]
    path, bending = [simulation.pose('tool')[:3, 3]], 0.0
    for _ in range(samples):
        simulation.step(steps)
        path.append(simulation.pose('tool')[:3, 3])
        tips = [simulation.deflection[name] for name in LINKS]
        bending = max(bending, *(np.abs(tip[:3]).max() for tip in tips))
    return np.array(path), bending / LENGTH


def _theirs(bar, steps, samples):
    """Return the path of the tool in Exudyn, (samples + 1, 3) [m]."""
    linkage = Linkage(NO_WEIGHT)
    groups = [_mean(bar, end, at) for end in (bar.root, bar.tip) for at in (0.0, ARM)]
    upper, fore = (
        linkage.floating_frame(
            np.array([start, 0.0, 0.0]),
            np.eye(3),
            bar.nodes,
            bar.mass,
            bar.shapes,
            bar.stiffness,
            groups,
        )
        for start in (0.0, LENGTH)
    )
    shoulder = np.array([0.0, 1.0, 0.0])
    linkage.hinge(linkage.ground([0.0, 0.0, 0.0]), upper[0], _axes(shoulder))
    linkage.two_point_hinge(upper[3:], fore[1:3], _axes(ELBOW))
    linkage.apply_torque(upper[0], TORQUE, shoulder)
    linkage.watch('tool', fore[3])
    return linkage.run(steps, PERIOD * samples, samples)['tool']


def _mean(bar, end, distance):
    """Return nodes of an end and weights, by which their mean is off the centre along ELBOW."""
    arms = bar.nodes[end.nodes] - end.origin
    spread = np.linalg.pinv(arms.T @ arms)
    return end.nodes, 1 / len(arms) + arms @ spread @ (distance * ELBOW)


def _axes(axis):
    """Return axes (3, 3) whose z axis is `axis`, across x."""
    x = np.array([1.0, 0.0, 0.0])
    return np.column_stack([x, np.cross(axis, x), axis])

"""
The task of the work-precision table: the two-link arm swings for two seconds under PD.

Gears are rigid and rotors have no inertia, so that only the links differ. The links have no
damping, because every library models it differently. Every library gets the same arm, start,
target, gains and gravity. The path of the tool determines the error.
"""

from dataclasses import replace
from time import perf_counter

import numpy as np

import flex_robot_sim as frs

END = 2.0  # [s]
SAMPLES = 100  # points of the path
START = (0.0, 0.6, -0.9)  # waist, shoulder, elbow [rad]
TARGET = (0.25, 0.9, -0.6)
STIFFNESS = (40.0, 40.0, 15.0)  # [N m/rad]
DAMPING = (4.0, 4.0, 1.0)  # [N m s/rad]


def described(modes=None, segments=None):
    """
    Return the RobotDescription of the task.

    :param modes: in each of both bending planes; segments: of each link. Default: the description.
    """
    robot = frs.read_description('two_link')
    joints = tuple(
        replace(joint, stiffness=np.inf, damping=0.0, rotor_inertia=0.0) for joint in robot.joints
    )
    return replace(
        robot,
        joints=joints,
        links=tuple(_with_beam(link, modes, segments) for link in robot.links),
    )


def _with_beam(link, modes, segments):
    if link.beam is None:
        return link
    coordinates = dict(link.beam.coordinates)
    if modes:
        coordinates.update(bending_y=modes, bending_z=modes)
    beam = replace(
        link.beam,
        damping_ratio=0.0,
        damping_time=0.0,
        coordinates=coordinates,
        segments=segments or link.beam.segments,
    )
    return replace(link, beam=beam)


def servos(description):
    """Joint -> (stiffness, damping, target, start) of the task."""
    return dict(zip(description.joint_names, zip(STIFFNESS, DAMPING, TARGET, START)))


def swing(arm, steps, samples=SAMPLES, iterations=2):
    """
    Return the path of the tool, (samples + 1, 3) [m], and the wall time of the steps [s].

    :param arm: ArmModel of the task; steps: in each of the samples, which divide the time evenly.
    """
    settings = frs.SimulationSettings(time_step=END / samples / steps, iterations=iterations)
    simulation = frs.Simulation(arm, settings)
    simulation.set_state(START)
    simulation.hold(TARGET, STIFFNESS, DAMPING)
    path, wall = [simulation.pose('tool')[:3, 3]], 0.0
    for _ in range(samples):
        started = perf_counter()
        simulation.step(steps)
        wall += perf_counter() - started
        path.append(simulation.pose('tool')[:3, 3])
    return np.array(path), wall

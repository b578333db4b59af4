"""
Performance of the default controller of the launch file with every shipped robot.

`python -m benchmarks.held_robots` prints the table of docs/tune_controller.md. Each joint moves by
up to 0.2 rad or 0.05 m, with the parameters of simulation.launch.py. States come every 2 ms and
efforts are a period late, unless the servo is in the drives.
"""

import sys
from typing import NamedTuple

import numpy as np

import flex_robot_sim as frs
from flex_robot_sim.analysis.joint_space_inertia import joint_space_inertia
from flex_robot_sim.control.controller_settings import ControllerSettings
from flex_robot_sim.control.drive_servo import pass_to_drives
from flex_robot_sim.control.gains import carrying_efforts
from flex_robot_sim.control.joint_controller import JointController
from flex_robot_sim.control.servo import CONTINUOUS
from flex_robot_sim.motion.limits import effort_limits, rate_limits
from flex_robot_sim.motion.trajectory import Trajectory
from flex_robot_sim.system.launch_arguments import SimulationArguments
from flex_robot_sim.system.processes import BOTH

TURN, SLIDE = 0.2, 0.05  # of the move                                       [rad, m]
SHORTEST = 2.0  # duration of the move                                   [s]
EFFORT_SHARE = 0.25  # share of the motor reserve that the move may use
PEAK_RATE, PEAK_ACCELERATION = 15 / 8, 5.8  # of minimum jerk
SETTLED_TURN, SETTLED_SLIDE = 0.01, 0.002  # from the target                       [rad, m]
WATCHED = 60.0  # after the move                                         [s]
PERIOD = 2e-3  # of states                                              [s]


class Held(NamedTuple):
    """Result of the move of a robot."""

    place: str  # of the servo
    frequency: float  # of its gains                                                  [Hz]
    duration: float  # of the move                                                    [s]
    settling: float  # from its end until all drives stay near their targets          [s]
    error: float  # of the drive that is furthest from its target at the end  [rad, m]


def held(name, watched=WATCHED):
    """Return the Held of a shipped robot with the parameters of the launch file."""
    program = SimulationArguments(robot=name, use_rviz=False).programs()[0]
    arm = frs.load(name, gravity=program.parameters.get('gravity'))
    in_drives = program.executable == BOTH
    simulation = frs.Simulation(arm)
    controller = JointController(
        arm, ControllerSettings(), sampling=CONTINUOUS if in_drives else None
    )
    drives, slides = arm.actuated, np.array([unit == 'm' for unit in arm.units])
    start = simulation.position if arm.closed_loops else np.zeros(drives.size)
    goal, duration = move_of(arm, start, np.where(slides, SLIDE, TURN) * drives)
    effort, rows = np.zeros(drives.size), []

    def run(until):
        nonlocal effort
        while simulation.time < until - 1e-9:
            late = effort
            effort = controller.update(
                simulation.time,
                simulation.position,
                simulation.velocity,
                simulation.motor_position,
                simulation.motor_velocity,
            ).copy()
            simulation.effort = (
                pass_to_drives(controller, simulation, effort) if in_drives else late
            )
            simulation.step(round(PERIOD / simulation.settings.time_step))
            rows.append(np.abs(simulation.motor_position - goal)[drives])

    run(1.0)
    names = [name for name, driven in zip(arm.joint_names, drives) if driven]
    still = np.zeros(len(names))
    controller.follow(
        Trajectory(names, [duration], [goal[drives]], [still], [still]), simulation.time
    )
    run(simulation.time + duration)
    rows.clear()
    run(simulation.time + watched)
    tolerance = np.where(slides, SETTLED_SLIDE, SETTLED_TURN)[drives]
    away = np.any(np.array(rows) > tolerance, axis=1)
    last = np.flatnonzero(away)
    settling = 0.0 if not last.size else PERIOD * (last[-1] + 1)
    return Held(
        'drives' if in_drives else 'controller',
        controller.servo.frequency,
        duration,
        np.inf if away[-1] else settling,
        float(rows[-1].max()),
    )


def move_of(arm, start, size):
    """Return a goal (joints,) [rad, m] and a duration [s], within the limits of arm and motors."""
    goal = np.clip(start + size, arm.arrays.lower, np.maximum(0.5 * arm.arrays.upper, start))
    travel = np.abs(goal - start)
    left = effort_limits(arm) - np.abs(carrying_efforts(arm, goal))
    pull = PEAK_ACCELERATION * joint_space_inertia(arm).largest * travel
    times = [
        SHORTEST,
        *np.sqrt(pull / (EFFORT_SHARE * np.maximum(left, 1e-9))),
        *(PEAK_RATE * travel / rate_limits(arm)),
    ]
    return goal, float(np.ceil(max(times)))


def measure(quick=False):
    """Return {robot: Held}."""
    names = ['single_link', 'dual_screw_arm'] if quick else frs.robots()
    # a base that moves leaves no place to settle at
    names = [name for name in names if frs.read_description(name).base_motion is None]
    return {name: held(name, 5.0 if quick else WATCHED) for name in names}


def as_text(result):
    """Lines of the table."""
    for name, one in result.items():
        settling = 'never' if np.isinf(one.settling) else f'{one.settling:.2f} s'
        yield (
            f'`{name}`',
            f'{one.place} | {one.frequency:.2g} Hz | {one.duration:.0f} s | '
            f'{settling} | {1e3 * one.error:.2f}',
        )


if __name__ == '__main__':
    print(
        '| robot | control loop runs in | bandwidth | duration of the move | settling time '
        '| error [mrad, mm] |'
    )
    print('|---|---|---|---|---|---|')
    for words, value in as_text(measure('--quick' in sys.argv)):
        print(f'| {words} | {value} |', flush=True)

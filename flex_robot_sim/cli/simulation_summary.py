"""Summary of `flexsim simulate`: state, energies and base at the end, and errors at the goal."""

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from flex_robot_sim.cli.simulate_move import lines_of_residual
from flex_robot_sim.cli.simulation_table import (
    Rows,
    contact_forces,
    has_moving_base,
    largest_deflections,
    motor_positions,
)
from flex_robot_sim.control.gains import Servo
from flex_robot_sim.control.steady_state_error import hold_tolerance, steady_state_error
from flex_robot_sim.description.orientation import roll_pitch_yaw
from flex_robot_sim.model.friction import static_frictions
from flex_robot_sim.simulation.simulation import Simulation
from flex_robot_sim.spatial.turns import rotation

END_SHARE = 0.1  # final share of the rows in which the arm must be at its goal


def summary_of(simulation: Simulation, rows: Rows, wall_time: float) -> dict[str, Any]:
    """Return the summary, as --json prints it, from the rows of the table and the time [s]."""
    energy = simulation.energy()
    names = simulation.arm.joint_names
    return {
        'robot': simulation.arm.description.name,
        'time': simulation.time,
        'unit': dict(zip(names, simulation.arm.units)),
        'position': dict(zip(names, simulation.position.tolist())),
        'velocity': dict(zip(names, simulation.velocity.tolist())),
        'energy': {key: float(value) for key, value in energy._asdict().items()},
        **_base_summary(simulation),
        'largest_deflection': largest_deflections(simulation.arm, rows[1:]),
        'contact_force': {
            name: force.tolist() for name, force in contact_forces(simulation).items()
        },
        'wall_time': wall_time,
        'times_real_time': simulation.time / wall_time,
        'reports': list(simulation.reports),
    }


def _base_summary(simulation):
    """Return pose, twist and, if it is free, momentum of a base that moves."""
    if not has_moving_base(simulation.arm):
        return {}
    base = {
        'base_pose': simulation.base_pose.tolist(),
        'base_twist': simulation.base_twist.tolist(),
    }
    if simulation.arm.has_free_base:
        base['momentum'] = simulation.momentum().tolist()
    return base


def goal_summary(
    goal: np.ndarray, simulation: Simulation, rows: Rows, servo: Servo
) -> dict[str, str]:
    """Return lines about the distance from the goal at the end, and at rest."""
    missed = _goal_error_line(simulation.arm, goal, rows, servo.stiffness)
    return {
        'missed': missed,
        'steady_state_error': '' if missed else _error_at_rest(simulation, goal, servo),
    }


def as_text(summary: Mapping[str, Any]) -> Iterator[str]:
    """Yield the summary as lines of text."""
    yield (
        f'{summary["robot"]}: {summary["time"]:.6g} s in {summary["wall_time"]:.3g} s, '
        f'{summary["times_real_time"]:.0f} times real time'
    )
    for name, unit in summary['unit'].items():
        yield (
            f'  {name}: {summary["position"][name]:.6g} {unit}, '
            f'{summary["velocity"][name]:.6g} {unit}/s'
        )
    # the work of a moved base is part of the work
    names = {'work': 'work with that of the base'} if _is_moved(summary) else {}
    yield '  energy [J]: ' + ', '.join(
        f'{names.get(key, key)} {value:.6g}' for key, value in summary['energy'].items()
    )
    yield from _base_lines(summary)
    if summary.get('gains'):
        yield f'  {summary["gains"]}'
    for link, size in summary['largest_deflection'].items():
        yield f'  {link}: tip moved by up to {size * 1e3:.4g} mm'
    for name, force in summary['contact_force'].items():
        yield f'  contact {name}: force {" ".join(f"{value:.4g}" for value in force)} N'
    yield from lines_of_residual(summary)
    notes = [*filter(None, [summary.get('steady_state_error')]), *summary['reports']]
    yield from (f'  note: {line}' for line in notes)


def _is_moved(summary):
    return 'base_pose' in summary and 'momentum' not in summary


def _base_lines(summary):
    """Yield pose, twist and momentum of a base that moves."""
    if 'base_pose' not in summary:
        return
    pose = np.array(summary['base_pose'])
    angles = roll_pitch_yaw(rotation(pose[3:]))
    yield f'  base: at {_numbers(pose[:3])} m, roll pitch yaw {_numbers(angles)} rad'
    twist = summary['base_twist']
    yield f'  base twist, in its axes: {_numbers(twist[:3])} rad/s, {_numbers(twist[3:])} m/s'
    if 'momentum' in summary:
        momentum = summary['momentum']
        yield (
            f'  momentum: angular {_numbers(momentum[:3])} N m s, '
            f'linear {_numbers(momentum[3:])} N s'
        )


def _numbers(values):
    return ' '.join(f'{value + 0.0:.6g}' for value in values)


def _goal_error_line(arm, pose, rows, stiffness):
    """
    Return a line about the drive with the largest error at the end, '' if all have arrived.

    :param stiffness: of the servo, (joints,) [N m/rad, N/m].
    """
    end_positions = motor_positions(arm, rows[-max(2, round(END_SHARE * len(rows))) :])
    errors = np.abs(end_positions - pose).max(axis=0)
    allowed = hold_tolerance(arm)
    worst = int(np.argmax(errors / allowed))
    if errors[worst] <= allowed[worst]:
        return ''
    name, unit = arm.joint_names[worst], arm.units[worst]
    line = f'"{name}" is {errors[worst]:.3g} {unit} from --to at the end. '
    friction = static_frictions(arm.arrays.friction)[worst]
    if stiffness[worst] * errors[worst] < friction:
        effort = arm.effort_units[worst]
        return (
            f'{line}Its servo of {stiffness[worst]:.2g} {effort}/{unit} is too soft for its '
            f'friction of {friction:.2g} {effort}: give it a --stiffness of '
            f'{friction / allowed[worst]:.2g}, or --integral 0.2 and more --seconds'
        )
    return f'{line}Give more --seconds, or other --stiffness and --damping'


def _error_at_rest(simulation, pose, servo):
    """Line about the joint that ends furthest from its pose though it is held, or ''."""
    return steady_state_error(
        simulation.arm,
        servo,
        np.array(pose),
        simulation.position,
        simulation.motor_position,
        simulation.velocity,
        '--to',
    )

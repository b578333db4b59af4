"""Logs of shipped arms that differ from their descriptions, with errors of gauges and encoders."""

from dataclasses import replace

import numpy as np

import flex_robot_sim as frs
from flex_robot_sim.analysis.flex_sensors import flex_sensors
from flex_robot_sim.description.robot_parameters import parameters_of, with_parameters
from flex_robot_sim.identification.identify import identify
from flex_robot_sim.identification.log_file import Column, Log
from flex_robot_sim.identification.prediction import Setup
from flex_robot_sim.identification.sequences import make_data_set
from flex_robot_sim.model.assembly import build_arm
from flex_robot_sim.simulation.rollout import rollout
from flex_robot_sim.util.share import shipped_robots

RATE = 500.0  # of the log                                                        [Hz]
STEP = 2.5e-4  # of the truth                                                      [s]
COUNTS = 65536  # of an encoder, in a turn
CURVATURE_STEP = 2e-4  # of the converter of a gauge                                       [1/m]
CURVATURE_NOISE = 4e-4  # deviation                                                         [1/m]
DELAY = 4e-3  # of what is measured                                               [s]
OFF = {
    'single_link': {
        'arm.stiffness': 0.87,
        'arm.damping_ratio': 1.6,
        'motor.coulomb': 0.01,
        'tip_mass.mass': 1.15,
    },
    'two_link': {
        'upper_arm.stiffness': 0.9,
        'upper_arm.GJ': 1.12,
        'upper_arm.damping_ratio': 1.5,
        'forearm.stiffness': 1.08,
        'forearm.damping_ratio': 1.3,
        'waist.stiffness': 0.88,
        'shoulder.coulomb': 0.15,
        'payload.mass': 1.1,
    },
}
"""What differs from the description: a factor, or friction [N m]."""
SERVO = {'single_link': ([3.0], [0.35]), 'two_link': ([160.0, 160.0, 40.0], [12.0, 12.0, 2.0])}


def values_of(name, description):
    """Return the numbers of the arm that is measured, by path."""
    known = parameters_of(description)
    return {
        path: factor if path.endswith('coulomb') else factor * known[path].value
        for path, factor in OFF[name].items()
    }


def truth(name):
    """Return the arm that is measured, and its numbers by path."""
    text = shipped_robots()[name].read_text(encoding='utf-8')
    # more than a fit tries
    text = text.replace('bending_y="2"', 'bending_y="6"').replace('bending_z="2"', 'bending_z="6"')
    description = frs.read_description(text.replace('torsion="1"', 'torsion="3"'))
    values = values_of(name, description)
    return build_arm(with_parameters(description, values)), values


def reference(joints, seed):
    """Return a function from time to positions and rates: sums of sines, which begin at rest."""
    random = np.random.default_rng(seed)
    rates = 2 * np.pi * np.geomspace(0.1, 3.0, 9)[:, None] * random.uniform(0.8, 1.2, (9, joints))
    sizes = 0.25 / np.sqrt(rates / rates.min())
    phases = random.uniform(0, 2 * np.pi, (9, joints))

    def at(t):
        grown = 1 - np.exp(-((t / 0.7) ** 3))
        slope = 3 * t**2 / 0.7**3 * np.exp(-((t / 0.7) ** 3))
        wave = (sizes * (np.sin(rates * t + phases))).sum(axis=0)
        return grown * wave, slope * wave + grown * (
            sizes * rates * np.cos(rates * t + phases)
        ).sum(axis=0)

    return at


def record(name, seconds, seed=0, has_faults=True, arm=None, motion=None):
    """
    Return the Log of an arm that follows a motion by a servo.

    :param motion: function from time to positions and rates; None: sines.
    """
    arm = arm or truth(name)[0]
    random, sensors = np.random.default_rng([seed, 7]), flex_sensors(arm)
    simulation = frs.Simulation(arm, frs.SimulationSettings(time_step=STEP))
    joints = len(arm.joint_names)
    at = motion or reference(joints, seed)
    rest = frs.equilibrium(arm, np.zeros(joints))
    simulation.set_state(q=rest.q)
    simulation.effort = rest.effort
    every, late = round(1 / RATE / STEP), round(DELAY / STEP) if has_faults else 0

    def servo(time, simulation):
        place, rate = at(time)
        simulation.hold(place, *SERVO[name], rate)

    log = rollout(
        simulation,
        duration=seconds + late * STEP,
        controller=servo,
        record=('motor_position', 'position', 'q', 'mean_effort'),
    )
    rows = np.hstack([log.motor_position, log.position, log.q @ sensors.matrix.T, log.mean_effort])
    # mean effort around the sample: of the step before it and of the step after it
    rows[0, -joints:] = rest.effort
    rows[1:-1, -joints:] = 0.5 * (rows[1:-1, -joints:] + rows[2:, -joints:])
    seen = np.vstack([np.repeat(rows[:1], late, axis=0), rows])[: len(rows) - late : every]
    efforts = rows[: len(rows) - late : every, -joints:]
    if has_faults:
        turn = 2 * np.pi / COUNTS
        seen[:, : 2 * joints] = turn * np.round(seen[:, : 2 * joints] / turn)
        gauges = seen[:, 2 * joints : -joints]
        gauges += random.normal(0, CURVATURE_NOISE, gauges.shape)
        gauges[:] = CURVATURE_STEP * np.round(gauges / CURVATURE_STEP)
    clock = np.arange(len(seen)) / RATE
    columns = {}
    for j, joint in enumerate(arm.joint_names):
        columns[f'motor/{joint}'] = seen[:, j]
        columns[f'position/{joint}'] = seen[:, joints + j]
        columns[f'effort/{joint}'] = efforts[:, j]
    for k, sensor in enumerate(sensors.names):
        columns[sensor] = seen[:, 2 * joints + k]
    return Log(name, {key: Column(clock, values) for key, values in columns.items()}, [])


def identified(name, log, free, factor=1.0, finer=None):
    """Return the Identification of an arm whose description is stiffer by a factor."""
    description = frs.read_description(name)
    stiff = [path for path in OFF[name] if path.endswith('arm.stiffness')]
    description = with_parameters(description, dict.fromkeys(stiff, factor))
    setup = Setup(description, make_data_set([log], build_arm(description)))
    return identify(setup if finer is None else replace(setup, finer=finer), free)

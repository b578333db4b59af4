"""Trial of the gauges of a log with the described arm, before a fit."""

from __future__ import annotations

from collections.abc import Sequence as Rows
from dataclasses import replace

import numpy as np

from flex_robot_sim.identification.bench_parameters import is_gauge
from flex_robot_sim.identification.fit import Problem
from flex_robot_sim.identification.gauge_assignment import (
    assign_gauges,
    assignment_lines,
    reassigned,
)
from flex_robot_sim.identification.gauge_unit import refuse_other_units
from flex_robot_sim.identification.imu import imu_channel
from flex_robot_sim.identification.initial_guess import COARSE_STEP_S, spectral_start
from flex_robot_sim.identification.parameters import unknowns_of
from flex_robot_sim.identification.prediction import Setup, starts_at_rest
from flex_robot_sim.identification.sequences import Sequence
from flex_robot_sim.util.exceptions import FlexRobotSimError

TRIAL_DURATION_S = 12.0  # of each sequence


def with_plausible_gauges(
    setup: Setup, validation: Rows[Sequence], free: Rows[str] = ()
) -> tuple[Setup, Rows[Sequence], list[str]]:
    """
    Return a setup and validation sequences with the most plausible gauges, and notes.

    Motions that begin with unknown vibration, and gauges with declared filters, stay as they are.

    :param free: what the fit estimates; gains of gauges among it may be far from 1.
    """
    data = setup.data
    rows = [k for k, name in enumerate(data.channels) if is_gauge(name) and not imu_channel(name)]
    sequences = [sequence for sequence in data.sequences if starts_at_rest(sequence)]
    if not rows or not sequences or setup.filters:
        return setup, validation, []
    parts = [
        sequence.part(0, max(2, round(TRIAL_DURATION_S / sequence.period)))
        for sequence in sequences
    ]
    trial = replace(setup, finer=0, time_step=setup.time_step or COARSE_STEP_S)
    problem = Problem(trial, unknowns_of(setup.arm(), data, ['stiffness']), sequences=parts)
    try:
        predicted = np.concatenate(problem.simulated(spectral_start(problem)))
    except (FlexRobotSimError, np.linalg.LinAlgError):
        return setup, validation, []
    measured = np.concatenate([part.measured for part in parts])
    columns = assign_gauges(measured[:, rows], predicted[:, rows])
    names = [data.channels[k] for k in rows]
    notes = assignment_lines(names, columns)
    if not notes:
        fitted = {
            data.channels[unknown.channel]
            for unknown in unknowns_of(setup.arm(), data, free)
            if unknown.kind == 'gain'
        }
        tables = measured[:, rows], predicted[:, rows]
        refuse_other_units(parts[0].name, setup.description, names, *tables, fitted)
        return setup, validation, []
    changed = data._replace(sequences=reassigned(data.sequences, rows, columns))
    return replace(setup, data=changed), reassigned(validation, rows, columns), notes

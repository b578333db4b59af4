"""
Step of the simulation for all of a long log, from parts that are spread over it (I13).

The step is chosen for the beginning of a log. Later motion may be faster and need a shorter one.
"""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import numpy as np

from flex_robot_sim.identification import model_order
from flex_robot_sim.identification.drive_terms import driven
from flex_robot_sim.identification.fit import Fit, processors
from flex_robot_sim.identification.log_simulation import LogSimulation, channels_of
from flex_robot_sim.identification.long_fit import LongFit
from flex_robot_sim.identification.sensor_terms import rate_signs, read
from flex_robot_sim.identification.uncertainty import Uncertainty, inverse_information

WHOLE_OVER_HALF = 4 / 3  # error of a step over the change by half of it: it is of second order
MAX_EXCESS = 4.0  # of the limit of the bias: half of the step has a quarter of it
PARTS = 4
PART_S = 8.0
TRANSIENT_S = 2.0  # after the start of a part


def step_notes(long_fit: LongFit, fit: Fit, found: Uncertainty) -> list[str]:
    """Return a line on the parameter with the largest bias by the step, if that is too large."""
    limit = model_order.MAX_SHIFT_STDS * np.maximum(found.deviations, model_order.MIN_STD)
    bias = np.abs(step_bias(long_fit, fit))
    # nan: half of the step loses the state
    excess = np.nan_to_num(bias / limit)[: len(long_fit.unknowns)]
    k = int(np.argmax(excess))
    if excess[k] < MAX_EXCESS:
        return []
    return [
        f'later parts of the log need a shorter step: {long_fit.unknowns[k].path} is off by '
        f'{bias[k] / found.deviations[k]:.2g} standard deviations. '
        f'Give --time-step {_with_half_step(long_fit.problem).time_step:g}'
    ]


def step_bias(long_fit: LongFit, fit: Fit) -> np.ndarray:
    """Return the z (p,) of a Fit minus that with vanishing steps, from parts of the log."""
    parts, thinning = _parts(long_fit), long_fit.thinning
    setups = long_fit.problem.setup, _with_half_step(long_fit.problem)
    starts = np.cumsum([0, *long_fit.lengths])

    def change(part):
        """Return the thinned change of the outputs, and its rows."""
        row, begin, _ = part
        whole, half = (_outputs(long_fit, fit.z, setup, part) for setup in setups)
        first = -begin % thinning.every  # slopes are those of one in `every` samples
        table = thinning.apply(((half - whole) / fit.deviations)[first:])
        period = long_fit.whole[row].period
        count = min(round(TRANSIENT_S / period / thinning.every), len(table) // 3)
        row_begin = starts[row] + (begin + first) // thinning.every
        return table[count:], np.arange(row_begin + count, row_begin + len(table))

    with ThreadPoolExecutor(processors()) as pool:
        changes = list(pool.map(change, parts))
    rows = np.concatenate([rows for _, rows in changes])
    part_fit = fit._replace(jacobian=fit.jacobian[rows], weights=fit.weights[rows])
    inverse, _ = inverse_information(part_fit)
    weighted = part_fit.weights * np.concatenate([table for table, _ in changes])
    return WHOLE_OVER_HALF * inverse @ np.einsum('tcp,tc->p', part_fit.jacobian, weighted)


def _parts(long_fit):
    """Return sequence, first sample and end of parts that are spread over all fitted samples."""
    candidates = []
    for row, sequence in enumerate(long_fit.problem.sequences):
        count = round(PART_S / sequence.period)
        for begin in sorted(long_fit.last_responses[row].states):
            if begin == 0 or begin + count <= len(sequence.time):
                candidates.append((row, begin, min(begin + count, len(sequence.time))))
    chosen = np.linspace(0, len(candidates) - 1, PARTS).round().astype(int)
    return [candidates[k] for k in np.unique(chosen)]


def _outputs(long_fit, z, setup, part):
    """Return the outputs (k, c) along a part, from the state of the last responses."""
    problem, (row, begin, end) = long_fit.problem, part
    sequence = driven(problem.sequences[row].part(begin, end), problem.unknowns, z)
    arm, delay = setup.arm(problem.arm_values(z)), problem.values(z).get('delay', 0.0)
    simulation = LogSimulation(setup, problem.servo, arm, sequence, delay)
    simulation.continue_from(0, long_fit.last_responses[row].states[begin])
    motion = simulation.advance(len(sequence.time))
    channels = channels_of(setup, arm, sequence, motion, delay)
    return read(channels, rate_signs([sequence]), problem.unknowns, z)


def _with_half_step(problem):
    """Return the Setup of a problem with half of the step that its simulation uses."""
    period = min(row.period for row in problem.sequences)
    step = period / np.ceil(period / problem.step - 1e-6)
    return replace(problem.setup, time_step=float(0.5 * step))

"""
Several logs of `two_link`, fitted together and each alone.

`python -m benchmarks.identify --only logs_alone`

The logs are those of an arm with more modes than described. In the second case, the forearm of the
last log is stiffer, as after a change of its clamp.
"""

import numpy as np

import flex_robot_sim as frs
from benchmarks.identification.shipped_arm_log import OFF, record, truth
from flex_robot_sim.description.robot_parameters import with_parameters
from flex_robot_sim.identification.identify import identify
from flex_robot_sim.identification.prediction import Setup
from flex_robot_sim.identification.sequences import make_data_set
from flex_robot_sim.model.assembly import build_arm

ROBOT, CHANGED = 'two_link', 'forearm.stiffness'
LOGS, SECONDS = 3, 10.0  # of a log
CHANGE = 1.05  # factor of the last log


def fitted(change, seconds=SECONDS):
    """Return the Identification of all logs, and the true values of each by path."""
    arm, values = truth(ROBOT)
    factors = [1.0] * (LOGS - 1) + [change]
    true = [{**values, CHANGED: factor * values[CHANGED]} for factor in factors]
    logs = []
    for seed, factor in enumerate(factors):
        # a stiffness is a factor of that of the description
        plant = build_arm(with_parameters(arm.description, {CHANGED: factor}))
        logs.append(record(ROBOT, seconds, seed, arm=plant)._replace(path=f'log {seed}'))
    description = frs.read_description(ROBOT)
    setup = Setup(description, make_data_set(logs, build_arm(description)))
    return identify(setup, [*OFF[ROBOT], 'delay']), true


def logs_alone(quick=False):
    """Return what the logs say alone, for equal arms and for a changed one."""
    out = {}
    for change in (1.0, CHANGE):
        found, true = fitted(change, 4.0 if quick else SECONDS)
        alone = [found.log_estimates[f'log {k}'] for k in range(LOGS)]
        errors = [
            estimates[path].value / values[path] - 1
            for estimates, values in zip(alone, true)
            for path in values
            if path in estimates
        ]
        factor = np.nan
        if all(CHANGED in estimates for estimates in alone):
            rows = [estimates[CHANGED].value for estimates in alone]
            factor = rows[-1] / np.mean(rows[:-1])
        joint = next(one for one in found.estimates if one.path == CHANGED)
        interval = joint.interval
        out[f'factor {change:g}'] = {
            'factor found': round(float(factor), 4),
            'median error alone': float(f'{np.median(np.abs(errors)):.2g}'),
            'largest error alone': float(f'{np.max(np.abs(errors)):.2g}'),
            'values alone': len(errors),
            'reported': [note for note in found.notes if note.startswith('logs differ')],
            'all true values in the interval': all(
                interval[0] <= values[CHANGED] <= interval[1] for values in true
            ),
            'error of the joint fit': float(
                f'{joint.value / np.mean([values[CHANGED] for values in true]) - 1:.2g}'
            ),
        }
    return out

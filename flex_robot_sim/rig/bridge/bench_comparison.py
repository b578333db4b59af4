"""
Comparison of an experiment with its simulation on the same inputs.

The simulated bench starts in the state of the real one when the motors were switched on. It runs
freely on the duties and pulses of the log, so that model errors accumulate. Chu and others,
section 4, compare such curves of their bench (figures 19 to 22); steady states differ by 3.5 %.
"""

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from flex_robot_sim.rig.bench.drives import Drives
from flex_robot_sim.rig.bench.parts import SLIDE
from flex_robot_sim.rig.bridge.bridge import RigState
from flex_robot_sim.rig.bridge.experiment_log import Experiment, durations
from flex_robot_sim.rig.bridge.twin import Twin, TwinSettings
from flex_robot_sim.rig.estimation.estimator_settings import EstimatorSettings
from flex_robot_sim.rig.estimation.joint_tracker import MAX_READING_GAP, JointTracker
from flex_robot_sim.rig.estimation.shape_tracker import ShapeTracker
from flex_robot_sim.rig.wire.vocabulary import MOVING
from flex_robot_sim.util.exceptions import UsageError
from flex_robot_sim.util.summary import summarized

STEADY_STATE_SHARE = 0.1  # the steady state is the mean over this last share of a run
MIN_RANGE = 1e-9  # below it a quantity counts as constant


class BenchQuantity(NamedTuple):
    """A quantity, measured and simulated."""

    name: str
    unit: str
    bench: np.ndarray  # (k,)
    simulation: np.ndarray  # (k,)

    @property
    def difference(self) -> np.ndarray:
        """Bench minus simulation, (k,)."""
        return self.bench - self.simulation

    def figures(self, runs: Sequence[slice]) -> dict[str, float]:
        """
        Figures of the difference; nan if the bench did not move or a sensor was broken.

        :param runs: slices of rows, each from switching the motors on to switching them off.
        """
        # within runs only: between them, a new origin or a hand may have moved the joint
        span = float(np.max([np.ptp(self.bench[run]) for run in runs]))
        rms = float(np.sqrt(np.mean(self.difference**2)))
        ends = [
            self.difference[
                run.stop - max(1, round(STEADY_STATE_SHARE * (run.stop - run.start))) : run.stop
            ]
            for run in runs
        ]
        steady = float(np.mean([abs(end.mean()) for end in ends]))
        share = 100.0 / span if span > MIN_RANGE else np.nan
        return {
            'range': span,
            'rms_difference': rms,
            'largest_difference': float(np.abs(self.difference).max()),
            'rms_percent': rms * share,
            'steady_percent': steady * share,
        }


@summarized
class BenchComparison(NamedTuple):
    """A whole experiment, reduced to the rows with the motors on."""

    time: np.ndarray  # since the motors were first switched on [s], (k,)
    duty: np.ndarray  # of the DC motor, (k,)
    step_rate: np.ndarray  # of the stepper [steps/s], (k,)
    runs: tuple[slice, ...]  # from switching on to off, or to a gap
    quantities: tuple[BenchQuantity, ...]
    missing: float  # gaps of the log while the motors were on [s]


def compare(experiment: Experiment, estimator: str = 'least_squares') -> BenchComparison:
    """Simulate an Experiment and return both; UsageError if the motors were never on."""
    arm, calibration = experiment.arm, experiment.calibration
    shapes = ShapeTracker(arm, calibration, EstimatorSettings(estimator=estimator))
    twin = Twin(arm, calibration, shapes.link, TwinSettings(twin=True, twin_time_constant=0.0))
    time, rows, missing, was_on, moving_count = 0.0, [], 0.0, False, 0
    for state in states_of(experiment):
        time += state.duration
        is_on = state.reading.message.state in MOVING
        if is_on and was_on and state.duration > MAX_READING_GAP:
            missing += state.duration
        was_on = is_on
        moving_count += is_on
        shapes.take(state)
        shape = shapes.link_state
        residual = twin.take(state, shape)
        message = state.reading.message
        if is_on and residual is not None:
            rows.append(
                (
                    time,
                    message.duty,
                    message.step_rate,
                    *state.position,
                    *shape.curvature,
                    shape.tip[1],
                    *residual.position,
                    *residual.curvature,
                    residual.tip,
                )
            )
    if len(rows) < 2 <= moving_count:
        raise UsageError(
            'the flex sensors do not determine the shape of the link at any time at '
            'which the motors were on. Mend the sensor, or take --estimator kalman.'
        )
    if len(rows) < 2:
        raise UsageError('the motors were never on in this log: there is nothing to compare.')
    table = np.array(rows)
    names = [
        *zip(arm.joint_names, ('m', 'rad')),
        *((name, '1/m') for name in shapes.sensors),
        (f'{shapes.link}/tip_deflection', 'm'),
    ]
    bench, residual = np.split(table[:, 3:], 2, axis=1)
    quantities = tuple(
        BenchQuantity(name, unit, measured, measured - difference)
        for (name, unit), measured, difference in zip(names, bench.T, residual.T)
    )
    return BenchComparison(
        table[:, 0] - table[0, 0],
        table[:, 1],
        table[:, 2],
        _runs(table[:, 0]),
        quantities,
        missing,
    )


def states_of(experiment: Experiment) -> Iterator[RigState]:
    """Yield a RigState for each reading, as the bridge does."""
    tracker = JointTracker(experiment.calibration, EstimatorSettings())
    drives = Drives(experiment.arm, experiment.calibration)
    for reading, duration in zip(experiment.readings, durations(experiment.readings)):
        message = reading.message
        tracker.take(message, duration)
        effort = 0.0, 0.0
        if message.state in MOVING:
            effort = drives.force(message.duty, tracker.velocity[SLIDE]), 0.0
        yield RigState(
            reading, duration, tracker.has_restarted, tracker.position, tracker.velocity, effort
        )


def _runs(times):
    """Return slices of rows without a gap."""
    steps = np.diff(times)
    edges = np.flatnonzero(steps > 5.0 * np.median(steps)) + 1
    ends = [0, *edges.tolist(), len(times)]
    return tuple(slice(a, b) for a, b in zip(ends, ends[1:]))


def summary(comparison: BenchComparison) -> dict[str, Any]:
    """Return the output of `flexsim rig compare`, fit for JSON: nan becomes None."""

    def plain(value):
        return value if np.isfinite(value) else None

    return {
        'duration_s': float(sum(np.ptp(comparison.time[run]) for run in comparison.runs)),
        'readings': len(comparison.time),
        'runs': len(comparison.runs),
        'missing_s': comparison.missing,
        'quantities': {
            quantity.name: {
                'unit': quantity.unit,
                **{
                    name: plain(value) for name, value in quantity.figures(comparison.runs).items()
                },
            }
            for quantity in comparison.quantities
        },
    }

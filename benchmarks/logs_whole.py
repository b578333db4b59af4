"""
Modes that `flexsim shape --log` finds in logs of stops, with the move in the log.

`python -m benchmarks.logs_whole`, part of `python -m benchmarks.control`. The arms are models in
MuJoCo, see stop_logs.py.
"""

import numpy as np

from flex_robot_sim.analysis.recorded_vibration import resonances

CASES = 16
NEAR = 0.01  # relative error of a frequency that counts as found
MIN_SECOND = 0.5  # amplitude of a second mode that counts, over that of the first
COVERED = 2.0  # standard deviations


def logs_whole(quick=False):
    """Return counts of frequencies found, of second modes, and of those within 2 deviations."""
    try:
        from benchmarks.stop_logs import stop_log
    except ImportError as error:
        return {'reason': str(error)}
    errors, second, covered = [], [], []
    for case in range(4 if quick else CASES):
        log = stop_log(case)
        rate = (len(log.times) - 1) / (log.times[-1] - log.times[0])
        found, _ = resonances(rate, log.samples)
        error, near = nearest(found, log.frequencies[0])
        errors.append(error)
        if near is not None:
            covered.append(error * log.frequencies[0] / near.frequency_deviation < COVERED)
        if len(log.amplitudes) > 1 and log.amplitudes[1] > MIN_SECOND * log.amplitudes[0]:
            second.append(nearest(found, log.frequencies[1])[0] < NEAR)
    return {
        'logs': len(errors),
        'found': int(np.sum(np.array(errors) < NEAR)),
        'worst_error': float(max(errors)),
        'second_modes': len(second),
        'second_found': int(np.sum(second)),
        'within_2_deviations': int(np.sum(covered)),
    }


def nearest(found, frequency):
    """Return relative error and Resonance of the mode nearest to a frequency; 1 and None."""
    if not found:
        return 1.0, None
    near = min(found, key=lambda mode: abs(mode.frequency - frequency))
    return abs(near.frequency / frequency - 1), near


def as_lines(found):
    """Lines of the table."""
    if 'reason' in found:
        yield 'logs with the move', f'not measured: {found["reason"]}'
        return
    yield (
        'logs with the move',
        (
            f'{found["found"]} of {found["logs"]} frequencies within {NEAR:.0%}, worst '
            f'{found["worst_error"]:.2%}; {found["second_found"]} of {found["second_modes"]} '
            f'second modes; {found["within_2_deviations"]} within 2 standard deviations'
        ),
    )


if __name__ == '__main__':
    for line in as_lines(logs_whole()):
        print(': '.join(line))

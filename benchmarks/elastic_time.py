"""
Time of one step, one evaluation and its derivatives for curved links with 8 coordinates each.

`python -m benchmarks.elastic_time`
"""

import numpy as np

import flex_robot_sim as frs
from benchmarks.derivatives_time import CALLS as FORWARD_CALLS
from benchmarks.derivatives_time import DERIVATIVE_CALLS
from benchmarks.derivatives_time import calls_of as derivative_calls
from benchmarks.step_time import CALLS, flexible_chain
from benchmarks.timing import holding_gains, in_turns

LINKS = (1, 2, 5)
COORDINATES = 8  # of each link


def curved_chain(links, count=COORDINATES):
    """Return the text of a robot of curved links, each on a hinge."""
    return flexible_chain(
        links,
        '0.3 0.1 0.02',
        '0.15 0.06 0.01',
        'ixx="3e-4" iyy="0.00225" izz="0.0025"',
        '<axis points="0 0 0  0.15 0.08 0  0.3 0.1 0.02"/>',
        f'count="{count}"',
    )


def measure(quick=False):
    """Return all figures of this part."""
    rounds, found = 15 if quick else 41, {}
    for links in LINKS:
        arm = frs.load(curved_chain(links))
        sim = frs.Simulation(arm)
        sim.hold(np.zeros(links), *holding_gains(arm))
        forward, slopes = derivative_calls(arm)
        rows = in_turns([lambda sim=sim: sim.step(CALLS), forward, slopes], rounds)
        found[links] = {
            'step_us': min(rows[0]) / CALLS * 1e6,
            'forward_dynamics_us': min(rows[1]) / FORWARD_CALLS * 1e6,
            'derivatives_us': min(rows[2]) / DERIVATIVE_CALLS * 1e6,
        }
    return {'elastic': found}


def as_text(result):
    """Lines of the table."""
    for links, row in result['elastic'].items():
        yield (
            f'{links} curved link{"s" * (links > 1)}, {COORDINATES} coordinates each',
            f'step {row["step_us"]:.2f} us, forward dynamics '
            f'{row["forward_dynamics_us"]:.2f} us, its derivatives {row["derivatives_us"]:.2f} us',
        )


if __name__ == '__main__':
    for what, value in as_text(measure()):
        print(f'{what:42s} {value}')

"""
Time of one evaluation of each formulation, and condition numbers, against the number of links.

`python -m benchmarks.formulations_time`
"""

from functools import partial

import numpy as np

import flex_robot_sim as frs
from benchmarks.step_time import flexible_chain
from benchmarks.timing import in_turns
from flex_robot_sim.analysis.jacobians import pose
from flex_robot_sim.dynamics.mass_matrix import mass_matrix
from flex_robot_sim.formulations import FORMULATIONS, make
from flex_robot_sim.formulations.rigid_motions import adjoint, frame, inverse
from flex_robot_sim.formulations.wrench_dae import make as make_wrench_dae
from flex_robot_sim.util.exceptions import SettingError

LINKS = (1, 2, 4, 8, 16)  # of 6 coordinates each
LONGEST = 0.3  # a formulation that takes longer is not run with more links    [s]


def measure(quick=False):
    """Return all figures of this page."""
    times: dict[str, list] = {name: [] for name in FORMULATIONS}
    conditions: dict[str, list[float]] = {
        name: [] for name in ('mass_matrix', 'wrench_dae', 'wrench_dae_in_base')
    }
    for links in LINKS[:4] if quick else LINKS:
        arm = frs.load(flexible_chain(links))
        q, qd = 0.01 * np.random.default_rng(0).normal(size=(2, arm.size))
        force = np.zeros(arm.size)
        for name, row in times.items():
            if row and (row[-1] is None or row[-1] > LONGEST * 1e6):
                row.append(None)
                continue
            try:
                formulation = make(name, arm)
            except SettingError:
                row.append(None)
                continue
            taken = in_turns([partial(formulation.accelerations, q, qd, force)], 3 if quick else 9)
            row.append(min(taken[0]) * 1e6)
        conditions['mass_matrix'].append(float(np.linalg.cond(mass_matrix(arm.arrays, q))))
        system = make_wrench_dae(arm)
        stacked = system.solve(q, qd, force).matrix.toarray()
        conditions['wrench_dae'].append(float(np.linalg.cond(stacked)))
        conditions['wrench_dae_in_base'].append(
            float(np.linalg.cond(in_base(arm, q, system.row_start, stacked)))
        )
    return {
        'formulation_links': list(LINKS[:4] if quick else LINKS),
        'formulation_us': times,
        'formulation_condition': conditions,
    }


def in_base(arm, q, row_start, stacked):
    """Stacked matrix whose constraints are written in the base frame, as in (25) of the paper."""
    turned = stacked.copy()
    for link, (body, R, p) in arm.frames.items():
        if body >= 0:
            rows = slice(row_start[body], row_start[body] + 6)
            place = pose(arm, q, link=link) @ inverse(frame(R, p))
            turned[rows] = adjoint(place) @ stacked[rows]
    return turned


def as_text(result):
    """Lines of the table."""
    links = result['formulation_links']
    yield 'one evaluation from Python [us]', ' '.join(f'{f"{n} links":>9s}' for n in links)
    for name, row in result['formulation_us'].items():
        yield (
            f'  {name}',
            ' '.join(f'{"-" if one is None else format(one, ".0f"):>9s}' for one in row),
        )
    for name, row in result['formulation_condition'].items():
        yield f'  condition, {name}', ' '.join(f'{one:9.1e}' for one in row)


if __name__ == '__main__':
    for what, value in as_text(measure()):
        print(f'{what:34s} {value}')

"""
Computing costs claimed by the papers, as ratios of two methods in the same language and process.

`python -m benchmarks.paper_costs`

Times of another machine and language are not comparable, so the ratios are.
"""

import itertools
from functools import partial
from time import process_time

import numpy as np

import flex_robot_sim as frs
from benchmarks.timing import in_turns, median_ratio
from flex_robot_sim.formulations import element_sum, stiffened
from flex_robot_sim.formulations.dual_projection import Projections
from flex_robot_sim.formulations.dual_screw import PAPER, DualScrew
from flex_robot_sim.formulations.screw_kinematics import FORMS, bodies, jacobians, twists

ROUNDS, QUICK = 15, 3
LINEARISED, GEOMETRIC = 3901 / 314, 181 / 11  # ratios of the paper on dual screws
ELEMENTS = 32  # rigid ones in each finite element


def measure(quick=False):
    """Return all ratios of this page, larger than one where the method of the paper is cheaper."""
    rounds = QUICK if quick else ROUNDS
    arm = frs.load('dual_screw_arm', coupling='zero_order')
    q, u = 1e-3 * np.random.default_rng(0).normal(size=(2, arm.size))
    linear, nonlinear, force = DualScrew(arm, PAPER), stiffened.make(arm), np.zeros(arm.size)
    found = {
        'linearised': _ratio(
            partial(nonlinear.accelerations, q, u, force),
            partial(_by_matrices, linear, q, u),
            rounds,
        ),
        'geometric': _ratio(
            partial(_by_differences, linear, q, u),
            partial(_projections, linear, q, u),
            max(rounds // 3, 2),
        ),
    }
    examples = {}
    for name in ('element_sum_1', 'element_sum_2'):
        arm = frs.load(f'element_sum_arm_{name[-1]}')
        state = 1e-3 * np.random.default_rng(0).normal(size=(2, arm.size))
        pieces = max(
            len(shapes.breaks) - 1
            for beam in arm.beams.values()
            for shapes in beam.shapes.values()
        )
        for rigid in (1, ELEMENTS):
            ours, theirs = (
                partial(way.mass_matrix_and_bias, *state)
                for way in (stiffened.make(arm), element_sum.make(arm, rigid * pieces))
            )
            examples[f'{name}, {rigid}'] = _ratio(ours, theirs, rounds)
    found['element_sum'] = examples
    rows, size = _rigid_chain(), 6
    q, u = np.random.default_rng(0).normal(size=(2, size))
    found['twists'] = _by_form(partial(twists, rows, q, u), rounds)
    found['jacobians'] = _by_form(partial(jacobians, rows, q), rounds)
    return {'paper_costs': found}


def _ratio(usual, proposed, rounds):
    # time of the processor, as in the papers
    return median_ratio(*in_turns([usual, proposed], rounds, process_time))


def _by_form(function, rounds):
    """Times of the forms over that of the spatial one."""
    times = dict(
        zip(FORMS, in_turns([partial(function, form) for form in FORMS], 4 * rounds, process_time))
    )
    return {form: median_ratio(times[form], times['spatial']) for form in FORMS}


def _by_matrices(dual, q, u):
    """Accelerations (111), as the paper writes them, in numpy."""
    M, C, _, tau = dual.system(q, u)
    return np.linalg.solve(M, tau - C @ u)


def _projections(dual, q, u):
    """Projection matrices of all points, and their rates by the geometric rule."""
    projections: Projections = dual.projections
    return projections.project_points(projections.links(q), dual.points, q, u)


def _by_differences(dual, q, u, step=1e-6):
    """Rates of the projection matrices by differences and the chain rule."""
    rate = 0.0
    for k, unit in enumerate(np.eye(len(q))):
        ahead, behind = (_projections(dual, q + s * unit, u) for s in (step, -step))
        rate = rate + (ahead.jacobian - behind.jacobian) * (u[k] / (2 * step))
    return rate


def _rigid_chain():
    """Bodies of six rigid links in a row, on hinges about x, y and z in turn."""
    axes = itertools.cycle(('1 0 0', '0 1 0', '0 0 1'))
    links = ''.join(
        f'<link name="l{i}"><inertial><mass value="1"/><inertia ixx="0.1" iyy="0.1" izz="0.1" '
        f'ixy="0" ixz="0" iyz="0"/></inertial></link><joint name="j{i}" type="continuous">'
        f'<parent link="{f"l{i - 1}" if i else "base"}"/><child link="l{i}"/>'
        f'<origin xyz="0.3 0.1 0"/><axis xyz="{axis}"/></joint>'
        for i, axis in zip(range(6), axes)
    )
    return bodies(frs.load(f'<robot name="chain"><link name="base"/>{links}</robot>'))


def as_text(result):
    """Lines of the table."""
    found = result['paper_costs']
    yield (
        'one evaluation, nonlinear over linearised',
        f'{found["linearised"]:.2f} (paper, symbols: {LINEARISED:.1f})',
    )
    yield (
        'rates of screws, differences over geometric rule',
        f'{found["geometric"]:.1f} (paper, symbols: {GEOMETRIC:.1f})',
    )
    for name, ratio in found['element_sum'].items():
        example, rigid = name.split(', ')
        yield (
            f'{example}: quadrature over a sum, {rigid} rigid each',
            f'{ratio:.2f} (paper: no figure)',
        )
    for what in ('twists', 'jacobians'):
        yield (
            f'{what}: {", ".join(found[what])} over spatial',
            ', '.join(f'{ratio:.2f}' for ratio in found[what].values()),
        )


if __name__ == '__main__':
    for words, value in as_text(measure()):
        print(f'{words:56s} {value}')

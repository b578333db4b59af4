"""What both examples of the element-sum paper have in common: bang-bang runs, two integrations."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from scipy.linalg import eigh

from flex_robot_sim.analysis.deflection import tip_deflection
from flex_robot_sim.formulations import Formulation, element_sum, make
from flex_robot_sim.model.arm_model import ArmModel
from flex_robot_sim.reproduce.comparison import (
    Comparison,
    claim,
    needing,
    not_comparable,
    same_curve,
)
from flex_robot_sim.reproduce.courses import Course, courses, largest
from flex_robot_sim.reproduce.motion import (
    Effort,
    Progress,
    Run,
    apart,
    forces_of,
    integrate,
    simulate,
    springs,
    within,
)
from flex_robot_sim.reproduce.options import Options
from flex_robot_sim.reproduce.report import Number, Pictures, Reproduction
from flex_robot_sim.util.plots import WIDE, Chart, Curve

STEP = 4e-4                 # stable for rk4 up to 7000 rad/s               [s]
COARSE, FINE = 4, 32        # rigid elements in every finite element
SINGULAR = 1e14             # condition from which no digits of a solution are left
WAYS = ('conventional', 'proposed', 'proposed, fine')
# colour, dashes, marks and width of each
LOOKS: tuple[Any, ...] = ((5, 0, False, WIDE), (1, 1), (4, 2))


Values = Callable[[ArmModel, Run], np.ndarray]      # a curve (k,) of a Run


class Shown(NamedTuple):
    """A curve of the paper."""

    name: str
    place: str              # in the paper
    title: str
    label: str              # of the values, with their unit
    values: Values


class Example(NamedTuple):
    """One of the examples."""

    robot: str
    figures: tuple[str, str]                    # name and title
    effort: Effort
    seconds: float
    inputs: tuple[tuple[str, str, str], ...]    # joint, title, label
    curves: tuple[Shown, ...]
    numbers: Callable[[ArmModel, Run], Iterable[Number]]    # of the conventional Run
    printed: Callable[[ArmModel], Comparison]   # with a mass that the paper prints
    about: str                                  # what is compared between both ways
    unknown: str                                # what the paper does not print
    chosen: tuple[str, ...]


def reproduced(example: Example, progress: Progress, options: Options) -> Reproduction:
    """Return the Reproduction of an Example."""
    seconds = options.seconds or example.seconds
    arm = options.arm(example.robot)
    runs, figures, found = runs_of(arm, example.effort, seconds, progress, options.formulations)
    shares = {one.name: differences(runs, partial(one.values, arm)) for one in example.curves}
    charts = [input_chart(arm, example.effort, seconds, *row) for row in example.inputs]
    charts += [chart(one.title, one.label, runs, partial(one.values, arm))
               for one in example.curves]
    return Reproduction(
        (Pictures(*example.figures, tuple(charts)),),
        tuple(comparisons(example, arm, shares, seconds)),
        (*example.numbers(arm, runs[WAYS[0]]), *figures), found,
        max(largest(found), *(share[-1] for share in shares.values())),
        f'coordinates of all nonlinear formulations, {example.about}, with {FINE} rigid elements '
        'in each finite element', (*example.chosen, 'no damping'))


def comparisons(example: Example, arm: ArmModel, shares: Mapping[str, Sequence[float]],
                seconds: float) -> Iterator[Comparison]:
    """Compare both ways, as the figures do, and a printed mass."""
    rows = []
    for one in example.curves:
        for count, share in zip((COARSE, FINE), shares[one.name]):
            rows.append(same_curve(
                f'{one.name}, proposed way with {count} rigid elements in each finite element '
                'against the conventional way', one.place, share,
                reason='nothing damps the vibration, and a small difference in frequency adds '
                       'up to a phase', paper='close resemblance'))
    yield from needing(example.seconds, seconds, rows)
    yield claim('highest rate of the arm with as many rigid elements as finite elements, over '
                f'that with {FINE} times as many', 'equation (25)', 'one element is both',
                highest_rate(arm, 1) / highest_rate(arm, FINE), '',
                'print of a frequency with three digits', upper=1.005,
                reason='a rigid element whose middle neither moves nor turns has no inertia')
    yield example.printed(arm)
    yield not_comparable('values of the curves', example.figures[0].replace('_', ' '),
                         'printed as pictures', example.unknown)


def highest_rate(arm: ArmModel, count: int) -> float:
    """Highest natural rate with `count` rigid elements in each finite element [rad/s]."""
    K, _ = springs(arm)
    M = element_sum.make(arm, count * _pieces(arm)).mass_matrix(np.zeros(arm.size))
    if np.linalg.cond(M) > SINGULAR:
        return np.inf
    return float(np.sqrt(eigh(K, M, eigvals_only=True).max()))


def of(name: str) -> Values:
    """Return a function of an arm and a Run that gives a coordinate over time."""
    return lambda arm, run: run.of(arm, name)


def at_tip(link: str, row: int) -> Values:
    """Likewise the tip deflection across a link [m] (row 1) or the slope there [rad] (row 5)."""
    return lambda arm, run: np.array([np.asarray(tip_deflection(arm, link, q))[row]
                                      for q in run.q])


def bang_bang(sizes: Sequence[float], halves: Sequence[float], rise: float = 0.0) -> Effort:
    """
    Return efforts over time: `sizes` (joints,), as much the other way, and then none.

    :param halves: end of the first and of the second half [s]; rise: how long a change takes [s].
    """
    levels = np.asarray(sizes, float)

    def change(t):
        s = min(max(t / rise, 0.0), 1.0) if rise else float(t >= 0.0)
        return s * s * (3 - 2 * s)

    def effort(t, q=None, qd=None):
        return levels * (change(t) - 2 * change(t - halves[0]) + change(t - halves[1]))

    return effort


def runs_of(arm: ArmModel, effort: Effort, seconds: float, progress: Progress,
            has_courses: bool = True) -> tuple[dict[str, Run], list[Number], dict[str, Course]]:
    """
    Return {way: Run}, Numbers about them, and a Course for each formulation.

    'conventional' integrates shape functions, as the recursion does; the proposed way takes
    COARSE and then FINE rigid elements for every finite element.

    :param has_courses: whether the other formulations run, too.
    """
    force, rest, runs = forces_of(arm, effort), np.zeros(arm.size), {}
    runs[WAYS[0]] = simulate(arm, effort, rest, rest, STEP, seconds, 'rk4')
    numbers = [Number('first natural frequency, conventional',
                      lowest(arm, make('recursion', arm)), 'Hz')]
    for k, (name, count) in enumerate(zip(WAYS[1:], (COARSE, FINE))):
        formulation, started = element_sum.make(arm, count * _pieces(arm)), time.perf_counter()
        runs[name] = integrate(formulation.accelerations, force, rest, rest, STEP, seconds,
                               progress=within(progress, 0.2 * k, 0.2 * (k + 1)))
        numbers += [Number(f'the same, {count} rigid elements each', lowest(arm, formulation),
                           'Hz'),
                    Number(f'computing, {count} rigid elements each',
                           time.perf_counter() - started, 's')]
    for name, count in (('1 rigid element', 1), (f'{FINE} rigid elements', FINE)):
        M = element_sum.make(arm, count * _pieces(arm)).mass_matrix(rest)
        numbers.append(Number(f'condition of M, {name} each', np.linalg.cond(M), ''))
    done = {'recursion': runs[WAYS[0]], 'element_sum': runs[WAYS[2]]}

    def motion(name, seconds, progress):
        return done.get(name) or simulate(arm, effort, rest, rest, STEP, seconds, 'rk4',
                                          formulation=name, progress=progress)

    found = courses(
        arm, motion, force, seconds, within(progress, 0.4, 1.0),
        words={'element_sum': f'{FINE} rigid elements in each finite element'}
    ) if has_courses else {}
    return runs, numbers, found


def lowest(arm: ArmModel, formulation: Formulation) -> float:
    """Lowest elastic frequency of an arm with free joints at its zero position [Hz]."""
    zero = np.zeros(arm.size)
    mobility = np.array([formulation.accelerations(zero, zero, row) for row in np.eye(arm.size)])
    mobility -= formulation.accelerations(zero, zero, zero)
    K, _ = springs(arm)
    squares = eigh(K, np.linalg.inv((mobility + mobility.T) / 2), eigvals_only=True)
    return np.sqrt(squares[squares > 1e-6 * squares.max()].min()) / (2 * np.pi)


def _pieces(arm):
    return max(len(shapes.breaks) - 1 for beam in arm.beams.values()
               for shapes in beam.shapes.values())


def input_chart(arm: ArmModel, effort: Effort, seconds: float, joint: str, title: str,
                label: str) -> Chart:
    """Chart of the input of one joint."""
    times = np.arange(0.0, seconds, 1e-3)
    rest = np.zeros(arm.size)
    values = np.array([effort(t, rest, rest)[arm.joint_names.index(joint)] for t in times])
    return Chart(title, 'time [s]', label, (Curve(joint, times, values, 4),))


def chart(title: str, label: str, runs: Mapping[str, Run], values: Callable[[Run], np.ndarray]
          ) -> Chart:
    """Chart of one curve by way; `values` makes it of a Run."""
    return Chart(title, 'time [s]', label, tuple(
        Curve(name, run.time, values(run), *look)
        for (name, run), look in zip(runs.items(), LOOKS)))


def differences(runs: Mapping[str, Run], curve: Callable[[Run], np.ndarray]) -> list[float]:
    """
    Return the largest differences from the conventional way over the range, COARSE and FINE.

    :param curve: makes a curve (k,) of a Run.
    """
    usual = curve(runs[WAYS[0]])
    return [apart(usual, curve(runs[way])) for way in WAYS[1:]]

"""What both examples of the element-sum paper have in common: bang-bang runs, two integrations."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from scipy.linalg import eigh

from flex_robot_sim.analysis.deflection import tip_deflection
from flex_robot_sim.core.assembly import load
from flex_robot_sim.core.model import ArmModel
from flex_robot_sim.formulations import Formulation, element_sum, make
from flex_robot_sim.plots import WIDE, Chart, Curve
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
from flex_robot_sim.reproduce.report import Number, Pictures, Reproduction

STEP = 4e-4                 # stable for rk4 up to 7000 rad/s               [s]
COARSE, FINE = 4, 32        # rigid elements in every finite element
WAYS = ('conventional', 'proposed', 'proposed, fine')
# colour, dashes, marks and width of each
LOOKS: tuple[Any, ...] = ((5, 0, False, WIDE), (1, 1), (4, 2))


Values = Callable[[ArmModel, Run], np.ndarray]      # a curve (k,) of a Run


class Shown(NamedTuple):
    """A curve of the paper."""

    name: str               # in the table of numbers
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
    about: str                                  # what is compared between both ways
    cannot: str
    chosen: tuple[str, ...]


def reproduced(example: Example, progress: Progress, seconds: float | None = None
               ) -> Reproduction:
    """Return the Reproduction of an Example."""
    seconds = seconds or example.seconds
    arm = load(example.robot)
    runs, figures, found = runs_of(arm, example.effort, seconds, progress)
    apart, worst = differences(runs, {
        one.name: partial(one.values, arm) for one in example.curves})
    charts = [input_chart(arm, example.effort, seconds, *row) for row in example.inputs]
    charts += [chart(one.title, one.label, runs, partial(one.values, arm))
               for one in example.curves]
    return Reproduction(
        (Pictures(*example.figures, tuple(charts)),),
        (*example.numbers(arm, runs[WAYS[0]]), *apart, *figures), found,
        max(worst, largest(found)),
        f'coordinates of all nonlinear formulations, {example.about}, with {FINE} rigid elements '
        'in each finite element',
        ('the proposed sum comes to lie on conventional integration, as in the figures of the '
         'paper, when its rigid elements are shorter than a finite element',
         'what is left is the phase of the ringing: nothing damps it, so that a frequency that '
         'is 0.01 % off shows after some seconds',
         'one rigid element to a finite element will not do: there is a motion in which none of '
         'them moves or turns, so that the mass matrix is singular or close to it; the paper '
         'does not say how many it takes'),
        (example.cannot,), (*example.chosen, 'no damping'))


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


def runs_of(arm: ArmModel, effort: Effort, seconds: float, progress: Progress
            ) -> tuple[dict[str, Run], list[Number], dict[str, Course]]:
    """
    Return {way: Run}, Numbers about them, and a Course for each formulation.

    'conventional' integrates shape functions, as the recursion does; the proposed way takes
    COARSE and then FINE rigid elements for every finite element.
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
    K, _ = springs(arm)
    for name, count in (('1 rigid element', 1), (f'{FINE} rigid elements', FINE)):
        M = element_sum.make(arm, count * _pieces(arm)).mass_matrix(rest)
        condition = np.linalg.cond(M)
        numbers.append(Number(f'condition of M, {name} each', condition, ''))
        if condition < 1e12:
            numbers.append(Number(f'highest rate, {name} each',
                                  np.sqrt(eigh(K, M, eigvals_only=True).max()), 'rad/s'))
    done = {'recursion': runs[WAYS[0]], 'element_sum': runs[WAYS[2]]}

    def motion(name, seconds, progress):
        return done.get(name) or simulate(arm, effort, rest, rest, STEP, seconds, 'rk4',
                                          formulation=name, progress=progress)

    return runs, numbers, courses(
        arm, motion, force, seconds, within(progress, 0.4, 1.0),
        words={'element_sum': f'{FINE} rigid elements in each finite element'})


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


def differences(runs: Mapping[str, Run], curves: Mapping[str, Callable[[Run], np.ndarray]]
                ) -> tuple[list[Number], float]:
    """
    Return Numbers with the largest differences over the ranges, and the largest of the fine ones.

    :param curves: {name: function that makes a curve (k,) of a Run}.
    """
    numbers, worst = [], 0.0
    for name, curve in curves.items():
        usual = curve(runs[WAYS[0]])
        for way, count in zip(WAYS[1:], (COARSE, FINE)):
            share = apart(usual, curve(runs[way]))
            numbers.append(Number(f'{name}: {count} rigid elements each, off by', 100 * share,
                                  '% of range'))
        worst = max(worst, share)
    return numbers, worst

"""Common code of both element-sum examples: bang-bang inputs, two methods, their comparison."""

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from scipy.linalg import eigh

from flex_robot_sim.analysis.deflection import tip_deflection
from flex_robot_sim.formulations import Formulation, element_sum, make
from flex_robot_sim.model.arm_model import ArmModel
from flex_robot_sim.reproduce.courses import FormulationResult, max_error, run_formulations
from flex_robot_sim.reproduce.options import Options
from flex_robot_sim.reproduce.paper_comparison import (
    PaperComparison,
    check_claim,
    check_curves,
    not_comparable,
    require_duration,
)
from flex_robot_sim.reproduce.reproduction import Figure, Number, Reproduction
from flex_robot_sim.reproduce.simulated_motion import (
    Effort,
    Progress,
    Run,
    curve_error,
    integrate,
    make_force,
    simulate,
    stiffness_and_damping,
    subprogress,
)
from flex_robot_sim.util.plots import WIDE, Chart, Curve

STEP_S = 4e-4  # stable for rk4 up to 7000 rad/s               [s]
COARSE_ELEMENTS, FINE_ELEMENTS = 4, 32  # rigid elements in each finite element
MAX_CONDITION = 1e14  # above it, no digit of a solution is significant
METHODS = ('conventional', 'proposed', 'proposed, fine')
# colour, dashes, marks and width of each
LINE_STYLES: tuple[Any, ...] = ((5, 0, False, WIDE), (1, 1), (4, 2))


Values = Callable[[ArmModel, Run], np.ndarray]  # a curve (k,) of a Run


class CurveSpec(NamedTuple):
    """Specification of a curve that the paper shows."""

    name: str
    place: str  # in the paper
    title: str
    label: str  # of the values, with their unit
    values: Values


class Example(NamedTuple):
    """Specification of one of the two examples."""

    robot: str
    figures: tuple[str, str]  # name and title
    effort: Effort
    seconds: float
    inputs: tuple[tuple[str, str, str], ...]  # joint, title, label
    curves: tuple[CurveSpec, ...]
    numbers: Callable[[ArmModel, Run], Iterable[Number]]  # of the conventional Run
    check_printed: Callable[[ArmModel], PaperComparison]  # with a mass that the paper prints
    compared_quantities: str  # compared between both methods
    unpublished: str  # parameters that the paper does not print
    assumptions: tuple[str, ...]


def reproduce_example(example: Example, progress: Progress, options: Options) -> Reproduction:
    """Return the Reproduction of an Example."""
    seconds = options.seconds or example.seconds
    arm = options.load_arm(example.robot)
    runs, figures, results = simulate_methods(
        arm, example.effort, seconds, progress, options.runs_formulations
    )
    # largest differences from the conventional method, over the range: coarse and fine
    errors: dict[str, list[float]] = {}
    charts = [make_input_chart(arm, example.effort, seconds, *row) for row in example.inputs]
    for curve in example.curves:
        values = {method: curve.values(arm, run) for method, run in runs.items()}
        errors[curve.name] = [
            curve_error(values[METHODS[0]], values[method]) for method in METHODS[1:]
        ]
        curves = tuple(
            Curve(method, runs[method].time, values[method], *style)
            for method, style in zip(runs, LINE_STYLES)
        )
        charts.append(Chart(curve.title, 'time [s]', curve.label, curves))
    return Reproduction(
        (Figure(*example.figures, tuple(charts)),),
        tuple(comparisons(example, arm, errors, seconds)),
        (*example.numbers(arm, runs[METHODS[0]]), *figures),
        results,
        max(max_error(results), *(error[-1] for error in errors.values())),
        f'coordinates of all nonlinear formulations, {example.compared_quantities}, with '
        f'{FINE_ELEMENTS} rigid elements in each finite element',
        (*example.assumptions, 'no damping'),
    )


def comparisons(
    example: Example, arm: ArmModel, errors: Mapping[str, Sequence[float]], seconds: float
) -> Iterator[PaperComparison]:
    """Compare both methods, as in the figures, and a mass with the printed one."""
    rows = []
    for curve in example.curves:
        for count, error in zip((COARSE_ELEMENTS, FINE_ELEMENTS), errors[curve.name]):
            rows.append(
                check_curves(
                    f'{curve.name}, proposed method with {count} rigid elements in each finite '
                    'element against the conventional method',
                    curve.place,
                    error,
                    reason='the vibration is undamped, so a small difference in '
                    'frequency accumulates to a phase',
                    paper='close resemblance',
                )
            )
    yield from require_duration(example.seconds, seconds, rows)
    yield check_claim(
        'highest rate of the arm with one rigid element in each finite element, over '
        f'that with {FINE_ELEMENTS}',
        'equation (25)',
        'rigid and finite elements are the same',
        highest_frequency(arm, 1) / highest_frequency(arm, FINE_ELEMENTS),
        '',
        'print of a frequency with three digits',
        upper=1.005,
        reason='a rigid element with a fixed centre has no inertia',
    )
    yield example.check_printed(arm)
    yield not_comparable(
        'values of the curves',
        example.figures[0].replace('_', ' '),
        'printed as pictures',
        example.unpublished,
    )


def highest_frequency(arm: ArmModel, count: int) -> float:
    """Return the highest natural frequency; count: rigid elements per finite element [rad/s]."""
    K, _ = stiffness_and_damping(arm)
    M = element_sum.make(arm, count * _segment_count(arm)).mass_matrix(np.zeros(arm.size))
    if np.linalg.cond(M) > MAX_CONDITION:
        return np.inf
    return float(np.sqrt(eigh(K, M, eigvals_only=True).max()))


def coordinate_of(name: str) -> Values:
    """Return a function of an arm and a Run that returns a coordinate over time."""
    return lambda arm, run: run.coordinate(arm, name)


def tip_deflection_of(link: str, row: int) -> Values:
    """Return the same for the tip: deflection across a link [m] (row 1), slope [rad] (row 5)."""
    return lambda arm, run: np.array(
        [np.asarray(tip_deflection(arm, link, q))[row] for q in run.q]
    )


def bang_bang(
    amplitudes: Sequence[float], switch_times: Sequence[float], rise_time: float = 0.0
) -> Effort:
    """
    Return efforts over time: `amplitudes` (joints,), then the same negative, then zero.

    :param switch_times: end of the positive and of the negative effort [s].
    :param rise_time: duration of each change [s].
    """
    levels = np.asarray(amplitudes, float)

    def change(t):
        s = min(max(t / rise_time, 0.0), 1.0) if rise_time else float(t >= 0.0)
        return s * s * (3 - 2 * s)

    def effort(t, _q=None, _qd=None):
        return levels * (change(t) - 2 * change(t - switch_times[0]) + change(t - switch_times[1]))

    return effort


def simulate_methods(
    arm: ArmModel,
    effort: Effort,
    seconds: float,
    progress: Progress,
    runs_formulations: bool = True,
) -> tuple[dict[str, Run], list[Number], dict[str, FormulationResult]]:
    """
    Return {method: Run}, Numbers about them, and a FormulationResult for each formulation.

    'conventional' integrates shape functions, as the recursion does. The proposed method uses
    COARSE_ELEMENTS and then FINE_ELEMENTS rigid elements for each finite element.

    :param runs_formulations: whether the other formulations run, too.
    """
    force, zero_state, runs = make_force(arm, effort), np.zeros(arm.size), {}
    runs[METHODS[0]] = simulate(arm, effort, zero_state, zero_state, STEP_S, seconds, 'rk4')
    numbers = [
        Number(
            'first natural frequency, conventional',
            lowest_frequency(arm, make('recursion', arm)),
            'Hz',
        )
    ]
    for k, (name, count) in enumerate(zip(METHODS[1:], (COARSE_ELEMENTS, FINE_ELEMENTS))):
        formulation = element_sum.make(arm, count * _segment_count(arm))
        start_time = time.perf_counter()
        runs[name] = integrate(
            formulation.accelerations,
            force,
            zero_state,
            zero_state,
            STEP_S,
            seconds,
            progress=subprogress(progress, 0.2 * k, 0.2 * (k + 1)),
        )
        numbers += [
            Number(
                f'the same, {count} rigid elements each', lowest_frequency(arm, formulation), 'Hz'
            ),
            Number(
                f'computing, {count} rigid elements each', time.perf_counter() - start_time, 's'
            ),
        ]
    for name, count in (
        ('1 rigid element', 1),
        (f'{FINE_ELEMENTS} rigid elements', FINE_ELEMENTS),
    ):
        M = element_sum.make(arm, count * _segment_count(arm)).mass_matrix(zero_state)
        numbers.append(Number(f'condition of M, {name} each', np.linalg.cond(M), ''))
    existing_runs = {'recursion': runs[METHODS[0]], 'element_sum': runs[METHODS[2]]}

    def motion(name, seconds, progress):
        return existing_runs.get(name) or simulate(
            arm,
            effort,
            zero_state,
            zero_state,
            STEP_S,
            seconds,
            'rk4',
            formulation=name,
            progress=progress,
        )

    if not runs_formulations:
        return runs, numbers, {}
    results = run_formulations(
        arm,
        motion,
        force,
        seconds,
        subprogress(progress, 0.4, 1.0),
        remarks={'element_sum': f'{FINE_ELEMENTS} rigid elements in each finite element'},
    )
    return runs, numbers, results


def lowest_frequency(arm: ArmModel, formulation: Formulation) -> float:
    """Return the lowest elastic frequency of an arm with free joints at zero position [Hz]."""
    zero = np.zeros(arm.size)
    mobility = np.array([formulation.accelerations(zero, zero, row) for row in np.eye(arm.size)])
    mobility -= formulation.accelerations(zero, zero, zero)
    K, _ = stiffness_and_damping(arm)
    squares = eigh(K, np.linalg.inv((mobility + mobility.T) / 2), eigvals_only=True)
    return np.sqrt(squares[squares > 1e-6 * squares.max()].min()) / (2 * np.pi)


def _segment_count(arm):
    return max(
        len(shapes.breaks) - 1 for beam in arm.beams.values() for shapes in beam.shapes.values()
    )


def make_input_chart(
    arm: ArmModel, effort: Effort, seconds: float, joint: str, title: str, label: str
) -> Chart:
    """Return the chart of the input of one joint."""
    times = np.arange(0.0, seconds, 1e-3)
    zero_state = np.zeros(arm.size)
    values = np.array(
        [effort(t, zero_state, zero_state)[arm.joint_names.index(joint)] for t in times]
    )
    return Chart(title, 'time [s]', label, (Curve(joint, times, values, 4),))

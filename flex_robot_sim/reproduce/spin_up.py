"""
The stiffened arm, section 4.1: spin-up of a beam, figures 3 to 5, and the beam of Kane.

It compares three models. The zero-order model has no shortening. The first-order model is linear,
with the shortening as a stiffness that grows with the square of the speed. The high-order model
includes the shortening in all terms, as this package does. With prescribed hub motion, the first
two are linear in the bending:

    M e'' + [K - w^2 M (+ w^2 S)] e = -w' g,   M, S, g: integrals of phi phi, x H and x phi dm

This module solves them without the dynamics of the package.
"""

import re
from collections.abc import Iterator, Mapping
from functools import partial

import numpy as np
from scipy.integrate import solve_ivp

from flex_robot_sim.elastic import Beam
from flex_robot_sim.formulations import stiffened
from flex_robot_sim.model.arm_model import ArmModel
from flex_robot_sim.model.assembly import load
from flex_robot_sim.reproduce.courses import (
    FormulationResult,
    max_error,
    run_formulations,
    worst_results,
)
from flex_robot_sim.reproduce.options import Options
from flex_robot_sim.reproduce.paper_comparison import (
    LINE_FRACTION,
    LINE_WIDTH,
    PaperComparison,
    check_claim,
    check_number,
    not_comparable,
    require_duration,
)
from flex_robot_sim.reproduce.reproduction import Effect, Figure, Number, Reproduction
from flex_robot_sim.reproduce.simulated_motion import (
    Progress,
    Variant,
    make_force,
    simulate,
    subprogress,
)
from flex_robot_sim.util.plots import Chart, Curve
from flex_robot_sim.util.share import shipped_robots

Models = dict[str, tuple[np.ndarray, np.ndarray]]  # {model: (times, lags of the tip [m])}
T, DURATION_S, STEP_S = 15.0, 25.0, 5e-3  # of the spin-up; of the run; integration step  [s]
LONG_STEP = 2e-2  # of all formulations at every speed, with rk4              [s]
ROTOR_INERTIA = 1e7  # about 1e6 times the beam: its torque prescribes the motion [kg m2]
SPEEDS = (0.6, 2.0, 3.0, 8.0, 10.0)  #                                               [rad/s]
FIGURES = (
    ('figure_3', 'Fig. 3: w0 below 3 rad/s', (0.6, 2.0)),
    ('figure_4', 'Fig. 4: w0 = 3 rad/s', (3.0,)),
    ('figure_5', 'Fig. 5: w0 above 3 rad/s', (8.0, 10.0)),
)
ROBOT, VARIED = 'spin_up_8m', ()
VARIANT = 'shapes of a clamped-free beam, and ends of links that rotate by 1 + theta~'
DIVERGED_LAG = 16.0  # lag at which a model counts as diverged                   [m]
MAX_DRAWN_LAG = 1.6  # larger lags are not drawn                                 [m]
# largest lag [m] from two other programs, converged to about 5e-4; the same without shortening
CONVERGED_LAGS = {0.6: 0.0855, 2.0: 0.2801, 3.0: 0.4111, 8.0: 0.932, 10.0: 1.083}
ZERO_ORDER_LAGS = {0.6: 0.0866, 2.0: 0.3432}
KANE_LAG, KANE_SPEED = 0.574, 6.0
# the stiffened arm with the first-order rotation matrices of the paper
PAPER_MODEL = partial(stiffened.make, exact_turns=False)
MODELS = ('zero order', 'first order', 'high order')


def run(progress: Progress, options: Options) -> Reproduction:
    """Run the experiment."""
    seconds = options.seconds or DURATION_S
    arm = options.load_arm(paper_text() if options.is_paper else beam_text())
    variant = PAPER_MODEL if options.is_paper else None
    lags = {}
    for k, w0 in enumerate(SPEEDS):
        lags[w0] = simulate_models(arm, w0, seconds, variant=variant)
        progress(0.1 * (k + 1) / len(SPEEDS))
    kane = simulate_models(load(kane_text()), KANE_SPEED, seconds, is_segmented=True)
    results, effects = {}, ()
    if options.is_paper:
        effects = measured_effects(options, seconds, subprogress(progress, 0.15, 1.0))
    elif options.runs_formulations:
        results = compare_formulations(arm, seconds, subprogress(progress, 0.15, 1.0))
    figures = [
        Figure(name, title, (_make_chart('tip of the beam', {w0: lags[w0] for w0 in speeds}),), 1)
        for name, title, speeds in FIGURES
    ]
    figures.append(
        Figure(
            'beam_of_kane',
            f'Beam of Kane, 10 m at {KANE_SPEED:g} rad/s',
            (_make_chart('in two segments', {KANE_SPEED: kane}),),
            1,
        )
    )
    return Reproduction(
        tuple(figures),
        tuple(comparisons(arm, lags, seconds)),
        tuple(numbers(lags, kane, seconds)),
        results,
        max_error(results),
        f'coordinates of all nonlinear formulations, the worst of {len(SPEEDS)} speeds',
        (
            f'a rotor of {ROTOR_INERTIA:g} kg m2 prescribes the motion of the hub to a few parts '
            'in 1e6',
            'three shapes in one piece as in the paper; two segments of two shapes for the beam '
            'of Kane',
        ),
        effects,
    )


def comparisons(
    arm: ArmModel, lags: Mapping[float, Models], seconds: float
) -> Iterator[PaperComparison]:
    """Compare with section 4.1 and figures 3 to 5."""
    yield check_number(
        'first frequency of the beam at rest',
        'section 4.1',
        0.464,
        first_frequency(arm),
        'Hz',
        5e-4,
        reason='the properties that the paper prints give 0.4633 Hz in closed form',
    )
    rows: list[PaperComparison] = []
    drawn = np.concatenate([lag for w0 in SPEEDS[:2] for _, lag in lags[w0].values()])
    for w0 in SPEEDS[:2]:
        rows.append(
            check_claim(
                f'zero order against high order at {w0:g} rad/s',
                'figure 3',
                'obvious difference',
                100 * _order_difference(lags[w0]) / np.ptp(drawn),
                '% of the axis',
                LINE_WIDTH,
                lower=100 * LINE_FRACTION,
                reason='both speeds share the axes of the figure',
            )
        )
    rows.append(
        check_claim(
            'the same difference, 2 rad/s over 0.6 rad/s',
            'figure 3',
            'larger with the speed',
            _order_difference(lags[2.0]) / _order_difference(lags[0.6]),
            '',
            'sign of the change',
            lower=1.0,
        )
    )
    for w0 in SPEEDS[2:]:
        place = 'figure 4' if w0 == 3.0 else 'figure 5'
        rows.append(
            check_claim(
                f'zero order at {w0:g} rad/s, largest lag',
                place,
                'diverges',
                lags[w0]['zero order'][1].max(),
                'm',
                'twice the length of the beam',
                lower=0.99 * DIVERGED_LAG,
            )
        )
        rows.append(
            check_claim(
                f'high order at {w0:g} rad/s, largest lag',
                place,
                'converges',
                np.abs(lags[w0]['high order'][1]).max(),
                'm',
                'length of the beam',
                upper=DIVERGED_LAG / 2,
            )
        )
    other_vibrations = [_residual_vibration(lags[w0]) for w0 in SPEEDS if w0 != 3.0]
    rows.append(
        check_claim(
            'vibration after the spin-up, 3 rad/s over the largest at the other speeds',
            'figure 4',
            'aroused much higher, close to the first frequency',
            _residual_vibration(lags[3.0]) / max(*other_vibrations, 1e-9),
            '',
            'a resonance stands out',
            lower=1.0,
            reason='no force excites the beam at its rotation rate, and the shortening '
            'raises its frequency with that rate',
        )
    )
    yield from require_duration(DURATION_S, seconds, rows)
    yield not_comparable(
        'curves of figures 3 to 5',
        'figures 3 to 5',
        'printed as pictures',
        'the text gives no numbers',
    )


def numbers(lags: Mapping[float, Models], kane: Models, seconds: float) -> Iterator[Number]:
    """Yield largest lags, with those of other programs, which are not from the paper."""
    errors = []
    for w0 in SPEEDS:
        for model, published in (('high order', CONVERGED_LAGS), ('zero order', ZERO_ORDER_LAGS)):
            max_lag = lags[w0][model][1].max()
            published_lag = published.get(w0)
            yield Number(
                f'largest lag at {w0:g} rad/s, {model}',
                max_lag if max_lag < 0.99 * DIVERGED_LAG else 'diverges',
                'm',
                published_lag,
                'converged, other programs' if published_lag else '',
            )
            if model == 'high order':
                errors.append(abs(max_lag / CONVERGED_LAGS[w0] - 1))
        yield Number(
            f'largest lag at {w0:g} rad/s, first order', lags[w0]['first order'][1].max(), 'm'
        )
    yield Number(
        'Kane, 10 m at 6 rad/s: largest lag',
        kane['high order'][1].max(),
        'm',
        KANE_LAG,
        'published',
    )
    if seconds >= 8.0:
        yield Number(
            'largest lags of high order, off from the converged ones', 100 * max(errors), '%'
        )


def measured_effects(options: Options, seconds: float, progress: Progress) -> tuple[Effect, ...]:
    """Return the change of the lag at 10 rad/s caused by each part of the paper's variant."""
    w0, effects = SPEEDS[-1], []
    reference = simulate_models(options.load_arm(beam_text()), w0, seconds)['high order']
    paper_arm = options.load_arm(paper_text())
    for k, (deviation, arm, variant) in enumerate(
        (
            ('shapes of a clamped-free beam', paper_arm, None),
            ('ends of links rotate by 1 + theta~', options.load_arm(beam_text()), PAPER_MODEL),
            ('both', paper_arm, PAPER_MODEL),
        )
    ):
        time, lag = simulate_models(arm, w0, seconds, variant=variant)['high order']
        size = min(len(lag), len(reference[1]))
        effects.append(
            Effect(
                deviation,
                f'lag of the tip at {w0:g} rad/s',
                100 * float(np.abs(lag[:size] - reference[1][:size]).max() / np.ptp(reference[1])),
                None if len(lag) == len(reference[1]) else float(time[-1]),
            )
        )
        progress((k + 1) / 3)
    return tuple(effects)


def _order_difference(models):
    """Return the largest difference of zero order and high order over time [m]."""
    time, high = models['high order']
    zero = np.interp(time, *models['zero order'])
    return float(np.abs(zero - high).max())


def _residual_vibration(models):
    """Return the peak-to-peak lag of the high-order model after the spin-up [m]."""
    time, lag = models['high order']
    late_lag = lag[time > T]
    return float(np.ptp(late_lag)) if late_lag.size else 0.0


def paper_text() -> str:
    """Return the URDF text of the beam with clamped-free shapes, as in the paper."""
    return beam_text().replace('<modes ', '<modes boundary="free" ')


def beam_text() -> str:
    """Return the URDF text of the shipped beam with a rotor at its hub."""
    text = shipped_robots()['spin_up_8m'].read_text(encoding='utf-8')
    return text.replace(
        '<flexibility>', f'<flexibility><joint name="hub" rotor_inertia="{ROTOR_INERTIA!r}"/>'
    )


def kane_text() -> str:
    """Return the URDF text of the beam of Kane, Simo and Vu-Quoc: 10 m, 1.4e4 N m2, 1.2 kg/m."""
    text = re.sub(r'<visual>.*?</visual>', '', beam_text(), flags=re.DOTALL)
    for old, new in (
        ('<origin xyz="4 0 0"/>', '<origin xyz="5 0 0"/>'),
        ('value="1.61504452"', 'value="12"'),
        (
            'ixx="0.00036382769" iyy="8.61375271" izz="8.61375271"',
            'ixx="0.01" iyy="100.005" izz="100.005"',
        ),
        ('<origin xyz="8 0 0"/>', '<origin xyz="10 0 0"/>'),
        ('end="8 0 0"', 'end="10 0 0"'),
        ('EIz="566.70959"', 'EIz="1.4e4"'),
        ('<modes bending_y="3"', '<modes segments="2" bending_y="2"'),
    ):
        assert old in text, old
        text = text.replace(old, new)
    return text


def hub_motion(t: float, w0: float) -> tuple[float, float]:
    """Return speed and acceleration of the hub: w0 [t/T - sin(2 pi t/T)/(2 pi)] to T, then w0."""
    if t >= T:
        return w0, 0.0
    return (
        w0 * (t / T - np.sin(2 * np.pi * t / T) / (2 * np.pi)),
        w0 / T * (1 - np.cos(2 * np.pi * t / T)),
    )


def simulate_models(
    arm: ArmModel,
    w0: float,
    seconds: float,
    is_segmented: bool = False,
    variant: Variant | None = None,
) -> Models:
    """
    Return the Models of a spin-up; the linear models need a beam in one segment.

    :param is_segmented: True: only the high-order model.
    :param variant: makes the formulation of the high-order model; None: the recursion.
    """
    models = {}
    if not is_segmented:
        for model in MODELS[:2]:
            models[model] = solve_linear_model(
                next(iter(arm.beams.values())), w0, seconds, model == 'first order'
            )
    times: list[float] = []
    lags: list[float] = []

    def on_sample(simulation):
        times.append(simulation.time)
        lags.append(-simulation.deflection['beam'][1])

    zero_state = np.zeros(arm.size)
    step, scheme = (STEP_S, 'implicit_midpoint') if variant is None else (LONG_STEP, 'rk4')
    simulate(
        arm,
        lambda t, q, qd: np.array([ROTOR_INERTIA * hub_motion(t, w0)[1]]),
        zero_state,
        zero_state,
        step,
        seconds,
        scheme,
        stride=round(LONG_STEP / step),
        on_sample=on_sample,
        variant=variant,
    )
    models['high order'] = np.array(times), np.array(lags)
    return models


def solve_linear_model(
    beam: Beam, w0: float, seconds: float, has_stiffening: bool
) -> tuple[np.ndarray, np.ndarray]:
    """Return times [s] and lags [m] of a linear model; has_stiffening: first order."""
    dm = beam.section.mass_per_length * beam.weights
    phi, x, n = beam.Phi[:, 1], beam.stations, beam.size
    M = (dm[:, None] * phi).T @ phi
    S = np.tensordot(dm * x, beam.shortening(x), 1)
    g = (dm * x) @ phi
    tip = beam.shape(beam.length)[1]

    def rates(t, state):
        w, dw = hub_motion(t, w0)
        K = beam.stiffness - w**2 * M + (w**2 * S if has_stiffening else 0.0)
        return np.concatenate([state[n:], np.linalg.solve(M, -dw * g - K @ state[:n])])

    def diverged(_t, state):
        return DIVERGED_LAG - abs(tip @ state[:n])

    diverged.terminal = True  # type: ignore[attr-defined]
    solution = solve_ivp(
        rates,
        (0.0, seconds),
        np.zeros(2 * n),
        rtol=1e-8,
        atol=1e-10,
        events=diverged,
        max_step=0.05,
    )
    return solution.t, -(tip @ solution.y[:n])


def first_frequency(arm: ArmModel) -> float:
    """Return the first frequency of the clamped beam [Hz]."""
    beam = next(iter(arm.beams.values()))
    squares = np.linalg.eigvals(np.linalg.solve(beam.modal_mass, beam.stiffness)).real
    return np.sqrt(squares.min()) / (2 * np.pi)


def compare_formulations(
    arm: ArmModel, seconds: float, progress: Progress
) -> dict[str, FormulationResult]:
    """Return the worst FormulationResult of each formulation over all speeds."""
    zero_state, results_by_speed = np.zeros(arm.size), []
    for k, w0 in enumerate(SPEEDS):

        def effort(t, _q, _qd, w0=w0):
            return np.array([ROTOR_INERTIA * hub_motion(t, w0)[1]])

        def motion(name, seconds, progress, effort=effort):
            return simulate(
                arm,
                effort,
                zero_state,
                zero_state,
                LONG_STEP,
                seconds,
                'rk4',
                stride=5,
                formulation=name,
                progress=progress,
            )

        results_by_speed.append(
            run_formulations(
                arm,
                motion,
                make_force(arm, effort),
                seconds,
                subprogress(progress, k / len(SPEEDS), (k + 1) / len(SPEEDS)),
            )
        )
    return worst_results(results_by_speed)


def _make_chart(title, cases):
    """Return the chart of the lags of {speed: Models}."""
    dashes = {'zero order': 2, 'first order': 1, 'high order': 0}
    colours = (4, 1)
    curves = []
    for colour, (w0, models) in zip(colours, cases.items()):
        for model, (times, lags) in models.items():
            drawn_lags = np.where(np.abs(lags) < MAX_DRAWN_LAG, -lags, np.nan)
            name = f'{w0:g} rad/s, {model}' if len(cases) > 1 else model
            curves.append(Curve(name, times, drawn_lags, colour, dashes[model]))
    return Chart(title, 'time [s]', 'tip deformation u_y [m]', tuple(curves))

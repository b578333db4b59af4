"""
The stiffened arm, section 4.1: a beam that is set turning, figures 3 to 5, and the beam of Kane.

Three models: zero order, which knows no shortening; first order, whose shortening counts as a
stiffness that grows with the square of the speed and is else linear; and high order, in which the
shortening takes part in everything, as in this package. The first two are linear in the bending,

    M e'' + [K - w^2 M (+ w^2 S)] e = -w' g,   M, S, g: integrals of phi phi, x H and x phi dm

when the hub turns as prescribed; so they are solved here without any of the dynamics.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

import numpy as np
from scipy.integrate import solve_ivp

from flex_robot_sim.elastic import Beam
from flex_robot_sim.formulations import stiffened
from flex_robot_sim.model.arm_model import ArmModel
from flex_robot_sim.model.assembly import load
from flex_robot_sim.reproduce.comparison import (
    LINE,
    LINE_WIDTH,
    Comparison,
    claim,
    needing,
    not_comparable,
    number,
)
from flex_robot_sim.reproduce.courses import Course, courses, largest, merged
from flex_robot_sim.reproduce.motion import Progress, Variant, forces_of, simulate, within
from flex_robot_sim.reproduce.options import Options
from flex_robot_sim.reproduce.report import Effect, Number, Pictures, Reproduction
from flex_robot_sim.util.plots import Chart, Curve
from flex_robot_sim.util.share import shipped_robots

Models = dict[str, tuple[np.ndarray, np.ndarray]]   # {model: (times, lags of the tip [m])}
T, SECONDS, STEP = 15.0, 25.0, 5e-3     # of the law; shown; of the integration         [s]
LONG_STEP = 2e-2            # of all formulations through every speed, by rk4     [s]
ROTOR = 1e7                 # some 1e6 times the beam, so that its torque prescribes    [kg m2]
SPEEDS = (0.6, 2.0, 3.0, 8.0, 10.0)     #                                               [rad/s]
FIGURES = (('figure_3', 'Fig. 3: w0 below 3 rad/s', (0.6, 2.0)),
           ('figure_4', 'Fig. 4: w0 = 3 rad/s', (3.0,)),
           ('figure_5', 'Fig. 5: w0 above 3 rad/s', (8.0, 10.0)))
ROBOT, VARIED = 'spin_up_8m', ()
VARIANT = 'shapes of a clamped-free beam, and ends of links that turn by 1 + theta~'
LARGEST = 16.0              # lag at which a model is taken for lost                    [m]
DRAWN = 1.6                 # lag up to which it is drawn                               [m]
# largest lag [m] by two other programs, converged to about 5e-4; without shortening likewise
CONVERGED = {0.6: 0.0855, 2.0: 0.2801, 3.0: 0.4111, 8.0: 0.932, 10.0: 1.083}
ZERO_ORDER = {0.6: 0.0866, 2.0: 0.3432}
KANE, KANE_SPEED = 0.574, 6.0
MODELS = ('zero order', 'first order', 'high order')


def run(progress: Progress, options: Options) -> Reproduction:
    """Run the experiment."""
    seconds = options.seconds or SECONDS
    arm = options.arm(paper_text() if options.is_paper else beam_text())
    variant = paper_model if options.is_paper else None
    lags = {}
    for k, w0 in enumerate(SPEEDS):
        lags[w0] = three_models(arm, w0, seconds, variant=variant)
        progress(0.1 * (k + 1) / len(SPEEDS))
    kane = three_models(load(kane_text()), KANE_SPEED, seconds, is_segmented=True)
    found, effects = {}, ()
    if options.is_paper:
        effects = measured_effects(options, seconds, within(progress, 0.15, 1.0))
    elif options.formulations:
        found = formulations(arm, seconds, within(progress, 0.15, 1.0))
    pictures = [Pictures(name, title, (_chart('tip of the beam', {
        w0: lags[w0] for w0 in speeds}),), 1)
                for name, title, speeds in FIGURES]
    pictures.append(Pictures('beam_of_kane', f'Beam of Kane, 10 m at {KANE_SPEED:g} rad/s', (
        _chart('in two segments', {KANE_SPEED: kane}),), 1))
    return Reproduction(
        tuple(pictures), tuple(comparisons(arm, lags, seconds)),
        tuple(numbers(lags, kane, seconds)), found, largest(found),
        f'coordinates of all nonlinear formulations, the worst of {len(SPEEDS)} speeds',
        (f'a rotor of {ROTOR:g} kg m2 prescribes the motion of the hub to a few parts in 1e6',
         'three shapes in one piece as in the paper; two segments of two shapes for the beam of '
         'Kane'),
        effects)


def comparisons(arm: ArmModel, lags: Mapping[float, Models], seconds: float
                ) -> Iterator[Comparison]:
    """Compare with section 4.1 and figures 3 to 5."""
    yield number('first frequency of the beam at rest', 'section 4.1', 0.464,
                 first_frequency(arm), 'Hz', 5e-4,
                 reason='the properties that the paper prints give 0.4633 Hz in closed form')
    rows: list[Comparison] = []
    drawn = np.concatenate([lag for w0 in SPEEDS[:2] for _, lag in lags[w0].values()])
    for w0 in SPEEDS[:2]:
        rows.append(claim(
            f'zero order against high order at {w0:g} rad/s', 'figure 3', 'obvious difference',
            100 * _apart(lags[w0]) / np.ptp(drawn), '% of the axis', LINE_WIDTH,
            lower=100 * LINE, reason='both speeds share the axes of the figure'))
    rows.append(claim('the same difference, 2 rad/s over 0.6 rad/s', 'figure 3',
                      'larger with the speed', _apart(lags[2.0]) / _apart(lags[0.6]), '',
                      'sign of the change', lower=1.0))
    for w0 in SPEEDS[2:]:
        place = 'figure 4' if w0 == 3.0 else 'figure 5'
        rows.append(claim(f'zero order at {w0:g} rad/s, largest lag', place, 'diverges',
                          lags[w0]['zero order'][1].max(), 'm', 'twice the length of the beam',
                          lower=0.99 * LARGEST))
        rows.append(claim(f'high order at {w0:g} rad/s, largest lag', place, 'converges',
                          np.abs(lags[w0]['high order'][1]).max(), 'm', 'length of the beam',
                          upper=LARGEST / 2))
    others = [_vibration(lags[w0]) for w0 in SPEEDS if w0 != 3.0]
    rows.append(claim(
        'vibration after the spin-up, 3 rad/s over the largest at the other speeds', 'figure 4',
        'aroused much higher, close to the first frequency',
        _vibration(lags[3.0]) / max(*others, 1e-9), '', 'a resonance stands out', lower=1.0,
        reason='nothing excites the beam at the rate at which it turns, and the shortening '
               'raises its frequency with that rate'))
    yield from needing(SECONDS, seconds, rows)
    yield not_comparable('curves of figures 3 to 5', 'figures 3 to 5', 'printed as pictures',
                         'the text has no number of them')


def numbers(lags: Mapping[float, Models], kane: Models, seconds: float) -> Iterator[Number]:
    """Return largest lags next to those of other programs, which are no part of the paper."""
    off = []
    for w0 in SPEEDS:
        for model, published in (('high order', CONVERGED), ('zero order', ZERO_ORDER)):
            found = lags[w0][model][1].max()
            theirs = published.get(w0)
            yield Number(f'largest lag at {w0:g} rad/s, {model}',
                         found if found < 0.99 * LARGEST else 'diverges', 'm', theirs,
                         'converged, other programs' if theirs else '')
            if model == 'high order':
                off.append(abs(found / CONVERGED[w0] - 1))
        yield Number(f'largest lag at {w0:g} rad/s, first order',
                     lags[w0]['first order'][1].max(), 'm')
    yield Number('Kane, 10 m at 6 rad/s: largest lag', kane['high order'][1].max(), 'm', KANE,
                 'published')
    if seconds >= 8.0:
        yield Number('largest lags of high order, off from the converged ones', 100 * max(off),
                     '%')


def measured_effects(options: Options, seconds: float, progress: Progress
                     ) -> tuple[Effect, ...]:
    """Return how far each part of the paper's variant moves the lag by itself, at 10 rad/s."""
    w0, effects = SPEEDS[-1], []
    usual = three_models(options.arm(beam_text()), w0, seconds)['high order']
    free = options.arm(paper_text())
    for k, (deviation, arm, variant) in enumerate((
            ('shapes of a clamped-free beam', free, None),
            ('ends of links turn by 1 + theta~', options.arm(beam_text()), paper_model),
            ('both', free, paper_model))):
        time, lag = three_models(arm, w0, seconds, variant=variant)['high order']
        size = min(len(lag), len(usual[1]))
        effects.append(Effect(
            deviation, f'lag of the tip at {w0:g} rad/s',
            100 * float(np.abs(lag[:size] - usual[1][:size]).max() / np.ptp(usual[1])),
            None if len(lag) == len(usual[1]) else float(time[-1])))
        progress((k + 1) / 3)
    return tuple(effects)


def _apart(models):
    """Largest difference of zero order and high order over time [m]."""
    time, high = models['high order']
    zero = np.interp(time, *models['zero order'])
    return float(np.abs(zero - high).max())


def _vibration(models):
    """Peak to peak of the lag by high order after the spin-up [m]."""
    time, lag = models['high order']
    late = lag[time > T]
    return float(np.ptp(late)) if late.size else 0.0


def paper_model(arm: ArmModel) -> stiffened.Stiffened:
    """Return the stiffened arm with the matrices of first order that the paper has."""
    return stiffened.make(arm, exact_turns=False)


def paper_text() -> str:
    """Return the beam with the shapes of the paper, those of a clamped-free beam."""
    return beam_text().replace('<modes ', '<modes boundary="free" ')


def beam_text() -> str:
    """Return the shipped beam with a rotor at its hub."""
    text = shipped_robots()['spin_up_8m'].read_text(encoding='utf-8')
    return text.replace('<flexibility>',
                        f'<flexibility><joint name="hub" rotor_inertia="{ROTOR!r}"/>')


def kane_text() -> str:
    """Return the beam of Kane, and of Simo and Vu-Quoc: 10 m, EI 1.4e4 N m2, 1.2 kg/m."""
    text = re.sub(r'<visual>.*?</visual>', '', beam_text(), flags=re.DOTALL)
    for old, new in (('<origin xyz="4 0 0"/>', '<origin xyz="5 0 0"/>'),
                     ('value="1.61504452"', 'value="12"'),
                     ('ixx="0.00036382769" iyy="8.61375271" izz="8.61375271"',
                      'ixx="0.01" iyy="100.005" izz="100.005"'),
                     ('<origin xyz="8 0 0"/>', '<origin xyz="10 0 0"/>'),
                     ('end="8 0 0"', 'end="10 0 0"'), ('EIz="566.70959"', 'EIz="1.4e4"'),
                     ('<modes bending_y="3"', '<modes segments="2" bending_y="2"')):
        assert old in text, old
        text = text.replace(old, new)
    return text


def speed(t: float, w0: float) -> tuple[float, float]:
    """Rate and acceleration of the hub, w0 [t/T - sin(2 pi t/T)/(2 pi)] up to T, then w0."""
    if t >= T:
        return w0, 0.0
    return (w0 * (t / T - np.sin(2 * np.pi * t / T) / (2 * np.pi)),
            w0 / T * (1 - np.cos(2 * np.pi * t / T)))


def three_models(arm: ArmModel, w0: float, seconds: float, is_segmented: bool = False,
                 variant: Variant | None = None) -> Models:
    """
    Return the Models of a spin-up; the linear ones need a beam in one piece.

    :param variant: makes the formulation of the high order model; None: the recursion.
    """
    found = {}
    if not is_segmented:
        for model in MODELS[:2]:
            found[model] = linear_model(next(iter(arm.beams.values())), w0, seconds,
                                        model == 'first order')
    times: list[float] = []
    lags: list[float] = []

    def look(simulation):
        times.append(simulation.time)
        lags.append(-simulation.deflection['beam'][1])

    rest = np.zeros(arm.size)
    step, scheme = (STEP, 'implicit_midpoint') if variant is None else (LONG_STEP, 'rk4')
    simulate(arm, lambda t, q, qd: np.array([ROTOR * speed(t, w0)[1]]), rest, rest, step, seconds,
             scheme, every=round(LONG_STEP / step), look=look, variant=variant)
    found['high order'] = np.array(times), np.array(lags)
    return found


def linear_model(beam: Beam, w0: float, seconds: float, stiffens: bool
                 ) -> tuple[np.ndarray, np.ndarray]:
    """Times and lags [m] of the linear models."""
    dm = beam.section.mass_per_length * beam.weights
    phi, x, n = beam.Phi[:, 1], beam.stations, beam.size
    M = (dm[:, None] * phi).T @ phi
    S = np.tensordot(dm * x, beam.shortening(x), 1)
    g = (dm * x) @ phi
    tip = beam.shape(beam.length)[1]

    def rates(t, state):
        w, dw = speed(t, w0)
        K = beam.stiffness - w**2 * M + (w**2 * S if stiffens else 0.0)
        return np.concatenate([state[n:], np.linalg.solve(M, -dw * g - K @ state[:n])])

    def lost(t, state):
        return LARGEST - abs(tip @ state[:n])

    lost.terminal = True  # type: ignore[attr-defined]
    found = solve_ivp(rates, (0.0, seconds), np.zeros(2 * n), rtol=1e-8, atol=1e-10, events=lost,
                      max_step=0.05)
    return found.t, -(tip @ found.y[:n])


def first_frequency(arm: ArmModel) -> float:
    """First frequency of the clamped beam [Hz]."""
    beam = next(iter(arm.beams.values()))
    squares = np.linalg.eigvals(np.linalg.solve(beam.modal_mass, beam.stiffness)).real
    return np.sqrt(squares.min()) / (2 * np.pi)


def formulations(arm: ArmModel, seconds: float, progress: Progress) -> dict[str, Course]:
    """Return the worst Course of each formulation over all speeds."""
    rest, rows = np.zeros(arm.size), []
    for k, w0 in enumerate(SPEEDS):
        def effort(t, q, qd, w0=w0):
            return np.array([ROTOR * speed(t, w0)[1]])

        def motion(name, seconds, progress, effort=effort):
            return simulate(arm, effort, rest, rest, LONG_STEP, seconds, 'rk4', every=5,
                            formulation=name, progress=progress)

        rows.append(courses(arm, motion, forces_of(arm, effort), seconds,
                            within(progress, k / len(SPEEDS), (k + 1) / len(SPEEDS))))
    return merged(rows)


def _chart(title, cases):
    """Chart of the lags of {speed: Models}."""
    dashes = {'zero order': 2, 'first order': 1, 'high order': 0}
    colours = (4, 1)
    curves = []
    for colour, (w0, models) in zip(colours, cases.items()):
        for model, (times, lags) in models.items():
            shown = np.where(np.abs(lags) < DRAWN, -lags, np.nan)
            name = f'{w0:g} rad/s, {model}' if len(cases) > 1 else model
            curves.append(Curve(name, times, shown, colour, dashes[model]))
    return Chart(title, 'time [s]', 'tip deformation u_y [m]', tuple(curves))

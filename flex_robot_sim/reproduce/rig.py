"""The element sum, section 4: the bench, emulated, against its model, figures 17 to 22."""

import re
from collections.abc import Iterator, Sequence
from math import inf
from typing import NamedTuple

import numpy as np

from flex_robot_sim.model.arm_model import ArmModel
from flex_robot_sim.model.assembly import load
from flex_robot_sim.reproduce.courses import (
    PAPER_FORMULATIONS,
    FormulationResult,
    error_by_kind,
    max_error,
    run_formulations,
)
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
    Progress,
    Run,
    stiffness_and_damping,
    subprogress,
)
from flex_robot_sim.rig.bench.bench import Bench
from flex_robot_sim.rig.board.emulated_rig import EmulatedRig
from flex_robot_sim.rig.bridge.bench_comparison import states_of
from flex_robot_sim.rig.bridge.bridge import BridgeSettings, calibration_of
from flex_robot_sim.rig.bridge.experiment_log import Experiment
from flex_robot_sim.rig.bridge.twin import Twin, TwinSettings
from flex_robot_sim.rig.conformance.back_ends import Lockstep
from flex_robot_sim.rig.conformance.host import Host
from flex_robot_sim.rig.estimation.shape_tracker import ShapeTracker
from flex_robot_sim.rig.host.link_session import Reading
from flex_robot_sim.rig.wire.profile import MIN_SEGMENT_US, chunks, profile_crc, segment
from flex_robot_sim.rig.wire.protocol import Arm, Disarm, Joint, ProfileStart, Zero
from flex_robot_sim.rig.wire.vocabulary import MOVING
from flex_robot_sim.util.exceptions import SimulationError
from flex_robot_sim.util.plots import Chart, Curve
from flex_robot_sim.util.share import shipped_robots

# friction and stiffness of the bench, over those of the model
FRICTION_FACTOR, STIFFNESS_FACTOR = 1.15, 1.06
Move = tuple[float, float, float]  # duration, duty, step rate           [s, 1, steps/s]
MOVES: tuple[Move, ...] = ((0.4, 0.5, 500.0), (0.4, -0.5, -500.0), (0.4, 0.0, 0.0))
MIN_DURATION = 0.05  # of MOVES, so that every curve has a range                     [s]
NODE_FRACTION = 0.4  # position of the node over the length of the strip
START = (0.15, 0.0)  # position of the bench                                     [m, rad]
FREQUENCY_GRID = (2.0, 12.0, 0.01)  # of the strip vibration: from, to, step            [Hz]
ROBOT, VARIANT, VARIED = 'rig', '', ()
CURVES = ('prismatic joint', 'revolute joint', 'strip at 0.4 L', 'tip of the strip')
UNITS = ('m', 'rad', 'm', 'm')


class BenchAndModel(NamedTuple):
    """Samples of bench and model during the same motion."""

    time: np.ndarray  # (k,)     [s]
    efforts: np.ndarray  # (k, 2)   of the motors of the model                       [N, N m]
    bench: np.ndarray  # (k, 4)   CURVES                                           UNITS
    model: np.ndarray  # (k, 4)
    run: Run  # of the model


def run(progress: Progress, options: Options) -> Reproduction:
    """Run the experiment."""
    model = options.load_arm(ROBOT)
    bench = load(bench_text())
    moves = select_moves(options.seconds)
    experiment = run_experiment(bench, model, subprogress(progress, 0.0, 0.4), moves)
    samples = compare_with_model(experiment)
    results: dict[str, FormulationResult] = {}
    frictionless_error = None
    if options.runs_formulations:
        K, D = stiffness_and_damping(model)
        results = run_formulations(
            model,
            lambda name, *_: (
                samples.run if name == 'recursion' else compare_with_model(experiment, name).run
            ),
            lambda q, qd, t: -K @ q - D @ qd,
            float(samples.time[-1]),
            subprogress(progress, 0.4, 1.0),
            remarks=dict.fromkeys(
                PAPER_FORMULATIONS, 'instead of the model; dry friction is smoothed'
            ),
        )
        text = shipped_robots()['rig'].read_text(encoding='utf-8')
        frictionless = experiment._replace(
            arm=load(re.sub('friction="[^"]*"', 'friction="0"', text))
        )
        frictionless_error = error_by_kind(
            model,
            *(compare_with_model(frictionless, name).run for name in ('recursion', 'wrench_dae')),
        )[0]
    return Reproduction(
        (make_figure(samples),),
        tuple(comparisons(samples, sum(move[0] for move in moves))),
        tuple(numbers(samples, frictionless_error)),
        results,
        max_error(results),
        'coordinates of the model of the bench, by all nonlinear formulations: friction of '
        'the slide sticks in the steps of the recursion, and is smoothed in theirs',
        (
            f'the bench has {FRICTION_FACTOR:g} times the friction and {STIFFNESS_FACTOR:g} times '
            'the bending stiffness of the model',
            'duty and step rate: the paper transforms force and torque into voltage and pulses, '
            'and does not say how; figures 17 and 18 show what the motors of the model then exert',
            'lead, gear, drivers and sensors: see urdf/rig.urdf',
            f'the node of figure 21 at {NODE_FRACTION:g} of the length: the paper does not say '
            'into how many elements the strip is cut',
        ),
    )


def comparisons(samples: BenchAndModel, seconds: float) -> Iterator[PaperComparison]:
    """Compare with section 4 and figures 19 to 22."""
    steady = slice(-max(1, len(samples.time) // 10), None)
    rows = []
    for k, (name, place) in enumerate(
        zip(CURVES, ('figure 19', 'figure 20', 'figure 21', 'figure 22'))
    ):
        error, span = samples.bench[:, k] - samples.model[:, k], np.ptp(samples.bench[:, k])
        if k < 2:
            rows.append(
                check_claim(
                    f'{name} in steady state, emulated bench against model',
                    place,
                    'very small, about 3.5 %',
                    100 * abs(error[steady].mean()) / span,
                    '% of range',
                    'print resolution of "about 3.5"',
                    upper=3.55,
                )
            )
        else:
            rows.append(
                check_curves(
                    f'{name}, emulated bench against model',
                    place,
                    np.abs(error).max() / span,
                    reason=f'the bench is chosen to have {FRICTION_FACTOR:g} times the friction '
                    f'and {STIFFNESS_FACTOR:g} times the stiffness of the model',
                    paper='closely matching',
                )
            )
    bench, model = (
        vibration_frequency(samples.time, side[:, 3]) for side in (samples.bench, samples.model)
    )
    rows.append(
        check_claim(
            'frequency of the strip at rest, emulated bench against model',
            'figure 22',
            'closely matching',
            100 * abs(model / bench - 1),
            '%',
            '"very small" in the paper: "about 3.5 %"',
            upper=3.55,
        )
    )
    yield from require_duration(sum(move[0] for move in MOVES), seconds, rows)
    yield not_comparable(
        'a real bench',
        'section 4',
        'photograph and curves',
        'the bench is emulated, with chosen errors',
    )
    yield not_comparable(
        'values of the curves',
        'figures 17 to 22',
        'printed as pictures',
        'the text gives no numbers',
    )


def vibration_frequency(time: np.ndarray, values: np.ndarray) -> float:
    """Return the frequency of the sine that best fits a curve (k,) during the final rest [Hz]."""
    is_at_rest = time >= time[-1] - MOVES[-1][0]
    t, y = time[is_at_rest], values[is_at_rest] - values[is_at_rest].mean()

    def residual(frequency):
        w = 2 * np.pi * frequency
        basis = np.column_stack([np.cos(w * t), np.sin(w * t), np.ones_like(t)])
        return np.linalg.norm(y - basis @ np.linalg.lstsq(basis, y, rcond=None)[0])

    return float(min(np.arange(*FREQUENCY_GRID), key=residual))


def numbers(samples: BenchAndModel, frictionless_error: float | None) -> Iterator[Number]:
    """Yield ranges and differences of bench and model."""
    for k, (name, unit) in enumerate(zip(CURVES, UNITS)):
        error, span = samples.bench[:, k] - samples.model[:, k], np.ptp(samples.bench[:, k])
        yield Number(f'{name}: range on the bench', span, unit)
        yield Number(
            f'{name}: difference, root mean square',
            100 * np.sqrt(np.mean(error**2)) / span,
            '% of range',
        )
    if frictionless_error is not None:
        yield Number(
            'wrench DAE against the recursion, no dry friction in either',
            100 * frictionless_error,
            '% of range',
        )


def make_figure(samples: BenchAndModel) -> Figure:
    """Return figures 17 to 22."""
    charts = []
    for k, (title, label) in enumerate(
        (
            ('Fig. 17: force on the slide', 'force [N]'),
            ('Fig. 18: torque on the revolute joint', 'torque [N m]'),
        )
    ):
        effort = Curve('motor of the model', samples.time, samples.efforts[:, k], 4)
        charts.append(Chart(title, 'time [s]', label, (effort,)))
    for k, (title, label) in enumerate(
        (
            ('Fig. 19: prismatic joint', 'displacement [m]'),
            ('Fig. 20: revolute joint', 'angle [rad]'),
            ('Fig. 21: strip at 0.4 of its length', 'flexural displacement [m]'),
            ('Fig. 22: tip of the strip', 'flexural displacement [m]'),
        )
    ):
        bench = Curve('bench', samples.time, samples.bench[:, k], 4)
        simulation = Curve('simulation', samples.time, samples.model[:, k], 1, 1)
        charts.append(Chart(title, 'time [s]', label, (bench, simulation)))
    return Figure('figures_17_to_22', 'The bench, emulated, against its model', tuple(charts))


def bench_text() -> str:
    """Return the URDF text of the bench: the shipped rig with more friction and stiffness."""
    text = shipped_robots()['rig'].read_text(encoding='utf-8')
    for old, new in (
        (
            'damping="40" friction="8"',
            f'damping="{40 * FRICTION_FACTOR}" friction="{8 * FRICTION_FACTOR}"',
        ),
        ('E="206e9"', f'E="{206e9 * STIFFNESS_FACTOR}"'),
    ):
        assert old in text, old
        text = text.replace(old, new)
    return text


def select_moves(seconds: float | None) -> list[Move]:
    """Return MOVES, cut off after `seconds`, but not before MIN_DURATION."""
    moves: list[Move] = []
    remaining = inf if seconds is None else max(seconds, MIN_DURATION)
    for duration, duty, rate in MOVES:
        if remaining >= MIN_SEGMENT_US * 1e-6:
            moves.append((min(duration, remaining), duty, rate))
        remaining -= duration
    return moves


def run_experiment(
    bench_arm: ArmModel, model: ArmModel, progress: Progress, moves: Sequence[Move]
) -> Experiment:
    """Run moves on an emulated bench in lockstep with its board; return the Experiment."""
    bench = Bench(bench_arm, start=START)
    host = Host(Lockstep('emulator', EmulatedRig(bench)))
    host.wait(40)
    host.hello()
    for joint, count in (
        (Joint.SLIDE, START[0] * bench.parts.counts_per_metre),
        (Joint.TURN, START[1] * bench.parts.counts_per_radian),
    ):
        host.accepted(Zero(joint, round(count)))
    host.stream(500)
    host.telemetry.clear()
    segments = [segment(*move) for move in moves]
    for chunk in chunks(segments):
        host.accepted(chunk)
    host.wait(100)
    host.accepted(Arm())
    host.wait(5, host.alive())
    host.accepted(ProfileStart(profile_crc(segments)))
    step_count = round(sum(move[0] for move in moves) / 0.02) + 5
    for k in range(step_count):
        host.wait(20, host.alive())
        progress((k + 1) / step_count)
    host.accepted(Disarm())
    host.wait(100)
    readings = [
        Reading(message, message.time * 1e-6, message.time * 1e-6) for message in host.telemetry
    ]
    return Experiment(model, calibration_of(BridgeSettings(), model), readings)


def compare_with_model(experiment: Experiment, formulation: str = 'recursion') -> BenchAndModel:
    """
    Simulate the model with the recorded commands of the board; return samples of both.

    If the simulation fails with a formulation, the samples end there.
    """
    arm = experiment.arm
    shapes = ShapeTracker(arm, experiment.calibration)
    twin = Twin(
        arm,
        experiment.calibration,
        shapes.link,
        TwinSettings(twin=True, twin_time_constant=0.0),
        formulation,
    )
    beam = arm.beams[arm.segments[shapes.link][0]]
    deflection_rows = np.array(
        [beam.shape(fraction * beam.length)[1] for fraction in (NODE_FRACTION, 1.0)]
    )
    time, rows = 0.0, []
    for state in states_of(experiment):
        time += state.duration
        shapes.take(state)
        try:
            residual = twin.take(state, shapes.link_state)
        except SimulationError:
            break
        message = state.reading.message
        if message.state in MOVING and residual is not None:
            q = twin.q
            rows.append(
                (
                    time,
                    *twin.applied_effort,
                    *state.position,
                    *(deflection_rows @ shapes.link_state.elastic),
                    *q[:2],
                    *(deflection_rows @ q[2:]),
                    *q,
                    *twin.v,
                )
            )
    table = np.array(rows)
    q, qd = np.split(table[:, 11:], 2, axis=1)
    times = table[:, 0] - table[0, 0]
    return BenchAndModel(times, table[:, 1:3], table[:, 3:7], table[:, 7:11], Run(times, q, qd))

"""The element sum, section 4: the bench, emulated, against its model, figures 17 to 22."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from math import inf
from typing import NamedTuple

import numpy as np

from flex_robot_sim.model.arm_model import ArmModel
from flex_robot_sim.model.assembly import load
from flex_robot_sim.reproduce.comparison import (
    Comparison,
    claim,
    needing,
    not_comparable,
    same_curve,
)
from flex_robot_sim.reproduce.courses import JUDGES, Course, apart_by_kind, courses, largest
from flex_robot_sim.reproduce.motion import Progress, Run, springs, within
from flex_robot_sim.reproduce.options import Options
from flex_robot_sim.reproduce.report import Number, Pictures, Reproduction
from flex_robot_sim.rig.bench.bench import Bench
from flex_robot_sim.rig.board.emulated_rig import EmulatedRig
from flex_robot_sim.rig.bridge.bridge import BridgeSettings, calibration_of
from flex_robot_sim.rig.bridge.comparison import states_of
from flex_robot_sim.rig.bridge.experiment_log import Experiment
from flex_robot_sim.rig.bridge.twin import Twin, TwinSettings
from flex_robot_sim.rig.conformance.back_ends import Lockstep
from flex_robot_sim.rig.conformance.host import Host
from flex_robot_sim.rig.estimation.shape_tracker import ShapeTracker
from flex_robot_sim.rig.host.session import Reading
from flex_robot_sim.rig.wire.profile import MIN_SEGMENT_US, chunks, profile_crc, segment
from flex_robot_sim.rig.wire.protocol import Arm, Disarm, Joint, ProfileStart, Zero
from flex_robot_sim.rig.wire.vocabulary import CONVERSIONS, MOVING
from flex_robot_sim.util.exceptions import SimulationError
from flex_robot_sim.util.plots import Chart, Curve
from flex_robot_sim.util.share import shipped_robots

# what the bench has of friction and stiffness, over what the model believes
FRICTION, STIFFNESS = 1.15, 1.06
Move = tuple[float, float, float]       # duration, duty, step rate           [s, 1, steps/s]
MOVES: tuple[Move, ...] = ((0.4, 0.5, 500.0), (0.4, -0.5, -500.0), (0.4, 0.0, 0.0))
LEAST = 0.05                # of MOVES, for a range of every curve                          [s]
NODE = 0.4                  # place of the node over the length of the strip
START = (0.15, 0.0)         # of the bench                                              [m, rad]
SOUGHT = (2.0, 12.0, 0.01)      # frequencies of the strip that are tried: from, to, step   [Hz]
ROBOT, VARIANT, VARIED = 'rig', '', ()
CURVES = ('prismatic joint', 'revolute joint', 'strip at 0.4 L', 'tip of the strip')
UNITS = ('m', 'rad', 'm', 'm')


class Sides(NamedTuple):
    """Bench and model during the same motion."""

    time: np.ndarray        # (k,)     [s]
    efforts: np.ndarray     # (k, 2)   of the motors of the model                       [N, N m]
    bench: np.ndarray       # (k, 4)   CURVES                                           UNITS
    model: np.ndarray       # (k, 4)
    run: Run                # of the model


def run(progress: Progress, options: Options) -> Reproduction:
    """Run the experiment."""
    model = options.arm(ROBOT)
    bench = load(other_text())
    moves = moves_of(options.seconds)
    experiment = experiment_of(bench, model, within(progress, 0.0, 0.4), moves)
    sides = compared(experiment)
    found: dict[str, Course] = {}
    apart = None
    if options.formulations:
        K, D = springs(model)
        found = courses(
            model,
            lambda name, *_: sides.run if name == 'recursion' else compared(experiment, name).run,
            lambda q, qd, t: -K @ q - D @ qd, float(sides.time[-1]), within(progress, 0.4, 1.0),
            words=dict.fromkeys(JUDGES, 'in the place of the model; dry friction is smoothed'))
        smooth = experiment._replace(arm=load(without_friction()))
        apart = apart_by_kind(model, *(compared(smooth, name).run
                                       for name in ('recursion', 'wrench_dae')))[0]
    return Reproduction(
        (pictures(sides),), tuple(comparisons(sides, sum(move[0] for move in moves))),
        tuple(numbers(sides, apart)), found, largest(found),
        'coordinates of the model of the bench, by all nonlinear formulations: friction of '
        'the slide sticks in the steps of the recursion, and is smoothed in theirs',
        (f'the bench has {FRICTION:g} times the friction and {STIFFNESS:g} times the bending '
         'stiffness of the model', 'duty and step rate: the paper transforms force and torque '
         'into voltage and pulses, and does not say how; figures 17 and 18 show what the motors '
         'of the model then exert', 'lead, gear, drivers and sensors: see urdf/rig.urdf',
         f'the node of figure 21 at {NODE:g} of the length: the paper does not say into how many '
         'elements the strip is cut'))


def comparisons(sides: Sides, seconds: float) -> Iterator[Comparison]:
    """Compare with section 4 and figures 19 to 22."""
    steady = slice(-max(1, len(sides.time) // 10), None)
    rows = []
    for k, (name, place) in enumerate(zip(CURVES, ('figure 19', 'figure 20', 'figure 21',
                                                   'figure 22'))):
        error, span = sides.bench[:, k] - sides.model[:, k], np.ptp(sides.bench[:, k])
        if k < 2:
            rows.append(claim(
                f'{name} in steady state, emulated bench against model', place,
                'very small, about 3.5 %', 100 * abs(error[steady].mean()) / span, '% of range',
                'print resolution of "about 3.5"', upper=3.55))
        else:
            rows.append(same_curve(
                f'{name}, emulated bench against model', place, np.abs(error).max() / span,
                reason=f'the bench is chosen to have {FRICTION:g} times the friction and '
                       f'{STIFFNESS:g} times the stiffness of the model',
                paper='closely matching'))
    bench, model = (vibration(sides.time, side[:, 3]) for side in (sides.bench, sides.model))
    rows.append(claim('frequency of the strip at rest, emulated bench against model', 'figure 22',
                      'closely matching', 100 * abs(model / bench - 1), '%',
                      'what the paper calls very small: "about 3.5 %"', upper=3.55))
    yield from needing(sum(move[0] for move in MOVES), seconds, rows)
    yield not_comparable('a real bench', 'section 4', 'photograph and curves',
                         'the bench is emulated: how far it is off says how such errors show')
    yield not_comparable('values of the curves', 'figures 17 to 22', 'printed as pictures',
                         'the text has no number of them')


def vibration(time: np.ndarray, values: np.ndarray) -> float:
    """Frequency of the sine that fits a curve (k,) best while the last move stands still [Hz]."""
    rest = time >= time[-1] - MOVES[-1][0]
    t, y = time[rest], values[rest] - values[rest].mean()

    def left(frequency):
        w = 2 * np.pi * frequency
        basis = np.column_stack([np.cos(w * t), np.sin(w * t), np.ones_like(t)])
        return np.linalg.norm(y - basis @ np.linalg.lstsq(basis, y, rcond=None)[0])

    return float(min(np.arange(*SOUGHT), key=left))


def numbers(sides: Sides, apart: float | None) -> Iterator[Number]:
    """Yield ranges and differences of bench and model."""
    for k, (name, unit) in enumerate(zip(CURVES, UNITS)):
        error, span = sides.bench[:, k] - sides.model[:, k], np.ptp(sides.bench[:, k])
        yield Number(f'{name}: range on the bench', span, unit)
        yield Number(f'{name}: difference, root mean square',
                     100 * np.sqrt(np.mean(error**2)) / span, '% of range')
    if apart is not None:
        yield Number('wrench DAE against the recursion, no dry friction in either', 100 * apart,
                     '% of range')


def pictures(sides: Sides) -> Pictures:
    """Figures 17 to 22."""
    charts = [Chart('Fig. 17: force on the slide', 'time [s]', 'force [N]',
                    (Curve('motor of the model', sides.time, sides.efforts[:, 0], 4),)),
              Chart('Fig. 18: torque on the revolute joint', 'time [s]', 'torque [N m]',
                    (Curve('motor of the model', sides.time, sides.efforts[:, 1], 4),))]
    for k, (title, label) in enumerate((
            ('Fig. 19: prismatic joint', 'displacement [m]'),
            ('Fig. 20: revolute joint', 'angle [rad]'),
            ('Fig. 21: strip at 0.4 of its length', 'flexural displacement [m]'),
            ('Fig. 22: tip of the strip', 'flexural displacement [m]'))):
        charts.append(Chart(title, 'time [s]', label, (
            Curve('bench', sides.time, sides.bench[:, k], 4),
            Curve('simulation', sides.time, sides.model[:, k], 1, 1))))
    return Pictures('figures_17_to_22', 'The bench, emulated, against its model', tuple(charts))


def other_text() -> str:
    """Return the shipped rig as the bench really is."""
    text = shipped_robots()['rig'].read_text(encoding='utf-8')
    for old, new in (('damping="40" friction="8"',
                      f'damping="{40 * FRICTION}" friction="{8 * FRICTION}"'),
                     ('E="206e9"', f'E="{206e9 * STIFFNESS}"')):
        assert old in text, old
        text = text.replace(old, new)
    return text


def without_friction() -> str:
    """Return the shipped rig whose joints have no dry friction."""
    text = shipped_robots()['rig'].read_text(encoding='utf-8')
    return re.sub('friction="[^"]*"', 'friction="0"', text)


def moves_of(seconds: float | None) -> list[Move]:
    """Return MOVES, or what begins within the first `seconds` of them, and within LEAST."""
    found: list[Move] = []
    left = inf if seconds is None else max(seconds, LEAST)
    for duration, duty, rate in MOVES:
        if left >= MIN_SEGMENT_US * 1e-6:
            found.append((min(duration, left), duty, rate))
        left -= duration
    return found


def experiment_of(bench_arm: ArmModel, model: ArmModel, progress: Progress,
                  moves: Sequence[Move]) -> Experiment:
    """Return the Experiment of playing moves on an emulated bench, in lockstep with its board."""
    bench = Bench(bench_arm, conversions=CONVERSIONS, start=START)
    host = Host(Lockstep('emulator', EmulatedRig(bench)))
    host.wait(40)
    host.hello()
    for joint, count in ((Joint.SLIDE, START[0] * bench.parts.counts_per_metre),
                         (Joint.TURN, START[1] * bench.parts.counts_per_radian)):
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
    pieces = round(sum(move[0] for move in moves) / 0.02) + 5
    for k in range(pieces):
        host.wait(20, host.alive())
        progress((k + 1) / pieces)
    host.accepted(Disarm())
    host.wait(100)
    readings = [Reading(message, message.time * 1e-6, message.time * 1e-6)
                for message in host.telemetry]
    return Experiment(model, calibration_of(BridgeSettings(), model), readings)


def compared(experiment: Experiment, formulation: str = 'recursion') -> Sides:
    """
    Let the model follow what the board did; return both Sides.

    A simulation that a formulation loses ends there.
    """
    arm = experiment.arm
    shapes = ShapeTracker(arm, experiment.calibration)
    twin = Twin(arm, experiment.calibration, shapes.link,
                TwinSettings(twin=True, twin_time_constant=0.0), formulation)
    beam = arm.beams[arm.segments[shapes.link][0]]
    places = np.array([beam.shape(share * beam.length)[1] for share in (NODE, 1.0)])
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
            q = twin.coordinates
            rows.append((time, *twin.applied_effort, *state.position,
                         *(places @ shapes.link_state.elastic), *q[:2], *(places @ q[2:]), *q,
                         *twin.rates))
    table = np.array(rows)
    q, qd = np.split(table[:, 11:], 2, axis=1)
    times = table[:, 0] - table[0, 0]
    return Sides(times, table[:, 1:3], table[:, 3:7], table[:, 7:11], Run(times, q, qd))

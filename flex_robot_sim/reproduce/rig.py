"""The element sum, section 4: the bench, emulated, against its model, figures 17 to 22."""

from __future__ import annotations

import re
from collections.abc import Sequence
from math import inf

import numpy as np

from flex_robot_sim.core.assembly import load
from flex_robot_sim.core.model import ArmModel
from flex_robot_sim.exceptions import SimulationError
from flex_robot_sim.plots import Chart, Curve
from flex_robot_sim.reproduce.courses import JUDGES, apart_by_kind, courses, largest
from flex_robot_sim.reproduce.motion import Progress, Run, springs, within
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
from flex_robot_sim.rig.wire.profile import SHORTEST, chunks, profile_crc, segment
from flex_robot_sim.rig.wire.protocol import Arm, Disarm, Joint, ProfileStart, Zero
from flex_robot_sim.rig.wire.vocabulary import CONVERSIONS, MOVING
from flex_robot_sim.share import shipped_robots

# what the bench has of friction and stiffness, over what the model believes
FRICTION, STIFFNESS = 1.15, 1.06
Move = tuple[float, float, float]       # duration, duty, step rate           [s, 1, steps/s]
MOVES: tuple[Move, ...] = ((0.4, 0.5, 500.0), (0.4, -0.5, -500.0), (0.4, 0.0, 0.0))
LEAST = 0.05                # of MOVES, for a range of every curve                          [s]
PAPER = 0.035               # of the range, in steady state: what joints part by there
NODE = 0.4                  # place of the node over the length of the strip
START = (0.15, 0.0)         # of the bench                                              [m, rad]


def run(progress: Progress, seconds: float | None = None) -> Reproduction:
    """Run the experiment."""
    model = load('rig')
    bench = load(other_text())
    experiment = experiment_of(bench, model, within(progress, 0.0, 0.4), moves_of(seconds))
    time, inputs, measured, simulated, usual = compared(experiment)
    steady = slice(-max(1, len(time) // 10), None)
    names = ('prismatic joint', 'revolute joint', 'strip at 0.4 L', 'tip of the strip')
    units = ('m', 'rad', 'm', 'm')
    numbers: list[Number] = []
    shares: list[float] = []
    for k, (name, unit) in enumerate(zip(names, units)):
        span = np.ptp(measured[:, k])
        error = measured[:, k] - simulated[:, k]
        shares.append(abs(error[steady].mean()) / span)
        numbers += [
            Number(f'{name}: range on the bench', span, unit),
            Number(f'{name}: off in steady state', 100 * shares[-1], '% of range',
                   'about 3.5', 'the paper, joints') if k < 2 else
            Number(f'{name}: off, root mean square', 100 * np.sqrt(np.mean(error**2)) / span,
                   '% of range')]
    off = max(shares[:2])
    charts = [Chart('Fig. 17: force, as duty of the motor', 'time [s]', 'duty [1]',
                    (Curve('duty', time, inputs[:, 0], 4),)),
              Chart('Fig. 18: torque, as step rate', 'time [s]', 'rate [1000 steps/s]',
                    (Curve('rate', time, inputs[:, 1] / 1e3, 4),))]
    for k, (title, label) in enumerate((
            ('Fig. 19: prismatic joint', 'displacement [m]'),
            ('Fig. 20: revolute joint', 'angle [rad]'),
            ('Fig. 21: strip at 0.4 of its length', 'flexural displacement [m]'),
            ('Fig. 22: tip of the strip', 'flexural displacement [m]'))):
        charts.append(Chart(title, 'time [s]', label, (
            Curve('bench', time, measured[:, k], 4),
            Curve('simulation', time, simulated[:, k], 1, 1))))
    K, D = springs(model)
    found = courses(
        model, lambda name, *_: usual if name == 'recursion' else compared(experiment, name)[-1],
        lambda q, qd, t: -K @ q - D @ qd, float(usual.time[-1]), within(progress, 0.4, 1.0),
        words=dict.fromkeys(JUDGES, 'in the place of the model; dry friction is smoothed'))
    smooth = experiment._replace(arm=load(without_friction()))
    apart = apart_by_kind(model, *(compared(smooth, name)[-1]
                                   for name in ('recursion', 'wrench_dae')))[0]
    numbers.append(Number('wrench DAE against the recursion, no dry friction in either',
                          100 * apart, '% of range'))
    return Reproduction(
        (Pictures('figures_17_to_22', 'The bench against its model', tuple(charts)),),
        tuple(numbers), found, largest(found),
        'coordinates of the model beside the bench, by all nonlinear formulations: friction of '
        'the slide sticks in the steps of the recursion, and is smoothed in theirs',
        (*[f'joints part by {100 * off:.2g} % in steady state, less than the 3.5 % of the paper: '
           'screw and stepper do as they are told, whatever the friction'] * int(off < PAPER),
         'the strip rings 3 % faster on the bench, which is stiffer, and less far',
         f'formulations part by {100 * largest(found):.2g} % of the range where they smooth what '
         f'sticks in the recursion, and by {100 * apart:.1g} % where nothing does'),
        ('the bench is an emulated one with friction and stiffness of its own: how far it is off '
         'says how such errors show, not how good the model of a real bench is',
         'the paper prints its curves as pictures, and no number but 3.5 %'),
        (f'the bench has {FRICTION:g} times the friction and {STIFFNESS:g} times the bending '
         'stiffness of the model', 'duty and step rate: the paper transforms force and torque '
         'into voltage and pulses, and does not say how', 'lead, gear, drivers and sensors: see '
         'urdf/rig.urdf', f'the node of figure 21 at {NODE:g} of the length: the paper does not '
         'say into how many elements the strip is cut'))


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
        if left >= SHORTEST * 1e-6:
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


def compared(experiment: Experiment, formulation: str = 'recursion'
             ) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, Run]:
    """
    Times, inputs (k, 2), bench and simulation (k, 4), and the Run of the simulation.

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
            rows.append((time, message.duty, message.step_rate, *state.position,
                         *(places @ shapes.link_state.elastic), *q[:2], *(places @ q[2:]), *q,
                         *twin.rates))
    table = np.array(rows)
    q, qd = np.split(table[:, 11:], 2, axis=1)
    times = table[:, 0] - table[0, 0]
    return (times, table[:, 1:3], table[:, 3:7], table[:, 7:11],
            Run(times, q, qd))

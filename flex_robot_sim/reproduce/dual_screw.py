"""
The dual screws, section 6: the arm of four joints and its manoeuvre, figures 6 to 10.

Linearised and nonlinear arm go through the same steps of the same scheme, so that what parts them
is what the linearised equations leave out.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import partial

import numpy as np

from flex_robot_sim.control.gains import carrying_efforts
from flex_robot_sim.dynamics.mass_matrix import mass_matrix
from flex_robot_sim.formulations.dual_screw import PAPER, DualScrew
from flex_robot_sim.formulations.dual_screw import Variant as Ours
from flex_robot_sim.model.arm_model import ArmModel
from flex_robot_sim.reproduce.comparison import (
    LINE,
    LINE_WIDTH,
    Comparison,
    claim,
    needing,
    not_comparable,
    same_curve,
)
from flex_robot_sim.reproduce.courses import Course, courses, largest
from flex_robot_sim.reproduce.dual_screw_checks import (
    derivative_costs,
    evaluation_costs,
    validity,
)
from flex_robot_sim.reproduce.dual_screw_figures import FIRST, GROUPS, SECOND, pictures
from flex_robot_sim.reproduce.motion import (
    Effort,
    Progress,
    Run,
    Variant,
    VariantSimulation,
    forces_of,
    within,
)
from flex_robot_sim.reproduce.options import Options
from flex_robot_sim.reproduce.report import Effect, Number, Reproduction
from flex_robot_sim.simulation.simulation import Simulation
from flex_robot_sim.util.exceptions import SimulationError
from flex_robot_sim.util.settings import SimulationSettings

ROBOT, VARIED, COMPARES_MODELS = 'dual_screw_arm', (), True
VARIANT = 'equation (112) word by word: ends of links turn by (27), sections by (104)'
DEVIATIONS = {'turning_ends': 'ends of links turn by 1 + theta~ (27)',
              'held_sections': 'sections turn with their link (104)',
              'keeps_energy': 'products of partial velocities of first order left out'}
SECONDS, STEP, EVERY = 6.0, 1e-3, 1     # [s], [s], steps between samples: some rates ring fast
START = np.array([0.0, np.pi / 6, 2 * np.pi / 3, np.pi / 6])
TARGETS = ((FIRST, np.array([0.0, np.pi / 3, np.pi / 3, np.pi / 3])),
           (SECOND, np.array([np.pi / 4, np.pi / 3, np.pi / 3, np.pi / 3])))
FREQUENCY = np.array([0.4, 0.8, 0.8, 0.8])  # of joints under PD                    [Hz]
SLOW = {'element_sum': 'element sum', 'wrench_dae': 'wrench DAE', 'stiffened': 'stiffened arm'}


def run(progress: Progress, options: Options) -> Reproduction:
    """Run the experiment."""
    seconds = options.seconds or SECONDS
    arm = options.arm(ROBOT, coupling='zero_order')
    second = replace(options, values={**options.values, **options.second})
    linear = second.arm(ROBOT, coupling='zero_order')
    made: dict[str, Run] = {}
    efforts: dict[str, np.ndarray] = {}
    costs: dict[str, float] = {}

    def motion(formulation, seconds, progress):
        made[formulation], efforts[formulation], costs[formulation] = manoeuvre(
            arm, formulation, seconds, progress)
        return made[formulation]

    found: dict[str, Course] = {}
    effects: tuple[Effect, ...] = ()
    if options.formulations and not options.is_paper:
        found = courses(arm, motion, forces_of(arm, servo_efforts(arm)), seconds,
                        within(progress, 0.0, 0.8))
    else:
        motion('recursion', seconds, within(progress, 0.0, 0.1))
    start = 0.8 if found else 0.1
    made['linear'], efforts['linear'], costs['linear'] = manoeuvre(
        linear, 'dual_screw', seconds, within(progress, start, start + 0.15),
        paper_model if options.is_paper else None)
    if options.is_paper:
        effects = measured_effects(arm, seconds, within(progress, 0.25, 1.0))
    runs = {'exact': made['recursion'], 'linear': made['linear']}
    efforts = {'exact': efforts['recursion'], 'linear': efforts['linear']}
    rows = [*comparisons(arm, runs, efforts, seconds)]
    end = float(runs['linear'].time[-1])
    return Reproduction(
        pictures(arm, runs, efforts), tuple(rows), tuple(numbers(arm, runs, costs, options)),
        found, largest(found),
        'coordinates of all nonlinear formulations over the range',
        ('lengths, sections and masses: see urdf/dual_screw_arm.urdf',
         f'PD of {FREQUENCY[0]:g} Hz for the waist and {FREQUENCY[1]:g} Hz for the other joints, '
         'critically damped, and efforts that carry the weight at the target: slow enough that '
         'links bend by millimetres, as linear equations assume',
         f'implicit midpoint at {STEP * 1e3:g} ms for both; no damping in the links'),
        effects, (f'dual screws: the motion is lost at {end:.3g} of {seconds:g} s',)
        if end < seconds - STEP / 2 else ())


def comparisons(arm: ArmModel, runs: Mapping[str, Run], efforts: Mapping[str, np.ndarray],
                seconds: float) -> Iterator[Comparison]:
    """Compare linearised with nonlinear curves, as figures 6 to 10 do, and costs."""
    exact, linear = runs['exact'], runs['linear']
    joints = slice(0, 4)
    rows = [same_curve('joint angles, linearised against nonlinear', 'figure 6',
                       _share(exact.q[:, joints], linear.q[:, joints])),
            same_curve('joint rates, linearised against nonlinear', 'figure 6',
                       _share(exact.qd[:, joints], linear.qd[:, joints]))]
    for kind, (_, title, _, _) in GROUPS.items():
        figure, what = title.split(': ')
        place = figure.lower().replace('fig.', 'figure')
        part = [k for k, name in enumerate(arm.coordinate_names) if f'/{kind}_' in name]
        for values, name in (('q', 'coordinates'), ('qd', 'rates')):
            rows.append(same_curve(
                f'{what}, {name}, linearised against nonlinear', place,
                _share(getattr(exact, values)[:, part], getattr(linear, values)[:, part]),
                reason='the linear equations create energy, and frequencies of shapes that '
                       'vibrate fast differ a little', paper='the difference is small'))
    rows.append(same_curve('torques, linearised against nonlinear', 'figure 10',
                           _share(efforts['exact'], efforts['linear']),
                           paper='the difference is small'))
    for kind, place in (('torsion', 'figure 8'), ('bending_z', 'figure 9')):
        part = [k for k, name in enumerate(arm.coordinate_names) if f'/{kind}_' in name]
        early = exact.time < SECOND
        largest_late = np.abs(exact.q[:, part]).max()
        rows.append(claim(
            f'{kind.replace("_z", " out of plane")} before {SECOND:g} s, over its largest value',
            place, 'equal to zero', 100 * float(max(
                np.abs(run.q[early[:len(run.q)]][:, part]).max() for run in runs.values())
                / (largest_late or 1.0)), '%', LINE_WIDTH, upper=100 * LINE))
    yield from needing(SECONDS, seconds, rows)
    for what, paper in (('CPU time, nonlinear', 3901.0), ('CPU time, linearised', 314.0),
                        ('CPU time, linearised, generated code', 14.0)):
        yield not_comparable(what, 'section 6', paper,
                             'seconds of symbolic expressions on another machine', 's')
    yield not_comparable('values of the curves', 'figures 6 to 10', 'printed as pictures',
                         'table I with the parameters is missing from the text')


def _share(exact, linear):
    """Largest difference of columns over the largest range among them."""
    size = min(len(exact), len(linear))
    span = np.ptp(exact, axis=0).max()
    return float(np.abs(exact[:size] - linear[:size]).max() / span) if span else 0.0


def numbers(arm: ArmModel, runs: Mapping[str, Run], costs: Mapping[str, float],
            options: Options) -> Iterator[Number]:
    """Yield sizes of what bends, the margin of the linearised inertia, and costs."""
    exact = runs['exact']
    for kind, (_, title, unit, _) in GROUPS.items():
        part = [k for k, name in enumerate(arm.coordinate_names) if f'/{kind}_' in name]
        yield Number(f'{title.split(": ")[1]}: largest', np.abs(exact.q[:, part]).max(), unit)
    if not options.formulations:
        return
    yield from validity(arm, exact, START)
    compiled, matrices = evaluation_costs(arm)
    geometric, differences = derivative_costs(arm)
    yield Number('CPU time, nonlinear: the recursion', costs['recursion'], 's')
    for formulation, name in SLOW.items():
        if formulation in costs:
            yield Number(f'CPU time, nonlinear: {name} in numpy', costs[formulation], 's')
    yield Number('CPU time, linearised: dual screws, compiled', costs['linear'], 's')
    yield Number('one evaluation of them, compiled', 1e6 * compiled, 'us')
    yield Number('one evaluation as matrices in numpy', 1e6 * matrices, 'us')
    yield Number('matrices over compiled', matrices / compiled, '')
    yield Number('derivatives of all projection matrices, geometric rule', 1e3 * geometric, 'ms')
    yield Number('the same by differences and the chain rule', 1e3 * differences, 'ms')
    yield Number('differences over geometric rule', differences / geometric, '')


def paper_model(arm: ArmModel) -> DualScrew:
    """Return dual screws by (112) word by word."""
    return DualScrew(arm, PAPER)


def measured_effects(arm: ArmModel, seconds: float, progress: Progress) -> tuple[Effect, ...]:
    """Return how far each term of (112) as printed moves what bends."""
    usual, _, _ = manoeuvre(arm, 'dual_screw', seconds)
    effects = []
    rows = [(DEVIATIONS.get(field, field), Ours()._replace(**{field: getattr(PAPER, field)}))
            for field in Ours._fields]
    rows.append(('all of them, (112) word by word', PAPER))
    for k, (deviation, variant) in enumerate(rows):
        one, _, _ = manoeuvre(arm, 'dual_screw', seconds, variant=partial(
            DualScrew, variant=variant))
        ended = None if len(one.q) == len(usual.q) else float(one.time[-1])
        for kind, (_, title, _, _) in GROUPS.items():
            part = [k for k, name in enumerate(arm.coordinate_names) if f'/{kind}_' in name]
            effects.append(Effect(deviation, title.split(': ')[1], 100 * _share(
                usual.q[:, part], one.q[:, part]), ended))
        progress((k + 1) / len(rows))
    return tuple(effects)


def manoeuvre(arm: ArmModel, formulation: str, seconds: float,
              progress: Progress = lambda share: None, variant: Variant | None = None
              ) -> tuple[Run, np.ndarray, float]:
    """
    Run, applied efforts (k, joints) [N m] and CPU time [s] of a formulation.

    :param variant: makes a variant of it, which may lose its state before the end.
    """
    settings = SimulationSettings(time_step=STEP, formulation=formulation)
    simulation = (Simulation(arm, settings) if variant is None
                  else VariantSimulation(arm, settings, variant))
    gains = joint_gains(arm)
    simulation.set_state(START)
    _aim(simulation, arm, START, gains)
    simulation.step()                       # compiles what is not compiled yet
    simulation.set_state(START)
    rows, waiting, total, cost = [], list(TARGETS), round(seconds / STEP), 0.0
    for done in range(0, total + 1, EVERY):
        while waiting and done * STEP >= waiting[0][0] - STEP / 2:
            _aim(simulation, arm, waiting.pop(0)[1], gains)
        rows.append((done * STEP, simulation.coordinates, simulation.rates,
                     simulation.applied_effort))
        if done < total:
            started = time.process_time()
            try:
                simulation.step(min(EVERY, total - done))
            except SimulationError:
                if formulation == 'recursion':
                    raise
                break
            cost += time.process_time() - started
            progress(done / total)
    times, q, qd, effort = (np.array(column) for column in zip(*rows))
    return Run(times, q, qd), effort, cost


def joint_gains(arm: ArmModel) -> tuple[np.ndarray, np.ndarray]:
    """Stiffness and damping (joints,) of FREQUENCY for every joint by itself, at the end."""
    q = np.zeros(arm.size)
    q[:4] = TARGETS[-1][1]
    inertia, rate = np.diag(mass_matrix(arm.arrays, q))[:4], 2 * np.pi * FREQUENCY
    return inertia * rate**2, 2 * inertia * rate


def _aim(simulation, arm, target, gains):
    simulation.hold(target, *gains)
    simulation.effort = carrying_efforts(arm, target)


def servo_efforts(arm: ArmModel) -> Effort:
    """Efforts of the manoeuvre as a function of time, q and qd."""
    kp, kd = joint_gains(arm)
    carried = [(0.0, START, carrying_efforts(arm, START))]
    carried += [(start, target, carrying_efforts(arm, target)) for start, target in TARGETS]

    def effort(t, q, qd):
        _, target, weight = [row for row in carried if row[0] <= t][-1]
        return weight + kp * (target - q[:4]) - kd * qd[:4]

    return effort

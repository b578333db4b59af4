"""
The dual screws, section 6: an arm with four joints and its manoeuvre, figures 6 to 10.

The linearised and the nonlinear arm use the same scheme and the same steps. So they differ only by
the terms that the linearised equations omit.
"""

import time
from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import partial

import numpy as np

from flex_robot_sim.control.gains import carrying_efforts
from flex_robot_sim.dynamics.mass_matrix import mass_matrix
from flex_robot_sim.formulations.dual_screw import PAPER, DualScrew
from flex_robot_sim.formulations.dual_screw import Variant as EquationVariant
from flex_robot_sim.model.arm_model import ArmModel
from flex_robot_sim.reproduce.courses import FormulationResult, max_error, run_formulations
from flex_robot_sim.reproduce.dual_screw_checks import (
    derivative_costs,
    evaluation_costs,
    inertia_margins,
)
from flex_robot_sim.reproduce.dual_screw_figures import (
    ELASTIC_GROUPS,
    FIRST_TARGET_TIME,
    SECOND_TARGET_TIME,
    make_figures,
)
from flex_robot_sim.reproduce.options import Options
from flex_robot_sim.reproduce.paper_comparison import (
    LINE_FRACTION,
    LINE_WIDTH,
    PaperComparison,
    check_claim,
    check_curves,
    not_comparable,
    require_duration,
)
from flex_robot_sim.reproduce.reproduction import Effect, Number, Reproduction
from flex_robot_sim.reproduce.simulated_motion import (
    Effort,
    Progress,
    Run,
    Variant,
    VariantSimulation,
    make_force,
    subprogress,
)
from flex_robot_sim.simulation.simulation import Simulation
from flex_robot_sim.util.exceptions import SimulationError
from flex_robot_sim.util.settings import SimulationSettings

ROBOT, VARIED, COMPARES_MODELS = 'dual_screw_arm', (), True
VARIANT = 'equation (112) as printed: ends of links rotate by (27), sections by (104)'
DEVIATIONS = {
    'exact_end_rotation': 'ends of links rotate by 1 + theta~ (27)',
    'omits_section_gyroscopics': 'sections rotate with their link (104)',
    'keeps_energy': 'without products of partial velocities of first order',
}
DURATION_S, STEP_S, STRIDE = 6.0, 1e-3, 1  # [s], [s], steps per sample: some rates vibrate fast
START = np.array([0.0, np.pi / 6, 2 * np.pi / 3, np.pi / 6])
TARGETS = (
    (FIRST_TARGET_TIME, np.array([0.0, np.pi / 3, np.pi / 3, np.pi / 3])),
    (SECOND_TARGET_TIME, np.array([np.pi / 4, np.pi / 3, np.pi / 3, np.pi / 3])),
)
FREQUENCY = np.array([0.4, 0.8, 0.8, 0.8])  # of joints under PD                    [Hz]
NUMPY_FORMULATIONS = {
    'element_sum': 'element sum',
    'wrench_dae': 'wrench DAE',
    'stiffened': 'stiffened arm',
}


def run(progress: Progress, options: Options) -> Reproduction:
    """Run the experiment."""
    seconds = options.seconds or DURATION_S
    arm = options.load_arm(ROBOT, coupling='zero_order')
    linear_options = replace(options, values={**options.values, **options.second_model_values})
    linear = linear_options.load_arm(ROBOT, coupling='zero_order')
    motions: dict[str, Run] = {}
    efforts: dict[str, np.ndarray] = {}
    costs: dict[str, float] = {}

    def motion(formulation, seconds, progress):
        motions[formulation], efforts[formulation], costs[formulation] = manoeuvre(
            arm, formulation, seconds, progress
        )
        return motions[formulation]

    results: dict[str, FormulationResult] = {}
    effects: tuple[Effect, ...] = ()
    if options.runs_formulations and not options.is_paper:
        results = run_formulations(
            arm,
            motion,
            make_force(arm, servo_efforts(arm)),
            seconds,
            subprogress(progress, 0.0, 0.8),
        )
    else:
        motion('recursion', seconds, subprogress(progress, 0.0, 0.1))
    start = 0.8 if results else 0.1
    motions['linear'], efforts['linear'], costs['linear'] = manoeuvre(
        linear,
        'dual_screw',
        seconds,
        subprogress(progress, start, start + 0.15),
        partial(DualScrew, variant=PAPER) if options.is_paper else None,
    )
    if options.is_paper:
        effects = measured_effects(arm, seconds, subprogress(progress, 0.25, 1.0))
    runs = {'exact': motions['recursion'], 'linear': motions['linear']}
    efforts = {'exact': efforts['recursion'], 'linear': efforts['linear']}
    rows = [*comparisons(arm, runs, efforts, seconds)]
    end = float(runs['linear'].time[-1])
    return Reproduction(
        make_figures(arm, runs, efforts),
        tuple(rows),
        tuple(numbers(arm, runs, costs, options)),
        results,
        max_error(results),
        'coordinates of all nonlinear formulations over the range',
        (
            'lengths, sections and masses: see urdf/dual_screw_arm.urdf',
            f'PD of {FREQUENCY[0]:g} Hz for the waist and {FREQUENCY[1]:g} Hz for the other '
            'joints, critically damped, and efforts that carry the weight at the target: slow '
            'enough that links bend by millimetres, as linear equations assume',
            f'implicit midpoint at {STEP_S * 1e3:g} ms for both; no damping in the links',
        ),
        effects,
        (f'dual screws: the motion is lost at {end:.3g} of {seconds:g} s',)
        if end < seconds - STEP_S / 2
        else (),
    )


def comparisons(
    arm: ArmModel, runs: Mapping[str, Run], efforts: Mapping[str, np.ndarray], seconds: float
) -> Iterator[PaperComparison]:
    """Compare linearised with nonlinear curves, as figures 6 to 10 do, and costs."""
    exact, linear = runs['exact'], runs['linear']
    rows = [
        check_curves(
            f'joint {name}, linearised against nonlinear',
            'figure 6',
            _range_error(getattr(exact, values)[:, :4], getattr(linear, values)[:, :4]),
        )
        for values, name in (('q', 'angles'), ('qd', 'rates'))
    ]
    for kind, (_, title, _, _) in ELASTIC_GROUPS.items():
        figure, what = title.split(': ')
        place = figure.lower().replace('fig.', 'figure')
        columns = [k for k, name in enumerate(arm.coordinate_names) if f'/{kind}_' in name]
        for values, name in (('q', 'coordinates'), ('qd', 'rates')):
            rows.append(
                check_curves(
                    f'{what}, {name}, linearised against nonlinear',
                    place,
                    _range_error(
                        getattr(exact, values)[:, columns], getattr(linear, values)[:, columns]
                    ),
                    reason='the linear equations create energy, and frequencies of shapes that '
                    'vibrate fast differ a little',
                    paper='the difference is small',
                )
            )
    rows.append(
        check_curves(
            'torques, linearised against nonlinear',
            'figure 10',
            _range_error(efforts['exact'], efforts['linear']),
            paper='the difference is small',
        )
    )
    for kind, place in (('torsion', 'figure 8'), ('bending_z', 'figure 9')):
        columns = [k for k, name in enumerate(arm.coordinate_names) if f'/{kind}_' in name]
        early = exact.time < SECOND_TARGET_TIME
        max_coordinate = np.abs(exact.q[:, columns]).max()
        rows.append(
            check_claim(
                f'{kind.replace("_z", " out of plane")} before {SECOND_TARGET_TIME:g} s, over its '
                'largest value',
                place,
                'equal to zero',
                100
                * float(
                    max(
                        np.abs(run.q[early[: len(run.q)]][:, columns]).max()
                        for run in runs.values()
                    )
                    / (max_coordinate or 1.0)
                ),
                '%',
                LINE_WIDTH,
                upper=100 * LINE_FRACTION,
            )
        )
    yield from require_duration(DURATION_S, seconds, rows)
    for what, paper in (
        ('CPU time, nonlinear', 3901.0),
        ('CPU time, linearised', 314.0),
        ('CPU time, linearised, generated code', 14.0),
    ):
        yield not_comparable(
            what, 'section 6', paper, 'seconds of symbolic expressions on another machine', 's'
        )
    yield not_comparable(
        'values of the curves',
        'figures 6 to 10',
        'printed as pictures',
        'table I with the parameters is missing from the text',
    )


def _range_error(exact, linear):
    """Return the largest difference of columns over the largest range among them."""
    size = min(len(exact), len(linear))
    span = np.ptp(exact, axis=0).max()
    return float(np.abs(exact[:size] - linear[:size]).max() / span) if span else 0.0


def numbers(
    arm: ArmModel, runs: Mapping[str, Run], costs: Mapping[str, float], options: Options
) -> Iterator[Number]:
    """Yield maxima of the elastic coordinates, margins of the linearised inertia, and costs."""
    exact = runs['exact']
    for kind, (_, title, unit, _) in ELASTIC_GROUPS.items():
        columns = [k for k, name in enumerate(arm.coordinate_names) if f'/{kind}_' in name]
        yield Number(f'{title.split(": ")[1]}: largest', np.abs(exact.q[:, columns]).max(), unit)
    if not options.runs_formulations:
        return
    yield from inertia_margins(arm, exact, START)
    compiled, matrices = evaluation_costs(arm)
    geometric, differences = derivative_costs(arm)
    yield Number('CPU time, nonlinear: the recursion', costs['recursion'], 's')
    for formulation, name in NUMPY_FORMULATIONS.items():
        if formulation in costs:
            yield Number(f'CPU time, nonlinear: {name} in numpy', costs[formulation], 's')
    yield Number('CPU time, linearised: dual screws, compiled', costs['linear'], 's')
    yield Number('one evaluation of them, compiled', 1e6 * compiled, 'us')
    yield Number('one evaluation as matrices in numpy', 1e6 * matrices, 'us')
    yield Number('matrices over compiled', matrices / compiled, '')
    yield Number('derivatives of all projection matrices, geometric rule', 1e3 * geometric, 'ms')
    yield Number('the same by differences and the chain rule', 1e3 * differences, 'ms')
    yield Number('differences over geometric rule', differences / geometric, '')


def measured_effects(arm: ArmModel, seconds: float, progress: Progress) -> tuple[Effect, ...]:
    """Return the change of the elastic coordinates caused by each term of (112) as printed."""
    reference, _, _ = manoeuvre(arm, 'dual_screw', seconds)
    effects = []
    rows = [
        (
            DEVIATIONS.get(field, field),
            EquationVariant()._replace(**{field: getattr(PAPER, field)}),
        )
        for field in EquationVariant._fields
    ]
    rows.append(('all of them: (112) as printed', PAPER))
    for k, (deviation, variant) in enumerate(rows):
        run, _, _ = manoeuvre(
            arm, 'dual_screw', seconds, variant=partial(DualScrew, variant=variant)
        )
        end_time = None if len(run.q) == len(reference.q) else float(run.time[-1])
        for kind, (_, title, _, _) in ELASTIC_GROUPS.items():
            columns = [k for k, name in enumerate(arm.coordinate_names) if f'/{kind}_' in name]
            effects.append(
                Effect(
                    deviation,
                    title.split(': ')[1],
                    100 * _range_error(reference.q[:, columns], run.q[:, columns]),
                    end_time,
                )
            )
        progress((k + 1) / len(rows))
    return tuple(effects)


def manoeuvre(
    arm: ArmModel,
    formulation: str,
    seconds: float,
    progress: Progress = lambda fraction: None,
    variant: Variant | None = None,
) -> tuple[Run, np.ndarray, float]:
    """
    Return the Run, applied efforts (k, joints) [N m] and CPU time [s] of a formulation.

    :param variant: makes a variant of the formulation; its Run may end early.
    """
    settings = SimulationSettings(time_step=STEP_S, formulation=formulation)
    simulation = (
        Simulation(arm, settings) if variant is None else VariantSimulation(arm, settings, variant)
    )
    gains = joint_gains(arm)
    simulation.set_state(START)
    _set_target(simulation, arm, START, gains)
    simulation.step()  # compile before the time measurement
    simulation.set_state(START)
    rows, pending_targets, total, cpu_time = [], list(TARGETS), round(seconds / STEP_S), 0.0
    for step in range(0, total + 1, STRIDE):
        while pending_targets and step * STEP_S >= pending_targets[0][0] - STEP_S / 2:
            _set_target(simulation, arm, pending_targets.pop(0)[1], gains)
        rows.append((step * STEP_S, simulation.q, simulation.v, simulation.applied_effort))
        if step < total:
            start_time = time.process_time()
            try:
                simulation.step(min(STRIDE, total - step))
            except SimulationError:
                if formulation == 'recursion':
                    raise
                break
            cpu_time += time.process_time() - start_time
            progress(step / total)
    times, q, qd, effort = (np.array(column) for column in zip(*rows))
    return Run(times, q, qd), effort, cpu_time


def joint_gains(arm: ArmModel) -> tuple[np.ndarray, np.ndarray]:
    """Return PD gains (joints,) that give each joint alone its FREQUENCY, at the last target."""
    q = np.zeros(arm.size)
    q[:4] = TARGETS[-1][1]
    inertia, rate = np.diag(mass_matrix(arm.arrays, q))[:4], 2 * np.pi * FREQUENCY
    return inertia * rate**2, 2 * inertia * rate


def _set_target(simulation, arm, target, gains):
    simulation.hold(target, *gains)
    simulation.effort = carrying_efforts(arm, target)


def servo_efforts(arm: ArmModel) -> Effort:
    """Return the efforts of the manoeuvre as a function of time, q and qd."""
    kp, kd = joint_gains(arm)
    setpoints = [(0.0, START, carrying_efforts(arm, START))]
    setpoints += [(start, target, carrying_efforts(arm, target)) for start, target in TARGETS]

    def effort(t, q, qd):
        _, target, gravity_effort = [row for row in setpoints if row[0] <= t][-1]
        return gravity_effort + kp * (target - q[:4]) - kd * qd[:4]

    return effort

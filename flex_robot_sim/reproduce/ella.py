"""The wrench DAE, section 7: ELLA under PD along a smooth trajectory, figures 4 to 15."""

import re
from collections.abc import Callable, Iterator
from functools import partial

import numpy as np

from flex_robot_sim.analysis.deflection import tip_deflection
from flex_robot_sim.analysis.natural_modes import frequencies
from flex_robot_sim.formulations import wrench_dae
from flex_robot_sim.model.arm_model import ArmModel
from flex_robot_sim.reproduce.courses import FormulationResult, max_error, run_formulations
from flex_robot_sim.reproduce.ella_comparisons import comparisons, stretch_frequency
from flex_robot_sim.reproduce.ella_controller import (
    DAMPING,
    GOAL,
    MOVE_DURATION,
    STIFFNESS,
    EllaController,
)
from flex_robot_sim.reproduce.ella_figures import (
    JOINTS,
    MotionRecorder,
    MotionSamples,
    make_all_figures,
)
from flex_robot_sim.reproduce.ella_schemes import (
    RUN_DURATION,
    STEP_S,
    SchemeComparison,
    compare_schemes,
)
from flex_robot_sim.reproduce.options import Options
from flex_robot_sim.reproduce.reproduction import Effect, Figure, Number, Reproduction
from flex_robot_sim.reproduce.simulated_motion import (
    Progress,
    Run,
    Variant,
    curve_error,
    make_force,
    simulate,
    subprogress,
)
from flex_robot_sim.simulation.simulation import Simulation
from flex_robot_sim.util.share import shipped_robots

ROBOT, VARIED = 'ella', ()
VARIANT = (
    'PD alone (83), ends of links that only shift (23), one clamped-free shape in each '
    'direction and no torsion'
)
DURATION_S = 4.0  # of the run                            [s]
ROTOR_ELEMENT = '<joint name="{}" rotor_inertia="1e-4" gear_ratio="100"/>'
TIP_START = (0.0065, -0.0083)  # transverse deflection of the tip of link 2            [m]
# the wrench DAE with link ends that shift the next link and do not rotate it (23)
SHIFTING_ENDS = partial(wrench_dae.make, sections_turn=False)
PAPER_MODES = '<modes bending_y="1" bending_z="1" torsion="0" stretch="1" boundary="free"/>'
ONE_SHAPE = '<modes bending_y="1" bending_z="1" torsion="0"/>'


def run(progress: Progress, options: Options) -> Reproduction:
    """Run the experiment."""
    seconds = options.seconds or DURATION_S
    arm = options.load_arm(robot_text(PAPER_MODES if options.is_paper else None))
    variant = SHIFTING_ENDS if options.is_paper else None
    controller = EllaController(arm, not options.is_paper)
    recorder = MotionRecorder(arm, controller.effort)
    motion = simulate_move(
        arm,
        controller,
        seconds,
        recorder.take_sample,
        variant,
        subprogress(progress, 0.0, 0.3 if options.is_paper else 0.03),
    )
    samples = recorder.samples()
    rigid_torques = simulate_rigid_torques(options, controller.compensates_gravity, seconds)
    results: dict[str, FormulationResult] = {}
    schemes: SchemeComparison | None = None
    effects: tuple[Effect, ...] = ()
    if options.is_paper:
        effects = measured_effects(options, motion, seconds, subprogress(progress, 0.4, 1.0))
    else:
        if options.runs_formulations:
            results = run_formulations(
                arm,
                lambda name, seconds, progress: (
                    motion
                    if name == 'recursion'
                    else simulate_move(
                        arm, controller, seconds, progress=progress, formulation=name
                    )
                ),
                make_force(arm, controller.effort),
                seconds,
                subprogress(progress, 0.05, 0.8),
            )
        schemes = compare_schemes(
            options.load_arm(robot_text(ONE_SHAPE)),
            start_coordinates,
            min(RUN_DURATION, seconds),
            subprogress(progress, 0.8, 1.0),
            options.runs_formulations,
        )
    figures = make_all_figures(arm, motion, samples, rigid_torques)
    if schemes is not None and schemes.charts:
        figures += (Figure('schemes', 'ELLA with one shape in each plane', schemes.charts),)
    end = float(motion.time[-1])
    return Reproduction(
        figures,
        tuple(comparisons(arm, motion, samples, schemes, seconds)),
        tuple(numbers(arm, samples, schemes)),
        results,
        max(schemes.max_error if schemes else 0.0, max_error(results)),
        'coordinates of all nonlinear formulations, and motions of the separate links of the '
        'wrench DAE',
        (
            f'gains {_format_list(STIFFNESS)} N m/rad and {_format_list(DAMPING)} N m s/rad'
            + (
                ', and torques that carry the weight at the pose'
                if controller.compensates_gravity
                else ''
            ),
            f'a minimum-jerk motion of {MOVE_DURATION:g} s',
            'of the start (-0.02, 0.0065, -0.0083) m only the part across the link: -0.02 m along '
            'it is a strain of 2 %',
            'rotors of 1e-4 kg m2 behind 1:100',
            'hub, payload and torsion: see urdf/ella.urdf',
        ),
        effects,
        (f'the motion is lost at {end:.3g} of {seconds:g} s',)
        if end < seconds - 2 * STEP_S
        else (),
    )


def robot_text(modes: str | None = None) -> str:
    """
    Return the shipped robot with rotors added; without them, PD would act on almost no inertia.

    :param modes: element <modes> of both links; None: the shipped one with a stretch mode.
    """
    text = shipped_robots()[ROBOT].read_text(encoding='utf-8')
    text = text.replace(
        '</flexibility>', f'{"".join(ROTOR_ELEMENT.format(name) for name in JOINTS)}</flexibility>'
    )
    if modes is None:
        return text.replace('torsion="1" stretch="0"', 'torsion="1" stretch="1"')
    return re.sub(r'<modes [^>]*>', modes, text)


def simulate_move(
    arm: ArmModel,
    controller: EllaController,
    seconds: float,
    on_sample: Callable[[Simulation], None] | None = None,
    variant: Variant | None = None,
    progress: Progress = lambda fraction: None,
    formulation: str = 'recursion',
) -> Run:
    """Simulate the move to the goal; the parameters are those of `simulate`."""
    q = start_coordinates(arm)
    return simulate(
        arm,
        None,
        q,
        0 * q,
        STEP_S,
        seconds,
        stride=2,
        on_sample=on_sample,
        servo=controller.servo,
        formulation=formulation,
        progress=progress,
        variant=variant,
    )


def simulate_rigid_torques(
    options: Options, compensates_gravity: bool, seconds: float
) -> np.ndarray:
    """Return the torques (k, 3) of the same controller on rigid links [N m]."""
    body, flexibility = robot_text().split('<flexibility>')
    flexibility = re.sub(r'<link .*?</link>', '', flexibility, flags=re.DOTALL)
    rigid_arm = options.load_arm(f'{body}<flexibility>{flexibility}')
    controller = EllaController(rigid_arm, compensates_gravity)
    torques: list[np.ndarray] = []
    simulate(
        rigid_arm,
        None,
        np.zeros(3),
        np.zeros(3),
        STEP_S,
        seconds,
        stride=2,
        servo=controller.servo,
        on_sample=lambda simulation: torques.append(
            controller.effort(simulation.time, simulation.q, simulation.v)
        ),
    )
    return np.array(torques)


def start_coordinates(arm: ArmModel) -> np.ndarray:
    """Return coordinates whose first bending modes of link 2 give its tip TIP_START."""
    q = np.zeros(arm.size)
    beam = arm.beams[arm.segments['link_2'][0]]
    for direction, row, size in (('bending_y', 1, TIP_START[0]), ('bending_z', 2, TIP_START[1])):
        k = arm.coordinate_names.index(f'link_2/{direction}_1')
        q[k] = size / beam.shape(beam.length)[row, beam.columns(direction).start]
    return q


def measured_effects(
    options: Options, combined: Run, seconds: float, progress: Progress
) -> tuple[Effect, ...]:
    """Return the change of joint and tip caused by each part of the paper's variant."""
    arm, paper_arm = options.load_arm(robot_text()), options.load_arm(robot_text(PAPER_MODES))

    def move(arm, compensates_gravity=True, **options):
        controller = EllaController(arm, compensates_gravity)
        return arm, simulate_move(arm, controller, seconds, **options)

    reference, paper_shapes = move(arm), move(paper_arm)
    rows = (
        ('PD alone (83)', reference, move(arm, False)),
        ('one clamped-free shape in each direction, no torsion', reference, paper_shapes),
        (
            'ends of links shift without rotation (23), with these shapes',
            paper_shapes,
            move(paper_arm, variant=SHIFTING_ENDS, progress=progress),
        ),
        ('all three', reference, (paper_arm, combined)),
    )
    effects = []
    for deviation, *pair in rows:
        (_, before), (_, after) = pair
        end_time = None if len(after.time) == len(before.time) else float(after.time[-1])
        tips = [
            np.array([tip_deflection(model, 'link_2', q)[1] for q in run.q]) for model, run in pair
        ]
        for quantity, curves in (
            ('joint theta_z1', (before.q[:, 1], after.q[:, 1])),
            ('y deflection of the tip', tips),
        ):
            effects.append(Effect(deviation, quantity, 100 * curve_error(*curves), end_time))
    return tuple(effects)


def numbers(
    arm: ArmModel, samples: MotionSamples, schemes: SchemeComparison | None
) -> Iterator[Number]:
    """Yield further numbers of the main run and of the schemes."""
    for axis, value in zip('xyz', samples.tip[-1]):
        yield Number(f'endpoint at the end, {axis} of the inertial frame', value, 'm')
    yield Number('first frequency, motors held', frequencies(arm, GOAL)[0], 'Hz')
    yield Number('stretch of link 2 by itself vibrates at', stretch_frequency(arm), 'Hz')
    beam = arm.description.beam('link_2')
    yield Number('force that -0.02 m along link 2 takes', beam.EA * 0.02 / beam.length, 'N')
    yield Number('largest torque at theta_z1', np.abs(samples.torque[:, 1]).max(), 'N m')
    if schemes is not None:
        yield from schemes.numbers


def _format_list(values):
    return ', '.join(f'{value:g}' for value in values)

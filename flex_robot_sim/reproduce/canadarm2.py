"""The stiffened arm, section 4.2: Canadarm2 drops under gravity, figures 8 to 18."""

from collections.abc import Callable, Iterator, Mapping
from functools import partial

import numpy as np

from flex_robot_sim.analysis.deflection import tip_deflection
from flex_robot_sim.analysis.natural_modes import frequencies
from flex_robot_sim.description.robot_parameters import with_parameters
from flex_robot_sim.formulations import make, stiffened
from flex_robot_sim.model.arm_model import ArmModel
from flex_robot_sim.model.assembly import build_arm
from flex_robot_sim.reproduce.canadarm2_figures import (
    Drop,
    make_fall_figures,
    make_joint_figures,
    make_twist_figures,
)
from flex_robot_sim.reproduce.courses import FormulationResult, max_error, run_formulations
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
from flex_robot_sim.reproduce.reproduction import Effect, Number, Reproduction
from flex_robot_sim.reproduce.simulated_motion import (
    Progress,
    Variant,
    curve_error,
    integrate,
    make_force,
    simulate,
    subprogress,
)
from flex_robot_sim.simulation.simulation import Simulation
from flex_robot_sim.util.share import shipped_robots

ROBOT, VARIED = 'canadarm2', ('stiffness', 'rotor_inertia')
VARIANT = (
    'EA as printed, shapes of a clamped-free beam, and ends of links that rotate by 1 + theta~'
)
START = {'shoulder_pitch': 0.4 * np.pi, 'elbow_pitch': -0.4 * np.pi}  #           [rad]
ROTORS = (2.0, 5.0, 10.0, 15.0)  # J n^2 of every joint                  [kg m2]
STIFFNESSES = (0.60e6, 1.33e6, 2.66e6, 5.00e6)  # of every joint                    [N m/rad]
NOMINAL = 5.0, 2.66e6  # rotor inertia, stiffness          [kg m2, N m/rad]
GEAR_RATIO = 100.0
# duration of the fall, its integration step, duration of the stiffened arm at this step [s]
DURATION_S, STEP_S, STIFFENED_SECONDS = 2.5, 2.5e-4, 0.15
LONG_STEP = 1e-3  # of all formulations, in the nominal fall  [s]
STEPS_PER_SAMPLE, SAMPLES_PER_OUTLINE = 4, 8
BOOMS = ('upper_boom', 'lower_boom')
WRIST = ('wrist_pitch_module', 'wrist_yaw_module', 'end_effector', 'tool')
SECTION_FRACTIONS = np.linspace(0.0, 1.0, 9)  # of the boom length, in the stick figure
PRINTED_EA, PRINTED_EI = 2.84e7, 3.8e6  # section 4.2                       [N, N m2]
MIN_KINETIC_ENERGY = 100.0  # smallest divisor of an energy error       [J]
MAX_ENERGY_ERROR = 0.05  # of the energy balance, over the kinetic energy
# the stiffened arm with the first-order rotation matrices of the paper
PAPER_MODEL = partial(stiffened.make, exact_turns=False)
DEFORMATIONS = ('u_x', 'v_y', 'w_z', 'theta_x')  # of figures 10 to 13


def run(progress: Progress, options: Options) -> Reproduction:
    """Run the experiment."""
    seconds = options.seconds or DURATION_S
    cases = [(rotor, NOMINAL[1], 'shortening') for rotor in ROTORS]
    cases += [(NOMINAL[0], stiffness, 'shortening') for stiffness in STIFFNESSES]
    cases += [(*NOMINAL, 'zero_order')]
    drops, cases = {}, [*dict.fromkeys(cases)]
    fraction = 0.8 if options.is_paper else 0.2
    for k, case in enumerate(cases):
        drops[case] = simulate_drop(
            make_arm(options, *case), seconds, PAPER_MODEL if options.is_paper else None
        )
        progress(fraction * (k + 1) / len(cases))
    nominal = drops[(*NOMINAL, 'shortening')]
    by_rotor = {f'{rotor:g} kg m2': drops[rotor, NOMINAL[1], 'shortening'] for rotor in ROTORS}
    by_stiffness = {
        f'{stiffness / 1e6:.2f}e6': drops[NOMINAL[0], stiffness, 'shortening']
        for stiffness in STIFFNESSES
    }
    zero_order = drops[(*NOMINAL, 'zero_order')]
    results: dict[str, FormulationResult] = {}
    effects: tuple[Effect, ...] = ()
    tip_error = 0.0
    if options.is_paper:
        effects = measured_effects(options, nominal, seconds, subprogress(progress, fraction, 1.0))
    elif options.runs_formulations:
        results, tip_error = compare_formulations(
            nominal, min(STIFFENED_SECONDS, seconds), subprogress(progress, fraction, 1.0)
        )
    return Reproduction(
        (
            *make_fall_figures(nominal, len(BOOMS)),
            *make_twist_figures(by_rotor, joint_twist, tip_displacement),
            *make_joint_figures(by_stiffness),
        ),
        tuple(comparisons(nominal, zero_order, by_rotor, seconds)),
        tuple(numbers(by_rotor, by_stiffness, drops, tip_error)),
        results,
        max(tip_error, max_error(results)),
        f'coordinates of all nonlinear formulations at {1e3 * LONG_STEP:g} ms, and the tip of the '
        f'upper boom over {min(STIFFENED_SECONDS, seconds):g} s at {1e3 * STEP_S:g} ms',
        (
            'masses of booms and modules are those of Nguyen and Hughes (1994), see '
            'urdf/canadarm2.urdf',
            'joint stiffness in N m/rad, where the paper prints N/mm',
            'joints fall free on the motor side: no torque, no brake, and the fall is shown until '
            'the wrist meets its stop',
            f'while rotors vary, joints have {NOMINAL[1]:.3g} N m/rad; while stiffness varies, '
            f'rotors have {NOMINAL[0]:g} kg m2',
        ),
        effects,
        tuple(findings(nominal, seconds)),
    )


def make_arm(
    options: Options,
    rotor: float,
    stiffness: float,
    coupling: str = 'shortening',
    text: str | None = None,
) -> ArmModel:
    """
    Return the arm with one rotor inertia behind the gear [kg m2] and stiffness [N m/rad].

    :param text: URDF text of the robot; None: that of the variant in `options`.
    """
    if text is None:
        text = robot_text(options.is_paper, options.is_paper)
    description = options.load_description(text)
    values = {}
    for name in description.joint_names:
        values[f'{name}.stiffness'] = stiffness
        values[f'{name}.rotor_inertia'] = rotor / GEAR_RATIO**2
    return build_arm(with_parameters(description, values), coupling)


def robot_text(has_printed_ea: bool = False, has_free_shapes: bool = False) -> str:
    """Return the URDF text, with the EA of the paper or with clamped-free shapes if selected."""
    text = shipped_robots()[ROBOT].read_text(encoding='utf-8')
    if has_printed_ea:
        text = text.replace('EA="2.84e8"', f'EA="{PRINTED_EA!r}"')
    return text.replace('<modes ', '<modes boundary="free" ') if has_free_shapes else text


def start_pose() -> np.ndarray:
    """Return the joint positions at the start (5,) [rad]."""
    return np.array([START['shoulder_pitch'], START['elbow_pitch'], 0.0, 0.0, 0.0])


def simulate_drop(arm: ArmModel, seconds: float, variant: Variant | None = None) -> Drop:
    """Simulate the fall of an arm; return the Drop."""
    q = np.zeros(arm.size)
    step = STEP_S if variant is None else LONG_STEP
    stride = round(STEPS_PER_SAMPLE * STEP_S / step)
    times: list[float] = []
    outline: list[list[np.ndarray]] = []
    energy_errors: list[float] = []
    total_energies: list[float] = []
    own_model = Simulation(arm)
    q[:5] = q[5:10] = start_pose()

    def on_sample(simulation: Simulation) -> None:
        if round(simulation.time / (STEPS_PER_SAMPLE * STEP_S)) % SAMPLES_PER_OUTLINE == 0:
            points = [
                simulation.pose(link, station=share * arm.length(link))[:3, 3]
                for link in BOOMS
                for share in SECTION_FRACTIONS
            ]
            times.append(simulation.time)
            outline.append(points + [simulation.pose(link)[:3, 3] for link in WRIST])
            # a variant conserves a different energy; compute that of the arm by our equations
            if variant is not None:
                own_model.set_state(q=simulation.q, v=simulation.v)
            energy = (simulation if variant is None else own_model).energy()
            total = energy.kinetic + energy.strain + energy.gravity
            total_energies.append(total)
            energy_errors.append(
                abs(total - total_energies[0]) / max(energy.kinetic, MIN_KINETIC_ENERGY)
            )

    motion = simulate(
        arm, None, q, 0 * q, step, seconds, stride=stride, on_sample=on_sample, variant=variant
    )
    return Drop(arm, motion, np.array(times), np.array(outline), np.array(energy_errors))


def joint_twist(drop: Drop) -> np.ndarray:
    """Return the twist of the first joint, link side minus motor side, (k,) [rad]."""
    return drop.run.coordinate(drop.arm, 'shoulder_pitch') - drop.run.coordinate(
        drop.arm, 'shoulder_pitch/motor'
    )


def tip_displacement(drop: Drop, row: int) -> np.ndarray:
    """Return a tip deflection of the upper boom: row 0-2 is u, v, w [m], row 3 theta_x [rad]."""
    return np.array([tip_deflection(drop.arm, 'upper_boom', q)[row] for q in drop.run.q])


def comparisons(
    nominal: Drop, zero_order: Drop, by_rotor: Mapping[str, Drop], seconds: float
) -> Iterator[PaperComparison]:
    """Compare with section 4.2 and figures 8 to 18."""

    def growth(values):
        """Return the smallest growth of a peak from one rotor to the next heavier one [%]."""
        peaks = np.array([np.abs(values(drop)).max() for drop in by_rotor.values()])
        return 100 * float((peaks[1:] / peaks[:-1] - 1).min())

    larger, same = 'the larger the inertia, the larger the angle', 'the same as in figure 9'
    curves = [('twist of joint 1', larger, joint_twist)]
    curves += [
        (f'{name} of the upper boom', same, partial(tip_displacement, row=row))
        for row, name in enumerate(DEFORMATIONS)
    ]
    rows = [
        check_claim(
            f'{name}, least growth of its peak from one rotor to the next',
            f'figure {number}',
            claim,
            growth(values),
            '%',
            LINE_WIDTH,
            lower=100 * LINE_FRACTION,
            reason='in free fall the rotors hardly affect the end of the boom; the figures may '
            'include a brake or a torque',
        )
        for number, (name, claim, values) in enumerate(curves, 9)
    ]
    rows.append(
        check_claim(
            'v_y of the upper boom, zero order against shortening',
            'section 5',
            'dynamic stiffening cannot be neglected',
            100 * curve_error(tip_displacement(nominal, 1), tip_displacement(zero_order, 1)),
            '% of range',
            LINE_WIDTH,
            lower=100 * LINE_FRACTION,
        )
    )
    yield from require_duration(DURATION_S, seconds, rows)
    yield check_number(
        'bending stiffness of the upper boom, from its tip under a force',
        'section 4.2',
        PRINTED_EI / 1e6,
        boom_stiffnesses(nominal.arm)[1] / 1e6,
        'MN m2',
        0.05,
    )
    yield check_number(
        'axial stiffness of the upper boom, from its tip under a force',
        'section 4.2',
        PRINTED_EA / 1e6,
        boom_stiffnesses(nominal.arm)[0] / 1e6,
        'MN',
        0.05,
        reason='with EI, the printed EA gives a radius of gyration of 0.37 m in a '
        'boom of 0.35 m diameter; ten times as much gives 0.12 m',
    )
    yield not_comparable(
        'joint angles for four stiffnesses',
        'figures 14 to 18',
        'printed as pictures',
        'the text does not describe them',
    )
    yield not_comparable(
        'the falling arm',
        'figure 8',
        'printed as a picture',
        'table 1 with lengths and masses is missing from the text',
    )


def boom_stiffnesses(arm: ArmModel) -> tuple[float, float]:
    """Return EA [N] and EI [N m2] of the clamped upper boom from its tip deflection."""
    (body,) = arm.segments['upper_boom']
    beam = arm.beams[body]
    along, across = beam.shape(beam.length)[:2]  # u and v of the tip by coordinate
    compliance = [float(row @ np.linalg.solve(beam.stiffness, row)) for row in (along, across)]
    return beam.length / compliance[0], beam.length**3 / 3 / compliance[1]


def findings(nominal: Drop, seconds: float) -> Iterator[str]:
    """Yield a line if the fall ends early, and one if its energy balance fails."""
    end = float(nominal.run.time[-1])
    lossy_rows = np.flatnonzero(nominal.energy_error > MAX_ENERGY_ERROR)
    if end < seconds - 2 * LONG_STEP:
        yield f'the motion is lost at {end:.3g} of {seconds:g} s'
    if lossy_rows.size:
        yield (
            f'from {nominal.outline_time[lossy_rows[0]]:.3g} of {seconds:g} s on, the energy '
            f'balance is off by more than {100 * MAX_ENERGY_ERROR:g} % of the kinetic energy, '
            f'at most by {100 * nominal.energy_error.max():.3g} %'
        )


def numbers(
    by_rotor: Mapping[str, Drop],
    by_stiffness: Mapping[str, Drop],
    drops: Mapping[tuple, Drop],
    tip_error: float,
) -> Iterator[Number]:
    """Yield further numbers of the falls."""
    nominal = drops[(*NOMINAL, 'shortening')]
    yield Number('first frequency, motors held', frequencies(nominal.arm, start_pose())[0], 'Hz')
    for name, drop in by_rotor.items():
        yield Number(f'largest twist of joint 1, {name}', np.abs(joint_twist(drop)).max(), 'rad')
    for name, drop in by_stiffness.items():
        yield Number(
            f'largest twist of joint 1, {name} N m/rad', np.abs(joint_twist(drop)).max(), 'rad'
        )
    size = min(len(drop.run.q) for drop in by_stiffness.values())
    angles = np.array([drop.run.q[:size, :5] for drop in by_stiffness.values()])
    yield Number(
        'joint angles of four stiffnesses, largest difference', np.ptp(angles, axis=0).max(), 'rad'
    )
    yield Number(
        'tip of the upper boom, largest v', np.abs(tip_displacement(nominal, 1)).max(), 'm'
    )
    yield Number(
        'energy that appears or is lost, at most',
        max(drop.energy_error.max() for drop in drops.values()),
        'of the kinetic',
    )
    if tip_error:
        yield Number('stiffened arm against the recursion, v', 100 * tip_error, '% of range')


def measured_effects(
    options: Options, combined: Drop, seconds: float, progress: Progress
) -> tuple[Effect, ...]:
    """Return the change of the tip of the upper boom caused by each part of the variant."""

    def nominal_arm(**parts: bool) -> ArmModel:
        return make_arm(options, *NOMINAL, text=robot_text(**parts))

    makers: dict[str, Callable[[], Drop]] = {
        'EA as printed': lambda: simulate_drop(nominal_arm(has_printed_ea=True), seconds),
        'shapes of a clamped-free beam': lambda: simulate_drop(
            nominal_arm(has_free_shapes=True), seconds
        ),
        'ends of links rotate by 1 + theta~': lambda: simulate_drop(
            nominal_arm(), seconds, PAPER_MODEL
        ),
        'all three': lambda: combined,
    }
    reference = simulate_drop(nominal_arm(), seconds)
    effects = []
    for k, (deviation, make_drop) in enumerate(makers.items()):
        drop = make_drop()
        for row, name in ((0, 'u_x'), (1, 'v_y')):
            is_complete = len(drop.run.time) >= len(reference.run.time)
            effects.append(
                Effect(
                    deviation,
                    f'{name} of the upper boom',
                    100
                    * curve_error(tip_displacement(reference, row), tip_displacement(drop, row)),
                    None if is_complete else float(drop.run.time[-1]),
                )
            )
        progress((k + 1) / len(makers))
    return tuple(effects)


def compare_formulations(
    nominal: Drop, seconds: float, progress: Progress
) -> tuple[dict[str, FormulationResult], float]:
    """Return FormulationResults of the nominal fall, and the tip error of the stiffened arm."""
    arm = nominal.arm
    force = make_force(arm, lambda *_: np.zeros(5))
    q = nominal.run.q[0]
    recursion_run = simulate(arm, None, q, 0 * q, STEP_S, seconds, 'rk4', stride=8)
    stiffened_run = integrate(
        make('stiffened', arm).accelerations,
        force,
        q,
        0 * q,
        STEP_S,
        seconds,
        stride=8,
        progress=subprogress(progress, 0.0, 0.2),
    )
    tips = [
        np.array([tip_deflection(arm, 'upper_boom', row)[1] for row in run.q])
        for run in (recursion_run, stiffened_run)
    ]
    fall_seconds = float(nominal.run.time[-1])

    def motion(name, seconds, progress):
        return simulate(
            arm, None, q, 0 * q, LONG_STEP, seconds, stride=2, formulation=name, progress=progress
        )

    return (
        run_formulations(arm, motion, force, fall_seconds, subprogress(progress, 0.2, 1.0)),
        curve_error(*tips),
    )

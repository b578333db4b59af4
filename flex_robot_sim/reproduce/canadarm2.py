"""The stiffened arm, section 4.2: Canadarm2 drops under gravity, figures 8 to 18."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import NamedTuple

import numpy as np

from flex_robot_sim.analysis.deflection import tip_deflection
from flex_robot_sim.analysis.natural_modes import frequencies
from flex_robot_sim.description.parameters import with_parameters
from flex_robot_sim.formulations import make, stiffened
from flex_robot_sim.model.arm_model import ArmModel
from flex_robot_sim.model.assembly import build_arm
from flex_robot_sim.reproduce.canadarm2_figures import falling, joints, twists
from flex_robot_sim.reproduce.comparison import (
    LINE,
    LINE_WIDTH,
    Comparison,
    claim,
    needing,
    not_comparable,
    number,
)
from flex_robot_sim.reproduce.courses import Course, courses, largest
from flex_robot_sim.reproduce.motion import (
    Progress,
    Run,
    Variant,
    apart,
    forces_of,
    integrate,
    simulate,
    within,
)
from flex_robot_sim.reproduce.options import Options
from flex_robot_sim.reproduce.report import Effect, Number, Reproduction
from flex_robot_sim.simulation.simulation import Simulation
from flex_robot_sim.util.share import shipped_robots

ROBOT, VARIED = 'canadarm2', ('stiffness', 'rotor_inertia')
VARIANT = ('EA as printed, shapes of a clamped-free beam, and ends of links that turn by '
           '1 + theta~')
START = {'shoulder_pitch': 0.4 * np.pi, 'elbow_pitch': -0.4 * np.pi}    #           [rad]
ROTORS = (2.0, 5.0, 10.0, 15.0)             # J n^2 of every joint                  [kg m2]
STIFFNESSES = (0.60e6, 1.33e6, 2.66e6, 5.00e6)  # of every joint                    [N m/rad]
USUAL = 5.0, 2.66e6
GEAR = 100.0
SECONDS, STEP, SHORT = 2.5, 2.5e-4, 0.15    # shown; of the integration; both in parallel [s]
LONG_STEP = 1e-3                            # of all formulations through the usual fall [s]
LOOK, PLACED = 4, 8                         # steps between samples, samples between places
BOOMS = ('upper_boom', 'lower_boom')
WRIST = ('wrist_pitch_module', 'wrist_yaw_module', 'end_effector', 'tool')
ALONG = np.linspace(0.0, 1.0, 9)            # sections of a boom that are drawn
PRINTED_EA, PRINTED_EI = 2.84e7, 3.8e6      # section 4.2                       [N, N m2]
FIRST_ENERGY = 100.0                        # from which a share of the kinetic energy counts [J]
LOST = 0.05                                 # of the kinetic energy, that a balance may lack
DEFORMATIONS = ('u_x', 'v_y', 'w_z', 'theta_x')         # of figures 10 to 13


class Drop(NamedTuple):
    """One fall."""

    arm: ArmModel
    run: Run
    places: np.ndarray      # (k,)             times of `outline`                   [s]
    outline: np.ndarray     # (k, points, 3)   of the arm, in the base frame        [m]
    lacking: np.ndarray     # (k,)             of the energy balance, over the kinetic energy


def run(progress: Progress, options: Options) -> Reproduction:
    """Run the experiment."""
    seconds = options.seconds or SECONDS
    cases = [(rotor, USUAL[1], 'shortening') for rotor in ROTORS]
    cases += [(USUAL[0], stiffness, 'shortening') for stiffness in STIFFNESSES]
    cases += [(*USUAL, 'zero_order')]
    drops, cases = {}, [*dict.fromkeys(cases)]
    share = 0.8 if options.is_paper else 0.2
    for k, case in enumerate(cases):
        drops[case] = drop(arm_of(options, *case), seconds,
                           paper_model if options.is_paper else None)
        progress(share * (k + 1) / len(cases))
    usual = drops[(*USUAL, 'shortening')]
    by_rotor = {f'{rotor:g} kg m2': drops[rotor, USUAL[1], 'shortening'] for rotor in ROTORS}
    by_stiffness = {f'{stiffness / 1e6:.2f}e6': drops[USUAL[0], stiffness, 'shortening']
                    for stiffness in STIFFNESSES}
    zero = drops[(*USUAL, 'zero_order')]
    found: dict[str, Course] = {}
    effects: tuple[Effect, ...] = ()
    off = 0.0
    if options.is_paper:
        effects = measured_effects(options, usual, seconds, within(progress, share, 1.0))
    elif options.formulations:
        found, off = formulations(usual, min(SHORT, seconds), within(progress, share, 1.0))
    return Reproduction(
        (*falling(usual, len(BOOMS)), *twists(by_rotor, twist, of_tip), *joints(by_stiffness)),
        tuple(comparisons(usual, zero, by_rotor, seconds)),
        tuple(numbers(by_rotor, by_stiffness, drops, off)), found, max(off, largest(found)),
        f'coordinates of all nonlinear formulations at {1e3 * LONG_STEP:g} ms, and the tip of the '
        f'upper boom over {min(SHORT, seconds):g} s at {1e3 * STEP:g} ms',
        ('masses of booms and modules are those of Nguyen and Hughes (1994), see '
         'urdf/canadarm2.urdf', 'joint stiffness in N m/rad, where the paper prints N/mm',
         'joints fall free on the motor side: no torque, no brake, and the fall is shown until '
         'the wrist meets its stop',
         f'while rotors vary, joints have {USUAL[1]:.3g} N m/rad; while stiffness varies, rotors '
         f'have {USUAL[0]:g} kg m2'),
        effects, tuple(findings(usual, seconds)))


def arm_of(options: Options, rotor: float, stiffness: float, coupling: str = 'shortening',
           text: str | None = None) -> ArmModel:
    """
    Return the arm with one rotor inertia behind the gear [kg m2] and stiffness [N m/rad].

    :param text: robot whose joints get these numbers; None: that of the variant.
    """
    if text is None:
        text = robot_text(options.is_paper, options.is_paper)
    description = options.described(text)
    values = {}
    for name in description.joint_names:
        values[f'{name}.stiffness'] = stiffness
        values[f'{name}.rotor_inertia'] = rotor / GEAR**2
    return build_arm(with_parameters(description, values), coupling)


def robot_text(has_printed_ea: bool = False, has_free_shapes: bool = False) -> str:
    """Return the robot, with the EA that the paper prints or with clamped-free shapes."""
    text = shipped_robots()[ROBOT].read_text(encoding='utf-8')
    if has_printed_ea:
        text = text.replace('EA="2.84e8"', f'EA="{PRINTED_EA!r}"')
    return text.replace('<modes ', '<modes boundary="free" ') if has_free_shapes else text


def paper_model(arm: ArmModel) -> stiffened.Stiffened:
    """Return the stiffened arm with the matrices of first order that the paper has."""
    return stiffened.make(arm, exact_turns=False)


def pose() -> np.ndarray:
    """Joint positions at the start (5,) [rad]."""
    return np.array([START['shoulder_pitch'], START['elbow_pitch'], 0.0, 0.0, 0.0])


def drop(arm: ArmModel, seconds: float, variant: Variant | None = None) -> Drop:
    """Let the arm fall; return the Drop."""
    q = np.zeros(arm.size)
    step = STEP if variant is None else LONG_STEP
    every = round(LOOK * STEP / step)
    times: list[float] = []
    outline: list[list[np.ndarray]] = []
    lacking: list[float] = []
    totals: list[float] = []
    ours = Simulation(arm)
    q[:5] = q[5:10] = pose()

    def look(simulation: Simulation) -> None:
        if round(simulation.time / (LOOK * STEP)) % PLACED == 0:
            points = [simulation.pose(link, share * arm.description.beam(link).length)[:3, 3]
                      for link in BOOMS for share in ALONG]
            times.append(simulation.time)
            outline.append(points + [simulation.pose(link)[:3, 3] for link in WRIST])
            # a variant keeps an energy of its own: that of the arm is by our equations
            if variant is not None:
                ours.set_state(coordinates=simulation.coordinates, rates=simulation.rates)
            energy = (simulation if variant is None else ours).energy()
            total = energy.kinetic + energy.strain + energy.gravity
            totals.append(total)
            lacking.append(abs(total - totals[0]) / max(energy.kinetic, FIRST_ENERGY))

    found = simulate(arm, None, q, 0 * q, step, seconds, every=every, look=look, variant=variant)
    return Drop(arm, found, np.array(times), np.array(outline), np.array(lacking))


def twist(one: Drop) -> np.ndarray:
    """Twist of the first joint, link side less motor side, (k,) [rad]."""
    return (one.run.of(one.arm, 'shoulder_pitch')
            - one.run.of(one.arm, 'shoulder_pitch/motor'))


def of_tip(one: Drop, row: int) -> np.ndarray:
    """Deflection of the tip of the upper boom, u, v, w [m] or turn about x (row 3) [rad]."""
    return np.array([tip_deflection(one.arm, 'upper_boom', q)[row] for q in one.run.q])


def comparisons(usual: Drop, zero: Drop, by_rotor: Mapping[str, Drop], seconds: float
                ) -> Iterator[Comparison]:
    """Compare with section 4.2 and figures 8 to 18."""
    def growth(values):
        """Least growth of a peak from one rotor to the next heavier one [%]."""
        peaks = np.array([np.abs(values(one)).max() for one in by_rotor.values()])
        return 100 * float((peaks[1:] / peaks[:-1] - 1).min())

    rows = []
    for place, name, values in (
            ('figure 9', 'twist of joint 1', twist),
            *((f'figure {10 + row}', f'{name} of the upper boom',
               lambda one, row=row: of_tip(one, row)) for row, name in enumerate(DEFORMATIONS))):
        rows.append(claim(
            f'{name}, least growth of its peak from one rotor to the next', place,
            'the larger the inertia, the larger the angle' if place == 'figure 9'
            else 'the same as in figure 9', growth(values), '%', LINE_WIDTH, lower=100 * LINE,
            reason='in a free fall the end of the boom hardly notices its rotors; a brake or a '
                   'torque may be behind the figures'))
    rows.append(claim(
        'v_y of the upper boom, zero order against shortening', 'section 5',
        'dynamic stiffening cannot be neglected',
        100 * apart(of_tip(usual, 1), of_tip(zero, 1)), '% of range', LINE_WIDTH,
        lower=100 * LINE))
    yield from needing(SECONDS, seconds, rows)
    yield number('bending stiffness of the upper boom, from its tip under a force',
                 'section 4.2', PRINTED_EI / 1e6, section_of(usual.arm)[1] / 1e6, 'MN m2', 0.05)
    yield number('axial stiffness of the upper boom, from its tip under a force', 'section 4.2',
                 PRINTED_EA / 1e6, section_of(usual.arm)[0] / 1e6, 'MN', 0.05,
                 reason='with EI, the printed EA gives a radius of gyration of 0.37 m in a boom '
                        'of 0.35 m diameter; ten times as much gives 0.12 m')
    yield not_comparable('joint angles for four stiffnesses', 'figures 14 to 18',
                         'printed as pictures', 'the text says nothing about them')
    yield not_comparable('the falling arm', 'figure 8', 'printed as a picture',
                         'table 1 with lengths and masses is missing from the text')


def section_of(arm: ArmModel) -> tuple[float, float]:
    """EA [N] and EI [N m2] of the upper boom from the deflection of its clamped tip."""
    body, = arm.segments['upper_boom']
    beam = arm.beams[body]
    along, across = beam.shape(beam.length)[:2]             # u and v of the tip by coordinate
    give = [float(row @ np.linalg.solve(beam.stiffness, row)) for row in (along, across)]
    return beam.length / give[0], beam.length**3 / 3 / give[1]


def findings(usual: Drop, seconds: float) -> Iterator[str]:
    """Yield a line if the fall ends early, or where it loses its energy."""
    end = float(usual.run.time[-1])
    lost = np.flatnonzero(usual.lacking > LOST)
    if end < seconds - 2 * LONG_STEP:
        yield f'the motion is lost at {end:.3g} of {seconds:g} s'
    if lost.size:
        yield (f'the energy of the arm, by our equations, is off by more than {100 * LOST:g} % '
               f'of the kinetic energy from {usual.places[lost[0]]:.3g} of {seconds:g} s on, and '
               f'by at most {100 * usual.lacking.max():.3g} %')


def numbers(by_rotor: Mapping[str, Drop], by_stiffness: Mapping[str, Drop],
            drops: Mapping[tuple, Drop], off: float) -> Iterator[Number]:
    """Yield further numbers of the falls."""
    usual = drops[(*USUAL, 'shortening')]
    yield Number('first frequency, motors held', frequencies(usual.arm, pose())[0], 'Hz')
    for name, one in by_rotor.items():
        yield Number(f'largest twist of joint 1, {name}', np.abs(twist(one)).max(), 'rad')
    for name, one in by_stiffness.items():
        yield Number(f'largest twist of joint 1, {name} N m/rad', np.abs(twist(one)).max(), 'rad')
    size = min(len(one.run.q) for one in by_stiffness.values())
    angles = np.array([one.run.q[:size, :5] for one in by_stiffness.values()])
    yield Number('joint angles of four stiffnesses, largest difference',
                 np.ptp(angles, axis=0).max(), 'rad')
    yield Number('tip of the upper boom, largest v', np.abs(of_tip(usual, 1)).max(), 'm')
    yield Number('energy that appears or is lost, at most',
                 max(one.lacking.max() for one in drops.values()), 'of the kinetic')
    if off:
        yield Number('stiffened arm against the recursion, v', 100 * off, '% of range')


def measured_effects(options: Options, together: Drop, seconds: float, progress: Progress
                     ) -> tuple[Effect, ...]:
    """Return how far each part of the paper's variant moves the tip of the upper boom."""
    def usual(**parts: bool) -> ArmModel:
        return arm_of(options, *USUAL, text=robot_text(**parts))

    makers: dict[str, Callable[[], Drop]] = {
        'EA as printed': lambda: drop(usual(has_printed_ea=True), seconds),
        'shapes of a clamped-free beam': lambda: drop(usual(has_free_shapes=True), seconds),
        'ends of links turn by 1 + theta~': lambda: drop(usual(), seconds, paper_model),
        'all three': lambda: together}
    plain = drop(usual(), seconds)
    effects = []
    for k, (deviation, make_drop) in enumerate(makers.items()):
        one = make_drop()
        for row, name in ((0, 'u_x'), (1, 'v_y')):
            is_whole = len(one.run.time) >= len(plain.run.time)
            effects.append(Effect(deviation, f'{name} of the upper boom',
                                  100 * apart(of_tip(plain, row), of_tip(one, row)),
                                  None if is_whole else float(one.run.time[-1])))
        progress((k + 1) / len(makers))
    return tuple(effects)


def formulations(usual: Drop, seconds: float, progress: Progress
                 ) -> tuple[dict[str, Course], float]:
    """Return Courses of the usual fall, and how far a tip is off by the stiffened arm and rk4."""
    arm = usual.arm
    force = forces_of(arm, lambda *_: np.zeros(5))
    q = usual.run.q[0]
    same = simulate(arm, None, q, 0 * q, STEP, seconds, 'rk4', every=8)
    other = integrate(make('stiffened', arm).accelerations, force, q, 0 * q, STEP, seconds,
                      every=8, progress=within(progress, 0.0, 0.2))
    tips = [np.array([tip_deflection(arm, 'upper_boom', row)[1] for row in one.q])
            for one in (same, other)]
    whole = float(usual.run.time[-1])

    def motion(name, seconds, progress):
        return simulate(arm, None, q, 0 * q, LONG_STEP, seconds, every=2, formulation=name,
                        progress=progress)

    return courses(arm, motion, force, whole, within(progress, 0.2, 1.0)), apart(*tips)

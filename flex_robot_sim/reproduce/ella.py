"""The wrench DAE, section 7: ELLA under PD along a smooth trajectory, figures 4 to 15."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np

from flex_robot_sim.analysis.deflection import tip_deflection
from flex_robot_sim.analysis.equations import gravity_forces
from flex_robot_sim.analysis.natural_modes import frequencies
from flex_robot_sim.formulations import wrench_dae
from flex_robot_sim.model.arm_model import ArmModel
from flex_robot_sim.reproduce.courses import Course, courses, largest
from flex_robot_sim.reproduce.ella_comparisons import comparisons, stretch_frequency
from flex_robot_sim.reproduce.ella_figures import JOINTS, Seen, all_pictures
from flex_robot_sim.reproduce.ella_schemes import SHORT, STEP, Schemes, compare_schemes
from flex_robot_sim.reproduce.motion import (
    Progress,
    Run,
    Variant,
    apart,
    forces_of,
    simulate,
    within,
)
from flex_robot_sim.reproduce.options import Options
from flex_robot_sim.reproduce.report import Effect, Number, Pictures, Reproduction
from flex_robot_sim.simulation.simulation import Simulation
from flex_robot_sim.util.share import shipped_robots

ROBOT, VARIED = 'ella', ()
VARIANT = ('PD alone (83), ends of links that only shift (23), one clamped-free shape in each '
           'direction and no torsion')
GOAL = np.array([-0.4928, 0.6922, 0.4270])      # theta_y1, theta_z1, theta_z2          [rad]
STIFFNESS = np.array([3000.0, 3000.0, 800.0])   # of PD                                 [N m/rad]
DAMPING = np.array([250.0, 250.0, 60.0])        #                                       [N m s/rad]
MOVE, SECONDS = 1.5, 4.0                        # time to the goal; shown               [s]
ROTOR = '<joint name="{}" rotor_inertia="1e-4" gear_ratio="100"/>'
START = (0.0065, -0.0083)       # of the tip of link 2 across                           [m]
PAPER_MODES = '<modes bending_y="1" bending_z="1" torsion="0" stretch="1" boundary="free"/>'
ONE_SHAPE = '<modes bending_y="1" bending_z="1" torsion="0"/>'


class Controller(NamedTuple):
    """PD along a minimum-jerk motion (83); the weight at the pose is fed forward if wanted."""

    arm: ArmModel
    carries_weight: bool

    def effort(self, t: float, q: np.ndarray, qd: np.ndarray) -> np.ndarray:
        """Torques (joints,) as a function of time, coordinates and rates [N m]."""
        share, rate = smooth(t)
        return (STIFFNESS * (GOAL * share - q[:3]) + DAMPING * (GOAL * rate - qd[:3])
                + self.weight(q[:3]))

    def servo(self, simulation: Simulation, t: float) -> None:
        """Set the same inputs with gains in which a step is implicit: 1 ms is long for them."""
        share, rate = smooth(t)
        simulation.hold(GOAL * share, STIFFNESS, DAMPING)
        simulation.effort = DAMPING * GOAL * rate + self.weight(simulation.position)

    def weight(self, angles: np.ndarray) -> np.ndarray:
        """Torques [N m] that carry the weight of the straight arm of the model in a pose (3,)."""
        if not self.carries_weight:
            return np.zeros(3)
        q = np.zeros(self.arm.size)
        q[:3] = angles
        return gravity_forces(self.arm, q)[:3]


def run(progress: Progress, options: Options) -> Reproduction:
    """Run the experiment."""
    seconds = options.seconds or SECONDS
    arm = options.arm(robot_text(PAPER_MODES if options.is_paper else None))
    variant = shifting_ends if options.is_paper else None
    controller = Controller(arm, not options.is_paper)
    seen = Seen(arm, controller.effort)
    whole = move(arm, controller, seconds, seen.look, variant,
                 within(progress, 0.0, 0.3 if options.is_paper else 0.03))
    rigid = rigid_torques(options, controller.carries_weight, seconds)
    found: dict[str, Course] = {}
    schemes: Schemes | None = None
    effects: tuple[Effect, ...] = ()
    if options.is_paper:
        effects = measured_effects(options, whole, seconds, within(progress, 0.4, 1.0))
    else:
        if options.formulations:
            found = courses(
                arm, lambda name, seconds, progress: whole if name == 'recursion' else move(
                    arm, controller, seconds, progress=progress, formulation=name),
                forces_of(arm, controller.effort), seconds, within(progress, 0.05, 0.8))
        schemes = compare_schemes(options.arm(robot_text(ONE_SHAPE)), Controller, started,
                                  min(SHORT, seconds), within(progress, 0.8, 1.0),
                                  options.formulations)
    pictures = all_pictures(arm, whole, seen, rigid, GOAL)
    if schemes is not None and schemes.charts:
        pictures += (Pictures('schemes', 'ELLA with one shape in each plane', schemes.charts),)
    end = float(whole.time[-1])
    return Reproduction(
        pictures, tuple(comparisons(arm, whole, seen, GOAL, MOVE, schemes, seconds)),
        tuple(numbers(arm, whole, seen, schemes)), found,
        max(schemes.largest if schemes else 0.0, largest(found)),
        'coordinates of all nonlinear formulations, and motions of the separate links of the '
        'wrench DAE',
        (f'gains {_listed(STIFFNESS)} N m/rad and {_listed(DAMPING)} N m s/rad'
         + (', and torques that carry the weight at the pose' if controller.carries_weight
            else ''), f'a minimum-jerk motion of {MOVE:g} s',
         'of the start (-0.02, 0.0065, -0.0083) m only the part across the link: -0.02 m along it '
         'is a strain of 2 %',
         'rotors of 1e-4 kg m2 behind 1:100', 'hub, payload and torsion: see urdf/ella.urdf'),
        effects, (f'the motion is lost at {end:.3g} of {seconds:g} s',)
        if end < seconds - 2 * STEP else ())


def robot_text(modes: str | None = None) -> str:
    """
    Return the shipped robot with rotors, without which PD acts on next to no inertia.

    :param modes: element <modes> of both links; None: the shipped one and a shape of stretch.
    """
    text = shipped_robots()[ROBOT].read_text(encoding='utf-8')
    text = text.replace('</flexibility>',
                        f'{"".join(ROTOR.format(name) for name in JOINTS)}</flexibility>')
    if modes is None:
        return text.replace('torsion="1" stretch="0"', 'torsion="1" stretch="1"')
    return re.sub(r'<modes [^>]*>', modes, text)


def shifting_ends(arm: ArmModel) -> wrench_dae.WrenchDae:
    """Return the wrench DAE whose ends of links shift the next link and do not turn it (23)."""
    return wrench_dae.make(arm, sections_turn=False)


def move(arm: ArmModel, controller: Controller, seconds: float,
         look: Callable[[Simulation], None] | None = None, variant: Variant | None = None,
         progress: Progress = lambda share: None, formulation: str = 'recursion') -> Run:
    """Let the arm move to the goal; the parameters are those of `simulate`."""
    q = started(arm)
    return simulate(arm, None, q, 0 * q, STEP, seconds, every=2, look=look,
                    servo=controller.servo, formulation=formulation, progress=progress,
                    variant=variant)


def rigid_torques(options: Options, carries_weight: bool, seconds: float) -> np.ndarray:
    """Return the torques (k, 3) of the same controller on rigid links [N m]."""
    body, flexibility = robot_text().split('<flexibility>')
    flexibility = re.sub(r'<link .*?</link>', '', flexibility, flags=re.DOTALL)
    stiff = options.arm(f'{body}<flexibility>{flexibility}')
    controller = Controller(stiff, carries_weight)
    torques: list[np.ndarray] = []
    simulate(stiff, None, np.zeros(3), np.zeros(3), STEP, seconds, every=2,
             servo=controller.servo, look=lambda one: torques.append(
                 controller.effort(one.time, one.coordinates, one.rates)))
    return np.array(torques)


def smooth(t: float) -> tuple[float, float]:
    """Share of the way at time t, and its rate [1/s]: minimum jerk."""
    s = min(t / MOVE, 1.0)
    return s**3 * (10 - 15 * s + 6 * s * s), 30 * s * s * (1 - s)**2 / MOVE


def started(arm: ArmModel) -> np.ndarray:
    """Coordinates with the first shapes of link 2 bent as far as the tip starts."""
    q = np.zeros(arm.size)
    beam = arm.beams[arm.segments['link_2'][0]]
    for direction, row, size in (('bending_y', 1, START[0]), ('bending_z', 2, START[1])):
        k = arm.coordinate_names.index(f'link_2/{direction}_1')
        q[k] = size / beam.shape(beam.length)[row, beam.columns(direction).start]
    return q


def measured_effects(options: Options, together: Run, seconds: float, progress: Progress
                     ) -> tuple[Effect, ...]:
    """Return how far each part of the paper's variant moves joint and tip."""
    arm, free = options.arm(robot_text()), options.arm(robot_text(PAPER_MODES))
    plain = arm, move(arm, Controller(arm, True), seconds)
    few = free, move(free, Controller(free, True), seconds)
    rows = (('PD alone (83)', plain, (arm, move(arm, Controller(arm, False), seconds))),
            ('one clamped-free shape in each direction, no torsion', plain, few),
            ('ends of links only shift (23), with these shapes', few, (free, move(
                free, Controller(free, True), seconds, variant=shifting_ends,
                progress=progress))),
            ('all three', plain, (free, together)))
    effects = []
    for deviation, (model, before), (other, after) in rows:
        ended = None if len(after.time) == len(before.time) else float(after.time[-1])
        effects += [
            Effect(deviation, 'joint theta_z1', 100 * apart(before.q[:, 1], after.q[:, 1]), ended),
            Effect(deviation, 'y deflection of the tip', 100 * apart(
                *(np.array([tip_deflection(one, 'link_2', q)[1] for q in each.q])
                  for one, each in ((model, before), (other, after)))), ended)]
    return tuple(effects)


def numbers(arm: ArmModel, run: Run, seen: Seen, schemes: Schemes | None) -> Iterator[Number]:
    """Yield further numbers of the main run and of the schemes."""
    for axis, value in zip('xyz', seen.tip[-1]):
        yield Number(f'endpoint at the end, {axis} of the inertial frame', value, 'm')
    yield Number('first frequency, motors held', frequencies(arm, GOAL)[0], 'Hz')
    yield Number('stretch of link 2 by itself vibrates at', stretch_frequency(arm), 'Hz')
    beam = arm.description.beam('link_2')
    yield Number('force that -0.02 m along link 2 takes', beam.EA * 0.02 / beam.length, 'N')
    yield Number('largest torque at theta_z1', np.abs(seen.torque[:, 1]).max(), 'N m')
    if schemes is not None:
        yield from schemes.numbers


def _listed(values):
    return ', '.join(f'{value:g}' for value in values)

"""The stiffened arm, section 4.2: Canadarm2 drops under gravity, figures 8 to 18."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from flex_robot_sim.analysis.deflection import tip_deflection
from flex_robot_sim.analysis.natural_modes import frequencies
from flex_robot_sim.core.assembly import load
from flex_robot_sim.core.model import ArmModel
from flex_robot_sim.formulations import make
from flex_robot_sim.plots import Chart, Curve
from flex_robot_sim.reproduce.courses import Course, courses, largest
from flex_robot_sim.reproduce.motion import (
    Progress,
    Run,
    apart,
    forces_of,
    integrate,
    simulate,
    within,
)
from flex_robot_sim.reproduce.report import Number, Pictures, Reproduction
from flex_robot_sim.share import shipped_robots
from flex_robot_sim.simulation import Simulation

START = {'shoulder_pitch': 0.4 * np.pi, 'elbow_pitch': -0.4 * np.pi}    #           [rad]
ROTORS = (2.0, 5.0, 10.0, 15.0)             # J n^2 of every joint                  [kg m2]
STIFFNESSES = (0.60e6, 1.33e6, 2.66e6, 5.00e6)  # of every joint                    [N m/rad]
USUAL = 5.0, 2.66e6
SECONDS, STEP, SHORT = 2.5, 2.5e-4, 0.15    # shown; of the integration; both beside each other
LONG_STEP = 1e-3                            # of all formulations through the usual fall [s]
EARLY = 0.1                                 # of the fall, shown by itself          [s]
LOOK, PLACED = 4, 8                         # steps between samples, samples between places
LINKS = ('upper_boom', 'lower_boom', 'wrist_pitch_module', 'wrist_yaw_module', 'end_effector',
         'tool')
LOOKS = ((4, 0), (1, 1), (0, 2), (2, 3))
PRINTED_EA = 2.84e7                         #                                       [N]
PLACES = (0.0, 0.5, 1.0, 1.5, 2.0)          # of the stick figure                   [s]


class Drop(NamedTuple):
    """One fall."""

    arm: ArmModel
    run: Run
    outline: np.ndarray     # (k, points, 3)  of the arm, in the base frame         [m]
    energy: float           # what the balance of energy lacks, over the kinetic energy


def run(progress: Progress, seconds: float | None = None) -> Reproduction:
    """Run the experiment."""
    seconds = seconds or SECONDS
    cases = [(rotor, USUAL[1], 'shortening') for rotor in ROTORS]
    cases += [(USUAL[0], stiffness, 'shortening') for stiffness in STIFFNESSES]
    cases += [(*USUAL, 'zero_order')]
    drops = {}
    for k, case in enumerate(dict.fromkeys(cases)):
        drops[case] = drop(*case, seconds)
        progress(0.2 * (k + 1) / len(cases))
    usual = drops[(*USUAL, 'shortening')]
    by_rotor = {f'{rotor:g} kg m2': drops[rotor, USUAL[1], 'shortening'] for rotor in ROTORS}
    by_stiffness = {f'{stiffness / 1e6:.2f}e6': drops[USUAL[0], stiffness, 'shortening']
                    for stiffness in STIFFNESSES}
    found, off = formulations(usual, min(SHORT, seconds), within(progress, 0.2, 1.0))
    zero = drops[(*USUAL, 'zero_order')]
    tips, plain = (of_tip(one, 1) for one in (usual, zero))
    numbers = [Number('first frequency, motors held', frequencies(usual.arm, pose())[0], 'Hz')]
    for name, one in by_rotor.items():
        numbers.append(Number(f'largest twist of joint 1, {name}',
                              np.abs(twist(one)).max(), 'rad'))
    for name, one in by_stiffness.items():
        numbers.append(Number(f'largest twist of joint 1, {name} N m/rad',
                              np.abs(twist(one)).max(), 'rad'))
    angles = np.array([one.run.q[:, :5] for one in by_stiffness.values()])
    numbers += [
        Number('joint angles of four stiffnesses, apart by', np.ptp(angles, axis=0).max(), 'rad'),
        Number('tip of the upper boom, largest v', np.abs(tips).max(), 'm'),
        Number('zero order against shortening, v', 100 * apart(tips, plain), '% of range'),
        Number('energy that the balance lacks', max(one.energy for one in drops.values()),
               'of the kinetic'),
        Number('stiffened arm against the recursion, v', 100 * off, '% of range'),
        Number('stretch by its own weight, upright, EA 2.84e8', _stretch(2.84e8), 'm'),
        Number('the same with the printed EA', _stretch(PRINTED_EA), 'm')]
    return Reproduction(
        (falling(usual), twists(by_rotor), joints(by_stiffness)), tuple(numbers), found,
        max(off, largest(found)),
        f'coordinates of all nonlinear formulations at {1e3 * LONG_STEP:g} ms, and the tip of the '
        f'upper boom over {min(SHORT, seconds):g} s at {1e3 * STEP:g} ms',
        ('a softer joint twists more, and so does one with a heavier rotor, nearly in proportion, '
         'as the paper says: what falls must take the rotor along through the spring',
         'the stiffening cannot be left out: when the arm swings through its lowest place, '
         f'zero order is {100 * apart(tips, plain):.3g} % of the range off at the upper boom'),
        ('the table of the parameters is missing from the text, and its curves are pictures',
         'EA is printed ten times too small for the section that EI and the mass ask for; with '
         'it the stretch is ten times as large',
         'in a free fall the end of the upper boom hardly notices its rotors: by figures 10 to 13 '
         'it does, so that a brake or a torque may be behind them'),
        ('masses of booms and modules are those of Nguyen and Hughes (1994), see '
         'urdf/canadarm2.urdf', 'joint stiffness in N m/rad, where the paper prints N/mm',
         'joints fall free on the motor side: no torque, no brake, and the fall is shown until '
         'the wrist meets its stop',
         f'while rotors vary, joints have {USUAL[1]:.3g} N m/rad; while stiffness varies, rotors '
         f'have {USUAL[0]:g} kg m2'))


def canadarm(rotor: float, stiffness: float, coupling: str = 'shortening') -> ArmModel:
    """Return the arm with one rotor inertia behind the gear [kg m2] and stiffness [N m/rad]."""
    text = shipped_robots()['canadarm2'].read_text(encoding='utf-8')
    text = re.sub(r'stiffness="[^"]*" rotor_inertia="[^"]*" gear_ratio="100"',
                  f'stiffness="{stiffness!r}" rotor_inertia="{rotor / 1e4!r}" gear_ratio="100"',
                  text)
    return load(text, coupling)


def pose() -> np.ndarray:
    """Joint positions at the start (5,) [rad]."""
    return np.array([START['shoulder_pitch'], START['elbow_pitch'], 0.0, 0.0, 0.0])


def drop(rotor: float, stiffness: float, coupling: str, seconds: float) -> Drop:
    """Let the arm fall; return the Drop."""
    arm = canadarm(rotor, stiffness, coupling)
    q = np.zeros(arm.size)
    outline: list[list[np.ndarray]] = []
    lacking: list[float] = []
    q[:5] = q[5:10] = pose()

    def look(simulation: Simulation) -> None:
        if round(simulation.time / (LOOK * STEP)) % PLACED == 0:
            outline.append([simulation.pose(link)[:3, 3] for link in LINKS])
            energy = simulation.energy()
            lacking.append(abs(energy.balance) / max(energy.kinetic, 1.0))

    found = simulate(arm, None, q, 0 * q, STEP, seconds, every=LOOK, look=look)
    return Drop(arm, found, np.array(outline), max(lacking))


def twist(one: Drop) -> np.ndarray:
    """Twist of the first joint, link side less motor side, (k,) [rad]."""
    return (one.run.of(one.arm, 'shoulder_pitch')
            - one.run.of(one.arm, 'shoulder_pitch/motor'))


def of_tip(one: Drop, row: int) -> np.ndarray:
    """Deflection of the tip of the upper boom, u, v, w [m] or turn about x (row 3) [rad]."""
    return np.array([tip_deflection(one.arm, 'upper_boom', q)[row] for q in one.run.q])


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


def falling(one: Drop) -> Pictures:
    """Figure 8: the arm seen from the side."""
    curves = []
    for k, time in enumerate(PLACES):
        row = round(time / (PLACED * LOOK * STEP))
        if row < len(one.outline):
            points = one.outline[row]
            curves.append(Curve(f'{time:g} s', points[:, 0], points[:, 2], (4, 1, 0, 2, 3)[k], k,
                                True))
    return Pictures('figure_8', 'Canadarm2 drops', (
        Chart('Fig. 8: side view', 'x [m]', 'height [m]', tuple(curves),
              has_equal_scales=True),))


def twists(by_rotor: Mapping[str, Drop]) -> Pictures:
    """Figures 9 to 13."""
    charts = [Chart('Fig. 9: twist of joint 1', 'time [s]', 'angle [rad]',
                    _curves(by_rotor, twist)),
              Chart(f'Fig. 9, its first {EARLY:g} s', 'time [s]', 'angle [rad]',
                    _curves(by_rotor, twist, EARLY))]
    for number, row, name, unit in ((10, 0, 'u_x', 'm'), (11, 1, 'v_y', 'm'), (12, 2, 'w_z', 'm'),
                                    (13, 3, 'theta_x', 'rad')):
        charts.append(Chart(f'Fig. {number}: {name} of the upper boom', 'time [s]',
                            f'{name} [{unit}]',
                            _curves(by_rotor, lambda one, row=row: of_tip(one, row))))
    return Pictures('figures_9_to_13', 'Canadarm2: inertia of the rotors', tuple(charts))


def joints(by_stiffness: Mapping[str, Drop]) -> Pictures:
    """Figures 14 to 18, and beside each of them what stiffness changes."""
    charts, (*softer, hardest) = [], by_stiffness
    stiff = by_stiffness[hardest].run.q
    for k in range(5):
        charts += [
            Chart(f'Fig. {14 + k}: joint {k + 1}', 'time [s]', 'angle q2 [rad]',
                  _curves(by_stiffness, lambda one, k=k: one.run.q[:, k])),
            Chart(f'less that of {hardest}', 'time [s]', 'difference [rad]',
                  _curves({name: by_stiffness[name] for name in softer},
                          lambda one, k=k: one.run.q[:, k] - stiff[:, k]))]
    return Pictures('figures_14_to_18', 'Canadarm2: stiffness of the joints [N m/rad]',
                    tuple(charts))


def _curves(cases, values, until=np.inf):
    shown = next(iter(cases.values())).run.time <= until
    # the last ones reach farthest, and lie below
    return tuple(Curve(name, one.run.time[shown], values(one)[shown], *look)
                 for (name, one), look in reversed(list(zip(cases.items(), LOOKS))))


def _stretch(EA):
    """Stretch of the upper boom that carries all others upright, by hand [m]."""
    beyond = 279.2 + 2 * 105.98 + 243.66
    return 9.81 * 7.11 * (beyond + 314.88 / 2) / EA

"""The wrench DAE, section 7: ELLA under PD along a smooth trajectory, figures 4 to 15."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

import numpy as np
from scipy.spatial.transform import Rotation

from flex_robot_sim.analysis.deflection import tip_deflection
from flex_robot_sim.analysis.natural_modes import frequencies
from flex_robot_sim.core.assembly import load
from flex_robot_sim.core.model import ArmModel
from flex_robot_sim.reproduce.courses import courses, largest
from flex_robot_sim.reproduce.ella_figures import (
    AXES,
    JOINTS,
    LINKS,
    fields,
    motions,
    screws,
    spectrum_of,
    wrenches,
)
from flex_robot_sim.reproduce.ella_schemes import SHORT, STEP, beside_each_other
from flex_robot_sim.reproduce.motion import Effort, Progress, Run, forces_of, simulate, within
from flex_robot_sim.reproduce.report import Number, Pictures, Reproduction
from flex_robot_sim.share import shipped_robots
from flex_robot_sim.simulation import Simulation

GOAL = np.array([-0.4928, 0.6922, 0.4270])      # theta_y1, theta_z1, theta_z2          [rad]
STIFFNESS = np.array([3000.0, 3000.0, 800.0])   # of PD                                 [N m/rad]
DAMPING = np.array([250.0, 250.0, 60.0])        #                                       [N m s/rad]
MOVE, SECONDS = 1.5, 4.0                        # time to the goal; shown               [s]
ROTOR = '<joint name="{}" rotor_inertia="1e-4" gear_ratio="100"/>'
START = (0.0065, -0.0083)       # of the tip of link 2 across                           [m]


def run(progress: Progress, seconds: float | None = None) -> Reproduction:
    """Run the experiment."""
    seconds = seconds or SECONDS
    text = robot_text()
    arm = load(text.replace('torsion="1" stretch="0"', 'torsion="1" stretch="1"'))
    effort = controller(len(JOINTS))
    seen: dict = {name: [] for name in ('time', 'tip', 'torque', 'base', 'elbow', *LINKS)}

    def look(simulation):
        seen['time'].append(simulation.time)
        seen['tip'].append(simulation.pose('tool')[:3, 3])
        seen['torque'].append(effort(simulation.time, simulation.coordinates, simulation.rates))
        seen['base'].append(simulation.wrench('theta_z1'))
        seen['elbow'].append(simulation.wrench('theta_z2'))
        for link in LINKS:
            pose = simulation.pose(link)
            turn = Rotation.from_matrix(pose[:3, :3]).as_rotvec()
            seen[link].append(np.concatenate([pose[:3, 3], turn, simulation.twist(link)]))

    q = started(arm)
    whole = simulate(arm, effort, q, 0 * q, STEP, seconds, every=2, look=look, servo=servo)
    progress(0.03)
    body, flexibility = text.split('<flexibility>')
    flexibility = re.sub(r'<link .*?</link>', '', flexibility, flags=re.DOTALL)
    stiff = load(f'{body}<flexibility>{flexibility}')
    rigid: list[np.ndarray] = []
    simulate(stiff, effort, np.zeros(3), np.zeros(3), STEP, seconds, every=2, servo=servo,
             look=lambda one: rigid.append(effort(one.time, one.coordinates, one.rates)))
    progress(0.05)
    seen = {name: np.array(rows) for name, rows in seen.items()}

    def motion(name, seconds, progress):
        return whole if name == 'recursion' else simulate(
            arm, effort, q, 0 * q, STEP, seconds, every=2, servo=servo, formulation=name,
            progress=progress)

    found = courses(arm, motion, forces_of(arm, effort), seconds, within(progress, 0.05, 0.8))
    numbers, charts, torn = beside_each_other(text, effort, servo, started, min(SHORT, seconds),
                                              within(progress, 0.8, 1.0))
    deflection = np.array([tip_deflection(arm, 'link_2', one)[:3] for one in whole.q])
    numbers = [*key_numbers(arm, whole, seen, deflection), *numbers]
    return Reproduction(
        (screws(seen), motions(whole, seen, deflection, np.array(rigid), GOAL), fields(arm, whole),
         wrenches(seen), Pictures('schemes', 'ELLA with one shape in each plane', charts)),
        tuple(numbers), found, max(torn, largest(found)),
        'coordinates of all nonlinear formulations, and motions of the separate links of the '
        'wrench DAE',
        ('joints reach their set points and torques settle, and what bends stays small',
         'wrenches come out of the stacked system as unknowns, and are those of the recursion',
         'forward Euler holds at 1 ms, as in the paper, with one shape in each plane: the drives '
         'damp more than it adds. But what rings for 0.15 s rings for more than 0.5 s by it'),
        ('measured curves are pictures, and the whole closed loop rings at the printed 2 Hz: the '
         'gains are not printed, and nothing here is tuned to it',
         'a start of -0.02 m along link 2 would be a strain of 2 %, that is a force of 0.9 MN: it '
         'must be an offset of the measurement, and only the part across is taken',
         '(89), which is to show that 1 ms is short enough, is the bound of a scheme that keeps '
         'the energy of a beam by itself; forward Euler has none without damping, and the stretch '
         'that the paper keeps rings at 1.4 kHz, which no explicit scheme follows at 1 ms'),
        (f'gains {_listed(STIFFNESS)} N m/rad and {_listed(DAMPING)} N m s/rad, and torques '
         'that carry the weight at the goal', f'a minimum-jerk motion of {MOVE:g} s',
         'rotors of 1e-4 kg m2 behind 1:100', 'hub, payload and torsion: see urdf/ella.urdf'))


def robot_text() -> str:
    """Return the shipped robot with rotors, without which PD acts on next to no inertia."""
    text = shipped_robots()['ella'].read_text(encoding='utf-8')
    return text.replace('</flexibility>',
                        f'{"".join(ROTOR.format(name) for name in JOINTS)}</flexibility>')


def controller(joints: int) -> Effort:
    """Return PD along a minimum-jerk motion, (83), as a function of time, q and qd."""
    def effort(t, q, qd):
        share, rate = smooth(t)
        return (STIFFNESS * (GOAL * share - q[:joints]) + DAMPING * (GOAL * rate - qd[:joints])
                + carried(q[:joints]))

    return effort


def servo(simulation: Simulation, t: float) -> None:
    """Set the same inputs with gains in which a step is implicit: 1 ms is long for them."""
    share, rate = smooth(t)
    simulation.hold(GOAL * share, STIFFNESS, DAMPING)
    simulation.effort = DAMPING * GOAL * rate + carried(simulation.position)


def smooth(t: float) -> tuple[float, float]:
    """Share of the way at time t, and its rate [1/s]: minimum jerk."""
    s = min(t / MOVE, 1.0)
    return s**3 * (10 - 15 * s + 6 * s * s), 30 * s * s * (1 - s)**2 / MOVE


def carried(angles: np.ndarray) -> np.ndarray:
    """Torques [N m] that carry the weight of the rigid arm at joint positions (3,)."""
    g, first, second = 9.81, 0.95, 0.93
    outer = (1.516086 / 2 + 2.1) * second * np.cos(angles[1] + angles[2])
    inner = (1.54869 / 2 + 3.3 + 1.516086 + 2.1) * first * np.cos(angles[1])
    return g * np.array([0.0, inner + outer, outer])


def started(arm: ArmModel) -> np.ndarray:
    """Coordinates with the first shapes of link 2 bent as far as the tip starts."""
    q = np.zeros(arm.size)
    beam = arm.beams[arm.segments['link_2'][0]]
    for direction, row, size in (('bending_y', 1, START[0]), ('bending_z', 2, START[1])):
        k = arm.coordinate_names.index(f'link_2/{direction}_1')
        q[k] = size / beam.shape(beam.length)[row, beam.columns(direction).start]
    return q


def key_numbers(arm: ArmModel, run: Run, seen: Mapping[str, np.ndarray],
                deflection: np.ndarray) -> Iterator[Number]:
    """Numbers of the main run."""
    errors = run.q[-1, :3] - GOAL
    yield Number('farthest from the set points at the end', np.abs(errors).max(), 'rad')
    for axis, values in zip(AXES, seen['tip'][-1]):
        yield Number(f'tip at the end, {axis}', values, 'm')
    for k, axis in ((1, 'y'), (2, 'z')):
        yield Number(f'largest tip deflection of link 2, {axis}', np.abs(deflection[:, k]).max(),
                     'm', abs(START[k - 1]), 'the paper, at the start')
        late = run.time >= min(MOVE, run.time[-1] / 2)
        across, spectrum = spectrum_of(run.time[late], deflection[late, k])
        yield Number(f'rings after the motion at, {axis}', across[spectrum.argmax()], 'Hz',
                     2.0, 'the paper, its dominant one')
    yield Number('first frequency, motors held', frequencies(arm, GOAL)[0], 'Hz')
    yield Number('bound (89) of the step, with the numbers beside it', 1e3 * longest_step(), 'ms',
                 10.04, 'the paper')
    beam = arm.beams[arm.segments['link_2'][0]]
    section, length = beam.section, beam.length
    yield Number('stretch of link 2 by itself rings at',
                 np.sqrt(section.EA / section.mass_per_length) / (4 * length), 'Hz')
    yield Number('force that -0.02 m along link 2 would take', section.EA * 0.02 / length, 'N')
    yield Number('largest torque at theta_z1', np.abs(seen['torque'][:, 1]).max(), 'N m')


def longest_step() -> float:
    """Right side of (89) [s]."""
    E_I, area, density, length = 3.67e3, 2.09e-4, 7800.0, 0.93
    return 2 * length**2 / 1.8751**2 * np.sqrt(density * area / E_I)


def _listed(values):
    return ', '.join(f'{value:g}' for value in values)

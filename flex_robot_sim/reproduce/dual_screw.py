"""
The dual screws, section 6: the arm of four joints and its manoeuvre, figures 6 to 10.

Linearised and nonlinear arm go through the same steps of the same scheme, so that what parts them
is what the linearised equations leave out.
"""

from __future__ import annotations

import time

import numpy as np

from flex_robot_sim.control.gains import carrying_efforts
from flex_robot_sim.core.assembly import load
from flex_robot_sim.core.mass import mass_matrix
from flex_robot_sim.core.model import ArmModel
from flex_robot_sim.reproduce.courses import courses, largest
from flex_robot_sim.reproduce.dual_screw_checks import (
    derivative_costs,
    evaluation_costs,
    validity,
)
from flex_robot_sim.reproduce.dual_screw_figures import FIRST, GROUPS, SECOND, pictures
from flex_robot_sim.reproduce.motion import Effort, Progress, Run, apart, forces_of, within
from flex_robot_sim.reproduce.report import Number, Reproduction
from flex_robot_sim.settings import SimulationSettings
from flex_robot_sim.simulation import Simulation

SECONDS, STEP, EVERY = 6.0, 1e-3, 1     # [s], [s], steps between samples: some rates ring fast
START = np.array([0.0, np.pi / 6, 2 * np.pi / 3, np.pi / 6])
TARGETS = ((FIRST, np.array([0.0, np.pi / 3, np.pi / 3, np.pi / 3])),
           (SECOND, np.array([np.pi / 4, np.pi / 3, np.pi / 3, np.pi / 3])))
FREQUENCY = np.array([0.4, 0.8, 0.8, 0.8])  # of joints under PD; see `run`         [Hz]
SLOW = {'element_sum': 'element sum', 'wrench_dae': 'wrench DAE', 'stiffened': 'stiffened arm'}


def run(progress: Progress, seconds: float | None = None) -> Reproduction:
    """Run the experiment."""
    seconds = seconds or SECONDS
    arm = load('dual_screw_arm', coupling='zero_order')
    made: dict[str, Run] = {}
    efforts: dict[str, np.ndarray] = {}
    costs: dict[str, float] = {}

    def motion(formulation, seconds, progress):
        made[formulation], efforts[formulation], costs[formulation] = manoeuvre(
            arm, formulation, seconds, progress)
        return made[formulation]

    found = courses(arm, motion, forces_of(arm, servo_efforts(arm)), seconds,
                    within(progress, 0.0, 0.9))
    runs = {'exact': made['recursion'], 'linear': made['dual_screw']}
    efforts = {'exact': efforts['recursion'], 'linear': efforts['dual_screw']}
    numbers, worst = _differences(arm, runs, efforts)
    compiled, matrices = evaluation_costs(arm)
    geometric, differences = derivative_costs(arm)
    numbers += validity(arm, runs['exact'], START)
    numbers += [
        Number(f'CPU time of {seconds:g} s, nonlinear: the recursion', costs['recursion'], 's',
               3901.0, 'the paper, nonlinear'),
        *(Number(f'likewise, {name} in numpy', costs[formulation], 's', 3901.0,
                 'the paper, nonlinear') for formulation, name in SLOW.items()),
        Number('likewise, linearised: dual screws, compiled', costs['dual_screw'], 's', 14.0,
               'the paper, generated code'),
        Number('one evaluation of them, compiled', 1e6 * compiled, 'us'),
        Number('one evaluation as matrices in numpy', 1e6 * matrices, 'us'),
        Number('matrices over compiled', matrices / compiled, '', 314 / 14,
               'the paper, as it was over generated code'),
        Number('derivatives of all projection matrices, geometric rule', 1e3 * geometric, 'ms',
               11e3, 'the paper, as symbols'),
        Number('likewise, by differences and the chain rule', 1e3 * differences, 'ms', 181e3,
               'the paper, as symbols'),
        Number('differences over geometric rule', differences / geometric, '', 181 / 11,
               'the paper')]
    return Reproduction(
        pictures(arm, runs, efforts), tuple(numbers), found, max(worst, largest(found, True)),
        'coordinates and torques of all formulations, the linearised one too, over the range',
        ('linearised and nonlinear curves of all coordinates and torques lie on each other, as in '
         'the paper; rates of shapes that ring fast part by the phase that small differences in '
         'frequency add up to',
         'before 3 s the motion stays in one plane: torsion and bending out of it are zero, and '
         'exactly so',
         'derivatives by the geometric rule cost a fraction of those by differentiation'),
        ('the paper prints no number of its curves, and its table of parameters is a picture',
         'its run times are those of symbolic expressions, or of code generated from them, on '
         'another machine; only their ratios say something here'),
        ('lengths, sections and masses: see urdf/dual_screw_arm.urdf',
         f'PD of {FREQUENCY[0]:g} Hz for the waist and {FREQUENCY[1]:g} Hz for the other joints, '
         'critically damped, and efforts that carry the weight at the target: slow enough for '
         'millimetres of bending, because linearised inertia loses its sign at 12 to 40 mm',
         f'implicit midpoint at {STEP * 1e3:g} ms for both; no damping in the links'))


def manoeuvre(arm: ArmModel, formulation: str, seconds: float,
              progress: Progress = lambda share: None) -> tuple[Run, np.ndarray, float]:
    """Run, applied efforts (k, joints) [N m] and CPU time [s] of a formulation."""
    simulation = Simulation(arm, SimulationSettings(time_step=STEP, formulation=formulation))
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
            simulation.step(min(EVERY, total - done))
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


def _differences(arm, runs, efforts):
    """Numbers that compare the two runs, and the largest relative difference among them."""
    exact, linear = runs['exact'], runs['linear']
    joints = [apart(exact.q[:, j], linear.q[:, j]) for j in range(4) if np.ptp(exact.q[:, j]) > 0]
    worst, numbers = [max(joints, default=0.0)], []
    for kind, (_, title, unit, _) in GROUPS.items():
        part = [k for k, name in enumerate(arm.coordinate_names) if f'/{kind}_' in name]
        size = np.abs(exact.q[:, part]).max()
        off = np.abs(exact.q[:, part] - linear.q[:, part]).max()
        numbers.append(Number(f'{title.split(": ")[1]}: largest', size, unit))
        if size > 1e-9:
            worst.append(off / size)
            rate = np.abs(exact.qd[:, part]).max()
            parted = np.abs(exact.qd[:, part] - linear.qd[:, part]).max()
            numbers += [Number('likewise, linearised against nonlinear', 100 * off / size, '%'),
                        Number('its rates, likewise', 100 * parted / rate, '%')]
    aside = [k for k, name in enumerate(arm.coordinate_names)
             if '/torsion_' in name or '/bending_z_' in name]
    early = exact.time < SECOND
    numbers.append(Number('out of plane before 3 s, largest of both',
                          max(np.abs(run.q[early][:, aside]).max() for run in runs.values()),
                          'm, rad', 0.0, 'the paper'))
    off = np.abs(efforts['exact'] - efforts['linear']).max() / np.ptp(efforts['exact'])
    numbers = [Number('joints, linearised against nonlinear', 100 * worst[0], '% of range'),
               *numbers, Number('torques, likewise', 100 * off, '% of range')]
    return numbers, float(max(*worst, off))

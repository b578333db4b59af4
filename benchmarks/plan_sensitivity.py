"""
Vibration after planned moves of arms whose frequencies are up to 10 % lower or higher.

A part of `python -m benchmarks.control`. The arms are `single_link` and `two_link`, and an arm
with two elastic joints in MuJoCo, which shares no code with the planner. The drives follow the
plan. A share is the largest distance of the tip from its goal in the second after the end, over
that of minimum jerk on the same arm in the same time.
"""

from functools import partial

import mujoco
import numpy as np

import flex_robot_sim as frs
from benchmarks.stop_logs import PLANAR
from flex_robot_sim.model.arm_model import with_stiffness
from flex_robot_sim.motion.joint_motion import minimum_jerk_motion
from flex_robot_sim.planning.rest_to_rest import plan_move

FACTORS = 0.9, 0.95, 1.0, 1.05, 1.1  # on the frequencies
AFTER = 1.0  # time in which the vibration is measured              [s]
SPRINGS, DAMPERS = np.array([1200.0, 500.0]), np.array([0.4, 0.1])  # of the arm in MuJoCo
MOVES = {  # start, goal, and durations over the period of the first mode
    'single_link': ([0.0], [0.6], (1.5, 2.0)),
    'two_link': ([0.0, 0.3, -0.4], [0.6, 0.9, -1.2], (1.8, 2.5)),
    'planar': ([0.0, 0.4], [0.5, 1.1], (1.5, 2.0)),
}
QUICK = 'single_link', 'planar'


def planar_arm():
    """Return the arm of PLANAR, described for the planner."""
    builder = frs.ArmBuilder('planar')
    builder.add_rigid('upper', mass=4.0, centre=(0.2, 0, 0), inertia=(0.01, 0.06, 0.06))
    builder.add_rigid('fore', mass=3.0, centre=(0.17, 0, 0), inertia=(0.01, 0.04, 0.04))
    builder.add_rigid('tool')
    builder.add_joint('shoulder', parent='base', child='upper', axis='z')
    builder.add_joint('elbow', parent='upper', child='fore', axis='z', xyz=(0.4, 0.0, 0.0))
    builder.attach('tool', parent='fore', xyz=(0.35, 0.0, 0.0))
    for name, spring, damper in zip(('shoulder', 'elbow'), SPRINGS, DAMPERS):
        builder.add_gear(name, stiffness=float(spring), damping=float(damper), rotor_inertia=1e-3)
    return builder.build(gravity=(0.0, 0.0, 0.0), tool='tool')


def left_in_mujoco(factor, motion, end, step=5e-4):
    """Largest distance of the tool of PLANAR from its goal after a motion of the drives [m]."""
    model = mujoco.MjModel.from_xml_string(PLANAR)
    model.opt.timestep, model.opt.integrator = step, mujoco.mjtIntegrator.mjINT_RK4
    model.opt.gravity[:] = 0.0
    springs = factor**2 * SPRINGS
    model.jnt_stiffness[:], model.dof_damping[:] = springs, DAMPERS
    data = mujoco.MjData(model)
    goal = motion.sample(end)[0]
    data.qpos[:] = goal
    mujoco.mj_forward(model, data)
    there = data.body('tool').xpos.copy()
    data.qpos[:] = motion.sample(0.0)[0]
    away = 0.0
    for k in range(round((end + AFTER) / step)):
        place, speed, _ = motion.sample((k + 0.5) * step)
        data.qfrc_applied[:] = springs * place + DAMPERS * speed
        mujoco.mj_step(model, data)
        if k * step > end:
            away = max(away, float(np.linalg.norm(data.body('tool').xpos - there)))
    return away


def left_in_simulation(arm, factor, motion, end):
    """Largest distance of the tool of an arm from its goal after a motion of the drives [m]."""
    arm = with_stiffness(arm, factor**2)
    settings = frs.SimulationSettings(time_step=5e-4)
    simulation = frs.Simulation(arm, settings)
    simulation.set_state(q=frs.equilibrium(arm, motion.sample(end)[0]).q)
    there = simulation.pose('tool')[:3, 3]
    simulation.set_state(q=frs.equilibrium(arm, motion.sample(0.0)[0]).q)
    steps = round((end + AFTER) / settings.time_step)
    samples = motion.samples(settings.time_step * np.arange(steps + 1))
    path = simulation.follow(samples[:, 0], samples[:, 1])
    late = path[round(end / settings.time_step) :: 8]
    return max(float(np.linalg.norm(frs.pose(arm, q, link='tool')[:3, 3] - there)) for q in late)


def plan_10_percent_off(quick):
    """
    Shares by arm, duration and frequency; worst and median of the frequencies that are off.

    Both count the plans without a warning.
    """
    out, off, unaware = {}, [], []
    for name in QUICK if quick else MOVES:
        start, goal, durations = MOVES[name]
        arm = planar_arm() if name == 'planar' else frs.load(name)
        left = left_in_mujoco if name == 'planar' else partial(left_in_simulation, arm)
        for periods in durations[-1:] if quick else durations:
            end = periods / frs.frequencies(arm, goal)[0]
            plain = minimum_jerk_motion(np.array(start), np.array(goal), duration=end)
            unplanned = {factor: left(factor, plain, end) for factor in FACTORS}
            plan = plan_move(arm, start, goal, duration=end)
            shares = {
                factor: left(factor, plan.motion, end) / unplanned[factor] for factor in FACTORS
            }
            if not plan.warning:
                off += [share for factor, share in shares.items() if factor != 1.0]
            nominal = plan_move(arm, start, goal, duration=end, uncertainty=0.0)
            unaware += [
                left(factor, nominal.motion, end) / unplanned[factor] for factor in (0.9, 1.1)
            ]
            out[f'{name}, {periods:g} periods'] = {
                **{f'frequency {factor:g}': round(share, 4) for factor, share in shares.items()},
                'predicted worst': round(plan.worst_residual, 4),
                'warns': bool(plan.warning),
            }
    return {
        'worst': round(max(off), 4),
        'median': round(float(np.median(off)), 4),
        'planned without uncertainty: least': round(min(unaware), 4),
        'planned without uncertainty: worst': round(max(unaware), 4),
        **out,
    }


def as_lines(found):
    """Pairs of a label and a text."""
    yield (
        'worst and median, up to 10 % off',
        f'{100 * found["worst"]:.1f}, {100 * found["median"]:.1f} %',
    )
    least, most = (found[f'planned without uncertainty: {which}'] for which in ('least', 'worst'))
    yield 'planned without uncertainty', f'{100 * least:.1f} to {100 * most:.1f} %'
    for name, shares in found.items():
        if isinstance(shares, dict):
            *left, warns = shares.values()
            text = ', '.join(f'{100 * share:.1f} %' for share in left)
            yield name, f'{text}{"; warns" if warns else ""}'

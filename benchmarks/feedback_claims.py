"""
Feedback on arms for which a design could claim too much: two bending planes, unknown payloads.

Parts of `python -m benchmarks.control`, by simulation of the nonlinear arm.
"""

import numpy as np

import flex_robot_sim as frs
from flex_robot_sim.feedback.damping_search import KINDS
from flex_robot_sim.feedback.lqg import Lqg
from flex_robot_sim.feedback.lqg_design import design_lqg
from flex_robot_sim.feedback.modal_damping import design_damping
from flex_robot_sim.feedback.simulated_sensors import sensor_feedback
from flex_robot_sim.feedback.strain_feedback import StrainFeedback
from flex_robot_sim.motion.joint_motion import minimum_jerk_motion
from flex_robot_sim.simulation.loop_timing import LoopTiming
from flex_robot_sim.simulation.rollout import ControlLoop, rollout

LOOP = LoopTiming(1e-3, 1e-3)
SERVO = np.array([150.0, 150.0]), np.array([0.3, 0.3])
PUSHED, PUSH = 0.02, 0.5  # duration [s] and force [N] of a push
PAYLOADS = 0.05, 0.1, 0.15, 0.3  # in addition to the tip mass of 0.1              [kg]
GOAL, DURATION, BEGIN = 0.6, 0.8, 0.1  # of the move of single_link          [rad, s, s]


def pan_tilt(planes=('xy', 'xz'), tilts=True):
    """Return an arm whose link is 1.6 times as fast sideways; gauges in some planes."""
    builder = frs.ArmBuilder('pan_tilt')
    section = frs.SectionStiffness(EIy=6.0, EIz=6.0 * 1.6**2, GJ=1e3)
    builder.add_rigid('head', mass=0.5, inertia=(2e-2, 2e-2, 2e-2))
    builder.add_rigid('neck', mass=0.5, inertia=(2e-2, 2e-2, 2e-2))
    builder.add_beam(
        'boom',
        length=0.6,
        mass=0.1,
        section=section,
        bending_y=2,
        bending_z=2,
        torsion=0,
        damping_ratio=0.005,
    )
    builder.add_rigid('tool', mass=0.2, inertia=(1e-4, 1e-4, 1e-4))
    builder.add_joint('pan', parent='base', child='head', axis='z')
    builder.add_joint('tilt', parent='head', child='neck', axis='y' if tilts else 'z')
    builder.attach('boom', parent='neck')
    builder.attach('tool', parent='boom', xyz=(0.6, 0.0, 0.0))
    for plane in planes:
        for name, start, end in (('root', 0.02, 0.1), ('middle', 0.25, 0.35)):
            builder.add_flex_sensor('boom', f'{name}_{plane}', start=start, end=end, plane=plane)
    return builder.build(tool='tool', gravity=(0.0, 0.0, 0.0))


def two_planes(_quick):
    """Share of the tip amplitude two periods after a push, up and down and sideways."""
    arm, out = pan_tilt(), {}
    for kind in KINDS:
        for modes in (None, 1):
            design = design_damping(
                arm, [0.0, 0.0], gains=SERVO, kind=kind, modes=modes, **LOOP._asdict()
            )
            out[f'{kind}, modes = {modes}'] = {
                'up and down': round(left_of_a_push(arm, design, (0.0, 0.0, PUSH)), 4),
                'sideways': round(left_of_a_push(arm, design, (0.0, PUSH, 0.0)), 4),
                'warning': design.warning or 'none',
            }
    return out


def left_of_a_push(arm, design, force, periods=2.0):
    """Share of the tip amplitude that is left `periods` of the slowest mode after a push."""
    simulation, law, rows = frs.Simulation(arm), StrainFeedback(arm, design), []
    rest = simulation.pose('tool')[:3, 3]
    law.start()

    def control(seen):
        effort = -SERVO[0] * seen.position - SERVO[1] * seen.velocity
        return effort + law.update(seen.position, seen.velocity, seen.curvature)

    def record(simulation):
        rows.append((simulation.time, np.linalg.norm(simulation.pose('tool')[:3, 3] - rest)))

    loop = ControlLoop(simulation, sensor_feedback(arm, control), LOOP, record, 4e-3)
    simulation.push('tool', force=force)
    loop.advance(round(PUSHED / simulation.settings.time_step))
    simulation.push('tool')
    time = PUSHED + periods / frs.frequencies(arm, gains=SERVO)[0]
    loop.advance(round((time + 0.25) / simulation.settings.time_step))
    times, away = np.array(rows).T
    return float(away[times > time].max() / away.max())


def unknown_payload(quick):
    """Estimates of LQG for payloads that its design does not know, and residual vibration."""
    arm, out = frs.load('single_link'), {}
    design = design_lqg(arm, [0.0], period=5e-3, delay=5e-3)
    for mass in PAYLOADS[-1:] if quick else PAYLOADS:
        loaded, law = frs.with_payload(arm, 'tool', mass), Lqg(arm, design)
        left, periods = _moved(loaded, law)
        row = {
            'true frequency [Hz]': round(float(frs.frequencies(loaded)[0]), 3),
            'measured [Hz]': round(law.frequency, 3),
            'warns': bool(law.warning),
            'payload [kg]': round(law.payload('tool'), 4),
            'left after 1 and 5 periods': left,
            'periods to 2 %': periods,
        }
        left, periods = _moved(loaded, law.redesigned('tool'))
        row |= {'left when redesigned': left, 'periods when redesigned': periods}
        out[f'{mass:g} kg'] = row
    return out


def _moved(arm, law):
    """Tip distance after 1 and 5 periods, over its peak after the move; periods to 2 % of it."""
    simulation, goal, end = frs.Simulation(arm), np.array([GOAL]), BEGIN + DURATION
    motion = minimum_jerk_motion(np.zeros(1), goal, duration=DURATION, begin=BEGIN)
    simulation.set_state(q=goal)
    there = simulation.pose('tool')[:3, 3]
    simulation.set_state(q=np.zeros(1))
    period = 1.0 / frs.frequencies(arm)[0]

    def control(seen):
        if not law.is_on:
            law.start(seen.position, effort=np.zeros(1))
        return law.update(seen.position, seen.velocity, seen.curvature, motion.sample(seen.time))

    log = rollout(
        simulation,
        duration=end + 8 * period,
        controller=sensor_feedback(arm, control),
        record={'tip': lambda simulation: simulation.pose('tool')[:3, 3]},
        **law.design.loop._asdict(),
    )
    away = np.linalg.norm(log.tip - there, axis=1)
    peak = away[log.time > end].max()
    late = log.time[(log.time > end) & (away > 0.02 * away[0])]
    left = [round(float(away[log.time > end + n * period].max() / peak), 3) for n in (1, 5)]
    return left, round(float((late.max(initial=end) - end) / period), 2)

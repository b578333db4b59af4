"""
Feedback, plans and learning against their targets, on the nonlinear simulation.

Parts of `python -m benchmarks.control`:

damping_added           of the first mode by strain feedback and by PPF, and residue of a push
lqg_settling_periods    from the end of the reference until the tip stays within 2 %
planned_residual        of the tip after a planned move, over that of minimum jerk; with a servo
learning                tip error after 5 and 15 trials over that of the first one
"""

import numpy as np

import flex_robot_sim as frs
from flex_robot_sim.analysis.joint_space_inertia import joint_space_inertia, rigid_inertia
from flex_robot_sim.feedback.damping_search import KINDS
from flex_robot_sim.feedback.lqg import Lqg
from flex_robot_sim.feedback.lqg_design import design_lqg
from flex_robot_sim.feedback.modal_damping import design_damping
from flex_robot_sim.feedback.simulated_sensors import sensor_feedback
from flex_robot_sim.feedback.strain_feedback import StrainFeedback
from flex_robot_sim.model.arm_model import with_stiffness
from flex_robot_sim.model.assembly import build_arm
from flex_robot_sim.motion.joint_motion import minimum_jerk_motion
from flex_robot_sim.motion.limits import effort_limits, rate_limits
from flex_robot_sim.planning.iterative_learning import RepeatedMove
from flex_robot_sim.planning.rest_to_rest import plan_move
from flex_robot_sim.planning.simulated_trials import SimulatedTrials
from flex_robot_sim.simulation.loop_timing import LoopTiming
from flex_robot_sim.simulation.rollout import ControlLoop, rollout
from flex_robot_sim.util.share import shipped_robots

LOOP = LoopTiming(1e-3, 1e-3)
LATE = LoopTiming(5e-3, 50e-3)
POSES = {'single_link': (0.0,), 'two_link': (0.0, 0.5, -0.5)}
PUSHED = 0.05  # how long                                                      [s]
STIFF = 15.0  # of the joints of the arm with three of them                  [Hz]


def servo_of(name, arm):
    """Stiffness and damping (joints,) of a servo that does not damp the links."""
    if name == 'single_link':
        return np.array([60.0]), np.array([0.18])
    inertia, rate = joint_space_inertia(arm).largest, 2 * np.pi * STIFF
    return inertia * rate**2, 1.4 * inertia * rate


def damping_added(_quick):
    """Damping of the modes before and after, by robot and kind, and residue of a push."""
    out = {}
    for name, pose in POSES.items():
        arm = frs.load(name)
        servo = servo_of(name, arm)
        for kind in KINDS:
            design = design_damping(arm, pose, gains=servo, kind=kind, **LOOP._asdict())
            first = design.poles_before[0]
            out[f'{name} {kind}'] = {
                'before': round(float(-first.real / abs(first)), 4),
                'after': round(float(design.damping_ratio), 3),
                'left after two periods': round(
                    _left_of_a_push(
                        arm, np.array(pose), servo, design, 2 * 2 * np.pi / abs(first)
                    ),
                    4,
                ),
                'another loses': float(f'{design.damping_loss:.2g}'),
                'warning': design.warning or 'none',
            }
    return out


def _left_of_a_push(arm, pose, servo, design, time):
    simulation, law = frs.Simulation(arm), StrainFeedback(arm, design)
    rest, rows = frs.equilibrium(arm, pose), []
    simulation.set_state(q=rest.q)
    there = simulation.pose('tool')[:3, 3]
    law.start()

    def control(seen):
        effort = rest.effort + servo[0] * (pose - seen.position) - servo[1] * seen.velocity
        return effort + law.update(seen.position, seen.velocity, seen.curvature)

    def record(simulation):
        rows.append((simulation.time, np.linalg.norm(simulation.pose('tool')[:3, 3] - there)))

    loop = ControlLoop(simulation, sensor_feedback(arm, control), LOOP, record)
    simulation.push('tool', force=(0.0, 0.2, 0.2))
    loop.advance(round(PUSHED / simulation.settings.time_step))
    simulation.push('tool')
    loop.advance(round((time + 1.5) / simulation.settings.time_step))
    rows = np.array(rows)
    return float(rows[rows[:, 0] > PUSHED + time, 1].max() / rows[:, 1].max())


def lqg_settling_periods(_quick):
    """Periods by sensors and stiffness; the law has one of four modes, and a delay of 50 ms."""
    text = shipped_robots()['single_link'].read_text(encoding='utf-8')
    arm = build_arm(frs.read_description(text.replace('bending_y="2"', 'bending_y="4"')))
    first, out = frs.frequencies(arm)[0], {}
    for sensors in ('all', 'encoders'):
        design = design_lqg(
            arm, [0.0], **LATE._asdict(), modes=1, sensors=sensors, stiffness_range=(0.3, 1.5)
        )
        for factor in (0.3, 0.5, 0.8, 1.0, 1.25, 1.5):
            periods, last = _settled(with_stiffness(arm, factor), design, first)
            out[f'{sensors}, stiffness {factor:g}'] = {
                'periods': round(periods, 3),
                'left after 8 s': float(f'{last:.1e}'),
            }
    return out


def _settled(arm, design, first):
    law, simulation = Lqg(arm, design), frs.Simulation(arm)
    start, goal, end = np.zeros(1), np.array([0.6]), 1.4
    motion = minimum_jerk_motion(start, goal, duration=1.2, begin=0.2)
    simulation.set_state(q=goal)
    there = simulation.pose('tool')[:3, 3]
    simulation.set_state(q=start)
    whole = np.linalg.norm(simulation.pose('tool')[:3, 3] - there)

    def control(seen):
        if not law.is_on:
            law.start(seen.position, effort=np.zeros(1))
        return law.update(seen.position, seen.velocity, seen.curvature, motion.sample(seen.time))

    log = rollout(
        simulation,
        duration=8.0,
        controller=sensor_feedback(arm, control),
        record='pose:tool',
        **design.loop._asdict(),
    )
    away = np.linalg.norm(log['pose:tool'][:, :3, 3] - there, axis=1) / whole
    late = log.time[(log.time > end) & (away > 0.02)]
    return float((late.max(initial=end) - end) * first), float(away[-10:].max())


def planned_residual(quick):
    """Residuals by robot, for random moves in the time of minimum jerk, and in that of ZV."""
    out: dict[str, dict[str, float] | int] = {}
    for name in POSES:
        arm, random = frs.load(name), np.random.default_rng(17)
        servo = servo_of(name, arm)
        rows: dict[str, list[float]] = {'no extra time': [], 'time of zv': []}
        refused = 0
        for _ in range(2 if quick else 6):
            start, goal, duration = _drawn(arm, random)
            extra = 0.5 / frs.frequencies(arm, goal)[0]
            motion = minimum_jerk_motion(start, goal, duration=duration)
            plain = _rings(arm, servo, motion, None, start, goal, duration)
            for key, time in (('no extra time', duration), ('time of zv', duration + extra)):
                try:
                    plan = plan_move(arm, start, goal, duration=time)
                except frs.SettingError:
                    refused += 1
                    continue
                rows[key].append(
                    _rings(arm, servo, plan.motion, plan.effort, start, goal, time) / plain
                )
        for key, values in rows.items():
            out[f'{name}, {key}'] = {
                'median': round(float(np.median(values)), 4),
                'worst': round(float(np.max(values)), 4),
            }
        out[f'{name}, refused'] = refused
    return out


def _drawn(arm, random):
    """Poses, and a duration in which minimum jerk uses 0.6 of the drive limits."""
    lower, upper = np.maximum(arm.arrays.lower, -1.2), np.minimum(arm.arrays.upper, 1.2)
    start, goal = lower + (upper - lower) * random.uniform(0.05, 0.95, (2, lower.size))
    way = np.abs(goal - start)
    inertia = np.diag(rigid_inertia(arm, goal))
    weight = np.abs(frs.equilibrium(arm, goal).effort)
    left = 0.6 * effort_limits(arm) - weight
    return (
        start,
        goal,
        float(
            max(
                np.max(1.875 * way / rate_limits(arm) / 0.8),
                np.sqrt(np.max(5.78 * way * inertia / left)),
                0.4,
            )
        ),
    )


def _rings(arm, servo, motion, efforts, start, goal, end):
    """Largest distance of the tip from its goal in the second after the end [m]."""
    simulation = frs.Simulation(arm)
    rests = [frs.equilibrium(arm, pose) for pose in (goal, start)]
    simulation.set_state(q=rests[0].q)
    there = simulation.pose('tool')[:3, 3]
    simulation.set_state(q=rests[1].q)

    def control(seen):
        place, speed, _ = motion.sample(seen.time)
        share = min(seen.time / end, 1.0)
        feed = (
            efforts(seen.time)
            if efforts and seen.time <= end
            else ((1 - share) * rests[1].effort + share * rests[0].effort)
        )
        return feed + servo[0] * (place - seen.position) + servo[1] * (speed - seen.velocity)

    log = rollout(
        simulation,
        duration=end + 1.0,
        controller=sensor_feedback(arm, control),
        record='pose:tool',
        **LOOP._asdict(),
    )
    away = np.linalg.norm(log['pose:tool'][:, :3, 3] - there, axis=1)
    return float(away[log.time > end].max(initial=0.0))


def learning(_quick):
    """Root mean square of the tip error, over that of the first trial, by stiffness."""
    arm, out = frs.load('single_link'), {}
    motion = minimum_jerk_motion(np.zeros(1), np.array([0.4]), duration=1.2, begin=0.25)
    trials = SimulatedTrials(
        arm, motion, duration=2.05, gains=servo_of('single_link', arm), **LOOP._asdict()
    )
    gain = RepeatedMove(motion, duration=2.05, count=16).model(
        lambda reference: trials.run(arm, reference), weight_step=0.01
    )
    for factor in (0.9, 1.1):
        move = RepeatedMove(motion, duration=2.05, count=16)
        move.gain = gain
        for _ in range(16):
            move.learn(trials.run(with_stiffness(arm, factor), move.reference()))
        out[f'stiffness {factor:g}'] = {
            'first [mm]': round(1e3 * move.errors[0], 3),
            'after 5': round(move.errors[5] / move.errors[0], 4),
            'after 15': round(move.errors[15] / move.errors[0], 4),
        }
    return out

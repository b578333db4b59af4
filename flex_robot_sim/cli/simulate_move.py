"""`flexsim simulate --to` with a shaper or feedback, and the same move without for comparison."""

from __future__ import annotations

import copy
import math
from argparse import ArgumentParser, Namespace
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np

from flex_robot_sim.analysis.mode_table import mode_table
from flex_robot_sim.cli.terminal import show_progress
from flex_robot_sim.control.closed_loop_move import (
    FEEDBACKS,
    ClosedLoopMove,
    ResidualVibration,
    feedback_law,
    integral_rates,
    sample_period,
)
from flex_robot_sim.control.gains import Servo
from flex_robot_sim.model.free_base import without_free_fall
from flex_robot_sim.motion.limits import (
    PEAK_ACCELERATION,
    PEAK_JERK,
    PEAK_VELOCITY,
    VELOCITY_MARGIN,
    acceleration_limits,
    deceleration_limits,
    jerk_limits,
    rate_limits,
    shortest_durations,
)
from flex_robot_sim.shaping.impulses import AUTO, CONTROLLER_SHAPERS, ShapingSettings
from flex_robot_sim.shaping.online_shaper import OnlineShaper
from flex_robot_sim.shaping.recommendation import recommend, slow_servo_diagnosis
from flex_robot_sim.shaping.shaper_design import design_shaper
from flex_robot_sim.shaping.shaper_stages import stages_of
from flex_robot_sim.simulation.rollout import ControlLoop
from flex_robot_sim.simulation.simulation import Simulation
from flex_robot_sim.util.exceptions import UsageError

SHAPER_KINDS = CONTROLLER_SHAPERS[1:]  # all but none
BY_POSE_SUFFIX = ' by pose'  # suffix of names in `flexsim shape`; here all shapers follow the pose
POSE_COUNT = 6  # along a move, at which modes are computed
MAX_EFFECTIVE_RESIDUAL = 0.5  # residual ratio below which a shaper or feedback has an effect
MAX_REFERENCE_STEPS = 200_000  # of a move that is also simulated without shaper and feedback


def add_shaping(parser: ArgumentParser) -> None:
    """Add --shaper and --feedback."""
    parser.add_argument(
        '--shaper',
        metavar='KIND',
        help='shape the move to --to so that the links do not vibrate afterwards: '
        f'{", ".join(SHAPER_KINDS)}, or {AUTO} for the recommendation of `flexsim shape`',
    )
    parser.add_argument(
        '--feedback',
        choices=FEEDBACKS,
        metavar='KIND',
        help='damp the links by feedback of flex sensors (strain, ppf), or replace the servo '
        '(lqg)',
    )
    parser.add_argument(
        '--integral',
        type=float,
        metavar='SHARE',
        help='integral action of the PD servo, as a share of the bandwidth of each joint '
        '(default: none; usual: 0.2)',
    )


def closed_loop_moves(
    arguments: Namespace, simulation: Simulation, new_simulation: Callable, hold_servo: Servo
) -> list[_MonitoredMove]:
    """
    Return the requested move and, if it is cheap, the same move without shaper and feedback.

    :param new_simulation: returns a Simulation of the arm at its start.
    :param hold_servo: Servo; its integral action applies unless --integral is given.
    """
    arm = without_free_fall(simulation.arm)  # for the design
    goal, start = np.array(arguments.to), simulation.motor_position
    _refuse_too_fast(arm, goal - start, arguments.within)
    servo = hold_servo.stiffness, hold_servo.damping
    shaper, law, integral = None, None, hold_servo.integral
    if arguments.integral is not None:
        if not 0.0 < arguments.integral <= 1.0:
            raise UsageError('--integral must be above 0 and at most 1.')
        integral = integral_rates(arm, servo, arguments.integral, arguments.time_step)
    if arguments.shaper:
        shaper = _shaper(
            arm, arguments.shaper, start, goal, servo, sample_period(arguments.time_step)
        )
    if arguments.feedback:
        with show_progress('designing the feedback'):
            law = feedback_law(arm, arguments.feedback, start, goal, servo, arguments.time_step)
    steps = max(round(arguments.seconds / arguments.time_step), 1)

    def simulated_move(shaper=None):
        move = _MonitoredMove(
            ClosedLoopMove(
                new_simulation(),
                goal,
                servo,
                arguments.within,
                copy.deepcopy(shaper),
                integral=integral,
            ),
            arm,
            goal,
            servo,
        )
        move.advance(steps)
        return move

    move = ClosedLoopMove(simulation, goal, servo, arguments.within, shaper, law, integral)
    moves = [_MonitoredMove(move, arm, goal, servo, law)]
    is_cheap = arguments.seconds <= MAX_REFERENCE_STEPS * arguments.time_step and (
        arguments.formulation == 'recursion' and arguments.scheme != 'reference'
    )
    if is_cheap and (shaper or law):
        moves.append(simulated_move())
        if arguments.shaper == AUTO and not law:
            _refuse_useless(arm, simulated_move(shaper), moves[1])
    return moves


def _refuse_useless(arm, shaped, unshaped):
    """Refuse a recommended shaper that leaves no less vibration than the unshaped move."""
    residual, before = shaped.residue.amplitude(), unshaped.residue.amplitude()
    if residual is not None and before and residual >= before:
        note = unshaped.slow_servo()
        raise UsageError(
            f'no shaper helps this move of {arm.description.name}: the recommended one leaves '
            f'{residual / before:.0%} of the vibration{note and f", as {note}"}. '
            'Leave --shaper out, or give stiffer gains, --stiffness and --damping'
        )


def _refuse_too_fast(arm, distance, within):
    """Refuse a minimum-jerk motion faster than a joint allows; 0: no such motion."""
    if not within > 0.0:
        return
    accelerations = np.minimum(acceleration_limits(arm), deceleration_limits(arm))
    for power, (peak, limits, what) in enumerate(
        (
            (PEAK_VELOCITY, rate_limits(arm), 'at {} {}/s, faster than its {}'),
            (PEAK_ACCELERATION, accelerations, 'with {} {}/s2, more than its acceleration {}'),
            (PEAK_JERK, jerk_limits(arm), 'with {} {}/s3, more than its jerk {}'),
        ),
        start=1,
    ):
        peaks = peak * np.abs(distance) / within**power
        worst = int(np.argmax(peaks / limits))
        if peaks[worst] > VELOCITY_MARGIN * limits[worst]:
            how = what.format(f'{peaks[worst]:.4g}', arm.units[worst], f'{limits[worst]:.4g}')
            raise UsageError(
                f'--within {within:g} moves "{arm.joint_names[worst]}" {how}: give --within '
                f'{_rounded_up(shortest_durations(arm, distance).max()):g} or more.'
            )


def _rounded_up(value):
    """Round a value up to three digits."""
    digit = 10.0 ** (math.floor(math.log10(value)) - 2)
    return math.ceil(value / digit) * digit


def residual(arguments: Namespace, moves: list[_MonitoredMove]) -> dict[str, Any]:
    """Return the residual vibration after each of the moves, as --json prints it."""
    sizes = [move.residue.amplitude() for move in moves] + [None] * (2 - len(moves))
    residual_ratio = sizes[0] / sizes[1] if sizes[1] and sizes[0] is not None else None
    return {
        'shaper': arguments.shaper,
        'feedback': arguments.feedback,
        'added_time': moves[0].move.arrival - arguments.within,
        'note': moves[0].warning or _no_vibration_note(residual_ratio, moves[0]),
        'residual_vibration': sizes[0],
        'residual_vibration_without': sizes[1],
        'residual_vibration_ratio': residual_ratio,
    }


def lines_of_residual(summary: Mapping[str, Any]) -> Iterator[str]:
    """Yield the residual vibration as lines of text."""
    if 'residual_vibration' not in summary:
        return
    remedy = ' and '.join(filter(None, (summary['shaper'], summary['feedback'])))
    if summary['residual_vibration'] is None:
        yield f'  {remedy}: the move ends too late to see what is left. Give more --seconds'
        return
    size = 1e3 * summary['residual_vibration']
    line = f'  residual vibration of the tip: {size:.3g} mm with {remedy}'
    if summary['residual_vibration_ratio'] is not None:
        line += (
            f', {1e3 * summary["residual_vibration_without"]:.3g} mm without: '
            f'{summary["residual_vibration_ratio"]:.1%} is left'
        )
    yield f'{line}; it takes {summary["added_time"]:.2g} s longer'
    if summary['note']:
        yield f'  note: {summary["note"]}'


def _no_vibration_note(residual_ratio, move):
    """Return a line about why no shaper or feedback has an effect, or ''."""
    note = (
        ''
        if residual_ratio is None or residual_ratio < MAX_EFFECTIVE_RESIDUAL
        else (move.slow_servo())
    )
    return note and (
        f'{note}: little vibration is left to suppress. Give stiffer gains, '
        '--stiffness and --damping'
    )


class _MonitoredMove:
    """A move and the residual vibration of its tips."""

    def __init__(self, move, arm, goal, servo, law=None):
        self._law, self._hold = law, (arm, goal, servo)
        self.move, self.residue = move, ResidualVibration(arm, goal, servo)
        self.advance = ControlLoop(
            move.simulation,
            move,
            move.timing,
            lambda simulation: self.residue.sample(simulation, move.arrival),
        ).advance

    def slow_servo(self):
        """Return a line about a servo that settles slowly at the goal, or ''."""
        return slow_servo_diagnosis(*self._hold)

    @property
    def warning(self):
        """Return a line about what limits the feedback, or ''."""
        law = self._law
        if law is None or law.design.warning:
            return '' if law is None else law.design.warning
        longest = law.saturated.max() * self.move.timing.period
        return (
            longest
            and (
                f'the feedback was at the limits of the motors for {longest:.2g} s: '
                'give the move more time, --within'
            )
            or ''
        )

    @property
    def target(self):
        """Target positions and velocities (2, joints)."""
        return self.move.target


def _shaper(arm, name, start, goal, servo, period):
    """Return the OnlineShaper of this name for the poses from start to goal."""
    poses = start + np.linspace(0.0, 1.0, POSE_COUNT)[:, None] * (goal - start)
    kind = name.removesuffix(BY_POSE_SUFFIX)
    if kind not in (AUTO, *SHAPER_KINDS):
        raise UsageError(f'--shaper {name}: is none of {", ".join(SHAPER_KINDS)}, {AUTO}.')
    if kind == AUTO:
        return _recommended(arm, start, goal, poses, servo, period)
    with show_progress('computing the shaper'):
        return design_shaper(arm, ShapingSettings(shaper=kind), servo, goal, period, poses=poses)


def _recommended(arm, start, goal, poses, servo, period):
    """Return the OnlineShaper that `flexsim shape` recommends."""
    with show_progress('comparing shapers in simulated moves'):
        recommendation = recommend(arm, move=(start, goal), gains=servo)
    recommendation.refuse_none(arm)
    choice, joints = recommendation.choice, 2 * len(arm.joint_names)
    if choice.design is None:
        return OnlineShaper(joints, period, shaper=choice.shaper)
    with show_progress('computing the shaper'):
        table = mode_table(arm, servo, poses=poses, count=recommendation.cases[0].frequencies.size)
    return OnlineShaper(joints, period, table=table, stages=stages_of(table, *choice.design))

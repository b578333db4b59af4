"""`flexsim simulate --to` with a shaper or feedback, beside the same move without."""

from __future__ import annotations

import copy
import math
from argparse import ArgumentParser, Namespace
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from flex_robot_sim.analysis.mode_table import mode_table
from flex_robot_sim.cli.terminal import patience
from flex_robot_sim.control.closed_loop_move import (
    FEEDBACKS,
    ClosedLoopMove,
    ResidualVibration,
    feedback_law,
    integral_rates,
    sample_period,
)
from flex_robot_sim.control.servo import Servo
from flex_robot_sim.motion.limits import (
    PEAK_VELOCITY,
    VELOCITY_MARGIN,
    rate_limits,
    shortest_durations,
)
from flex_robot_sim.shaping.online_shaper import OnlineShaper
from flex_robot_sim.shaping.recommendation import recommend
from flex_robot_sim.shaping.residual_vibration_diagnosis import slow_servo_diagnosis
from flex_robot_sim.shaping.shaper_design import design_shaper
from flex_robot_sim.shaping.shaper_stages import stages_of
from flex_robot_sim.shaping.shaping_settings import AUTO, CONTROLLER_SHAPERS, ShapingSettings
from flex_robot_sim.util.exceptions import UsageError

if TYPE_CHECKING:
    from flex_robot_sim.simulation.simulation import Simulation

KINDS = CONTROLLER_SHAPERS[1:]      # all but none
BY_POSE = ' by pose'        # what `flexsim shape` says behind a name: here they all do
POSES = 6                   # along a move, whose modes are looked at
HELPS = 0.5                 # of the swing, what a shaper or feedback that does something leaves
MOST_STEPS = 200_000        # of a move that is simulated once more, without


def add_shaping(parser: ArgumentParser) -> None:
    """Add --shaper and --feedback."""
    parser.add_argument('--shaper', metavar='KIND',
                        help='shape the move to --to so that the links do not ring: '
                             f'{", ".join(KINDS)}, or {AUTO} for what `flexsim shape` '
                             'recommends')
    parser.add_argument('--feedback', choices=FEEDBACKS, metavar='KIND',
                        help='damp the links by flex sensors (strain, ppf), or replace the servo '
                             '(lqg)')
    parser.add_argument('--integral', type=float, metavar='SHARE',
                        help='integral action of PD, as a share of the rate of each joint '
                             '(default: none; 0.2 is usual)')


def closed_loop_moves(arguments: Namespace, simulation: Simulation, started: Callable,
              held_by: Servo) -> list[_Watched]:
    """
    Return the move that is asked for, and, if it is cheap, the same one without.

    :param started: function that returns the arm where it starts.
    :param held_by: Servo, whose integral action is taken unless --integral says another.
    """
    arm, goal, start = simulation.arm, np.array(arguments.to), simulation.motor_position
    _refuse_too_fast(arm, goal - start, arguments.within)
    servo = held_by.stiffness, held_by.damping
    shaper, law, integral = None, None, held_by.integral
    if arguments.integral is not None:
        if not 0.0 < arguments.integral <= 1.0:
            raise UsageError('--integral must be above 0 and at most 1.')
        integral = integral_rates(arm, servo, arguments.integral, arguments.time_step)
    if arguments.shaper:
        shaper = _shaper(arm, arguments.shaper, start, goal, servo,
                         sample_period(arguments.time_step))
    if arguments.feedback:
        with patience('designing the feedback'):
            law = feedback_law(arm, arguments.feedback, start, goal, servo, arguments.time_step)
    steps = max(round(arguments.seconds / arguments.time_step), 1)

    def moved(shaper=None):
        move = _Watched(ClosedLoopMove(started(), goal, servo, arguments.within,
                                       copy.deepcopy(shaper), integral=integral),
                        arm, goal, servo)
        move.advance(steps)
        return move

    move = ClosedLoopMove(simulation, goal, servo, arguments.within, shaper, law, integral)
    moves = [_Watched(move, arm, goal, servo, law)]
    is_cheap = arguments.seconds <= MOST_STEPS * arguments.time_step and (
        arguments.formulation == 'recursion' and arguments.scheme != 'reference')
    if is_cheap and (shaper or law):
        moves.append(moved())
        if arguments.shaper == AUTO and not law:
            _refuse_useless(arm, moved(shaper), moves[1])
    return moves


def _refuse_useless(arm, shaped, plain):
    """Refuse the recommended shaper for a move after which more vibration is left than before."""
    left, before = shaped.residue.amplitude(), plain.residue.amplitude()
    if left is not None and before and left >= before:
        soft = plain.slow_servo()
        raise UsageError(
            f'no shaper helps this move of {arm.description.name}: the recommended one leaves '
            f'{left / before:.0%} of the vibration{soft and f", as {soft}"}. Leave --shaper out, '
            'or give stiffer gains, --stiffness and --damping')


def _refuse_too_fast(arm, distance, within):
    """Refuse a minimum-jerk motion that is faster than a joint; 0: without such a motion."""
    times = shortest_durations(arm, distance)
    worst = int(np.argmax(times))
    if 0.0 < within < times[worst] / VELOCITY_MARGIN:
        speed = PEAK_VELOCITY * abs(distance[worst]) / within
        raise UsageError(
            f'--within {within:g} moves "{arm.joint_names[worst]}" at {speed:.4g} '
            f'{arm.units[worst]}/s, faster than its {rate_limits(arm)[worst]:.4g}: give --within '
            f'{_rounded_up(times[worst]):g} or more.')


def _rounded_up(value):
    """Round a value up to three digits."""
    digit = 10.0**(math.floor(math.log10(value)) - 2)
    return math.ceil(value / digit) * digit


def residual(arguments: Namespace, moves: list[_Watched]) -> dict[str, Any]:
    """Return what the tool still does after each of the moves, as --json prints it."""
    sizes = [move.residue.amplitude() for move in moves] + [None] * (2 - len(moves))
    left = sizes[0] / sizes[1] if sizes[1] and sizes[0] is not None else None
    return {'shaper': arguments.shaper, 'feedback': arguments.feedback,
            'time_added': moves[0].move.arrival - arguments.within,
            'complaint': moves[0].complaint or _nothing_rings(left, moves[0]),
            'residual': sizes[0], 'residual_without': sizes[1], 'residual_left': left}


def lines_of_residual(summary: Mapping[str, Any]) -> Iterator[str]:
    """Yield the line about it for people."""
    if 'residual' not in summary:
        return
    what = ' and '.join(filter(None, (summary['shaper'], summary['feedback'])))
    if summary['residual'] is None:
        yield f'  {what}: the move ends too late to see what is left. Give more --seconds'
        return
    line = f'  tip swings after the move: {1e3 * summary["residual"]:.3g} mm with {what}'
    if summary['residual_left'] is not None:
        line += (f', {1e3 * summary["residual_without"]:.3g} mm without: '
                 f'{summary["residual_left"]:.1%} is left')
    yield f'{line}; it takes {summary["time_added"]:.2g} s longer'
    if summary['complaint']:
        yield f'  note: {summary["complaint"]}'


def _nothing_rings(left, watched):
    """Line about what keeps all shapers and feedback from doing anything, or ''."""
    soft = '' if left is None or left < HELPS else watched.slow_servo()
    return soft and (f'{soft}: little rings here that could be taken away. Give stiffer gains, '
                     '--stiffness and --damping')


class _Watched:
    """A move whose tips are watched."""

    def __init__(self, move, arm, goal, servo, law=None):
        self._law, self._held = law, (arm, goal, servo)
        self.move, self.residue = move, ResidualVibration(arm, goal, servo)

    def slow_servo(self):
        """Say how a soft servo comes to rest at the goal, or ''."""
        return slow_servo_diagnosis(*self._held)

    @property
    def complaint(self):
        """Line about what keeps the feedback from doing what it could, or ''."""
        law = self._law
        if law is None or law.design.complaint:
            return '' if law is None else law.design.complaint
        longest = law.saturated.max() * self.move.period
        return longest and (f'the feedback was at the limits of the motors for {longest:.2g} s: '
                            'give the move more time, --within') or ''

    @property
    def target(self):
        """Positions and velocities that are followed (2, joints)."""
        return self.move.target

    def advance(self, steps):
        """Take steps."""
        self.move.advance(steps, lambda simulation: self.residue.sample(
            simulation, self.move.arrival))


def _shaper(arm, name, start, goal, servo, period):
    """Return the OnlineShaper of a name for the poses from start to goal."""
    poses = start + np.linspace(0.0, 1.0, POSES)[:, None] * (goal - start)
    kind = name[:-len(BY_POSE)] if name.endswith(BY_POSE) else name
    if kind not in (AUTO, *KINDS):
        raise UsageError(f'--shaper {name}: is none of {", ".join(KINDS)}, {AUTO}.')
    if kind == AUTO:
        return _recommended(arm, start, goal, poses, servo, period)
    with patience('computing the shaper'):
        return design_shaper(arm, ShapingSettings(shaper=kind), servo, goal, period, poses=poses)


def _recommended(arm, start, goal, poses, servo, period):
    """Return the OnlineShaper that the rule of `flexsim shape` takes."""
    with patience('trying shapers, on linear models and in moves'):
        found = recommend(arm, [start, goal], gains=servo)
    found.refuse_none(arm)
    choice, joints = found.choice, 2 * len(arm.joint_names)
    if not choice.follows:
        return OnlineShaper(joints, period, choice.shaper)
    with patience('computing the shaper'):
        table = mode_table(arm, servo, poses=poses, count=found.cases[0].frequencies.size)
    return OnlineShaper(joints, period, table=table, stages=stages_of(table, *choice.design))

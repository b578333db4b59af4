"""Run the checks and say what came of them."""

from typing import NamedTuple

from flex_robot_sim.exceptions import FlexRobotSimError
from flex_robot_sim.rig.conformance import (
    bench_checks,
    safety_checks,
    step_checks,
    stop_checks,
    wire_checks,
)
from flex_robot_sim.rig.conformance.checks import CHECKS
from flex_robot_sim.rig.conformance.host import Failed, Host
from flex_robot_sim.rig.protocol import Clear, Disarm, Stream
from flex_robot_sim.rig.vocabulary import State

# importing them registers the checks
assert bench_checks and safety_checks and step_checks and stop_checks and wire_checks

BRAKE = 500                 # for which the motors hold before they are switched off         [ms]
REST = 300                  # for which nothing moves, before the motors are switched on     [ms]
MOST_READINGS = 1000        # at 100 Hz, after which a check has to take it as it is


class Outcome(NamedTuple):
    """What came of a check."""

    name: str
    result: str             # 'passed', 'failed' or 'skipped'
    detail: str = ''


def reason_to_skip(check, back_end):
    """Why a check cannot be made here, or ''."""
    if check.bench and back_end.bench is None:
        return f'needs {check.bench}, when told to'
    if check.reboot and not back_end.can_reboot:
        return 'needs a board that is reset when told to'
    if check.moves and not back_end.moves:
        return 'moves the motors: give --move'
    return ''


def run_check(check, back_end, metrics=None):
    """Make one check with a fresh session, and return its Outcome."""
    reason = reason_to_skip(check, back_end)
    if reason:
        return Outcome(check.name, 'skipped', reason)
    back_end.reset()
    # a board that was not reset knows the nonces of the checks before
    host = Host(back_end, seed=None if back_end.bench is None else 0)
    host.metrics = {} if metrics is None else metrics
    try:
        host.hello()
        if back_end.bench is None:
            host.command(Disarm())
            host.command(Clear())
            if check.moves:
                wait_for_rest(host)
        check.run(host)
    except Failed as error:
        return Outcome(check.name, 'failed', str(error))
    except FlexRobotSimError as error:      # the port has gone, for instance
        return Outcome(check.name, 'failed', f'{type(error).__name__}: {error}')
    finally:
        leave_quiet(host)
    return Outcome(check.name, 'passed')


def wait_for_rest(host):
    """Let an arm swing out that a check has left in motion: a stepper would lose steps on it."""
    host.stream(100)
    still, before = 0, None
    while still < REST and len(host.telemetry) < MOST_READINGS:
        host.wait(50)
        place = host.now.slide_counts, host.now.turn_counts
        is_still = before is not None and max(abs(a - b) for a, b in zip(place, before)) <= 1
        still = still + 50 if is_still else 0
        before = place
    host.accepted(Stream(0))
    host.telemetry.clear()


def leave_quiet(host):
    """Switch the motors off, whatever the check has left."""
    try:
        if not host.back_end.in_lockstep and host.telemetry and host.now.state == State.ARMED:
            host.drive(BRAKE)       # an arm that is let go in motion coasts to its end
        host.command(Disarm())
    except (Failed, FlexRobotSimError):
        return


def run_all(back_end, only='', on_outcome=None):
    """Make all checks whose name holds `only`; return (outcomes, metrics)."""
    outcomes, metrics = [], {}
    for check in CHECKS:
        if only in check.name:
            outcomes.append(run_check(check, back_end, metrics))
            if on_outcome is not None:
                on_outcome(outcomes[-1])
    if getattr(back_end, 'steps', 0):
        metrics['steps_per_second'] = back_end.steps / back_end.seconds
    return outcomes, metrics

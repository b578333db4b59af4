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

REST = 300                  # in which nothing moves any more                                [ms]
PATIENCE = 10_000           # after which a check has to take the bench as it is             [ms]
FAINT = 100                 # of the sums of the converter: the link rings by 0.2 % of a range


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
    for _ in range(0, PATIENCE, REST):
        host.telemetry.clear()
        host.wait(REST)
        if spread(host, 'slide_counts') <= 1 and spread(host, 'turn_counts') <= 1:
            break
    host.accepted(Stream(0))
    host.telemetry.clear()


def hold_until_still(host):
    """Let the link ring out while the stepper holds it: it would fling an arm that is let go."""
    for _ in range(0, PATIENCE, REST):
        host.telemetry.clear()
        host.drive(REST)
        if spread(host, 'slide_counts') <= 1 and spread(host, 'adc_root') <= FAINT:
            break


def spread(host, field):
    """Largest less smallest value of a field of the telemetry that has come."""
    values = [getattr(telemetry, field) for telemetry in host.telemetry] or [0]
    return max(values) - min(values)


def leave_quiet(host):
    """Switch the motors off, whatever the check has left."""
    try:
        if not host.back_end.in_lockstep and host.telemetry and host.now.state == State.ARMED:
            hold_until_still(host)
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

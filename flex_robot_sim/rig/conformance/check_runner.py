"""Runner of the conformance checks, with their outcomes."""

from collections.abc import Callable
from typing import NamedTuple

from flex_robot_sim.rig.conformance import (
    bench_checks,
    safety_checks,
    step_checks,
    stop_checks,
    wire_checks,
)
from flex_robot_sim.rig.conformance.back_ends import AnyBackEnd
from flex_robot_sim.rig.conformance.check_registry import CHECKS, Check
from flex_robot_sim.rig.conformance.host import CheckFailure, Host, Metrics
from flex_robot_sim.rig.wire.protocol import Clear, Disarm, Stream
from flex_robot_sim.rig.wire.vocabulary import State
from flex_robot_sim.util.exceptions import FlexRobotSimError

# importing them registers the checks
assert bench_checks and safety_checks and step_checks and stop_checks and wire_checks

REST_INTERVAL = 300  # without motion, for the bench to count as at rest              [ms]
REST_TIMEOUT = 10_000  # after which a check starts even if the bench moves             [ms]
ATTEMPTS = 3  # attempts of a check, if delays of this computer spoil it
MAX_HOST_DELAY = 0.02  # longer delays may spoil a check with 10 ms between set points   [s]
MAX_REST_ADC_SPREAD = 100  # ADC sums; vibration of the link by 0.2 % of the range


class CheckOutcome(NamedTuple):
    """Outcome of a check."""

    name: str
    result: str  # 'passed', 'failed' or 'skipped'
    detail: str = ''
    spoilt: tuple = ()  # failures of attempts that do not count, with the reason


def reason_to_skip(check: Check, back_end: AnyBackEnd) -> str:
    """Return why a check cannot run on this back end, or ''."""
    if check.bench and back_end.bench is None:
        return f'needs {check.bench}, on command'
    if check.reboot and not back_end.can_reboot:
        return 'needs a board that is reset on command'
    if check.moves and not back_end.moves:
        return 'moves the motors: give --move'
    return ''


def run_check(check: Check, back_end: AnyBackEnd, metrics: Metrics | None = None) -> CheckOutcome:
    """
    Run one check, and return its Outcome.

    A failure while this computer is delayed proves nothing about the board. The check is repeated,
    up to ATTEMPTS times, and `spoilt` records the failure. Any other failure counts.
    """
    reason = reason_to_skip(check, back_end)
    if reason:
        return CheckOutcome(check.name, 'skipped', reason)
    spoilt: list[str] = []
    while len(spoilt) < ATTEMPTS:
        outcome = _attempt(check, back_end, metrics)._replace(spoilt=tuple(spoilt))
        host_delay = 0.0 if back_end.in_lockstep else back_end.held_up
        if outcome.result == 'passed' or host_delay < MAX_HOST_DELAY:
            return outcome
        spoilt.append(
            f'{outcome.detail} (this computer was held up for {1e3 * host_delay:.0f} ms)'
        )
    return outcome._replace(spoilt=tuple(spoilt))


def _attempt(check, back_end, metrics):
    """Run a check once, in a new session."""
    back_end.reset()
    # a board without reset still has the nonces of earlier checks
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
    except CheckFailure as error:
        return CheckOutcome(check.name, 'failed', str(error))
    except FlexRobotSimError as error:  # for example a lost port
        return CheckOutcome(check.name, 'failed', f'{type(error).__name__}: {error}')
    finally:
        leave_quiet(host)
    return CheckOutcome(check.name, 'passed')


def wait_for_rest(host: Host) -> None:
    """Wait until the arm is at rest after a check: on a swinging arm the stepper loses steps."""
    host.stream(100)
    for _ in range(0, REST_TIMEOUT, REST_INTERVAL):
        host.telemetry.clear()
        host.wait(REST_INTERVAL)
        if spread(host, 'slide_counts') <= 1 and spread(host, 'turn_counts') <= 1:
            break
    host.accepted(Stream(0))
    host.telemetry.clear()


def hold_until_still(host: Host) -> None:
    """Hold the arm until the link has stopped vibrating, because it would move a released arm."""
    for _ in range(0, REST_TIMEOUT, REST_INTERVAL):
        host.telemetry.clear()
        host.drive(REST_INTERVAL)
        if spread(host, 'slide_counts') <= 1 and spread(host, 'adc_root') <= MAX_REST_ADC_SPREAD:
            break


def spread(host: Host, field: str) -> float:
    """Return the range of a field in the received telemetry."""
    values = [getattr(telemetry, field) for telemetry in host.telemetry] or [0]
    return max(values) - min(values)


def leave_quiet(host: Host) -> None:
    """Switch the motors off after a check."""
    try:
        if not host.back_end.in_lockstep and host.telemetry and host.now.state == State.ARMED:
            hold_until_still(host)
        host.command(Disarm())
    except (CheckFailure, FlexRobotSimError):
        return


def run_all(
    back_end: AnyBackEnd,
    only: str = '',
    on_outcome: Callable[[CheckOutcome], object] | None = None,
) -> tuple[list[CheckOutcome], Metrics]:
    """Run all checks whose name contains `only`; return (outcomes, metrics)."""
    outcomes: list[CheckOutcome] = []
    metrics: Metrics = {}
    for check in CHECKS:
        if only in check.name:
            outcomes.append(run_check(check, back_end, metrics))
            if on_outcome is not None:
                on_outcome(outcomes[-1])
    if getattr(back_end, 'steps', 0):
        metrics['steps_per_second'] = back_end.steps / back_end.seconds
    return outcomes, metrics

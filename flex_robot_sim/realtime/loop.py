"""
A simulation that runs beside everything else, in a thread of its own.

Only this thread touches the Simulation. Others ask it by `call`, hand over efforts by `command`,
and read `events`. Everything that happens at one moment happens in `turn`, which needs no thread
and no real clock, so that tests are exact.
"""

from __future__ import annotations

import gc
import queue
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from concurrent.futures import TimeoutError as FutureTimeout
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from flex_robot_sim.realtime.answered_steps import AnsweredSteps
from flex_robot_sim.realtime.bell import Bell
from flex_robot_sim.realtime.commands import CommandInbox
from flex_robot_sim.realtime.pacing import Pacer
from flex_robot_sim.realtime.priority import use_realtime_priority
from flex_robot_sim.realtime.settings import payload_of
from flex_robot_sim.realtime.timing import RoundTrip, Samples
from flex_robot_sim.util.exceptions import SettingError, SimulationError

if TYPE_CHECKING:
    from flex_robot_sim.realtime.settings import LoopSettings, PayloadSettings
    from flex_robot_sim.simulation.simulation import Simulation

IDLE = 0.05             # longest wait, and how often a state that stands still is sent again [s]
MISSED = 5e-3           # lateness that counts as a missed deadline [s]
SILENCE = 10.0          # between two lines about dropped time [s]
POLL_PERIOD = 2e-4      # of messages, by a caller that waits [s]
RAREST = 1e12           # periods from one output to the next, at most

RUNNING, PAUSED, FAILED = 'running', 'paused', 'failed'


AnyAnswer = TypeVar('AnyAnswer')


class Output:
    """Something to be told the state now and then."""

    def __init__(self, function: Callable[[Simulation, np.ndarray], object], rate: float,
                 loop: SimulationLoop, is_answered: bool = False) -> None:
        """
        Let `loop` call function(simulation, effort) at a rate [1/s of simulated time].

        The effort is what the motors gave in the last step, within all limits.

        :param is_answered: whether commands answer it, so that lockstep needs it every period.
        """
        self.function, self._loop, self.is_answered = function, loop, is_answered
        self._is_forced = is_answered and loop.is_lockstep
        self.set_rate(rate)

    def set_rate(self, rate: float) -> None:
        """Change the rate; zero is never."""
        loop = self._loop
        periods = 0.0 if rate == 0 else 1.0 if self._is_forced else 1.0 / max(
            rate * loop.period, 1.0 / RAREST)
        self.every = 0 if periods == 0.0 else max(1, round(periods))


class SimulationLoop:
    """Periods of a simulation, paced by a clock or by commands."""

    def __init__(self, simulation: Simulation, settings: LoopSettings, limits: np.ndarray,
                 clock: Callable[[], float] = time.monotonic) -> None:
        """
        Prepare; nothing runs before `start`, or `turn` in a loop of one's own.

        :param settings: LoopSettings.
        :param limits: largest effort of each motor (joints,) [N m, N].
        """
        step = simulation.settings.time_step
        self.period = settings.period
        self._steps = round(settings.period / step)
        if self._steps < 1 or abs(self._steps * step - settings.period) > 1e-6 * settings.period:
            raise SettingError(f'period = {settings.period:g} s must be a whole number of '
                               f'time_step = {step:g} s')
        self.simulation, self.settings = simulation, settings
        self.is_lockstep = settings.pacing == 'lockstep'
        self._is_paced = settings.pacing == 'real_time'
        self.commands = CommandInbox(simulation.arm.joint_names, limits,
                                     settings.command_timeout)
        self.pacer = Pacer(self.period, settings.real_time_factor, settings.max_lag)
        # efforts in place of commands
        self.controller: Callable[[Simulation], np.ndarray] | None = None
        self.outputs: list[Output] = []
        # (level, line): 'info', 'warning', 'error'
        self.events: queue.SimpleQueue[tuple[str, str]] = queue.SimpleQueue()
        self._waits = settings.wait_for_command and not self.is_lockstep
        self.state, self.periods = PAUSED if self._waits else RUNNING, 0
        self.resets = 0                 # how often the arm was put back
        self.step_times, self.lateness, self.echo = Samples(), Samples(), RoundTrip()
        self.deadline_misses = self.overruns = 0
        self._clock = clock
        self._began: float | None = None
        self._carried_out = 0.0
        self._requests: queue.SimpleQueue[tuple[Callable[[], Any], Future]] = queue.SimpleQueue()
        self._bell = Bell()
        self._answered_steps = AnsweredSteps(self._bell, self.events)
        self._pending, self._sent_at = 0, -float('inf')
        self._handled_stamp: int | None = None
        self._was_stale, self._told_dropped, self._dropped_at = False, 0.0, -float('inf')
        self._thread: threading.Thread | None = None
        self._stopping = False
        self.crash: BaseException | None = None     # what ended the thread, if something did
        self._payload_link = ''
        self._go_home()
        self._pass_on_reports()
        self.pacer.restart(clock())

    @property
    def steps(self) -> int:
        """How many steps of the simulation have been taken."""
        return self.periods * self._steps

    @property
    def wall_time(self) -> float:
        """From the first period to the end of the last one, without pauses [s]."""
        return 0.0 if self._began is None else self._carried_out - self._began

    def add_output(self, rate: float, function: Callable[[Simulation, np.ndarray], object],
                   is_answered: bool = False) -> Output:
        """Return the Output that calls function(simulation, mean_effort) at a rate [Hz]."""
        self.outputs.append(Output(function, rate, self, is_answered))
        return self.outputs[-1]

    # what other threads may call

    def command(self, names: Sequence[str], efforts: Sequence[float],
                stamp: int | None = None) -> None:
        """
        Take efforts by joint name [N m, N]; CommandError if they are refused.

        :param stamp: that of the state which they answer, if they answer one. In lockstep each
            command is one period, but for one that answers a state that has been answered.
        """
        now = self._clock()
        self.commands.offer(names, efforts, now)
        if stamp is not None:
            self.echo.answered(stamp, now)
        self._answered_steps.note_command(stamp)
        if self._waits:
            self._bell.ring()
        if self.is_lockstep:
            if stamp is not None:
                if self._handled_stamp is not None and stamp <= self._handled_stamp:
                    return
                self._handled_stamp = stamp
            self._pending += 1
            self._bell.ring()

    def note_sent(self, stamp: int) -> None:
        """Note that the state with this stamp goes out, so that answers to it are timed."""
        self._answered_steps.note_sent(stamp)
        self.echo.sent(stamp, self._clock())

    def call(self, function: Callable[[], AnyAnswer], timeout: float = 2.0,
             poll: Callable[[], object] | None = None) -> AnyAnswer:
        """
        Return what function() returns when the thread of the loop carries it out.

        SimulationError if it has not begun with that within `timeout` [s]; it never will then.

        :param poll: called while waiting, by a caller that keeps an executor from its messages.
        """
        if self._thread is None:
            return function()
        future: Future[AnyAnswer] = Future()
        self._requests.put((function, future))
        self._bell.ring()
        end = time.monotonic() + timeout
        while poll is not None and not future.done() and (
                future.running() or time.monotonic() < end):
            poll()
            time.sleep(POLL_PERIOD)
        try:
            return future.result(max(end - time.monotonic(), 0.0))
        except FutureTimeout:
            if not future.cancel():         # it has begun: what comes of it is the answer
                return future.result()
        raise SimulationError(f'the simulation was busy for {timeout:g} s, so this was not done. '
                              'Ask again')

    def pause(self) -> None:
        """Stand still until `resume` or `step`."""
        self._expect_a_good_state()
        self.state, self._waits = PAUSED, False

    def resume(self) -> None:
        """Go on, from now: nothing is made up for."""
        self._expect_a_good_state()
        self._waits = False
        self._go_on()

    def step(self) -> None:
        """Carry out one period while paused, and wait for the command that answers it, if any."""
        self._expect_a_good_state()
        if self.state == RUNNING and not self.is_lockstep:
            raise SimulationError('it runs: pause it before asking for single steps')
        is_outside = self._thread is not None and self.controller is None
        self._answered_steps.begin(
            is_outside and self.commands.accepted > 0 and not self.is_lockstep)
        self._carry_out()
        self._answered_steps.finish()

    def reset(self) -> None:
        """Put the arm back to where it started, without efforts; time goes on, paused or not."""
        self._go_home()
        self.simulation.reports.clear()     # as at the start
        self.resets += 1
        self.commands.forget()
        self._pending = 0
        if self.state == FAILED:
            self._go_on()
        self._publish(everything=True)

    def change(self, settings: LoopSettings) -> None:
        """Take over LoopSettings whose live ones have changed."""
        self.settings = settings
        if settings.real_time_factor != self.pacer.factor:
            self.pacer.set_factor(settings.real_time_factor, self._clock())
        self.pacer.max_lag, self.commands.timeout = settings.max_lag, settings.command_timeout

    def set_payload(self, settings: PayloadSettings) -> None:
        """Take over PayloadSettings; SettingError leaves the payload as it was."""
        payload, link = payload_of(settings), settings.payload_link
        if payload is not None:
            self.simulation.set_payload(*payload)
        if self._payload_link not in ('', link):
            self.simulation.set_payload(self._payload_link, 0.0)
        self._payload_link = link

    def warm_up(self) -> None:
        """Load or compile all machine code, so that the first period is not longer than others."""
        twin = type(self.simulation)(self.simulation.arm, self.simulation.settings)
        twin.step()
        twin.energy()

    def start(self) -> None:
        """Run in a thread until `stop`."""
        self._publish(everything=True)      # the first message of a kind takes long
        gc.collect()
        gc.freeze()     # a collection that walks all imported modules takes tens of milliseconds
        self._thread = threading.Thread(target=self._run, name='simulation', daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Stop the thread and wait for it."""
        self._stopping = True
        self._bell.ring()
        if self._thread is not None:
            self._thread.join(2.0)

    # what happens in the thread

    def _run(self):
        try:
            self._run_until_stopped()
        except BaseException as error:      # passed on to the one who looks after the thread
            self.crash = error

    def _run_until_stopped(self):
        complaint = use_realtime_priority(self._is_paced * self.settings.realtime_priority)
        if complaint:
            self.events.put(('info', complaint))
        self.pacer.restart(self._clock())
        while not self._stopping:
            wait = self.turn()
            if wait > 0.0:
                self._bell.wait(wait)

    def turn(self) -> float:
        """Do what is due now; return for how long nothing more is [s]."""
        self._serve_requests()
        if self._waits and (self.commands.accepted or self.controller is not None):
            self.resume()
        if self.state == PAUSED:
            self._publish_when_idle()
        if self.state != RUNNING:
            return IDLE
        if self.is_lockstep:
            return self._turn_in_lockstep()
        if self._is_paced:
            late = self.pacer.lateness(self._clock())
            if late < 0.0:
                return min(-late, IDLE)
            self.lateness.add(late)
            self._note_dropped_time()
            self.deadline_misses += late > MISSED
        self._carry_out()
        self.pacer.count()
        if self._is_paced:
            wait = self.pacer.deadline - self._clock()
            self.overruns += wait < 0.0
            return min(wait, IDLE)
        return 0.0

    def _turn_in_lockstep(self):
        if self._pending > 0:
            self._pending -= 1
            self._carry_out()
        else:
            self._publish_when_idle()
        return 0.0 if self._pending > 0 else IDLE

    def _carry_out(self):
        """One period: efforts in, steps, outputs."""
        simulation, start = self.simulation, self._clock()
        if self.controller is not None:
            effort = self.controller(simulation)
        else:
            effort = np.array(self.commands.efforts(
                -float('inf') if self.is_lockstep or self._answered_steps.is_active else start))
            if self.commands.is_stale != self._was_stale:
                self._note_silence()
        simulation.effort = effort
        try:
            simulation.step(self._steps)
        except SimulationError as error:
            self.state = FAILED
            self.events.put(('error', f'{error}. Call the reset service to go on'))
            return
        self.periods += 1
        self._carried_out = self._clock()
        if self._began is None:
            self._began = start
        self.step_times.add(self._carried_out - start)
        self._pass_on_reports()
        self._publish()

    def _pass_on_reports(self):
        for line in self.simulation.reports:
            self.events.put(('warning', line))
        self.simulation.reports.clear()

    def _publish(self, everything=False):
        for output in self.outputs:
            if output.every and (everything or self.periods % output.every == 0
                                 or self._answered_steps.is_active and output.is_answered):
                output.function(self.simulation, self.simulation.mean_effort)
        self._sent_at = self._clock()

    def _publish_when_idle(self):
        """Send the state again now and then: nobody may have been there to see it."""
        if self._clock() - self._sent_at >= 0.9 * IDLE:     # it is asked every IDLE, or so
            self._publish(everything=True)

    def _serve_requests(self):
        while not self._requests.empty():
            function, future = self._requests.get()
            if not future.set_running_or_notify_cancel():
                continue
            try:
                future.set_result(function())
            except Exception as error:      # it belongs to the one who asked
                future.set_exception(error)

    def _note_silence(self):
        self._was_stale = self.commands.is_stale
        self.events.put(
            ('warning', f'no command for {self.commands.timeout:g} s: efforts are zero')
            if self._was_stale else ('info', 'commands arrive again'))

    def _note_dropped_time(self):
        lost = self.pacer.dropped - self._told_dropped
        now = self._clock()
        if lost > 0.0 and now - self._dropped_at > SILENCE:
            self._told_dropped, self._dropped_at = self.pacer.dropped, now
            self.events.put(('warning', f'too slow for real time: {lost:.3g} s were dropped'))

    def _go_home(self):
        self.simulation.reset()
        home = self.settings.initial_position
        if home:
            self.simulation.set_state(position=home)

    def _go_on(self):
        """Run, from now."""
        now = self._clock()
        if self.state != RUNNING and self._began is not None:
            self._began += now - self._carried_out
        self.state = RUNNING
        self.pacer.restart(now)

    def _expect_a_good_state(self):
        if self.state == FAILED:
            raise SimulationError('the state was lost: call reset')

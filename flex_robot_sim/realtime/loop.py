"""
A loop that steps a Simulation in its own thread, paced by a clock or by commands.

Only this thread accesses the Simulation. Other threads submit functions with `call` and efforts
with `command`, and read `events`. `turn` does all the work of one iteration; it needs no thread
and no real clock, so tests of it are exact.
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

from flex_robot_sim.model.arguments import checked
from flex_robot_sim.realtime.answered_steps import AnsweredSteps
from flex_robot_sim.realtime.command_inbox import CommandInbox
from flex_robot_sim.realtime.loop_output import Output
from flex_robot_sim.realtime.loop_settings import LoopSettings, PayloadSettings, payload_of
from flex_robot_sim.realtime.pacing import Pacer
from flex_robot_sim.realtime.priority import use_realtime_priority
from flex_robot_sim.realtime.timing import RoundTrip, Samples
from flex_robot_sim.util.exceptions import SettingError, SimulationError

if TYPE_CHECKING:
    from flex_robot_sim.simulation.encoders import Encoders
    from flex_robot_sim.simulation.simulation import Simulation

IDLE_PERIOD_S = 0.05  # longest wait, and period at which a paused loop repeats its state
MISSED_DEADLINE_S = 5e-3  # lateness that counts as a missed deadline
LOG_PERIOD_S = 10.0  # between two lines about dropped time
POLL_PERIOD_S = 2e-4  # at which a waiting caller polls its messages

RUNNING, PAUSED, FAILED = 'running', 'paused', 'failed'


AnyAnswer = TypeVar('AnyAnswer')


class SimulationLoop:
    """Periods of a simulation, paced by a clock or by commands."""

    def __init__(
        self,
        simulation: Simulation,
        settings: LoopSettings,
        limits: np.ndarray,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Prepare for `start` or `turn`; motors have `limits` (joints,) [N m, N]."""
        step = simulation.settings.time_step
        self.period = settings.period
        self._steps = round(settings.period / step)
        if self._steps < 1 or abs(self._steps * step - settings.period) > 1e-6 * settings.period:
            raise SettingError(
                f'period = {settings.period:g} s must be a whole number of time_step = {step:g} s'
            )
        self.simulation, self.settings = simulation, settings
        self.is_lockstep = settings.pacing == 'lockstep'
        self._is_paced = settings.pacing == 'real_time'
        self.commands = CommandInbox(simulation.arm.joint_names, limits, settings.command_timeout)
        self.pacer = Pacer(self.period, settings.real_time_factor, settings.max_lag)
        # efforts in place of commands
        self.controller: Callable[[Simulation], np.ndarray] | None = None
        self.encoders: Encoders | None = None  # that measure the joints; None: exact positions
        self.outputs: list[Output] = []
        # (level, line): 'info', 'warning', 'error'
        self.events: queue.SimpleQueue[tuple[str, str]] = queue.SimpleQueue()
        self._waits = settings.wait_for_command and not self.is_lockstep
        self.state, self.periods = PAUSED if self._waits else RUNNING, 0
        self.resets = 0  # number of calls of `reset`
        self.step_times, self.lateness, self.round_trip = Samples(), Samples(), RoundTrip()
        self.deadline_misses = self.overruns = 0
        self._clock = clock
        self._began: float | None = None
        self._period_end = 0.0
        self._requests: queue.SimpleQueue[tuple[Callable[[], Any], Future]] = queue.SimpleQueue()
        self._wake_up = threading.Event()
        self._answered_steps = AnsweredSteps(self._wake_up, self.events)
        self._pending, self._sent_at = 0, -float('inf')
        self._handled_stamp: int | None = None
        self._was_stale, self._reported_dropped, self._dropped_at = False, 0.0, -float('inf')
        self._thread: threading.Thread | None = None
        self._stopping = False
        self.crash: BaseException | None = None  # exception that ended the thread
        self._payload_link = ''
        self._set_initial_state()
        self._pass_on_reports()
        self.pacer.restart(clock())

    @property
    def steps(self) -> int:
        """Number of steps of the simulation so far."""
        return self.periods * self._steps

    @property
    def wall_time(self) -> float:
        """From the first period to the end of the last one, without pauses [s]."""
        return 0.0 if self._began is None else self._period_end - self._began

    def add_output(
        self,
        rate: float,
        function: Callable[[Simulation, np.ndarray], object],
        is_answered: bool = False,
    ) -> Output:
        """Return the Output that calls function(simulation, mean_effort) at a rate [Hz]."""
        self.outputs.append(Output(function, rate, self.period, is_answered, self.is_lockstep))
        return self.outputs[-1]

    # for other threads

    def command(
        self, names: Sequence[str], efforts: Sequence[float], stamp: int | None = None
    ) -> None:
        """
        Take efforts by joint name [N m, N]; CommandError if they are refused.

        :param stamp: of the state that the command answers, if any. In lockstep each command runs
            one period, except a second command for the same state.
        """
        now = self._clock()
        self.commands.offer(names, efforts, now)
        if stamp is not None:
            self.round_trip.answered(stamp, now)
        self._answered_steps.note_command(stamp)
        if self._waits:
            self._wake_up.set()
        if self.is_lockstep:
            if stamp is not None:
                if self._handled_stamp is not None and stamp <= self._handled_stamp:
                    return
                self._handled_stamp = stamp
            self._pending += 1
            self._wake_up.set()

    def note_sent(self, stamp: int) -> None:
        """Note that the state with this stamp is published, to time the answer."""
        self._answered_steps.note_sent(stamp)
        self.round_trip.sent(stamp, self._clock())

    def call(
        self,
        function: Callable[[], AnyAnswer],
        timeout: float = 2.0,
        poll: Callable[[], object] | None = None,
    ) -> AnyAnswer:
        """
        Return the result of function(), called in the thread of the loop.

        SimulationError if the call has not begun within `timeout` [s]; it is then cancelled.

        :param poll: called while waiting, by a caller that keeps an executor from its messages.
        """
        if self._thread is None:
            return function()
        future: Future[AnyAnswer] = Future()
        self._requests.put((function, future))
        self._wake_up.set()
        end = time.monotonic() + timeout
        while (
            poll is not None and not future.done() and (future.running() or time.monotonic() < end)
        ):
            poll()
            time.sleep(POLL_PERIOD_S)
        try:
            return future.result(max(end - time.monotonic(), 0.0))
        except FutureTimeout:
            if not future.cancel():  # the call has begun: wait for its result
                return future.result()
        raise SimulationError(
            f'the simulation was busy for {timeout:g} s, so this was not done. Ask again'
        )

    def pause(self) -> None:
        """Pause until `resume` or `step`."""
        self._refuse_failed_state()
        self.state, self._waits = PAUSED, False

    def resume(self) -> None:
        """Continue from now, without catching up."""
        self._refuse_failed_state()
        self._waits = False
        self._run_from_now()

    def step(self) -> None:
        """Run one period while paused, and wait for the command that answers it, if any."""
        self._refuse_failed_state()
        if self.state == RUNNING and not self.is_lockstep:
            raise SimulationError('it runs: pause it before asking for single steps')
        is_outside = self._thread is not None and self.controller is None
        self._answered_steps.begin(
            is_outside and self.commands.accepted > 0 and not self.is_lockstep
        )
        self._carry_out()
        self._answered_steps.finish()

    def reset(self) -> None:
        """Return the arm to its initial state, without efforts; a paused loop stays paused."""
        self._set_initial_state()
        self.simulation.reports.clear()  # as at the start
        self.resets += 1
        self.commands.forget()
        if self.encoders is not None:
            self.encoders.forget()
        self._pending = 0
        if self.state == FAILED:
            self._run_from_now()
        self._publish(everything=True)

    def change(self, settings: LoopSettings) -> None:
        """Apply LoopSettings whose live fields have changed."""
        self.settings = settings
        if settings.real_time_factor != self.pacer.factor:
            self.pacer.set_factor(settings.real_time_factor, self._clock())
        self.pacer.max_lag, self.commands.timeout = settings.max_lag, settings.command_timeout

    def set_payload(self, settings: PayloadSettings) -> None:
        """Apply PayloadSettings; on SettingError the payload does not change."""
        payload, link = payload_of(settings), settings.payload_link
        if payload is not None:
            self.simulation.set_payload(*payload)
        if self._payload_link not in ('', link):
            self.simulation.set_payload(self._payload_link, 0.0)
        self._payload_link = link

    def warm_up(self) -> None:
        """Load or compile all machine code, so that the first period takes no longer."""
        twin = type(self.simulation)(self.simulation.arm, self.simulation.settings)
        twin.step()
        twin.energy()

    def start(self) -> None:
        """Run in a thread until `stop`."""
        self._publish(everything=True)  # the first message of each type is slow
        gc.collect()
        gc.freeze()  # a collection that walks all imported modules takes tens of milliseconds
        self._thread = threading.Thread(target=self._run, name='simulation', daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Stop the thread and wait for it."""
        self._stopping = True
        self._wake_up.set()
        if self._thread is not None:
            self._thread.join(2.0)

    # in the thread of the loop

    def _run(self):
        try:
            self._run_until_stopped()
        except BaseException as error:  # the owner of the loop reads it
            self.crash = error

    def _run_until_stopped(self):
        warning = use_realtime_priority(self._is_paced * self.settings.realtime_priority)
        if warning:
            self.events.put(('info', warning))
        self.pacer.restart(self._clock())
        while not self._stopping:
            wait = self.turn()
            if wait > 0.0:
                self._wake_up.wait(wait)
                self._wake_up.clear()  # before the next turn checks what is due

    def turn(self) -> float:
        """Run all due actions; return the time until the next one is due [s]."""
        self._serve_requests()
        if self._waits and (self.commands.accepted or self.controller is not None):
            self.resume()
        if self.state == PAUSED:
            self._publish_when_idle()
        if self.state != RUNNING:
            return IDLE_PERIOD_S
        if self.is_lockstep:
            return self._turn_in_lockstep()
        if self._is_paced:
            late = self.pacer.lateness(self._clock())
            if late < 0.0:
                return min(-late, IDLE_PERIOD_S)
            self.lateness.add(late)
            self._note_dropped_time()
            self.deadline_misses += late > MISSED_DEADLINE_S
        self._carry_out()
        self.pacer.count()
        if self._is_paced:
            wait = self.pacer.deadline - self._clock()
            self.overruns += wait < 0.0
            return min(wait, IDLE_PERIOD_S)
        return 0.0

    def _turn_in_lockstep(self):
        if self._pending > 0:
            self._pending -= 1
            self._carry_out()
        else:
            self._publish_when_idle()
        return 0.0 if self._pending > 0 else IDLE_PERIOD_S

    def _carry_out(self):
        """Run one period: efforts, steps, outputs."""
        simulation, start = self.simulation, self._clock()
        if self.controller is not None:
            effort = self.controller(simulation)
        else:
            effort = np.array(
                self.commands.efforts(
                    -float('inf') if self.is_lockstep or self._answered_steps.is_active else start
                )
            )
            if self.commands.is_stale != self._was_stale:
                self._note_silence()
        simulation.effort = effort
        try:
            simulation.step(self._steps)
        except SimulationError as error:
            self.state = FAILED
            self.events.put(('error', f'{error}. Call the reset service to continue'))
            return
        self.periods += 1
        self._period_end = self._clock()
        if self._began is None:
            self._began = start
        self.step_times.add(self._period_end - start)
        self._pass_on_reports()
        self._publish()

    def _pass_on_reports(self):
        for line in self.simulation.reports:
            self.events.put(('warning', line))
        self.simulation.reports.clear()

    def _publish(self, everything=False):
        for output in self.outputs:
            if output.every and (
                everything
                or self.periods % output.every == 0
                or self._answered_steps.is_active
                and output.is_answered
            ):
                output.function(self.simulation, self.simulation.mean_effort)
        self._sent_at = self._clock()

    def _publish_when_idle(self):
        """Repeat the state for new subscribers."""
        if self._clock() - self._sent_at >= 0.9 * IDLE_PERIOD_S:
            self._publish(everything=True)

    def _serve_requests(self):
        while not self._requests.empty():
            function, future = self._requests.get()
            if not future.set_running_or_notify_cancel():
                continue
            try:
                future.set_result(function())
            except Exception as error:  # `call` raises it
                future.set_exception(error)

    def _note_silence(self):
        self._was_stale = self.commands.is_stale
        self.events.put(
            ('warning', f'no command for {self.commands.timeout:g} s: efforts are zero')
            if self._was_stale
            else ('info', 'commands arrive again')
        )

    def _note_dropped_time(self):
        lost = self.pacer.dropped - self._reported_dropped
        now = self._clock()
        if lost > 0.0 and now - self._dropped_at > LOG_PERIOD_S:
            self._reported_dropped, self._dropped_at = self.pacer.dropped, now
            self.events.put(('warning', f'too slow for real time: {lost:.3g} s were dropped'))

    def _set_initial_state(self):
        self.simulation.reset()
        home = self.settings.initial_position
        if home:
            joints = self.simulation.arm.joint_names
            self.simulation.set_state(q=checked('initial_position', home, joints))

    def _run_from_now(self):
        """Run from now on."""
        now = self._clock()
        if self.state != RUNNING and self._began is not None:
            self._began += now - self._period_end
        self.state = RUNNING
        self.pacer.restart(now)

    def _refuse_failed_state(self):
        if self.state == FAILED:
            raise SimulationError('the state is no longer finite: call reset')

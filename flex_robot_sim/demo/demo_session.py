"""A run of the demo: start programs, monitor them, and stop them."""

import time
from collections.abc import Iterable, Sequence
from contextlib import AbstractContextManager

from flex_robot_sim.demo.children import Children
from flex_robot_sim.demo.demo_summary import status_line
from flex_robot_sim.demo.record import RunRecord
from flex_robot_sim.demo.screen import Screen
from flex_robot_sim.demo.stop import StopRequests
from flex_robot_sim.dynamics.parallel_warmup import progress
from flex_robot_sim.system.processes import CONTROLLER, RECORDER, VIEW, Program, command
from flex_robot_sim.util.exceptions import FlexRobotSimError

POLL_PERIOD_S = 0.1  # period of polls of programs, signals and the clock
PROGRAM_TIMEOUT_S = 45.0  # of the start of a program
COMPILATION_TIMEOUT_S = 600.0  # of the start if each program may compile first, on a busy machine
LAST_FIGURES_TIMEOUT_S = 0.5  # of the last diagnostics of an interrupted run
FIGURES_TIMEOUT = 20.0  # without diagnostics of the dynamics, published every second [s]
TIME_TOLERANCE = 0.05  # of the simulated time of a run                              [s]

EXHAUSTED = object()


class ProgramError(FlexRobotSimError):
    """A program of the demo has ended or does not respond."""


class DemoSession:
    """Runs the programs of a demo under observation."""

    def __init__(
        self,
        children: Children,
        stop: StopRequests,
        screen: Screen,
        timeout: float = PROGRAM_TIMEOUT_S,
    ) -> None:
        """
        Prepare a session.

        :param children: Children; stop: Stop; screen: Screen.
        :param timeout: of the start of each program [s].
        """
        self._children, self._stop, self._screen = children, stop, screen
        self._timeout = timeout

    def run(
        self,
        programs: Iterable[Program],
        observer: AbstractContextManager,
        seconds: float | None,
        greeting: Sequence[str],
        shapers: Sequence[str] = ('',),
    ) -> list[tuple[RunRecord, dict[str, str], dict[str, str]]]:
        """
        Start Programs and observe them for a simulated time [s]; None: until a stop request.

        Return for each run the record, the last figures and the first figures. The programs have
        been interrupted by then; their owner waits for their end.

        :param observer: context manager of a DemoObserver.
        :param greeting: lines to print when the arm moves.
        :param shapers: of the controller in each run; '' keeps the present one.
        """
        try:
            # the controller first; otherwise the arm would fall
            first, *remaining = sorted(
                programs, key=lambda program: program.executable != CONTROLLER
            )
            self._start(first)
            with observer as watcher:
                # a controller inside the dynamics receives no messages
                if remaining and first.executable == CONTROLLER:
                    self._wait(watcher, lambda: watcher.has_other_subscribers, 'the controller')
                for program in remaining:
                    self._start(program)
                self._wait(
                    watcher,
                    lambda: watcher.is_recorded or not self._children.is_running(RECORDER),
                    'the recorder',
                )
                runs = []
                for shaper in shapers:
                    runs += self._run_once(watcher, seconds, greeting, shaper)
                    if self._stop.request_count:
                        break
                # they stop in parallel with the observer; their last output is not printed
                self._print_output()
                self._children.interrupt()
                return runs
        finally:
            self._screen.show('')
            self._children.interrupt()

    def _run_once(self, watcher, seconds, greeting, shaper):
        """Reset the arm and observe it; return the results in a list."""
        steps, is_shaped = watcher.start_run(shaper), shaper not in ('', 'none')
        # a shaper is computed from the modes of all poses
        self._wait(
            watcher,
            lambda: next(steps, EXHAUSTED) is EXHAUSTED,
            f'the shaper {shaper}' if is_shaped else 'the first joint states',
            COMPILATION_TIMEOUT_S if is_shaped else self._timeout,
        )
        if watcher.has_begun:
            for line in greeting:
                self._screen.say(line)
            if is_shaped:
                self._screen.say(f'shaper: {shaper}')
            self._watch(watcher, seconds)
            self._take_last_figures(watcher)
            # the simulated time is an estimate until the arm stands still
            while (
                not self._stop.request_count
                and seconds is not None
                and (watcher.simulated_time < seconds - TIME_TOLERANCE)
            ):
                self._finish(watcher, watcher.resume_run())
                self._watch(watcher, seconds)
                self._take_last_figures(watcher)
        return [(watcher.record, watcher.figures, watcher.first_figures)]

    def _start(self, program):
        if not self._stop.request_count:
            self._children.start(program.executable, command(program), program.is_needed)

    def _wait(self, watcher, condition, what, timeout=None):
        """Wait until a condition holds, or for a stop request."""
        timeout = timeout or self._timeout
        end, is_compiling = time.monotonic() + timeout, self._timeout == COMPILATION_TIMEOUT_S
        self._screen.show(f'waiting for {what}')
        while not condition() and not self._stop.request_count:
            if is_compiling:
                done, total = progress()
                is_compiling = done < total
                self._screen.show(f'waiting for {what}, compiling: {done} of {total} functions')
            self._poll(watcher, POLL_PERIOD_S / 5, is_quiet=True)
            if time.monotonic() > end:
                raise ProgramError(
                    f'{what} did not come within {timeout:g} s. Does a firewall keep UDP '
                    'from the loopback interface'
                )

    def _watch(self, watcher, seconds):
        """Observe for a simulated time [s], or until a stop request."""
        while not self._stop.request_count:
            self._expect_figures(watcher)
            wait_time = POLL_PERIOD_S
            if seconds is not None:
                wait_time = min(seconds - watcher.simulated_time, POLL_PERIOD_S)
            if wait_time <= 0.0:
                return
            self._poll(watcher, wait_time)
            self._screen.show(status_line(watcher.record, watcher.figures))

    def _poll(self, watcher, seconds, is_quiet=False):
        watcher.spin(seconds)
        self._print_output(is_quiet)
        exit_report = self._children.exit_report()
        # a signal to the process group may reach the programs first
        if exit_report and not self._stop.request_count:
            raise ProgramError(exit_report)
        if watcher.failure and not self._stop.request_count:
            raise ProgramError(watcher.failure)

    def _take_last_figures(self, watcher):
        """Pause the simulation, which then sends its last figures at once."""
        steps = watcher.pause_run()
        if not self._stop.request_count:
            self._finish(watcher, steps)
            return
        end = time.monotonic() + LAST_FIGURES_TIMEOUT_S
        while (
            next(steps, EXHAUSTED) is not EXHAUSTED
            and time.monotonic() < end
            and self._stop.request_count < 2
        ):
            watcher.spin(0.02)

    def _finish(self, watcher, steps):
        """Run the steps of an observer until they end or for a stop request."""
        while not self._stop.request_count and next(steps, EXHAUSTED) is not EXHAUSTED:
            self._expect_figures(watcher)
            self._poll(watcher, POLL_PERIOD_S / 5, is_quiet=True)

    def _expect_figures(self, watcher):
        """Raise ProgramError if the simulation can no longer reach the end of the run."""
        if watcher.failure:
            raise ProgramError(watcher.failure)
        if watcher.silence > FIGURES_TIMEOUT:
            raise ProgramError(
                f'the dynamics sent no diagnostics for {FIGURES_TIMEOUT:g} s, the '
                f'last ones after {watcher.known_time:.2f} s of simulated time'
            )

    def _print_output(self, is_quiet=False):
        """
        Print the output of the programs.

        With `is_quiet`, only the viewer and last messages of programs are printed, because
        programs that start or stop report missing partners.
        """
        lines = self._children.lines
        while not lines.empty():
            name, line = lines.get()
            prefix = f'{name}: '
            is_last_word = line.startswith(prefix)
            if name == VIEW or is_last_word or not is_quiet:
                self._screen.say(line if is_last_word else f'{prefix}{line}')

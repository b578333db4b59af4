"""A run of the demo: programs are started, watched for a while, and stopped."""

import time
from collections.abc import Iterable, Sequence
from contextlib import AbstractContextManager

from flex_robot_sim.demo.children import Children
from flex_robot_sim.demo.record import RunRecord
from flex_robot_sim.demo.screen import Screen
from flex_robot_sim.demo.stop import Stop
from flex_robot_sim.demo.summary import status_line
from flex_robot_sim.dynamics.parallel_warmup import progress
from flex_robot_sim.system.processes import CONTROLLER, RECORDER, VIEW, Program, command
from flex_robot_sim.util.exceptions import FlexRobotSimError

LOOK = 0.1              # between two looks at programs, signals and the clock               [s]
SILENCE = 45.0          # wait for a program                                                 [s]
COMPILING = 600.0       # the same where each of them may compile first, on a busy machine   [s]
LAST_FIGURES = 0.5      # wait for the figures of the end of an interrupted run              [s]
FIGURES_TIMEOUT = 20.0  # without diagnostics of the dynamics, which come every second       [s]

TIME_TOLERANCE = 0.05   # of the simulated time of a run                                     [s]

DONE = object()


class ProgramError(FlexRobotSimError):
    """A program of the demo has ended, or says nothing."""


class Session:
    """The programs of a demo, and the one who watches them."""

    def __init__(self, children: Children, stop: Stop, screen: Screen,
                 patience: float = SILENCE) -> None:
        """
        Get ready.

        :param children: Children; stop: Stop; screen: Screen.
        :param patience: how long to wait for each of the programs [s].
        """
        self._children, self._stop, self._screen = children, stop, screen
        self._patience = patience

    def run(self, programs: Iterable[Program], observer: AbstractContextManager,
            seconds: float | None, greeting: Sequence[str], shapers: Sequence[str] = ('',),
            ) -> list[tuple[RunRecord, dict[str, str], dict[str, str]]]:
        """
        Start Programs and watch them for a simulated time [s], or None until asked to stop.

        Return what the observer has noted, by run: a record, the last figures and the first ones.
        By then the programs have been asked to stop; their owner waits for it.

        :param observer: context manager of a DemoObserver.
        :param greeting: lines to print when the arm moves.
        :param shapers: that the controller has, run by run; '' leaves it as it is.
        """
        try:
            # the controller first: an arm that nobody holds falls
            first, *others = sorted(programs, key=lambda program: program.executable != CONTROLLER)
            self._start(first)
            with observer as watcher:
                # inside the dynamics, it hears no messages
                if others and first.executable == CONTROLLER:
                    self._wait(watcher, lambda: watcher.is_awaited, 'the controller')
                for program in others:
                    self._start(program)
                self._wait(watcher, lambda: watcher.is_recorded or not self._children.is_running(
                    RECORDER), 'the recorder')
                runs = []
                for shaper in shapers:
                    runs += self._run_once(watcher, seconds, greeting, shaper)
                    if self._stop.asked:
                        break
                # they stop while the observer does; what they say to that is of no interest
                self._pass_on()
                self._children.interrupt()
                return runs
        finally:
            self._screen.show('')
            self._children.interrupt()

    def _run_once(self, watcher, seconds, greeting, shaper):
        """Let the arm begin anew and watch it; what was noted, in a list."""
        steps, is_shaped = watcher.lead_in(shaper), shaper not in ('', 'none')
        # a shaper is computed from the modes of all poses
        self._wait(watcher, lambda: next(steps, DONE) is DONE,
                   f'the shaper {shaper}' if is_shaped else 'the first joint states',
                   COMPILING if is_shaped else self._patience)
        if watcher.has_begun:
            for line in greeting:
                self._screen.say(line)
            if is_shaped:
                self._screen.say(f'shaper: {shaper}')
            self._watch(watcher, seconds)
            self._take_last_figures(watcher)
            # the simulated time is an estimate until the arm stands still
            while self._is_too_early(watcher, seconds):
                self._finish(watcher, watcher.go_on())
                self._watch(watcher, seconds)
                self._take_last_figures(watcher)
        return [(watcher.record, watcher.figures, watcher.first_figures)]

    def _start(self, program):
        if not self._stop.asked:
            self._children.start(program.executable, command(program), program.is_needed)

    def _wait(self, watcher, condition, what, patience=None):
        """Wait until something is there, or somebody asks to stop."""
        patience = patience or self._patience
        end, is_compiling = time.monotonic() + patience, self._patience == COMPILING
        self._screen.show(f'waiting for {what}')
        while not condition() and not self._stop.asked:
            if is_compiling:
                done, of = progress()
                is_compiling = done < of
                self._screen.show(f'waiting for {what}, compiling: {done} of {of} functions')
            self._look(watcher, LOOK / 5, is_quiet=True)
            if time.monotonic() > end:
                raise ProgramError(
                    f'{what} did not come within {patience:g} s. Does a firewall keep UDP '
                    'from the loopback interface')

    def _watch(self, watcher, seconds):
        """Look on for a simulated time [s], or until somebody asks to stop."""
        while not self._stop.asked:
            self._expect_figures(watcher)
            left = LOOK
            if seconds is not None:
                left = min(seconds - watcher.simulated_time, LOOK)
            if left <= 0.0:
                return
            self._look(watcher, left)
            self._screen.show(status_line(watcher.record, watcher.figures))

    def _look(self, watcher, seconds, is_quiet=False):
        watcher.spin(seconds)
        self._pass_on(is_quiet)
        obituary = self._children.obituary()
        # a signal to a whole group of processes reaches them first
        if obituary and not self._stop.asked:
            raise ProgramError(obituary)
        if watcher.failure and not self._stop.asked:
            raise ProgramError(watcher.failure)

    def _take_last_figures(self, watcher):
        """Pause the simulation, so that the figures of the end come at once."""
        steps = watcher.lead_out()
        if not self._stop.asked:
            self._finish(watcher, steps)
            return
        end = time.monotonic() + LAST_FIGURES
        while next(steps, DONE) is not DONE and time.monotonic() < end and self._stop.asked < 2:
            watcher.spin(0.02)

    def _finish(self, watcher, steps):
        """Carry out the steps of a watcher, or stop."""
        while not self._stop.asked and next(steps, DONE) is not DONE:
            self._expect_figures(watcher)
            self._look(watcher, LOOK / 5, is_quiet=True)

    def _is_too_early(self, watcher, seconds):
        """Whether a run that was not interrupted lacks some of its simulated time [s]."""
        return not self._stop.asked and seconds is not None and (
            watcher.simulated_time < seconds - TIME_TOLERANCE)

    def _expect_figures(self, watcher):
        """Raise ProgramError if the simulation can no longer reach the end of the run."""
        if watcher.failure:
            raise ProgramError(watcher.failure)
        if watcher.silence > FIGURES_TIMEOUT:
            raise ProgramError(f'the dynamics sent no diagnostics for {FIGURES_TIMEOUT:g} s, the '
                               f'last ones after {watcher.known_time:.2f} s of simulated time')

    def _pass_on(self, is_quiet=False):
        """
        Say what the programs have printed.

        Quiet, while others miss each other and tell so: the view, and the word with which a
        program ends.
        """
        lines = self._children.lines
        while not lines.empty():
            name, line = lines.get()
            own = f'{name}: '
            is_last_word = line.startswith(own)
            if name == VIEW or is_last_word or not is_quiet:
                self._screen.say(line if is_last_word else f'{own}{line}')

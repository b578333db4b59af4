"""A run of the demo: programs are started, watched for a while, and stopped."""

import time

from flex_robot_sim.demo.summary import status_line
from flex_robot_sim.exceptions import FlexRobotSimError
from flex_robot_sim.system import command

LOOK = 0.1              # between two looks at programs, signals and the clock               [s]
SILENCE = 60.0          # wait for the first joint state                                     [s]
LAST_FIGURES = 0.5      # wait for the figures of the end                                    [s]


class ProgramError(FlexRobotSimError):
    """A program of the demo has ended, or says nothing."""


class Session:
    """The programs of a demo, and the one who watches them."""

    def __init__(self, children, stop, screen):
        """
        Get ready.

        :param children: Children; stop: Stop; screen: Screen.
        """
        self._children, self._stop, self._screen = children, stop, screen

    def run(self, programs, observer, seconds):
        """
        Start Programs and watch them for a simulated time [s], or None until asked to stop.

        :param observer: context manager of a DemoObserver. Return its record and last figures.
        """
        try:
            for program in programs:
                self._children.start(program.executable, command(program))
            with observer as watcher:
                self._watch(watcher, seconds)
                if watcher.is_heard_from:
                    self._take_last_figures(watcher)
                return watcher.record, watcher.figures
        finally:
            self._screen.show('')
            self._children.stop()
            self._pass_on()

    def _watch(self, watcher, seconds):
        begin = time.monotonic()
        self._screen.show('waiting for the first joint state')
        while not self._stop.asked:
            left = LOOK
            if seconds is not None and watcher.simulated_time is not None:
                left = min(seconds - watcher.simulated_time, LOOK)
            if left <= 0.0:
                return
            watcher.spin(left)
            self._pass_on()
            self._expect_all_alive()
            if not watcher.is_heard_from:
                self._expect_news_within(SILENCE, begin)
                continue
            self._screen.show(status_line(watcher.record, watcher.figures))

    def _take_last_figures(self, watcher):
        """Let the arm stand still, so that the figures of the end come at once."""
        watcher.ask_to_pause()
        end = time.monotonic() + LAST_FIGURES
        while not watcher.is_paused and time.monotonic() < end and self._stop.asked < 2:
            watcher.spin(0.02)

    def _expect_all_alive(self):
        obituary = self._children.obituary()
        # a signal to a whole group of processes reaches them first
        if obituary and not self._stop.asked:
            raise ProgramError(obituary)

    def _expect_news_within(self, timeout, begin):
        if time.monotonic() - begin > timeout:
            raise ProgramError(
                f'no joint state within {timeout:g} s. Does a firewall keep UDP from the loopback '
                'interface, or does ROS_DOMAIN_ID lead elsewhere')

    def _pass_on(self):
        """Say what the programs have printed."""
        lines = self._children.lines
        while not lines.empty():
            name, line = lines.get()
            self._screen.say(f'{name}: {line}')

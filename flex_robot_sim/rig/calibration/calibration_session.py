"""
Guided calibration of a bench, step by step.

The session uses two functions for input and output, so it works with a terminal or a test. If the
readings of a step do not support its constants, the session prints the reason and repeats the
step. A fault, a key press or a lost link ends the motion, but not the session. The session passes
readings to `keep` as they are taken, and resumes from earlier readings.
"""

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any

import numpy as np

from flex_robot_sim.model.arm_model import ArmModel
from flex_robot_sim.rig.bench.bench import check_bench_arm
from flex_robot_sim.rig.bench.parts import BenchParts
from flex_robot_sim.rig.calibration.calibration import (
    Calibration,
    ConstantDeviations,
    SlideFriction,
)
from flex_robot_sim.rig.calibration.calibration_bench import CalibrationBench, OriginLost
from flex_robot_sim.rig.calibration.dialogue import Dialogue, DialogueWord
from flex_robot_sim.rig.calibration.sequence import steps_of
from flex_robot_sim.rig.calibration.step import CalibrationContext
from flex_robot_sim.rig.errors import RigError
from flex_robot_sim.rig.host.link import RigLink
from flex_robot_sim.util.exceptions import CalibrationError


class Quit(Exception):
    """The user quits, to resume later."""


class CalibrationSession:
    """One calibration; `run` returns it, or raises Quit."""

    def __init__(
        self,
        link: RigLink,
        arm: ArmModel,
        ask: Callable[[str], str],
        say: Callable[[str], object],
        readings: dict[str, Any] | None = None,
        keep: Callable[[dict[str, Any]], object] | None = None,
        watch: Callable[[], AbstractContextManager[Callable[[], bool]]] | None = None,
        record: Callable[[np.ndarray | None], object] | None = None,
    ) -> None:
        """
        Prepare.

        :param link: RigLink; arm: ArmModel of the bench.
        :param ask: function(question) -> answer; say: function(line).
        :param readings: of an earlier session, updated in place; keep: function(readings), called
            after each change.
        :param watch: see CalibrationBench; record: see CalibrationBench.
        """
        check_bench_arm(arm)
        parts = BenchParts()
        self.readings = {} if readings is None else readings
        self._bench = CalibrationBench(link, parts, watch, record)
        self._keep = keep or (lambda readings: None)
        self._dialogue = Dialogue(ask, say)
        self.readings.setdefault('zero', [])
        self._context = CalibrationContext(
            self._dialogue,
            self._bench,
            arm,
            parts,
            self.readings,
            {},
            lambda: self._keep(self.readings),
        )
        self._steps = steps_of(self._context)

    def run(self) -> Calibration:
        """Run all steps, and return the Calibration."""
        self._dialogue.say(
            'A question also takes a word: back, more, again, drop, skip, quit; '
            'help says what each does.'
        )
        self._zero_pose(keeps_frame=bool(self.readings['zero']))
        place = 0
        while place < len(self._steps):
            if self._run_step(place):
                place += 1
            elif place > 0:
                place -= 1
            else:
                self._zero_pose(keeps_frame=False)
        results = self._context.results
        steps, steps_deviation = results['stepper']
        parts, *motor, friction = results.get(
            'motor', (self._context.parts, 0.0, 0.0, SlideFriction())
        )
        return Calibration(
            results['slide'],
            results['turn'],
            steps,
            results['sensors'],
            parts,
            ConstantDeviations(steps_deviation, *motor),
            friction,
        )

    def _zero_pose(self, keeps_frame):
        """
        Ask the user to put the bench into the zero pose, and read it.

        :param keeps_frame: keep the frame of earlier counts, after a change of their origin.
        """
        self._title(
            'zero pose',
            'Put the slide where its position shall be zero, and the arm '
            'straight along the slide. The motors are off; turn the screw by hand.',
        )
        while True:
            try:
                self._dialogue.enter('Enter when it stands there: ')
                self._bench.new_origin()
                sample = self._bench.average()
            except (CalibrationError, RigError) as error:
                self._report_rejection(error)
            except DialogueWord as word:
                self._leave_at(word)
                self._dialogue.say('  The zero pose is the first step.')
            else:
                break
        counts = [sample.slide, sample.turn]
        if keeps_frame:
            self._bench.origin += [a - b for a, b in zip(counts, self.readings['zero'])]
        else:
            self.readings['zero'] = counts
            self._context.keep()

    def _run_step(self, place):
        """Run a step; return True to continue, False to go back."""
        step = self._steps[place]
        self._title(f'{step.name} ({place + 1} of {len(self._steps)})', step.about)
        step.show()
        needs_measurement = not (step.is_complete and self._is_supported(step))
        while True:
            try:
                if needs_measurement:
                    step.measure()
                    if self._is_supported(step):
                        return True
                else:
                    self._dialogue.enter('Enter to keep these, more, drop, or again: ')
                    return True
            except OriginLost as error:
                self._report_rejection(error)
                self._zero_pose(keeps_frame=True)
            except (CalibrationError, RigError) as error:
                self._report_rejection(error)
            except DialogueWord as word:
                self._leave_at(word)
                if word.word == 'back':
                    return False
                if word.word == 'skip' and step.name == 'motor':
                    step.rows.clear()
                    self._context.results.pop('motor', None)
                    self._context.keep()
                    return True
                needs_measurement = True
                if word.word in ('drop', 'again'):
                    step.drop(word)
                elif word.word == 'skip':
                    self._dialogue.say('  Only the motor can be skipped.')

    def _is_supported(self, step):
        """Print the constants of a step, or why its readings do not support them."""
        try:
            self._context.results[step.name], line = step.fit()
        except CalibrationError as error:
            self._report_rejection(error)
            if step.is_typed:
                step.show()
                self._dialogue.say(
                    '  Go on with this step: more readings, or drop the number of '
                    'a wrong one, or again.'
                )
            else:
                step.rows.clear()
                self._context.keep()
            return False
        self._dialogue.say(f'  {line}')
        return True

    def _leave_at(self, word):
        if word.word == 'quit':
            raise Quit

    def _report_rejection(self, error):
        self._dialogue.say(f'  NOT TAKEN: {str(error).rstrip(".")}.')

    def _title(self, name, about):
        self._dialogue.say('')
        self._dialogue.say(f'{name[0].upper()}{name[1:]}. {about}')

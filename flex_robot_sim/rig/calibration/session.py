"""
Lead a person through the calibration of a bench, one step after the other.

The session asks and says through two functions, so that a terminal and a test are the same to it.
A step whose readings do not support its constants says why and is taken again; a fault, a key or a
pulled plug ends the motion and no more. Readings are handed to `keep` as they come, and a session
that is given readings goes on from there.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any

import numpy as np

from flex_robot_sim.rig.bench.bench import refuse_other
from flex_robot_sim.rig.bench.parts import BenchParts
from flex_robot_sim.rig.calibration.bench import CalibrationBench, OriginLost
from flex_robot_sim.rig.calibration.calibration import (
    Calibration,
    ConstantDeviations,
    SlideFriction,
)
from flex_robot_sim.rig.calibration.dialogue import Dialogue, Word
from flex_robot_sim.rig.calibration.sequence import steps_of
from flex_robot_sim.rig.calibration.step import Desk
from flex_robot_sim.rig.errors import RigError
from flex_robot_sim.util.exceptions import CalibrationError

if TYPE_CHECKING:
    from flex_robot_sim.model.arm_model import ArmModel
    from flex_robot_sim.rig.host.link import RigLink


class Quit(Exception):
    """The person wants to go on later."""


class CalibrationSession:
    """One calibration; `run` returns it, or raises Quit."""

    def __init__(
            self, link: RigLink, arm: ArmModel, ask: Callable[[str], str],
            say: Callable[[str], object], parts: BenchParts | None = None,
            readings: dict[str, Any] | None = None,
            keep: Callable[[dict[str, Any]], object] | None = None,
            watch: Callable[[], AbstractContextManager[Callable[[], bool]]] | None = None,
            record: Callable[[np.ndarray | None], object] | None = None) -> None:
        """
        Prepare.

        :param link: RigLink; arm: ArmModel of the bench.
        :param ask: function(question) -> answer; say: function(line).
        :param readings: of an earlier session, which this one fills; keep: function(readings),
            called when there are new ones.
        :param watch: see CalibrationBench; likewise record.
        """
        refuse_other(arm)
        parts = parts or BenchParts()
        self.readings = {} if readings is None else readings
        self._bench = CalibrationBench(link, parts, watch, record)
        self._keep = keep or (lambda readings: None)
        self._talk = Dialogue(ask, say)
        self.readings.setdefault('zero', [])
        self._desk = Desk(self._talk, self._bench, arm, parts, self.readings, {},
                          lambda: self._keep(self.readings))
        self._steps = steps_of(self._desk)

    def run(self) -> Calibration:
        """Ask everything, and return the Calibration."""
        self._talk.say('A question also takes a word: back, more, again, drop, skip, quit; help '
                       'says what each does.')
        self._zero_pose(keeps_frame=bool(self.readings['zero']))
        place = 0
        while place < len(self._steps):
            if self._take(place):
                place += 1
            elif place > 0:
                place -= 1
            else:
                self._zero_pose(keeps_frame=False)
        found = self._desk.found
        steps, steps_deviation = found['stepper']
        parts, *motor, friction = found.get('motor', (self._desk.parts, 0.0, 0.0, SlideFriction()))
        return Calibration(found['slide'], found['turn'], steps, found['sensors'], parts,
                           ConstantDeviations(steps_deviation, *motor), friction)

    def _zero_pose(self, keeps_frame):
        """
        Have the bench put into the zero pose, and read it.

        :param keeps_frame: counts shall go on as before; their origin has changed.
        """
        self._title('zero pose', 'Put the slide where its position shall be zero, and the arm '
                    'straight along the slide. The motors are off; turn the screw by hand.')
        while True:
            try:
                self._talk.enter('Enter when it stands there: ')
                self._bench.new_origin()
                seen = self._bench.average()
            except (CalibrationError, RigError) as error:
                self._refused(error)
            except Word as word:
                self._leave_at(word)
                self._talk.say('  The zero pose is the first step.')
            else:
                break
        counts = [seen.slide, seen.turn]
        if keeps_frame:
            self._bench.origin += [a - b for a, b in zip(counts, self.readings['zero'])]
        else:
            self.readings['zero'] = counts
            self._desk.keep()

    def _take(self, place):
        """Lead through a step; return whether to go on, or else back."""
        step = self._steps[place]
        self._title(f'{step.name} ({place + 1} of {len(self._steps)})', step.about)
        step.show()
        asks = not (step.is_complete and self._is_supported(step))
        while True:
            try:
                if asks:
                    step.measure()
                    if self._is_supported(step):
                        return True
                else:
                    self._talk.enter('Enter to keep these, more, drop, or again: ')
                    return True
            except OriginLost as error:
                self._refused(error)
                self._zero_pose(keeps_frame=True)
            except (CalibrationError, RigError) as error:
                self._refused(error)
            except Word as word:
                self._leave_at(word)
                if word.word == 'back':
                    return False
                if word.word == 'skip' and step.name == 'motor':
                    step.rows.clear()
                    self._desk.found.pop('motor', None)
                    self._desk.keep()
                    return True
                asks = True
                if word.word in ('drop', 'again'):
                    step.drop(word)
                elif word.word == 'skip':
                    self._talk.say('  Only the motor can be skipped.')

    def _is_supported(self, step):
        """Say the constants of a step, or why its readings do not support any."""
        try:
            self._desk.found[step.name], line = step.fit()
        except CalibrationError as error:
            self._refused(error)
            if step.typed:
                step.show()
                self._talk.say('  Go on with this step: more readings, or drop the number of a '
                               'wrong one, or again.')
            else:
                step.rows.clear()
                self._desk.keep()
            return False
        self._talk.say(f'  {line}')
        return True

    def _leave_at(self, word):
        if word.word == 'quit':
            raise Quit

    def _refused(self, error):
        self._talk.say(f'  NOT TAKEN: {str(error).rstrip(".")}.')

    def _title(self, name, about):
        self._talk.say('')
        self._talk.say(f'{name[0].upper()}{name[1:]}. {about}')

"""A single step waits for the command that answers it, for a limited time."""

from queue import SimpleQueue
from threading import Event

import pytest

from flex_robot_sim.realtime import answered_steps
from flex_robot_sim.realtime.answered_steps import AnsweredSteps

pytestmark = pytest.mark.slow


def test_a_step_that_no_command_answers_is_reported_once_until_a_command_comes(monkeypatch):
    monkeypatch.setattr(answered_steps, 'ANSWER_TIMEOUT_S', 0.1)
    events: SimpleQueue = SimpleQueue()
    steps = AnsweredSteps(Event(), events)

    def step(stamp, answer=None):
        steps.begin(True)
        steps.note_sent(stamp)
        if answer is not None:
            steps.note_command(answer)
        steps.finish()
        return events.qsize()

    assert step(1, answer=1) == 0
    assert [step(2), step(3), step(4)] == [1, 1, 1]
    steps.note_command(None)
    assert step(5) == 2
    assert events.get() == (
        'warning',
        'no command answered a single step for 0.1 s: steps no longer wait for one',
    )

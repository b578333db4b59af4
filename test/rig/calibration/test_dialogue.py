"""User input: numbers with units, and words."""

import pytest

from flex_robot_sim.rig.calibration.dialogue import Dialogue, DialogueWord
from flex_robot_sim.rig.calibration.step import CalibrationContext, Step

FORCES = {'N': 1.0, 'g': 9.80665e-3}


def dialogue(*answers):
    answers = list(answers)
    said: list = []
    return Dialogue(lambda _: answers.pop(0), said.append), said


@pytest.mark.parametrize(
    'text, value',
    [
        ('1.5', 1.5),
        ('1,5', 1.5),
        (' -0.2 N', -0.2),
        ('20g', 0.196133),
        ('20 g', 0.196133),
        ('1e-1', 0.1),
    ],
)
def test_a_number_is_accepted_with_its_unit(text, value):
    talk, said = dialogue(text)
    assert talk.number('?', FORCES) == pytest.approx(value)
    assert not said


@pytest.mark.parametrize('text', ['12 apples', 'nan', 'inf', '1.234,5', '2 kg', 'N', 'drop it'])
def test_invalid_input_repeats_the_question(text):
    talk, said = dialogue(text, '3')
    assert talk.number('?', FORCES) == 3.0
    assert said == [f'  "{text}" is no number. Type one like -12.5, in N or g, or help.']


def test_empty_input_selects_the_default():
    talk, _ = dialogue('  ')
    assert talk.number('?', FORCES, 12.0) == 12.0


@pytest.mark.parametrize(
    'text, word, number',
    [
        ('back', 'back', None),
        ('Drop 3', 'drop', 3),
        ('drop', 'drop', None),
        ('QUIT', 'quit', None),
    ],
)
def test_words_end_a_question(text, word, number):
    talk, _ = dialogue(text)
    with pytest.raises(DialogueWord) as caught:
        talk.number('?', FORCES)
    assert (caught.value.word, caught.value.number) == (word, number)


def test_help_explains_each_word_and_repeats_the_question():
    talk, said = dialogue('help', '')
    talk.enter('?')
    assert [line.split()[0] for line in said] == [
        'back',
        'more',
        'again',
        'drop',
        'skip',
        'quit',
        'help',
    ]


def test_enter_accepts_no_other_input():
    talk, said = dialogue('12', '')
    talk.enter('?')
    assert said[0].startswith('  Enter, or a word: back')


def test_dropping_the_only_reading_reports_that_none_remains():
    talk, said = dialogue()
    step = Step(CalibrationContext(talk, None, None, None, {}, {}, lambda: None))
    step.rows.append({})
    step.drop(DialogueWord('drop'))
    assert not step.rows and said == ['  No reading is left.']

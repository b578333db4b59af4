"""A simulated operator of the emulated bench: moves joints, applies forces, and answers."""

import math
import time
from dataclasses import replace

from flex_robot_sim.rig.bench.parts import BenchParts
from flex_robot_sim.rig.host.link import LinkSettings

CALM = LinkSettings(stale_after=1.0, validity=100, ack_timeout=0.5, hello_timeout=20.0)
# not as in the data sheets: sensors 18 % lower and 20 % less sensitive, a motor with
# 24 % more resistance and 8 % less back-EMF
PARTS = replace(
    BenchParts(),
    flat_resistance=8.2e3,
    bend_gain=2.6,
    bend_curve=0.5,
    resistance=7.1,
    back_emf=0.0175,
)
START = 0.05  # zero pose of the slide of the emulator                        [m]
RADIAN = 2400 / (2 * math.pi)
STEPS = 3200 / (2 * math.pi)


def place(mm):
    return f'slide={START + mm / 1000}', f'{mm:g}'


def angle(degrees):
    return f'turn={math.radians(degrees)}', f'{degrees:g}'


def pull(force):
    return f'push={force}', f'{force:g}'


ZERO, SLIDE, TURN, MOTORS, SUPPLY, RUN, CLAMP, FORCE, KEEP = (
    'stands there',
    '[mm]',
    '[degrees]',
    'switch the motors on',
    '[V]',
    'let it run',
    'Clamp',
    'force',
    'keep these',
)
# actions and answers of the operator, by a word in the question
GOOD = {
    ZERO: [(f'slide={START}', '')],
    SLIDE: [place(60), place(120), place(200), (None, '')],
    TURN: [angle(-40), angle(20), angle(50), (None, '')],
    MOTORS: [('turn=0', ''), ('mend', '')],
    SUPPLY: [('slide=0.15', '')],
    RUN: [(None, '')],
    CLAMP: [('jam', '')],
    FORCE: [pull(force) for force in (0.0, 0.2, 0.4, -0.2, -0.4)] + [('push=0', '')],
    KEEP: [],
}
# readings that this operator produces
KEPT: dict[str, list] = {
    'zero': [0.0, 0.0],
    'slide': [{'position': x, 'counts': 300e3 * x} for x in (0.06, 0.12, 0.2)],
    'turn': [{'position': a, 'counts': RADIAN * a} for a in (-0.7, 0.35, 0.87)],
    'stepper': [
        {'steps': round(STEPS * a), 'counts': round(RADIAN * a)} for a in (0, 0.35, 0, -0.35, 0)
    ],
}


class Person:
    """An operator with GOOD actions and answers; `others` replaces some of them."""

    def __init__(self, emulator, **others):
        self._emulator, self.said = emulator, []
        self._answers = {word: list(others.get(word, answers)) for word, answers in GOOD.items()}

    def say(self, line):
        """Record a line of output."""
        self.said.append(line)

    def ask(self, question):
        """Perform the action of the question, then answer; EOFError without a further answer."""
        self.said.append(question)
        answers = next(answers for word, answers in self._answers.items() if word in question)
        if not answers:
            raise EOFError
        deed, answer = answers.pop(0)
        if deed:
            self._emulator.inject(deed)
            while self._emulator.call(lambda rig: bool(rig.bench.hands)):
                time.sleep(0.02)
        return answer

    @property
    def refusals(self):
        """Return the reasons of rejected inputs."""
        return [line.partition('NOT TAKEN: ')[2] for line in self.said if 'NOT TAKEN' in line]


def copied(*names):
    return {name: list(KEPT[name]) for name in names}

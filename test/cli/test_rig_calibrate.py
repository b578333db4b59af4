"""`flexsim rig calibrate` in a terminal: its file, its keys, and how it ends."""

import os
import pty
import re
import select
import sys
import termios
import time

import pytest
from rig_person import KEPT, PARTS, START, copied
from unprivileged import unprivileged
from waiting import eventually

from flex_robot_sim.cli import main
from flex_robot_sim.cli.terminal import key_watch
from flex_robot_sim.rig.bench.bench import Bench
from flex_robot_sim.rig.board import board_state
from flex_robot_sim.rig.board.emulated_rig import UID, EmulatedRig
from flex_robot_sim.rig.board.emulator import Emulator
from flex_robot_sim.rig.calibration.readings import read_readings, write_readings

pytestmark = pytest.mark.slow


class Terminal:
    """A command in a separate terminal."""

    def __init__(self, *words):
        self._child, self._file = pty.fork()
        if self._child == 0:
            os.execv(sys.executable, [sys.executable, '-m', 'flex_robot_sim', *words])
        self._screen = ''

    def until(self, pattern, seconds=120.0):
        """Read the screen until it shows a pattern; return the text up to it."""
        end = time.monotonic() + seconds
        while not (found := re.search(pattern, self._screen)):
            assert time.monotonic() < end and self._read(), f'no {pattern}: {self._screen}'
        shown, self._screen = self._screen[: found.end()], self._screen[found.end() :]
        return shown

    def type(self, keys):
        """Send keys."""
        os.write(self._file, keys.encode())

    def has_echo(self):
        """Return whether the terminal echoes input."""
        wanted = termios.ECHO | termios.ICANON
        return termios.tcgetattr(self._file)[3] & wanted == wanted

    def end(self):
        """Read to the end; return the exit code."""
        while self._read():
            pass
        return os.waitstatus_to_exitcode(os.waitpid(self._child, 0)[1])

    def _read(self):
        if not select.select([self._file], [], [], 1.0)[0]:
            return True
        try:
            data = os.read(self._file, 4096)
        except OSError:  # on Linux, when the other end is closed
            return False
        self._screen += data.decode(errors='replace')
        return bool(data)


@pytest.fixture
def emulator(tmp_path, monkeypatch):
    # the emulator shares this process, which waits for a busy computer longer than a board would
    monkeypatch.setattr(board_state, 'WATCHDOG', 2_000_000)
    bench = Bench(parts=PARTS, seed=2, start=(START, 0.0))
    with Emulator(tmp_path / 'rig', EmulatedRig(bench)) as emulator:
        yield emulator


def test_a_key_and_ctrl_c_stop_the_motors_and_the_command_can_resume(emulator, tmp_path):
    path = tmp_path / 'bench.yaml'
    write_readings(f'{path}.part', UID.hex(), copied('zero', 'slide', 'turn'))
    terminal = Terminal('rig', 'calibrate', emulator.link, '--output', str(path))
    terminal.until('Going on with .*part')
    for question in ('stands there: ', 'again: ', 'again: '):
        terminal.until(question)
        terminal.type('\n')
    terminal.until('motors on: ')
    assert terminal.has_echo()
    terminal.type('\n')
    terminal.until('1: 0 microsteps')
    assert not terminal.has_echo()
    terminal.type('x')
    terminal.until('NOT TAKEN: a key was pressed: the motors are off')
    terminal.until('motors on: ')
    assert terminal.has_echo()
    assert emulator.call(lambda rig: rig.board.state.name) == 'DISARMED'
    terminal.type('\n')
    terminal.until('1: .* microsteps')
    terminal.type('\x03')
    terminal.until('The motors are off. What was measured is in .*bench.yaml.part')
    assert terminal.end() == 130
    assert emulator.call(lambda rig: rig.board.state.name) == 'DISARMED'
    left = read_readings(f'{path}.part', UID.hex())
    assert left['turn'] == KEPT['turn'] and not path.exists()


def test_end_of_input_is_reported_and_measurements_are_kept(
    emulator, tmp_path, monkeypatch, capsys
):
    answers = ['']

    def ask(_):
        if answers:
            return answers.pop()
        raise EOFError

    monkeypatch.setattr('builtins.input', ask)
    path = tmp_path / 'b.yaml'
    assert main(['rig', 'calibrate', emulator.link, '--output', str(path)]) == 2
    err = capsys.readouterr().err
    assert err.startswith('flexsim rig: the answers ended before the calibration was done. What')
    assert err.count('\n') == 1
    assert not path.exists()
    assert len(read_readings(f'{path}.part', UID.hex())['zero']) == 2


def test_readings_of_another_board_are_not_mixed_in(emulator, tmp_path, capsys):
    path = tmp_path / 'b.yaml'
    write_readings(f'{path}.part', '00', copied('zero', 'slide'))
    assert main(['rig', 'calibrate', emulator.link, '--output', str(path)]) == 2
    assert 'was begun with the board 00' in capsys.readouterr().err


@pytest.mark.parametrize(
    'words, message',
    [
        (['--output', '{path}/none/b.yaml'], 'No such file or directory. Give another --output'),
        (['--output', '{path}'], 'exists already. Name another one, or replace it by --force'),
        (
            ['--output', '{path}/old.yaml'],
            'old.yaml: exists already. Name another one, or replace it by --force',
        ),
        (['--output', '{path}/closed/b.yaml'], 'Permission denied. Give another --output'),
    ],
)
def test_an_invalid_output_is_one_line_before_any_question(capsys, words, message):
    with unprivileged() as folder:
        (folder / 'old.yaml').touch()
        (folder / 'closed').mkdir(mode=0o500)
        words = [word.format(path=folder) for word in words]
        assert main(['rig', 'calibrate', '/dev/none', *words]) == 2
    err = capsys.readouterr().err
    assert message in err
    assert err.count('\n') == 1


def test_a_key_pressed_before_the_motors_are_on_counts(monkeypatch):
    master, slave = pty.openpty()
    with os.fdopen(slave) as terminal:
        monkeypatch.setattr('sys.stdin', terminal)
        os.write(master, b' ')
        with key_watch() as pressed:
            assert eventually(pressed)
        with key_watch() as pressed:
            assert not pressed()  # and is consumed
    os.close(master)

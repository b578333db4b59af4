"""The terminal: progress messages and colours."""

import os
import pty
import re
import select
import time

import pytest

from flex_robot_sim.cli import main
from flex_robot_sim.cli import terminal as cli_terminal
from flex_robot_sim.cli.terminal import colourize, show_progress


@pytest.fixture
def terminal():
    """Return the file of a terminal, and a function that reads its screen."""
    master, slave = pty.openpty()
    with os.fdopen(slave, 'w') as file:
        yield (
            file,
            lambda seconds: (
                os.read(master, 4096).decode()
                if select.select([master], [], [], seconds)[0]
                else ''
            ),
        )
    os.close(master)


def until(screen, pattern):
    """Return the screen text up to a pattern."""
    shown = ''
    while not re.search(pattern, shown):
        assert (more := screen(60.0)), shown
        shown += more
    return shown


def test_a_long_task_shows_a_line_and_removes_it(terminal, monkeypatch):
    file, screen = terminal
    monkeypatch.setattr('sys.stderr', file)
    with show_progress('still at it', delay=0.01):
        assert screen(60.0).startswith('still at it')
    assert re.fullmatch(r'(\rstill at it: \d+ s)*\r {11,}\r', until(screen, r'\r +\r'))


@pytest.mark.slow
def test_a_long_task_shows_the_elapsed_time(terminal, monkeypatch):
    file, screen = terminal
    monkeypatch.setattr('sys.stderr', file)
    with show_progress('still at it', delay=0.01):
        until(screen, 'still at it: 2 s')


def test_without_a_terminal_a_line_appears_every_period(capsys, monkeypatch):
    monkeypatch.setattr(cli_terminal, 'LINE_PERIOD_S', 0.05)
    with show_progress('still at it'):
        time.sleep(0.3)
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) >= 2 and {*lines} == {'still at it: 0 s'}


def test_a_line_is_no_longer_than_the_terminal(terminal, monkeypatch):
    file, screen = terminal
    monkeypatch.setattr('sys.stderr', file)
    monkeypatch.setenv('COLUMNS', '10')
    with show_progress('a long story about it', delay=0.01):
        assert screen(60.0).startswith('a long st')
    assert 'story' not in screen(60.0)


def test_a_short_task_shows_nothing(terminal, monkeypatch):
    file, screen = terminal
    monkeypatch.setattr('sys.stderr', file)
    for _ in range(100):
        with show_progress('never seen', delay=100.0):
            pass
    assert screen(0.0) == ''


def test_an_error_removes_the_line_too(terminal, monkeypatch):
    file, screen = terminal
    monkeypatch.setattr('sys.stderr', file)
    with pytest.raises(ValueError, match='bad'), show_progress('still at it', delay=0.01):
        assert screen(60.0).startswith('still at it')
        raise ValueError('bad')
    assert screen(60.0).startswith('\r')


def test_nothing_is_written_without_a_terminal(capsys):
    with show_progress('never seen', delay=0.0):
        pass
    assert capsys.readouterr().err == ''


@pytest.mark.parametrize(
    'words',
    [
        ['modes', 'single_link'],
        ['simulate', 'single_link', '--to', '0.1', '--seconds', '0.01'],
        ['shape', 'single_link', '--pose', '0'],
    ],
)
def test_commands_name_their_long_tasks(terminal, monkeypatch, capsys, words):
    file, screen = terminal
    monkeypatch.setattr('sys.stderr', file)
    monkeypatch.setattr(cli_terminal, 'PROGRESS_DELAY_S', 0.0)
    main(words)
    assert re.match('(looking|reading) ', until(screen, r'\r +\r'))


def test_colours_are_for_terminals_or_on_request(terminal, monkeypatch):
    file, _ = terminal
    for name in ('NO_COLOR', 'TERM'):
        monkeypatch.delenv(name, raising=False)
    assert colourize('ok', 'green', file) == '\x1b[32mok\x1b[0m'
    with open(os.devnull, 'w') as pipe:
        assert colourize('ok', 'green', pipe) == 'ok'
    monkeypatch.setenv('TERM', 'dumb')
    assert colourize('ok', 'green', file) == 'ok'
    monkeypatch.setenv('TERM', 'xterm')
    monkeypatch.setenv('NO_COLOR', '1')
    assert colourize('ok', 'green', file) == 'ok'


def test_an_error_is_red_in_a_terminal(terminal, monkeypatch):
    file, screen = terminal
    monkeypatch.setattr('sys.stderr', file)
    monkeypatch.delenv('NO_COLOR', raising=False)
    monkeypatch.setenv('TERM', 'xterm')
    assert main(['modes', 'single_link', '--count', '0']) == 2
    assert screen(60.0).startswith('\x1b[31mflexsim modes:\x1b[0m --count must be above 0.')

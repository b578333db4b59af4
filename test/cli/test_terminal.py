"""The terminal: what is said when something takes long."""

import os
import pty
import select

import pytest

from flex_robot_sim.cli.terminal import patience


@pytest.fixture
def terminal():
    """A terminal's file, and a function that reads what it shows."""
    master, slave = pty.openpty()
    with os.fdopen(slave, 'w') as file:
        yield file, lambda seconds: (os.read(master, 4096).decode()
                                     if select.select([master], [], [], seconds)[0] else '')
    os.close(master)


def test_what_takes_long_is_told_and_the_line_is_taken_away(terminal, monkeypatch):
    file, screen = terminal
    monkeypatch.setattr('sys.stderr', file)
    with patience('still at it', after=0.01):
        assert screen(60.0) == 'still at it'
    assert screen(60.0) == '\r           \r'


def test_what_is_quick_says_nothing(terminal, monkeypatch):
    file, screen = terminal
    monkeypatch.setattr('sys.stderr', file)
    for _ in range(100):
        with patience('never seen', after=100.0):
            pass
    assert screen(0.0) == ''


def test_an_error_takes_the_line_away_too(terminal, monkeypatch):
    file, screen = terminal
    monkeypatch.setattr('sys.stderr', file)
    with pytest.raises(ValueError, match='bad'), patience('still at it', after=0.01):
        assert screen(60.0) == 'still at it'
        raise ValueError('bad')
    assert screen(60.0).startswith('\r')


def test_nothing_is_written_where_no_terminal_is(capsys):
    with patience('never seen', after=0.0):
        pass
    assert capsys.readouterr().err == ''
